/* Farthest point sampling on CUDA with a given variant, for tests and benchmarks. pc_cuda_sample chooses the fastest
 * variant for the clouds and the device. All variants give the same bits. */
#ifndef PC_CUDA_SAMPLE_H
#define PC_CUDA_SAMPLE_H

#include "sample_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pc_cuda_sample_kind {
    PC_CUDA_SAMPLE_CHOOSE,
    PC_CUDA_SAMPLE_CLUSTER, /* one cluster of blocks per cloud, exchange by distributed shared memory; from sm_90 */
    PC_CUDA_SAMPLE_GRID,    /* blocks of the whole device, exchange by mailboxes in global memory */
} pc_cuda_sample_kind;

typedef struct pc_cuda_sample_variant {
    pc_cuda_sample_kind kind;
    int blocks;        /* per cloud; 0 = choose */
    int bucket_points; /* a multiple of 32; 0 = choose */
    bool stored;       /* grid only: points in global memory, even where they fit in shared memory */
} pc_cuda_sample_variant;

/* Whether the device can run the variant for clouds of at most n points; `context` has started CUDA. */
bool pc_cuda_sample_can(pcgpu_context *context, const pc_cuda_sample_variant *variant, int64_t n);

/* Like `sample` of the table of operations. Repeats the work on the device `repeats` times (>= 1). milliseconds: NULL,
 * or receives the time of each repetition, from clouds in device memory to picks in device memory. */
pcgpu_status pc_cuda_sample_as(pcgpu_context *context, pc_sample_job *jobs, int count,
                               const pc_cuda_sample_variant *variant, int repeats, float *milliseconds);

#ifdef __cplusplus
}
#endif
#endif
