/* Construction of the tree of buckets: sort the points, gather them in this order, and compute the bounds of each
 * bucket and node. */
#include "sample_cpu_tree.h"
#include "temporary.h"

#include <stdlib.h>

enum {
    BUCKETS_PER_PART = 256,
    NODES_PER_PART = BUCKETS_PER_PART / PC_FANOUT,
    POINTS_PER_PART = 1 << 15,
};

/* Gathers one coordinate of bucket b in the order of the points, and computes its bounds. */
PC_INLINE void fill_axis(const pc_tree *t, int64_t b, int axis, const float *from, float *to) {
    const int64_t begin = b * t->points, n = t->n - begin < t->points ? t->n - begin : t->points;
    const int32_t *order = t->index + begin;
    pc_node *v = &t->level[0].nodes[b / PC_FANOUT];
    for (int64_t i = 0; i < n; i++) {
        to[begin + i] = from[order[i]];
    }
    pc_find_bounds(to + begin, n, &v->low[axis][b % PC_FANOUT], &v->high[axis][b % PC_FANOUT]);
}

PC_INLINE void reach_first(const pc_tree *t, int64_t b) {
    const pc_bucket k = pc_bucket_at(t, b);
    pc_update_farthest(t, b, pc_lower_distances(k.x, k.y, k.z, k.nearest, k.n, t->first[0]));
}

PC_SIMD_FORMS_OF(fill_axis, (const pc_tree *t, int64_t b, int axis, const float *from, float *to),
                 (t, b, axis, from, to))
PC_SIMD_FORMS_OF(reach_first, (const pc_tree *t, int64_t b), (t, b))

static uint32_t reversed_bits(uint32_t v) {
    v = (v & 0x55555555u) << 1 | (v >> 1 & 0x55555555u);
    v = (v & 0x33333333u) << 2 | (v >> 2 & 0x33333333u);
    v = (v & 0x0f0f0f0fu) << 4 | (v >> 4 & 0x0f0f0f0fu);
    return __builtin_bswap32(v);
}

/* Stores the positions of the start or the seeds, sorted by the bit-reversed index in the list. Whatever the order of
 * the seeds, along a scan or a curve, the first ones are then spread over the whole cloud, and the others change only
 * their neighbourhood. In the order of a scan, each seed would change all points ahead of it. */
static bool order_first(pc_tree *t, const pc_sample_job *job) {
    const int32_t start = (int32_t)job->start, *picks = job->seed_count ? job->seeds : &start;
    const int64_t count = job->seed_count ? job->seed_count : 1;
    int bits = 0;
    while (count > INT64_C(1) << bits) {
        bits++;
    }
    t->first = t->memory[4] = malloc((size_t)count * sizeof *t->first);
    for (int64_t i = 0; t->first && i < INT64_C(1) << bits; i++) {
        int64_t slot = (int64_t)((uint64_t)reversed_bits((uint32_t)i) << bits >> 32);
        if (slot < count) {
            float *to = t->first[t->first_count++];
            to[0] = job->x[picks[slot]];
            to[1] = job->y[picks[slot]];
            to[2] = job->z[picks[slot]];
        }
    }
    return t->first != NULL;
}

static void clear_nearest(void *state, int64_t begin, int64_t end) {
    const pc_tree *t = state;
    for (int64_t i = begin; i < end; i++) {
        t->nearest[i] = PC_INFINITE;
    }
}

/* Marks the start or the seeds as picked; the seeds by one bit per point, since they may be many. */
static bool mark_picked(pcgpu_context *context, pc_tree *t, const pc_sample_job *job) {
    pc_run_ranges(context, t->n, POINTS_PER_PART, clear_nearest, t);
    if (job->seed_count == 0) {
        t->nearest[pc_slot_of(t->index, t->n, (int32_t)job->start)] = PC_PICKED;
        return true;
    }
    uint8_t *taken = calloc((size_t)t->n / 8 + 1, 1);
    for (int64_t k = 0; taken && k < job->seed_count; k++) {
        taken[job->seeds[k] / 8] |= (uint8_t)(1u << job->seeds[k] % 8);
    }
    for (int64_t i = 0; taken && i < t->n; i++) {
        t->nearest[i] = taken[t->index[i] / 8] >> t->index[i] % 8 & 1 ? PC_PICKED : PC_INFINITE;
    }
    free(taken);
    return taken != NULL;
}

/* Fills the slot of node v, which has `children`, in its parent. */
static void fill_parent(const pc_level *here, const pc_level *above, int64_t v, int64_t children) {
    const pc_node *from = &here->nodes[v];
    pc_node *parent = &above->nodes[v / PC_FANOUT];
    int c = (int)(v % PC_FANOUT);
    for (int a = 0; a < 3; a++) {
        float low, high;
        pc_find_bounds(from->low[a], children, &parent->low[a][c], &high);
        pc_find_bounds(from->high[a], children, &low, &parent->high[a][c]);
    }
    pc_update_child(from, parent, c);
}

/* Allocates the levels and marks all slots as empty. */
static bool allocate_nodes(pc_tree *t, const pc_sample_job *job) {
    int64_t nodes = 0;
    t->buckets = (t->n + t->points - 1) / t->points;
    for (int64_t below = t->buckets; t->levels == 0 || below > 1; t->levels++) {
        below = (below + PC_FANOUT - 1) / PC_FANOUT;
        t->level[t->levels].count = below;
        nodes += below;
    }
    const size_t leaf_bytes = (size_t)t->level[0].count * sizeof(pc_leaf);
    pc_node *node = t->memory[0] = pc_sample_allocate(job, (uint64_t)nodes * sizeof *node);
    int32_t *visited = t->memory[1] = calloc((size_t)nodes, sizeof *visited);
    t->leaves = t->memory[2] = pc_sample_allocate(job, leaf_bytes);
    if (!node || !visited || !t->leaves) {
        return false;
    }
    memset(node, 0, (size_t)nodes * sizeof *node);
    memset(t->leaves, 0, leaf_bytes);
    for (int l = 0; l < t->levels; l++) {
        pc_level *here = &t->level[l];
        here->nodes = node;
        here->visited = visited;
        node += here->count;
        visited += here->count;
        for (int64_t i = 0; i < here->count * PC_FANOUT; i++) {
            here->nodes[i / PC_FANOUT].bits[i % PC_FANOUT] = PC_PICKED;
            here->nodes[i / PC_FANOUT].index[i % PC_FANOUT] = PC_NO_INDEX;
            here->nodes[i / PC_FANOUT].bucket[i % PC_FANOUT] = (int32_t)i; /* final in the lowest level */
        }
    }
    return true;
}

/* One axis of all buckets. */
typedef struct filling {
    pc_tree *t;
    pc_simd simd;
    int axis;
    const float *from;
    float *to;
} filling;

static void fill_buckets(void *state, int64_t begin, int64_t end) {
    const filling *f = state;
    for (int64_t b = begin; b < end; b++) {
        fill_axis_for(f->simd)(f->t, b, f->axis, f->from, f->to);
    }
}

/* Gathers the coordinates in the order of t->index, with the bounds of the buckets. When the job's arrays may be
 * overwritten, each axis is gathered into the array of the axis before it, so that one additional array is enough.
 * False when sampling is cancelled. */
static bool fill_coordinates(pcgpu_context *context, pc_tree *t, pc_sample_job *job, pc_simd simd, float *fresh,
                             int64_t stride) {
    float *from[3] = {job->x, job->y, job->z}, **to[3] = {&t->x, &t->y, &t->z};
    for (int a = 0; a < 3; a++) {
        float *axis = *to[a] = fresh;
        filling f = {t, simd, a, from[a], axis};
        pc_run_ranges(context, t->buckets, BUCKETS_PER_PART, fill_buckets, &f);
        fresh = job->disposable ? from[a] : fresh + stride;
        if (pc_is_cancelled(job->poll)) {
            return false;
        }
    }
    t->nearest = (int32_t *)fresh;
    return true;
}

/* What the first pick changes below some nodes of the lowest level. */
typedef struct reaching {
    const pc_tree *t;
    pc_simd simd;
    pcgpu_context *poll;
} reaching;

static void reach_nodes(void *state, int64_t begin, int64_t end) {
    const reaching *r = state;
    if (pc_is_cancelled(r->poll)) {
        return;
    }
    const int64_t last = end * PC_FANOUT < r->t->buckets ? end * PC_FANOUT : r->t->buckets;
    for (int64_t b = begin * PC_FANOUT; b < last; b++) {
        reach_first_for(r->simd)(r->t, b);
    }
}

bool pc_tree_build(pcgpu_context *context, pc_tree *t, pc_sample_job *job, pc_simd simd, int64_t bucket_points) {
    *t = (pc_tree){.n = job->n, .points = bucket_points};
    const int64_t stride = (job->n + 15) / 16 * 16;
    int32_t *order = pc_sample_allocate(job, (uint64_t)stride * (job->disposable ? 2 : 5) * sizeof *order);
    t->memory[3] = t->index = order;
    if (!order || !pc_sample_order(context, job, simd, order) || !allocate_nodes(t, job) || !order_first(t, job)) {
        return false;
    }
    if (!fill_coordinates(context, t, job, simd, (float *)order + stride, stride) || !mark_picked(context, t, job)) {
        return false;
    }
    reaching r = {t, simd, job->poll};
    pc_run_ranges(context, t->level[0].count, NODES_PER_PART, reach_nodes, &r);
    if (pc_is_cancelled(job->poll)) {
        return false;
    }
    for (int l = 0; l + 1 < t->levels; l++) {
        for (int64_t v = 0; v < t->level[l].count; v++) {
            int64_t below = l ? t->level[l - 1].count : t->buckets, left = below - v * PC_FANOUT;
            fill_parent(&t->level[l], &t->level[l + 1], v, left < PC_FANOUT ? left : PC_FANOUT);
        }
    }
    return true;
}

void pc_tree_free(pc_tree *t) {
    for (int i = 0; i < 5; i++) {
        pc_release(t->memory[i]);
    }
}
