/* Neighbours: lists of every back end against a loop over all points, byte for byte. */
#include "kernels.h"

enum { MOST_ROWS = 300, CLOUDS = 3, INDEX_GUARD = 77 };

/* A point of a plain list. */
typedef struct candidate {
    float squared;
    int32_t index;
} candidate;

typedef struct lists {
    int32_t *indices, *counts;
    float *distances;
} lists;

static bool by_index;

static int compare_candidates(const void *a, const void *b) {
    const candidate *p = a, *q = b;
    if (!by_index && p->squared != q->squared) {
        return p->squared < q->squared ? -1 : 1;
    }
    return p->index < q->index ? -1 : 1;
}

static bool is_finite(const float *p) {
    return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]);
}

/* The neighbours of one record among `rows` points. */
static void plain_list(const float *points, int64_t stride, int64_t rows, const float *query,
                       const pcgpu_neighbors_params *p, int32_t begin, int32_t *indices, float *distances,
                       int32_t *count) {
    candidate *all = malloc(((size_t)rows + 1) * sizeof *all);
    int64_t found = 0;
    for (int64_t i = 0; i < rows && is_finite(query); i++) {
        const float *at = points + i * stride;
        const float dx = at[0] - query[0], dy = at[1] - query[1], dz = at[2] - query[2];
        const float squared = (dx * dx + dy * dy) + dz * dz;
        if (is_finite(at) && (p->radius == 0.0f || squared < p->radius * p->radius)) {
            all[found++] = (candidate){squared, (int32_t)i};
        }
    }
    by_index = p->order == PCGPU_NEIGHBORS_FIRST;
    qsort(all, (size_t)found, sizeof *all, compare_candidates);
    for (int j = 0; j < p->k; j++) {
        const candidate *at = j < found ? &all[j] : p->pad && found > 0 ? &all[0] : NULL;
        indices[j] = at ? at->index + (p->global ? begin : 0) : p->pad ? 0 : -1;
        distances[j] = at ? sqrtf(at->squared) : INFINITY;
    }
    *count = (int32_t)(p->k == 0 || found < p->k ? found : p->k);
    free(all);
}

static lists make_lists(int64_t queries, int k) {
    const size_t entries = (size_t)(queries * k) + 1;
    lists l = {malloc(entries * 4), malloc((size_t)queries * 4 + 4), malloc(entries * 4)};
    memset(l.indices, INDEX_GUARD, entries * 4);
    memset(l.distances, INDEX_GUARD, entries * 4);
    memset(l.counts, INDEX_GUARD, (size_t)queries * 4 + 4);
    return l;
}

static void free_lists(lists *l) {
    free(l->indices);
    free(l->counts);
    free(l->distances);
}

static void check_call(test_bed *bed, const char *name, const pcgpu_clouds *points, const pcgpu_clouds *queries,
                       const pcgpu_neighbors_params *p) {
    const int64_t all = queries->offsets[queries->count];
    lists want = make_lists(all, p->k);
    for (int64_t i = 0; i < queries->count; i++) {
        for (int64_t q = queries->offsets[i]; q < queries->offsets[i + 1]; q++) {
            plain_list(points->data + points->offsets[i] * points->stride, points->stride,
                       points->offsets[i + 1] - points->offsets[i], queries->data + q * queries->stride, p,
                       (int32_t)points->offsets[i], want.indices + q * p->k, want.distances + q * p->k,
                       want.counts + q);
        }
    }
    for (int c = 0; c < bed->contexts; c++) {
        lists got = make_lists(all, p->k);
        const pcgpu_neighbor_lists to = {got.indices, 4, got.distances, got.counts};
        const pcgpu_status status = pcgpu_neighbors(bed->context[c], points, queries, p, &to, NULL);
        const size_t bytes = (size_t)(all * p->k) * 4 + 4;
        expect(bed, status == PCGPU_OK, "%s: %s", name, pcgpu_last_error(bed->context[c]));
        expect(bed,
               memcmp(got.indices, want.indices, bytes) == 0 && memcmp(got.distances, want.distances, bytes) == 0 &&
                   memcmp(got.counts, want.counts, (size_t)all * 4 + 4) == 0,
               "%s, %s: k %d, radius %g, order %d", name, bed->label[c], p->k, (double)p->radius, (int)p->order);
        free_lists(&got);
    }
    free_lists(&want);
}

static void check_neighbors(test_bed *bed) {
    static const int ks[] = {16, 0, 1, 3, 128, 33, 8};
    pcgpu_cloud cloud, other;
    const char *name;
    for (int kind = 0; make_cloud(kind, bed->seed, bed->quick ? 150 : MOST_ROWS, &cloud, &name); kind++) {
        make_cloud(kind, bed->seed + 1, bed->quick ? 90 : MOST_ROWS / 3, &other, &name);
        const int64_t n = cloud.rows, m = other.rows;
        /* one cloud; three, of which the second is empty; the queries of the second have no points, either */
        const int64_t one[] = {0, n}, three[CLOUDS + 1] = {0, n / 3, n / 3, n},
                      others[CLOUDS + 1] = {0, m / 2, m - 1, m};
        const pcgpu_clouds self = {cloud.data, cloud.columns, 1, 0, one},
                           ragged = {cloud.data, cloud.columns, 3, 0, three},
                           queries = {other.data, other.columns, 3, 0, others};
        /* A radius that has about a tenth of the points. */
        lists l = make_lists(1, n < 128 ? (int)n : 128);
        int32_t count;
        pcgpu_neighbors_params p;
        pcgpu_neighbors_params_init(&p);
        p.k = n < 1280 ? (int)n / 10 + 1 : 128;
        plain_list(cloud.data, cloud.columns, n, cloud.data, &p, 0, l.indices, l.distances, &count);
        const float radius = count > 0 && l.distances[count - 1] > 0.0f && l.distances[count - 1] < 1e18f
                                 ? l.distances[count - 1]
                                 : 1.0f;
        free_lists(&l);
        for (size_t i = 0; i < sizeof ks / sizeof ks[0]; i++) {
            p.k = ks[i];
            for (int way = ks[i] == 0 ? 1 : 0; way < (ks[i] == 0 ? 2 : 3); way++) {
                p.radius = way == 0 ? 0.0f : radius;
                p.pad = (i + (size_t)way + (size_t)kind / 2) % 2;
                p.global = (i + (size_t)kind) % 3 == 0;
                p.order = way == 2 ? PCGPU_NEIGHBORS_FIRST : PCGPU_NEIGHBORS_NEAREST;
                if ((i + (size_t)way + (size_t)kind) % 2 == 0) {
                    check_call(bed, name, &self, &self, &p);
                } else {
                    check_call(bed, name, &ragged, &queries, &p);
                }
            }
        }
        pcgpu_cloud_free(&cloud);
        pcgpu_cloud_free(&other);
    }
}

const operation operation_neighbors = {"neighbors", check_neighbors};
