/* What tests and benchmarks call of registration by cells on CUDA: a form of their choice (ndt_jobs.cu; without
 * one it takes what is fastest for the sizes and the number of pairs, and every form gives the same bits), and the cells
 * of a model on the device (ndt_model.cu). */
#ifndef PC_CUDA_REGISTER_H
#define PC_CUDA_REGISTER_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pc_cells_job;     /* lib/register/ndt/ndt_path.h */
struct pc_cells_moments; /* lib/register/ndt/ndt_math.h */
struct pc_cells_block;

typedef struct pc_cuda_cells_form {
    int blocks;     /* a pair; 0: as is best */
    bool cluster;   /* the blocks of a pair are a thread block cluster */
    double sparing; /* points of the target to a cell, for which room is made at first; 0: as usual */
} pc_cuda_cells_form;

/* UNAVAILABLE when the device has no such form. */
pcgpu_status pc_cuda_cells_as(pcgpu_context *context, struct pc_cells_job *jobs, int count,
                              const pc_cuda_cells_form *form);

/* The cells of a grid of a sequence's model (ndt_ops.h, scans_model) in memory of the caller's, `capacity` of them:
 * level `grid`, and after the widest the shifted grid of level 0. Cell 0 is none and counts. */
pcgpu_status pc_cuda_scans_cells(pcgpu_context *context, void *state, int grid, int64_t capacity, int64_t *count,
                                 uint64_t *keys, struct pc_cells_moments *moments, struct pc_cells_block *blocks);

#ifdef __cplusplus
}
#endif
#endif
