/* Farthest point sampling among other columns than x y z: sample_columns.cu. */
#ifndef PC_SAMPLE_COLUMNS_CUH
#define PC_SAMPLE_COLUMNS_CUH

#include "common.cuh"
#include "sample_device.h"
#include "sample_ops.h"

/* `sample` of the table of operations for jobs with dimensions. */
pcgpu_status pc_cuda_sample_columns(pcgpu_context *context, pc_sample_job *jobs, int count);
/* pcgpu_sample_device for parameters with columns, on the context's stream; the jobs have n, count and start. */
pcgpu_status pc_cuda_sample_columns_device(pcgpu_context *context, const pcgpu_clouds *from,
                                           const pcgpu_sample_params *params, pc_sample_job *jobs,
                                           const pcgpu_device_picks *picks);

__device__ static inline void pc_write_pick(const pcgpu_device_picks &out, int64_t at, int64_t index, float distance) {
    if (out.index_bytes == 8) {
        ((int64_t *)out.indices)[at] = index;
    } else {
        ((int32_t *)out.indices)[at] = (int32_t)index;
    }
    if (out.distances) {
        out.distances[at] = distance;
    }
}

#endif
