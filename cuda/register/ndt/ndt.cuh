/* Shared by the files of method ndt on CUDA: ndt.cu (kernel and launch), ndt_target.cuh (voxels of the target),
 * ndt_sums.cuh (source points in voxels, sums, optimizer). The arithmetic is in ndt_math.h and ndt_optimizer.h. */
#ifndef PC_NDT_CUH
#define PC_NDT_CUH

#include "common.cuh"
#include "ndt_optimizer.h"
#include "ptx.cuh"
#include "ndt_ops.h"

enum {
    PC_NDT_THREADS = 512,
    PC_NDT_WARPS = PC_NDT_THREADS / 32,
    PC_NDT_GRIDS = PC_NDT_MAX_LEVELS + 1,
    PC_NDT_SHIFTED = PC_NDT_MAX_LEVELS, /* the number of the second grid of level 0 */
    PC_NDT_MAX_BLOCKS = 1024,           /* of a group */
    PC_NDT_SOURCES = 3,
    PC_NDT_PROBES = 256, /* of a search for a free slot before the table counts as too small */
};
static_assert((int)PC_NDT_THREADS == (int)PC_NDT_CHUNK, "a block is a chunk of voxels");
static_assert((int)PC_NDT_SUMS == 32, "a lane is a sum");

#define PC_NDT_NO_KEY  (~0ull)
#define PC_NDT_NO_SLOT (~0u)
#define PC_NDT_ALL     0xffffffffu

/* An entry of an open-addressing table, 16 bytes that are read at once. */
typedef struct pc_ndt_slot {
    unsigned long long key; /* PC_NDT_NO_KEY: free */
    uint32_t first;         /* the voxel's lowest point, at a wider level its lowest voxel of level 0 */
    uint32_t number;        /* of the voxel, from 1 in the order of `first` */
} pc_ndt_slot;

/* A grid of voxels in device memory. */
typedef struct pc_ndt_layer {
    int shift;          /* bits of a coordinate within a voxel */
    int32_t half;       /* added to coordinates: half a voxel in the second grid, else 0 */
    pc_ndt_slot *slots; /* 2^most_bits, of which 2^bits are in use */
    uint32_t *slot_of;  /* of each point, at a wider level of each voxel of level 0 */
    uint64_t *keys;     /* the following by voxels, for `capacity` of them */
    pc_ndt_moments *moments;
    pc_ndt_block *blocks;
    uint4 *source[PC_NDT_SOURCES]; /* points, sums of x, y and z: see pc_ndt_clear_next */
} pc_ndt_layer;

/* Counts of a grid that the blocks of a group share. */
typedef struct pc_ndt_count {
    uint32_t voxels; /* with voxel 0, which is none */
    int bits;
    int now; /* source[now] is that of the last pass */
} pc_ndt_count;

/* Stages of a task. The target may be built by a launch of its own, while the source is still being copied. */
enum {
    PC_NDT_MAKE = 1,
    PC_NDT_PART = 2,
    PC_NDT_FOLLOW = 4,
    PC_NDT_MEASURED = 8, /* the optimizer's target is given, not computed from `persistent` and `gyration_sums` */
};

/* State that persists on the device between launches; all zero before the first. */
typedef struct pc_ndt_persistent {
    unsigned long long total[4]; /* of the target's points: how many, sums of x, y and z */
    pc_ndt_count count[PC_NDT_GRIDS];
    uint32_t overflow; /* the voxels exceed the capacity */
    uint32_t tag;      /* of the last messages */
} pc_ndt_persistent;

/* Result of a task, in host memory. */
typedef struct pc_ndt_result {
    uint32_t overflow;
    pc_ndt_optimizer optimizer;
} pc_ndt_result;

/* One registration; its pointers but `result` are to device memory. */
typedef struct pc_ndt_task {
    uint32_t work;
    uint32_t capacity; /* voxels of a grid */
    int most_bits;     /* of a table */
    pc_ndt_target target;
    pc_ndt_source source;
    float *part[PC_SETS]; /* x, y and z of a part, NULL where it is all of the source */
    pc_ndt_layer grid[PC_NDT_GRIDS];
    uint32_t *counts;      /* of the blocks: new voxels of each grid */
    double *gyration_sums; /* by chunks of level 0, 3 each */
    uint4 *mailbox;        /* by chunks, PC_NDT_SUMS each: a sum and its tag; two halves, in turns */
    size_t mailbox_half;   /* messages in a half */
    pc_ndt_persistent *persistent;
    pc_ndt_result *result;
    pc_ndt_optimizer optimizer;
} pc_ndt_task;

/* ---- ndt.cu ------------------------------------------------------------------------------------------------------ */

enum { PC_NDT_COUNTER = 128 }; /* bytes of a group's counter */

/* How many blocks of the kernel run at the same time. */
pcgpu_status pc_ndt_resident(pcgpu_context *context, int *blocks);

/* Starts the work of tasks in device memory, by groups of blocks that take one after the other. counters:
 * PC_NDT_COUNTER bytes a group, all zero. */
pcgpu_status pc_ndt_launch(pcgpu_context *context, const pc_ndt_task *tasks, int count, int groups, int blocks,
                           uint32_t *counters);

/* ---- blocks that work together ----------------------------------------------------------------------------------- */

/* Blocks of a group, which wait for each other: all that work on a registration. */
typedef struct pc_ndt_group {
    int rank, blocks;
    uint32_t *arrived; /* counts up from 0 */
    uint32_t awaited;
} pc_ndt_group;

/* A barrier of the group. What its threads have written before is seen by all after it. */
__device__ static inline void pc_ndt_barrier(pc_ndt_group *g) {
    if (g->blocks == 1) {
        __syncthreads();
        return;
    }
    g->awaited += (uint32_t)g->blocks;
    __syncthreads();
    if (threadIdx.x == 0) {
        pc_arrive(g->arrived);
        uint32_t looks = 0;
        while ((int32_t)(pc_arrived(g->arrived) - g->awaited) < 0) {
            pc_pause();
            if (++looks == 1u << 28) {
                __trap(); /* a block that does not come ends the call after a while rather than never */
            }
        }
    }
    __syncthreads();
}

__device__ static inline int pc_ndt_lane(void) {
    return (int)threadIdx.x % 32;
}

/* Tiles of 32 items that a warp of the group owns: always the same ones, in order. */
typedef struct pc_ndt_range {
    int64_t begin, end;
} pc_ndt_range;

__device__ static inline pc_ndt_range pc_ndt_own(const pc_ndt_group *g, int64_t items) {
    const int64_t tiles = (items + 31) / 32, warps = (int64_t)g->blocks * PC_NDT_WARPS;
    const int64_t warp = (int64_t)g->rank * PC_NDT_WARPS + (int)threadIdx.x / 32;
    return pc_ndt_range{tiles * warp / warps, tiles * (warp + 1) / warps};
}

/* ---- runs of a warp ---------------------------------------------------------------------------------------------- */

/* Consecutive lanes in one voxel. */
typedef struct pc_ndt_run {
    bool head;
    int begin, end; /* of the lane's run */
} pc_ndt_run;

__device__ static inline pc_ndt_run pc_ndt_run_of(unsigned long long key) {
    const int lane = pc_ndt_lane();
    const unsigned long long before = __shfl_up_sync(PC_NDT_ALL, key, 1);
    pc_ndt_run run;
    run.head = lane == 0 || before != key;
    const uint32_t heads = __ballot_sync(PC_NDT_ALL, run.head);
    const uint32_t above = heads & (0xfffffffeu << lane); /* 32 lanes: a shift of 31 leaves 0 */
    run.begin = 31 - __clz((int)(heads & (0xffffffffu >> (31 - lane))));
    run.end = above ? __ffs((int)above) - 1 : 32;
    return run;
}

/* Sum over the lane's run; modulo 2^64, so that several sums may share a word. */
__device__ static inline unsigned long long pc_ndt_sum_run(const pc_ndt_run &run, unsigned long long value) {
    const int lane = pc_ndt_lane();
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
        const unsigned long long other = __shfl_up_sync(PC_NDT_ALL, value, by);
        value += lane >= by ? other : 0;
    }
    const unsigned long long last = __shfl_sync(PC_NDT_ALL, value, run.end - 1);
    const unsigned long long before = __shfl_sync(PC_NDT_ALL, value, run.begin ? run.begin - 1 : 0);
    return run.begin ? last - before : last;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

__device__ static inline uint32_t pc_ndt_hash(unsigned long long key, int bits) {
    return (uint32_t)(key * 0x9E3779B97F4A7C15ull >> (64 - bits));
}

__device__ static inline unsigned long long pc_ndt_pair(uint32_t low, uint32_t high) {
    return (unsigned long long)high << 32 | low;
}

/* The slot of a key, taken when it is new, or PC_NDT_NO_SLOT after `probes` others. */
__device__ static inline uint32_t pc_ndt_insert(pc_ndt_slot *slots, int bits, unsigned long long key, uint32_t index,
                                                uint32_t probes) {
    const uint32_t mask = (1u << bits) - 1;
    uint32_t at = pc_ndt_hash(key, bits);
    for (uint32_t i = 0; i < probes; i++, at = (at + 1) & mask) {
        const uint4 slot = __ldcg((const uint4 *)&slots[at]);
        unsigned long long there = pc_ndt_pair(slot.x, slot.y);
        if (there == PC_NDT_NO_KEY) {
            there = atomicCAS(&slots[at].key, PC_NDT_NO_KEY, key);
            there = there == PC_NDT_NO_KEY ? key : there;
        }
        if (there == key) {
            if (slot.z > index) { /* it only falls */
                atomicMin(&slots[at].first, index);
            }
            return at;
        }
    }
    return PC_NDT_NO_SLOT;
}

/* Number of the voxel with this key, or 0; `slot` is what is at the key's first place, `at`. */
__device__ static inline uint32_t pc_ndt_find_from(const pc_ndt_slot *slots, int bits, unsigned long long key,
                                                   uint32_t at, uint4 slot) {
    const uint32_t mask = (1u << bits) - 1;
    for (;;) {
        const unsigned long long there = pc_ndt_pair(slot.x, slot.y);
        if (there == key) {
            return slot.w;
        }
        if (there == PC_NDT_NO_KEY) {
            return 0;
        }
        at = (at + 1) & mask;
        slot = *(const uint4 *)&slots[at]; /* at once */
    }
}

/* Of the sums of the source in voxels: those that the pass after this one adds to. */
__device__ static inline int pc_ndt_next_source(int now) {
    return now + 1 < PC_NDT_SOURCES ? now + 1 : 0;
}

/* The key of a point's voxel; PC_NDT_NO_KEY outside the target's box. */
__device__ static inline unsigned long long pc_ndt_key_at(const int32_t u[3], int32_t half, int shift) {
    return u[0] < 0 ? PC_NDT_NO_KEY
                    : pc_ndt_key((uint32_t)(u[0] + half) >> shift, (uint32_t)(u[1] + half) >> shift,
                                 (uint32_t)(u[2] + half) >> shift);
}

extern "C" {
pcgpu_status pc_cuda_ndt_memory(pcgpu_context *context, int which, size_t bytes, void **memory);
pcgpu_status pc_cuda_ndt_begin(pcgpu_context *context, const struct pc_ndt_target *target);
pcgpu_status pc_cuda_ndt_register(pcgpu_context *context, struct pc_ndt_job *jobs, int count, pc_host_work beside);
pcgpu_status pc_cuda_ndt_sequence_open(pcgpu_context *context, void **state);
void pc_cuda_ndt_sequence_close(pcgpu_context *context, void *state);
pcgpu_status pc_cuda_ndt_sequence_memory(pcgpu_context *context, void *state, int place, size_t bytes, void **memory);
pcgpu_status pc_cuda_ndt_sequence_send(pcgpu_context *context, void *state, int place, int64_t n, const float *x,
                                       const float *y, const float *z);
pcgpu_status pc_cuda_ndt_sequence_target(pcgpu_context *context, void *state, int place,
                                         const struct pc_ndt_target *target);
pcgpu_status pc_cuda_ndt_sequence_merge(pcgpu_context *context, void *state, int place,
                                        const struct pc_ndt_merge *merge, struct pc_ndt_measure *measure);
pcgpu_status pc_cuda_ndt_sequence_keep(pcgpu_context *context, void *state);
pcgpu_status pc_cuda_ndt_sequence_cut(pcgpu_context *context, void *state, const struct pc_ndt_merge *merge,
                                      struct pc_ndt_measure *measure);
pcgpu_status pc_cuda_ndt_sequence_register(pcgpu_context *context, void *state, int place, struct pc_ndt_job *job,
                                           pc_host_work beside);
}

#endif
