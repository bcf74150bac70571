/* The operations of a back end for volumes; each volume has its own state. See tsdf_math.h. */
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
    /* Opens an empty volume; with `color`, its voxels have one. Close it also when opening failed; close accepts
     * NULL. */
    pcgpu_status (*open)(pcgpu_context *context, bool color, void **state);
    void (*close)(pcgpu_context *context, void *state);
    /* Integrates a frame, completely or, on failure, not at all. A device may still be working when it returns. */
    pcgpu_status (*integrate)(pcgpu_context *context, void *state, struct pc_volume_job *job);
    /* Ray-casts the vertices and normals of every pixel into arrays in host memory. */
    pcgpu_status (*raycast)(pcgpu_context *context, void *state, const struct pc_volume_view *view,
                            const struct pc_maps *maps);
    /* Ray-casts only the vertices, into memory of the back end, for make_frame of pc_projective_ops. The state owns
     * this memory until its next call. A device may still be working when it returns; later operations of the context
     * run after it. */
    pcgpu_status (*maps)(pcgpu_context *context, void *state, const struct pc_volume_view *view, struct pc_maps *maps);
    /* Returns the whole volume in host memory. The state owns the arrays until its next call. */
    pcgpu_status (*blocks)(pcgpu_context *context, void *state, struct pc_volume_blocks *blocks);
} pc_tsdf_ops;

#ifdef __cplusplus
}
#endif
#endif
