/* See device_floor.h. */
#include "device_floor.h"

#include "bench.h"
#include "common.cuh"

#define THREADS 256

enum { WORDS_A_THREAD = 4, WARM = 5, RUNS = 25 };

__global__ static void copy_kernel(const uint4 *from, uint4 *to, int64_t words) {
    int64_t first = (int64_t)blockIdx.x * THREADS * WORDS_A_THREAD + threadIdx.x;
    uint4 held[WORDS_A_THREAD];
    for (int k = 0; k < WORDS_A_THREAD; k++) {
        int64_t i = first + k * THREADS;
        held[k] = i < words ? from[i] : make_uint4(0, 0, 0, 0);
    }
    for (int k = 0; k < WORDS_A_THREAD; k++) {
        int64_t i = first + k * THREADS;
        if (i < words) {
            to[i] = held[k];
        }
    }
}

__global__ static void empty_kernel(int nothing) {
    (void)nothing;
}

typedef struct stopwatch {
    cudaEvent_t begin, end;
    uint4 *from, *to;
    int64_t words; /* to copy; 0 = start the empty kernel */
    float milliseconds[WARM + RUNS];
} stopwatch;

static pcgpu_status run(pcgpu_context *context, stopwatch *w) {
    cudaStream_t stream = pc_cuda_of(context)->stream;
    CUDA_TRY(context, cudaEventCreate(&w->begin));
    CUDA_TRY(context, cudaEventCreate(&w->end));
    for (int i = 0; i < WARM + RUNS; i++) {
        CUDA_TRY(context, cudaEventRecord(w->begin, stream));
        if (w->words) {
            PC_LAUNCH(context, copy_kernel, pc_blocks(w->words, THREADS * WORDS_A_THREAD), THREADS, w->from, w->to,
                      w->words);
        } else {
            PC_LAUNCH(context, empty_kernel, 1, WORDS_A_THREAD, 0);
        }
        CUDA_TRY(context, cudaEventRecord(w->end, stream));
        CUDA_TRY(context, cudaEventSynchronize(w->end));
        CUDA_TRY(context, cudaEventElapsedTime(&w->milliseconds[i], w->begin, w->end));
    }
    return PCGPU_OK;
}

static pcgpu_status run_median(pcgpu_context *context, stopwatch *w, double *milliseconds) {
    pcgpu_status status = run(context, w);
    if (w->begin) {
        cudaEventDestroy(w->begin);
    }
    if (w->end) {
        cudaEventDestroy(w->end);
    }
    *milliseconds = status == PCGPU_OK ? bench_median(w->milliseconds + WARM, RUNS) : 0.0;
    return status;
}

extern "C" pcgpu_status device_copy_rate(pcgpu_context *context, size_t bytes, double *rate) {
    stopwatch w;
    void *from = NULL, *to = NULL;
    pc_arena *arena = &pc_cuda_of(context)->arena;
    double milliseconds;
    memset(&w, 0, sizeof w);
    w.words = (int64_t)(bytes / sizeof(uint4));
    PC_TRY(pc_arena_reset(context, arena));
    PC_TRY(pc_arena_take(context, arena, bytes, &from));
    PC_TRY(pc_arena_take(context, arena, bytes, &to));
    w.from = (uint4 *)from;
    w.to = (uint4 *)to;
    CUDA_TRY(context, cudaMemsetAsync(from, 1, bytes, pc_cuda_of(context)->stream));
    PC_TRY(run_median(context, &w, &milliseconds));
    *rate = 2.0 * (double)bytes / (milliseconds * 1e-3);
    return PCGPU_OK;
}

extern "C" pcgpu_status device_launch_time(pcgpu_context *context, double *microseconds) {
    stopwatch w;
    memset(&w, 0, sizeof w);
    PC_TRY(run_median(context, &w, microseconds));
    *microseconds *= 1e3;
    return PCGPU_OK;
}
