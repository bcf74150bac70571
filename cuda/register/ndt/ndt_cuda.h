/* What tests and benchmarks call of registration by cells on CUDA: a form of their choice (ndt_jobs.cu; without
 * one it takes what is fastest for the sizes and the number of pairs, and every form gives the same bits), and the
 * cells of a local map on the device (ndt_local_map.cu). */
#ifndef PC_CUDA_REGISTER_H
#define PC_CUDA_REGISTER_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pc_ndt_job;     /* lib/register/ndt/ndt_optimizer.h */
struct pc_ndt_moments; /* lib/register/ndt/ndt_math.h */
struct pc_ndt_block;

typedef struct pc_cuda_ndt_form {
    int blocks;             /* a pair; 0: as is best */
    double points_per_cell; /* target points per cell that the first capacity assumes; 0: the default */
} pc_cuda_ndt_form;

/* UNAVAILABLE when the device does not run so many blocks at the same time. */
pcgpu_status pc_cuda_ndt_as(pcgpu_context *context, struct pc_ndt_job *jobs, int count, const pc_cuda_ndt_form *form);

/* The cells of a grid of a sequence's local map (ndt_ops.h, sequence_merge) in memory of the caller's, `capacity` of
 * them: level `grid`, and after the widest the shifted grid of level 0. Cell 0 is none and counts. */
pcgpu_status pc_cuda_ndt_sequence_cells(pcgpu_context *context, void *state, int grid, int64_t capacity, int64_t *count,
                                        uint64_t *keys, struct pc_ndt_moments *moments, struct pc_ndt_block *blocks);

#ifdef __cplusplus
}
#endif
#endif
