/* The features of voxels with max_points: emit of voxelize_hash.cuh. */
#ifndef PC_VOXELIZE_EMIT_CUH
#define PC_VOXELIZE_EMIT_CUH

#include "voxelize_select.cuh"

/* One of the P entries of a voxel in a chunk. */
typedef struct entry {
    uint32_t row; /* PC_NO_RECORD for padding */
    uint32_t id;  /* of the voxel; PC_NO_RECORD if it is not in the result */
    uint32_t offset;
} entry;

__device__ static entry entry_of(const pc_voxelize_params &s, const chunk &c, uint32_t i, uint32_t factor) {
    entry at = {PC_NO_RECORD, PC_NO_RECORD, 0};
    if (i < (uint32_t)(c.voxels * s.kept)) {
        const uint32_t v = divide(i, (uint32_t)s.kept, factor);
        const int kept = c.kept[v];
        at.offset = i - v * (uint32_t)s.kept;
        at.id = kept > 0 ? id_of(c, (int)v) : PC_NO_RECORD;
        at.row = (int)at.offset < kept ? c.rows[i] : PC_NO_RECORD;
    }
    return at;
}

/* Loads the kept records into shared memory, writes POINTS features and point_voxel; a thread per entry. */
__device__ static void load_records(const pc_voxelize_params &s, const chunk &c) {
    enum { BATCH = 4 };
    const uint32_t factor = factor_of((uint32_t)s.kept), entries = (uint32_t)(c.voxels * s.kept);
    for (uint32_t first = threadIdx.x; first < entries; first += BATCH * PC_EMIT_THREADS) {
        float4 record[BATCH];
        entry at[BATCH];
#pragma unroll
        for (uint32_t k = 0; k < BATCH; k++) {
            at[k] = entry_of(s, c, first + k * PC_EMIT_THREADS, factor);
            record[k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (at[k].row != PC_NO_RECORD) {
                record[k] = ((const float4 *)s.data)[at[k].row];
            }
        }
#pragma unroll
        for (uint32_t k = 0; k < BATCH; k++) {
            if (at[k].id != PC_NO_RECORD) {
                ((float4 *)c.values)[first + k * PC_EMIT_THREADS] = record[k];
                if (s.kind == PCGPU_FEATURES_POINTS) {
                    ((float4 *)s.features)[(size_t)at[k].id * (size_t)s.kept + at[k].offset] = record[k];
                }
            }
            if (s.point_voxel && at[k].row != PC_NO_RECORD) {
                s.point_voxel[at[k].row] = (int32_t)at[k].id;
            }
        }
    }
}

/* The same for records that are no float4; a thread per value. */
__device__ static void load_values(const pc_voxelize_params &s, const chunk &c) {
    const uint32_t factor = factor_of((uint32_t)s.kept), width = (uint32_t)s.columns, width_factor = factor_of(width);
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < (uint32_t)(c.voxels * s.kept) * width; i += PC_EMIT_THREADS) {
        const uint32_t record = divide(i, width, width_factor), k = i - record * width;
        const entry at = entry_of(s, c, record, factor);
        const float value = at.row != PC_NO_RECORD ? s.data[(size_t)at.row * (size_t)width + k] : 0.0f;
        c.values[i] = value;
        if (s.kind == PCGPU_FEATURES_POINTS && at.id != PC_NO_RECORD) {
            s.features[((size_t)at.id * (size_t)s.kept + at.offset) * width + k] = value;
        }
        if (s.point_voxel && k == 0 && at.row != PC_NO_RECORD) {
            s.point_voxel[at.row] = (int32_t)at.id;
        }
    }
}

__device__ static const float *values_of(const pc_voxelize_params &s, const chunk &c, int voxel) {
    return c.values + voxel * s.kept * s.columns;
}

/* Means of the first `width` columns, to the result or to shared memory; a thread per value. */
__device__ static void write_means(const pc_voxelize_params &s, const chunk &c, int width, float *by_id,
                                   float *in_chunk) {
    const uint32_t factor = factor_of((uint32_t)width);
    for (int i = (int)threadIdx.x; i < c.voxels * width; i += PC_EMIT_THREADS) {
        const int v = (int)divide((uint32_t)i, (uint32_t)width, factor), k = i - v * width;
        if (c.kept[v] > 0) {
            const float mean = pc_voxel_mean(values_of(s, c, v), s.columns, NULL, c.kept[v], k, false);
            if (in_chunk) {
                in_chunk[i] = mean;
            } else {
                by_id[(size_t)id_of(c, v) * (size_t)width + (size_t)k] = mean;
            }
        }
    }
}

/* A thread per two values of a record. */
__device__ static void write_pillars(const pc_voxelize_params &s, const chunk &c) {
    enum { PAIRS = PC_PILLAR_COLUMNS / 2 };
    const uint32_t p = (uint32_t)s.kept, factor = factor_of(p);
#pragma unroll 2
    for (uint32_t i = threadIdx.x; i < (uint32_t)c.voxels * p * PAIRS; i += PC_EMIT_THREADS) {
        const uint32_t row = i / PAIRS, k = 2 * (i - row * PAIRS), v = divide(row, p, factor), offset = row - v * p;
        const int kept = c.kept[v];
        if (kept > 0) {
            const size_t id = id_of(c, (int)v);
            float2 values = make_float2(0.0f, 0.0f);
            if ((int)offset < kept) {
                const float *record = values_of(s, c, (int)v) + offset * (uint32_t)s.columns, *mean = c.means + 3 * v;
                const int32_t *coords = s.coords + 4 * id;
                values.x = pc_pillar_value(&s.grid, record, s.columns, mean, coords, (int)k);
                values.y = pc_pillar_value(&s.grid, record, s.columns, mean, coords, (int)k + 1);
            }
            ((float2 *)s.features)[(id * p + offset) * PAIRS + k / 2] = values;
        }
    }
}

/* FIRST and NEAREST; a thread per voxel. */
__device__ static void write_selected(const pc_voxelize_params &s, const chunk &c) {
    for (int v = (int)threadIdx.x; v < c.voxels; v += PC_EMIT_THREADS) {
        if (c.kept[v] > 0) {
            const float *values = values_of(s, c, v);
            const int offset = s.kind == PCGPU_FEATURES_NEAREST
                                   ? pc_voxel_nearest(values, s.columns, NULL, c.kept[v], c.means + 3 * v)
                                   : 0;
            const size_t id = id_of(c, v);
            s.selected[id] = (int32_t)c.rows[v * s.kept + offset];
            for (int k = 0; k < s.columns; k++) {
                s.features[id * (size_t)s.columns + (size_t)k] = values[offset * s.columns + k];
            }
        }
    }
}

__device__ static void write_chunk(const pc_voxelize_params &s, const chunk &c) {
    if (s.aligned) {
        load_records(s, c);
    } else {
        load_values(s, c);
    }
    __syncthreads();
    for (int v = PC_EMIT_THREADS - 1 - (int)threadIdx.x; v < c.voxels; v += PC_EMIT_THREADS) {
        if (c.kept[v] > 0) { /* from the last thread on: the first ones have the means */
            pc_write_coords(s, id_of(c, v), values_of(s, c, v));
        }
    }
    if (s.means) {
        write_means(s, c, s.columns, s.means, NULL);
    }
    if (s.kind == PCGPU_FEATURES_PILLAR || s.kind == PCGPU_FEATURES_NEAREST) {
        write_means(s, c, 3, NULL, c.means);
        __syncthreads();
    }
    if (s.kind == PCGPU_FEATURES_PILLAR) {
        write_pillars(s, c);
    } else if (s.kind == PCGPU_FEATURES_NEAREST || s.kind == PCGPU_FEATURES_FIRST) {
        write_selected(s, c);
    }
}

__global__ static void __launch_bounds__(PC_EMIT_THREADS, PC_RESIDENT(PC_EMIT_THREADS, PC_EMIT_BLOCKS))
    emit_kernel(const pc_voxelize_params s, int chunk_voxels) {
    enum { WARPS = PC_EMIT_THREADS / 32, UNSORTED = PC_MAX_POINTS + 4 };
    extern __shared__ __align__(16) char memory[]; /* columns of kept records */
    __shared__ uint32_t rows[PC_EMIT_RECORDS];
    __shared__ __align__(16) uint32_t unsorted[WARPS * UNSORTED];
    __shared__ int16_t kept[PC_EMIT_THREADS];
    __shared__ float means[3 * PC_EMIT_THREADS];
    __shared__ large_voxel list[PC_EMIT_THREADS];
    __shared__ int count[2];
    pc_wait_for_last();
    const uint32_t found = s.counters->found, stride = STRIPE * gridDim.x;
    pc_voxel mine = {}; /* loaded before `found` is known, so that the two loads overlap */
    load_voxel(s, STRIPE * blockIdx.x + threadIdx.x / STRIPE * stride + threadIdx.x % STRIPE, &mine);
    const int voxels = (int)((found + stride - 1) / stride) * STRIPE, warp = (int)threadIdx.x / 32;
    for (int from = 0; from < voxels; from += chunk_voxels) {
        const chunk c = {STRIPE * blockIdx.x + (uint32_t)(from / STRIPE) * stride,
                         stride,
                         min(chunk_voxels, voxels - from),
                         kept,
                         rows,
                         (float *)memory,
                         means};
        if (threadIdx.x < 2) {
            count[threadIdx.x] = 0;
        }
        __syncthreads();
        if (from > 0) {
            load_voxel(s, id_of(c, (int)threadIdx.x), &mine);
        }
        list_voxels(s, c, found, mine, list, count);
        __syncthreads();
        for (int i = warp; i < count[0]; i += WARPS) {
            select_kept<OVERFLOW_BATCH>(s, c, list[i], unsorted + warp * UNSORTED);
        }
        for (int i = 0; i < count[1]; i++) {
            __syncthreads();
            select_kept_by_block<WARPS, OVERFLOW_BATCH>(s, c, list[PC_EMIT_THREADS - 1 - i], unsorted);
        }
        __syncthreads();
        write_chunk(s, c);
        __syncthreads();
    }
    pc_clean(s);
}

#endif
