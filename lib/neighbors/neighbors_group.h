/* A group of queries of the search on the CPU, and its lists: from the first entries to what is written. */
#ifndef PC_NEIGHBORS_GROUP_H
#define PC_NEIGHBORS_GROUP_H

#include "neighbors_list.h"
#include "neighbors_tree.h"

typedef struct search {
    const pc_neighbors_job *job;
    const pc_neighbors_tree *points, *queries;
    int64_t points_begin, queries_begin; /* records of the clouds */
    int blocks, stride;                  /* of a list; keys from one to the next */
    int parts;
    int64_t *keys; /* of each part: PC_LEAF lists */
    pc_simd simd;
    pcgpu_context *context;
} search;

/* A group of queries and what is open of the tree. */
typedef struct group {
    int64_t id;
    int queries;
    float low[3], high[3], middle[3];
    const float *at[3];      /* PC_LEAF */
    int32_t limit[PC_LEAF];  /* of each list */
    int32_t counts[PC_LEAF]; /* points within the radius, for k = 0 */
    int32_t largest;         /* limit */
    int32_t highest;         /* record of all lists, where all have k points at the places of their queries */
    int64_t node[PC_NEIGHBORS_LEVELS];
    uint32_t open[PC_NEIGHBORS_LEVELS]; /* children to be visited */
    int32_t far[PC_NEIGHBORS_LEVELS][PC_LEAF], near[PC_NEIGHBORS_LEVELS][PC_LEAF];
} group;

/* The list of a mean, in the memory of one of keys. */
static int32_t *bits_of(int64_t *keys) {
    return (int32_t *)(void *)keys;
}

PC_INLINE int32_t limit_of(const search *s, int64_t *list) {
    return s->job->means ? *bits_of(list) : pc_neighbor_limit(s->job->first, s->job->squared, list[0], true);
}

/* After lists have changed. */
PC_INLINE void find_largest(const search *s, group *g, const int64_t *keys) {
    int32_t largest = 0;
    for (int q = 0; q < PC_LEAF; q++) {
        largest = g->limit[q] > largest ? g->limit[q] : largest;
    }
    g->largest = largest;
    for (int q = 0; q < g->queries && largest == 1 && s->job->k > 0 && !s->job->means; q++) {
        const int32_t index = (int32_t)(keys[(int64_t)q * s->stride] & INT32_MAX);
        g->highest = q > 0 && g->highest > index ? g->highest : index;
    }
}

/* The lists of nearest points of the leaf that the queries are, `lanes` at a time. */
PC_INLINE void sort_lists(const search *s, group *g, int64_t *keys, const bool means, const int lanes) {
    const pc_neighbors_tree *t = s->points;
    const float *x = t->at[0] + g->id * PC_LEAF, *y = t->at[1] + g->id * PC_LEAF, *z = t->at[2] + g->id * PC_LEAF;
    const int32_t *rows = t->rows + g->id * PC_LEAF;
    const int64_t empty = pc_neighbor_empty(false, s->job->squared);
    const int last = s->job->k - 1;
    list_columns m;
    for (int first = 0; first < g->queries; first += lanes) {
        for (int c = 0; c < PC_LEAF; c++) {
            for (int w = 0; w < lanes; w++) {
                const int q = first + w;
                const int32_t bits = pc_float_bits(pc_squared_distance(x[c], y[c], z[c], x[q], y[q], z[q]));
                const int64_t key = pc_neighbor_key(bits, rows[c]);
                if (means) {
                    m.bits[c][w] = c < g->queries ? bits : PC_INFINITE_BITS;
                } else {
                    m.key[c][w] = (c < g->queries && key < empty ? key : empty) + SORT_OFFSET;
                }
            }
        }
        sort_columns(&m, means ? order_bits : order_keys);
        for (int w = 0; w < lanes && first + w < g->queries; w++) {
            int64_t *list = keys + (int64_t)(first + w) * s->stride;
            for (int j = 0; j <= last && j < PC_LEAF; j++) {
                if (means) {
                    bits_of(list)[last - j] = m.bits[j][w];
                } else {
                    list[last - j] = m.key[j][w] - SORT_OFFSET;
                }
            }
            g->limit[first + w] = limit_of(s, list);
        }
    }
    find_largest(s, g, keys);
}

PC_INLINE void begin_lists(const search *s, group *g, int64_t *keys) {
    if (s->job->means) {
        sort_lists(s, g, keys, true, PC_LIST_BITS);
    } else {
        sort_lists(s, g, keys, false, PC_LIST_KEYS);
    }
}

/* The distances of the points of the lowest indices, which their keys do not have. */
static void find_distances(const search *s, const group *g, int q, const int32_t *indices, int32_t count, float *to) {
    const pcgpu_clouds *c = &s->job->points;
    for (int32_t j = 0; j < count; j++) {
        const float *p = c->data + (s->points_begin + indices[j]) * c->stride;
        to[j] = sqrtf(pc_squared_distance(p[0], p[1], p[2], g->at[0][q], g->at[1][q], g->at[2][q]));
    }
}

PC_INLINE void write_means(const search *s, const group *g, int64_t *keys) {
    const int32_t *rows = s->queries->rows + g->id * PC_LEAF;
    double sum[PC_LEAF] = {0}, count[PC_LEAF] = {0};
    int32_t bits[PC_LEAF];
    for (int j = 0; j < s->job->k - 1; j++) {
        for (int q = 0; q < PC_LEAF; q++) {
            bits[q] = bits_of(keys + (int64_t)q * s->stride)[j];
        }
        for (int q = 0; q < PC_LEAF; q++) {
            pc_neighbor_mean_add(bits[q], &sum[q], &count[q]);
        }
    }
    for (int q = 0; q < g->queries; q++) {
        s->job->means[s->queries_begin + rows[q]] = pc_neighbor_mean_of(sum[q], count[q]);
    }
}

PC_INLINE void write_lists(const search *s, const group *g, const int64_t *keys) {
    const pc_neighbors_job *job = s->job;
    const int64_t empty = pc_neighbor_empty(job->first, job->squared);
    const int32_t *rows = s->queries->rows + g->id * PC_LEAF;
    const int k = job->k;
    int32_t indices[PCGPU_NEIGHBORS_MOST];
    float distances[PCGPU_NEIGHBORS_MOST];
    for (int q = 0; q < g->queries; q++, keys += s->stride) {
        const int64_t record = s->queries_begin + rows[q];
        int32_t count = 0;
        for (int j = 0; j < k; j++) {
            const int64_t key = keys[k - 1 - j];
            const bool there = key < empty;
            indices[j] = (int32_t)(key & INT32_MAX);
            count += there;
        }
        for (int j = 0; j < k && job->lists.distances; j++) {
            distances[j] = sqrtf(pc_bits_float((int32_t)(keys[k - 1 - j] >> 32)));
        }
        if (job->first && job->lists.distances) {
            find_distances(s, g, q, indices, count, distances);
        }
        write_entries(job, record * k, s->points_begin, count, indices, distances);
        if (job->lists.counts) {
            job->lists.counts[record] = k == 0 ? g->counts[q] : count;
        }
    }
}

#endif
