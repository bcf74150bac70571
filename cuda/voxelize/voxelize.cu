/* Voxelization on CUDA: the records are copied to the device, and the first variant that fits makes voxels of them. */
#include "voxelize_cuda.h"
#include "voxelize.cuh"

pcgpu_status pc_voxelize_up(pcgpu_context *context, const pc_voxelize_job *job, const float **data) {
    float *device;
    const int64_t values = job->rows * job->columns;
    PC_TRY(pc_voxelize_take(context, values, &device));
    *data = device;
    return pc_cuda_up(context, device, job->data, (size_t)values * sizeof *device);
}

static pcgpu_status time_each(pcgpu_context *context, const pc_voxelize_clock *clock, pc_voxelize_part *prepare,
                              pc_voxelize_part *work, void *state, void *cold, cudaEvent_t begin, cudaEvent_t end) {
    cudaStream_t stream = pc_cuda_of(context)->stream;
    for (int i = 0; i < clock->repeats; i++) {
        PC_TRY(prepare(context, state));
        if (cold) {
            CUDA_TRY(context, cudaMemsetAsync(cold, 0, clock->cold_bytes, stream));
        }
        CUDA_TRY(context, cudaStreamSynchronize(stream));
        CUDA_TRY(context, cudaEventRecord(begin, stream));
        PC_TRY(work(context, state));
        CUDA_TRY(context, cudaEventRecord(end, stream));
        CUDA_TRY(context, cudaEventSynchronize(end));
        CUDA_TRY(context, cudaEventElapsedTime(clock->milliseconds + i, begin, end));
    }
    return PCGPU_OK;
}

pcgpu_status pc_voxelize_repeat(pcgpu_context *context, const pc_voxelize_clock *clock, pc_voxelize_part *prepare,
                                pc_voxelize_part *work, void *state) {
    cudaEvent_t begin = NULL, end = NULL;
    void *cold = NULL;
    PC_TRY(prepare(context, state));
    PC_TRY(work(context, state));
    if (!clock) {
        return PCGPU_OK;
    }
    cudaError_t error = cudaEventCreate(&begin);
    error = error == cudaSuccess ? cudaEventCreate(&end) : error;
    error = error == cudaSuccess && clock->cold_bytes ? cudaMalloc(&cold, clock->cold_bytes) : error;
    pcgpu_status status = error == cudaSuccess ? time_each(context, clock, prepare, work, state, cold, begin, end)
                                               : pc_cuda_fail(context, error, "a clock", __FILE__, __LINE__);
    cudaFree(cold);
    if (end) {
        cudaEventDestroy(end);
    }
    if (begin) {
        cudaEventDestroy(begin);
    }
    return status;
}

/* The first that fits is the fastest:
 *
 *   direct  the key of a cell is its index: small clouds on a grid of few cells, such as pillars (voxelize_direct.cuh)
 *   fused   a hash table of cells, and one kernel after insertion: small clouds, few points per voxel
 *           (voxelize_fused.cuh)
 *   reduce  a hash table of cells: features without max_points (voxelize_reduce.cuh)
 *   hash    a hash table of cells: any grid of fewer than 2^32 - 1 cells (voxelize_hash.cuh)
 *   sort    a stable sort of the records by voxel: everything else (voxelize_sort.cu) */
static const pc_voxelize_variant *const variants[] = {&pc_voxelize_direct, &pc_voxelize_fused, &pc_voxelize_reduce,
                                                      &pc_voxelize_hash, &pc_voxelize_sort};

static pcgpu_status voxelize(pcgpu_context *context, const pc_voxelize_job *job, const pc_voxelize_clock *clock,
                             pcgpu_voxels *out) {
    bool done = false;
    if (job->rows == 0) {
        return pc_voxels_allocate(context, job, 0, out);
    }
    for (size_t i = 0; !done && i < sizeof variants / sizeof *variants; i++) {
        if (!variants[i]->fits || variants[i]->fits(job)) {
            PC_TRY(variants[i]->run(context, job, clock, out, &done));
        }
    }
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_voxelize_timed(pcgpu_context *context, const pc_voxelize_job *job, int repeats,
                                               float *milliseconds, size_t cold_bytes, float *means,
                                               pcgpu_voxels *out) {
    const pc_voxelize_clock clock = {repeats, milliseconds, cold_bytes, means};
    pcgpu_status status = voxelize(context, job, repeats > 0 ? &clock : NULL, out);
    if (status != PCGPU_OK) {
        pcgpu_voxels_free(out);
    }
    return status;
}

static pcgpu_status pc_cuda_voxelize(pcgpu_context *context, const pc_voxelize_job *job, pcgpu_voxels *out) {
    return pc_cuda_voxelize_timed(context, job, 0, NULL, 0, NULL, out);
}

const pc_voxelize_ops pc_cuda_voxelize_ops = {pc_cuda_voxelize};

/* ---- arrays of the caller on the device -------------------------------------------------------------------------- */

static pcgpu_status voxelize_on_device(pcgpu_context *context, const pc_voxelize_job *job,
                                       const pcgpu_device_voxels *out) {
    if (job->rows == 0) {
        CUDA_TRY(context, cudaMemsetAsync(out->count, 0, sizeof *out->count, pc_cuda_of(context)->stream));
        return PCGPU_OK;
    }
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        if (variants[i]->run_on_device && variants[i]->fits(job)) {
            return variants[i]->run_on_device(context, job, out);
        }
    }
    return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                   "%.4g cells, %d columns and %lld points per voxel; on a GPU fewer than 2^32 - 1, up to %d and up to "
                   "%d are possible",
                   pc_voxelize_cells(job), job->columns, (long long)job->max_points, PC_MAX_COLUMNS, PC_MAX_POINTS);
}

extern "C" pcgpu_status pc_cuda_voxelize_device(pcgpu_context *context, void *stream, const pc_voxelize_job *job,
                                                const pcgpu_device_voxels *out) {
    PC_TRY(pc_cuda_start(context));
    PC_TRY(pc_cuda_check_memory(context, job->data, "the points"));
    PC_TRY(pc_cuda_check_memory(context, out->features, "the features"));
    PC_TRY(pc_cuda_check_memory(context, out->coords, "the coordinates"));
    PC_TRY(pc_cuda_check_memory(context, out->counts, "the counts"));
    PC_TRY(pc_cuda_check_memory(context, out->point_voxel, "the voxels of points"));
    PC_TRY(pc_cuda_check_memory(context, out->count, "the number of voxels"));
    void *own = pc_cuda_exchange_stream(context, stream);
    const pcgpu_status status = voxelize_on_device(context, job, out);
    pc_cuda_exchange_stream(context, own);
    return status;
}
