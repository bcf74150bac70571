/* Assigns ids to voxels in the order of their first items, whatever the order of execution. A slot keeps the lowest
 * item in its voxel; an item that equals it is the first of the voxel. Each warp counts the first items among its own,
 * the blocks exchange the counts, and a scan over them gives the ids. */
#ifndef PC_NDT_NUMBER_CUH
#define PC_NDT_NUMBER_CUH

#include "ndt.cuh"
#include "warp.cuh"

/* How many voxels of some grids begin with items that a warp owns. */
typedef struct pc_ndt_numbering {
    uint32_t warp[PC_NDT_GRIDS][PC_NDT_WARPS]; /* in shared memory, then of the warps before */
    uint32_t before[PC_NDT_GRIDS], all[PC_NDT_GRIDS];
} pc_ndt_numbering;

/* Of grids [from, to), or of the two of level 0 for from = 0. */
__device__ static inline int pc_ndt_grid_at(int i, int from) {
    return from == 0 && i == 1 ? (int)PC_NDT_SHIFTED : i;
}

/* Slots of an item in these grids, PC_NDT_NO_SLOT but where it is the first of its voxel: all of them are asked for
 * before the first is looked at. */
__device__ static inline void pc_ndt_firsts_of(const pc_ndt_task *task, int from, int to, int64_t item, int64_t items,
                                               uint32_t slot[PC_NDT_GRIDS]) {
    uint32_t first[PC_NDT_GRIDS];
#pragma unroll
    for (int i = 0; i < PC_NDT_GRIDS; i++) {
        slot[i] = PC_NDT_NO_SLOT;
        if (i >= from && i < to && item < items) {
            slot[i] = task->grid[pc_ndt_grid_at(i, from)].slot_of[item];
        }
    }
#pragma unroll
    for (int i = 0; i < PC_NDT_GRIDS; i++) {
        first[i] = slot[i] != PC_NDT_NO_SLOT ? task->grid[pc_ndt_grid_at(i, from)].slots[slot[i]].first : 0;
    }
#pragma unroll
    for (int i = 0; i < PC_NDT_GRIDS; i++) {
        slot[i] = slot[i] != PC_NDT_NO_SLOT && first[i] == (uint32_t)item ? slot[i] : PC_NDT_NO_SLOT;
    }
}

/* Exclusive scan of the counts of a block's warps; publishes the block's sum. */
__device__ static inline void pc_ndt_publish_counts(const pc_ndt_group *g, const pc_ndt_task *task, int from, int to,
                                                    pc_ndt_numbering *n) {
    __syncthreads();
    if ((int)threadIdx.x >= from && (int)threadIdx.x < to) {
        uint32_t sum = 0;
        for (int w = 0; w < PC_NDT_WARPS; w++) {
            const uint32_t mine = n->warp[threadIdx.x][w];
            n->warp[threadIdx.x][w] = sum;
            sum += mine;
        }
        task->counts[(int)threadIdx.x * g->blocks + g->rank] = sum;
    }
}

__device__ static inline void pc_ndt_count_firsts(const pc_ndt_group *g, const pc_ndt_task *task, int from, int to,
                                                  int64_t items, pc_ndt_numbering *n) {
    const pc_ndt_range own = pc_ndt_own(g, items);
    uint32_t count[PC_NDT_GRIDS] = {0}, slot[PC_NDT_GRIDS];
    for (int64_t tile = own.begin; tile < own.end; tile++) {
        pc_ndt_firsts_of(task, from, to, tile * 32 + pc_ndt_lane(), items, slot);
#pragma unroll
        for (int i = 0; i < PC_NDT_GRIDS; i++) {
            count[i] += (uint32_t)__popc(__ballot_sync(PC_NDT_ALL, slot[i] != PC_NDT_NO_SLOT));
        }
    }
#pragma unroll
    for (int i = 0; i < PC_NDT_GRIDS; i++) {
        if (i >= from && i < to && pc_ndt_lane() == 0) {
            n->warp[i][threadIdx.x / 32] = count[i];
        }
    }
    pc_ndt_publish_counts(g, task, from, to, n);
}

/* After a barrier: voxels of the blocks before and of all, with voxel 0. */
__device__ static inline void pc_ndt_receive_counts(const pc_ndt_group *g, const pc_ndt_task *task, int from, int to,
                                                    pc_ndt_numbering *n) {
    const int warp = (int)threadIdx.x / 32;
    for (int i = from + warp; i < to; i += PC_NDT_WARPS) {
        uint32_t before = 0, all = 0;
        for (int b = pc_ndt_lane(); b < g->blocks; b += 32) {
            const uint32_t count = task->counts[i * g->blocks + b];
            before += b < g->rank ? count : 0;
            all += count;
        }
        before = pc_warp_add(before);
        all = pc_warp_add(all);
        if (pc_ndt_lane() == 0) {
            n->before[i] = 1 + before;
            n->all[i] = 1 + all;
        }
    }
    __syncthreads();
}

__device__ static inline void pc_ndt_add_counts(const pc_ndt_group *g, const pc_ndt_task *task, int from, int to,
                                                pc_ndt_numbering *n) {
    pc_ndt_receive_counts(g, task, from, to, n);
    if (g->rank == 0 && (int)threadIdx.x >= from && (int)threadIdx.x < to) {
        task->persistent->count[pc_ndt_grid_at((int)threadIdx.x, from)].voxels = n->all[threadIdx.x];
    }
}

__device__ static inline void pc_ndt_number(const pc_ndt_group *g, const pc_ndt_task *task, int from, int to,
                                            int64_t items, const pc_ndt_numbering *n) {
    const pc_ndt_range own = pc_ndt_own(g, items);
    uint32_t next[PC_NDT_GRIDS], slot[PC_NDT_GRIDS];
#pragma unroll
    for (int i = 0; i < PC_NDT_GRIDS; i++) {
        next[i] = i >= from && i < to ? n->before[i] + n->warp[i][threadIdx.x / 32] : 0;
    }
    for (int64_t tile = own.begin; tile < own.end; tile++) {
        pc_ndt_firsts_of(task, from, to, tile * 32 + pc_ndt_lane(), items, slot);
#pragma unroll
        for (int i = 0; i < PC_NDT_GRIDS; i++) {
            const bool first = slot[i] != PC_NDT_NO_SLOT;
            const uint32_t firsts = __ballot_sync(PC_NDT_ALL, first);
            if (first) {
                const pc_ndt_layer *s = &task->grid[pc_ndt_grid_at(i, from)];
                const uint32_t number = next[i] + (uint32_t)__popc(firsts & ((1u << pc_ndt_lane()) - 1));
                s->slots[slot[i]].number = number;
                s->keys[number] = s->slots[slot[i]].key;
            }
            next[i] += (uint32_t)__popc(firsts);
        }
    }
}

#endif
