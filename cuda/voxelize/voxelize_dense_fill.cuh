/* The second and last kernel of voxelize_hashed.cuh where the table has each cell of the grid, for means, arrays or
 * pillar features: a few lanes number and fill a voxel. FOUR: records of four columns, which are a float4 each. */
#ifndef PC_VOXELIZE_DENSE_FILL_CUH
#define PC_VOXELIZE_DENSE_FILL_CUH

#include "voxelize_dense_crowd.cuh"
#include "voxelize_dense_number.cuh"

enum {
    DENSE_EACH = 4,               /* records that a lane brings */
    DENSE_ROOM = 32 * DENSE_EACH, /* and a warp */
};

/* ---- features --------------------------------------------------------------------------------------------------- */

/* value / divisor, where both are below 2^22. The product is above the quotient by less than value / 2^32. */
__device__ static uint32_t divide_cell(uint32_t value, uint32_t divisor, uint32_t factor) {
    const uint32_t quotient = divide(value, divisor, factor);
    return quotient * divisor > value ? quotient - 1 : quotient;
}

static_assert(PC_BUCKET_SLOTS <= 22, "see above");

/* Factors for lines and planes of the grid. */
typedef struct grid_factors {
    uint32_t x, y;
} grid_factors;

__device__ static grid_factors factors_of(const pc_hashed &s) {
    return grid_factors{factor_of(pc_grid_along(s, 0)), factor_of(pc_grid_along(s, 1))};
}

/* Brings columns `from` and on of a voxel's records, `stride` values each; by LANES lanes. */
template <int LANES>
__device__ static void bring_columns(const pc_hashed &s, const uint32_t *rows, int kept, int from, int width,
                                     int stride, float *values) {
    for (int k = (int)threadIdx.x % LANES; k < kept; k += LANES) {
        const float *record = s.data + (size_t)rows[k] * (size_t)s.columns + from;
#pragma unroll 4
        for (int c = 0; c < width; c++) {
            values[k * stride + c] = record[c];
        }
    }
}

/* The records of a voxel, and zeros up to P; `width` columns of them from column `from` on are in `values`. */
template <int LANES, bool FOUR>
__device__ static void put_points(const pc_hashed &s, uint32_t number, int kept, const float *values, int from,
                                  int width) {
    const int lane = (int)threadIdx.x % LANES;
    const size_t first = (size_t)number * (size_t)s.kept;
    if (FOUR) {
        for (int k = lane; k < s.kept; k += LANES) {
            ((float4 *)s.features)[first + (size_t)k] =
                k < kept ? ((const float4 *)values)[k] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
    } else if (width == s.columns) {
        float *to = s.features + first * (size_t)width;
#pragma unroll 4
        for (int i = lane; i < s.kept * width; i += LANES) {
            to[i] = i < kept * width ? values[i] : 0.0f;
        }
    } else {
        for (int k = lane; k < s.kept; k += LANES) {
            for (int c = 0; c < width; c++) {
                s.features[(first + (size_t)k) * (size_t)s.columns + (size_t)(from + c)] =
                    k < kept ? values[k * width + c] : 0.0f;
            }
        }
    }
}

/* Arrays or means, PC_COLUMNS_AT_ONCE columns at a time; by LANES lanes, and the whole warp. */
template <int LANES, bool FOUR>
__device__ static void put_arrays(const pc_hashed &s, uint32_t number, int kept, const uint32_t *rows, float *values) {
    const int columns = FOUR ? 4 : s.columns;
#pragma unroll 1
    for (int from = 0; from < columns; from += PC_COLUMNS_AT_ONCE) {
        const int width = FOUR ? 4 : min(columns - from, (int)PC_COLUMNS_AT_ONCE);
        if (!FOUR) {
            __syncwarp();
            bring_columns<LANES>(s, rows, kept, from, width, width, values);
            __syncwarp();
        }
        if (kept > 0 && s.kind == PCGPU_FEATURES_POINTS) {
            put_points<LANES, FOUR>(s, number, kept, values, from, width);
        }
        for (int c = (int)threadIdx.x % LANES; kept > 0 && s.means && c < width; c += LANES) {
            s.means[(size_t)number * (size_t)columns + (size_t)(from + c)] =
                pc_voxel_mean(values, width, NULL, kept, c, false);
        }
    }
}

/* Pillar features. mean: room for three in shared memory. */
template <int LANES, bool FOUR>
__device__ static void put_pillar(const pc_hashed &s, uint32_t number, const int32_t *coords, int kept,
                                  const uint32_t *rows, float *values, float *mean) {
    enum { PAIRS = PC_PILLAR_COLUMNS / 2, STRIDE = 4 };
    const int lane = (int)threadIdx.x % LANES, columns = FOUR ? 4 : s.columns;
    float2 *to = (float2 *)s.features + (size_t)number * (size_t)s.kept * PAIRS;
    if (!FOUR) {
        bring_columns<LANES>(s, rows, kept, 0, min(columns, (int)STRIDE), STRIDE, values);
        __syncwarp();
    }
    if (lane < 3 && kept > 0) {
        mean[lane] = pc_voxel_mean(values, STRIDE, NULL, kept, lane, false);
    }
    __syncwarp();
    int i = lane;
    for (; i < kept * PAIRS; i += LANES) {
        const int row = i / PAIRS, k = 2 * (i - row * PAIRS);
        const float *record = values + STRIDE * row;
        to[i] = make_float2(pc_pillar_value(&s.grid, record, columns, mean, coords, k),
                            pc_pillar_value(&s.grid, record, columns, mean, coords, k + 1));
    }
    for (; kept > 0 && i < s.kept * PAIRS; i += LANES) {
        to[i] = make_float2(0.0f, 0.0f);
    }
}

/* The result of a voxel whose rows are in order, or of none with kept = 0; by LANES lanes, and the whole warp. FOUR:
 * the values are there, too. PILLARS: that is what is wanted. */
template <int LANES, bool PILLARS, bool FOUR>
__device__ static void put_features(const pc_hashed &s, const grid_factors &factors, uint32_t number, uint32_t cell,
                                    int kept, const uint32_t *rows, float *values, float *mean) {
    const uint32_t line = divide_cell(cell, pc_grid_along(s, 0), factors.x),
                   plane = divide_cell(line, pc_grid_along(s, 1), factors.y);
    const int32_t coords[4] = {0, (int32_t)plane, (int32_t)(line - plane * pc_grid_along(s, 1)),
                               (int32_t)(cell - line * pc_grid_along(s, 0))};
    if (PILLARS) {
        put_pillar<LANES, FOUR>(s, number, coords, kept, rows, values, mean);
    } else {
        put_arrays<LANES, FOUR>(s, number, kept, rows, values);
    }
    if (kept > 0 && threadIdx.x % LANES == LANES - 1) {
        ((int4 *)s.coords)[number] = make_int4(0, coords[1], coords[2], coords[3]);
        s.counts[number] = kept;
    }
}

/* What a lane adds to the sums. */
__device__ static void add_voxel(const pc_hashed &s, uint32_t number, uint32_t points, block_sums *sums) {
    sums->in_range += points;
    sums->largest = max(sums->largest, points);
    if (number < s.most) {
        sums->under_limit += points;
        sums->kept += min(points, (uint32_t)s.kept);
    }
}

/* ---- voxels with at most P records ------------------------------------------------------------------------------ */

/* Of a lane that works on a voxel. */
typedef struct found_cell {
    uint32_t *at;  /* in the list */
    uint32_t cell; /* PC_NO_KEY: there is none */
    uint2 counts;  /* as pc_cell has them */
    uint4 rows;    /* of which there may be fewer */
} found_cell;

template <int LANES> __device__ static found_cell load_found(const pc_hashed &s, uint32_t entry, uint32_t room) {
    const uint32_t part = threadIdx.x % LANES, share = pc_cell_room(s.kept);
    found_cell f = {s.found + entry % PC_SHARES * room + entry / PC_SHARES, PC_NO_KEY, make_uint2(~0u, 0),
                    make_uint4(0, 0, 0, 0)};
    if (entry / PC_SHARES < room) {
        f.cell = *f.at;
    }
    if (f.cell != PC_NO_KEY) {
        f.counts = *(const uint2 *)&s.cells[f.cell];
        if (part * DENSE_EACH < share) {
            f.rows = *(const uint4 *)(s.cell_rows + (size_t)f.cell * share + part * DENSE_EACH);
        }
    }
    return f;
}

/* Shared memory of a warp. */
typedef struct warp_room {
    float *values;  /* `width` columns of DENSE_ROOM records */
    uint32_t *rows; /* DENSE_ROOM; not with FOUR */
    float *means;   /* 3 a voxel */
    int width;
} warp_room;

/* Numbers and fills the voxels of a warp, LANES lanes each. Crowded ones are left
 * to others, which may have cleaned up already. A lane has every LANES-th record, so that where all voxels are small,
 * as most are, what is done EACH times elsewhere is done once. */
template <int LANES, bool PILLARS, bool FOUR>
__device__ static void fill_found(const pc_hashed &s, const grid_factors &factors, const found_cell &f,
                                  const uint32_t *before, const warp_room &m, block_sums *sums) {
    const uint32_t part = threadIdx.x % LANES, from = part * DENSE_EACH;
    const bool fits = f.counts.x < (uint32_t)s.kept;
    const uint32_t points = fits ? f.counts.x + 1 : 0, first = fits ? f.counts.y : 0, most = pc_warp_max(points);
    const uint32_t own = threadIdx.x % 32 / LANES * (LANES * DENSE_EACH);
    float *values = m.values + own * m.width;
    float4 record[DENSE_EACH];
    uint32_t *rows = (uint32_t *)values, *sorted = m.rows + own, row[DENSE_EACH]; /* there before there are values */
    int rank[DENSE_EACH] = {};
    const near_bits<LANES> bits = load_bits<LANES>(s, first);
    *(uint4 *)(rows + from) =
        make_uint4(from < points ? f.rows.x : PC_NO_ROW, from + 1 < points ? f.rows.y : PC_NO_ROW,
                   from + 2 < points ? f.rows.z : PC_NO_ROW, from + 3 < points ? f.rows.w : PC_NO_ROW);
    __syncwarp();
#pragma unroll
    for (uint32_t k = 0; k < DENSE_EACH; k++) {
        row[k] = PC_NO_ROW;
        record[k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (k * LANES < most) {
            row[k] = rows[part + k * LANES];
            if (FOUR && row[k] != PC_NO_ROW) {
                record[k] = ((const float4 *)s.data)[row[k]];
            }
        }
    }
#pragma unroll
    for (uint32_t k = 0; k < DENSE_EACH; k++) {
        for (uint32_t i = 0; i < most && k * LANES < most; i += 4) {
            const uint4 other = *(const uint4 *)(rows + i);
            rank[k] += (other.x < row[k]) + (other.y < row[k]) + (other.z < row[k]) + (other.w < row[k]);
        }
    }
    const uint32_t number = number_at<LANES>(bits, before, first);
    const bool in_result = number < s.most;
    __syncwarp();
#pragma unroll
    for (uint32_t k = 0; k < DENSE_EACH; k++) {
        if (k * LANES < most && row[k] != PC_NO_ROW) {
            if (FOUR) {
                ((float4 *)values)[rank[k]] = record[k];
            } else {
                sorted[rank[k]] = row[k];
            }
            if (in_result) {
                s.point_voxel[row[k]] = (int32_t)number;
            }
        }
    }
    __syncwarp();
    put_features<LANES, PILLARS, FOUR>(s, factors, number, f.cell, in_result ? (int)points : 0, sorted, values,
                                       m.means + threadIdx.x % 32 / LANES * 3);
    if (fits && part == 0) {
        *(uint2 *)&s.cells[f.cell] = make_uint2(~0u, ~0u);
        add_voxel(s, number, points, sums);
    }
    if (f.cell != PC_NO_KEY && part == 1) {
        *f.at = PC_NO_KEY;
    }
    __syncwarp();
}

/* ---- crowded voxels --------------------------------------------------------------------------------------------- */

/* Numbers and fills a voxel whose kept records are in order; by a warp. */
template <bool PILLARS, bool FOUR>
__device__ static void put_crowd(const pc_hashed &s, const grid_factors &factors, uint32_t cell, uint32_t number,
                                 const uint32_t *sorted, const warp_room &m) {
    for (int k = (int)threadIdx.x % 32; number < s.most && k < s.kept; k += 32) {
        const uint32_t row = sorted[k];
        if (FOUR) {
            ((float4 *)m.values)[k] = ((const float4 *)s.data)[row];
        }
        s.point_voxel[row] = (int32_t)number;
    }
    __syncwarp();
    put_features<32, PILLARS, FOUR>(s, factors, number, cell, number < s.most ? s.kept : 0, sorted, m.values, m.means);
    __syncwarp();
}

/* Crowded voxels that the block has to do together. */
typedef struct large_crowds {
    enum { MOST = PC_VOXELIZE_LARGE_CROWDS }; /* others are done by a warp, too */
    uint32_t count, cell[MOST];
} large_crowds;

/* A crowded voxel, by a warp: number, features, and cleaning up. Its kept records are in order. */
template <bool PILLARS, bool FOUR>
__device__ static void finish_crowd(const pc_hashed &s, const grid_factors &factors, uint32_t cell, const uint2 &counts,
                                    const uint32_t *before, const uint32_t *sorted, const warp_room &m,
                                    block_sums *sums) {
    const uint32_t number = number_at<32>(load_bits<32>(s, counts.y), before, counts.y);
    put_crowd<PILLARS, FOUR>(s, factors, cell, number, sorted, m);
    if (threadIdx.x % 32 == 0) {
        *(uint2 *)&s.cells[cell] = make_uint2(~0u, ~0u);
        add_voxel(s, number, counts.x + 1, sums);
    }
}

/* Crowded voxels `i` and every `step`-th on, of `crowds`; by a warp. */
template <bool PILLARS, bool FOUR>
__device__ static void fill_crowds(const pc_hashed &s, const grid_factors &factors, uint32_t i, uint32_t step,
                                   uint32_t crowds, const uint32_t *before, selection *selected, const warp_room &m,
                                   large_crowds *large, block_sums *sums) {
    for (; i < crowds; i += step) {
        const uint32_t cell = s.crowded[i];
        const uint2 counts = *(const uint2 *)&s.cells[cell];
        const uint32_t late = counts.x + 1 - (uint32_t)s.kept;
        if (late >= CROWD) {
            uint32_t place = 0;
            if (threadIdx.x % 32 == 0) {
                place = atomicAdd(&large->count, 1);
                if (place < large_crowds::MOST) {
                    large->cell[place] = cell;
                }
            }
            if (__shfl_sync(PC_ALL_LANES, place, 0) < large_crowds::MOST) {
                continue;
            }
        }
        select_by_warp(s, cell, late, selected);
        finish_crowd<PILLARS, FOUR>(s, factors, cell, counts, before, selected->sorted, m, sums);
    }
}

/* The same, by the block; m: of all of it. */
template <bool PILLARS, bool FOUR>
__device__ static void fill_large_crowds(const pc_hashed &s, const grid_factors &factors, const uint32_t *before,
                                         selection *selected, const warp_room &m, const large_crowds &large,
                                         block_sums *sums) {
    for (uint32_t i = 0; i < min(large.count, (uint32_t)large_crowds::MOST); i++) {
        const uint32_t cell = large.cell[i];
        const uint2 counts = *(const uint2 *)&s.cells[cell];
        __syncthreads();
        select_by_block(s, cell, counts.x + 1 - (uint32_t)s.kept, (uint32_t *)m.values, selected);
        if (threadIdx.x < 32) {
            finish_crowd<PILLARS, FOUR>(s, factors, cell, counts, before, selected->sorted, m, sums);
        }
        __syncthreads();
    }
}

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

/* What the next call but one is to find zero. */
__device__ static void clean_beginnings(const pc_hashed &s) {
    uint32_t *words = (uint32_t *)&s.begins[1 - s.calls % 2];
    for (uint32_t i = blockIdx.x * PC_DENSE_THREADS + threadIdx.x; i < sizeof(pc_beginnings) / sizeof(uint32_t);
         i += gridDim.x * PC_DENSE_THREADS) {
        words[i] = 0;
    }
}

/* crowd_blocks: blocks, the first ones, that begin with crowded voxels; where these are more, the last ones help, which
 * have the least else to do. */
template <int LANES, bool PILLARS, bool FOUR>
__global__ static void __launch_bounds__(PC_DENSE_THREADS, PC_RESIDENT(PC_DENSE_THREADS, PC_DENSES))
    dense_fill_kernel(const pc_hashed s, uint32_t crowd_blocks) {
    enum { WIDTH = FOUR || PILLARS ? 4 : PC_COLUMNS_AT_ONCE };
    __shared__ __align__(16) float values[DENSE_WARPS * DENSE_ROOM * WIDTH];
    __shared__ uint32_t rows[FOUR ? 1 : DENSE_WARPS * DENSE_ROOM];
    __shared__ uint32_t before[PC_BEGINS];
    __shared__ float means[DENSE_WARPS][32 / LANES * 3];
    __shared__ selection selections[DENSE_WARPS];
    __shared__ large_crowds large;
    const grid_factors factors = factors_of(s);
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, room = pc_share_room(s.rows),
                   blocks = gridDim.x - crowd_blocks, block = blockIdx.x - crowd_blocks,
                   step = blocks * (PC_DENSE_THREADS / LANES);
    const bool first = blockIdx.x < crowd_blocks;
    const warp_room mine = {values + warp * DENSE_ROOM * WIDTH, FOUR ? rows : rows + warp * DENSE_ROOM, means[warp],
                            WIDTH},
                    all = {values, rows, means[0], WIDTH};
    uint32_t entry = first ? ~0u : (block * PC_DENSE_THREADS + threadIdx.x) / LANES;
    block_sums sums = {0, 0, 0, 0};
    if (threadIdx.x == 0) {
        large.count = 0;
    }
    pc_wait_for_last();
    const pc_beginnings *begins = pc_begins_of(s);
    found_cell f = load_found<LANES>(s, entry, room);
    const some_counts counts = load_counts(s);
    const uint32_t crowds = begins->crowded[0], end = pc_warp_max(begins->found[lane % PC_SHARES][0]) * PC_SHARES,
                   found = sum_counts(counts, before);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        s.counters->found = found;
    }
    for (entry -= lane / LANES; entry < end; entry += step) { /* that of the warp's first voxel */
        fill_found<LANES, PILLARS, FOUR>(s, factors, f, before, mine, &sums);
        if (entry + step < end) {
            f = load_found<LANES>(s, entry + step + lane / LANES, room);
        }
    }
    fill_crowds<PILLARS, FOUR>(s, factors,
                         warp * (first ? crowd_blocks : blocks) +
                             (first ? blockIdx.x : crowd_blocks * DENSE_WARPS + blocks - 1 - block),
                         gridDim.x * DENSE_WARPS, crowds, before, &selections[warp], mine, &large, &sums);
    __syncthreads();
    fill_large_crowds<PILLARS, FOUR>(s, factors, before, selections, all, large, &sums);
    add_up<PC_DENSE_THREADS>(pc_sums_of(s), sums);
    pc_clean_sums(s);
    clean_beginnings(s);
}

#endif
