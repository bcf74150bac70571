/* Farthest point sampling that examines only points in reach of a pick, with the same picks and distances as the plain
 * loop, bit for bit.
 *
 * The points, in an order that keeps neighbours together, are split into buckets. A bucket stores its bounding box and
 * its farthest point. A pick changes no distance of a bucket when the distance from the pick to the box is at least the
 * distance of the bucket's farthest point; such a bucket is skipped. A tree of nodes with 32 children each, with
 * buckets at the bottom, skips whole branches by the same test and has the farthest point of all at its root. (Han et
 * al., "QuickFPS", IEEE TCAD 2023, skip by this test in a k-d tree.)
 *
 * If a pick reaches a bucket, but does not reduce the distance of its farthest point, that point remains the farthest,
 * at the same distance, since other distances only decrease. So the pick is deferred, and the distances of the bucket
 * are updated with all deferred picks when a pick reduces the distance of the farthest point. (QuickFPS delays picks
 * likewise.)
 *
 * Why skipping is exact in float32: the distance to a box is computed as pc_squared_distance to the pick clamped to the
 * box, coordinate by coordinate. For any point of the box, the clamped coordinate lies between the pick's and the
 * point's, so the exact difference to the pick is not larger. Rounding is monotone, also for subnormal numbers and
 * overflow to +inf, and so are the product of a nonnegative number with itself and the sum of such products. The
 * operations and their order are the same, so the computed distance to the box is at most the computed distance to any
 * point of the box. When it is not below the largest distance of the bucket, no distance of the bucket can change.
 *
 * Why ties are exact: farthest points are compared by distance, then by the lowest index in the cloud, among the points
 * of a bucket and among the children of a node, whatever the order of the points in a bucket. Among points at the same
 * largest distance, the one with the lowest index is stored before picks are deferred, and deferred picks can only
 * remove others. */
#include "sample_cpu_tree.h"

enum {
    GROUP = 64 / PC_FANOUT, /* nodes whose masks fit in a word: one loop over its bits has one mispredicted end */
    LINE = 16,              /* values per cache line */
};

PC_INLINE void lower_bucket(const pc_tree *t, int64_t b, const float *pick) {
    const pc_bucket k = pc_bucket_at(t, b);
    pc_leaf *f = &t->leaves[b / PC_FANOUT];
    const int c = (int)(b % PC_FANOUT);
    for (int32_t i = 0; i < f->deferred[c]; i++) {
        pc_lower_distances(k.x, k.y, k.z, k.nearest, k.n, f->picks[c][i]);
    }
    f->deferred[c] = 0;
    pc_update_farthest(t, b, pc_lower_distances(k.x, k.y, k.z, k.nearest, k.n, pick));
}

/* Defers a pick; false when the bucket has the maximum number of deferred picks. */
PC_INLINE bool defer_pick(const pc_tree *t, int64_t b, const float *pick) {
    pc_leaf *f = &t->leaves[b / PC_FANOUT];
    int32_t *deferred = &f->deferred[b % PC_FANOUT];
    if (*deferred == PC_DEFERRED) {
        return false;
    }
    memcpy(f->picks[b % PC_FANOUT][(*deferred)++], pick, sizeof f->picks[0][0]);
    return true;
}

/* Prefetches the memory of a bucket that will be updated. */
PC_INLINE void fetch_bucket(const pc_tree *t, int64_t b) {
    const pc_bucket k = pc_bucket_at(t, b);
    for (int64_t i = 0; i < k.n; i += LINE) {
        __builtin_prefetch(k.x + i);
        __builtin_prefetch(k.y + i);
        __builtin_prefetch(k.z + i);
        __builtin_prefetch(k.nearest + i);
    }
}

PC_INLINE float clamped(float value, float low, float high) {
    float v = value < low ? low : value;
    return v > high ? high : v;
}

/* One bit for each child whose box is nearer to the pick than its farthest point is to the earlier picks. */
PC_INLINE uint32_t near_children(const pc_node *v, const float *pick) {
    const float px = pick[0], py = pick[1], pz = pick[2];
    uint32_t mask = 0;
    PC_KEEP_LOOP
    for (int c = 0; c < PC_FANOUT; c++) {
        float x = clamped(px, v->low[0][c], v->high[0][c]);
        float y = clamped(py, v->low[1][c], v->high[1][c]);
        float z = clamped(pz, v->low[2][c], v->high[2][c]);
        mask |= pc_float_bits(pc_squared_distance(x, y, z, px, py, pz)) < v->bits[c] ? 1u << c : 0u;
    }
    return mask;
}

/* One bit for each child whose farthest point is nearer to the pick than to the earlier picks. */
PC_INLINE uint32_t lowered_children(const pc_node *v, const pc_leaf *f, const float *pick) {
    const float px = pick[0], py = pick[1], pz = pick[2];
    uint32_t mask = 0;
    PC_KEEP_LOOP
    for (int c = 0; c < PC_FANOUT; c++) {
        float d = pc_squared_distance(f->far[0][c], f->far[1][c], f->far[2][c], px, py, pz);
        mask |= pc_float_bits(d) < v->bits[c] ? 1u << c : 0u;
    }
    return mask;
}

/* The first of the children in a word of the masks of GROUP nodes. */
PC_INLINE int32_t first_child(const int32_t *nodes, uint64_t word) {
    const int bit = __builtin_ctzll(word);
    return nodes[bit / PC_FANOUT] * PC_FANOUT + bit % PC_FANOUT;
}

/* Appends the children of the visited nodes that the pick may change to the list of the level below. */
PC_INLINE void visit_children(const pc_level *here, pc_level *below, const float *pick) {
    below->visits = 0;
    for (int64_t i = 0; i < here->visits; i += GROUP) {
        const int32_t *nodes = here->visited + i;
        uint64_t near = 0;
        for (int k = 0; k < GROUP && i + k < here->visits; k++) {
            near |= (uint64_t)near_children(&here->nodes[nodes[k]], pick) << k * PC_FANOUT;
        }
        for (; near; near &= near - 1) {
            below->visited[below->visits++] = first_child(nodes, near);
        }
    }
}

/* Applies the pick to the buckets below the visited nodes of the lowest level. Afterwards the list has the nodes whose
 * farthest point changed; returns their number. */
PC_INLINE int64_t lower_leaves(const pc_tree *t, const pc_level *leaves, const float *pick) {
    const uint64_t one_node = UINT64_MAX >> (64 - PC_FANOUT);
    int64_t changed = 0;
    for (int64_t i = 0; i < leaves->visits; i += GROUP) {
        int32_t nodes[GROUP];
        uint64_t near = 0, lowered = 0;
        for (int k = 0; k < GROUP && i + k < leaves->visits; k++) {
            const pc_node *v = &leaves->nodes[nodes[k] = leaves->visited[i + k]];
            near |= (uint64_t)near_children(v, pick) << k * PC_FANOUT;
            lowered |= (uint64_t)lowered_children(v, &t->leaves[nodes[k]], pick) << k * PC_FANOUT;
        }
        for (uint64_t wait = near & ~lowered; wait; wait &= wait - 1) {
            lowered |= defer_pick(t, first_child(nodes, wait), pick) ? 0 : wait & -wait;
        }
        lowered &= near;
        for (uint64_t now = lowered; now; now &= now - 1) {
            fetch_bucket(t, first_child(nodes, now));
        }
        for (uint64_t now = lowered; now; now &= now - 1) {
            lower_bucket(t, first_child(nodes, now), pick);
        }
        for (int k = 0; k < GROUP && i + k < leaves->visits; k++) {
            leaves->visited[changed] = nodes[k];
            changed += (lowered >> k * PC_FANOUT & one_node) != 0;
        }
    }
    return changed;
}

/* Updates the distances with `pick`, from the root down to the buckets that it may change; then updates the farthest
 * points of the nodes above. Returns the root's child with the farthest point of all. */
PC_INLINE int32_t lower_tree(pc_tree *t, const float *pick) {
    const int root = t->levels - 1;
    t->level[root].visits = 1; /* the list of the root always has its one node */
    for (int l = root; l > 0; l--) {
        visit_children(&t->level[l], &t->level[l - 1], pick);
    }
    int64_t changed = lower_leaves(t, &t->level[0], pick);
    for (int l = 0; l < root; l++) {
        const pc_level *here = &t->level[l], *above = here + 1;
        int64_t parents = 0;
        for (int64_t i = 0; i < changed; i++) {
            int32_t v = here->visited[i];
            pc_update_child(&here->nodes[v], &above->nodes[v / PC_FANOUT], v % PC_FANOUT);
            if (parents == 0 || above->visited[parents - 1] != v / PC_FANOUT) {
                above->visited[parents++] = v / PC_FANOUT;
            }
        }
        changed = parents;
    }
    return pc_farthest_child(t->level[root].nodes);
}

/* Marks the farthest point of bucket b as picked and writes its position. The bucket and the nodes above get an
 * infinite distance, so that the round of this pick visits them even when the pick was at distance 0. */
PC_INLINE void take_farthest(pc_tree *t, int32_t b, float *position) {
    const pc_leaf *f = &t->leaves[b / PC_FANOUT];
    for (int k = 0; k < 3; k++) {
        position[k] = f->far[k][b % PC_FANOUT];
    }
    t->nearest[f->slot[b % PC_FANOUT]] = PC_PICKED;
    for (int l = 0; l < t->levels; l++, b /= PC_FANOUT) {
        t->level[l].nodes[b / PC_FANOUT].bits[b % PC_FANOUT] = PC_INFINITE;
    }
}

/* Makes all picks. */
PC_INLINE void pick_points(pc_tree *t, pc_sample_job *job) {
    const pc_node *root = t->level[t->levels - 1].nodes;
    int64_t picked = 0;
    int32_t c = pc_farthest_child(root);
    if (job->seed_count == 0) {
        job->indices[0] = (int32_t)job->start;
        job->squared[0] = INFINITY;
        picked = 1;
    }
    for (int64_t i = 1; i < t->first_count && !(i % PC_PICKS_PER_POLL == 0 && pc_is_cancelled(job->poll)); i++) {
        c = lower_tree(t, t->first[i]);
    }
    while (!pc_sampling_ends(job, picked, root->bits[c], false)) {
        float position[3];
        job->indices[picked] = root->index[c];
        job->squared[picked++] = pc_bits_float(root->bits[c]);
        take_farthest(t, root->bucket[c], position);
        c = lower_tree(t, position);
    }
    pc_end_sampling(job, picked, root->bits[c]);
}

PC_SIMD_FORMS_OF(pick_points, (pc_tree * t, pc_sample_job *job), (t, job))

bool pc_sample_by_buckets(pcgpu_context *context, pc_sample_job *job, pc_simd simd, int32_t bucket_points) {
    pc_tree t;
    bool ok = pc_tree_build(context, &t, job, simd, bucket_points);
    if (ok) {
        pick_points_for(simd)(&t, job);
    }
    pc_tree_free(&t);
    return ok;
}
