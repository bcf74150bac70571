/* Voxelization on CUDA with a clock, for benchmarks, and what tests want to know of it. */
#ifndef PC_CUDA_VOXELIZE_H
#define PC_CUDA_VOXELIZE_H

#include "voxelize_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Like the table's `voxelize`, for a job of at least one row; what happens on the device is run `repeats` times, once
 * at the least. milliseconds: the time of each, between events on the stream, from the points in device memory to every
 * output in device memory; copies between host and device do not count. `out` is the result of the last.
 *
 * cold_bytes: device memory that is overwritten before each repeat, outside of its time, so that the caches hold
 * nothing of the job; 0 = none. means: NULL, or, of a job for POINTS with max_points, room in host memory for columns
 * floats for each of as many voxels as there may be: the least of rows and, with a limit, max_voxels. Then the same
 * repeats write the means of the kept points, too, as MEAN has them. */
pcgpu_status pc_cuda_voxelize_timed(pcgpu_context *context, const pc_voxelize_job *job, int repeats,
                                    float *milliseconds, size_t cold_bytes, float *means, pcgpu_voxels *out);

/* The hash table of a context's last voxelization that was not done by sorting. */
typedef struct pc_cuda_voxelize_table {
    int64_t rows;  /* from so many on, a table may begin smaller than the number of voxels that there may be, */
    int64_t least; /* with so many slots at the least */
    int64_t slots; /* 0: there was no memory for one */
    int tries;     /* so many times was the call done until the slots were enough: 1 where the first ones were */
} pc_cuda_voxelize_table;

/* `context` has started CUDA. */
void pc_cuda_voxelize_tell(pcgpu_context *context, pc_cuda_voxelize_table *told);

#ifdef __cplusplus
}
#endif
#endif
