/* Registration of depth frames: a part of pcgpu.h, which includes this header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_REGISTER_DEPTH_H
#define PCGPU_REGISTER_DEPTH_H

enum { PCGPU_DEPTH_LEVELS = 6 };

/* Registration of depth images by projective association and the point-to-plane cost, coarse to fine, as in
 * KinectFusion (Newcombe et al. 2011); see DEPTH FRAMES of pcgpu-methods(7). */
typedef struct pcgpu_register_depth_params {
    size_t struct_size; /* set by pcgpu_register_depth_params_init */
    double init[16];    /* T_target_source to start from, row-major; default identity */
    int levels;         /* of the pyramid, each half as large as the level below; 1 to PCGPU_DEPTH_LEVELS, default 3.
                           Levels with a side of less than 16 pixels are left out */
    int level_iterations[PCGPU_DEPTH_LEVELS]; /* maximum iterations of each level, coarse to fine, `levels` values; the
                                                 last one 1 or more, the others 0 or more; default 4, 5, 10 */
    double max_distance;        /* maximum correspondence distance at the coarsest level, metres; each level halves it;
                                   default 0.4 */
    double bilateral;           /* standard deviation in metres of the bilateral filter of depths; 0 (default) = none */
    double translation_epsilon; /* metres: the finest level has converged when the translation and the rotation of an
                                   update are below their epsilons; default 1e-5 */
    double rotation_epsilon;    /* radians; default 1e-5 */
    double min_score;           /* 0 to 1: a result with a lower score has not converged; default 0.2 */
} pcgpu_register_depth_params;

void pcgpu_register_depth_params_init_sized(pcgpu_register_depth_params *params, size_t struct_size);
#define pcgpu_register_depth_params_init(params) pcgpu_register_depth_params_init_sized(params, sizeof *(params))

/* Registers the depth image `source` onto `target`; target_camera NULL: the same camera. T_target_source maps points of
 * the source's camera frame into the target's. source_points and target_points count pixels with a surface, inliers the
 * pixels of the source that match; fitness is inliers / source_points. agreement is the weighted fraction of matches
 * among the pixels that project onto a surface of the target; the weight of a match decreases with its distance. The
 * score is the agreement, reduced where fewer of these pixels match than the noise of the matches explains (see there).
 * inlier_rmse and plane_rmse are both the error along the normals. The information and the covariance are robustly
 * weighted. A registration that fails returns PCGPU_OK with converged = false and the reason. Errors: ARGUMENT (also an
 * image with another size than its camera), MEMORY, DEVICE. */
pcgpu_status pcgpu_register_depth(pcgpu_context *context, const pcgpu_depth *source, const pcgpu_depth *target,
                                  const pcgpu_camera *source_camera, const pcgpu_camera *target_camera,
                                  const pcgpu_register_depth_params *params, pcgpu_registration *result);

/* A depth image prepared for any number of registrations, as source or as target: its pyramid of maps, in the memory of
 * the back end. It uses the parameters `levels` and `bilateral`. Free it before its context is closed. Errors: as
 * above. */
typedef struct pcgpu_frame pcgpu_frame;
pcgpu_status pcgpu_frame_create(pcgpu_context *context, const pcgpu_depth *depth, const pcgpu_camera *camera,
                                const pcgpu_register_depth_params *params, pcgpu_frame **frame);
void pcgpu_frame_free(pcgpu_context *context, pcgpu_frame *frame); /* accepts NULL */

/* pcgpu_register_depth for two frames, with the levels that both have, at most params->levels. ARGUMENT also when the
 * two frames belong to different back ends. */
pcgpu_status pcgpu_register_frames(pcgpu_context *context, pcgpu_frame *source, pcgpu_frame *target,
                                   const pcgpu_register_depth_params *params, pcgpu_registration *result);
#endif
