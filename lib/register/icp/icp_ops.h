/* Operations of a back end for a level of ICP. */
#ifndef PC_ICP_OPS_H
#define PC_ICP_OPS_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pc_icp_target; /* icp_step.h */
struct pc_icp_source;
struct pc_icp_step;

/* One registration at a time per context: for each level target, then source, then step as often as wanted;
 * end at last, also after a failure. The arrays given stay the caller's and valid until the next target or
 * end. All points are finite float32 in a frame that register.c chooses. */

typedef struct pc_icp_ops {
    /* Takes the target of a level: uploads its grid, takes or estimates one normal a point. See icp_step.h. */
    pcgpu_status (*target)(pcgpu_context *context, const struct pc_icp_target *target);
    /* Takes the source of a level, and its normals likewise where they are needed. */
    pcgpu_status (*source)(pcgpu_context *context, const struct pc_icp_source *source);
    /* One iteration: transforms, matches and sums; `sums` has PC_ICP_SUMS values. */
    pcgpu_status (*step)(pcgpu_context *context, const struct pc_icp_step *step, double *sums);
    /* Releases what the registration holds. */
    void (*end)(pcgpu_context *context);
} pc_icp_ops;

#ifdef __cplusplus
}
#endif
#endif
