/* Projective registration of depth frames on CUDA. lib/register/projective/projective.c describes the method.
 *
 * Idea: one launch runs the optimizer from its start to its end. A warp takes a tile, a thread adds up PC_DEPTH_LOADS
 * pixels in registers, the lanes are reduced by exchanges, the warps of a block are one group of tiles. Sums go from
 * block to block as messages of sixteen bytes, a value and the number of its pass, which a reader sees whole or not at
 * all. So no block waits for a barrier of all blocks and then for memory, and nothing is flushed. Some blocks add up
 * the groups of a part, all blocks add up the parts, and each takes the step for itself, from the same sums to the same
 * pose. Nothing is written a pixel; those of both frames that a block needs stay in its cache while it is at a level.
 * The host waits once. */
#include "launch.cuh"
#include "projective.cuh"
#include "projective_mailbox.cuh"

#include <stdlib.h>
#include <string.h>

enum { THREADS = PC_DEPTH_GROUP_THREADS, L = PC_DEPTH_LANES };

/* A parameter of the kernel, so that nothing is copied before it begins. */
typedef struct pc_depth_task {
    pc_depth_level source[PC_DEPTH_MAX_LEVELS], target[PC_DEPTH_MAX_LEVELS];
    const float *from, *to; /* maps */
    const pc_depth_extra *source_extra, *target_extra;
    uint4 *groups;   /* messages, PC_ICP_SUMS a group or, where there are more of those, a block */
    uint4 *parts[2]; /* PC_ICP_SUMS a part; by turns, since others may still read those of the pass before */
    uint32_t launch; /* its number, the messages' */
    pc_depth_optimizer *result;
    pc_depth_optimizer optimizer;
} pc_depth_task;

static_assert(sizeof(pc_depth_task) <= 4096, "parameters of a kernel");
static_assert(PC_DEPTH_GROUP >= PC_DEPTH_PARTS, "one block has a warp for each part");

/* ---- a pass ------------------------------------------------------------------------------------------------------ */

template <int LOADS>
__device__ static inline void add_tile(bool scene, const pc_depth_task *task, int n, const pc_depth_step *step,
                                       int tile, float sums[PC_ICP_SUMS]) {
    enum { AT_ONCE = LOADS < 4 ? LOADS : 4 }; /* pixels whose partners are fetched together */
    const pc_depth_level *source = &task->source[n], *target = &task->target[n];
    const float4 *from = pc_depth_pixels_of(task->from, source), *to = pc_depth_pixels_of(task->to, target);
    const int across = source->columns / L, u = tile % across * L + (int)threadIdx.x % L;
    const int first = tile / across * LOADS;
    const float x = ((float)u - source->cx) * source->per_fx;
#pragma unroll
    for (int row = 0; row < LOADS; row += AT_ONCE) {
        float4 own[AT_ONCE], there[AT_ONCE];
        pc_depth_landing at[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            own[k] = from[(first + row + k) * source->columns + u];
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

/* A tile of a warp: lane k returns sum k. */
template <int LOADS>
__device__ static inline double add_lanes(bool scene, const pc_depth_task *task, int n, const pc_depth_step *step,
                                          int tile) {
    float sums[PC_ICP_SUMS];
#pragma unroll
    for (int k = 0; k < PC_ICP_SUMS; k++) {
        sums[k] = 0.0f;
    }
    add_tile<LOADS>(scene, task, n, step, tile, sums);
    return pc_depth_add_lanes(sums);
}

/* The sums of a group, 0 for one that is none; `tiles`: memory for those of its tiles. Lane k of warp 0 returns sum k.
 */
__device__ static inline double add_group(bool scene, const pc_depth_task *task, int n, const pc_depth_step *step,
                                          int group, double (*tiles)[PC_ICP_SUMS]) {
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, loads = task->source[n].loads;
    const int all = pc_depth_tiles(&task->source[n], loads), first = group * PC_DEPTH_GROUP, tile = first + warp;
    double own = 0.0, sum = 0.0;
    if (tile < all) { /* whole warps */
        own = loads == 8   ? add_lanes<8>(scene, task, n, step, tile)
              : loads == 4 ? add_lanes<4>(scene, task, n, step, tile)
                           : add_lanes<2>(scene, task, n, step, tile);
    }
    __syncthreads(); /* all threads have read the optimizer and the tiles of the previous group */
    tiles[warp][lane] = own;
    __syncthreads();
    if (warp == 0) {
#pragma unroll
        for (int i = 0; i < PC_DEPTH_GROUP; i++) {
            if (first + i < all) {
                sum += tiles[i][lane];
            }
        }
    }
    return sum;
}

/* ---- from block to block ----------------------------------------------------------------------------------------- */

/* By all warps, after the block's messages were published. Each part is added up by one warp of one block, and the
 * parts by warp 0 of every block, whose lane k returns sum k. Not inlined, for its registers. */
__device__ static __noinline__ double collect(const pc_depth_task *task, int groups, int messages, uint32_t pass) {
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, blocks = (int)gridDim.x;
    const int part = (int)blockIdx.x + warp * blocks;
    uint4 *parts = task->parts[pass % 2];
    if (part < PC_DEPTH_PARTS) {
        const int count = (messages - part + PC_DEPTH_PARTS - 1) / PC_DEPTH_PARTS;
        const int most = (groups - part + PC_DEPTH_PARTS - 1) / PC_DEPTH_PARTS;
        const double sum = pc_depth_add_messages(task->groups + (size_t)part * PC_ICP_SUMS + lane,
                                                 PC_DEPTH_PARTS * PC_ICP_SUMS, count, most, task->launch, pass);
        pc_depth_publish(parts + (size_t)part * PC_ICP_SUMS + lane, sum, task->launch, pass);
    }
    return warp == 0
               ? pc_depth_add_messages(parts + lane, PC_ICP_SUMS, PC_DEPTH_PARTS, PC_DEPTH_PARTS, task->launch, pass)
               : 0.0;
}

/* ---- the optimizer ----------------------------------------------------------------------------------------------- */

typedef struct pc_depth_shared {
    double tiles[PC_DEPTH_GROUP][PC_ICP_SUMS];
    double sums[PC_ICP_SUMS];
    pc_depth_optimizer optimizer;
    unsigned long long time;
} pc_depth_shared;

/* By warp 0, lane k with sum k: one thread solves, each lane looks for a cycle of another length. Not inlined: what it
 * needs of registers is not what the rest needs. */
__device__ static __noinline__ void continue_optimizer(double sum, pc_depth_shared *shared) {
    pc_depth_optimizer *optimizer = &shared->optimizer;
    const int lane = (int)threadIdx.x, level = optimizer->base.level;
    double *kept = pc_depth_optimizer_keeps(optimizer);
    shared->sums[lane] = sum;
    if (kept) {
        kept[lane] = sum;
    }
    __syncwarp();
    int searches = 0;
    if (lane == 0) {
        searches = pc_depth_optimizer_step(optimizer, shared->sums);
    }
    __syncwarp();
    uint32_t returns = 0;
    if (__shfl_sync(PC_ALL_LANES, searches, 0)) {
        returns = __ballot_sync(PC_ALL_LANES,
                                lane >= 2 && lane <= PC_POSE_HISTORY && pc_depth_optimizer_returns(optimizer, lane));
    }
    __syncwarp(); /* the optimizer has been read */
    if (lane == 0) {
        if (optimizer->end == PC_DEPTH_RUNNING) {
            pc_depth_optimizer_continue(optimizer, returns ? __ffs((int)returns) - 1 : 0);
        }
        if (optimizer->base.level != level || optimizer->end != PC_DEPTH_RUNNING) {
            const unsigned long long now = pc_nanoseconds();
            optimizer->seconds[level] += 1e-9 * (double)(now - shared->time);
            shared->time = now;
        }
    }
    __syncwarp(); /* or lane 0 may come to a barrier of the block after the others */
}

__device__ static __noinline__ void begin(const pc_depth_task *task, pc_depth_shared *shared) {
    pc_depth_optimizer *optimizer = &shared->optimizer;
    shared->time = pc_nanoseconds();
    optimizer->target = task->target_extra->measure;
    optimizer->source_points = task->source_extra->measure.points;
    optimizer->source_seconds = task->source_extra->measure.seconds;
    pc_depth_optimizer_begin(optimizer);
}

__device__ static void copy_words(void *to, const void *from, size_t bytes) {
    for (size_t i = threadIdx.x; i < bytes / sizeof(uint32_t); i += THREADS) {
        ((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
    }
}

__global__ void __launch_bounds__(THREADS, 1) optimizer_kernel(const __grid_constant__ pc_depth_task given) {
    __shared__ pc_depth_shared shared;
    __shared__ pc_depth_task task;
    const int lane = (int)threadIdx.x % 32;
    copy_words(&task, &given, sizeof task); /* where levels are found by number */
    __syncthreads();
    copy_words(&shared.optimizer, &task.optimizer, sizeof shared.optimizer);
    __syncthreads();
    if (threadIdx.x == 0) {
        begin(&task, &shared);
    }
    __syncthreads();
    for (uint32_t pass = 1; shared.optimizer.end == PC_DEPTH_RUNNING; pass++) {
        const int n = shared.optimizer.base.level, groups = pc_depth_groups(&task.source[n], task.source[n].loads);
        const int blocks = (int)gridDim.x, messages = groups > blocks ? groups : blocks;
        const pc_depth_step step = shared.optimizer.step;
        const bool scene = shared.optimizer.asks_scene;
        /* A block without a group at this level publishes empty messages: they show the others that it has read the
         * parts of the previous pass. */
        for (int g = (int)blockIdx.x; g < messages; g += blocks) {
            const double sum = scene ? add_group(true, &task, n, &step, g, shared.tiles)
                                     : add_group(false, &task, n, &step, g, shared.tiles);
            if (threadIdx.x < 32) {
                pc_depth_publish(task.groups + (size_t)g * PC_ICP_SUMS + lane, sum, task.launch, pass);
            }
        }
        const double sum = collect(&task, groups, messages, pass);
        if (threadIdx.x < 32) {
            continue_optimizer(sum, &shared);
        }
        __syncthreads();
    }
    if (blockIdx.x == 0) {
        copy_words(task.result, &shared.optimizer, sizeof shared.optimizer);
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
        cudaFree(s->given.memory);
        cudaFree(s->mailbox.memory);
        cudaFreeHost(s->result.memory);
        free(s);
        cuda->depth = NULL;
    }
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

/* Mailbox of a launch; messages carry the launch number. */
static pcgpu_status take_mailbox(pcgpu_context *context, pc_depth_state *s, int groups, int blocks,
                                 pc_depth_task *task) {
    const size_t parts = (size_t)PC_DEPTH_PARTS * PC_ICP_SUMS, all = (size_t)(groups > blocks ? groups : blocks);
    const size_t before = s->mailbox.bytes;
    PC_TRY(pc_depth_grow(context, &s->mailbox, (2 * parts + all * PC_ICP_SUMS) * sizeof(uint4), false));
    if (s->mailbox.bytes != before || s->launch == UINT32_MAX) { /* fresh memory, or numbers that begin again */
        CUDA_TRY(context, cudaMemsetAsync(s->mailbox.memory, 0, s->mailbox.bytes, pc_cuda_of(context)->stream));
        s->launch = 0;
    }
    task->launch = ++s->launch;
    task->parts[0] = (uint4 *)s->mailbox.memory;
    task->parts[1] = task->parts[0] + parts;
    task->groups = task->parts[1] + parts;
    return PCGPU_OK;
}

static pcgpu_status count_blocks(pcgpu_context *context, pc_depth_state *s, int groups, int *blocks) {
    if (!s->resident) {
        PC_TRY(pc_resident_blocks(context, optimizer_kernel, THREADS, &s->resident));
    }
    *blocks = groups < s->resident ? groups : s->resident;
    return *blocks > 0 ? PCGPU_OK
                       : pc_fail(context, PCGPU_ERROR_UNAVAILABLE,
                                 "the device cannot run %d threads in a block; use --cpu", THREADS);
}

extern "C" pcgpu_status pc_cuda_depth_register(pcgpu_context *context, struct pc_depth_frame *source,
                                               struct pc_depth_frame *target, struct pc_depth_optimizer *optimizer) {
    pc_depth_state *s = NULL;
    pc_depth_task task;
    int blocks = 0;
    PC_TRY(pc_depth_take_state(context, &s));
    PC_TRY(pc_depth_grow(context, &s->result, sizeof *optimizer, true));
    memset(&task, 0, sizeof task);
    memcpy(task.source, source->level, sizeof task.source);
    memcpy(task.target, target->level, sizeof task.target);
    task.from = source->maps;
    task.to = target->maps;
    task.source_extra = (const pc_depth_extra *)source->backend;
    task.target_extra = (const pc_depth_extra *)target->backend;
    task.result = (pc_depth_optimizer *)s->result.memory;
    task.optimizer = *optimizer;
    int groups = 0;
    for (int l = 0; l < source->levels; l++) {
        const int own = pc_depth_groups(&source->level[l], source->level[l].loads);
        groups = own > groups ? own : groups;
    }
    PC_TRY(count_blocks(context, s, groups, &blocks));
    PC_TRY(take_mailbox(context, s, groups, blocks, &task));
    PC_TRY(pc_launch_cooperative(context, (unsigned)blocks, THREADS, optimizer_kernel, task));
    CUDA_TRY(context, cudaStreamSynchronize(pc_cuda_of(context)->stream));
    *optimizer = *(const pc_depth_optimizer *)s->result.memory;
    source->measure.seconds = optimizer->source_seconds;
    target->measure = optimizer->target;
    return PCGPU_OK;
}

const pc_projective_ops pc_cuda_projective_ops = {pc_cuda_depth_frame, pc_cuda_depth_free, pc_cuda_depth_register};
