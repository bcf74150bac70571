/* Operations of a back end for projective registration. */
#ifndef PC_PROJECTIVE_OPS_H
#define PC_PROJECTIVE_OPS_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pc_depth_image; /* projective_math.h */
struct pc_depth_frame;
struct pc_depth_optimizer; /* projective_optimizer.h */

typedef struct pc_projective_ops {
    /* Registration of depth frames, see projective_math.h: builds the maps of a frame whose levels are laid out,
     * releases them, and runs an optimizer from its start to its end. */
    pcgpu_status (*make_frame)(pcgpu_context *context, const struct pc_depth_image *image,
                               struct pc_depth_frame *frame);
    void (*free_frame)(pcgpu_context *context, struct pc_depth_frame *frame);
    pcgpu_status (*register_frames)(pcgpu_context *context, struct pc_depth_frame *source,
                                    struct pc_depth_frame *target, struct pc_depth_optimizer *optimizer);
} pc_projective_ops;

#ifdef __cplusplus
}
#endif
#endif
