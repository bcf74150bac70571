/* What the parts of farthest point sampling on CUDA share. sample_order.cu sorts the points of a cloud into buckets of
 * neighbours, sample_rounds.cu picks, sample_rank.cu sorts the picks, and sample.cu plans and launches these steps.
 *
 * The idea: several exact picks per round. Every bucket stores its farthest point, the value v of this point (its
 * squared distance to the picks so far) and the second largest value v2 of its points. "Higher" orders points by value,
 * then by the lower index, as farthest point sampling does. A round accepts the farthest point p of a bucket when every
 * bucket q whose farthest point is higher than p has
 *
 *     |p - q's farthest point|^2 >= v_q, and, where v2_q >= v_p, (distance of p to a box)^2 >= v2_q,
 *
 * where the box encloses all points of q at or above the threshold of the round, except the farthest one. A point x
 * higher than p is either the farthest point of its bucket or has at most the value v2 of that bucket. So the two tests
 * ensure that the distance from p to every higher x is at least sqrt(value of x). Therefore picking p changes no value
 * of a higher point. And picking higher points, whose values only decrease, does not change the value of p, since their
 * distance to p is at least sqrt(v_p). So sampling picks p with its present value, after all higher points. The
 * accepted points of all rounds, sorted from high to low, have the order of farthest point sampling; the points above
 * the highest open point are final. Every round that examines the highest point of all accepts it; at least one of two
 * consecutive rounds does. (Distances to boxes are never rounded above the distances to the points inside: see
 * lib/sample/sample_cpu_buckets.c.)
 *
 * To keep messages short, a round examines only buckets at or above a threshold: a fraction of the largest value,
 * adapted to the number of such buckets. */
#ifndef PC_SAMPLE_CUH
#define PC_SAMPLE_CUH

#include "common.cuh"
#include "warp.cuh"
#include "sample_ops.h"

typedef unsigned long long word;

enum {
    PC_RUN = 32, /* points per bucket, one per lane; more for clouds that stay in global memory */
    PC_FAMILY_LOG = 3,
    PC_FAMILY = 1 << PC_FAMILY_LOG, /* neighbouring buckets with a common box */
    PC_TILE = 128,                  /* accepted picks that are ranked together */
    PC_MOST_BLOCKS = 16,            /* per cluster */
    PC_GRID_THREADS = 1024,
    PC_CLUSTER_THREADS = 512
};

/* A bucket, which is also its message in the exchange of a round. 48 bytes, copied as three float4. */
typedef struct __align__(16) pc_bucket {
    float low[3], high[3];
    uint32_t largest, second; /* bits of the squared distances to the picks, which sort as integers */
    float at[3];              /* the farthest point */
    uint32_t inverted;        /* ~index of the farthest point: larger for lower indices */
}
pc_bucket;

/* The range of a bucket's points in the sorted cloud, and their box. */
typedef struct __align__(16) pc_range {
    float low[3];
    uint32_t begin;
    float high[3];
    uint32_t count;
}
pc_range;

/* Bounds of a cloud as integers that sort as the floats do. The lower bounds are inverted, so that all are maxima that
 * start at 0. */
typedef struct pc_bounds {
    uint32_t high[3], inverted_low[3];
} pc_bounds;

/* The lowest and the highest of PC_TILE consecutive accepted picks. */
typedef struct pc_tile {
    word least, largest;
} pc_tile;

/* The result of the rounds of a cloud. */
typedef struct pc_rounds_end {
    int64_t accepted;      /* picks of all rounds, at least the requested number */
    word open;             /* value bits, inverted index: no remaining point is higher */
    uint32_t final, valid; /* number of ranked picks above `open`; of these, not below the minimum distance */
    uint32_t stuck;        /* nonzero: a round accepted nothing */
} pc_rounds_end;

/* A mailbox of 16 bytes, written and read by one instruction; the last word has the tag of the round. */
typedef uint4 pc_mailbox;

/* The mailboxes of a block of a grid for a round: two per bucket, two per new pick. The first PC_FIXED buckets and
 * PC_FIXED_FRESH picks are written in every round, together with the total number; the others only if they are used.
 * The second mailbox of a pick is for the manager, the last block, which has no points: it stores the picks and decides
 * when their number is sufficient. (Memory layout: sample_grid.cuh.) */
enum {
    PC_FIXED = 4,
    PC_FIXED_FRESH = 4,
    PC_GRID_MESSAGES = 32,
    PC_GRID_ACCEPTS = 16,
    PC_GRID_BLOCKS = 128,
    PC_BUCKET_MAILBOXES = 2 * PC_GRID_MESSAGES, /* per block */
    PC_GRID_MAILBOXES =
        PC_BUCKET_MAILBOXES + 2 * 2 * PC_GRID_ACCEPTS /* even and odd rounds have separate ones for picks */
};

/* A cloud on the device. */
typedef struct pc_cloud {
    int64_t n, first; /* number of points; offset of the first point in the arrays of all clouds */
    const float *x, *y, *z;
    const int32_t *seeds; /* the picks before the first round: the start, or the seeds of the caller */
    int64_t start;        /* of clouds on the device: a record, or -1: the first usable one */
    int64_t seed_count;
    int64_t wanted; /* number of picks after the seeds */
    int64_t lead;   /* 1 when the start is the first entry of the output, else 0 */
    float min_distance;
    float4 *sorted;      /* n: position and the bits of the index */
    float *nearest;      /* n: values, for a cloud that stays in global memory */
    uint32_t runs;       /* runs of consecutive sorted points, one bucket each; long buckets are split */
    uint32_t pool;       /* capacity of the pool of buckets for split parts */
    pc_range *ranges;    /* runs + pool */
    float *side;         /* the longest side of the bounding box */
    uint32_t *pool_used; /* buckets requested from the pool; may exceed the capacity */
    pc_bounds *bounds;
    word *accepted; /* n: value bits, inverted index */
    pc_tile *tiles; /* of the accepted picks */
    pc_rounds_end *end;
    pc_mailbox *mailboxes; /* grid only: PC_GRID_MAILBOXES per block; zero before the first round */
    int32_t *indices;      /* lead + wanted + 1 */
    float *squared;
} pc_cloud;

/* The layout of a launch of the rounds. The buckets have a block-cyclic distribution with chunks of 2^chunk_log: bucket
 * b of block `rank` is range (b / chunk * workers + rank) * chunk + b % chunk of the cloud. So neighbours, which are
 * active in the same rounds, go to different blocks. */
typedef struct pc_rounds_shape {
    int threads;       /* per block */
    int blocks;        /* per cloud; the last block of a grid is the manager */
    int workers;       /* blocks with points */
    int chunk_log;     /* log2 of the chunk: PC_FAMILY_LOG, or 0 for blocks with few buckets */
    int buckets;       /* maximum per block, a multiple of the chunk */
    int bucket_points; /* PC_RUN unless the points stay in global memory */
    int messages;      /* maximum number of buckets that a block publishes per round, <= 64 */
    int fresh;         /* maximum number of new picks that a block processes at once */
    int list;          /* grid only: maximum number of published buckets that a block examines per round */
    bool stored;       /* points in global memory */
    float target;      /* number of buckets above the threshold that the adaptation aims at */
} pc_rounds_shape;

__host__ __device__ static inline int64_t pc_tiles_of(int64_t picks) {
    return (picks + PC_TILE - 1) / PC_TILE;
}

/* For a finite float: an integer that sorts as the float does. */
__device__ static inline uint32_t pc_ordered(float value) {
    uint32_t bits = __float_as_uint(value);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

__device__ static inline float pc_from_ordered(uint32_t bits) {
    return __uint_as_float(bits >> 31 ? bits & 0x7fffffffu : ~bits);
}

/* Extends bounds to a point. */
__device__ static inline void pc_bound(pc_bounds *b, float x, float y, float z) {
    const uint32_t position[3] = {pc_ordered(x), pc_ordered(y), pc_ordered(z)};
    for (int k = 0; k < 3; k++) {
        b->high[k] = max(b->high[k], position[k]);
        b->inverted_low[k] = max(b->inverted_low[k], ~position[k]);
    }
}

/* ---- the parts, on the context's stream ------------------------------------------------------------------------- */

/* Bytes of scratch that pc_sample_order needs for n points in total. */
pcgpu_status pc_sample_order_scratch(pcgpu_context *context, int64_t n, size_t *bytes);
/* Sorts the points of `count` clouds along a curve and splits them into buckets; n points in total, at most `largest`
 * per cloud. */
pcgpu_status pc_sample_order(pcgpu_context *context, const pc_cloud *device, int64_t n, int64_t largest, int count,
                             int bucket_points, void *scratch, size_t scratch_bytes);
/* Bits of a key for a cloud of n points; the other bits of 32 hold the index of the cloud in a launch. */
int pc_sample_key_bits(int64_t n);

/* Shared memory per block, in bytes, and the most that this device has beside the variables of the kernel. */
size_t pc_sample_rounds_bytes(const pc_rounds_shape *shape, bool cluster);
size_t pc_sample_rounds_most(pcgpu_context *context);
/* The number of clusters or blocks of this shape that are resident at the same time; 0 when the device cannot run it.
 * Permits the kernel the shared memory and cluster size that a launch of this shape needs. */
pcgpu_status pc_sample_rounds_resident(pcgpu_context *context, const pc_rounds_shape *shape, bool cluster,
                                       int *resident);
/* The shape is one of which pc_sample_rounds_resident found at least one block or cluster. */
pcgpu_status pc_sample_rounds(pcgpu_context *context, const pc_cloud *device, int count, const pc_rounds_shape *shape,
                              bool cluster);

pcgpu_status pc_sample_rank(pcgpu_context *context, const pc_cloud *device, int count, int64_t most_wanted);

#endif
