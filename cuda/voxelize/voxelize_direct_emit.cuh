/* direct_emit of voxelize_direct.cuh. ALIGNED: records have four columns and are loaded as float4. */
#ifndef PC_VOXELIZE_DIRECT_EMIT_CUH
#define PC_VOXELIZE_DIRECT_EMIT_CUH

#include "voxelize_direct.cuh"

enum {
    LANE_RECORDS = 4, /* records that a lane loads */
    WARP_RECORDS = 32 * LANE_RECORDS,
};

/* ---- features --------------------------------------------------------------------------------------------------- */

/* value / divisor, both below 2^22: the rounding error of the product is below value / 2^32, and the quotient at most 1
 * too high. */
__device__ static uint32_t divide_cell(uint32_t value, uint32_t divisor, uint32_t factor) {
    const uint32_t quotient = divide(value, divisor, factor);
    return quotient * divisor > value ? quotient - 1 : quotient;
}

static_assert(PC_BUCKET_SLOT_BITS <= 22, "see above");

/* Of the divisions by lengths of the grid. */
typedef struct grid_factors {
    uint32_t x, y;
} grid_factors;

__device__ static grid_factors factors_of(const pc_voxelize_params &s) {
    return grid_factors{factor_of(pc_grid_cells(s, 0)), factor_of(pc_grid_cells(s, 1))};
}

/* Loads columns `from` and on of the records, to `stride` values each; by LANES lanes. */
template <int LANES>
__device__ static void load_columns(const pc_voxelize_params &s, const uint32_t *rows, int kept, int from, int width,
                                    int stride, float *values) {
    for (int k = (int)threadIdx.x % LANES; k < kept; k += LANES) {
        const float *record = s.data + (size_t)rows[k] * (size_t)s.columns + from;
#pragma unroll 4
        for (int c = 0; c < width; c++) {
            values[k * stride + c] = record[c];
        }
    }
}

/* Writes the records, and zeros up to P; columns `from` to `from + width` of them are in `values`. */
template <int LANES, bool ALIGNED>
__device__ static void write_points(const pc_voxelize_params &s, uint32_t id, int kept, const float *values, int from,
                                    int width) {
    const int lane = (int)threadIdx.x % LANES;
    const size_t first = (size_t)id * (size_t)s.kept;
    if (ALIGNED) {
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

/* POINTS or MEAN features, PC_COLUMN_BATCH columns at a time; all lanes of the warp call it, LANES per voxel. */
template <int LANES, bool ALIGNED>
__device__ static void write_arrays(const pc_voxelize_params &s, uint32_t id, int kept, const uint32_t *rows,
                                    float *values) {
    const int columns = ALIGNED ? 4 : s.columns;
#pragma unroll 1
    for (int from = 0; from < columns; from += PC_COLUMN_BATCH) {
        const int width = ALIGNED ? 4 : min(columns - from, (int)PC_COLUMN_BATCH);
        if (!ALIGNED) {
            __syncwarp();
            load_columns<LANES>(s, rows, kept, from, width, width, values);
            __syncwarp();
        }
        if (kept > 0 && s.kind == PCGPU_FEATURES_POINTS) {
            write_points<LANES, ALIGNED>(s, id, kept, values, from, width);
        }
        for (int c = (int)threadIdx.x % LANES; kept > 0 && s.means && c < width; c += LANES) {
            s.means[(size_t)id * (size_t)columns + (size_t)(from + c)] =
                pc_voxel_mean(values, width, NULL, kept, c, false);
        }
    }
}

/* PILLAR features. mean: three values in shared memory. */
template <int LANES, bool ALIGNED>
__device__ static void write_pillar(const pc_voxelize_params &s, uint32_t id, const int32_t *coords, int kept,
                                    const uint32_t *rows, float *values, float *mean) {
    enum { PAIRS = PC_PILLAR_COLUMNS / 2, STRIDE = 4 };
    const int lane = (int)threadIdx.x % LANES, columns = ALIGNED ? 4 : s.columns;
    float2 *to = (float2 *)s.features + (size_t)id * (size_t)s.kept * PAIRS;
    if (!ALIGNED) {
        load_columns<LANES>(s, rows, kept, 0, min(columns, (int)STRIDE), STRIDE, values);
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

/* The result of a voxel whose rows are in order, or nothing if kept = 0; all lanes of the warp call it, LANES per
 * voxel. ALIGNED: `values` has the records. */
template <int LANES, bool PILLARS, bool ALIGNED>
__device__ static void write_features(const pc_voxelize_params &s, const grid_factors &factors, uint32_t id,
                                      uint32_t cell, int kept, const uint32_t *rows, float *values, float *mean) {
    const uint32_t line = divide_cell(cell, pc_grid_cells(s, 0), factors.x),
                   plane = divide_cell(line, pc_grid_cells(s, 1), factors.y);
    const int32_t coords[4] = {0, (int32_t)plane, (int32_t)(line - plane * pc_grid_cells(s, 1)),
                               (int32_t)(cell - line * pc_grid_cells(s, 0))};
    if (PILLARS) {
        write_pillar<LANES, ALIGNED>(s, id, coords, kept, rows, values, mean);
    } else {
        write_arrays<LANES, ALIGNED>(s, id, kept, rows, values);
    }
    if (kept > 0 && threadIdx.x % LANES == LANES - 1) {
        ((int4 *)s.coords)[id] = make_int4(0, coords[1], coords[2], coords[3]);
        s.counts[id] = kept;
    }
}

/* ---- cells with at most P records ------------------------------------------------------------------------------- */

/* Per lane. */
typedef struct occupied_cell {
    uint32_t *at;  /* its entry in the list */
    uint32_t cell; /* PC_NO_KEY: none */
    uint2 counts;  /* pc_cell */
    uint4 rows;    /* its part of the cell's records, some of which may not exist */
} occupied_cell;

template <int LANES>
__device__ static occupied_cell load_cell(const pc_voxelize_params &s, uint32_t entry, uint32_t capacity) {
    const uint32_t part = threadIdx.x % LANES, capacity_of_cell = pc_cell_capacity(s.kept);
    occupied_cell f = {s.occupied + entry % PC_PARTITIONS * capacity + entry / PC_PARTITIONS, PC_NO_KEY,
                       make_uint2(~0u, 0), make_uint4(0, 0, 0, 0)};
    if (entry / PC_PARTITIONS < capacity) {
        f.cell = *f.at;
    }
    if (f.cell != PC_NO_KEY) {
        f.counts = *(const uint2 *)&s.cells[f.cell];
        if (part * LANE_RECORDS < capacity_of_cell) {
            f.rows = *(const uint4 *)(s.cell_records + (size_t)f.cell * capacity_of_cell + part * LANE_RECORDS);
        }
    }
    return f;
}

/* Shared memory of a warp. */
typedef struct warp_memory {
    float *values;  /* WARP_RECORDS x width */
    uint32_t *rows; /* WARP_RECORDS; unused with ALIGNED */
    float *means;   /* 3 per voxel */
    int width;
} warp_memory;

/* Emits the voxels of a warp, LANES lanes per voxel. Overfull cells are skipped; another warp may have cleared them. A
 * lane has every LANES-th record, so that most iterations over a lane's records are skipped if all voxels are small. */
template <int LANES, bool PILLARS, bool ALIGNED>
__device__ static void emit_cells(const pc_voxelize_params &s, const grid_factors &factors, const occupied_cell &f,
                                  const uint32_t *before, const warp_memory &m, block_sums *sums) {
    const uint32_t part = threadIdx.x % LANES, from = part * LANE_RECORDS;
    const bool fits = f.counts.x < (uint32_t)s.kept;
    const uint32_t points = fits ? f.counts.x + 1 : 0, first = fits ? f.counts.y : 0, most = pc_warp_max(points);
    const uint32_t own = threadIdx.x % 32 / LANES * (LANES * LANE_RECORDS);
    float *values = m.values + own * m.width;
    float4 record[LANE_RECORDS];
    uint32_t *rows = (uint32_t *)values; /* in the same memory, until the values are loaded */
    uint32_t *sorted = m.rows + own, row[LANE_RECORDS];
    int rank[LANE_RECORDS] = {};
    const near_bits<LANES> bits = load_bits<LANES>(s, first);
    *(uint4 *)(rows + from) =
        make_uint4(from < points ? f.rows.x : PC_NO_RECORD, from + 1 < points ? f.rows.y : PC_NO_RECORD,
                   from + 2 < points ? f.rows.z : PC_NO_RECORD, from + 3 < points ? f.rows.w : PC_NO_RECORD);
    __syncwarp();
#pragma unroll
    for (uint32_t k = 0; k < LANE_RECORDS; k++) {
        row[k] = PC_NO_RECORD;
        record[k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (k * LANES < most) {
            row[k] = rows[part + k * LANES];
            if (ALIGNED && row[k] != PC_NO_RECORD) {
                record[k] = ((const float4 *)s.data)[row[k]];
            }
        }
    }
#pragma unroll
    for (uint32_t k = 0; k < LANE_RECORDS; k++) {
        for (uint32_t i = 0; i < most && k * LANES < most; i += 4) {
            const uint4 other = *(const uint4 *)(rows + i);
            rank[k] += (other.x < row[k]) + (other.y < row[k]) + (other.z < row[k]) + (other.w < row[k]);
        }
    }
    const uint32_t id = id_at<LANES>(bits, before, first);
    const bool in_result = id < s.max_voxels;
    __syncwarp();
#pragma unroll
    for (uint32_t k = 0; k < LANE_RECORDS; k++) {
        if (k * LANES < most && row[k] != PC_NO_RECORD) {
            if (ALIGNED) {
                ((float4 *)values)[rank[k]] = record[k];
            } else {
                sorted[rank[k]] = row[k];
            }
            if (in_result) {
                s.point_voxel[row[k]] = (int32_t)id;
            }
        }
    }
    __syncwarp();
    write_features<LANES, PILLARS, ALIGNED>(s, factors, id, f.cell, in_result ? (int)points : 0, sorted, values,
                                            m.means + threadIdx.x % 32 / LANES * 3);
    if (fits && part == 0) {
        *(uint2 *)&s.cells[f.cell] = make_uint2(~0u, ~0u);
        count_voxel(s, id, points, sums);
    }
    if (f.cell != PC_NO_KEY && part == 1) {
        *f.at = PC_NO_KEY;
    }
    __syncwarp();
}

/* ---- overfull cells --------------------------------------------------------------------------------------------- */

/* Overfull cells that are set aside for the whole block. */
typedef struct large_overfull {
    enum { MOST = PC_VOXELIZE_LARGE_OVERFULL }; /* more are processed by a warp each */
    uint32_t count, cell[MOST];
} large_overfull;

/* Emits and clears an overfull cell whose kept records are in order; by a warp. */
template <bool PILLARS, bool ALIGNED>
__device__ static void emit_overfull_cell(const pc_voxelize_params &s, const grid_factors &factors, uint32_t cell,
                                          const uint2 &counts, const uint32_t *before, const uint32_t *sorted,
                                          const warp_memory &m, block_sums *sums) {
    const uint32_t id = id_at<32>(load_bits<32>(s, counts.y), before, counts.y);
    for (int k = (int)threadIdx.x % 32; id < s.max_voxels && k < s.kept; k += 32) {
        const uint32_t row = sorted[k];
        if (ALIGNED) {
            ((float4 *)m.values)[k] = ((const float4 *)s.data)[row];
        }
        s.point_voxel[row] = (int32_t)id;
    }
    __syncwarp();
    write_features<32, PILLARS, ALIGNED>(s, factors, id, cell, id < s.max_voxels ? s.kept : 0, sorted, m.values,
                                         m.means);
    __syncwarp();
    if (threadIdx.x % 32 == 0) {
        *(uint2 *)&s.cells[cell] = make_uint2(~0u, ~0u);
        count_voxel(s, id, counts.x + 1, sums);
    }
}

/* Overfull cells `i` and every step-th on; by a warp. */
template <bool PILLARS, bool ALIGNED>
__device__ static void emit_overfull(const pc_voxelize_params &s, const grid_factors &factors, uint32_t i,
                                     uint32_t step, uint32_t overfull_count, const uint32_t *before,
                                     selection *selected, const warp_memory &m, large_overfull *large,
                                     block_sums *sums) {
    for (; i < overfull_count; i += step) {
        const uint32_t cell = s.overfull[i];
        const uint2 counts = *(const uint2 *)&s.cells[cell];
        const uint32_t overflow = counts.x + 1 - (uint32_t)s.kept;
        if (overflow >= BLOCK_OVERFLOW) {
            uint32_t offset = 0;
            if (threadIdx.x % 32 == 0) {
                offset = atomicAdd(&large->count, 1);
                if (offset < large_overfull::MOST) {
                    large->cell[offset] = cell;
                }
            }
            if (__shfl_sync(PC_ALL_LANES, offset, 0) < large_overfull::MOST) {
                continue;
            }
        }
        load_first(s, cell, selected->unsorted);
        select_by_warp<PC_BUCKET_RECORDS, PC_BUCKET_RECORDS>(cell_overflow{&s, cell, 0}, overflow, s.kept,
                                                             selected->unsorted, selected->sorted);
        emit_overfull_cell<PILLARS, ALIGNED>(s, factors, cell, counts, before, selected->sorted, m, sums);
    }
}

/* The same for large ones, by the block, with the shared memory of all warps. */
template <bool PILLARS, bool ALIGNED>
__device__ static void emit_large_overfull(const pc_voxelize_params &s, const grid_factors &factors,
                                           const uint32_t *before, selection *selected, const warp_memory &m,
                                           const large_overfull &large, block_sums *sums) {
    for (uint32_t i = 0; i < min(large.count, (uint32_t)large_overfull::MOST); i++) {
        const uint32_t cell = large.cell[i];
        const uint2 counts = *(const uint2 *)&s.cells[cell];
        __syncthreads();
        if (threadIdx.x < 32) {
            load_first(s, cell, (uint32_t *)m.values);
        }
        select_by_block<DIRECT_WARPS, PC_BUCKET_RECORDS>(cell_overflow{&s, cell, 0}, counts.x + 1 - (uint32_t)s.kept,
                                                         s.kept, (uint32_t *)m.values, selected->sorted);
        if (threadIdx.x < 32) {
            emit_overfull_cell<PILLARS, ALIGNED>(s, factors, cell, counts, before, selected->sorted, m, sums);
        }
        __syncthreads();
    }
}

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

/* Clears what the next call uses. */
__device__ static void clean_heads(const pc_voxelize_params &s) {
    uint32_t *words = (uint32_t *)&s.heads[1 - s.epoch % 2];
    for (uint32_t i = blockIdx.x * PC_DIRECT_THREADS + threadIdx.x; i < sizeof(pc_heads) / sizeof(uint32_t);
         i += gridDim.x * PC_DIRECT_THREADS) {
        words[i] = 0;
    }
}

/* The first overfull_blocks blocks begin with overfull cells. If these are more, the other blocks take the rest,
 * beginning with the last block, which has the least other work. */
template <int LANES, bool PILLARS, bool ALIGNED>
__global__ static void __launch_bounds__(PC_DIRECT_THREADS, PC_RESIDENT(PC_DIRECT_THREADS, PC_DIRECT_BLOCKS))
    direct_emit_kernel(const pc_voxelize_params s, uint32_t overfull_blocks) {
    enum { WIDTH = ALIGNED || PILLARS ? 4 : PC_COLUMN_BATCH };
    __shared__ __align__(16) float values[DIRECT_WARPS * WARP_RECORDS * WIDTH];
    __shared__ uint32_t rows[ALIGNED ? 1 : DIRECT_WARPS * WARP_RECORDS];
    __shared__ uint32_t before[PC_HEAD_COUNTS];
    __shared__ float means[DIRECT_WARPS][32 / LANES * 3];
    __shared__ selection selections[DIRECT_WARPS];
    __shared__ large_overfull large;
    const grid_factors factors = factors_of(s);
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, capacity = pc_partition_capacity(s.rows),
                   blocks = gridDim.x - overfull_blocks, block = blockIdx.x - overfull_blocks,
                   step = blocks * (PC_DIRECT_THREADS / LANES);
    const bool first = blockIdx.x < overfull_blocks;
    const warp_memory mine = {values + warp * WARP_RECORDS * WIDTH, ALIGNED ? rows : rows + warp * WARP_RECORDS,
                              means[warp], WIDTH},
                      all = {values, rows, means[0], WIDTH};
    uint32_t entry = first ? ~0u : (block * PC_DIRECT_THREADS + threadIdx.x) / LANES;
    block_sums sums = {0, 0, 0, 0};
    if (threadIdx.x == 0) {
        large.count = 0;
    }
    pc_wait_for_last();
    const pc_heads *heads = pc_heads_of(s);
    occupied_cell f = load_cell<LANES>(s, entry, capacity);
    const some_counts counts = load_counts(s);
    const uint32_t overfull_count = heads->overfull[0],
                   end = pc_warp_max(heads->occupied[lane % PC_PARTITIONS][0]) * PC_PARTITIONS,
                   found = sum_counts(counts, before);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        s.counters->found = found;
    }
    for (entry -= lane / LANES; entry < end; entry += step) { /* of the warp's first voxel */
        emit_cells<LANES, PILLARS, ALIGNED>(s, factors, f, before, mine, &sums);
        if (entry + step < end) {
            f = load_cell<LANES>(s, entry + step + lane / LANES, capacity);
        }
    }
    emit_overfull<PILLARS, ALIGNED>(s, factors,
                                    warp * (first ? overfull_blocks : blocks) +
                                        (first ? blockIdx.x : overfull_blocks * DIRECT_WARPS + blocks - 1 - block),
                                    gridDim.x * DIRECT_WARPS, overfull_count, before, &selections[warp], mine, &large,
                                    &sums);
    __syncthreads();
    emit_large_overfull<PILLARS, ALIGNED>(s, factors, before, selections, all, large, &sums);
    add_block_sums<PC_DIRECT_THREADS>(pc_sums_of(s), sums);
    pc_clean_sums(s);
    clean_heads(s);
}

#endif
