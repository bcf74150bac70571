/* The last kernel of voxelize_hashed.cuh. */
#ifndef PC_VOXELIZE_FILL_CUH
#define PC_VOXELIZE_FILL_CUH

#include "voxelize_hashed.cuh"

enum { WARPS = PC_VOXELIZE_THREADS / 32, SORTED = 2 * PC_MOST_KEPT };

/* Voxels that a block fills at once: numbers first, first + 1, ... */
typedef struct chunk {
    uint32_t first;
    int voxels;      /* of these, all are to be cleaned up */
    int filled;      /* and so many are in the result */
    uint32_t *slot;  /* of each voxel */
    uint32_t *count; /* its records */
    uint32_t *rows;  /* the kept ones, P a voxel */
    float *means;    /* of x y z, 3 a voxel, where the features need them */
} chunk;

__device__ static int kept_of(const pc_hashed &s, const chunk &c, int voxel) {
    return (int)min(c.count[voxel], (uint32_t)s.kept);
}

/* value / divisor for value * divisor < 2^32, with factor = (2^32 - 1) / divisor + 1. */
__device__ static uint32_t divide(uint32_t value, uint32_t divisor, uint32_t factor) {
    return divisor == 1 ? value : __umulhi(value, factor);
}

__device__ static uint32_t factor_of(uint32_t divisor) {
    return 0xffffffffu / divisor + 1u;
}

/* ---- the kept records of a voxel -------------------------------------------------------------------------------- */

__device__ static void order(uint32_t *a, uint32_t *b) {
    const uint32_t low = min(*a, *b);
    *b = max(*a, *b);
    *a = low;
}

/* Sorts `count` different numbers and leaves the `keep` lowest; by a warp. */
__device__ static void keep_lowest(uint32_t *numbers, int count, int keep) {
    const int lane = (int)threadIdx.x % 32;
    uint32_t mine[SORTED / 32];
    int rank[SORTED / 32];
#pragma unroll
    for (int k = 0; k < SORTED / 32; k++) {
        mine[k] = lane + 32 * k < count ? numbers[lane + 32 * k] : PC_NO_ROW;
        rank[k] = 0;
    }
    for (int i = 0; i < count; i++) {
        const uint32_t other = numbers[i];
#pragma unroll
        for (int k = 0; k < SORTED / 32; k++) {
            rank[k] += other < mine[k];
        }
    }
    __syncwarp();
#pragma unroll
    for (int k = 0; k < SORTED / 32; k++) {
        if (lane + 32 * k < count && rank[k] < keep) {
            numbers[rank[k]] = mine[k];
        }
    }
    __syncwarp();
}

/* Puts the lowest P of `count` late records and the P `lowest` there. */
__device__ static void merge_late(const uint32_t *late, uint32_t count, uint32_t *lowest, int p) {
    enum { AT_ONCE = 4 };
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t first = 0; first < count; first += 32 * AT_ONCE) {
        uint32_t row[AT_ONCE];
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            const uint32_t i = first + 32 * k + lane;
            row[k] = i < count ? late[i] : PC_NO_ROW;
        }
#pragma unroll 1
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            const bool lower = row[k] < lowest[p - 1];
            const uint32_t all = __ballot_sync(PC_LANES, lower);
            if (all) {
                if (lower) {
                    lowest[p + __popc(all & ((1u << lane) - 1))] = row[k];
                }
                __syncwarp();
                keep_lowest(lowest, p + __popc(all), p);
            }
        }
    }
}

/* The kept records of a voxel that has more than its slot holds, in order; by a warp. Cleans up beside the slot. */
__device__ static void collect(const pc_hashed &s, const chunk &c, int voxel, uint32_t *sorted) {
    const int lane = (int)threadIdx.x % 32, kept = kept_of(s, c, voxel), p = s.kept;
    const uint32_t slot = c.slot[voxel];
    uint32_t *more = pc_more_of(s, slot);
    for (int k = lane; k < kept; k += 32) {
        if (k < PC_SLOT_ROWS) {
            sorted[k] = c.rows[voxel * p + k];
        } else {
            sorted[k] = more[k - PC_SLOT_ROWS];
            more[k - PC_SLOT_ROWS] = PC_NO_ROW;
        }
    }
    __syncwarp();
    keep_lowest(sorted, kept, kept);
    const uint32_t late = c.count[voxel] > (uint32_t)p ? s.late[slot] : 0;
    if (late) {
        merge_late(s.late_rows + s.late_first[slot], late, sorted, p);
        if (lane == 0) {
            s.late[slot] = 0;
        }
    }
    for (int k = lane; k < kept; k += 32) {
        c.rows[voxel * p + k] = sorted[k];
    }
    __syncwarp();
}

/* Reads the slots of the chunk's voxels and cleans them; a thread a voxel. Those with more records than a slot or a
 * voxel keeps are put into a list. */
__device__ static void read_slots(const pc_hashed &s, const chunk &c, uint16_t *large, int *large_count,
                                  pc_voxelize_sums *sums) {
    const int v = (int)threadIdx.x, p = s.kept, held = min(p, (int)PC_SLOT_ROWS);
    if (v >= c.voxels) {
        return;
    }
    const uint32_t slot = s.slot_of[c.first + (uint32_t)v];
    uint4 *at = (uint4 *)&s.slots[slot];
    const uint4 head = at[0], rows = at[1], clean = make_uint4(~0u, ~0u, ~0u, ~0u);
    at[0] = clean;
    at[1] = clean;
    c.slot[v] = slot;
    c.count[v] = head.x;
    uint32_t row[PC_SLOT_ROWS] = {rows.x, rows.y, rows.z, rows.w}; /* those that are not there are ~0 */
    if (head.x > (uint32_t)held) {
        large[atomicAdd(large_count, 1)] = (uint16_t)v;
    } else {
        order(&row[0], &row[1]);
        order(&row[2], &row[3]);
        order(&row[0], &row[2]);
        order(&row[1], &row[3]);
        order(&row[1], &row[2]);
    }
#pragma unroll
    for (int k = 0; k < PC_SLOT_ROWS; k++) {
        if (k < held) {
            c.rows[v * p + k] = row[k];
        }
    }
    sums->in_range += head.x;
    sums->largest = max(sums->largest, (unsigned long long)head.x);
    if (v < c.filled) {
        const uint32_t number = c.first + (uint32_t)v, key = head.y, z = key / s.cells_xy,
                       in_plane = key - z * s.cells_xy, y = in_plane / s.cells_x;
        const int kept = kept_of(s, c, v);
        sums->under_limit += head.x;
        sums->kept += (unsigned long long)kept;
        s.counts[number] = kept;
        ((int4 *)s.coords)[number] = make_int4(0, (int)z, (int)y, (int)(in_plane - y * s.cells_x));
    }
}

/* ---- features --------------------------------------------------------------------------------------------------- */

__device__ static const float *record(const pc_hashed &s, const chunk &c, int voxel, int place) {
    return s.data + (size_t)c.rows[voxel * s.kept + place] * (size_t)s.columns;
}

/* Means of the first `width` columns; a thread a value. */
__device__ static void fill_means(const pc_hashed &s, const chunk &c, int width, float *means) {
    const uint32_t factor = factor_of((uint32_t)width);
    for (int i = (int)threadIdx.x; i < c.filled * width; i += PC_VOXELIZE_THREADS) {
        const int v = (int)divide((uint32_t)i, (uint32_t)width, factor);
        means[i] = pc_voxel_mean(s.data, s.columns, (const int32_t *)(c.rows + v * s.kept), kept_of(s, c, v),
                                 i - v * width, false);
    }
}

/* A thread a record, or a place for one. */
__device__ static void fill_records(const pc_hashed &s, const chunk &c) {
    const uint32_t p = (uint32_t)s.kept, factor = factor_of(p), places = (uint32_t)c.filled * p;
    float4 *to = (float4 *)s.features + (size_t)c.first * p;
    for (uint32_t i = threadIdx.x; i < places; i += PC_VOXELIZE_THREADS) {
        const int v = (int)divide(i, p, factor), place = (int)(i - (uint32_t)v * p);
        to[i] =
            place < kept_of(s, c, v) ? *(const float4 *)record(s, c, v, place) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
}

/* Points or pillars; a thread a value. */
__device__ static void fill_values(const pc_hashed &s, const chunk &c) {
    const bool pillar = s.kind == PCGPU_FEATURES_PILLAR;
    const uint32_t p = (uint32_t)s.kept, factor = factor_of(p),
                   width = (uint32_t)(pillar ? (int)PC_PILLAR_COLUMNS : s.columns), width_factor = factor_of(width),
                   values = (uint32_t)c.filled * p * width;
    float *to = s.features + (size_t)c.first * p * width;
    for (uint32_t i = threadIdx.x; i < values; i += PC_VOXELIZE_THREADS) {
        const uint32_t row = divide(i, width, width_factor), k = i - row * width;
        const int v = (int)divide(row, p, factor), place = (int)(row - (uint32_t)v * p);
        float value = 0.0f;
        if (place < kept_of(s, c, v)) {
            const float *from = record(s, c, v, place);
            value = pillar ? pc_pillar_value(&s.grid, from, s.columns, c.means + 3 * v,
                                             s.coords + 4 * (size_t)(c.first + (uint32_t)v), (int)k)
                           : from[k];
        }
        to[i] = value;
    }
}

/* One record of each voxel. */
__device__ static void fill_selected(const pc_hashed &s, const chunk &c) {
    for (int v = (int)threadIdx.x; v < c.filled; v += PC_VOXELIZE_THREADS) {
        const int32_t *rows = (const int32_t *)(c.rows + v * s.kept);
        s.selected[c.first + (uint32_t)v] =
            s.kind == PCGPU_FEATURES_NEAREST
                ? pc_voxel_nearest(s.data, s.columns, rows, kept_of(s, c, v), c.means + 3 * v)
                : rows[0];
    }
    __syncthreads();
    const uint32_t width = (uint32_t)s.columns, factor = factor_of(width);
    for (uint32_t i = threadIdx.x; i < (uint32_t)c.filled * width; i += PC_VOXELIZE_THREADS) {
        const uint32_t v = divide(i, width, factor);
        const int32_t row = s.selected[c.first + v];
        s.features[(size_t)c.first * width + i] = s.data[(size_t)row * width + (i - v * width)];
    }
}

__device__ static void fill_features(const pc_hashed &s, const chunk &c) {
    if (s.kind == PCGPU_FEATURES_PILLAR || s.kind == PCGPU_FEATURES_NEAREST) {
        fill_means(s, c, 3, c.means);
        __syncthreads();
    }
    if (s.means) {
        fill_means(s, c, s.columns, s.means + (size_t)c.first * (size_t)s.columns);
    }
    if (s.kind == PCGPU_FEATURES_POINTS && s.aligned) {
        fill_records(s, c);
    } else if (s.kind == PCGPU_FEATURES_POINTS || s.kind == PCGPU_FEATURES_PILLAR) {
        fill_values(s, c);
    } else if (s.kind != PCGPU_FEATURES_MEAN) {
        fill_selected(s, c);
    }
    if (s.point_voxel) {
        const uint32_t p = (uint32_t)s.kept, factor = factor_of(p);
        for (uint32_t i = threadIdx.x; i < (uint32_t)c.filled * p; i += PC_VOXELIZE_THREADS) {
            const uint32_t v = divide(i, p, factor);
            if ((int)(i - v * p) < kept_of(s, c, (int)v)) {
                s.point_voxel[c.rows[i]] = (int32_t)(c.first + v);
            }
        }
    }
}

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

__device__ static void add_up(pc_voxelize_sums *to, pc_voxelize_sums mine) {
    for (int step = 16; step > 0; step /= 2) {
        mine.in_range += __shfl_xor_sync(PC_LANES, mine.in_range, step);
        mine.under_limit += __shfl_xor_sync(PC_LANES, mine.under_limit, step);
        mine.kept += __shfl_xor_sync(PC_LANES, mine.kept, step);
        mine.largest = max(mine.largest, __shfl_xor_sync(PC_LANES, mine.largest, step));
    }
    if (threadIdx.x % 32 == 0 && mine.in_range) {
        atomicAdd(&to->in_range, mine.in_range);
        atomicAdd(&to->under_limit, mine.under_limit);
        atomicAdd(&to->kept, mine.kept);
        atomicMax(&to->largest, mine.largest);
    }
}

/* The last block to come here leaves the counters as the next call wants them; all others have added to them. */
__device__ static void finish(const pc_hashed &s) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        pc_voxelize_counters *counters = s.counters;
        if (atomicAdd(&counters->finished, 1u) == gridDim.x - 1) {
            __threadfence();
            const volatile pc_voxelize_sums *sums = &counters->sums;
            counters->result = pc_voxelize_sums{sums->non_finite,  sums->at_origin, sums->in_range,
                                                sums->under_limit, sums->kept,      sums->largest};
            counters->sums = pc_voxelize_sums{0, 0, 0, 0, 0, 0};
            counters->finished = 0;
        }
    }
}

__global__ static void __launch_bounds__(PC_VOXELIZE_THREADS) fill_kernel(const pc_hashed s) {
    __shared__ uint32_t slot[PC_CHUNK_VOXELS], count[PC_CHUNK_VOXELS], rows[PC_CHUNK_ROWS], sorted[WARPS][SORTED];
    __shared__ float means[3 * PC_CHUNK_VOXELS];
    __shared__ uint16_t large[PC_CHUNK_VOXELS];
    __shared__ int large_count;
    pc_voxelize_sums sums = {0, 0, 0, 0, 0, 0};
    pc_wait_for_last();
    const uint32_t found = s.counters->found, share = (found + gridDim.x - 1) / gridDim.x;
    const uint32_t voxels = max(min(share, (uint32_t)min((int)PC_CHUNK_VOXELS, (int)PC_CHUNK_ROWS / s.kept)), 1u);
    for (uint64_t first = (uint64_t)blockIdx.x * voxels; first < found; first += (uint64_t)gridDim.x * voxels) {
        const int here = (int)min((uint64_t)voxels, found - first);
        const int filled = first < s.most ? (int)min((uint64_t)here, s.most - first) : 0;
        const chunk c = {(uint32_t)first, here, filled, slot, count, rows, means};
        if (threadIdx.x == 0) {
            large_count = 0;
        }
        __syncthreads();
        read_slots(s, c, large, &large_count, &sums);
        __syncthreads();
        for (int i = (int)threadIdx.x / 32; i < large_count; i += WARPS) {
            collect(s, c, large[i], sorted[threadIdx.x / 32]);
        }
        __syncthreads();
        fill_features(s, c);
        __syncthreads();
    }
    const int64_t tiles = ((int64_t)s.rows + PC_TILE_ROWS - 1) / PC_TILE_ROWS,
                  stride = (int64_t)gridDim.x * PC_VOXELIZE_THREADS;
    for (int64_t i = (int64_t)blockIdx.x * PC_VOXELIZE_THREADS + threadIdx.x; i < tiles; i += stride) {
        s.tiles[i] = 0;
    }
    add_up(&s.counters->sums, sums);
    finish(s);
}

#endif
