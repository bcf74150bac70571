/* Features without max_points: means of all records of a voxel, or one of them. The result does not depend on the order
 * of the records, so nothing is sorted: sums are exact until they are rounded (voxelize_sum.h), and the lowest or the
 * nearest record is a minimum. */
#ifndef PC_VOXELIZE_REDUCE_CUH
#define PC_VOXELIZE_REDUCE_CUH

#include "voxelize_hash.cuh"

enum {
    REDUCE_WARPS = PC_REDUCE_THREADS / 32,
    BLOCK_RECORDS = 2048 /* records of a voxel above which the whole block is used */
};

/* The records of a voxel that a warp reads: every step-th from `begin` on. */
typedef struct subset {
    pc_voxel voxel;
    uint32_t count, begin, step;
} subset;

__device__ static uint32_t row_of(const pc_voxelize_params &s, const subset &of, uint32_t i) {
    return i < of.voxel.kept ? of.voxel.row[i] : s.overflow_rows[of.voxel.overflow_begin + (i - of.voxel.kept)];
}

/* A lane's sum of a column; exact: no addition was rounded. */
typedef struct partial {
    double sum;
    bool exact;
} partial;

__device__ static void add_to(partial *to, double value) {
    const double sum = to->sum + value;
    to->exact = to->exact && pc_addition_error(to->sum, value, sum) == 0.0;
    to->sum = sum;
}

/* How the lanes of a warp divide records: `width` lanes per record, one per column. */
typedef struct lanes {
    int width, records, record, column; /* record < 0: the lane has none */
} lanes;

__device__ static lanes lanes_for(int width) {
    const int lane = (int)threadIdx.x % 32, records = 32 / width, record = lane / width;
    return lanes{width, records, record < records ? record : -1, lane - record * width};
}

/* The sums of columns over the subset, in the first `width` lanes. */
__device__ static partial sum_subset(const pc_voxelize_params &s, const subset &of, const lanes &l) {
    partial mine = {0.0, true};
    for (uint32_t i = of.begin + (uint32_t)max(l.record, 0) * of.step; l.record >= 0 && i < of.count;
         i += (uint32_t)l.records * of.step) {
        add_to(&mine, (double)s.data[(size_t)row_of(s, of, i) * (size_t)s.columns + (size_t)l.column]);
    }
    __syncwarp();
    for (int r = 1; r < l.records; r++) {
        const int from = (r * l.width + l.column) % 32;
        const double other = __shfl_sync(PC_ALL_LANES, mine.sum, from);
        const bool exact = __shfl_sync(PC_ALL_LANES, (int)mine.exact, from) != 0;
        if (l.record == 0) {
            add_to(&mine, other);
            mine.exact = mine.exact && exact;
        }
    }
    return mine;
}

/* The same in fixed point for one column, in every lane. */
__device__ static pc_exact_sum sum_exactly(const pc_voxelize_params &s, const subset &of, int column) {
    pc_exact_sum mine;
    memset(&mine, 0, sizeof mine);
    for (uint32_t i = of.begin + threadIdx.x % 32 * of.step; i < of.count; i += 32 * of.step) {
        pc_exact_add(&mine, s.data[(size_t)row_of(s, of, i) * (size_t)s.columns + (size_t)column]);
    }
    __syncwarp();
    for (int step = 16; step > 0; step /= 2) {
        for (int k = 0; k < PC_SUM_DIGITS; k++) {
            mine.digit[k] += (int64_t)__shfl_xor_sync(PC_ALL_LANES, (unsigned long long)mine.digit[k], step);
        }
        mine.not_finite |= __shfl_xor_sync(PC_ALL_LANES, mine.not_finite, step);
    }
    return mine;
}

/* The record that is nearest to `mean`, or the lowest if mean is NULL: squared distance << 32 | record. */
__device__ static unsigned long long best_of(const pc_voxelize_params &s, const subset &of, const float *mean) {
    unsigned long long best = ~0ull;
    for (uint32_t i = of.begin + threadIdx.x % 32 * of.step; i < of.count; i += 32 * of.step) {
        const uint32_t row = row_of(s, of, i);
        uint32_t distance = 0;
        if (mean) {
            const float *p = s.data + (size_t)row * (size_t)s.columns,
                        d = pc_squared_distance(p[0], p[1], p[2], mean[0], mean[1], mean[2]);
            distance = __float_as_uint(d < HUGE_VALF ? d : HUGE_VALF);
        }
        best = min(best, (unsigned long long)distance << 32 | row);
    }
    __syncwarp();
    for (int step = 16; step > 0; step /= 2) {
        best = min(best, __shfl_xor_sync(PC_ALL_LANES, best, step));
    }
    return best;
}

__device__ static void write_point_voxel(const pc_voxelize_params &s, const subset &of, uint32_t id) {
    for (uint32_t i = of.begin + threadIdx.x % 32 * of.step; s.point_voxel && i < of.count; i += 32 * of.step) {
        s.point_voxel[row_of(s, of, i)] = (int32_t)id;
    }
}

/* Coordinates and count. */
__device__ static void write_voxel(const pc_voxelize_params &s, const subset &of, uint32_t id) {
    pc_write_coords(s, id, s.data + (size_t)of.voxel.row[0] * (size_t)s.columns);
    s.counts[id] = (int32_t)of.count;
}

/* Copies record `best`; by a warp. */
__device__ static void write_record(const pc_voxelize_params &s, uint32_t id, unsigned long long best) {
    const uint32_t row = (uint32_t)best;
    const int lane = (int)threadIdx.x % 32;
    if (lane == 0) {
        s.selected[id] = (int32_t)row;
    }
    if (lane < s.columns) {
        s.features[(size_t)id * (size_t)s.columns + (size_t)lane] =
            s.data[(size_t)row * (size_t)s.columns + (size_t)lane];
    }
}

/* Shared memory for a voxel of the whole block. */
typedef struct block_memory {
    partial partials[REDUCE_WARPS][PC_MAX_COLUMNS];
    pc_exact_sum sums[REDUCE_WARPS];
    unsigned long long best[REDUCE_WARPS];
    float mean[PC_MAX_COLUMNS];
} block_memory;

/* The lane's column, over the subsets of all warps. */
__device__ static partial block_sum(const partial &mine, const lanes &l, block_memory *m) {
    if (l.record == 0) {
        m->partials[threadIdx.x / 32][l.column] = mine;
    }
    __syncthreads();
    partial all = m->partials[0][l.column];
    for (int w = 1; w < REDUCE_WARPS; w++) {
        all.exact = all.exact && m->partials[w][l.column].exact;
        add_to(&all, m->partials[w][l.column].sum);
    }
    return all;
}

__device__ static pc_exact_sum block_exact_sum(const pc_exact_sum &mine, block_memory *m) {
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        m->sums[threadIdx.x / 32] = mine;
    }
    __syncthreads();
    pc_exact_sum all = m->sums[0];
    for (int w = 1; w < REDUCE_WARPS; w++) {
        for (int k = 0; k < PC_SUM_DIGITS; k++) {
            all.digit[k] += m->sums[w].digit[k];
        }
        all.not_finite |= m->sums[w].not_finite;
    }
    return all;
}

__device__ static unsigned long long block_best(unsigned long long mine, block_memory *m) {
    if (threadIdx.x % 32 == 0) {
        m->best[threadIdx.x / 32] = mine;
    }
    __syncthreads();
    unsigned long long least = m->best[0];
    for (int w = 1; w < REDUCE_WARPS; w++) {
        least = min(least, m->best[w]);
    }
    return least;
}

template <bool BLOCK> __device__ static void sync_threads(void) {
    if (BLOCK) {
        __syncthreads();
    } else {
        __syncwarp();
    }
}

/* The features of a voxel; by a warp or by the block, whose warps then share its records. mean: in shared memory; m:
 * of the block. */
template <bool BLOCK>
__device__ static void reduce_voxel(const pc_voxelize_params &s, const pc_voxel &voxel, uint32_t id, float *mean,
                                    block_memory *m) {
    const subset of = {voxel, voxel.kept + voxel.overflow, BLOCK ? threadIdx.x / 32 : 0, BLOCK ? REDUCE_WARPS : 1};
    const lanes l = lanes_for(s.kind == PCGPU_FEATURES_MEAN ? s.columns : 3);
    const bool writes = !BLOCK || threadIdx.x < 32;
    if (s.kind != PCGPU_FEATURES_FIRST) {
        const partial own = sum_subset(s, of, l), sum = BLOCK ? block_sum(own, l, m) : own;
        float value = pc_rounded_mean(sum.sum, of.count);
        for (uint32_t left = __ballot_sync(PC_ALL_LANES, l.record == 0 && !sum.exact); left; left &= left - 1) {
            const int column = __ffs((int)left) - 1; /* the same for all warps */
            const pc_exact_sum part = sum_exactly(s, of, column), all = BLOCK ? block_exact_sum(part, m) : part;
            if (l.record == 0 && l.column == column) {
                value = pc_rounded_mean(pc_exact_round(&all), of.count);
            }
        }
        if (l.record == 0 && writes) {
            mean[l.column] = value;
            if (s.kind == PCGPU_FEATURES_MEAN) {
                s.means[(size_t)id * (size_t)s.columns + (size_t)l.column] = value;
            }
        }
        sync_threads<BLOCK>();
    }
    if (s.kind != PCGPU_FEATURES_MEAN) {
        const unsigned long long own = best_of(s, of, s.kind == PCGPU_FEATURES_NEAREST ? mean : NULL),
                                 best = BLOCK ? block_best(own, m) : own;
        if (writes) {
            write_record(s, id, best);
        }
    }
    write_point_voxel(s, of, id);
    if (writes && threadIdx.x % 32 == 0) {
        write_voxel(s, of, id);
    }
    sync_threads<BLOCK>();
}

/* A warp per voxel; then the block processes the voxels with more than BLOCK_RECORDS records together. */
__global__ static void __launch_bounds__(PC_REDUCE_THREADS) reduce_kernel(const pc_voxelize_params s) {
    __shared__ float mean[REDUCE_WARPS][PC_MAX_COLUMNS];
    __shared__ block_memory memory;
    const uint32_t warp = threadIdx.x / 32;
    pc_wait_for_last();
    const uint32_t found = s.counters->found;
    for (uint32_t first = blockIdx.x * REDUCE_WARPS; first < found; first += gridDim.x * REDUCE_WARPS) {
        bool large = false;
        if (first + warp < found) {
            const pc_voxel of = s.voxels[first + warp];
            if (threadIdx.x % 32 == 0) {
                pc_clean_slot(s, of);
            }
            large = of.kept + of.overflow > BLOCK_RECORDS && first + warp < s.max_voxels;
            if (!large && first + warp < s.max_voxels) {
                reduce_voxel<false>(s, of, first + warp, mean[warp], &memory);
            }
        }
        if (__syncthreads_count(large) == 0) {
            continue;
        }
        for (uint32_t w = 0; w < REDUCE_WARPS && first + w < found; w++) {
            const pc_voxel of = s.voxels[first + w];
            if (of.kept + of.overflow > BLOCK_RECORDS && first + w < s.max_voxels) {
                reduce_voxel<true>(s, of, first + w, memory.mean, &memory);
            }
        }
    }
    pc_clean(s);
}

#endif
