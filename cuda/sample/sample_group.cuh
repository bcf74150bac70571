/* The exchange of a round's buckets and new picks between the blocks of a cloud. Blocks of a cluster write into each
 * other's shared memory; blocks of a grid write mailboxes in global memory. Both groups have these functions, called in
 * this order:
 *
 *     publish    publishes this block's buckets above the threshold to all blocks
 *     test       waits for the buckets of all blocks, tests this block's buckets against them, and sums up the round
 *     find_open  finds the open point that sampling picks next, for the test of completion
 *     accept     publishes which of this block's buckets are picked, or that sampling is complete
 *     gather     waits for the picks of all blocks and returns their number, with the positions in `fresh`, or STOP;
 *                appends the picks to the list of the cloud, from `accepted` on
 *
 * test and gather end with a barrier of the block. Blocks for which decides() is true evaluate the completion; all such
 * blocks get the same result. */
#ifndef PC_SAMPLE_GROUP_CUH
#define PC_SAMPLE_GROUP_CUH

#include "sample.cuh"

#define PC_ROUND_THREADS ((int)blockDim.x)
#define PC_ROUND_WARPS   (PC_ROUND_THREADS / 32)

enum {
    PC_MOST_MESSAGES = 64, /* per block and round, one bit each */
    PC_STOP = -1,
};

typedef struct pc_box {
    float low[3], high[3];
} pc_box;

/* The state of a round in a block, in shared memory. */
typedef struct pc_round {
    uint32_t own_count; /* number of the block's buckets above the threshold */
    uint32_t own_top;   /* bits of the largest value of the block */
    bool overflow;      /* there are more buckets than can be published; the highest are published */
    word blocked;       /* a bit for each published bucket */
    /* Of all blocks: */
    uint32_t listed; /* published buckets */
    uint32_t open;   /* bits of the largest value */
    word cut;        /* cutoff key: only buckets at or above it may be accepted, since some buckets below are not
                        listed */
    uint32_t next;   /* of find_open: inverted index of the first listed point with the value `open`, or 0 */
    int32_t fresh;   /* number of new picks; negative: stop */
    /* Of the next round, set by the first warp: */
    float depth;        /* the threshold is (1 - depth) times `open` */
    uint32_t threshold; /* bits of the smallest value that the round examines */
    int32_t limit;      /* maximum number of buckets that a block publishes */
    /* Of the block's published buckets: the farthest point with its value, and its inverted index. */
    float4 at[PC_MOST_MESSAGES];
    uint32_t inverted[PC_MOST_MESSAGES];
    pc_box box[PC_MOST_MESSAGES]; /* around its other points at or above the threshold */
} pc_round;

/* The header of a block's messages in a cluster. */
typedef struct pc_header {
    uint32_t listed, top, overflow;
} pc_header;

/* Bytes of shared memory for the exchange: for a cluster all buckets of a round, headers and masks; for a grid the
 * list. */
__host__ __device__ static inline size_t pc_exchange_bytes(const pc_rounds_shape &shape, bool cluster) {
    size_t block_bytes = (size_t)shape.messages * sizeof(pc_bucket) + sizeof(pc_header) + sizeof(word);
    return cluster ? (size_t)shape.blocks * block_bytes : (size_t)shape.list * sizeof(pc_bucket);
}

/* The arrays of a block, in shared memory. */
typedef struct pc_block {
    pc_bucket *buckets;
    uint16_t *own; /* the published buckets */
    pc_round *round;
    int rank;
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

/* Whether q prevents the acceptance of the block's published bucket i. Without branches, since latency dominates. */
__device__ static inline bool pc_blocks(const pc_block &block, const pc_bucket &q, int i) {
    const float4 p = block.round->at[i];
    const uint32_t largest = __float_as_uint(p.w);
    bool higher = (q.largest > largest) | ((q.largest == largest) & (q.inverted > block.round->inverted[i]));
    bool near = pc_squared_distance(p.x, p.y, p.z, q.at[0], q.at[1], q.at[2]) < __uint_as_float(q.largest);
    bool near_others =
        (q.second >= largest) & (pc_box_distance(q.low, q.high, p.x, p.y, p.z) < __uint_as_float(q.second));
    return higher & (near | near_others);
}

/* Marks the block's published buckets first, first + step, ... below `count` whose acceptance a q of this warp
 * prevents. */
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

/* Updates the result of find_open with a listed bucket. */
__device__ static inline void pc_match_open(pc_round *round, const pc_bucket &b) {
    if (b.largest == round->open) {
        atomicMax(&round->next, b.inverted);
    }
}

/* Copies the members of the published buckets that pc_test needs. */
__device__ static inline void pc_store_own(const pc_block &block, int count) {
    int i = (int)threadIdx.x;
    if (i < count) {
        const pc_bucket &b = block.buckets[block.own[i]];
        block.round->at[i] = make_float4(b.at[0], b.at[1], b.at[2], __uint_as_float(b.largest));
        block.round->inverted[i] = b.inverted;
    }
}

/* Returns a separate slot for each lane that asks, from a counter in shared memory. For whole warps. */
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
