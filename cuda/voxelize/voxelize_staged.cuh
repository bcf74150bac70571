/* Voxels that a block has in shared memory, with their kept records one voxel after the other, and their features.
 * Shared by the fused kernel and by emit; `Memory` is the struct of either in shared memory:
 *
 *   rows, voxel_of  per record: index, and the voxel
 *   kept, begin     per voxel: number of records, and the first one
 *   records         number of all records
 *
 * values: the columns of the records, also in shared memory. */
#ifndef PC_VOXELIZE_STAGED_CUH
#define PC_VOXELIZE_STAGED_CUH

#include "voxelize_select.cuh"

/* Ids of the staged voxels: from `first` on. */
typedef struct consecutive {
    uint32_t first;

    /* Where value i of all staged voxels is in an array by id: `width` values per voxel, i is of the given voxel. */
    __device__ size_t offset(uint32_t, uint32_t width, uint32_t i) const {
        return (size_t)first * width + i;
    }
} consecutive;

/* Stages the thread's voxel with its first `kept` records, from `begin` on, and clears its slot. Returns whether it has
 * more records than a slot has: then those of the slot are staged, and not in order. */
template <typename Memory>
__device__ static bool stage_voxel(const pc_voxelize_params &s, const pc_voxel &of, int voxel, int kept, int begin,
                                   Memory *m) {
    const bool large = of.kept > PC_SLOT_RECORDS || of.overflow;
    uint32_t row[PC_SLOT_RECORDS] = {of.row[0], of.row[1], of.row[2], of.row[3]}; /* missing ones are ~0 */
    m->kept[voxel] = (int16_t)kept;
    m->begin[voxel] = (uint16_t)begin;
    if (!large) {
        order_four(row);
    }
#pragma unroll
    for (int k = 0; k < PC_SLOT_RECORDS; k++) {
        if (k < kept) {
            m->rows[begin + k] = row[k];
        }
    }
    for (int k = 0; k < kept; k++) {
        m->voxel_of[begin + k] = (uint8_t)voxel;
    }
    pc_clean_slot(s, of);
    return large;
}

/* Value: float4, a whole record of four columns; or float, a column of a record of any number of columns. */
template <typename Value> __device__ static uint32_t values_per_record(const pc_voxelize_params &s) {
    return sizeof(Value) == sizeof(float4) ? 1 : (uint32_t)s.columns;
}

template <typename Value> __device__ static uint32_t columns_of(const pc_voxelize_params &s) {
    return values_per_record<Value>(s) * (uint32_t)(sizeof(Value) / sizeof(float));
}

/* Loads the kept records into shared memory; a thread loads BATCH values together. */
template <typename Value, int THREADS, int BATCH, typename Memory>
__device__ static void load_records(const pc_voxelize_params &s, const Memory &m, float *values) {
    const uint32_t width = values_per_record<Value>(s), factor = factor_of(width), all = (uint32_t)m.records * width;
    for (uint32_t first = threadIdx.x; first < all; first += BATCH * THREADS) {
        Value value[BATCH] = {};
#pragma unroll
        for (uint32_t k = 0; k < BATCH; k++) {
            const uint32_t i = first + k * THREADS, record = divide(i, width, factor);
            if (i < all) {
                value[k] = ((const Value *)s.data)[(size_t)m.rows[record] * width + (i - record * width)];
            }
        }
#pragma unroll
        for (uint32_t k = 0; k < BATCH; k++) {
            if (first + k * THREADS < all) {
                ((Value *)values)[first + k * THREADS] = value[k];
            }
        }
    }
}

/* Means of the first `width` columns; a thread per value. */
template <typename Value, int THREADS, typename Memory, typename Ids>
__device__ static void write_means(const pc_voxelize_params &s, const Memory &m, const float *values, int voxels,
                                   uint32_t width, const Ids &ids, float *to) {
    const uint32_t columns = columns_of<Value>(s), factor = factor_of(width);
    for (uint32_t i = threadIdx.x; i < (uint32_t)voxels * width; i += THREADS) {
        const uint32_t v = divide(i, width, factor), k = i - v * width;
        to[ids.offset(v, width, i)] =
            pc_voxel_mean(values + m.begin[v] * columns, (int)columns, NULL, m.kept[v], (int)k, false);
    }
}

/* point_voxel, and POINTS and MEAN features, of the first `voxels` voxels. */
template <typename Value, int THREADS, typename Memory, typename Ids>
__device__ static void write_staged(const pc_voxelize_params &s, const Memory &m, const float *values, int voxels,
                                    const Ids &ids) {
    if (s.point_voxel) {
        for (int i = (int)threadIdx.x; i < m.records; i += THREADS) {
            if (m.voxel_of[i] < voxels) {
                s.point_voxel[m.rows[i]] = (int32_t)ids.offset(m.voxel_of[i], 1, m.voxel_of[i]);
            }
        }
    }
    if (s.means) {
        write_means<Value, THREADS>(s, m, values, voxels, columns_of<Value>(s), ids, s.means);
    }
    if (s.kind == PCGPU_FEATURES_POINTS) { /* and zeros up to P */
        const uint32_t width = values_per_record<Value>(s), all = (uint32_t)s.kept * width, factor = factor_of(all);
#pragma unroll 2
        for (uint32_t i = threadIdx.x; i < (uint32_t)voxels * all; i += THREADS) {
            const uint32_t v = divide(i, all, factor), offset = i - v * all;
            Value value = {};
            if (offset < (uint32_t)m.kept[v] * width) {
                value = ((const Value *)values)[m.begin[v] * width + offset];
            }
            ((Value *)s.features)[ids.offset(v, all, i)] = value;
        }
    }
}

#endif
