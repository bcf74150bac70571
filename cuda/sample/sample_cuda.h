/* Farthest point sampling on CUDA in a chosen form, for tests and benchmarks; pc_cuda_sample takes what is fastest for
 * the clouds and the device. Every form gives the same bits. */
#ifndef PC_CUDA_SAMPLE_H
#define PC_CUDA_SAMPLE_H

#include "sample_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pc_cuda_sample_kind {
    PC_CUDA_SAMPLE_CHOOSE,
    PC_CUDA_SAMPLE_CLUSTER, /* a cluster of blocks a cloud, messages through their shared memories; from sm_90 */
    PC_CUDA_SAMPLE_GRID,    /* blocks of the whole device, messages through global memory */
} pc_cuda_sample_kind;

typedef struct pc_cuda_sample_form {
    pc_cuda_sample_kind kind;
    int blocks;        /* a cloud; 0 = choose */
    int bucket_points; /* a multiple of 32; 0 = choose */
    bool stored;       /* of a grid: points in global memory even where shared memory would hold them */
    bool single;       /* one pick a round, to measure what several gain */
} pc_cuda_sample_form;

/* False when the device cannot run the form for clouds of at most n points; `context` has started CUDA. */
bool pc_cuda_sample_can(pcgpu_context *context, const pc_cuda_sample_form *form, int64_t n);

/* Like the table's `sample`. Runs what happens on the device `repeats` times (>= 1); milliseconds: NULL, or the time of
 * each of them from clouds in device memory to picks in device memory. */
pcgpu_status pc_cuda_sample_as(pcgpu_context *context, pc_sample_job *jobs, int count, const pc_cuda_sample_form *form,
                               int repeats, float *milliseconds);

#ifdef __cplusplus
}
#endif
#endif
