/* The features of voxels with max_points: emit of voxelize_hash.cuh. */
#ifndef PC_VOXELIZE_EMIT_CUH
#define PC_VOXELIZE_EMIT_CUH

#include "voxelize_staged.cuh"

enum {
    EMIT_WARPS = PC_EMIT_THREADS / 32,
    EMIT_BATCH = 4, /* values of kept records that a thread loads together */
    STRIPE = 2 /* consecutive voxels per block: overfull voxels are often neighbours, and several blocks share them */
};

/* Ids of the voxels that a block emits together: STRIPE consecutive ones of every `stride`. */
typedef struct striped {
    uint32_t first, stride;

    __device__ uint32_t id(uint32_t voxel) const {
        return first + voxel / STRIPE * stride + voxel % STRIPE;
    }

    __device__ size_t offset(uint32_t voxel, uint32_t width, uint32_t i) const {
        return (size_t)id(voxel) * width + (i - voxel * width);
    }
} striped;

/* See voxelize_staged.cuh. */
typedef struct emit_memory {
    uint32_t rows[PC_EMIT_RECORDS];
    uint8_t voxel_of[PC_EMIT_RECORDS];
    int16_t kept[PC_EMIT_THREADS]; /* 0: not in the result */
    uint16_t begin[PC_EMIT_THREADS];
    float means[3 * PC_EMIT_THREADS]; /* of x y z */
    large_voxel list[PC_EMIT_THREADS];
    int count[2];
    int records;
} emit_memory;

__device__ static void load_voxel(const pc_voxelize_params &s, uint32_t id, pc_voxel *to) {
    if (id < s.capacity) {
        *to = s.voxels[id];
    }
}

/* Stages the voxel that each thread has loaded. Voxels with more records than a slot has are listed for select_kept,
 * those for the whole block from the list's end. Returns the number of voxels in the result, the first ones. All
 * threads of the block call it. */
__device__ static int stage_voxels(const pc_voxelize_params &s, uint32_t id, bool there, const pc_voxel &of,
                                   emit_memory *m) {
    const int v = (int)threadIdx.x;
    const bool in_result = there && id < s.max_voxels;
    const int kept = in_result ? (int)of.kept : 0;
    int all;
    const int begin = pc_block_scan<PC_EMIT_THREADS>(kept, &all);
    if (v == 0) {
        m->records = all;
    }
    if (there && stage_voxel(s, of, v, kept, in_result ? begin : 0, m)) {
        const bool from_end = of.overflow >= BLOCK_OVERFLOW && in_result;
        const int offset = atomicAdd(&m->count[from_end], 1);
        m->list[from_end ? PC_EMIT_THREADS - 1 - offset : offset] =
            large_voxel{v, (int)of.kept, of.slot, of.overflow, of.overflow_begin};
    }
    if (in_result) {
        s.counts[id] = kept;
    }
    return __syncthreads_count(in_result);
}

/* A thread per two values of a record. */
__device__ static void write_pillars(const pc_voxelize_params &s, const emit_memory &m, const float *values, int voxels,
                                     const striped &ids) {
    enum { PAIRS = PC_PILLAR_COLUMNS / 2 };
    const uint32_t p = (uint32_t)s.kept, factor = factor_of(p);
#pragma unroll 2
    for (uint32_t i = threadIdx.x; i < (uint32_t)voxels * p * PAIRS; i += PC_EMIT_THREADS) {
        const uint32_t row = i / PAIRS, k = 2 * (i - row * PAIRS), v = divide(row, p, factor), offset = row - v * p;
        const size_t id = ids.id(v);
        float2 both = make_float2(0.0f, 0.0f);
        if ((int)offset < m.kept[v]) {
            const float *record = values + (m.begin[v] + offset) * (uint32_t)s.columns, *mean = m.means + 3 * v;
            const int32_t *coords = s.coords + 4 * id;
            both.x = pc_pillar_value(&s.grid, record, s.columns, mean, coords, (int)k);
            both.y = pc_pillar_value(&s.grid, record, s.columns, mean, coords, (int)k + 1);
        }
        ((float2 *)s.features)[(id * p + offset) * PAIRS + k / 2] = both;
    }
}

/* FIRST and NEAREST; a thread per voxel. */
__device__ static void write_selected(const pc_voxelize_params &s, const emit_memory &m, const float *all, int voxels,
                                      const striped &ids) {
    for (int v = (int)threadIdx.x; v < voxels; v += PC_EMIT_THREADS) {
        const float *values = all + m.begin[v] * s.columns;
        const int offset = s.kind == PCGPU_FEATURES_NEAREST
                               ? pc_voxel_nearest(values, s.columns, NULL, m.kept[v], m.means + 3 * v)
                               : 0;
        const size_t id = ids.id((uint32_t)v);
        s.selected[id] = (int32_t)m.rows[m.begin[v] + offset];
        for (int k = 0; k < s.columns; k++) {
            s.features[id * (size_t)s.columns + (size_t)k] = values[offset * s.columns + k];
        }
    }
}

template <typename Value>
__device__ static void write_voxels(const pc_voxelize_params &s, emit_memory *m, float *values, int voxels,
                                    const striped &ids) {
    load_records<Value, PC_EMIT_THREADS, EMIT_BATCH>(s, *m, values);
    __syncthreads();
    /* From the last thread on: the first ones have the means. */
    for (int v = PC_EMIT_THREADS - 1 - (int)threadIdx.x; v < voxels; v += PC_EMIT_THREADS) {
        pc_write_coords(s, ids.id((uint32_t)v), values + m->begin[v] * s.columns);
    }
    write_staged<Value, PC_EMIT_THREADS>(s, *m, values, voxels, ids);
    if (s.kind == PCGPU_FEATURES_PILLAR || s.kind == PCGPU_FEATURES_NEAREST) {
        write_means<Value, PC_EMIT_THREADS>(s, *m, values, voxels, 3, consecutive{0}, m->means);
        __syncthreads();
    }
    if (s.kind == PCGPU_FEATURES_PILLAR) {
        write_pillars(s, *m, values, voxels, ids);
    } else if (s.kind == PCGPU_FEATURES_NEAREST || s.kind == PCGPU_FEATURES_FIRST) {
        write_selected(s, *m, values, voxels, ids);
    }
}

/* Columns of kept records, in shared memory of the launch. */
__device__ static float *emit_values(void) {
    extern __shared__ __align__(16) char memory[];
    return (float *)memory;
}

template <typename Value>
__global__ static void __launch_bounds__(PC_EMIT_THREADS, PC_RESIDENT(PC_EMIT_THREADS, PC_EMIT_BLOCKS))
    emit_kernel(const pc_voxelize_params s, int chunk_voxels) {
    enum { UNSORTED = PC_MAX_POINTS + 4 };
    __shared__ __align__(16) uint32_t unsorted[EMIT_WARPS * UNSORTED];
    __shared__ emit_memory m;
    pc_wait_for_last();
    const uint32_t found = s.counters->found, stride = STRIPE * gridDim.x;
    pc_voxel mine = {}; /* loaded before `found` is known, so that the two loads overlap */
    load_voxel(s, STRIPE * blockIdx.x + threadIdx.x / STRIPE * stride + threadIdx.x % STRIPE, &mine);
    const int voxels = (int)((found + stride - 1) / stride) * STRIPE, warp = (int)threadIdx.x / 32;
    for (int from = 0; from < voxels; from += chunk_voxels) {
        const striped ids = {STRIPE * blockIdx.x + (uint32_t)(from / STRIPE) * stride, stride};
        const uint32_t id = ids.id(threadIdx.x);
        if (threadIdx.x < 2) {
            m.count[threadIdx.x] = 0;
        }
        __syncthreads();
        if (from > 0) {
            load_voxel(s, id, &mine);
        }
        const int in_result =
            stage_voxels(s, id, (int)threadIdx.x < min(chunk_voxels, voxels - from) && id < found, mine, &m);
        for (int i = warp; i < m.count[0]; i += EMIT_WARPS) {
            const large_voxel of = m.list[i];
            const bool kept = m.kept[of.voxel] > 0; /* others are not in m.rows */
            uint32_t *own = unsorted + warp * UNSORTED;
            select_kept<OVERFLOW_BATCH, SMALL_OVERFLOW_BATCH>(s, of,
                                                              (const uint32_t *)s.overflow_rows + of.overflow_begin,
                                                              kept, kept ? m.rows + m.begin[of.voxel] : own, own);
        }
        for (int i = 0; i < m.count[1]; i++) {
            const large_voxel of = m.list[PC_EMIT_THREADS - 1 - i];
            __syncthreads();
            select_kept_by_block<EMIT_WARPS, OVERFLOW_BATCH>(
                s, of, (const uint32_t *)s.overflow_rows + of.overflow_begin, m.rows + m.begin[of.voxel], unsorted);
        }
        __syncthreads();
        write_voxels<Value>(s, &m, emit_values(), in_result, ids);
        __syncthreads();
    }
    pc_clean(s);
}

#endif
