/* Merges a scan into the local map of a sequence (described in lib/register/ndt/ndt_cpu_local_map.c).
 *
 * Idea: the scan's voxels are built like those of a target, with ids by their first points. Each of them is one voxel
 * of the local map at most, and no other is, so that a thread that has found or made it adds to it alone: no atomics,
 * and no order that could matter. Means and weights follow, from wide levels to fine ones, which may need those of
 * parents. New voxels get the next numbers in the order of the scan's, by the counting that numbers voxels anywhere, so
 * the local map's order is that of the CPU. Only where the box moves, or memory grows, all voxels are gone through:
 * they are numbered again in their order, into other memory. */
#include "launch.cuh"
#include "ndt_merge.cuh"
#include "ndt_target.cuh"

/* Shared memory of a block. */
typedef struct merge_shared {
    pc_ndt_making making;
    uint32_t have[PC_NDT_GRIDS]; /* voxels before the scan, with voxel 0 */
} merge_shared;

/* In pc_ndt_task and pc_ndt_persistent. */
__device__ static inline int grid_of(int i, int levels) {
    return i < levels ? i : (int)PC_NDT_SHIFTED;
}

__device__ static inline uint32_t lanes_below(void) {
    return (1u << pc_ndt_lane()) - 1;
}

/* ---- rebuild all voxels------------------------------------------------------------------------------------------- */

/* The new key of an item of a grid (item i is voxel i + 1); false when it is dropped. */
__device__ static inline bool key_after(const pc_ndt_merge_task *f, const pc_ndt_merge_grid *m, int64_t item,
                                        uint32_t voxels, uint64_t *key) {
    if (item + 1 >= (int64_t)voxels) {
        return false;
    }
    *key = m->keys[item + 1];
    return pc_ndt_move_key(key, m->by, m->at.shift, m->at.half, f->limit);
}

__device__ static void place_voxel(const pc_ndt_merge_grid *m, uint64_t key, uint32_t number) {
    const uint32_t slot = pc_ndt_insert(m->at.slots, m->bits, key, number, ~0u);
    m->at.slots[slot].number = number;
    m->at.keys[number] = key;
    for (int i = 0; i < PC_NDT_SOURCES; i++) {
        m->at.source[i][number] = make_uint4(0, 0, 0, 0);
    }
}

__device__ static void count_kept(const pc_ndt_group *g, const pc_ndt_merge_task *f, int grids, merge_shared *shared) {
    for (int i = 0; i < grids; i++) {
        const pc_ndt_merge_grid *m = &f->grid[i];
        const uint32_t voxels = shared->have[i];
        const pc_ndt_range own = pc_ndt_own(g, (int64_t)voxels - 1);
        uint32_t count = 0;
        for (int64_t tile = own.begin; tile < own.end; tile++) {
            uint64_t key;
            const bool kept = key_after(f, m, tile * 32 + pc_ndt_lane(), voxels, &key);
            count += (uint32_t)__popc(__ballot_sync(PC_NDT_ALL, kept));
        }
        if (pc_ndt_lane() == 0) {
            shared->making.numbering.warp[i][threadIdx.x / 32] = count;
        }
        pc_ndt_clear_slots(g, &m->at, m->bits);
    }
}

__device__ static void keep_voxels(const pc_ndt_group *g, const pc_ndt_merge_task *f, int grids,
                                   const merge_shared *shared) {
    const pc_ndt_numbering *n = &shared->making.numbering;
    for (int i = 0; i < grids; i++) {
        const pc_ndt_merge_grid *m = &f->grid[i];
        const uint32_t voxels = shared->have[i];
        const pc_ndt_range own = pc_ndt_own(g, (int64_t)voxels - 1);
        uint32_t next = n->before[i] + n->warp[i][threadIdx.x / 32];
        for (int64_t tile = own.begin; tile < own.end; tile++) {
            const int64_t item = tile * 32 + pc_ndt_lane();
            uint64_t key;
            const bool kept = key_after(f, m, item, voxels, &key);
            const uint32_t all = __ballot_sync(PC_NDT_ALL, kept);
            if (kept) {
                const uint32_t number = next + (uint32_t)__popc(all & lanes_below());
                place_voxel(m, key, number);
                m->at.moments[number] = m->moments[item + 1];
            }
            next += (uint32_t)__popc(all);
        }
        if (g->rank == 0 && threadIdx.x == 0) {
            m->at.keys[0] = PC_NDT_NO_KEY;
            m->at.moments[0] = pc_ndt_moments{};
            for (int k = 0; k < PC_NDT_SOURCES; k++) {
                m->at.source[k][0] = make_uint4(0, 0, 0, 0);
            }
        }
    }
}

/* Ends with a barrier. */
__device__ static void rebuild_voxels(pc_ndt_group *g, const pc_ndt_task *scan, const pc_ndt_merge_task *f, int grids,
                                      merge_shared *shared) {
    pc_ndt_numbering *n = &shared->making.numbering;
    count_kept(g, f, grids, shared);
    pc_ndt_publish_counts(g, scan, 0, grids, n);
    pc_ndt_barrier(g);
    pc_ndt_receive_counts(g, scan, 0, grids, n);
    keep_voxels(g, f, grids, shared);
    __syncthreads();
    if ((int)threadIdx.x < grids) {
        shared->have[threadIdx.x] = n->all[threadIdx.x];
    }
    pc_ndt_barrier(g);
}

/* ---- the scan's voxels ------------------------------------------------------------------------------------------- */

/* Numbers of the scan's voxels in the local map, 0 where it has none, in place of what their points' slots were. */
__device__ static void find_voxels(const pc_ndt_group *g, const pc_ndt_task *scan, const pc_ndt_merge_task *f,
                                   int grids, merge_shared *shared) {
    for (int i = 0; i < grids; i++) {
        const pc_ndt_merge_grid *m = &f->grid[i];
        const pc_ndt_layer *s = &scan->grid[grid_of(i, grids - 1)];
        const int64_t voxels = (int64_t)scan->persistent->count[grid_of(i, grids - 1)].voxels - 1;
        const pc_ndt_range own = pc_ndt_own(g, voxels);
        uint32_t count = 0;
        for (int64_t tile = own.begin; tile < own.end; tile++) {
            const int64_t item = tile * 32 + pc_ndt_lane();
            uint32_t number = 0;
            if (item < voxels) {
                const uint64_t key = s->keys[item + 1];
                const uint32_t at = pc_ndt_hash(key, m->bits);
                number = pc_ndt_find_from(m->at.slots, m->bits, key, at, *(const uint4 *)&m->at.slots[at]);
                s->slot_of[item] = number;
            }
            count += (uint32_t)__popc(__ballot_sync(PC_NDT_ALL, item < voxels && number == 0));
        }
        if (pc_ndt_lane() == 0) {
            shared->making.numbering.warp[i][threadIdx.x / 32] = count;
        }
    }
    pc_ndt_publish_counts(g, scan, 0, grids, &shared->making.numbering);
}

/* Merges a voxel of the scan into one of the local map that is new or not full; returns whether it did. */
__device__ static bool add_voxel(const pc_ndt_merge_grid *m, const pc_ndt_layer *s, int64_t voxel, uint32_t number,
                                 bool fresh) {
    pc_ndt_moments *to = &m->at.moments[number];
    const pc_ndt_moments from = s->moments[voxel];
    if (fresh) {
        place_voxel(m, s->keys[voxel], number);
        *to = from;
        return true;
    }
    if (to->n >= m->most) {
        return false;
    }
    *to = pc_ndt_moments{to->n + from.n,   to->x + from.x,   to->y + from.y,   to->z + from.z,   to->xx + from.xx,
                         to->xy + from.xy, to->xz + from.xz, to->yy + from.yy, to->yz + from.yz, to->zz + from.zz};
    return true;
}

/* Leaves the numbers of the voxels that changed where find_voxels left those that there were, and 0 for the others. */
__device__ static void add_voxels(const pc_ndt_group *g, const pc_ndt_task *scan, const pc_ndt_merge_task *f, int grids,
                                  const merge_shared *shared) {
    const pc_ndt_numbering *n = &shared->making.numbering;
    for (int i = 0; i < grids; i++) {
        const pc_ndt_merge_grid *m = &f->grid[i];
        const pc_ndt_layer *s = &scan->grid[grid_of(i, grids - 1)];
        const int64_t voxels = (int64_t)scan->persistent->count[grid_of(i, grids - 1)].voxels - 1;
        const pc_ndt_range own = pc_ndt_own(g, voxels);
        uint32_t next = shared->have[i] - 1 + n->before[i] + n->warp[i][threadIdx.x / 32]; /* `before` has voxel 0 */
        for (int64_t tile = own.begin; tile < own.end; tile++) {
            const int64_t item = tile * 32 + pc_ndt_lane();
            uint32_t number = item < voxels ? s->slot_of[item] : 0;
            const bool fresh = item < voxels && number == 0;
            const uint32_t all = __ballot_sync(PC_NDT_ALL, fresh);
            number = fresh ? next + (uint32_t)__popc(all & lanes_below()) : number;
            if (item < voxels) {
                s->slot_of[item] = add_voxel(m, s, item + 1, number, fresh) ? number : 0;
            }
            next += (uint32_t)__popc(all);
        }
    }
}

/* ---- means and weights ------------------------------------------------------------------------------------------- */

/* Grid i: all voxels, or those that add_voxels changed. */
__device__ static void finish_grid(const pc_ndt_group *g, const pc_ndt_task *scan, const pc_ndt_merge_task *f, int i,
                                   int levels, const double center[3], const merge_shared *shared) {
    const pc_ndt_layer *at = &f->grid[i].at, *s = &scan->grid[grid_of(i, levels)];
    const int64_t stride = (int64_t)g->blocks * PC_NDT_THREADS;
    const int64_t all = shared->have[i] + shared->making.numbering.all[i] - 1;
    const int64_t items = f->all ? all : (int64_t)scan->persistent->count[grid_of(i, levels)].voxels - 1;
    const int parent = i < levels ? i + 1 : 1;
    pc_ndt_wider wider = {NULL, NULL, 0};
    if (parent < levels) {
        const pc_ndt_merge_grid *m = &f->grid[parent];
        wider = pc_ndt_wider{m->at.slots, m->at.blocks, m->bits};
    }
    for (int64_t k = (int64_t)g->rank * PC_NDT_THREADS + threadIdx.x; k < items; k += stride) {
        const int64_t number = f->all ? k : (int64_t)s->slot_of[k];
        if (f->all || number != 0) {
            pc_ndt_finish_voxel(&scan->target, at, &wider, center, number);
        }
    }
}

/* From wide levels to fine ones. Begins with a barrier. */
__device__ static void finish(pc_ndt_group *g, const pc_ndt_task *scan, const pc_ndt_merge_task *f, int levels,
                              const double center[3], const merge_shared *shared) {
    for (int i = levels - 1; i >= 0; i--) {
        pc_ndt_barrier(g);
        finish_grid(g, scan, f, i, levels, center, shared);
    }
    finish_grid(g, scan, f, levels, levels, center, shared);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* By the first block: publishes counts to the local map and to the host. */
__device__ static void conclude(const pc_ndt_merge_task *f, int grids, bool fits, const merge_shared *shared) {
    const int i = (int)threadIdx.x;
    if (i < grids) {
        const uint32_t have = shared->have[i], all = have + shared->making.numbering.all[i] - 1;
        pc_ndt_count *count = &f->persistent->count[grid_of(i, grids - 1)];
        count->voxels = fits ? all : have;
        count->bits = f->grid[i].bits;
        f->result->voxels[i] = all;
    }
    if (i == 0) {
        f->result->lacking = fits ? PC_NDT_ALL_FIT : PC_NDT_LOCAL_MAP_LACKS;
    }
}

__device__ static void merge_scan(pc_ndt_group *g, const pc_ndt_task *scan, const pc_ndt_merge_task *f,
                                  merge_shared *shared) {
    const int grids = scan->target.levels + 1;
    if ((int)threadIdx.x < grids) {
        shared->have[threadIdx.x] = f->forget ? 1 : f->persistent->count[grid_of((int)threadIdx.x, grids - 1)].voxels;
    }
    pc_ndt_make(g, scan, &shared->making);
    if (scan->persistent->overflow) {
        if (g->rank == 0 && threadIdx.x == 0) {
            f->result->lacking = PC_NDT_SCAN_LACKS;
        }
        return;
    }
    if (f->rebuild) {
        rebuild_voxels(g, scan, f, grids, shared);
    }
    find_voxels(g, scan, f, grids, shared);
    pc_ndt_barrier(g);
    pc_ndt_receive_counts(g, scan, 0, grids, &shared->making.numbering);
    bool fits = true;
    for (int i = 0; i < grids; i++) {
        fits = fits && (uint64_t)shared->have[i] + shared->making.numbering.all[i] - 1 <= f->grid[i].capacity;
    }
    if (fits) {
        double center[3] = {f->center[0], f->center[1], f->center[2]};
        if (f->renew) {
            pc_ndt_center_of(scan, center);
        }
        add_voxels(g, scan, f, grids, shared);
        finish(g, scan, f, grids - 1, center, shared);
    }
    if (g->rank == 0) {
        conclude(f, grids, fits, shared);
        pc_ndt_measure_of(scan, shared->making.squares, &f->result->measure);
    }
}

__global__ void __launch_bounds__(PC_NDT_THREADS, 1)
    merge_kernel(const pc_ndt_task *scan, const pc_ndt_merge_task *merge, uint32_t *counter) {
    __shared__ merge_shared shared;
    pc_ndt_group g = {(int)blockIdx.x, (int)gridDim.x, counter, 0};
    merge_scan(&g, scan, merge, &shared);
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

pcgpu_status pc_ndt_merge_resident(pcgpu_context *context, int *blocks) {
    return pc_resident_blocks(context, merge_kernel, PC_NDT_THREADS, blocks);
}

pcgpu_status pc_ndt_merge_launch(pcgpu_context *context, const pc_ndt_task *scan, const pc_ndt_merge_task *merge,
                                 int blocks, uint32_t *counter) {
    return pc_launch_cooperative(context, (unsigned)blocks, PC_NDT_THREADS, merge_kernel, scan, merge, counter);
}
