/* Farthest point sampling on CUDA: memory, transfers, launches. The idea is in sample.cuh. */
#include "sample_columns.cuh"
#include "sample_wave.cuh"

#include <stdlib.h>
#include <string.h>

/* ---- transfers and launches ------------------------------------------------------------------------------------- */

static pcgpu_status upload(pcgpu_context *context, const pc_wave *w, const pc_sample_job *jobs, const pc_cloud *clouds,
                           const device_wave *d) {
    for (int i = 0; i < w->count; i++) {
        const pc_sample_job *job = &jobs[w->first + i];
        const pc_cloud *c = &clouds[i];
        const int32_t start = (int32_t)job->start;
        size_t bytes = (size_t)job->n * sizeof(float);
        PC_TRY(pc_cuda_up(context, (void *)c->x, job->x, bytes));
        PC_TRY(pc_cuda_up(context, (void *)c->y, job->y, bytes));
        PC_TRY(pc_cuda_up(context, (void *)c->z, job->z, bytes));
        PC_TRY(pc_cuda_up(context, (void *)c->seeds, c->lead ? &start : job->seeds,
                          (size_t)c->seed_count * sizeof(int32_t)));
    }
    return pc_cuda_up(context, d->clouds, clouds, (size_t)w->count * sizeof *clouds);
}

static pcgpu_status compute_between(pcgpu_context *context, const pc_wave *w, const device_wave *d, cudaEvent_t begin,
                                    cudaEvent_t end, float *milliseconds) {
    cudaStream_t stream = pc_cuda_of(context)->stream;
    float took = 0.0f;
    CUDA_TRY(context, cudaEventRecord(begin, stream));
    PC_TRY(compute(context, w, d));
    CUDA_TRY(context, cudaEventRecord(end, stream));
    CUDA_TRY(context, cudaEventSynchronize(end));
    CUDA_TRY(context, cudaEventElapsedTime(&took, begin, end));
    *milliseconds += took;
    return PCGPU_OK;
}

static pcgpu_status compute_timed(pcgpu_context *context, const pc_wave *w, const device_wave *d, float *milliseconds) {
    cudaEvent_t begin, end;
    CUDA_TRY(context, cudaEventCreate(&begin));
    cudaError_t error = cudaEventCreate(&end);
    pcgpu_status status = error == cudaSuccess
                              ? compute_between(context, w, d, begin, end, milliseconds)
                              : pc_cuda_fail(context, error, "cudaEventCreate(&end)", __FILE__, __LINE__);
    cudaEventDestroy(begin);
    if (error == cudaSuccess) {
        cudaEventDestroy(end);
    }
    return status;
}

/* When every remaining point coincides with a pick, farthest point sampling takes the points by index. */
static pcgpu_status pick_the_rest(pcgpu_context *context, pc_sample_job *job) {
    bool *taken = (bool *)calloc((size_t)job->n, sizeof *taken);
    if (!taken) {
        return pc_fail_memory(context, (uint64_t)job->n, "the picks");
    }
    for (int64_t i = 0; i < job->seed_count; i++) {
        taken[job->seeds[i]] = true;
    }
    for (int64_t i = 0; i < job->picked; i++) {
        taken[job->indices[i]] = true;
    }
    for (int64_t i = 0; i < job->n && job->picked < job->count; i++) {
        if (!taken[i]) {
            job->indices[job->picked] = (int32_t)i;
            job->squared[job->picked++] = 0.0f;
        }
    }
    free(taken);
    return PCGPU_OK;
}

static pcgpu_status download(pcgpu_context *context, const pc_wave *w, pc_sample_job *jobs, const pc_cloud *clouds,
                             const pc_rounds_end *device_ends, pc_rounds_end *ends) {
    cudaStream_t stream = pc_cuda_of(context)->stream;
    PC_TRY(pc_cuda_down(context, ends, device_ends, (size_t)w->count * sizeof *ends));
    for (int i = 0; i < w->count; i++) {
        pc_sample_job *job = &jobs[w->first + i];
        const pc_cloud *c = &clouds[i];
        const pc_rounds_end *end = &ends[i];
        if (end->stuck) {
            return pc_fail(context, PCGPU_ERROR_DEVICE,
                           "sampling stopped on the GPU because a round made no progress; use --cpu");
        }
        job->picked = c->lead + end->valid;
        const uint32_t open = (uint32_t)(end->open >> 32);
        memcpy(&job->rest, &open, sizeof job->rest);
        size_t bytes = (size_t)job->picked * 4;
        CUDA_TRY(context, cudaMemcpyAsync(job->indices, c->indices, bytes, cudaMemcpyDeviceToHost, stream));
        CUDA_TRY(context, cudaMemcpyAsync(job->squared, c->squared, bytes, cudaMemcpyDeviceToHost, stream));
        if (end->final > end->valid) { /* the next pick is among the ranked ones */
            CUDA_TRY(context, cudaMemcpyAsync(&job->rest, c->squared + job->picked, 4, cudaMemcpyDeviceToHost, stream));
        }
    }
    CUDA_TRY(context, cudaStreamSynchronize(stream));
    for (int i = 0; i < w->count; i++) {
        pc_sample_job *job = &jobs[w->first + i];
        if (job->picked < job->count && job->min_distance == 0.0f) {
            PC_TRY(pick_the_rest(context, job));
        }
    }
    return PCGPU_OK;
}

static pcgpu_status run_wave(pcgpu_context *context, const pc_wave *w, pc_sample_job *jobs, pc_cloud *clouds,
                             pc_rounds_end *ends, int repeats, float *milliseconds) {
    pc_carving l = {};
    size_t scratch_bytes;
    PC_TRY(pc_sample_order_scratch(context, w->points, &scratch_bytes));
    lay_out_wave(&l, w, jobs, scratch_bytes, clouds);
    PC_TRY(pc_carve_block(context, &pc_cuda_of(context)->arena, &l));
    device_wave d = lay_out_wave(&l, w, jobs, scratch_bytes, clouds);
    PC_TRY(upload(context, w, jobs, clouds, &d));
    for (int r = 0; r < repeats; r++) {
        PC_TRY(milliseconds ? compute_timed(context, w, &d, &milliseconds[r]) : compute(context, w, &d));
    }
    return download(context, w, jobs, clouds, d.ends, ends);
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

extern "C" bool pc_cuda_sample_can(pcgpu_context *context, const pc_cuda_sample_variant *variant, int64_t n) {
    pc_wave w = {};
    bool fits = false;
    w.count = 1;
    w.largest = n;
    return cudaSetDevice(pc_cuda_of(context)->index) == cudaSuccess &&
           pc_plan_wave(context, &w, variant, &fits) == PCGPU_OK && fits;
}

extern "C" pcgpu_status pc_cuda_sample_as(pcgpu_context *context, pc_sample_job *jobs, int count,
                                          const pc_cuda_sample_variant *variant, int repeats, float *milliseconds) {
    CUDA_TRY(context, cudaSetDevice(pc_cuda_of(context)->index));
    for (int r = 0; milliseconds && r < repeats; r++) {
        milliseconds[r] = 0.0f;
    }
    for (int first = 0; first < count;) {
        pc_wave w;
        PC_TRY(pc_next_wave(context, jobs, first, count, variant, &w));
        pc_cloud *clouds = (pc_cloud *)malloc((size_t)w.count * sizeof *clouds);
        pc_rounds_end *ends = (pc_rounds_end *)malloc((size_t)w.count * sizeof *ends);
        pcgpu_status status = clouds && ends ? run_wave(context, &w, jobs, clouds, ends, repeats, milliseconds)
                                             : pc_fail_memory(context, (uint64_t)w.count * sizeof *clouds, "a batch");
        free(clouds);
        free(ends);
        PC_TRY(status);
        first += w.count;
    }
    return PCGPU_OK;
}

static pcgpu_status pc_cuda_sample(pcgpu_context *context, pc_sample_job *jobs, int count) {
    const pc_cuda_sample_variant variant = {};
    if (count > 0 && jobs[0].dimensions) {
        return pc_cuda_sample_columns(context, jobs, count);
    }
    return pc_cuda_sample_as(context, jobs, count, &variant, 1, NULL);
}

const pc_sample_ops pc_cuda_sample_ops = {pc_cuda_sample};
