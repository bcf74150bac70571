/* Voxelization on CUDA with a clock, for benchmarks, and the state of its hash table, for tests. */
#ifndef PC_CUDA_VOXELIZE_H
#define PC_CUDA_VOXELIZE_H

#include "voxelize_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As `voxelize` of pc_voxelize_ops, for at least one row. The work on the device runs once, and then `repeats` times
 * with a clock; `out` is the result of the last run. milliseconds: per repeat, between events on the stream, from the
 * points in device memory to all outputs in device memory; copies between host and device do not count.
 *
 * cold_bytes: device memory that is overwritten before each repeat, outside of its time, so that the caches hold
 * nothing of the job; 0 = none. means: NULL, or, for POINTS features with max_points, host memory for `columns` floats
 * for each possible voxel of the result: the repeats then also compute the means of the kept points, as MEAN does. */
pcgpu_status pc_cuda_voxelize_timed(pcgpu_context *context, const pc_voxelize_job *job, int repeats,
                                    float *milliseconds, size_t cold_bytes, float *means, pcgpu_voxels *out);

/* The hash table of the context's last call of variant hash or direct. */
typedef struct pc_cuda_voxelize_table {
    int64_t rows;  /* from this many records on, a table may start with fewer slots than there can be voxels, */
    int64_t least; /* but with at least this many */
    int64_t slots; /* 0: no call yet, or no memory */
    int tries;     /* tables that the last call tried; the last of them was large enough */
} pc_cuda_voxelize_table;

/* `context` has started CUDA. */
void pc_cuda_voxelize_table_info(pcgpu_context *context, pc_cuda_voxelize_table *info);

#ifdef __cplusplus
}
#endif
#endif
