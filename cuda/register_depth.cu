/* Registration of depth frames on CUDA (lib/register_depth.c says what the method is).
 *
 * Idea: one launch from the start of the path to its end. A warp takes a tile, a thread adds up PC_DEPTH_LOADS pixels
 * in registers, the lanes are reduced by exchanges, the warps of a block are one group of tiles, whose sums go to
 * global memory. After a barrier of all blocks each block adds up all groups and takes the step for itself, from the
 * same sums to the same pose, so that one barrier an iteration is enough. Nothing is written a pixel; a block that has
 * one group keeps its pixels of the source while it stays at a level. The host waits once. */
#include "register_range.cuh"

#include <stdlib.h>
#include <string.h>

enum {
    THREADS = PC_DEPTH_GROUP_THREADS,
    L = PC_DEPTH_LANES,
    AT_ONCE = 4,   /* pixels whose partners are fetched together */
    COUNTER = 128, /* bytes of a counter: lines of their own */
    COUNTERS = 2 * COUNTER
};

/* A parameter of the kernel, so that nothing is copied before it begins. */
typedef struct pc_depth_task {
    pc_depth_level source[PC_DEPTH_MAX_LEVELS], target[PC_DEPTH_MAX_LEVELS];
    const float *from, *to; /* maps */
    const pc_depth_extra *source_extra, *target_extra;
    double *sums[2];        /* of groups, by turns: others may still read those of the iteration before */
    uint32_t *arrived;      /* at 0 */
    uint32_t *next_arrived; /* of the next launch */
    pc_depth_path *result;
    pc_depth_path path;
} pc_depth_task;

static_assert(sizeof(pc_depth_task) <= 4096, "parameters of a kernel");

/* ---- a pass ------------------------------------------------------------------------------------------------------ */

/* kept: the pixels of the source, a thread's own; they are fetched when `fresh`, and are there in the iterations that
 * follow at the level. */
__device__ static inline void add_tile(bool scene, const pc_depth_task *task, int n, const pc_depth_step *step,
                                       int tile, bool fresh, float4 (*kept)[THREADS], float sums[PC_ICP_SUMS]) {
    const pc_depth_level *source = &task->source[n], *target = &task->target[n];
    const float4 *from = pc_depth_pixels_of(task->from, source), *to = pc_depth_pixels_of(task->to, target);
    const int across = source->columns / L, u = tile % across * L + (int)threadIdx.x % L;
    const int first = tile / across * PC_DEPTH_LOADS;
    const float x = ((float)u - source->cx) * source->per_fx;
#pragma unroll
    for (int row = 0; row < PC_DEPTH_LOADS; row += AT_ONCE) {
        float4 own[AT_ONCE], there[AT_ONCE];
        pc_depth_landing at[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            if (fresh) {
                kept[row + k][threadIdx.x] = from[(first + row + k) * source->columns + u];
            }
            own[k] = kept[row + k][threadIdx.x];
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const float y = ((float)(first + row + k) - source->cy) * source->per_fy;
            pc_depth_project(step, target, x, y, own[k].w, &at[k]);
            there[k] = to[at[k].at];
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            pc_depth_add(scene, step, target, &at[k], own[k].x, own[k].y, own[k].z, there[k].x, there[k].y, there[k].z,
                         there[k].w, sums, 1);
        }
    }
}

/* The sums of a group; tiles: room for those of its tiles. */
template <pc_depth_projection PROJECTION>
__device__ static inline void add_group(bool scene, const pc_depth_task *task, int n, const pc_depth_step *step,
                                        int group, bool fresh, float4 (*kept)[THREADS], double (*tiles)[PC_ICP_SUMS],
                                        double *to) {
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, all = pc_depth_tiles(&task->source[n]);
    const int first = group * PC_DEPTH_GROUP, tile = first + warp;
    if (tile < all) { /* whole warps */
        float sums[PC_ICP_SUMS];
#pragma unroll
        for (int k = 0; k < PC_ICP_SUMS; k++) {
            sums[k] = 0.0f;
        }
        if (PROJECTION == PC_DEPTH_SPHERICAL) {
            pc_range_add_tile(scene, task->from, task->to, &task->source[n], &task->target[n], step, tile, sums);
        } else {
            add_tile(scene, task, n, step, tile, fresh, kept, sums);
        }
        tiles[warp][lane] = pc_depth_add_lanes(sums);
    }
    __syncthreads();
    if (warp == 0) {
        double sum = 0.0;
#pragma unroll
        for (int i = 0; i < PC_DEPTH_GROUP; i++) {
            if (first + i < all) {
                sum += tiles[i][lane];
            }
        }
        to[(size_t)group * PC_ICP_SUMS + (size_t)lane] = sum;
    }
    __syncthreads();
}

/* After the barrier: all groups, a warp a part. */
__device__ static void collect(const double *from, int groups, double (*parts)[PC_ICP_SUMS], double *sums) {
    const int part = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    double sum = 0.0;
    if (part < PC_DEPTH_PARTS) {
#pragma unroll 4
        for (int g = part; g < groups; g += PC_DEPTH_PARTS) {
            sum += __ldcg(from + (size_t)g * PC_ICP_SUMS + (size_t)lane);
        }
        parts[part][lane] = sum;
    }
    __syncthreads();
    if (part == 0) {
        sum = 0.0;
#pragma unroll
        for (int p = 0; p < PC_DEPTH_PARTS; p++) {
            sum += parts[p][lane];
        }
        sums[lane] = sum;
    }
    __syncthreads();
}

/* ---- the path --------------------------------------------------------------------------------------------------- */

/* A barrier of all blocks; `awaited`: arrivals so far. */
__device__ static void meet(uint32_t *arrived, uint32_t *awaited) {
    if (gridDim.x == 1) {
        __syncthreads();
        return;
    }
    *awaited += gridDim.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        pc_arrive(arrived);
        uint32_t looks = 0;
        while ((int32_t)(pc_arrived(arrived) - *awaited) < 0) {
            pc_pause();
            if (++looks == 1u << 28) {
                __trap(); /* a block that does not come ends the call after a while rather than never */
            }
        }
    }
    __syncthreads();
}

typedef struct pc_depth_shared {
    union {
        double tiles[PC_DEPTH_GROUP][PC_ICP_SUMS];
        double parts[PC_DEPTH_PARTS][PC_ICP_SUMS];
    };
    double sums[PC_ICP_SUMS];
    float4 kept[PC_DEPTH_LOADS][THREADS];
    pc_depth_path path;
    unsigned long long time;
} pc_depth_shared;

/* By one thread. Not inlined: what it needs of registers is not what the rest needs. */
__device__ static __noinline__ void go_on(pc_depth_shared *shared) {
    pc_depth_path *path = &shared->path;
    const int level = path->level;
    pc_depth_path_next(path, shared->sums);
    const unsigned long long now = pc_nanoseconds();
    path->seconds[level] += 1e-9 * (double)(now - shared->time);
    shared->time = now;
}

__device__ static __noinline__ void begin(const pc_depth_task *task, pc_depth_shared *shared) {
    pc_depth_path *path = &shared->path;
    shared->time = pc_nanoseconds();
    path->target = task->target_extra->measure;
    path->source_points = task->source_extra->measure.points;
    path->source_seconds = task->source_extra->measure.seconds;
    pc_depth_path_begin(path);
}

__device__ static void copy_words(void *to, const void *from, size_t bytes) {
    for (size_t i = threadIdx.x; i < bytes / sizeof(uint32_t); i += THREADS) {
        ((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
    }
}

template <pc_depth_projection PROJECTION>
__global__ void __launch_bounds__(THREADS, 1) path_kernel(const __grid_constant__ pc_depth_task given) {
    __shared__ pc_depth_shared shared;
    __shared__ pc_depth_task task;
    uint32_t awaited = 0;
    copy_words(&task, &given, sizeof task); /* where levels are found by number */
    __syncthreads();
    copy_words(&shared.path, &task.path, sizeof shared.path);
    __syncthreads();
    if (threadIdx.x == 0) {
        begin(&task, &shared);
        if (blockIdx.x == 0) {
            *task.next_arrived = 0;
        }
    }
    __syncthreads();
    int last = -1; /* the level of the pixels that are kept */
    for (int turn = 0; shared.path.end == PC_DEPTH_UNDER_WAY; turn ^= 1) {
        const int n = shared.path.level, groups = pc_depth_groups(&task.source[n]);
        const bool fresh = n != last || groups > (int)gridDim.x;
        last = n;
        const pc_depth_step step = shared.path.step;
        for (int g = (int)blockIdx.x; g < groups; g += (int)gridDim.x) {
            if (shared.path.asks_scene) {
                add_group<PROJECTION>(true, &task, n, &step, g, fresh, shared.kept, shared.tiles, task.sums[turn]);
            } else {
                add_group<PROJECTION>(false, &task, n, &step, g, fresh, shared.kept, shared.tiles, task.sums[turn]);
            }
        }
        meet(task.arrived, &awaited);
        collect(task.sums[turn], groups, shared.parts, shared.sums);
        if (threadIdx.x == 0) {
            go_on(&shared);
        }
        __syncthreads();
    }
    if (blockIdx.x == 0) {
        copy_words(task.result, &shared.path, sizeof shared.path);
    }
}

/* ---- the state --------------------------------------------------------------------------------------------------- */

pcgpu_status pc_depth_take_state(pcgpu_context *context, pc_depth_state **state) {
    pc_cuda *cuda = pc_cuda_of(context);
    pc_depth_state *s = (pc_depth_state *)cuda->depth;
    CUDA_TRY(context, cudaSetDevice(cuda->index));
    if (!s) {
        s = (pc_depth_state *)calloc(1, sizeof *s);
        cuda->depth = s;
        if (!s) {
            return pc_fail_memory(context, sizeof *s, "the registration");
        }
        for (int i = 0; i < 2; i++) {
            if (cudaEventCreateWithFlags(&s->copied[i], cudaEventDisableTiming) != cudaSuccess) {
                s->copied[i] = NULL;
                pc_cuda_depth_end(context);
                return pc_fail(context, PCGPU_ERROR_DEVICE, "CUDA has no event left; try --cpu");
            }
        }
    }
    *state = s;
    return PCGPU_OK;
}

pcgpu_status pc_depth_grow(pcgpu_context *context, pc_depth_memory *m, size_t bytes, bool pinned) {
    if (bytes > m->bytes) {
        const size_t size = bytes + bytes / 4;
        if (pinned) {
            cudaFreeHost(m->memory);
        } else {
            cudaFree(m->memory);
        }
        *m = pc_depth_memory{NULL, 0};
        if (pinned) {
            CUDA_TRY(context, cudaMallocHost((void **)&m->memory, size));
        } else {
            CUDA_TRY(context, cudaMalloc((void **)&m->memory, size));
        }
        m->bytes = size;
    }
    return PCGPU_OK;
}

extern "C" void pc_cuda_depth_end(pcgpu_context *context) {
    pc_cuda *cuda = pc_cuda_of(context);
    pc_depth_state *s = (pc_depth_state *)cuda->depth;
    if (s) {
        cudaStreamSynchronize(cuda->stream);
        for (int i = 0; i < PC_DEPTH_SPARES; i++) {
            cudaFree(s->spare[i].memory);
        }
        for (int i = 0; i < 2; i++) {
            cudaFreeHost(s->pinned[i].memory);
            if (s->copied[i]) {
                cudaEventDestroy(s->copied[i]);
            }
        }
        cudaFree(s->depths.memory);
        cudaFree(s->image.memory);
        cudaFree(s->sums.memory);
        cudaFreeHost(s->result.memory);
        free(s);
        cuda->depth = NULL;
    }
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

/* Memory of a launch: counters, and sums of groups twice. */
static pcgpu_status take_sums(pcgpu_context *context, pc_depth_state *s, int groups, pc_depth_task *task) {
    const size_t half = (size_t)groups * PC_ICP_SUMS * sizeof(double);
    const size_t before = s->sums.bytes;
    PC_TRY(pc_depth_grow(context, &s->sums, COUNTERS + 2 * half, false));
    if (s->sums.bytes != before || !s->counting) { /* fresh memory */
        CUDA_TRY(context, cudaMemsetAsync(s->sums.memory, 0, COUNTERS, pc_cuda_of(context)->stream));
        s->counting = true;
        s->launch = 0;
    }
    task->arrived = (uint32_t *)(s->sums.memory + COUNTER * s->launch);
    task->next_arrived = (uint32_t *)(s->sums.memory + COUNTER * (s->launch ^ 1));
    s->launch ^= 1;
    task->sums[0] = (double *)(s->sums.memory + COUNTERS);
    task->sums[1] = task->sums[0] + (size_t)groups * PC_ICP_SUMS;
    return PCGPU_OK;
}

/* The kernel of a projection. */
typedef void pc_depth_path_kernel(pc_depth_task);

static pc_depth_path_kernel *kernel_of(pc_depth_projection projection) {
    return projection == PC_DEPTH_SPHERICAL ? path_kernel<PC_DEPTH_SPHERICAL> : path_kernel<PC_DEPTH_PINHOLE>;
}

static pcgpu_status count_blocks(pcgpu_context *context, pc_depth_state *s, pc_depth_projection projection, int groups,
                                 int *blocks) {
    const struct cudaDeviceProp *p = &pc_cuda_of(context)->properties;
    int *resident = &s->resident[projection];
    if (!*resident) {
        int a_multiprocessor = 0;
        CUDA_TRY(context,
                 cudaOccupancyMaxActiveBlocksPerMultiprocessor(&a_multiprocessor, kernel_of(projection), THREADS, 0));
        *resident = p->cooperativeLaunch ? a_multiprocessor * p->multiProcessorCount : 1;
    }
    *blocks = groups < *resident ? groups : *resident;
    return *blocks > 0 ? PCGPU_OK
                       : pc_fail(context, PCGPU_ERROR_UNAVAILABLE,
                                 "the device cannot run %d threads in a block; use --cpu", THREADS);
}

static pcgpu_status start(pcgpu_context *context, const pc_depth_task *task, pc_depth_projection projection,
                          int blocks) {
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks);
    config.blockDim = dim3(THREADS);
    config.stream = pc_cuda_of(context)->stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    CUDA_TRY(context, cudaLaunchKernelEx(&config, kernel_of(projection), *task));
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_depth_register(pcgpu_context *context, struct pc_depth_frame *source,
                                               struct pc_depth_frame *target, struct pc_depth_path *path) {
    pc_depth_state *s = NULL;
    pc_depth_task task;
    int blocks = 0;
    PC_TRY(pc_depth_take_state(context, &s));
    PC_TRY(pc_depth_grow(context, &s->result, sizeof *path, true));
    memset(&task, 0, sizeof task);
    memcpy(task.source, source->level, sizeof task.source);
    memcpy(task.target, target->level, sizeof task.target);
    task.from = source->maps;
    task.to = target->maps;
    task.source_extra = (const pc_depth_extra *)source->backend;
    task.target_extra = (const pc_depth_extra *)target->backend;
    task.result = (pc_depth_path *)s->result.memory;
    task.path = *path;
    const int groups = pc_depth_groups(&source->level[0]);
    PC_TRY(take_sums(context, s, groups, &task));
    PC_TRY(count_blocks(context, s, source->projection, groups, &blocks));
    PC_TRY(start(context, &task, source->projection, blocks));
    CUDA_TRY(context, cudaStreamSynchronize(pc_cuda_of(context)->stream));
    *path = *(const pc_depth_path *)s->result.memory;
    source->measure.seconds = path->source_seconds;
    target->measure = path->target;
    return PCGPU_OK;
}
