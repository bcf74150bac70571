/* Odometry of a depth camera: the poses of a sequence of depth images. A part of pcgpu.h, which includes this
 * header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_ODOMETRY_DEPTH_H
#define PCGPU_ODOMETRY_DEPTH_H

typedef struct pcgpu_depth_odometry_params {
    size_t struct_size;                       /* set by pcgpu_depth_odometry_params_init */
    pcgpu_register_depth_params registration; /* of each step; init: the pose of the first frame, T_world_camera;
                                                 default of level_iterations: 10, 20, 40 */
    pcgpu_reference reference;                /* default MODEL: a volume, ray-cast from the predicted pose, as in
                                                 KinectFusion (Newcombe et al. 2011) */
    double keyframe_distance;                 /* metres: an image farther from the keyframe becomes the next one;
                                                 default 0.3 */
    double keyframe_angle;                    /* radians, likewise; default 0.2 */
    double keyframe_fitness;                  /* an image with a lower fitness becomes the next one, too; default 0.7 */
    pcgpu_volume_params volume;               /* of MODEL */
} pcgpu_depth_odometry_params;

void pcgpu_depth_odometry_params_init_sized(pcgpu_depth_odometry_params *params, size_t struct_size);
#define pcgpu_depth_odometry_params_init(params) pcgpu_depth_odometry_params_init_sized(params, sizeof *(params))

typedef struct pcgpu_depth_odometry pcgpu_depth_odometry;

/* Begins a trajectory of one camera. As with pcgpu_odometry_open, the context must stay open, since each call uses it.
 * *odometry is NULL on failure. Errors: ARGUMENT, MEMORY, DEVICE. */
pcgpu_status pcgpu_depth_odometry_open(pcgpu_context *context, const pcgpu_camera *camera,
                                       const pcgpu_depth_odometry_params *params, pcgpu_depth_odometry **odometry);
void pcgpu_depth_odometry_close(pcgpu_depth_odometry *odometry); /* accepts NULL */

/* As pcgpu_odometry_guess. */
pcgpu_status pcgpu_depth_odometry_guess(pcgpu_depth_odometry *odometry, const double *times, const double *poses,
                                        int64_t count);

/* Adds the next depth image, as pcgpu_odometry_add does with scans. T_world_frame maps the camera frame into the world.
 * The T_target_source of the registration is T_reference_frame, with MODEL T_world_frame; with MODEL its information
 * belongs to the predicted view. If an image does not match the keyframe or the model, it is registered to the previous
 * image, and then to some of up to 16 stored frames, which are at least keyframe_distance or keyframe_angle from each
 * other and take 6.5 MB each for 640 x 480 pixels. A lost image changes nothing; the next image is searched in the same
 * order. Errors: as in pcgpu_register_depth and pcgpu_volume_integrate, and ARGUMENT for a time that does not increase.
 * After an error, the image was not added. */
pcgpu_status pcgpu_depth_odometry_add(pcgpu_depth_odometry *odometry, const pcgpu_depth *depth, double time,
                                      pcgpu_odometry_frame *frame);

/* The model, which the odometry owns; NULL with other references. */
pcgpu_volume *pcgpu_depth_odometry_volume(pcgpu_depth_odometry *odometry);
#endif
