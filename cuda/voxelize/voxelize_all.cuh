/* The last kernel of voxelize_hashed.cuh when there is no limit of points: means of all records of a voxel, or one of
 * them. What is computed does not depend on the order of the records, so nothing is sorted: sums are exact until they
 * are rounded (voxelize_sum.h), and the lowest or the nearest record is a minimum. */
#ifndef PC_VOXELIZE_ALL_CUH
#define PC_VOXELIZE_ALL_CUH

#include "voxelize_hashed.cuh"

enum {
    ALL_WARPS = PC_ALL_THREADS / 32,
    TOO_MANY = 2048 /* records of a voxel that the whole block looks at */
};

/* Records of a voxel that a warp looks at: every `step`-th from `begin` on. */
typedef struct share {
    pc_numbered of;
    uint32_t count, begin, step;
} share;

__device__ static uint32_t row_of(const pc_hashed &s, const share &of, uint32_t i) {
    return i < of.of.kept ? of.of.row[i] : s.late_rows[of.of.late_first + (i - of.of.kept)];
}

/* A sum of a column, by a lane. */
typedef struct partial {
    double sum;
    bool exact;
} partial;

__device__ static void add_to(partial *to, double value) {
    const double sum = to->sum + value;
    to->exact = to->exact && pc_addition_error(to->sum, value, sum) == 0.0;
    to->sum = sum;
}

/* How the lanes of a warp share records: `width` lanes a record, one a column. */
typedef struct lanes {
    int width, records, record, column; /* record < 0: this lane has none */
} lanes;

__device__ static lanes lanes_for(int width) {
    const int lane = (int)threadIdx.x % 32, records = 32 / width, record = lane / width;
    return lanes{width, records, record < records ? record : -1, lane - record * width};
}

/* The sums of the share's columns, by the first `width` lanes. */
__device__ static partial sum_share(const pc_hashed &s, const share &of, const lanes &l) {
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

/* The same in fixed point, of one column; every lane returns it. */
__device__ static pc_exact_sum sum_exactly(const pc_hashed &s, const share &of, int column) {
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

/* The record of the share that is nearest to `mean`, or the lowest where that is NULL: a key that orders as asked, with
 * the record in its lower half. */
__device__ static unsigned long long best_of(const pc_hashed &s, const share &of, const float *mean) {
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

__device__ static void tell_records(const pc_hashed &s, const share &of, uint32_t number) {
    for (uint32_t i = of.begin + threadIdx.x % 32 * of.step; s.point_voxel && i < of.count; i += 32 * of.step) {
        s.point_voxel[row_of(s, of, i)] = (int32_t)number;
    }
}

/* What a voxel has beside its features; by one lane. */
__device__ static void describe_voxel(const pc_hashed &s, const share &of, uint32_t number) {
    pc_write_coords(s, number, s.data + (size_t)of.of.row[0] * (size_t)s.columns);
    s.counts[number] = (int32_t)of.count;
}

/* Writes the record that `best` names, by a warp. */
__device__ static void fill_record(const pc_hashed &s, uint32_t number, unsigned long long best) {
    const uint32_t row = (uint32_t)best;
    const int lane = (int)threadIdx.x % 32;
    if (lane == 0) {
        s.selected[number] = (int32_t)row;
    }
    if (lane < s.columns) {
        s.features[(size_t)number * (size_t)s.columns + (size_t)lane] =
            s.data[(size_t)row * (size_t)s.columns + (size_t)lane];
    }
}

/* A voxel, by a warp. */
__device__ static void fill_voxel(const pc_hashed &s, const share &of, uint32_t number, float *mean) {
    const lanes l = lanes_for(s.kind == PCGPU_FEATURES_MEAN ? s.columns : 3);
    if (s.kind != PCGPU_FEATURES_FIRST) {
        const partial mine = sum_share(s, of, l);
        float value = pc_rounded_mean(mine.sum, of.count);
        for (uint32_t left = __ballot_sync(PC_ALL_LANES, l.record == 0 && !mine.exact); left; left &= left - 1) {
            const int column = __ffs((int)left) - 1;
            const pc_exact_sum all = sum_exactly(s, of, column);
            if (l.record == 0 && l.column == column) {
                value = pc_rounded_mean(pc_exact_round(&all), of.count);
            }
        }
        if (l.record == 0) {
            mean[l.column] = value;
            if (s.kind == PCGPU_FEATURES_MEAN) {
                s.means[(size_t)number * (size_t)s.columns + (size_t)l.column] = value;
            }
        }
        __syncwarp();
    }
    if (s.kind != PCGPU_FEATURES_MEAN) {
        fill_record(s, number, best_of(s, of, s.kind == PCGPU_FEATURES_NEAREST ? mean : NULL));
    }
    tell_records(s, of, number);
    if (threadIdx.x % 32 == 0) {
        describe_voxel(s, of, number);
    }
    __syncwarp();
}

/* A voxel with very many records, by the block. */
typedef struct crowd_memory {
    partial partials[ALL_WARPS][PC_MOST_COLUMNS];
    pc_exact_sum sums[ALL_WARPS];
    unsigned long long best[ALL_WARPS];
    float mean[PC_MOST_COLUMNS];
} crowd_memory;

__device__ static float crowd_mean(const pc_hashed &s, const share &of, int column, crowd_memory *m) {
    const int warp = (int)threadIdx.x / 32;
    partial all = m->partials[0][column];
    for (int w = 1; w < ALL_WARPS; w++) {
        all.exact = all.exact && m->partials[w][column].exact;
        add_to(&all, m->partials[w][column].sum);
    }
    if (all.exact) { /* or not: the same for all threads */
        return pc_rounded_mean(all.sum, of.count);
    }
    const pc_exact_sum mine = sum_exactly(s, of, column);
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        m->sums[warp] = mine;
    }
    __syncthreads();
    pc_exact_sum sum = m->sums[0];
    for (int w = 1; w < ALL_WARPS; w++) {
        for (int k = 0; k < PC_SUM_DIGITS; k++) {
            sum.digit[k] += m->sums[w].digit[k];
        }
        sum.not_finite |= m->sums[w].not_finite;
    }
    return pc_rounded_mean(pc_exact_round(&sum), of.count);
}

__device__ static void fill_crowded(const pc_hashed &s, const share &whole, uint32_t number, crowd_memory *m) {
    const uint32_t warp = threadIdx.x / 32;
    const share of = {whole.of, whole.count, warp, ALL_WARPS};
    const lanes l = lanes_for(s.kind == PCGPU_FEATURES_MEAN ? s.columns : 3);
    if (s.kind != PCGPU_FEATURES_FIRST) {
        const partial mine = sum_share(s, of, l);
        if (l.record == 0) {
            m->partials[warp][l.column] = mine;
        }
        __syncthreads();
        for (int column = 0; column < l.width; column++) {
            const float value = crowd_mean(s, of, column, m);
            if (threadIdx.x == 0) {
                m->mean[column] = value;
                if (s.kind == PCGPU_FEATURES_MEAN) {
                    s.means[(size_t)number * (size_t)s.columns + (size_t)column] = value;
                }
            }
        }
        __syncthreads();
    }
    if (s.kind != PCGPU_FEATURES_MEAN) {
        const unsigned long long best = best_of(s, of, s.kind == PCGPU_FEATURES_NEAREST ? m->mean : NULL);
        if (threadIdx.x % 32 == 0) {
            m->best[warp] = best;
        }
        __syncthreads();
        if (warp == 0) {
            unsigned long long least = m->best[0];
            for (int w = 1; w < ALL_WARPS; w++) {
                least = min(least, m->best[w]);
            }
            fill_record(s, number, least);
        }
    }
    tell_records(s, of, number);
    if (threadIdx.x == 0) {
        describe_voxel(s, of, number);
    }
    __syncthreads();
}

/* A warp a voxel, of ALL_WARPS that follow each other; then the block those that are too large for a warp. */
__global__ static void __launch_bounds__(PC_ALL_THREADS) fill_all_kernel(const pc_hashed s) {
    __shared__ float mean[ALL_WARPS][PC_MOST_COLUMNS];
    __shared__ crowd_memory crowd;
    const uint32_t warp = threadIdx.x / 32;
    pc_wait_for_last();
    const uint32_t found = s.counters->found;
    for (uint32_t first = blockIdx.x * ALL_WARPS; first < found; first += gridDim.x * ALL_WARPS) {
        bool crowded = false;
        if (first + warp < found) {
            const pc_numbered of = s.voxels[first + warp];
            const share all = {of, of.kept + of.late, 0, 1};
            if (threadIdx.x % 32 == 0) {
                pc_clean_slot(s, of);
            }
            crowded = all.count > TOO_MANY && first + warp < s.most;
            if (!crowded && first + warp < s.most) {
                fill_voxel(s, all, first + warp, mean[warp]);
            }
        }
        if (__syncthreads_count(crowded) == 0) {
            continue;
        }
        for (uint32_t w = 0; w < ALL_WARPS && first + w < found; w++) {
            const pc_numbered of = s.voxels[first + w];
            if (of.kept + of.late > TOO_MANY && first + w < s.most) {
                fill_crowded(s, share{of, of.kept + of.late, 0, 1}, first + w, &crowd);
            }
        }
    }
    pc_clean(s);
}

#endif
