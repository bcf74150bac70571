/* The classic form of an iteration, each kernel writing what the next one reads:
 *
 *   mask      a thread a pixel: whether it has a partner
 *   compact   the numbers of those that have (cub::DeviceSelect)
 *   systems   a thread a match: its equation multiplied out, PC_ICP_SUMS floats
 *   reduce    blocks add up systems, then one block their sums
 *   solve     on the host, from a copy of the sums
 *
 * The arithmetic of a pixel is that of lib/register/projective/projective_math.h, so the poses are the same but for the
 * order of additions. */
#include "register_depth_apart.h"

#include "projective.cuh"

#include <cub/block/block_reduce.cuh>
#include <cub/device/device_select.cuh>

#define THREADS 256

enum { REDUCE_BLOCKS = 256 };

/* What kernels share; passed by value. */
typedef struct apart_state {
    pc_depth_level source, target;
    pc_depth_step step;
    const float4 *from, *to;
    uint8_t *mask;
    int32_t *numbers, *list, *count; /* 0, 1, 2, ...; of matches; how many */
    float *systems;
    double *partial, *sums; /* REDUCE_BLOCKS x PC_ICP_SUMS, PC_ICP_SUMS */
} apart_state;

/* The equation of a pixel, all 0 when it has no partner. */
__device__ static void equation(const apart_state *s, int i, float sums[PC_ICP_SUMS]) {
    const float4 own = s->from[i];
    pc_depth_landing at;
    for (int k = 0; k < PC_ICP_SUMS; k++) {
        sums[k] = 0.0f;
    }
    pc_depth_project(&s->step, &s->target, ((float)(i % s->source.columns) - s->source.cx) * s->source.per_fx,
                     ((float)(i / s->source.columns) - s->source.cy) * s->source.per_fy, own.w, &at);
    const float4 there = s->to[at.at];
    pc_depth_add(false, &s->step, &s->target, &at, own.x, own.y, own.z, there.x, there.y, there.z, there.w, sums, 1);
}

__global__ void mask_kernel(apart_state s) {
    const int i = (int)(blockIdx.x * THREADS + threadIdx.x);
    float sums[PC_ICP_SUMS];
    if (i < s.source.columns * s.source.rows) {
        equation(&s, i, sums);
        s.mask[i] = sums[PC_ICP_MATCHES] > 0.0f;
        s.numbers[i] = i;
    }
}

__global__ void systems_kernel(apart_state s) {
    const int i = (int)(blockIdx.x * THREADS + threadIdx.x);
    float sums[PC_ICP_SUMS];
    if (i < *s.count) {
        equation(&s, s.list[i], sums);
        for (int k = 0; k < PC_ICP_SUMS; k++) {
            s.systems[(size_t)k * (size_t)(s.source.columns * s.source.rows) + (size_t)i] = sums[k];
        }
    }
}

/* Block b adds up every REDUCE_BLOCKS-th piece of each sum. */
__global__ void reduce_kernel(apart_state s) {
    typedef cub::BlockReduce<double, THREADS> reduction;
    __shared__ typename reduction::TempStorage temporary;
    const int pixels = s.source.columns * s.source.rows, count = *s.count;
    for (int k = 0; k < PC_ICP_SUMS; k++) {
        double own = 0.0;
        for (int i = (int)(blockIdx.x * THREADS + threadIdx.x); i < count; i += REDUCE_BLOCKS * THREADS) {
            own += (double)s.systems[(size_t)k * (size_t)pixels + (size_t)i];
        }
        own = reduction(temporary).Sum(own);
        if (threadIdx.x == 0) {
            s.partial[blockIdx.x * PC_ICP_SUMS + (unsigned)k] = own;
        }
        __syncthreads();
    }
}

__global__ void finish_kernel(apart_state s) {
    double sum = 0.0;
    for (int b = 0; b < REDUCE_BLOCKS; b++) {
        sum += s.partial[b * PC_ICP_SUMS + (int)threadIdx.x];
    }
    s.sums[threadIdx.x] = sum;
}

static pcgpu_status pass(pcgpu_context *context, apart_state *s, void *select, size_t select_bytes, double *sums) {
    const int pixels = s->source.columns * s->source.rows;
    cudaStream_t stream = pc_cuda_of(context)->stream;
    PC_LAUNCH(context, mask_kernel, pc_blocks(pixels, THREADS), THREADS, *s);
    CUDA_TRY(context,
             cub::DeviceSelect::Flagged(select, select_bytes, s->numbers, s->mask, s->list, s->count, pixels, stream));
    PC_LAUNCH(context, systems_kernel, pc_blocks(pixels, THREADS), THREADS, *s);
    PC_LAUNCH(context, reduce_kernel, REDUCE_BLOCKS, THREADS, *s);
    PC_LAUNCH(context, finish_kernel, 1, PC_ICP_SUMS, *s);
    return pc_cuda_down(context, sums, s->sums, PC_ICP_SUMS * sizeof *sums);
}

extern "C" pcgpu_status register_depth_apart(pcgpu_context *context, const struct pc_depth_frame *source,
                                             const struct pc_depth_frame *target, struct pc_depth_optimizer *optimizer,
                                             double *milliseconds) {
    pc_arena *arena = &pc_cuda_of(context)->arena;
    const size_t pixels = (size_t)source->level[0].columns * (size_t)source->level[0].rows;
    apart_state s;
    void *select = NULL;
    size_t select_bytes = 0;
    double sums[PC_ICP_SUMS];
    memset(&s, 0, sizeof s);
    CUDA_TRY(context, cub::DeviceSelect::Flagged(NULL, select_bytes, s.numbers, s.mask, s.list, s.count, (int)pixels));
    PC_TRY(pc_arena_reset(context, arena));
    PC_TRY(pc_arena_take(context, arena, pixels, (void **)&s.mask));
    PC_TRY(pc_arena_take(context, arena, pixels * sizeof *s.list, (void **)&s.list));
    PC_TRY(pc_arena_take(context, arena, pixels * sizeof *s.numbers, (void **)&s.numbers));
    PC_TRY(pc_arena_take(context, arena, sizeof *s.count, (void **)&s.count));
    PC_TRY(pc_arena_take(context, arena, pixels * PC_ICP_SUMS * sizeof(float), (void **)&s.systems));
    PC_TRY(pc_arena_take(context, arena, REDUCE_BLOCKS * PC_ICP_SUMS * sizeof(double), (void **)&s.partial));
    PC_TRY(pc_arena_take(context, arena, PC_ICP_SUMS * sizeof(double), (void **)&s.sums));
    PC_TRY(pc_arena_take(context, arena, select_bytes, &select));
    CUDA_TRY(context, cudaStreamSynchronize(pc_cuda_of(context)->stream));
    const double begin = pc_now();
    pc_depth_optimizer_begin(optimizer);
    while (optimizer->end == PC_DEPTH_RUNNING) {
        s.source = source->level[optimizer->base.level];
        s.target = target->level[optimizer->base.level];
        s.from = pc_depth_pixels_of(source->maps, &s.source);
        s.to = pc_depth_pixels_of(target->maps, &s.target);
        s.step = optimizer->step;
        PC_TRY(pass(context, &s, select, select_bytes, sums));
        pc_depth_optimizer_next(optimizer, sums);
    }
    *milliseconds = 1e3 * (pc_now() - begin);
    return PCGPU_OK;
}
