/* What the parts of farthest point sampling on CUDA share. sample_order.cu puts the points of a cloud into buckets of
 * neighbours, sample_rounds.cu picks, sample_rank.cu brings the picks into order, and sample.cu plans and calls them.
 *
 * The idea: several exact picks a round. Every bucket knows its farthest point, its value v (the squared distance to
 * the picks so far) and the second largest value v2 among its points. "Higher" orders points by value, then by the
 * lower index, as farthest point sampling does. A round accepts the farthest point p of a bucket when every bucket q
 * whose farthest point is higher than p has
 *
 *     |p - q's farthest point|^2 >= v_q, and, where v2_q >= v_p, (distance of p to a box)^2 >= v2_q,
 *
 * a box around the points of q, but for its farthest, that are not below the values that the round looks at. A point x
 * higher than p is either the farthest one of its bucket or has at most the value v2 there, so the two tests say that p
 * is at least sqrt(value of x) away from every higher x. Thus picking p changes no value of a higher point, and picking
 * higher points, whose values only fall, does not change the value of p: it is at least as far from them as its own
 * value demands. So p is picked with just the value it has now, whenever its turn comes. The accepted points of all
 * rounds, sorted from high to low, are the order of farthest point sampling; those above the highest point that is still
 * open are final. The highest point of all is accepted by every round that looks at it, which of two rounds one does.
 * (Distances to boxes are rounded no higher than those to the points inside: see lib/sample/sample_cpu_buckets.c.)
 *
 * To keep messages short a round looks only at buckets at or above a threshold, a share of the largest value that
 * follows the number of them. */
#ifndef PC_SAMPLE_CUH
#define PC_SAMPLE_CUH

#include "common.cuh"
#include "warp.cuh"
#include "sample_ops.h"

typedef unsigned long long word;

enum {
    PC_RUN = 32, /* points in a bucket, one a lane; more of them in clouds that stay in global memory */
    PC_FAMILY_LOG = 3,
    PC_FAMILY = 1 << PC_FAMILY_LOG, /* neighbouring buckets with a box around them all */
    PC_TILE = 128,                  /* accepted picks that are ranked together */
    PC_MOST_BLOCKS = 16,            /* of a cluster */
    PC_GRID_THREADS = 1024,
    PC_CLUSTER_THREADS = 512
};

/* A bucket; while a round lasts also the message about it. 48 bytes, copied as three float4. */
typedef struct __align__(16) pc_bucket {
    float low[3], high[3];
    uint32_t largest, second; /* bits of the squared distances to the picks; these order as integers do */
    float at[3];              /* the farthest point */
    uint32_t inverted;        /* ~index of it: larger for lower indices */
}
pc_bucket;

/* Where the points of a bucket are in the sorted cloud, and their box. */
typedef struct __align__(16) pc_range {
    float low[3];
    uint32_t begin;
    float high[3];
    uint32_t count;
}
pc_range;

/* Bounds of a cloud as integers that order as the floats do; the lower ones inverted, so that all are maxima from 0. */
typedef struct pc_bounds {
    uint32_t high[3], inverted_low[3];
} pc_bounds;

/* The lowest and the highest of PC_TILE picks that follow each other in the list of accepted ones. */
typedef struct pc_tile {
    word least, largest;
} pc_tile;

/* What a cloud's rounds leave. */
typedef struct pc_rounds_end {
    int64_t accepted;      /* picks of all rounds, more than asked for */
    word open;             /* value bits, inverted index: no point that is left is higher */
    uint32_t final, valid; /* of the ranked picks: above `open`; of these, not below the least distance */
    uint32_t stuck;        /* nonzero: a round accepted nothing */
} pc_rounds_end;

/* Sixteen bytes that are written and read at once; the last word says of which round they are. */
typedef uint4 pc_note;

/* What a block of a grid tells the others in a round: two notes a bucket, two a new pick. The first PC_SURE buckets
 * and PC_SURE_FRESH picks are written in every round, with the number of them all; the others when there are so many.
 * The second note of a pick is for the manager, the last block, which has no points: it keeps the picks and says when
 * they are enough. (How they lie in memory: sample_grid.cuh.) */
enum {
    PC_SURE = 4,
    PC_SURE_FRESH = 4,
    PC_GRID_MESSAGES = 32,
    PC_GRID_ACCEPTS = 16,
    PC_GRID_BLOCKS = 128,
    PC_BUCKET_NOTES = 2 * PC_GRID_MESSAGES,                   /* of a block */
    PC_GRID_NOTES = PC_BUCKET_NOTES + 2 * 2 * PC_GRID_ACCEPTS /* those of picks apart for even and for odd rounds */
};

/* A cloud on the device. */
typedef struct pc_cloud {
    int64_t n, first; /* points, and the place of the first in the arrays of all clouds together */
    const float *x, *y, *z;
    const int32_t *seeds; /* the picks before the first round: the start, or what the caller has picked */
    int64_t seed_count;
    int64_t wanted; /* picks after these */
    int64_t lead;   /* 1 when the start is the first entry of the output, else 0 */
    float min_distance;
    float4 *sorted; /* n: position and the bits of the index */
    float *nearest; /* n: values, for a cloud that stays in global memory */
    uint32_t runs;  /* of consecutive sorted points, a bucket each; long ones lose parts to spare buckets */
    uint32_t spare;
    pc_range *ranges; /* runs + spare */
    float *side;      /* the longest one of the bounding box */
    uint32_t *spared; /* how many of the spare ones are wanted; may be more than there are */
    pc_bounds *bounds;
    word *accepted; /* n: value bits, inverted index */
    pc_tile *tiles; /* of the accepted picks */
    pc_rounds_end *end;
    pc_note *notes;   /* of a grid: PC_GRID_NOTES a block; zero before the first round */
    int32_t *indices; /* lead + wanted + 1 */
    float *squared;
} pc_cloud;

/* How a launch of the rounds is laid out. Bucket b of block `rank` is range (b / kin * workers + rank) * kin + b % kin
 * of the cloud, kin = 2^kin_log: neighbours, whose work comes in the same rounds, go to different blocks. */
typedef struct pc_rounds_shape {
    int threads; /* of a block */
    int blocks;  /* a cloud; of a grid the last one is the manager */
    int workers; /* those with points */
    int kin_log; /* buckets of a block that follow each other, as a power of 2: PC_FAMILY, or 1 where it has few */
    int buckets; /* most in a block, a multiple of that */
    int bucket_points; /* PC_RUN unless the points stay in global memory */
    int messages;      /* most buckets that a block tells the others of in a round, <= 64 */
    int fresh;         /* new picks that a block looks at together */
    int list;    /* of a grid: buckets of all blocks that a block looks at in a round, the others are left for later */
    bool stored; /* points in global memory */
    bool single; /* one pick a round */
    float crowd; /* buckets above the threshold that a round aims at */
} pc_rounds_shape;

__host__ __device__ static inline int64_t pc_tiles_of(int64_t picks) {
    return (picks + PC_TILE - 1) / PC_TILE;
}

/* For a finite float: an integer that orders as the float does. */
__device__ static inline uint32_t pc_ordered(float value) {
    uint32_t bits = __float_as_uint(value);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

__device__ static inline float pc_from_ordered(uint32_t bits) {
    return __uint_as_float(bits >> 31 ? bits & 0x7fffffffu : ~bits);
}

/* Widens bounds to a point. */
__device__ static inline void pc_bound(pc_bounds *b, float x, float y, float z) {
    const uint32_t position[3] = {pc_ordered(x), pc_ordered(y), pc_ordered(z)};
    for (int k = 0; k < 3; k++) {
        b->high[k] = max(b->high[k], position[k]);
        b->inverted_low[k] = max(b->inverted_low[k], ~position[k]);
    }
}

/* ---- the parts, on the context's stream ------------------------------------------------------------------------- */

/* Bytes of scratch that pc_sample_order needs for n points in all. */
pcgpu_status pc_sample_order_scratch(pcgpu_context *context, int64_t n, size_t *bytes);
/* Sorts the points of `count` clouds along a curve and cuts them into buckets; n points in all, at most `largest` in
 * one. */
pcgpu_status pc_sample_order(pcgpu_context *context, const pc_cloud *device, int64_t n, int64_t largest, int count,
                             int bucket_points, void *scratch, size_t scratch_bytes);
/* Bits of a key for a cloud of n points; a launch holds as many clouds as the other bits of 32 can count. */
int pc_sample_key_bits(int64_t n);

/* Shared memory of a block, in bytes. */
size_t pc_sample_rounds_bytes(const pc_rounds_shape *shape, bool cluster);
/* Clusters or blocks of this shape that run at the same time; 0 when the device cannot run it. */
pcgpu_status pc_sample_rounds_resident(pcgpu_context *context, const pc_rounds_shape *shape, bool cluster,
                                       int *resident);
pcgpu_status pc_sample_rounds(pcgpu_context *context, const pc_cloud *device, int count, const pc_rounds_shape *shape,
                              bool cluster);

pcgpu_status pc_sample_rank(pcgpu_context *context, const pc_cloud *device, int count, int64_t most_wanted);

#endif
