/* What tests read of registration by ndt on CUDA: the voxels of a local map on the device (ndt_local_map.cu). */
#ifndef PC_CUDA_REGISTER_H
#define PC_CUDA_REGISTER_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pc_ndt_moments; /* lib/register/ndt/ndt_math.h */
struct pc_ndt_block;

/* The voxels of a grid of a sequence's local map (ndt_ops.h, sequence_merge) in memory of the caller's, `capacity` of
 * them: level `grid`, and after the widest the shifted grid of level 0. Voxel 0 is none and counts. */
pcgpu_status pc_cuda_ndt_sequence_voxels(pcgpu_context *context, void *state, int grid, int64_t capacity,
                                         int64_t *count, uint64_t *keys, struct pc_ndt_moments *moments,
                                         struct pc_ndt_block *blocks);

#ifdef __cplusplus
}
#endif
#endif
