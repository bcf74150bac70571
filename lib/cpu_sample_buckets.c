/* Farthest point sampling that looks only at points a pick may be nearest to; same picks and distances as the plain
 * loop, bit for bit.
 *
 * The points, in an order that keeps neighbours together, are cut into buckets. A bucket knows its bounding box and its
 * farthest point. A pick changes no distance of a bucket whose box is at least as far from it as the bucket's farthest
 * point is from the picks, and such a bucket is skipped. A tree of nodes with sixteen children each, buckets at the
 * bottom, skips whole branches in the same way and tells the farthest point of all. (Han et al., "QuickFPS", IEEE TCAD
 * 2023, skip in this way in a k-d tree.)
 *
 * Why skipping is exact in float32: the distance to a box is computed as pc_squared_distance to the pick moved into the
 * box, coordinate by coordinate. For any point of the box this moved coordinate lies between the pick's and the
 * point's, so the exact difference to the pick is no larger. Rounding is monotone, for subnormal numbers and overflow
 * to +inf too, and so are the product of a non-negative number with itself and the sum of such products; as the
 * operations and their order are the same, the computed distance to the box is at most the computed distance to any
 * point of it. When it is not below the largest distance of the bucket, no distance of the bucket can change.
 *
 * Why ties are exact: farthest points are compared by distance, then by the lowest index in the cloud, among the
 * points of a bucket as among the children of a node; the order of the points in buckets has no part in it. */
#include "cpu_sample.h"

#include <stdlib.h>

/* Before a loop over the children of a node: GCC would write it out sixteen times before it looks for vectors. */
#define KEEP_LOOP _Pragma("GCC unroll 1")

enum {
    FANOUT = 16,
    LEVELS = 8, /* 16^8 buckets: more than there are int32 indices */
    CACHE_LINE = 64,
    NO_INDEX = INT32_MAX, /* of an empty place; above every point's */
};

/* Boxes and farthest points of sixteen children; a place without a child has bits PC_PICKED and is never near. */
typedef struct node {
    float low[3][FANOUT], high[3][FANOUT];
    int32_t bits[FANOUT], index[FANOUT];
} node;

/* Nodes of one level, one after the other: child c of node v is node or bucket v * FANOUT + c of the level below. */
typedef struct level {
    node *nodes;
    int64_t count;
    int32_t *visited; /* count: the nodes that the newest pick may change */
    int64_t visits;
} level;

/* The coordinates, squared distances to the picks and indices of the points of a bucket. */
typedef struct bucket {
    float *x, *y, *z;
    int32_t *nearest, *index;
} bucket;

typedef struct tree {
    int64_t points;  /* in a bucket; the last one is filled up with picked points */
    int64_t buckets; /* >= 1 */
    void *memory;    /* of the buckets, 20 bytes a point */
    node *nodes;
    int32_t *visited;
    uint8_t *taken;      /* a bit for each point, by index: picked from the first */
    level level[LEVELS]; /* from the parents of the buckets to the root */
    int levels;
} tree;

PC_INLINE bucket bucket_at(const tree *t, int64_t b) {
    int32_t *whole = (int32_t *)t->memory + 5 * t->points * b;
    float *x = (float *)whole;
    return (bucket){x, x + t->points, x + 2 * t->points, whole + 3 * t->points, whole + 4 * t->points};
}

/* ---- a round ---------------------------------------------------------------------------------------------------- */

/* The lowest index of those with the largest distance, which is `bits`. */
PC_INLINE int32_t lowest_index(const int32_t *bits_of, const int32_t *index, int64_t n, int32_t bits) {
    int32_t lowest = NO_INDEX;
    KEEP_LOOP
    for (int64_t i = 0; i < n; i++) {
        int32_t other = -(int32_t)(bits_of[i] != bits); /* a mask: a choice would become a branch, and no vectors */
        int32_t own = index[i] | (other & NO_INDEX);
        lowest = own < lowest ? own : lowest;
    }
    return lowest;
}

PC_INLINE pc_far_point farthest_child(const node *v) {
    int32_t bits = PC_PICKED;
    KEEP_LOOP
    for (int c = 0; c < FANOUT; c++) {
        bits = v->bits[c] > bits ? v->bits[c] : bits;
    }
    return (pc_far_point){bits, lowest_index(v->bits, v->index, FANOUT, bits)};
}

PC_INLINE pc_far_point lower_bucket(const tree *t, int64_t b, const float *pick) {
    bucket k = bucket_at(t, b);
    int32_t bits = pc_lower_distances(k.x, k.y, k.z, k.nearest, t->points, pick);
    return (pc_far_point){bits, lowest_index(k.nearest, k.index, t->points, bits)};
}

PC_INLINE float clamped(float value, float low, float high) {
    float v = value < low ? low : value;
    return v > high ? high : v;
}

/* A bit for each child whose box is nearer to the pick than the child's farthest point is to the picks so far. */
PC_INLINE uint32_t near_children(const node *v, const float *pick) {
    const float px = pick[0], py = pick[1], pz = pick[2];
    uint32_t mask = 0;
    KEEP_LOOP
    for (int c = 0; c < FANOUT; c++) {
        float x = clamped(px, v->low[0][c], v->high[0][c]);
        float y = clamped(py, v->low[1][c], v->high[1][c]);
        float z = clamped(pz, v->low[2][c], v->high[2][c]);
        mask |= pc_float_bits(pc_squared_distance(x, y, z, px, py, pz)) < v->bits[c] ? 1u << c : 0u;
    }
    return mask;
}

/* Lowers the distances by those to `pick`, from the root down to the buckets it may change, then brings the farthest
 * points of the visited nodes up to date, and returns the farthest of all. */
PC_INLINE pc_far_point lower_tree(tree *t, const float *pick) {
    const int root = t->levels - 1;
    t->level[root].visits = 1; /* the list of the root is always its one node */
    for (int l = root; l >= 0; l--) {
        level *here = &t->level[l], *below = l > 0 ? here - 1 : NULL;
        if (below) {
            below->visits = 0;
        }
        for (int64_t i = 0; i < here->visits; i++) {
            node *v = &here->nodes[here->visited[i]];
            for (uint32_t mask = near_children(v, pick); mask; mask &= mask - 1) {
                int c = __builtin_ctz(mask);
                int64_t child = (int64_t)here->visited[i] * FANOUT + c;
                if (below) {
                    below->visited[below->visits++] = (int32_t)child;
                } else {
                    pc_far_point far = lower_bucket(t, child, pick);
                    v->bits[c] = far.bits;
                    v->index[c] = far.index;
                }
            }
        }
    }
    for (int l = 0; l < root; l++) {
        const level *here = &t->level[l], *above = here + 1;
        for (int64_t i = 0; i < here->visits; i++) {
            pc_far_point far = farthest_child(&here->nodes[here->visited[i]]);
            node *parent = &above->nodes[here->visited[i] / FANOUT];
            parent->bits[here->visited[i] % FANOUT] = far.bits;
            parent->index[here->visited[i] % FANOUT] = far.index;
        }
    }
    return farthest_child(t->level[root].nodes);
}

/* The place of `index`, which occurs once among n. */
PC_INLINE int64_t place_of(const int32_t *index, int64_t n, int32_t wanted) {
    int32_t place = 0;
    KEEP_LOOP
    for (int32_t i = 0; i < n; i++) {
        place |= index[i] == wanted ? i : 0;
    }
    return place;
}

/* Marks the farthest point of the tree as picked and writes its position. The nodes on the way to it are given an
 * infinite distance, so that the round of this pick comes to its bucket even when the pick was at distance 0. */
PC_INLINE void take_farthest(tree *t, int32_t index, float *position) {
    int64_t v = 0;
    for (int l = t->levels - 1; l >= 0; l--) {
        node *here = &t->level[l].nodes[v];
        int64_t c = place_of(here->index, FANOUT, index);
        here->bits[c] = PC_INFINITE;
        v = v * FANOUT + c;
    }
    bucket k = bucket_at(t, v);
    int64_t place = place_of(k.index, t->points, index);
    k.nearest[place] = PC_PICKED;
    position[0] = k.x[place];
    position[1] = k.y[place];
    position[2] = k.z[place];
}

static uint32_t reversed_bits(uint32_t v) {
    v = (v & 0x55555555u) << 1 | (v >> 1 & 0x55555555u);
    v = (v & 0x33333333u) << 2 | (v >> 2 & 0x33333333u);
    v = (v & 0x0f0f0f0fu) << 4 | (v >> 4 & 0x0f0f0f0fu);
    return __builtin_bswap32(v);
}

/* Lowers the distances by those to the points `picks`, in the order of the reversed bits of their places: whatever
 * order they came in, a scan's or a curve's, the first ones are then spread over the whole cloud, and the others have
 * only the neighbourhood to change. One after the other along a scan, each would change all that lies ahead. */
PC_INLINE pc_far_point lower_by(tree *t, const pc_sample_job *job, const int32_t *picks, int64_t count) {
    pc_far_point far = {.bits = PC_PICKED, .index = NO_INDEX};
    int bits = 0;
    while (count > INT64_C(1) << bits) {
        bits++;
    }
    for (int64_t i = 0; i < INT64_C(1) << bits; i++) {
        int64_t place = (int64_t)((uint64_t)reversed_bits((uint32_t)i) << bits >> 32);
        if (place < count) {
            int32_t p = picks[place];
            const float position[3] = {job->x[p], job->y[p], job->z[p]};
            far = lower_tree(t, position);
        }
    }
    return far;
}

/* All picks. The seeds or the start are marked as picked, and every distance is infinite. */
PC_INLINE void pick_points(tree *t, pc_sample_job *job) {
    const int32_t start = (int32_t)job->start;
    int64_t picked = 0;
    if (job->seed_count == 0) {
        job->indices[0] = start;
        job->squared[0] = INFINITY;
        picked = 1;
    }
    pc_far_point far = job->seed_count ? lower_by(t, job, job->seeds, job->seed_count) : lower_by(t, job, &start, 1);
    while (!pc_sampling_ends(job, picked, far)) {
        float position[3];
        job->indices[picked] = far.index;
        job->squared[picked++] = pc_bits_float(far.bits);
        take_farthest(t, far.index, position);
        far = lower_tree(t, position);
    }
    pc_end_sampling(job, picked, far);
}

static void pick_points_base(tree *t, pc_sample_job *job) {
    pick_points(t, job);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void pick_points_avx2(tree *t, pc_sample_job *job) {
    pick_points(t, job);
}

__attribute__((target("avx512f"))) static void pick_points_avx512(tree *t, pc_sample_job *job) {
    pick_points(t, job);
}
#endif

/* ---- building the tree ------------------------------------------------------------------------------------------ */

/* Fills bucket b from the order of the points, and its place in its parent. */
static void fill_bucket(const tree *t, int64_t b, const pc_sample_job *job, const uint64_t *order) {
    bucket k = bucket_at(t, b);
    node *parent = &t->level[0].nodes[b / FANOUT];
    int c = (int)(b % FANOUT);
    int64_t first = b * t->points;
    int64_t n = job->n - first < t->points ? job->n - first : t->points;
    for (int64_t i = 0; i < n; i++) {
        uint32_t p = (uint32_t)order[first + i];
        k.x[i] = job->x[p];
        k.y[i] = job->y[p];
        k.z[i] = job->z[p];
        k.nearest[i] = t->taken[p / 8] >> p % 8 & 1 ? PC_PICKED : PC_INFINITE;
        k.index[i] = (int32_t)p;
    }
    for (int64_t i = n; i < t->points; i++) {
        k.x[i] = k.y[i] = k.z[i] = 0.0f;
        k.nearest[i] = PC_PICKED;
        k.index[i] = NO_INDEX;
    }
    const float *axes[3] = {k.x, k.y, k.z};
    for (int a = 0; a < 3; a++) {
        float low = axes[a][0], high = low;
        for (int64_t i = 1; i < n; i++) {
            low = axes[a][i] < low ? axes[a][i] : low;
            high = axes[a][i] > high ? axes[a][i] : high;
        }
        parent->low[a][c] = low;
        parent->high[a][c] = high;
    }
    parent->bits[c] = PC_INFINITE; /* of points picked from the first too: the first round comes to every bucket */
    parent->index[c] = lowest_index(k.nearest, k.index, n, PC_INFINITE);
}

/* Fills the place of node v in its parent. */
static void fill_parent(const level *here, const level *above, int64_t v) {
    const node *from = &here->nodes[v];
    node *parent = &above->nodes[v / FANOUT];
    int c = (int)(v % FANOUT);
    for (int a = 0; a < 3; a++) {
        float low = from->low[a][0], high = from->high[a][0];
        for (int i = 1; i < FANOUT && from->bits[i] != PC_PICKED; i++) {
            low = from->low[a][i] < low ? from->low[a][i] : low;
            high = from->high[a][i] > high ? from->high[a][i] : high;
        }
        parent->low[a][c] = low;
        parent->high[a][c] = high;
    }
    pc_far_point far = farthest_child(from);
    parent->bits[c] = far.bits;
    parent->index[c] = far.index;
}

static void *allocate_lines(uint64_t bytes) {
    uint64_t lines = (bytes + CACHE_LINE - 1) / CACHE_LINE;
    return lines > SIZE_MAX / CACHE_LINE ? NULL : aligned_alloc(CACHE_LINE, (size_t)lines * CACHE_LINE);
}

/* Lays out the levels in memory and marks all places as empty; false when memory is short. */
static bool allocate_tree(tree *t, int64_t n) {
    int64_t nodes = 0;
    t->buckets = (n + t->points - 1) / t->points;
    for (int64_t below = t->buckets; t->levels == 0 || below > 1; t->levels++) {
        below = (below + FANOUT - 1) / FANOUT;
        t->level[t->levels].count = below;
        nodes += below;
    }
    t->memory = allocate_lines((uint64_t)t->buckets * (uint64_t)t->points * 5 * sizeof(int32_t));
    t->nodes = allocate_lines((uint64_t)nodes * sizeof *t->nodes);
    t->visited = calloc((size_t)nodes, sizeof *t->visited);
    t->taken = calloc((size_t)n / 8 + 1, 1);
    if (!t->memory || !t->nodes || !t->visited || !t->taken) {
        return false;
    }
    memset(t->nodes, 0, (size_t)nodes * sizeof *t->nodes);
    for (int64_t v = 0, l = 0, end = 0; v < nodes; v++) {
        if (v == end) {
            t->level[l].nodes = t->nodes + v;
            t->level[l].visited = t->visited + v;
            end += t->level[l++].count;
        }
        for (int c = 0; c < FANOUT; c++) {
            t->nodes[v].bits[c] = PC_PICKED;
            t->nodes[v].index[c] = NO_INDEX;
        }
    }
    return true;
}

static void mark_taken(const tree *t, const pc_sample_job *job) {
    for (int64_t k = 0; k < job->seed_count; k++) {
        t->taken[job->seeds[k] / 8] |= (uint8_t)(1u << job->seeds[k] % 8);
    }
    if (job->seed_count == 0) {
        t->taken[job->start / 8] |= (uint8_t)(1u << job->start % 8);
    }
}

/* The memory of the buckets serves the sort first, so that at most 28 bytes a point are held at a time. */
static bool build_tree(tree *t, const pc_sample_job *job) {
    uint64_t *order = malloc((size_t)job->n * sizeof *order);
    bool ok = order && allocate_tree(t, job->n);
    if (ok) {
        mark_taken(t, job);
        pc_sample_order(job, order, t->memory);
        for (int64_t b = 0; b < t->buckets; b++) {
            fill_bucket(t, b, job, order);
        }
        for (int l = 0; l + 1 < t->levels; l++) {
            for (int64_t v = 0; v < t->level[l].count; v++) {
                fill_parent(&t->level[l], &t->level[l + 1], v);
            }
        }
    }
    free(order);
    return ok;
}

bool pc_sample_by_buckets(pc_sample_job *job, pc_simd simd, int32_t bucket_points) {
    tree t = {.points = bucket_points};
    bool ok = build_tree(&t, job);
    if (ok) {
#if defined(__x86_64__)
        (simd == PC_SIMD_AVX512 ? pick_points_avx512
         : simd == PC_SIMD_AVX2 ? pick_points_avx2
                                : pick_points_base)(&t, job);
#else
        (void)simd;
        pick_points_base(&t, job);
#endif
    }
    free(t.memory);
    free(t.nodes);
    free(t.visited);
    free(t.taken);
    return ok;
}
