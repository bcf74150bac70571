/* The operations of a back end for sampling. All pointers are host pointers. */
#ifndef PC_SAMPLE_OPS_H
#define PC_SAMPLE_OPS_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Farthest point sampling of one cloud of n >= 1 finite points. Without seeds, `start` (0 <= start < n) is the first
 * pick, at distance +inf. Seeds are distinct points that count as picked before the first pick; they are not written,
 * and `start` is not used. Every further pick is the farthest point, with the lowest index on ties, until `count`
 * points are picked (1..n, with seeds 0..n - seed_count), or until the distance of the next one is below `min_distance`
 * (compared after sqrtf). */
typedef struct pc_sample_job {
    int64_t n;
    float *x, *y, *z;
    int dimensions;  /* 0 = x y z; 4 or more: coordinate k of point i is x[k * n + i] */
    bool disposable; /* the back end may overwrite x, y and z */
    int64_t start, count;
    int64_t seed_count;   /* 0 = none */
    const int32_t *seeds; /* seed_count */
    float min_distance;   /* 0 = none */
    pcgpu_context *poll;  /* which may end sampling, see pc_is_cancelled; or NULL */
    pcgpu_context *files; /* large arrays are in its temporary files; NULL: in memory */
    int32_t *indices;     /* count, caller's */
    float *squared;       /* count, caller's */
    int64_t picked;       /* out */
    float rest;           /* out: squared distance of the next pick, 0 when every point is picked */
} pc_sample_job;

typedef struct pc_sample_ops {
    /* Runs all jobs, which have the same dimensions; CUDA runs them concurrently. */
    pcgpu_status (*sample)(pcgpu_context *context, pc_sample_job *jobs, int count);
} pc_sample_ops;

/* The estimated time of the CPU back end for these clouds on one thread, in seconds, for AUTO. AUTO divides it by
 * `threads`, so work for one thread only counts `threads` times. */
double pc_cpu_sample_seconds(const pc_sample_job *jobs, int count, int threads);

#ifdef __cplusplus
}
#endif
#endif
