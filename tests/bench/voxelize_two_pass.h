/* Voxelization on a GPU as detection pipelines do it, to compare with. */
#ifndef VOXELIZE_TWO_PASS_H
#define VOXELIZE_TWO_PASS_H

#include "voxelize_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The arguments are those of pc_cuda_voxelize_timed (cuda/voxelize/voxelize_cuda.h). Which voxels and points are kept,
 * and the order of both, is up to the order of the threads. Fills count, voxels_found, capacity, columns, features,
 * coords and counts of `out`; point_voxel and the other numbers are not made. For 3 to 5 columns, grids of less than
 * 2^32 - 1 cells, and MEAN, or POINTS and PILLAR with max_points; skip_origin is not looked at. */
pcgpu_status two_pass_voxelize(pcgpu_context *context, const pc_voxelize_job *job, int repeats, float *milliseconds,
                               size_t cold_bytes, float *means, pcgpu_voxels *out);

#ifdef __cplusplus
}
#endif
#endif
