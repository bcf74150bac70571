/* The last kernel of voxelize_hashed.cuh: features. */
#ifndef PC_VOXELIZE_FILL_CUH
#define PC_VOXELIZE_FILL_CUH

#include "voxelize_select.cuh"

/* ---- features --------------------------------------------------------------------------------------------------- */

/* Where a thread of the two functions below is: a place of a voxel, and what is there. */
typedef struct spot {
    uint32_t row;    /* PC_NO_ROW where there is none */
    uint32_t number; /* of the voxel; where that is not in the result, PC_NO_ROW */
    uint32_t place;
} spot;

__device__ static spot spot_of(const pc_hashed &s, const chunk &c, uint32_t i, uint32_t factor) {
    spot at = {PC_NO_ROW, PC_NO_ROW, 0};
    if (i < (uint32_t)(c.voxels * s.kept)) {
        const uint32_t v = divide(i, (uint32_t)s.kept, factor);
        const int kept = c.kept[v];
        at.place = i - v * (uint32_t)s.kept;
        at.number = kept > 0 ? number_of(c, (int)v) : PC_NO_ROW;
        at.row = (int)at.place < kept ? c.rows[i] : PC_NO_ROW;
    }
    return at;
}

/* Brings the values of the kept records into shared memory, and, where they are the features, to the result; tells the
 * records of their voxels. A thread a record or a place for one, several at a time. */
__device__ static void load_records(const pc_hashed &s, const chunk &c) {
    enum { TOGETHER = 4 };
    const uint32_t factor = factor_of((uint32_t)s.kept), places = (uint32_t)(c.voxels * s.kept);
    for (uint32_t first = threadIdx.x; first < places; first += TOGETHER * PC_FILL_THREADS) {
        float4 record[TOGETHER];
        spot at[TOGETHER];
#pragma unroll
        for (uint32_t k = 0; k < TOGETHER; k++) {
            at[k] = spot_of(s, c, first + k * PC_FILL_THREADS, factor);
            record[k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (at[k].row != PC_NO_ROW) {
                record[k] = ((const float4 *)s.data)[at[k].row];
            }
        }
#pragma unroll
        for (uint32_t k = 0; k < TOGETHER; k++) {
            if (at[k].number != PC_NO_ROW) {
                ((float4 *)c.values)[first + k * PC_FILL_THREADS] = record[k];
                if (s.kind == PCGPU_FEATURES_POINTS) {
                    ((float4 *)s.features)[(size_t)at[k].number * (size_t)s.kept + at[k].place] = record[k];
                }
            }
            if (s.point_voxel && at[k].row != PC_NO_ROW) {
                s.point_voxel[at[k].row] = (int32_t)at[k].number;
            }
        }
    }
}

/* The same of records that are no float4; a thread a value. */
__device__ static void load_values(const pc_hashed &s, const chunk &c) {
    const uint32_t factor = factor_of((uint32_t)s.kept), width = (uint32_t)s.columns, width_factor = factor_of(width);
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < (uint32_t)(c.voxels * s.kept) * width; i += PC_FILL_THREADS) {
        const uint32_t record = divide(i, width, width_factor), k = i - record * width;
        const spot at = spot_of(s, c, record, factor);
        const float value = at.row != PC_NO_ROW ? s.data[(size_t)at.row * (size_t)width + k] : 0.0f;
        c.values[i] = value;
        if (s.kind == PCGPU_FEATURES_POINTS && at.number != PC_NO_ROW) {
            s.features[((size_t)at.number * (size_t)s.kept + at.place) * width + k] = value;
        }
        if (s.point_voxel && k == 0 && at.row != PC_NO_ROW) {
            s.point_voxel[at.row] = (int32_t)at.number;
        }
    }
}

__device__ static const float *values_of(const pc_hashed &s, const chunk &c, int voxel) {
    return c.values + voxel * s.kept * s.columns;
}

/* Means of the first `width` columns, by number or by place in the chunk; a thread a value. */
__device__ static void fill_means(const pc_hashed &s, const chunk &c, int width, float *by_number, float *by_place) {
    const uint32_t factor = factor_of((uint32_t)width);
    for (int i = (int)threadIdx.x; i < c.voxels * width; i += PC_FILL_THREADS) {
        const int v = (int)divide((uint32_t)i, (uint32_t)width, factor), k = i - v * width;
        if (c.kept[v] > 0) {
            const float mean = pc_voxel_mean(values_of(s, c, v), s.columns, NULL, c.kept[v], k, false);
            if (by_place) {
                by_place[i] = mean;
            } else {
                by_number[(size_t)number_of(c, v) * (size_t)width + (size_t)k] = mean;
            }
        }
    }
}

/* A thread two values, which are of one record. */
__device__ static void fill_pillars(const pc_hashed &s, const chunk &c) {
    enum { PAIRS = PC_PILLAR_COLUMNS / 2 };
    const uint32_t p = (uint32_t)s.kept, factor = factor_of(p);
#pragma unroll 2
    for (uint32_t i = threadIdx.x; i < (uint32_t)c.voxels * p * PAIRS; i += PC_FILL_THREADS) {
        const uint32_t row = i / PAIRS, k = 2 * (i - row * PAIRS), v = divide(row, p, factor), place = row - v * p;
        const int kept = c.kept[v];
        if (kept > 0) {
            const size_t number = number_of(c, (int)v);
            float2 values = make_float2(0.0f, 0.0f);
            if ((int)place < kept) {
                const float *record = values_of(s, c, (int)v) + place * (uint32_t)s.columns, *mean = c.means + 3 * v;
                const int32_t *coords = s.coords + 4 * number;
                values.x = pc_pillar_value(&s.grid, record, s.columns, mean, coords, (int)k);
                values.y = pc_pillar_value(&s.grid, record, s.columns, mean, coords, (int)k + 1);
            }
            ((float2 *)s.features)[(number * p + place) * PAIRS + k / 2] = values;
        }
    }
}

/* One record of each voxel; a thread a voxel. */
__device__ static void fill_selected(const pc_hashed &s, const chunk &c) {
    for (int v = (int)threadIdx.x; v < c.voxels; v += PC_FILL_THREADS) {
        if (c.kept[v] > 0) {
            const float *values = values_of(s, c, v);
            const int place = s.kind == PCGPU_FEATURES_NEAREST
                                  ? pc_voxel_nearest(values, s.columns, NULL, c.kept[v], c.means + 3 * v)
                                  : 0;
            const size_t number = number_of(c, v);
            s.selected[number] = (int32_t)c.rows[v * s.kept + place];
            for (int k = 0; k < s.columns; k++) {
                s.features[number * (size_t)s.columns + (size_t)k] = values[place * s.columns + k];
            }
        }
    }
}

__device__ static void fill_features(const pc_hashed &s, const chunk &c) {
    if (s.aligned) {
        load_records(s, c);
    } else {
        load_values(s, c);
    }
    __syncthreads();
    for (int v = PC_FILL_THREADS - 1 - (int)threadIdx.x; v < c.voxels; v += PC_FILL_THREADS) {
        if (c.kept[v] > 0) { /* by the last threads: the first ones have the means */
            pc_write_coords(s, number_of(c, v), values_of(s, c, v));
        }
    }
    if (s.means) {
        fill_means(s, c, s.columns, s.means, NULL);
    }
    if (s.kind == PCGPU_FEATURES_PILLAR || s.kind == PCGPU_FEATURES_NEAREST) {
        fill_means(s, c, 3, NULL, c.means);
        __syncthreads();
    }
    if (s.kind == PCGPU_FEATURES_PILLAR) {
        fill_pillars(s, c);
    } else if (s.kind == PCGPU_FEATURES_NEAREST || s.kind == PCGPU_FEATURES_FIRST) {
        fill_selected(s, c);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

/* memory: shared, for the values of the kept records. MANY: after insert_many. */
template <bool MANY> __device__ static void fill_chunks(const pc_hashed &s, int most, char *memory) {
    enum { WARPS = PC_FILL_THREADS / 32, UNSORTED = MANY ? SMALL_ONES * 32 : PC_MOST_KEPT + 4 };
    __shared__ uint32_t rows[PC_FILL_ROWS];
    __shared__ __align__(16) uint32_t unsorted[WARPS * UNSORTED];
    __shared__ int16_t kept[PC_FILL_THREADS];
    __shared__ float means[3 * PC_FILL_THREADS];
    __shared__ large list[PC_FILL_THREADS];
    __shared__ int count[2];
    pc_wait_for_last();
    const uint32_t found = s.counters->found, stride = STRIPE * gridDim.x;
    pc_numbered mine = {}; /* of the first chunk, whether there is one or not, so as not to wait for `found` first */
    read_voxel(s, STRIPE * blockIdx.x + threadIdx.x / STRIPE * stride + threadIdx.x % STRIPE, &mine);
    const int share = (int)((found + stride - 1) / stride) * STRIPE, warp = (int)threadIdx.x / 32;
    for (int from = 0; from < share; from += most) {
        const chunk c = {STRIPE * blockIdx.x + (uint32_t)(from / STRIPE) * stride,
                         stride,
                         min(most, share - from),
                         kept,
                         rows,
                         (float *)memory,
                         means};
        if (threadIdx.x < 2) {
            count[threadIdx.x] = 0;
        }
        __syncthreads();
        if (from > 0) {
            read_voxel(s, number_of(c, (int)threadIdx.x), &mine);
        }
        take_voxels<MANY>(s, c, found, mine, list, count);
        __syncthreads();
        for (int i = warp * (MANY ? SMALL_ONES : 1); i < count[0]; i += WARPS * (MANY ? SMALL_ONES : 1)) {
            if (MANY) {
                collect_together(s, c, list, i, count[0], unsorted + warp * UNSORTED);
            } else {
                collect<AT_ONCE>(s, c, list[i], unsorted + warp * UNSORTED);
            }
        }
        for (int i = warp; MANY && i < count[1]; i += WARPS) {
            const large of = list[PC_FILL_THREADS - 1 - i];
            if (of.late < CROWD) {
                collect<AT_ONCE>(s, c, of, unsorted + warp * UNSORTED);
            }
        }
        for (int i = 0; i < count[1]; i++) {
            if (MANY && list[PC_FILL_THREADS - 1 - i].late < CROWD) {
                continue;
            }
            __syncthreads();
            collect_crowded<WARPS, AT_ONCE>(s, c, list[PC_FILL_THREADS - 1 - i], unsorted);
        }
        __syncthreads();
        fill_features(s, c);
        __syncthreads();
    }
    pc_clean(s);
}

__global__ static void __launch_bounds__(PC_FILL_THREADS, PC_RESIDENT(PC_FILL_THREADS, PC_FILLS))
    fill_kernel(const pc_hashed s, int most) {
    extern __shared__ __align__(16) char memory[];
    fill_chunks<false>(s, most, memory);
}

__global__ static void __launch_bounds__(PC_FILL_THREADS, PC_RESIDENT(PC_FILL_THREADS, PC_FILLS))
    fill_many_kernel(const pc_hashed s, int most) {
    extern __shared__ __align__(16) char memory[];
    fill_chunks<true>(s, most, memory);
}

#endif
