/* The first kernel of voxelize_hashed.cuh where the table has each cell of the grid. */
#ifndef PC_VOXELIZE_DENSE_INSERT_CUH
#define PC_VOXELIZE_DENSE_INSERT_CUH

#include "voxelize_insert.cuh"

/* What the leader of a group of records of the same cell learns when it counts them: */
typedef struct arrivals {
    uint32_t before; /* records of the cell that came before */
    uint32_t above;  /* the lowest record until then, if a lower one is among these, else 0 */
} arrivals;

/* A list of cells that have got their first record is in parts, so that not all warps add to the same count. A warp
 * takes places for `those` lanes, of which lane 0 knows the first. i: a record of the warp. */
__device__ static uint32_t share_of(uint32_t i) {
    return i / 32 % PC_SHARES;
}

__device__ static uint32_t take_found(const pc_hashed &s, uint32_t i, uint32_t those) {
    return those && threadIdx.x % 32 == 0 ? atomicAdd(&pc_begins_of(s)->found[share_of(i)][0], (uint32_t)__popc(those))
                                          : 0;
}

/* Puts the cells there. */
__device__ static void put_found(const pc_hashed &s, uint32_t i, uint32_t those, uint32_t first, uint32_t cell) {
    const uint32_t lane = threadIdx.x % 32;
    first = __shfl_sync(PC_ALL_LANES, first, 0);
    if (those >> lane & 1) {
        s.found[share_of(i) * pc_share_room(s.rows) + first + (uint32_t)__popc(those & ((1u << lane) - 1))] = cell;
    }
}

/* Late record i, `number` of its cell: finds or claims its bucket. */
__device__ static void keep_late_of_cell(const pc_hashed &s, uint32_t cell, uint32_t number, uint32_t i) {
    const unsigned long long key = pc_cell_bucket_key(cell, number);
    for (uint32_t at = pc_bucket_home(s, key);; at = (at + 1) & s.bucket_mask) {
        const unsigned long long old = atomicCAS(&s.bucket_keys[at], 0ull, key);
        if (old == 0 || old == key) {
            *pc_bucket_row(s, at, number) = i;
            return;
        }
    }
}

/* Each lane with a record i that is lower than `above`, the lowest one of its voxel until then: sets its bit and clears
 * the other, and counts both. What stands there is right when all have done so, in whatever order, since each change is
 * added. By a warp. */
__device__ static void tell_beginnings(const pc_hashed &s, uint32_t i, uint32_t above) {
    pc_beginnings *begins = pc_begins_of(s);
    const uint32_t those = __ballot_sync(PC_ALL_LANES, i < above);
    if (those && threadIdx.x % 32 == 0) {
        atomicAdd(&begins->bits[i / 32], those);
        atomicAdd(&begins->count[i / PC_BEGIN_ROWS][0], (uint32_t)__popc(those));
    }
    if (i < above && above != PC_NO_ROW) {
        atomicAdd(&begins->bits[above / 32], 0u - (1u << above % 32));
        atomicAdd(&begins->count[above / PC_BEGIN_ROWS][0], 0u - 1u);
    }
}

/* A thread a record; the lanes of a warp whose records share a cell act together. */
__global__ static void __launch_bounds__(PC_INSERT_THREADS, PC_RESIDENT(PC_INSERT_THREADS, PC_INSERTS))
    dense_insert_kernel(const pc_hashed s) {
    const uint32_t lane = threadIdx.x % 32, p = (uint32_t)s.kept;
    pc_launch_next();
    for (uint32_t i = blockIdx.x * PC_INSERT_THREADS + threadIdx.x; i - lane < s.rows;
         i += gridDim.x * PC_INSERT_THREADS) {
        const position at = position_of(s, i);
        const uint32_t cell = key_of(s, i, at), group = __match_any_sync(PC_ALL_LANES, cell),
                       leader = __ffs((int)group) - 1;
        const bool in_range = cell != PC_NO_KEY, leads = in_range && lane == leader;
        arrivals a = {0, 0};
        if (leads) {
            a.before = atomicAdd(&s.cells[cell].last, (uint32_t)__popc(group)) + 1;
            a.above = atomicMin(&s.cells[cell].first, i);
        }
        __syncwarp();
        const uint32_t new_cells = __ballot_sync(PC_ALL_LANES, leads && a.before == 0),
                       place = take_found(s, i, new_cells);
        const uint32_t rank =
            __shfl_sync(PC_ALL_LANES, a.before, (int)leader) + (uint32_t)__popc(group & ((1u << lane) - 1));
        if (in_range && rank < p) {
            s.cell_rows[cell * pc_cell_room(s.kept) + rank] = i;
        } else if (in_range) {
            keep_late_of_cell(s, cell, rank - p, i);
        }
        if (in_range && rank == p) {
            s.crowded[atomicAdd(&pc_begins_of(s)->crowded[0], 1)] = cell;
        }
        tell_beginnings(s, i, a.above);
        __syncwarp();
        put_found(s, i, new_cells, place, cell);
        if (i < s.rows) {
            s.point_voxel[i] = -1;
        }
    }
}

#endif
