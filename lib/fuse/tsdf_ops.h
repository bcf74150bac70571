/* What a back end does for volumes, of which each has a state of its own; see tsdf_math.h. */
#ifndef PC_TSDF_OPS_H
#define PC_TSDF_OPS_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pc_volume_job; /* tsdf_job.h */
struct pc_volume_view;
struct pc_volume_blocks;
struct pc_maps; /* projective_math.h */

typedef struct pc_tsdf_ops {
    /* An empty volume; closed also when opening failed, and NULL is accepted. */
    pcgpu_status (*open)(pcgpu_context *context, void **state);
    void (*close)(pcgpu_context *context, void *state);
    /* Fuses a frame, all of it or, on failure, nothing. A device may still be at it afterwards. */
    pcgpu_status (*integrate)(pcgpu_context *context, void *state, struct pc_volume_job *job);
    /* Vertices and normals of every pixel into arrays in host memory. */
    pcgpu_status (*raycast)(pcgpu_context *context, void *state, const struct pc_volume_view *view,
                            const struct pc_maps *maps);
    /* The vertices alone, into memory of the back end, which is the state's until its next call, for make_frame of
     * pc_projective_ops. A device may still be at it afterwards; what follows in the context comes after it. */
    pcgpu_status (*maps)(pcgpu_context *context, void *state, const struct pc_volume_view *view, struct pc_maps *maps);
    /* The whole volume in host memory; the arrays stay the state's, until the next call with it. */
    pcgpu_status (*blocks)(pcgpu_context *context, void *state, struct pc_volume_blocks *blocks);
} pc_tsdf_ops;

extern const pc_tsdf_ops pc_cpu_tsdf_ops, pc_cuda_tsdf_ops;

#ifdef __cplusplus
}
#endif
#endif
