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

/* The number of buckets before long ones are split. */
static inline int64_t pc_runs_of(int64_t n, int bucket_points) {
    return (n + bucket_points - 1) / bucket_points;
}

/* The jobs from `first` on that fit into one launch, planned. Errors: DEVICE (too little memory for one of them). */
pcgpu_status pc_next_wave(pcgpu_context *context, const pc_sample_job *jobs, int first, int count,
                          const pc_cuda_sample_variant *variant, pc_wave *wave);
/* Chooses the variant and shape of the wave, and may reduce its count; *fits = false when the device cannot run it. */
pcgpu_status pc_plan_wave(pcgpu_context *context, pc_wave *w, const pc_cuda_sample_variant *variant, bool *fits);

#endif
