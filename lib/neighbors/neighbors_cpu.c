/* Neighbours on the CPU: each thread searches the tree of the points for groups of queries, which are the leaves of a
 * tree of their own. Children of a node are visited in the order of their distance from the middle of the group. */
#include "neighbors_group.h"

#include <stdlib.h>

enum {
    MOST_PARTS = 256,
    GROUPS_PER_PART = 4, /* at least */
    GROUPS_PER_POLL = 8
};

/* ---- leaves ------------------------------------------------------------------------------------------------------ */

/* Offers the points of a leaf to query q; `valid` has a bit for each. */
PC_INLINE void scan_leaf(const search *s, group *g, int q, int64_t leaf, uint32_t valid, int64_t *keys) {
    const pc_neighbors_tree *t = s->points;
    const bool first = s->job->first;
    const float *x = t->at[0] + leaf * PC_LEAF, *y = t->at[1] + leaf * PC_LEAF, *z = t->at[2] + leaf * PC_LEAF;
    const float qx = g->at[0][q], qy = g->at[1][q], qz = g->at[2][q];
    const int32_t *rows = t->rows + leaf * PC_LEAF, limit = g->limit[q];
    const int32_t lowest = first ? (int32_t)keys[0] : INT32_MAX;
    int32_t bits[PC_LEAF];
    uint32_t mask = 0;
    for (int c = 0; c < PC_LEAF; c++) {
        bits[c] = pc_float_bits(pc_squared_distance(x[c], y[c], z[c], qx, qy, qz));
    }
    for (int c = 0; c < PC_LEAF; c++) {
        mask |= ((bits[c] < limit) & (rows[c] < lowest)) ? 1u << c : 0u;
    }
    mask &= valid;
    if (s->job->k == 0) {
        g->counts[q] += __builtin_popcount(mask);
        return;
    }
    if (mask == 0) {
        return;
    }
    if (s->job->means) {
        offer_bits(bits_of(keys), s->blocks, bits, mask);
    } else {
        int64_t from[PC_LEAF];
        for (int c = 0; c < PC_LEAF; c++) {
            from[c] = first ? rows[c] : pc_neighbor_key(bits[c], rows[c]);
        }
        offer_keys(keys, s->blocks, from, mask);
    }
    g->limit[q] = limit_of(s, keys);
}

/* A bit for each query whose list may change by a point in box c of `b`. */
PC_INLINE uint32_t near_queries(const group *g, const pc_boxes *b, int c) {
    const float lx = b->low[0][c], ly = b->low[1][c], lz = b->low[2][c];
    const float hx = b->high[0][c], hy = b->high[1][c], hz = b->high[2][c];
    const float *x = g->at[0], *y = g->at[1], *z = g->at[2];
    uint32_t near = 0;
    for (int q = 0; q < PC_LEAF; q++) {
        const float dx = pc_gap(lx, hx, x[q], x[q]), dy = pc_gap(ly, hy, y[q], y[q]), dz = pc_gap(lz, hz, z[q], z[q]);
        near |= pc_float_bits((dx * dx + dy * dy) + dz * dz) < g->limit[q] ? 1u << q : 0u;
    }
    return near & UINT32_MAX >> (PC_LEAF - g->queries);
}

PC_INLINE void scan_for_all(const search *s, group *g, int64_t leaf, int64_t *keys) {
    const uint32_t valid = UINT32_MAX >> (PC_LEAF - pc_leaf_points(s->points, leaf));
    uint32_t near = near_queries(g, &s->points->level[0][leaf / PC_LEAF], (int)(leaf % PC_LEAF));
    if (near == 0) {
        return;
    }
    for (; near; near &= near - 1) {
        const int q = __builtin_ctz(near);
        scan_leaf(s, g, q, leaf, valid, keys + (int64_t)q * s->stride);
    }
    find_largest(s, g, keys);
}

/* ---- dense places ------------------------------------------------------------------------------------------------ */

/* Whether no list has use for child c of level l: all have points at distance 0, of lower indices. Otherwise many equal
 * points would ask for all of them. */
PC_INLINE bool is_settled(const search *s, const group *g, int l, int64_t child) {
    return g->largest == 1 && s->job->k > 0 && !s->job->first && s->points->least[l][child] > g->highest;
}

/* The squared distance that no point of child c of `b` exceeds, from no query. Roundings are monotonic. */
PC_INLINE float farthest(const group *g, const pc_boxes *b, int c) {
    float d[3];
    for (int a = 0; a < 3; a++) {
        const float above = b->high[a][c] - g->low[a], below = g->high[a] - b->low[a][c];
        d[a] = above > below ? above : below;
    }
    return (d[0] * d[0] + d[1] * d[1]) + d[2] * d[2];
}

/* Counts all points of child c of a node, if all are within the radius of all queries. */
PC_INLINE bool count_all(const search *s, group *g, int l, int c) {
    if (s->job->k > 0 || pc_float_bits(farthest(g, &s->points->level[l][g->node[l]], c)) >= g->largest) {
        return false;
    }
    int64_t begin = g->node[l] * PC_LEAF + c, end = begin + 1;
    for (int i = 0; i <= l; i++) {
        begin *= PC_LEAF;
        end *= PC_LEAF;
    }
    const int64_t n = (end < s->points->n ? end : s->points->n) - begin;
    for (int q = 0; q < g->queries; q++) {
        g->counts[q] += (int32_t)n;
    }
    return true;
}

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

PC_INLINE void open_node(const search *s, group *g, int l, int64_t node) {
    const pc_neighbors_tree *t = s->points;
    const pc_boxes *b = &t->level[l][node];
    const int64_t children = t->children[l] - node * PC_LEAF;
    const float mx = g->middle[0], my = g->middle[1], mz = g->middle[2];
    int32_t *far = g->far[l], *near = g->near[l], largest = g->largest;
    uint32_t open = 0;
    for (int c = 0; c < PC_LEAF; c++) {
        const float dx = pc_gap(b->low[0][c], b->high[0][c], g->low[0], g->high[0]);
        const float dy = pc_gap(b->low[1][c], b->high[1][c], g->low[1], g->high[1]);
        const float dz = pc_gap(b->low[2][c], b->high[2][c], g->low[2], g->high[2]);
        far[c] = pc_float_bits((dx * dx + dy * dy) + dz * dz);
    }
    for (int c = 0; c < PC_LEAF; c++) {
        const float dx = pc_gap(b->low[0][c], b->high[0][c], mx, mx), dy = pc_gap(b->low[1][c], b->high[1][c], my, my);
        const float dz = pc_gap(b->low[2][c], b->high[2][c], mz, mz);
        near[c] = pc_float_bits((dx * dx + dy * dy) + dz * dz);
    }
    for (int c = 0; c < PC_LEAF; c++) {
        open |= far[c] < largest ? 1u << c : 0u;
    }
    g->node[l] = node;
    g->open[l] = children < PC_LEAF ? open & ((1u << children) - 1) : open;
}

/* The open child that is nearest to the middle of the group; it is not open any more. */
PC_INLINE int next_child(group *g, int l) {
    uint32_t left = g->open[l];
    int best = __builtin_ctz(left);
    for (left &= left - 1; left; left &= left - 1) {
        const int c = __builtin_ctz(left);
        best = g->near[l][c] < g->near[l][best] ? c : best;
    }
    g->open[l] &= ~(1u << best);
    return best;
}

PC_INLINE void search_tree(const search *s, group *g, int64_t *keys) {
    const int top = s->points->levels - 1;
    const int64_t own = s->points == s->queries && s->job->k > 0 ? g->id : -1;
    int l = top;
    if (own >= 0 && !s->job->first) {
        begin_lists(s, g, keys);
    } else if (own >= 0) {
        scan_for_all(s, g, own, keys);
    }
    open_node(s, g, top, 0);
    while (l <= top) {
        if (g->open[l] == 0) {
            l++;
            continue;
        }
        const int c = next_child(g, l);
        const int64_t child = g->node[l] * PC_LEAF + c;
        if (g->far[l][c] >= g->largest || is_settled(s, g, l, child) || count_all(s, g, l, c)) {
            continue;
        }
        if (l > 0) {
            if (near_queries(g, &s->points->level[l][g->node[l]], c)) {
                open_node(s, g, --l, child);
            }
        } else if (child != own) {
            scan_for_all(s, g, child, keys);
        }
    }
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

PC_INLINE void search_group(const search *s, int64_t id, int64_t *keys) {
    const pc_neighbors_job *job = s->job;
    const pc_boxes *b = &s->queries->level[0][id / PC_LEAF];
    const int64_t empty = pc_neighbor_empty(job->first, job->squared);
    group g = {.id = id, .queries = pc_leaf_points(s->queries, id)};
    for (int a = 0; a < 3; a++) {
        g.at[a] = s->queries->at[a] + id * PC_LEAF;
        g.low[a] = b->low[a][id % PC_LEAF];
        g.high[a] = b->high[a][id % PC_LEAF];
        g.middle[a] = 0.5f * g.low[a] + 0.5f * g.high[a];
    }
    g.largest = pc_neighbor_limit(job->first, job->squared, empty, !job->means);
    for (int q = 0; q < PC_LEAF; q++) {
        g.limit[q] = q < g.queries ? g.largest : 0;
        for (int j = 0; j < s->stride && !job->means; j++) {
            keys[q * s->stride + j] = j < job->k ? empty : -1;
        }
        for (int j = 0; j < 2 * s->stride && job->means; j++) {
            bits_of(keys + q * s->stride)[j] = j < job->k ? PC_INFINITE_BITS : -1;
        }
    }
    if (s->points->n > 0) {
        search_tree(s, &g, keys);
    }
    if (job->means) {
        write_means(s, &g, keys);
    } else {
        write_lists(s, &g, keys);
    }
}

PC_INLINE void search_part(const search *s, int part) {
    int64_t *keys = s->keys + (int64_t)part * PC_LEAF * s->stride;
    const int64_t begin = s->queries->leaves * part / s->parts, end = s->queries->leaves * (part + 1) / s->parts;
    for (int64_t id = begin; id < end; id++) {
        if ((id - begin) % GROUPS_PER_POLL == 0 && pc_is_cancelled(s->context)) {
            return;
        }
        search_group(s, id, keys);
    }
}

PC_SIMD_FORMS_OF(search_part, (const search *s, int part), (s, part))

static void run_part(void *state, int part) {
    const search *s = state;
    search_part_for(s->simd)(s, part);
}

static pcgpu_status search_cloud(pcgpu_context *context, const pc_neighbors_job *job, int64_t cloud, bool same) {
    pc_neighbors_tree points, queries = {0};
    const int each = job->means ? PC_LIST_BITS : PC_LIST_KEYS;
    search s = {.job = job,
                .points = &points,
                .queries = same ? &points : &queries,
                .points_begin = pc_clouds_begin(&job->points, cloud),
                .queries_begin = pc_clouds_begin(&job->queries, cloud),
                .blocks = job->k > 0 ? (job->k + each - 1) / each : 1,
                .simd = pc_context_simd(context),
                .context = context};
    const int64_t end = pc_clouds_begin(&job->queries, cloud + 1);
    pcgpu_status status;
    s.stride = s.blocks * PC_LIST_KEYS;
    PC_TRY(pc_neighbors_tree_build(context, &job->points, cloud, &points));
    PC_TRY_OR(done, status, same ? PCGPU_OK : pc_neighbors_tree_build(context, &job->queries, cloud, &queries));
    if (s.queries->n < end - s.queries_begin) {
        write_empty(job, s.queries_begin, end);
    }
    const int64_t most = (s.queries->leaves + GROUPS_PER_PART - 1) / GROUPS_PER_PART;
    s.parts = most < MOST_PARTS ? (int)most : MOST_PARTS;
    const size_t bytes = (size_t)s.parts * PC_LEAF * (size_t)s.stride * sizeof *s.keys;
    s.keys = s.parts ? aligned_alloc(sizeof(key_block), bytes) : NULL;
    if (s.parts && !s.keys) {
        status = pc_fail_memory(context, bytes, "the neighbours");
        goto done;
    }
    pc_run_parts(context, s.parts, run_part, &s);
    status = pc_check_cancelled(context);
done:
    free(s.keys);
    pc_neighbors_tree_free(&points);
    pc_neighbors_tree_free(&queries);
    return status;
}

static pcgpu_status search_clouds(pcgpu_context *context, const pc_neighbors_job *job) {
    PC_TRY(pc_check_cancelled(context));
    const bool same = memcmp(&job->points, &job->queries, sizeof job->points) == 0;
    for (int64_t i = 0; i < job->points.count; i++) {
        PC_TRY(search_cloud(context, job, i, same));
    }
    return PCGPU_OK;
}

const pc_neighbors_ops pc_cpu_neighbors_ops = {.search = search_clouds};
