/* What the files of registration by cells on CUDA share: ndt.cu (the idea, memory, launches),
 * ndt_target.cuh (the cells of the target), ndt_sums.cuh (the source in them, sums, the way to
 * the result). The arithmetic is in ndt_math.h and ndt_path.h. */
#ifndef PC_REGISTER_CELLS_CUH
#define PC_REGISTER_CELLS_CUH

#include "common.cuh"
#include "ndt_path.h"
#include "ptx.cuh"
#include "ndt_ops.h"

enum {
    PC_CELLS_THREADS = 512,
    PC_CELLS_WARPS = PC_CELLS_THREADS / 32,
    PC_CELLS_GRIDS = PC_CELLS_MAX_LEVELS + 1,
    PC_CELLS_SHIFTED = PC_CELLS_MAX_LEVELS, /* the number of the second grid of level 0 */
    PC_CELLS_MAX_BLOCKS = 1024,             /* of a group */
    PC_CELLS_SOURCES = 3,
    PC_CELLS_PROBES = 256, /* of a search for a free slot before the table counts as too small */
};
static_assert((int)PC_CELLS_THREADS == (int)PC_CELLS_CHUNK, "a block is a chunk of cells");
static_assert((int)PC_CELLS_SUMS == 32, "a lane is a sum");

#define PC_CELLS_NO_KEY  (~0ull)
#define PC_CELLS_NO_SLOT (~0u)
#define PC_CELLS_ALL     0xffffffffu

/* An entry of an open-addressing table, 16 bytes that are read at once. */
typedef struct pc_cells_slot {
    unsigned long long key; /* PC_CELLS_NO_KEY: free */
    uint32_t first;         /* the cell's lowest point, at a wider level its lowest cell of level 0 */
    uint32_t number;        /* of the cell, from 1 in the order of `first` */
} pc_cells_slot;

/* A grid of cells in device memory. */
typedef struct pc_cells_layer {
    int shift;            /* bits of a coordinate within a cell */
    int32_t half;         /* added to coordinates: half a cell in the second grid, else 0 */
    pc_cells_slot *slots; /* 2^most_bits, of which 2^bits are in use */
    uint32_t *slot_of;    /* of each point, at a wider level of each cell of level 0 */
    uint64_t *keys;       /* the following by cells, for `capacity` of them */
    pc_cells_moments *moments;
    pc_cells_block *blocks;
    uint4 *source[PC_CELLS_SOURCES]; /* points, sums of x, y and z: see pc_cells_clear_next */
} pc_cells_layer;

/* What blocks tell each other about a grid. */
typedef struct pc_cells_count {
    uint32_t cells; /* with cell 0, which is none */
    int bits;
    int now; /* source[now] is that of the last pass */
} pc_cells_count;

/* Parts of the work: a target is made while its source is still being copied, and tests go step by step. */
enum {
    PC_CELLS_MAKE = 1,
    PC_CELLS_PART = 2,
    PC_CELLS_PASS = 4,
    PC_CELLS_SUM = 8,
    PC_CELLS_FOLLOW = 16,
    PC_CELLS_MEASURED = 32, /* the path's target is given, not found from `told` and `levers` */
};

/* What stays on the device from launch to launch; all zero before the first. */
typedef struct pc_cells_told {
    unsigned long long total[4]; /* of the target's points: how many, sums of x, y and z */
    pc_cells_count count[PC_CELLS_GRIDS];
    uint32_t overflow;       /* there is no room for so many cells */
    int last[2], last_count; /* grids of the last pass */
    uint32_t tag;            /* of the last notes */
} pc_cells_told;

/* What a task has to say, in memory of the host. */
typedef struct pc_cells_result {
    uint32_t overflow;
    double added[PC_CELLS_SUMS]; /* by PC_CELLS_SUM */
    pc_cells_path path;
} pc_cells_result;

/* One registration; its pointers but `result` are to device memory. */
typedef struct pc_cells_task {
    uint32_t work;
    uint32_t capacity; /* cells of a grid */
    int most_bits;     /* of a table */
    pc_cells_target target;
    pc_cells_source source;
    float *part[PC_SETS]; /* x, y and z of a part, NULL where it is all of the source */
    pc_cells_layer grid[PC_CELLS_GRIDS];
    uint32_t *counts;  /* of the blocks: new cells of each grid */
    double *levers;    /* by chunks of level 0, 3 each */
    uint4 *notes;      /* by chunks, PC_CELLS_SUMS each: a sum and its tag; two halves, in turns */
    size_t notes_half; /* notes in a half */
    pc_cells_told *told;
    pc_cells_result *result;
    pc_cells_path path;
} pc_cells_task;

/* ---- ndt.cu ------------------------------------------------------------------------------------------- */

enum { PC_CELLS_COUNTER = 128 }; /* bytes of a group's counter */

/* Groups of so many blocks that can run at the same time; 0 when the device has no such clusters. */
pcgpu_status pc_cells_resident(pcgpu_context *context, int blocks, bool cluster, int *groups);

/* Starts the work of tasks in device memory, by groups of blocks that take one after the other. counters:
 * PC_CELLS_COUNTER bytes a group, all zero. */
pcgpu_status pc_cells_launch(pcgpu_context *context, const pc_cells_task *tasks, int count, int groups, int blocks,
                             bool cluster, uint32_t *counters);

/* ---- blocks that work together ----------------------------------------------------------------------------------- */

/* Blocks of a group, which wait for each other: all that work on a registration. */
typedef struct pc_cells_group {
    int rank, blocks;
    uint32_t *arrived; /* counts up from 0; NULL in a cluster */
    uint32_t awaited;
} pc_cells_group;

/* A barrier of the group. What its threads have written before is seen by all after it. */
__device__ static inline void pc_cells_meet(pc_cells_group *g) {
    if (g->blocks == 1) {
        __syncthreads();
        return;
    }
    if (!g->arrived) {
#if __CUDA_ARCH__ >= 900
        pc_cluster_arrive();
        pc_cluster_wait();
#endif
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

__device__ static inline int pc_cells_lane(void) {
    return (int)threadIdx.x % 32;
}

/* Tiles of 32 items that a warp of the group owns: always the same ones, in order. */
typedef struct pc_cells_range {
    int64_t begin, end;
} pc_cells_range;

__device__ static inline pc_cells_range pc_cells_own(const pc_cells_group *g, int64_t items) {
    const int64_t tiles = (items + 31) / 32, warps = (int64_t)g->blocks * PC_CELLS_WARPS;
    const int64_t warp = (int64_t)g->rank * PC_CELLS_WARPS + (int)threadIdx.x / 32;
    return pc_cells_range{tiles * warp / warps, tiles * (warp + 1) / warps};
}

/* ---- runs of a warp ---------------------------------------------------------------------------------------------- */

/* Consecutive lanes in one cell. */
typedef struct pc_cells_run {
    bool head;
    int begin, end; /* of the lane's run */
} pc_cells_run;

__device__ static inline pc_cells_run pc_cells_run_of(unsigned long long key) {
    const int lane = pc_cells_lane();
    const unsigned long long before = __shfl_up_sync(PC_CELLS_ALL, key, 1);
    pc_cells_run run;
    run.head = lane == 0 || before != key;
    const uint32_t heads = __ballot_sync(PC_CELLS_ALL, run.head);
    const uint32_t above = heads & (0xfffffffeu << lane); /* 32 lanes: a shift of 31 leaves 0 */
    run.begin = 31 - __clz((int)(heads & (0xffffffffu >> (31 - lane))));
    run.end = above ? __ffs((int)above) - 1 : 32;
    return run;
}

/* Sum over the lane's run; modulo 2^64, so that several sums may share a word. */
__device__ static inline unsigned long long pc_cells_sum_run(const pc_cells_run &run, unsigned long long value) {
    const int lane = pc_cells_lane();
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
        const unsigned long long other = __shfl_up_sync(PC_CELLS_ALL, value, by);
        value += lane >= by ? other : 0;
    }
    const unsigned long long last = __shfl_sync(PC_CELLS_ALL, value, run.end - 1);
    const unsigned long long before = __shfl_sync(PC_CELLS_ALL, value, run.begin ? run.begin - 1 : 0);
    return run.begin ? last - before : last;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

__device__ static inline uint32_t pc_cells_hash(unsigned long long key, int bits) {
    return (uint32_t)(key * 0x9E3779B97F4A7C15ull >> (64 - bits));
}

__device__ static inline unsigned long long pc_cells_pair(uint32_t low, uint32_t high) {
    return (unsigned long long)high << 32 | low;
}

/* The slot of a key, taken when it is new, or PC_CELLS_NO_SLOT after `probes` others. */
__device__ static inline uint32_t pc_cells_insert(pc_cells_slot *slots, int bits, unsigned long long key,
                                                  uint32_t index, uint32_t probes) {
    const uint32_t mask = (1u << bits) - 1;
    uint32_t at = pc_cells_hash(key, bits);
    for (uint32_t i = 0; i < probes; i++, at = (at + 1) & mask) {
        const uint4 slot = __ldcg((const uint4 *)&slots[at]);
        unsigned long long there = pc_cells_pair(slot.x, slot.y);
        if (there == PC_CELLS_NO_KEY) {
            there = atomicCAS(&slots[at].key, PC_CELLS_NO_KEY, key);
            there = there == PC_CELLS_NO_KEY ? key : there;
        }
        if (there == key) {
            if (slot.z > index) { /* it only falls */
                atomicMin(&slots[at].first, index);
            }
            return at;
        }
    }
    return PC_CELLS_NO_SLOT;
}

/* Number of the cell with this key, or 0; `slot` is what is at the key's first place, `at`. */
__device__ static inline uint32_t pc_cells_find_from(const pc_cells_slot *slots, int bits, unsigned long long key,
                                                     uint32_t at, uint4 slot) {
    const uint32_t mask = (1u << bits) - 1;
    for (;;) {
        const unsigned long long there = pc_cells_pair(slot.x, slot.y);
        if (there == key) {
            return slot.w;
        }
        if (there == PC_CELLS_NO_KEY) {
            return 0;
        }
        at = (at + 1) & mask;
        slot = *(const uint4 *)&slots[at]; /* at once */
    }
}

/* Of the sums of the source in cells: those that the pass after this one adds to. */
__device__ static inline int pc_cells_next_source(int now) {
    return now + 1 < PC_CELLS_SOURCES ? now + 1 : 0;
}

/* The key of a point's cell; PC_CELLS_NO_KEY outside the target's box. */
__device__ static inline unsigned long long pc_cells_key_at(const int32_t u[3], int32_t half, int shift) {
    return u[0] < 0 ? PC_CELLS_NO_KEY
                    : pc_cells_key((uint32_t)(u[0] + half) >> shift, (uint32_t)(u[1] + half) >> shift,
                                   (uint32_t)(u[2] + half) >> shift);
}

extern "C" {
pcgpu_status pc_cuda_cells_target(pcgpu_context *context, const struct pc_cells_target *target,
                                  struct pc_cells_measure *measure);
pcgpu_status pc_cuda_cells_source(pcgpu_context *context, const struct pc_cells_source *source);
pcgpu_status pc_cuda_cells_pass(pcgpu_context *context, const struct pc_cells_pass *pass);
pcgpu_status pc_cuda_cells_sum(pcgpu_context *context, const struct pc_cells_step *step, double *sums);
pcgpu_status pc_cuda_cells_memory(pcgpu_context *context, int which, size_t bytes, void **memory);
pcgpu_status pc_cuda_cells_begin(pcgpu_context *context, const struct pc_cells_target *target);
pcgpu_status pc_cuda_cells_register(pcgpu_context *context, struct pc_cells_job *jobs, int count);
pcgpu_status pc_cuda_scans_open(pcgpu_context *context, void **state);
void pc_cuda_scans_close(pcgpu_context *context, void *state);
pcgpu_status pc_cuda_scans_memory(pcgpu_context *context, void *state, int place, size_t bytes, void **memory);
pcgpu_status pc_cuda_scans_send(pcgpu_context *context, void *state, int place, int64_t n, const float *x,
                                const float *y, const float *z);
pcgpu_status pc_cuda_scans_target(pcgpu_context *context, void *state, int place,
                                  const struct pc_cells_target *target);
pcgpu_status pc_cuda_scans_model(pcgpu_context *context, void *state, int place, const struct pc_cells_model *model,
                                 struct pc_cells_measure *measure);
pcgpu_status pc_cuda_scans_register(pcgpu_context *context, void *state, int place, struct pc_cells_job *job);
}

#endif
