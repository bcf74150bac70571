/* The operations of a back end for neighbours. All pointers are host pointers. */
#ifndef PC_NEIGHBORS_OPS_H
#define PC_NEIGHBORS_OPS_H

#include "backend.h"
#include "clouds.h"
#include "pcgpu_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A call after its checks. */
typedef struct pc_neighbors_job {
    pcgpu_clouds points, queries;
    int k;         /* 0: only counts */
    bool first;    /* the lowest indices, not the nearest points */
    float squared; /* of the radius; infinity: no limit */
    bool pad, global;
    pcgpu_neighbor_lists lists;
    double *means; /* queries, or NULL: no lists, but the mean distance of each, see pc_neighbors_means */
} pc_neighbors_job;

typedef struct pc_neighbors_ops {
    pcgpu_status (*search)(pcgpu_context *context, const pc_neighbors_job *job);
} pc_neighbors_ops;

/* The mean distance of each record to the k nearest others of its cloud, in metres, or to all of them where there are
 * fewer; -1 without any. k: 1 to PCGPU_NEIGHBORS_MOST - 1. Errors: as pcgpu_neighbors. */
pcgpu_status pc_neighbors_means(pcgpu_context *context, const pcgpu_clouds *clouds, int k, double *means,
                                pcgpu_run *run);

/* Errors: ARGUMENT (not above 0, or above 1e19). */
pcgpu_status pc_neighbors_check_radius(pcgpu_context *context, float radius);

/* The search with arrays in device memory, on a stream of the caller. */
pcgpu_status pc_cuda_neighbors_device(pcgpu_context *context, void *stream, const pc_neighbors_job *job);
/* The same on the stream of the context, for other operations of CUDA. */
pcgpu_status pc_cuda_neighbors_run(pcgpu_context *context, const pc_neighbors_job *job);

#ifdef __cplusplus
}
#endif
#endif
