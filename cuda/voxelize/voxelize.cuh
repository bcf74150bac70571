/* Voxelization on CUDA: what its two ways share.
 *
 *   hashed  with a limit of points, which is what detection networks ask for: the table of cells itself keeps each
 *           voxel's first points, so that nothing is sorted but the few points of a voxel; and downsampling, to means or
 *           to single points (voxelize_hashed.cuh)
 *   sorted  everything else: a device-wide stable sort by voxel (voxelize_sorted.cuh) */
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
    float *milliseconds; /* of each */
    size_t cold_bytes;
    float *means; /* host */
} pc_voxelize_clock;

/* Runs `prepare` and `work` once, and once more, with the work timed, for each repeat of the clock, which may be NULL.
 */
typedef pcgpu_status pc_voxelize_part(pcgpu_context *context, void *state);
pcgpu_status pc_voxelize_repeat(pcgpu_context *context, const pc_voxelize_clock *clock, pc_voxelize_part *prepare,
                                pc_voxelize_part *work, void *state);

/* Both fill `out`, whose arrays the caller frees after a failure; clock may be NULL. `done` tells whether the hashed way
 * can do the job on this device: at most PC_MOST_KEPT points of a voxel, or all for one row of features; at most
 * PC_MOST_COLUMNS columns; fewer than 2^32 - 1 cells; memory for the table. */
pcgpu_status pc_voxelize_hashed(pcgpu_context *context, const pc_voxelize_job *job, const pc_voxelize_clock *clock,
                                pcgpu_voxels *out, bool *done);
pcgpu_status pc_voxelize_sorted(pcgpu_context *context, const pc_voxelize_job *job, const pc_voxelize_clock *clock,
                                pcgpu_voxels *out);

#endif
