/* Farthest point sampling on CUDA: which clouds run at once, on how many blocks, and the way there and back. The idea
 * and the kernels are in sample.cuh. */
#include "sample.cuh"
#include "sample.h"

#include <stdlib.h>
#include <string.h>

/* ---- planning: which clouds run at once, on how many blocks --------------------------------------------------- */

typedef void kernel_fn(const device_job *, const int32_t *);

/* Kernels by the points that a block holds, and the number of blocks the device holds at once. */
typedef struct kernel_form {
    kernel_fn *kernel;
    int held; /* 0 = any number, in global memory */
    int resident;
} kernel_form;

enum { FORMS = 5, STORED = FORMS - 1, FIRST_SHARED = 1 /* clouds of several blocks: 2048 points a block or more */ };

/* A launch: jobs [first, first + count) with a form; blocks_of(job) blocks each. */
typedef struct wave {
    int first, count, form;
    int64_t blocks;
    bool waits; /* a cloud has several blocks */
} wave;

static pcgpu_status list_forms(pcgpu_context *context, kernel_form forms[FORMS]) {
    static const kernel_form all[FORMS] = {{sample_kernel<2>, 2, 0},
                                           {sample_kernel<4>, 4, 0},
                                           {sample_kernel<8>, 8, 0},
                                           {sample_kernel<LARGEST_HELD>, LARGEST_HELD, 0},
                                           {sample_kernel<0>, 0, 0}};
    const struct cudaDeviceProp *p = &pc_cuda_of(context)->properties;
    memcpy(forms, all, sizeof all);
    for (int f = 0; f < FORMS; f++) {
        int a_multiprocessor = 0;
        CUDA_TRY(context,
                 cudaOccupancyMaxActiveBlocksPerMultiprocessor(&a_multiprocessor, forms[f].kernel, THREADS, 0));
        forms[f].resident = a_multiprocessor * p->multiProcessorCount;
        if (forms[f].resident < 1) {
            return pc_fail(context, PCGPU_ERROR_DEVICE,
                           "this GPU cannot run a block of %d threads of the sampling kernel; "
                           "use --cpu",
                           THREADS);
        }
    }
    return PCGPU_OK;
}

/* Blocks that a cloud takes with a form. With few points a block in global memory a single huge cloud takes them all.
 */
static int64_t blocks_of(const pc_sample_job *job, const kernel_form *form) {
    int64_t points = (int64_t)form->held * THREADS;
    int64_t blocks = form->held ? (job->n + points - 1) / points : form->resident;
    return blocks;
}

/* The launch that begins with job `first`: the fewest points a block with which all remaining jobs run at once; else
 * the most points a block and as many jobs as fit. Jobs of one block each never wait and need not be resident. */
static wave plan_wave(const pc_sample_job *jobs, int first, int count, const kernel_form forms[FORMS]) {
    int64_t largest = 0;
    for (int i = first; i < count; i++) {
        largest = jobs[i].n > largest ? jobs[i].n : largest;
    }
    for (int f = 0; f < STORED; f++) {
        if (largest <= (int64_t)forms[f].held * THREADS) {
            wave all = {first, count - first, f, count - first, false};
            return all;
        }
    }
    for (int f = FIRST_SHARED; f < STORED; f++) {
        wave w = {first, 0, f, 0, true};
        for (int i = first; i < count; i++, w.count++) {
            int64_t blocks = blocks_of(&jobs[i], &forms[f]);
            if (w.blocks + blocks > forms[f].resident) {
                break;
            }
            w.blocks += blocks;
        }
        if (w.count == count - first || (f == STORED - 1 && w.count > 0)) {
            return w;
        }
    }
    wave alone = {first, 1, STORED, forms[STORED].resident, true};
    return alone;
}

/* ---- launching ------------------------------------------------------------------------------------------------- */

/* One piece of device memory for a wave, cut into arrays. Called twice: to measure (base NULL), then to place. */
typedef struct layout {
    char *base;
    size_t used;
} layout;

static void *cut(layout *l, size_t bytes) {
    void *at = l->base ? l->base + l->used : NULL;
    l->used += (bytes + 255) / 256 * 256;
    return at;
}

typedef struct device_wave {
    device_job *jobs;
    int32_t *block_job;
    word *slots;
    size_t slot_bytes;
    int64_t *picked;
} device_wave;

/* Fills the host's copy of the jobs with addresses on the device. */
static device_wave place(layout *l, const wave *w, const pc_sample_job *jobs, const kernel_form *form,
                         device_job *out) {
    device_wave d;
    d.jobs = (device_job *)cut(l, (size_t)w->count * sizeof *d.jobs);
    d.block_job = (int32_t *)cut(l, (size_t)w->blocks * sizeof *d.block_job);
    d.slot_bytes = 2 * (size_t)w->blocks * sizeof *d.slots;
    d.slots = (word *)cut(l, d.slot_bytes);
    d.picked = (int64_t *)cut(l, (size_t)w->count * sizeof *d.picked);
    int block = 0;
    for (int i = 0; i < w->count; i++) {
        const pc_sample_job *job = &jobs[w->first + i];
        device_job *to = &out[i];
        size_t bytes = (size_t)job->n * sizeof(float);
        to->n = job->n;
        to->count = job->count;
        to->start = job->start;
        to->min_distance = job->min_distance;
        to->first_block = block;
        to->blocks = (int)blocks_of(job, form);
        to->x = (const float *)cut(l, bytes);
        to->y = (const float *)cut(l, bytes);
        to->z = (const float *)cut(l, bytes);
        to->nearest = form->held ? NULL : (float *)cut(l, bytes);
        to->slots = d.slots ? d.slots + 2 * (size_t)block : NULL;
        to->indices = (int32_t *)cut(l, (size_t)job->count * sizeof(int32_t));
        to->squared = (float *)cut(l, (size_t)job->count * sizeof(float));
        to->picked = d.picked ? d.picked + i : NULL;
        block += to->blocks;
    }
    return d;
}

static pcgpu_status launch(pcgpu_context *context, const wave *w, const kernel_form *form, const device_wave *d) {
    cudaStream_t stream = pc_cuda_of(context)->stream;
    const device_job *jobs = d->jobs;
    const int32_t *block_job = d->block_job;
    void *arguments[] = {&jobs, &block_job};
    dim3 grid((unsigned)w->blocks), block(THREADS);
    if (!w->waits) {
        CUDA_TRY(context, cudaLaunchKernel((const void *)form->kernel, grid, block, arguments, 0, stream));
        return PCGPU_OK;
    }
    CUDA_TRY(context, cudaLaunchCooperativeKernel((const void *)form->kernel, grid, block, arguments, 0, stream));
    return PCGPU_OK;
}

static pcgpu_status upload(pcgpu_context *context, const wave *w, const pc_sample_job *jobs, const device_job *placed,
                           const device_wave *d, int32_t *block_job) {
    for (int i = 0; i < w->count; i++) {
        const pc_sample_job *job = &jobs[w->first + i];
        size_t bytes = (size_t)job->n * sizeof(float);
        PC_TRY(pc_cuda_up(context, (void *)placed[i].x, job->x, bytes));
        PC_TRY(pc_cuda_up(context, (void *)placed[i].y, job->y, bytes));
        PC_TRY(pc_cuda_up(context, (void *)placed[i].z, job->z, bytes));
        for (int b = 0; b < placed[i].blocks; b++) {
            block_job[placed[i].first_block + b] = i;
        }
    }
    PC_TRY(pc_cuda_up(context, d->jobs, placed, (size_t)w->count * sizeof *placed));
    PC_TRY(pc_cuda_up(context, d->block_job, block_job, (size_t)w->blocks * sizeof *block_job));
    CUDA_TRY(context, cudaMemsetAsync(d->slots, 0, d->slot_bytes, pc_cuda_of(context)->stream));
    return PCGPU_OK;
}

static pcgpu_status download(pcgpu_context *context, const wave *w, pc_sample_job *jobs, const device_job *placed,
                             const device_wave *d, int64_t *picked) {
    cudaStream_t stream = pc_cuda_of(context)->stream;
    PC_TRY(pc_cuda_down(context, picked, d->picked, (size_t)w->count * sizeof *picked));
    for (int i = 0; i < w->count; i++) {
        pc_sample_job *job = &jobs[w->first + i];
        job->picked = picked[i];
        size_t bytes = (size_t)picked[i] * 4;
        CUDA_TRY(context, cudaMemcpyAsync(job->indices, placed[i].indices, bytes, cudaMemcpyDeviceToHost, stream));
        CUDA_TRY(context, cudaMemcpyAsync(job->squared, placed[i].squared, bytes, cudaMemcpyDeviceToHost, stream));
    }
    CUDA_TRY(context, cudaStreamSynchronize(stream));
    return PCGPU_OK;
}

/* Host memory of a wave: the jobs with device addresses, the job of each block, the numbers of picks. */
typedef struct host_wave {
    device_job *jobs;
    int32_t *block_job;
    int64_t *picked;
} host_wave;

static pcgpu_status run_wave(pcgpu_context *context, const wave *w, pc_sample_job *jobs, const kernel_form *form,
                             const host_wave *h) {
    pc_arena *arena = &pc_cuda_of(context)->arena;
    layout l = {NULL, 0};
    void *memory;
    place(&l, w, jobs, form, h->jobs);
    PC_TRY(pc_arena_reset(context, arena));
    PC_TRY(pc_arena_take(context, arena, l.used, &memory));
    l.base = (char *)memory;
    l.used = 0;
    device_wave d = place(&l, w, jobs, form, h->jobs);
    PC_TRY(upload(context, w, jobs, h->jobs, &d, h->block_job));
    PC_TRY(launch(context, w, form, &d));
    return download(context, w, jobs, h->jobs, &d, h->picked);
}

extern "C" pcgpu_status pc_cuda_sample(pcgpu_context *context, pc_sample_job *jobs, int count) {
    kernel_form forms[FORMS];
    CUDA_TRY(context, cudaSetDevice(pc_cuda_of(context)->index));
    PC_TRY(list_forms(context, forms));
    for (int first = 0; first < count;) {
        wave w = plan_wave(jobs, first, count, forms);
        host_wave h;
        h.jobs = (device_job *)malloc((size_t)w.count * sizeof *h.jobs);
        h.block_job = (int32_t *)malloc((size_t)w.blocks * sizeof *h.block_job);
        h.picked = (int64_t *)malloc((size_t)w.count * sizeof *h.picked);
        pcgpu_status status = h.jobs && h.block_job && h.picked
                                  ? run_wave(context, &w, jobs, &forms[w.form], &h)
                                  : pc_fail_memory(context, (uint64_t)w.count * sizeof *h.jobs, "a batch");
        free(h.jobs);
        free(h.block_job);
        free(h.picked);
        PC_TRY(status);
        first += w.count;
    }
    return PCGPU_OK;
}

extern "C" bool pc_cuda_sample_can(pcgpu_context *context, const pc_cuda_sample_form *form, int64_t n) {
    (void)context;
    (void)n;
    return form->kind == PC_CUDA_SAMPLE_CHOOSE;
}

extern "C" pcgpu_status pc_cuda_sample_as(pcgpu_context *context, pc_sample_job *jobs, int count,
                                          const pc_cuda_sample_form *form, int repeats, float *milliseconds) {
    (void)form;
    (void)repeats;
    (void)milliseconds;
    return pc_cuda_sample(context, jobs, count);
}
