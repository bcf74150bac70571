/* Odometry of a depth camera: the poses of a sequence of depth images. A part of pcgpu.h, which includes this header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_ODOMETRY_DEPTH_H
#define PCGPU_ODOMETRY_DEPTH_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pcgpu_depth_odometry_params {
    pcgpu_register_depth_params registration; /* of each step; init: the pose of the first frame, T_world_camera */
    pcgpu_reference reference;                /* default MODEL: a volume, seen from where the camera is expected, as in
                                                 KinectFusion (Newcombe et al. 2011) */
    double keyframe_distance;                 /* metres from a keyframe, after which there is a new one; default 0.3 */
    double keyframe_angle;                    /* radians; default 0.2 */
    double keyframe_fitness;                  /* the same when a lower share of pixels matches; default 0.7 */
    pcgpu_volume_params volume;               /* of MODEL */
} pcgpu_depth_odometry_params;

void pcgpu_depth_odometry_params_init(pcgpu_depth_odometry_params *params);

typedef struct pcgpu_depth_odometry pcgpu_depth_odometry;

/* Begins a trajectory of one camera. As with pcgpu_odometry_open the context stays open and is used by each call.
 * *odometry is NULL on failure. Errors: ARGUMENT, MEMORY, DEVICE. */
pcgpu_status pcgpu_depth_odometry_open(pcgpu_context *context, const pcgpu_camera *camera,
                                       const pcgpu_depth_odometry_params *params, pcgpu_depth_odometry **odometry);
void pcgpu_depth_odometry_close(pcgpu_depth_odometry *odometry); /* accepts NULL */

/* Adds the next depth image, as pcgpu_odometry_add does with scans: T_world_frame maps the camera's frame into the world;
 * the registration's T_target_source is T_reference_frame, and with MODEL T_world_frame, its information is about what
 * the camera was expected to see. What does not match the
 * keyframe or the model is tried against the image before, and then against some of up to 16 frames that are kept, a
 * keyframe's distance or angle apart, each 6.5 MB for 640 x 480 pixels. A lost image changes nothing, and the next one is
 * looked for in the same order.
 * Errors: those of pcgpu_register_depth and pcgpu_volume_integrate, and ARGUMENT for a time that does not rise. After an
 * error the image counts as not added. */
pcgpu_status pcgpu_depth_odometry_add(pcgpu_depth_odometry *odometry, const pcgpu_depth *depth, double time,
                                      pcgpu_odometry_frame *frame);

/* Adds an image whose pose is known, without registering it: see pcgpu_odometry_add_known. */
pcgpu_status pcgpu_depth_odometry_add_known(pcgpu_depth_odometry *odometry, const pcgpu_depth *depth, double time,
                                            const double T_world_camera[16], bool keyframe);

/* The model, which stays the odometry's; NULL with other references. */
pcgpu_volume *pcgpu_depth_odometry_volume(pcgpu_depth_odometry *odometry);

#ifdef __cplusplus
}
#endif
#endif
