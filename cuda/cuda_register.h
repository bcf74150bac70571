/* Registration by cells in a chosen form: cuda/register_cells.cu chooses what is fastest for the sizes and the number
 * of pairs. Every form gives the same bits, which is what tests and benchmarks use this for. */
#ifndef PC_CUDA_REGISTER_H
#define PC_CUDA_REGISTER_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pc_cells_job; /* lib/icp_cells_path.h */

typedef struct pc_cuda_cells_form {
    int blocks;     /* a pair; 0: as is best */
    bool cluster;   /* the blocks of a pair are a thread block cluster */
    double sparing; /* points of the target to a cell, for which room is made at first; 0: as usual */
} pc_cuda_cells_form;

/* UNAVAILABLE when the device has no such form. */
pcgpu_status pc_cuda_cells_as(pcgpu_context *context, struct pc_cells_job *jobs, int count,
                              const pc_cuda_cells_form *form);

#ifdef __cplusplus
}
#endif
#endif
