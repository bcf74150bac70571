/* What the variants of voxelization on CUDA share; the table of variants is in voxelize.cu. */
#ifndef PC_VOXELIZE_CUH
#define PC_VOXELIZE_CUH

#include "common.cuh"
#include "voxelize_device.h"
#include "voxelize_math.h"

/* Sets each pointer to memory for `count` items from the arena of the context. */
template <typename T, typename... More>
static inline pcgpu_status pc_voxelize_take(pcgpu_context *context, int64_t count, T **pointer, More **...more) {
    void *memory = NULL;
    PC_TRY(pc_arena_take(context, &pc_cuda_of(context)->arena, (size_t)count * sizeof(T), &memory));
    *pointer = (T *)memory;
    if constexpr (sizeof...(more) > 0) {
        return pc_voxelize_take(context, count, more...);
    }
    return PCGPU_OK;
}

/* Limits of the variants with a table. */
enum { PC_MAX_POINTS = 64, PC_MAX_COLUMNS = 16 };

static inline double pc_voxelize_cells(const pc_voxelize_job *job) {
    return (double)job->grid.cells[0] * (double)job->grid.cells[1] * (double)job->grid.cells[2];
}

/* Upper limit of the number of voxels. */
static inline int64_t pc_voxelize_most(const pc_voxelize_job *job) {
    const double cells = pc_voxelize_cells(job);
    return cells < (double)job->rows ? (int64_t)cells : job->rows;
}

/* Allocates the job's records in the arena and starts to copy them there. */
pcgpu_status pc_voxelize_up(pcgpu_context *context, const pc_voxelize_job *job, const float **data);

/* Copies the arrays of the result, members of a variant's parameters, to those of `out`. */
template <typename S>
static inline pcgpu_status pc_voxelize_down(pcgpu_context *context, const S *s, size_t rows, pcgpu_voxels *out) {
    const size_t voxels = (size_t)out->count, values = voxels * (size_t)out->capacity * (size_t)out->columns;
    PC_TRY(pc_cuda_down(context, out->point_voxel, s->point_voxel, rows * sizeof(int32_t)));
    PC_TRY(pc_cuda_down(context, out->counts, s->counts, voxels * sizeof(int32_t)));
    PC_TRY(pc_cuda_down(context, out->coords, s->coords, voxels * 4 * sizeof(int32_t)));
    PC_TRY(pc_cuda_down(context, out->features, s->features, values * sizeof(float)));
    return out->selected ? pc_cuda_down(context, out->selected, s->selected, voxels * sizeof(int32_t)) : PCGPU_OK;
}

/* The arguments of pc_cuda_voxelize_timed (voxelize_cuda.h). */
typedef struct pc_voxelize_clock {
    int repeats;
    float *milliseconds;
    size_t cold_bytes;
    float *means;
} pc_voxelize_clock;

/* Calls `prepare` and `work` once, and, unless clock is NULL, once more per repeat with the work timed. */
typedef pcgpu_status pc_voxelize_part(pcgpu_context *context, void *state);
pcgpu_status pc_voxelize_repeat(pcgpu_context *context, const pc_voxelize_clock *clock, pc_voxelize_part *prepare,
                                pc_voxelize_part *work, void *state);

/* A variant: `run` fills `out`, whose arrays the caller frees after a failure; clock may be NULL. *done = false: the
 * device has no memory for this variant, and the next one that fits is tried. */
typedef struct pc_voxelize_variant {
    const char *name;
    bool (*fits)(const pc_voxelize_job *job); /* NULL: any job */
    pcgpu_status (*run)(pcgpu_context *context, const pc_voxelize_job *job, const pc_voxelize_clock *clock,
                        pcgpu_voxels *out, bool *done);
    /* The arrays are on the device. NULL: none */
    pcgpu_status (*run_on_device)(pcgpu_context *context, const pc_voxelize_job *job, const pcgpu_device_voxels *out);
} pc_voxelize_variant;

extern const pc_voxelize_variant pc_voxelize_direct, pc_voxelize_fused, pc_voxelize_reduce, pc_voxelize_hash,
    pc_voxelize_sort;

#endif
