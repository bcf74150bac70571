/* The order of the points of a cloud for farthest point sampling, and their buckets. The points are sorted along a
 * Hilbert curve (Skilling, "Programming the Hilbert curve", AIP Conf. Proc. 707, 2004) in a grid over the bounding cube
 * of the cloud; 32 consecutive points are a bucket. A bucket that is much longer than the buckets of an evenly filled
 * cube is split, into buckets of the pool behind the others, since a long bucket is in reach of too many picks. */
#ifndef PC_SAMPLE_CURVE_CUH
#define PC_SAMPLE_CURVE_CUH

#include "sample.cuh"

enum { MOST_AXIS_BITS = 10 };

/* The longest bucket, as a multiple of the side of a cube with the bucket's fraction of the bounding cube. */
#define LONGEST 2.0

/* Merges the bounds of all threads of a block into those of the cloud. */
__device__ static void join_bounds(pc_bounds *all, const pc_bounds *mine) {
    __shared__ uint32_t of_block[6];
    if (threadIdx.x < 6) {
        of_block[threadIdx.x] = 0;
    }
    __syncthreads();
    for (int k = 0; k < 6; k++) {
        uint32_t warp = pc_warp_max(k < 3 ? mine->high[k] : mine->inverted_low[k - 3]);
        if (threadIdx.x % 32 == 0) {
            atomicMax(&of_block[k], warp);
        }
    }
    __syncthreads();
    if (threadIdx.x < 6) {
        uint32_t *to = threadIdx.x < 3 ? &all->high[threadIdx.x] : &all->inverted_low[threadIdx.x - 3];
        atomicMax(to, of_block[threadIdx.x]);
    }
}

/* The bounding cube; float64, in which no side overflows. */
typedef struct cube {
    double low[3], side;
    float longest; /* maximum extent of a bucket on an axis */
} cube;

__device__ static cube bounding_cube(const pc_cloud &c) {
    cube q = {{0.0, 0.0, 0.0}, 0.0, 0.0f};
    for (int k = 0; k < 3; k++) {
        q.low[k] = (double)pc_from_ordered(~__ldcg(&c.bounds->inverted_low[k]));
        q.side = max(q.side, (double)pc_from_ordered(__ldcg(&c.bounds->high[k])) - q.low[k]);
    }
    q.longest = (float)(LONGEST * q.side / cbrt((double)c.runs));
    return q;
}

/* Moves bit i of a cell coordinate to bit 3 i. */
__device__ static uint32_t spread(uint32_t v) {
    v = (v | v << 16) & 0x030000ffu;
    v = (v | v << 8) & 0x0300f00fu;
    v = (v | v << 4) & 0x030c30c3u;
    return (v | v << 2) & 0x09249249u;
}

/* The position along the curve of a cell with `bits` bits per axis. */
__device__ static uint32_t hilbert(uint32_t cell[3], int bits) {
    for (uint32_t q = 1u << (bits - 1); q > 1; q >>= 1) {
        for (int k = 0; k < 3; k++) {
            if (cell[k] & q) {
                cell[0] ^= q - 1;
            } else {
                uint32_t t = (cell[0] ^ cell[k]) & (q - 1);
                cell[0] ^= t;
                cell[k] ^= t;
            }
        }
    }
    cell[1] ^= cell[0];
    cell[2] ^= cell[1];
    uint32_t t = 0;
    for (uint32_t q = 1u << (bits - 1); q > 1; q >>= 1) {
        t ^= cell[2] & q ? q - 1 : 0;
    }
    return spread(cell[0] ^ t) << 2 | spread(cell[1] ^ t) << 1 | spread(cell[2] ^ t);
}

/* The position of a point along the curve with `bits` bits per axis. */
__device__ static uint32_t curve_key(const cube &q, int bits, float x, float y, float z) {
    const double scale = q.side > 0.0 ? (double)((1 << bits) - 1) / q.side : 0.0;
    uint32_t cell[3] = {(uint32_t)(((double)x - q.low[0]) * scale), (uint32_t)(((double)y - q.low[1]) * scale),
                        (uint32_t)(((double)z - q.low[2]) * scale)};
    return hilbert(cell, bits);
}

typedef struct box {
    float low[3], high[3];
} box;

__device__ static void grow(box *b, const box *other) {
    for (int k = 0; k < 3; k++) {
        b->low[k] = fminf(b->low[k], other->low[k]);
        b->high[k] = fmaxf(b->high[k], other->high[k]);
    }
}

__device__ static void put_range(pc_range *to, const box *b, uint32_t begin, uint32_t count) {
    for (int k = 0; k < 3; k++) {
        to->low[k] = b->low[k];
        to->high[k] = b->high[k];
    }
    to->begin = begin;
    to->count = count;
}

/* The common box of the lanes from `from` to this lane. */
__device__ static box prefix_box(const box *mine, int from) {
    int lane = threadIdx.x % 32;
    box b = *mine;
    for (int step = 1; step < 32; step *= 2) {
        box other;
        for (int k = 0; k < 3; k++) {
            other.low[k] = __shfl_up_sync(PC_ALL_LANES, b.low[k], step);
            other.high[k] = __shfl_up_sync(PC_ALL_LANES, b.high[k], step);
        }
        if (lane - step >= from) {
            grow(&b, &other);
        }
    }
    return b;
}

/* A warp converts a run of at most 32 points, one per lane, into a bucket, or into several if the bucket is too long.
 */
__device__ static void part_run(const pc_cloud &c, uint32_t run, uint32_t begin, int count, const box *mine,
                                float most) {
    int lane = threadIdx.x % 32, from = 0;
    uint32_t slot = run;
    while (from < count) {
        box b = prefix_box(mine, from);
        float side = fmaxf(fmaxf(b.high[0] - b.low[0], b.high[1] - b.low[1]), b.high[2] - b.low[2]);
        uint32_t beyond = __ballot_sync(PC_ALL_LANES, lane > from && lane < count && side > most);
        int end = beyond ? __ffs((int)beyond) - 1 : count;
        uint32_t next = 0;
        if (beyond) {
            next = lane == 0 ? atomicAdd(c.pool_used, 1u) : 0;
            next = __shfl_sync(PC_ALL_LANES, next, 0);
            end = next < c.pool ? end : count;
        }
        if (lane == end - 1) {
            put_range(&c.ranges[slot], &b, begin + (uint32_t)from, (uint32_t)(end - from));
        }
        from = end;
        slot = c.runs + next;
    }
}

/* A warp builds the buckets of a run. The points are fetched by their indices; for NULL they are in c.sorted. */
__device__ static void make_buckets(const pc_cloud &c, int64_t run, int bucket_points, float longest,
                                    const int32_t *indices) {
    const int lane = threadIdx.x % 32;
    const int64_t begin = run * bucket_points;
    const int count = (int)min((int64_t)bucket_points, c.n - begin);
    box mine = {{HUGE_VALF, HUGE_VALF, HUGE_VALF}, {-HUGE_VALF, -HUGE_VALF, -HUGE_VALF}};
    for (int i = lane; i < count; i += 32) {
        float4 p;
        if (indices) {
            const int32_t index = indices[c.first + begin + i];
            p = make_float4(c.x[index], c.y[index], c.z[index], __int_as_float(index));
            c.sorted[begin + i] = p;
        } else {
            p = __ldcg(&c.sorted[begin + i]);
        }
        box point = {{p.x, p.y, p.z}, {p.x, p.y, p.z}};
        grow(&mine, &point);
        if (c.nearest) {
            c.nearest[begin + i] = HUGE_VALF;
        }
    }
    if (bucket_points == PC_RUN) {
        part_run(c, (uint32_t)run, (uint32_t)begin, count, &mine, longest);
    } else {
        box all = prefix_box(&mine, 0);
        if (lane == 31) {
            put_range(&c.ranges[run], &all, (uint32_t)begin, (uint32_t)count);
        }
    }
}

/* ---- one cloud in one launch: sample_sort.cu --------------------------------------------------------------------- */

/* The maximum number of points; 0 on a device without cooperative launches. */
int64_t pc_sample_sort_most(pcgpu_context *context);
/* Bytes of scratch for n points. */
size_t pc_sample_sort_scratch(int64_t n);
/* Does the work of pc_sample_order, with `bits` bits per axis. */
pcgpu_status pc_sample_sort(pcgpu_context *context, const pc_cloud *device, int64_t n, int bits, int bucket_points,
                            void *scratch);

#endif
