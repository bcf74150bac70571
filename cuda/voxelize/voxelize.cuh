/* Voxelization on CUDA: the table of variants, and what they share. */
#ifndef PC_VOXELIZE_CUH
#define PC_VOXELIZE_CUH

#include "common.cuh"
#include "voxelize_math.h"

/* *pointer = memory for `count` items from the arena of the context. */
template <typename T> static inline pcgpu_status pc_voxelize_take(pcgpu_context *context, int64_t count, T **pointer) {
    void *memory = NULL;
    PC_TRY(pc_arena_take(context, &pc_cuda_of(context)->arena, (size_t)count * sizeof(T), &memory));
    *pointer = (T *)memory;
    return PCGPU_OK;
}

/* Takes memory for the job's records from the arena and starts to copy them there. */
pcgpu_status pc_voxelize_up(pcgpu_context *context, const pc_voxelize_job *job, const float **data);

/* A clock for repeated runs of what happens on the device: see voxelize_cuda.h. */
typedef struct pc_voxelize_clock {
    int repeats;
    float *milliseconds; /* per run */
    size_t cold_bytes;
    float *means; /* host */
} pc_voxelize_clock;

/* Runs `prepare` and `work` once, and once more, with the work timed, for each repeat of the clock, which may be NULL.
 */
typedef pcgpu_status pc_voxelize_part(pcgpu_context *context, void *state);
pcgpu_status pc_voxelize_repeat(pcgpu_context *context, const pc_voxelize_clock *clock, pc_voxelize_part *prepare,
                                pc_voxelize_part *work, void *state);

/* A variant: `run` fills `out`, whose arrays the caller frees after a failure; clock may be NULL. *done = false: the
 * device has no memory for this variant, and the next one that fits is tried. */
typedef struct pc_voxelize_variant {
    const char *name;
    bool (*fits)(const pc_voxelize_job *job);
    pcgpu_status (*run)(pcgpu_context *context, const pc_voxelize_job *job, const pc_voxelize_clock *clock,
                        pcgpu_voxels *out, bool *done);
} pc_voxelize_variant;

extern const pc_voxelize_variant pc_voxelize_direct, pc_voxelize_hash, pc_voxelize_sort;

#endif
