/* Which buckets of a block a round looks at, and what the other blocks are told of them. */
#ifndef PC_SAMPLE_LISTING_CUH
#define PC_SAMPLE_LISTING_CUH

#include "sample_buckets.cuh"

/* Lists the block's buckets at or above the threshold in block.own and finds its highest point. */
__device__ static void select(const pc_block &block, int buckets, uint32_t threshold) {
    const int lane = (int)threadIdx.x % 32;
    for (int first = (int)threadIdx.x - lane; first < buckets; first += PC_ROUND_THREADS) {
        int b = first + lane;
        uint32_t value = b < buckets ? block.buckets[b].largest : 0;
        uint32_t most = pc_warp_max(value);
        uint32_t place = pc_append(&block.round->own_count, value >= threshold);
        if (lane == 0) {
            atomicMax(&block.round->own_top, most);
        }
        if (value >= threshold) {
            block.own[place] = (uint16_t)b;
        }
    }
    __syncthreads();
}

/* Keeps the `most` highest of more buckets than a block may publish, in their order. */
__device__ static void keep_highest(const pc_block &block, uint16_t *chosen, int most) {
    const int count = (int)block.round->own_count;
    for (int i = (int)threadIdx.x; i < count; i += PC_ROUND_THREADS) {
        word mine = pc_key(block.buckets[block.own[i]]);
        int rank = 0;
        for (int k = 0; k < count && rank < most; k++) {
            rank += pc_key(block.buckets[block.own[k]]) > mine;
        }
        if (rank < most) {
            chosen[rank] = block.own[i];
        }
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; i < most; i += PC_ROUND_THREADS) {
        block.own[i] = chosen[i];
    }
    if (threadIdx.x == 0) {
        block.round->more = true;
    }
    __syncthreads();
}

/* Of one pick a round: only the highest bucket. Returns how many. */
__device__ static int keep_top(const pc_block &block, int buckets) {
    const uint32_t top = block.round->own_top;
    if (top == 0) {
        return 0;
    }
    for (int turn = 0; turn < 2; turn++) {
        for (int b = (int)threadIdx.x; b < buckets; b += PC_ROUND_THREADS) {
            if (block.buckets[b].largest == top && turn == 0) {
                atomicMax(&block.round->counted, block.buckets[b].inverted);
            } else if (block.buckets[b].largest == top && block.buckets[b].inverted == block.round->counted) {
                block.own[0] = (uint16_t)b;
            }
        }
        __syncthreads();
    }
    return 1;
}

/* The boxes of the `count` published buckets. A warp a bucket. */
template <bool STORED>
__device__ static void bound_published(const block_points<STORED> &points, const pc_block &block, int count,
                                       uint32_t least) {
#pragma unroll 1
    for (int i = (int)threadIdx.x / 32; i < count; i += PC_ROUND_WARPS) {
        const pc_bucket *bucket = &block.buckets[block.own[i]];
        const int64_t begin = points.begin(block.own[i]);
        pc_bounds bounds = {{0, 0, 0}, {0, 0, 0}};
#pragma unroll 1
        for (int k = (int)threadIdx.x % 32; k < points.count(block.own[i]); k += 32) {
            const float4 p = points.points[begin + k];
            if (matters(p, points.nearest[begin + k], *bucket, least)) {
                pc_bound(&bounds, p.x, p.y, p.z);
            }
        }
        note_box(&block.round->box[i], bounds, bucket);
    }
    __syncthreads();
}

/* Brings a block's buckets up to date with `count` new picks and lists those at or above the threshold in block.own.
 * All threads have seen the picks before and see the list after. */
template <bool STORED>
__device__ static void renew(const refreshing &r, const block_points<STORED> &points, const pc_block &block, int count,
                             uint32_t threshold) {
    if constexpr (!STORED) {
        if (points.kin_log == 0) {
            for (int b = (int)threadIdx.x / 32; b < points.buckets; b += PC_ROUND_WARPS) {
                refresh_bucket(r, points, block, b, count, threshold);
            }
            __syncthreads();
            return;
        }
    }
    refresh(r, points, count);
    select(block, points.buckets, threshold);
}

#endif
