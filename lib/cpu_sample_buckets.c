/* Farthest point sampling that looks only at points a pick may be nearest to; same picks and distances as the plain
 * loop, bit for bit.
 *
 * The points, in an order that keeps neighbours together, are cut into buckets. A bucket knows its bounding box and its
 * farthest point. A pick changes no distance of a bucket whose box is at least as far from it as the bucket's farthest
 * point is from the picks, and such a bucket is skipped. A tree of nodes with sixteen children each, buckets at the
 * bottom, skips whole branches in the same way and tells the farthest point of all. (Han et al., "QuickFPS", IEEE TCAD
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
#include "cpu_sample_tree.h"

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

/* Brings the pick to the buckets below node v of the lowest level; true when the farthest point of one changed. */
PC_INLINE bool lower_leaf(const pc_tree *t, int32_t v, const float *pick) {
    pc_leaf *f = &t->leaves[v];
    uint32_t near = near_children(&t->level[0].nodes[v], pick);
    uint32_t now = near ? near & lowered_children(&t->level[0].nodes[v], f, pick) : 0;
    for (uint32_t later = near & ~now; later; later &= later - 1) {
        int c = __builtin_ctz(later);
        if (f->waiting[c] == PC_WAITING) {
            now |= 1u << c;
        } else {
            memcpy(f->picks[c][f->waiting[c]++], pick, sizeof f->picks[c][0]);
        }
    }
    for (uint32_t left = now; left; left &= left - 1) {
        lower_bucket(t, (int64_t)v * PC_FANOUT + __builtin_ctz(left), pick);
    }
    return now != 0;
}

/* Lowers the distances by those to `pick`, from the root down to the buckets it may change, then brings the farthest
 * points of the nodes above up to date, and returns the root's child with the farthest of all. */
PC_INLINE int32_t lower_tree(pc_tree *t, const float *pick) {
    const int root = t->levels - 1;
    t->level[root].visits = 1; /* the list of the root is always its one pc_node */
    for (int l = root; l > 0; l--) {
        pc_level *here = &t->level[l], *below = here - 1;
        below->visits = 0;
        for (int64_t i = 0; i < here->visits; i++) {
            int32_t v = here->visited[i];
            for (uint32_t mask = near_children(&here->nodes[v], pick); mask; mask &= mask - 1) {
                below->visited[below->visits++] = v * PC_FANOUT + __builtin_ctz(mask);
            }
        }
    }
    int64_t changed = 0;
    for (int64_t i = 0; i < t->level[0].visits; i++) {
        int32_t v = t->level[0].visited[i];
        if (lower_leaf(t, v, pick)) {
            t->level[0].visited[changed++] = v;
        }
    }
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
    int32_t c = 0;
    if (job->seed_count == 0) {
        job->indices[0] = (int32_t)job->start;
        job->squared[0] = INFINITY;
        picked = 1;
    }
    for (int64_t i = 0; i < t->first_count; i++) {
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

bool pc_sample_by_buckets(pc_sample_job *job, pc_simd simd, int threads, int32_t bucket_points) {
    pc_tree t;
    bool ok = pc_tree_build(&t, job, simd, threads, bucket_points);
    if (ok) {
        pick_points_for(simd)(&t, job);
    }
    pc_tree_free(&t);
    return ok;
}
