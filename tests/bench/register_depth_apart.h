/* Registration of depth frames on a GPU in separate kernels, to compare with. */
#ifndef REGISTER_DEPTH_APART_H
#define REGISTER_DEPTH_APART_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pc_depth_frame;     /* lib/register/projective/projective_math.h */
struct pc_depth_optimizer; /* lib/register/projective/projective_optimizer.h */

/* Follows the path of two frames that the CUDA back end made; `target` of the path is given. Fills the path; the sums
 * are those of the back end to rounding. milliseconds: from the first launch to the last sum. */
pcgpu_status register_depth_apart(pcgpu_context *context, const struct pc_depth_frame *source,
                                  const struct pc_depth_frame *target, struct pc_depth_optimizer *optimizer,
                                  double *milliseconds);

#ifdef __cplusplus
}
#endif
#endif
