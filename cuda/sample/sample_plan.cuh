/* Plans of farthest point sampling: see sample_plan.cu. */
#ifndef PC_SAMPLE_PLAN_CUH
#define PC_SAMPLE_PLAN_CUH

#include "sample.cuh"
#include "sample_cuda.h"

/* A launch: clouds [first, first + count). */
typedef struct pc_wave {
    int first, count;
    int64_t points, largest, most_wanted;
    bool cluster;
    pc_rounds_shape shape;
} pc_wave;

/* Buckets before any is parted. */
static inline int64_t pc_runs_of(int64_t n, int bucket_points) {
    return (n + bucket_points - 1) / bucket_points;
}

/* The jobs from `first` on that one launch may take; `points` is left 0 until the plan has settled which. */
pc_wave pc_gather_wave(const pc_sample_job *jobs, int first, int count);
/* Fills the form of the wave, and may take fewer clouds; *fits = false when the device cannot run it. */
pcgpu_status pc_plan_wave(pcgpu_context *context, pc_wave *w, const pc_cuda_sample_form *form, bool *fits);

#endif
