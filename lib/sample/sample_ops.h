/* What a back end does for sampling. Host pointers in, host pointers out. */
#ifndef PC_SAMPLE_OPS_H
#define PC_SAMPLE_OPS_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Farthest point sampling of one cloud of n >= 1 finite points. Without seeds it picks `start` (0 <= start < n) first,
 * at distance +inf. Seeds are distinct points that count as picked already; they are not written, and `start` is not
 * used. Then farthest points, the lowest place on ties, until `count` are picked (1..n, with seeds 0..n - seed_count)
 * or the next one's squared distance is below the least distance (compared after sqrtf with `min_distance`). */
typedef struct pc_sample_job {
    int64_t n;
    float *x, *y, *z;
    bool disposable; /* nobody needs x, y and z afterwards: the back end may overwrite them */
    int64_t start, count;
    int64_t seed_count;   /* 0 = none */
    const int32_t *seeds; /* seed_count */
    float min_distance;   /* 0 = none */
    int32_t *indices;     /* count, caller's */
    float *squared;       /* count, caller's */
    int64_t picked;       /* out */
    float rest; /* out: squared distance of the pick that would have come next, 0 when every point is picked */
} pc_sample_job;

typedef struct pc_sample_ops {
    /* Runs all jobs, on CUDA concurrently. */
    pcgpu_status (*sample)(pcgpu_context *context, pc_sample_job *jobs, int count);
} pc_sample_ops;

extern const pc_sample_ops pc_cpu_sample_ops, pc_cuda_sample_ops;

/* What the CPU back end expects to take for these clouds on one thread, in seconds, for AUTO. Work that only one of the
 * `threads` can do counts as often, since AUTO divides by them. */
double pc_cpu_sample_seconds(const pc_sample_job *jobs, int count, int threads);

#ifdef __cplusplus
}
#endif
#endif
