/* Which buckets of a block a round examines, and the boxes that the block publishes. */
#ifndef PC_SAMPLE_LISTING_CUH
#define PC_SAMPLE_LISTING_CUH

#include "sample_buckets.cuh"

/* Lists the block's buckets at or above the threshold in block.own, and finds the block's largest value. */
__device__ static void select(const pc_block &block, int buckets, uint32_t threshold) {
    const int lane = (int)threadIdx.x % 32;
    for (int first = (int)threadIdx.x - lane; first < buckets; first += PC_ROUND_THREADS) {
        int b = first + lane;
        uint32_t value = b < buckets ? block.buckets[b].largest : 0;
        uint32_t most = pc_warp_max(value);
        uint32_t slot = pc_append(&block.round->own_count, value >= threshold);
        if (lane == 0) {
            atomicMax(&block.round->own_top, most);
        }
        if (value >= threshold) {
            block.own[slot] = (uint16_t)b;
        }
    }
    __syncthreads();
}

/* Keeps the `most` highest buckets, in their order, when there are more than the block may publish. */
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
        block.round->overflow = true;
    }
    __syncthreads();
}

/* Computes the boxes of the `count` published buckets. One warp per bucket. */
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
        store_box(&block.round->box[i], bounds, bucket);
    }
    __syncthreads();
}

/* Updates a block's buckets with `count` new picks and lists the buckets at or above the threshold in block.own. The
 * picks must be visible to all threads; afterwards the list is visible to all threads. */
template <bool STORED>
__device__ static void renew(const refreshing &r, const block_points<STORED> &points, const pc_block &block, int count,
                             uint32_t threshold) {
    if constexpr (!STORED) {
        if (points.chunk_log == 0) {
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
