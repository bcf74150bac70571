/* Farthest point sampling that looks only at points a pick may be nearest to; same picks and distances as the plain
 * loop, bit for bit.
 *
 * The points, in an order that keeps neighbours together, are cut into buckets. A bucket knows its bounding box and its
 * farthest point. A pick changes no distance of a bucket whose box is at least as far from it as the bucket's farthest
 * point is from the picks, and such a bucket is skipped. A tree of nodes with 32 children each, buckets at the bottom,
 * skips whole branches in the same way and tells the farthest point of all. (Han et al., "QuickFPS", IEEE TCAD
 * 2023, skip in this way in a k-d tree.)
 *
 * A pick that reaches a bucket, but is no nearer to its farthest point than the picks before, leaves that point the
 * farthest, and at the same distance: others only come nearer. So it waits, and the distances of the bucket are lowered
 * by all waiting picks at once when one comes that is nearer to the farthest point. (QuickFPS delays picks likewise.)
 *
 * Why skipping is exact in float32: the distance to a box is computed as pc_squared_distance to the pick moved into the
 * box, coordinate by coordinate. For any point of the box this moved coordinate lies between the pick's and the
 * point's, so the exact difference to the pick is no larger. Rounding is monotone, for subnormal numbers and overflow
 * to +inf too, and so are the product of a non-negative number with itself and the sum of such products; as the
 * operations and their order are the same, the computed distance to the box is at most the computed distance to any
 * point of it. When it is not below the largest distance of the bucket, no distance of the bucket can change.
 *
 * Why ties are exact: farthest points are compared by distance, then by the lowest index in the cloud, among the
 * points of a bucket as among the children of a node; the order of the points in buckets has no part in it. Among
 * points at the same largest distance the lowest index is noted before picks wait, and these can only take away others.
 */
#include "sample_cpu_tree.h"

enum {
    GROUP =
        64 / PC_FANOUT, /* nodes whose masks make a word: one loop over its bits has one end that is hard to predict */
    LINE = 16,          /* values in a line of the cache */
};

PC_INLINE void lower_bucket(const pc_tree *t, int64_t b, const float *pick) {
    const pc_bucket k = pc_bucket_at(t, b);
    pc_leaf *f = &t->leaves[b / PC_FANOUT];
    const int c = (int)(b % PC_FANOUT);
    for (int32_t i = 0; i < f->waiting[c]; i++) {
        pc_lower_distances(k.x, k.y, k.z, k.nearest, k.n, f->picks[c][i]);
    }
    f->waiting[c] = 0;
    pc_note_farthest(t, b, pc_lower_distances(k.x, k.y, k.z, k.nearest, k.n, pick));
}

/* False when too many picks wait already. */
PC_INLINE bool let_wait(const pc_tree *t, int64_t b, const float *pick) {
    pc_leaf *f = &t->leaves[b / PC_FANOUT];
    int32_t *waiting = &f->waiting[b % PC_FANOUT];
    if (*waiting == PC_WAITING) {
        return false;
    }
    memcpy(f->picks[b % PC_FANOUT][(*waiting)++], pick, sizeof f->picks[0][0]);
    return true;
}

/* Asks for the memory of a bucket that will be lowered. */
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

/* A bit for each child whose box is nearer to the pick than the child's farthest point is to the picks so far. */
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

/* A bit for each child whose farthest point is nearer to the pick than to the picks so far. */
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

/* Lists the children of the visited nodes that the pick may change. */
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

/* Brings the pick to the buckets below the visited nodes of the lowest level. Leaves in the list, and counts, the nodes
 * that have another farthest point now. */
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
            lowered |= let_wait(t, first_child(nodes, wait), pick) ? 0 : wait & -wait;
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

/* Lowers the distances by those to `pick`, from the root down to the buckets it may change, then brings the farthest
 * points of the nodes above up to date, and returns the root's child with the farthest of all. */
PC_INLINE int32_t lower_tree(pc_tree *t, const float *pick) {
    const int root = t->levels - 1;
    t->level[root].visits = 1; /* the list of the root is always its one node */
    for (int l = root; l > 0; l--) {
        visit_children(&t->level[l], &t->level[l - 1], pick);
    }
    int64_t changed = lower_leaves(t, &t->level[0], pick);
    for (int l = 0; l < root; l++) {
        const pc_level *here = &t->level[l], *above = here + 1;
        int64_t parents = 0;
        for (int64_t i = 0; i < changed; i++) {
            int32_t v = here->visited[i];
            pc_note_child(&here->nodes[v], &above->nodes[v / PC_FANOUT], v % PC_FANOUT);
            if (parents == 0 || above->visited[parents - 1] != v / PC_FANOUT) {
                above->visited[parents++] = v / PC_FANOUT;
            }
        }
        changed = parents;
    }
    return pc_farthest_child(t->level[root].nodes);
}

/* Marks the farthest point of bucket b as picked and writes its position. The bucket and the nodes above are given an
 * infinite distance, so that the round of this pick comes to it even when the pick was at distance 0. */
PC_INLINE void take_farthest(pc_tree *t, int32_t b, float *position) {
    const pc_leaf *f = &t->leaves[b / PC_FANOUT];
    for (int k = 0; k < 3; k++) {
        position[k] = f->far[k][b % PC_FANOUT];
    }
    t->nearest[f->place[b % PC_FANOUT]] = PC_PICKED;
    for (int l = 0; l < t->levels; l++, b /= PC_FANOUT) {
        t->level[l].nodes[b / PC_FANOUT].bits[b % PC_FANOUT] = PC_INFINITE;
    }
}

/* All picks. */
PC_INLINE void pick_points(pc_tree *t, pc_sample_job *job) {
    const pc_node *root = t->level[t->levels - 1].nodes;
    int64_t picked = 0;
    int32_t c = pc_farthest_child(root);
    if (job->seed_count == 0) {
        job->indices[0] = (int32_t)job->start;
        job->squared[0] = INFINITY;
        picked = 1;
    }
    for (int64_t i = 1; i < t->first_count; i++) {
        c = lower_tree(t, t->first[i]);
    }
    while (!pc_sampling_ends(job, picked, root->bits[c])) {
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
