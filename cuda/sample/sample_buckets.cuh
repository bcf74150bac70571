/* A block's points and buckets in the rounds of farthest point sampling, and how new picks change them. */
#ifndef PC_SAMPLE_BUCKETS_CUH
#define PC_SAMPLE_BUCKETS_CUH

#include "sample_group.cuh"

enum {
    HITS = 32,   /* new picks that a family collects before it applies them: one bit each */
    PARTED = 24, /* additional families, for parts of split ones */
};

/* The longest family, as a multiple of the side of a cube with the family's fraction of the bounding cube. */
#define LONGEST_FAMILY 2.0f

#define INFINITE 0x7f800000u /* bits of +inf */

/* Neighbouring buckets of a block. */
typedef struct family {
    float low[3], high[3]; /* the common box */
    int32_t first, count;
} family;

/* Arrays of the update, in shared memory. */
typedef struct refreshing {
    pc_bucket *buckets;
    family *families;
    uint32_t *family_count;
    float4 *fresh;    /* the new picks */
    uint16_t *hits;   /* HITS per family: indices in `fresh` of picks that may reach it */
    uint32_t *near;   /* of a queued bucket: one bit for each hit of its family that may reach it */
    uint32_t *queue;  /* buckets to update, with their families in the upper half */
    uint32_t *queued; /* length of the queue */
} refreshing;

/* ---- a block's points ------------------------------------------------------------------------------------------- */

/* Points in shared memory, or in global memory with STORED. */
template <bool STORED> struct block_points {
    float4 *points;
    float *nearest;
    const pc_range *ranges;                /* of the cloud */
    int buckets, chunk_log, rank, workers; /* see pc_rounds_shape */

    /* The index, among the ranges of the cloud, of this block's bucket b. */
    __device__ int64_t slot(int b) const {
        return (((int64_t)(b >> chunk_log) * workers + rank) << chunk_log) + (b & ((1 << chunk_log) - 1));
    }
    __device__ int64_t begin(int b) const {
        return STORED ? (int64_t)ranges[slot(b)].begin : (int64_t)b * PC_RUN;
    }
    /* The number of points of a bucket. In shared memory, buckets are padded to a run with picked points of the highest
     * index. */
    __device__ int count(int b) const {
        return STORED ? (int)ranges[slot(b)].count : PC_RUN;
    }
};

/* Reduces the farthest points of the lanes of a warp and stores the result, with the second largest value, in the
 * bucket. Returns the largest value. */
__device__ static uint32_t store_farthest(pc_bucket *bucket, uint32_t largest, uint32_t second, uint32_t inverted,
                                          const float4 &at) {
    uint32_t of_all = pc_warp_max(largest);
    bool own = largest == of_all;
    uint32_t equal = __ballot_sync(PC_ALL_LANES, own);
    if (equal & (equal - 1)) {
        uint32_t lowest = pc_warp_max(own ? inverted : 0);
        own = own && inverted == lowest;
    }
    second = pc_warp_max(own ? second : largest);
    __syncwarp(); /* all lanes have read the old bucket */
    if (own) {
        bucket->largest = of_all;
        bucket->second = second;
        bucket->at[0] = at.x;
        bucket->at[1] = at.y;
        bucket->at[2] = at.z;
        bucket->inverted = inverted;
    }
    return of_all;
}

__device__ static float lowered(float value, const float4 &p, const float4 &pick) {
    return fminf(value, pc_squared_distance(p.x, p.y, p.z, pick.x, pick.y, pick.z));
}

/* A warp lowers the values of bucket b by the distances to the picks with a bit in `near` among `hits`, and finds the
 * farthest point and the second largest value of the bucket. */
template <bool STORED>
__device__ static void update_bucket(const block_points<STORED> &points, int b, pc_bucket *bucket, uint32_t near,
                                     const uint16_t *hits, const float4 *fresh) {
    const int64_t begin = points.begin(b);
    const int count = points.count(b);
    uint32_t largest = 0, second = 0, inverted = 0;
    float4 at = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int i = (int)threadIdx.x % 32; i < count; i += 32) {
        const float4 p = points.points[begin + i];
        float d = points.nearest[begin + i];
        for (uint32_t rest = near; rest; rest &= rest - 1) {
            d = lowered(d, p, fresh[hits[__ffs((int)rest) - 1]]);
        }
        points.nearest[begin + i] = d;
        uint32_t value = __float_as_uint(d), mine = ~__float_as_uint(p.w);
        if (value > largest || (value == largest && mine > inverted)) {
            second = largest;
            largest = value;
            inverted = mine;
            at = p;
        } else {
            second = max(second, value);
        }
    }
    store_farthest(bucket, largest, second, inverted, at);
}

/* Loads the buckets of this block, and its points in shared memory. */
template <bool STORED>
__device__ static void load_buckets(const pc_cloud &c, const block_points<STORED> &points, pc_bucket *buckets) {
    const int lane = (int)threadIdx.x % 32;
    const int64_t slots = c.runs + min(*c.pool_used, c.pool);
    for (int b = (int)threadIdx.x / 32; b < points.buckets; b += PC_ROUND_WARPS) {
        int64_t slot = points.slot(b);
        const float inf = HUGE_VALF;
        const float4 none = make_float4(0.0f, 0.0f, 0.0f, __uint_as_float(~0u));
        pc_range r = {{inf, inf, inf}, 0, {-inf, -inf, -inf}, 0};
        if (slot < slots) {
            r = c.ranges[slot];
        }
        if (!STORED) {
            bool there = lane < (int)r.count;
            points.points[b * PC_RUN + lane] = there ? c.sorted[r.begin + lane] : none;
            points.nearest[b * PC_RUN + lane] = there ? inf : 0.0f;
        }
        if (lane == 0) {
            buckets[b] = pc_bucket{
                {r.low[0], r.low[1], r.low[2]}, {r.high[0], r.high[1], r.high[2]}, 0, 0, {0.0f, 0.0f, 0.0f}, 0};
        }
        __syncwarp();
        if (r.count) {
            update_bucket(points, b, &buckets[b], 0, NULL, NULL); /* the seeds may not reach this bucket */
        }
    }
}

/* Groups the block's buckets into families of PC_FAMILY consecutive buckets, and splits a family whose buckets are too
 * distant from each other, as on both sides of a gap. One thread per PC_FAMILY buckets. */
__device__ static void find_families(const refreshing &r, int whole, float longest) {
    for (int f = (int)threadIdx.x; f < whole; f += PC_ROUND_THREADS) {
        const float inf = HUGE_VALF;
        family part = {{inf, inf, inf}, {-inf, -inf, -inf}, f * PC_FAMILY, 0};
        uint32_t slot = (uint32_t)f;
        for (int m = 0; m < PC_FAMILY; m++) {
            const pc_bucket *b = &r.buckets[f * PC_FAMILY + m];
            family larger = part;
            float side = 0.0f;
            for (int k = 0; k < 3; k++) {
                larger.low[k] = fminf(part.low[k], b->low[k]);
                larger.high[k] = fmaxf(part.high[k], b->high[k]);
                side = fmaxf(side, larger.high[k] - larger.low[k]);
            }
            larger.count++;
            uint32_t next = 0;
            if (side > longest && part.count > 0 &&
                (next = atomicAdd(r.family_count, 1u)) < (uint32_t)(whole + PARTED)) {
                r.families[slot] = part;
                slot = next;
                larger = family{
                    {b->low[0], b->low[1], b->low[2]}, {b->high[0], b->high[1], b->high[2]}, f * PC_FAMILY + m, 1};
            }
            part = larger;
        }
        r.families[slot] = part;
    }
}

/* ---- refreshing ------------------------------------------------------------------------------------------------- */

/* Matches the collected hits of a family with its buckets: lane m < PC_FAMILY returns the bits of the hits that may
 * reach bucket m. Lane 8 g + m tests every fourth hit, from the g-th on, with bucket m. */
__device__ static uint32_t match_hits(const refreshing &r, const family &own, float reach, const uint16_t *hits,
                                      int found) {
    const int lane = (int)threadIdx.x % 32;
    uint32_t mine = 0;
    for (int first = 0; first < found; first += 32 / PC_FAMILY) {
        int hit = first + lane / PC_FAMILY;
        float4 pick = r.fresh[hits[min(hit, found - 1)]];
        bool near = (hit < found) & (pc_box_distance(own.low, own.high, pick.x, pick.y, pick.z) < reach);
        uint32_t pairs = __ballot_sync(PC_ALL_LANES, near) >> (lane % PC_FAMILY);
        uint32_t four = (pairs & 1u) | (pairs >> 7 & 2u) | (pairs >> 14 & 4u) | (pairs >> 21 & 8u);
        mine |= four << first;
    }
    return mine;
}

/* A warp finds the buckets of family f that new picks may reach, and appends them to the queue. */
template <bool STORED>
__device__ static void spread_family(const refreshing &r, const block_points<STORED> &points, int f, int count) {
    const family all = r.families[f];
    const int lane = (int)threadIdx.x % 32, first = all.first, member = first + min(lane % PC_FAMILY, all.count - 1);
    const pc_bucket *bucket = &r.buckets[member];
    const float most = __uint_as_float(pc_warp_max(bucket->largest));
    const float reach = lane % PC_FAMILY < all.count ? __uint_as_float(bucket->largest) : -1.0f;
    const family own = {
        {bucket->low[0], bucket->low[1], bucket->low[2]}, {bucket->high[0], bucket->high[1], bucket->high[2]}, 0, 0};
    uint16_t *hits = r.hits + f * HITS;
    int found = 0;
    for (int base = 0; base < count; base += 32) {
        float4 pick = r.fresh[min(base + lane, count - 1)];
        bool hit = (base + lane < count) & (pc_box_distance(all.low, all.high, pick.x, pick.y, pick.z) < most);
        uint32_t hitting = __ballot_sync(PC_ALL_LANES, hit);
        if (found + __popc(hitting) > HITS) { /* the list is full: apply the collected hits first */
            __syncwarp();
            uint32_t near = match_hits(r, own, reach, hits, found);
#pragma unroll 1
            for (int m = 0; m < all.count; m++) {
                uint32_t of_member = __shfl_sync(PC_ALL_LANES, near, m);
                if (of_member) {
                    update_bucket(points, first + m, &r.buckets[first + m], of_member, hits, r.fresh);
                }
            }
            __syncwarp();
            found = 0;
        }
        if (hit) {
            hits[found + __popc(hitting & ((1u << lane) - 1))] = (uint16_t)(base + lane);
        }
        found += __popc(hitting);
    }
    __syncwarp();
    if (found == 0) {
        return;
    }
    uint32_t near = match_hits(r, own, reach, hits, found);
    bool queues = lane < PC_FAMILY && near;
    uint32_t slot = pc_append(r.queued, queues);
    if (queues) {
        r.near[member] = near;
        r.queue[slot] = (uint32_t)member | (uint32_t)f << 16;
    }
}

/* Updates the block's buckets with `count` new picks: one warp per family, then one warp per bucket. The picks must be
 * visible to all threads; afterwards the buckets are visible to all threads. */
template <bool STORED>
__device__ static void refresh(const refreshing &r, const block_points<STORED> &points, int count) {
    const int warp = (int)threadIdx.x / 32;
    const int families = (int)min(*r.family_count, (uint32_t)(points.buckets / PC_FAMILY + PARTED));
    for (int f = warp; f < families; f += PC_ROUND_WARPS) {
        spread_family(r, points, f, count);
    }
    __syncthreads();
    const int queued = (int)*r.queued;
    for (int i = warp; i < queued; i += PC_ROUND_WARPS) {
        int b = (int)(r.queue[i] & 0xffffu), f = (int)(r.queue[i] >> 16);
        update_bucket(points, b, &r.buckets[b], r.near[b], r.hits + f * HITS, r.fresh);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        *r.queued = 0;
    }
}

/* Whether a point is at or above the threshold without being the farthest point of its bucket. */
__device__ static bool matters(const float4 &p, float value, const pc_bucket &bucket, uint32_t least) {
    return __float_as_uint(value) >= least && ~__float_as_uint(p.w) != bucket.inverted;
}

/* Reduces the bounds of the lanes of a warp to a box. */
__device__ static void store_box(pc_box *box, const pc_bounds &bounds, const pc_bucket *bucket) {
#pragma unroll
    for (int axis = 0; axis < 3; axis++) {
        const uint32_t high = pc_warp_max(bounds.high[axis]), inverted_low = pc_warp_max(bounds.inverted_low[axis]);
        if (threadIdx.x % 32 == 0) {
            box->low[axis] = high ? pc_from_ordered(~inverted_low) : bucket->at[axis]; /* for no points, any box is
                                                                                          correct */
            box->high[axis] = high ? pc_from_ordered(high) : bucket->at[axis];
        }
    }
}

/* The update of a bucket in a block with few buckets, by a warp: lowers the values by the new picks that may reach it,
 * finds its farthest point, and lists it with its box if that point is at or above the threshold. */
__device__ static void refresh_bucket(const refreshing &r, const block_points<false> &points, const pc_block &block,
                                      int b, int count, uint32_t threshold) {
    const int lane = (int)threadIdx.x % 32;
    pc_bucket *bucket = &r.buckets[b];
    const float4 p = points.points[b * PC_RUN + lane];
    float d = points.nearest[b * PC_RUN + lane];
    const family own = {
        {bucket->low[0], bucket->low[1], bucket->low[2]}, {bucket->high[0], bucket->high[1], bucket->high[2]}, 0, 0};
    uint32_t value = bucket->largest;
    const float reach = __uint_as_float(value);
    bool touched = false;
#pragma unroll 1
    for (int base = 0; base < count; base += 32) {
        const float4 pick = r.fresh[min(base + lane, count - 1)];
        bool near = (base + lane < count) & (pc_box_distance(own.low, own.high, pick.x, pick.y, pick.z) < reach);
        uint32_t hits = __ballot_sync(PC_ALL_LANES, near);
        touched = touched || hits;
#pragma unroll 1
        for (; hits; hits &= hits - 1) {
            d = lowered(d, p, r.fresh[base + __ffs((int)hits) - 1]);
        }
    }
    if (touched) {
        points.nearest[b * PC_RUN + lane] = d;
        value = store_farthest(bucket, __float_as_uint(d), 0, ~__float_as_uint(p.w), p);
    }
    if (lane == 0) {
        atomicMax(&block.round->own_top, value);
    }
    if (value < threshold) {
        return;
    }
    __syncwarp(); /* all lanes see the bucket's farthest point */
    pc_bounds bounds = {{0, 0, 0}, {0, 0, 0}};
    if (matters(p, d, *bucket, threshold)) {
        pc_bound(&bounds, p.x, p.y, p.z);
    }
    const uint32_t slot = __shfl_sync(PC_ALL_LANES, lane == 0 ? atomicAdd(&block.round->own_count, 1u) : 0, 0);
    if (lane == 0) {
        block.own[slot] = (uint16_t)b;
    }
    if (slot < PC_MOST_MESSAGES) { /* further buckets are not published */
        store_box(&block.round->box[slot], bounds, bucket);
    }
}

#endif
