/* How the blocks that sample a cloud together exchange a round's buckets and new picks: blocks of a cluster write into
 * each other's shared memory, blocks of a grid leave notes in global memory. Both offer, in this order,
 *
 *     publish    tells all blocks of this block's buckets above the threshold
 *     test       waits for those of all blocks, runs this block's buckets against them, and sums them up in the round
 *     find_open  finds the open point that would be picked next, when that must be known
 *     accept     tells all blocks which of this block's buckets are picked, or that there are enough
 *     gather     waits for those of all blocks and returns how many they are, their positions in `fresh`, or STOP;
 *                picks go to the cloud's list, from `accepted` on
 *
 * and test and gather end with a barrier of the block. Blocks that decide() say when there are enough, all the same. */
#ifndef PC_SAMPLE_GROUP_CUH
#define PC_SAMPLE_GROUP_CUH

#include "sample.cuh"

#define PC_ROUND_THREADS ((int)blockDim.x)
#define PC_ROUND_WARPS   (PC_ROUND_THREADS / 32)

enum {
    PC_MOST_MESSAGES = 64, /* of a block and round: a bit each */
    PC_STOP = -1,
};

typedef struct pc_box {
    float low[3], high[3];
} pc_box;

/* What a block knows of a round, in shared memory. */
typedef struct pc_round {
    uint32_t own_count; /* of the block's buckets, those above the threshold */
    uint32_t own_top;   /* bits of the largest value of the block */
    bool more;          /* there were more of them than can be published: the highest were */
    word blocked;       /* a bit for each published bucket */
    uint32_t counted;
    /* Of all blocks: */
    uint32_t listed; /* published buckets */
    uint32_t open;   /* bits of the largest value */
    word cut;        /* key: only buckets from it on may be accepted, since some below are not known */
    uint32_t next;   /* of find_open: inverted index of the first listed point with the value `open`, or 0 */
    int32_t fresh;   /* new picks, or less than 0: stop */
    /* Of the next round, by the first warp: */
    float depth;        /* the threshold's share of `open` is 1 - depth */
    uint32_t threshold; /* bits of the least value that a round looks at */
    int32_t limit;      /* buckets that a block may publish */
    /* Of the block's published buckets: the farthest point with its value, and its inverted index. */
    float4 at[PC_MOST_MESSAGES];
    uint32_t inverted[PC_MOST_MESSAGES];
    pc_box box[PC_MOST_MESSAGES]; /* around its other points that a round looks at */
} pc_round;

/* What a block of a cluster tells the others in a round beside its buckets. */
typedef struct pc_header {
    uint32_t listed, top, more;
} pc_header;

/* Shared memory of the exchange: of a cluster all buckets of a round, headers and masks, of a grid the list. */
__host__ __device__ static inline size_t pc_exchange_bytes(const pc_rounds_shape &shape, bool cluster) {
    size_t a_block = (size_t)shape.messages * sizeof(pc_bucket) + sizeof(pc_header) + sizeof(word);
    return cluster ? (size_t)shape.blocks * a_block : (size_t)shape.list * sizeof(pc_bucket);
}

/* What a block works on: arrays in its shared memory. */
typedef struct pc_block {
    pc_bucket *buckets;
    uint16_t *own; /* buckets that the block publishes */
    pc_round *round;
    int rank;
    bool single;
} pc_block;

__device__ static inline word pc_key(const pc_bucket &b) {
    return (word)b.largest << 32 | b.inverted;
}

__device__ static inline float pc_box_distance(const float *low, const float *high, float x, float y, float z) {
    float dx = fmaxf(fmaxf(low[0] - x, x - high[0]), 0.0f);
    float dy = fmaxf(fmaxf(low[1] - y, y - high[1]), 0.0f);
    float dz = fmaxf(fmaxf(low[2] - z, z - high[2]), 0.0f);
    return (dx * dx + dy * dy) + dz * dz;
}

/* Whether q keeps the block's published bucket i from being accepted. No branches: time is latency here. */
__device__ static inline bool pc_blocks(const pc_block &block, const pc_bucket &q, int i) {
    const float4 p = block.round->at[i];
    const uint32_t largest = __float_as_uint(p.w);
    bool higher = (q.largest > largest) | ((q.largest == largest) & (q.inverted > block.round->inverted[i]));
    bool near = pc_squared_distance(p.x, p.y, p.z, q.at[0], q.at[1], q.at[2]) < __uint_as_float(q.largest);
    bool near_others =
        (q.second >= largest) & (pc_box_distance(q.low, q.high, p.x, p.y, p.z) < __uint_as_float(q.second));
    return higher & (near | near_others | block.single);
}

/* Marks the block's published buckets first, first + step, ... below `count` that a q of this warp keeps from being
 * accepted. */
__device__ static inline void pc_test(const pc_block &block, const pc_bucket &q, int first, int step, int count) {
    word blocked = 0;
#pragma unroll 2
    for (int i = first; i < count; i += step) {
        blocked |= __any_sync(PC_ALL_LANES, pc_blocks(block, q, i)) ? 1ull << i : 0;
    }
    if (blocked && threadIdx.x % 32 == 0) {
        atomicOr(&block.round->blocked, blocked);
    }
}

/* What find_open does with each listed bucket. */
__device__ static inline void pc_note_open(pc_round *round, const pc_bucket &b) {
    if (b.largest == round->open) {
        atomicMax(&round->next, b.inverted);
    }
}

/* Notes what pc_test needs of the published buckets. */
__device__ static inline void pc_note_own(const pc_block &block, int count) {
    int i = (int)threadIdx.x;
    if (i < count) {
        const pc_bucket &b = block.buckets[block.own[i]];
        block.round->at[i] = make_float4(b.at[0], b.at[1], b.at[2], __uint_as_float(b.largest));
        block.round->inverted[i] = b.inverted;
    }
}

/* A place of its own for each lane that asks, from a counter in shared memory; by a whole warp. */
__device__ static inline uint32_t pc_append(uint32_t *counter, bool asks) {
    const int lane = (int)threadIdx.x % 32;
    const uint32_t all = __ballot_sync(PC_ALL_LANES, asks);
    uint32_t first = lane == 0 && all ? atomicAdd(counter, (uint32_t)__popc(all)) : 0;
    return __shfl_sync(PC_ALL_LANES, first, 0) + (uint32_t)__popc(all & ((1u << lane) - 1));
}

__device__ static inline uint32_t pc_bits_below(word mask, int bit) {
    return (uint32_t)__popcll(mask & ((1ull << bit) - 1));
}

#endif
