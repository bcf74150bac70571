/* Clusters: connected components of records that are nearer to each other than a distance.
 *
 * The records are in cells whose diagonal is a little shorter than the distance, so that all records of a cell are in
 * one cluster. Two cells are in one if a record of one is near a record of the other, which is asked for cells next to
 * each other that are not in one cluster yet (Gunawan 2013; Gan and Tao 2015). So dense places cost no more than
 * others. */
#include "filter.h"
#include "neighbors_math.h"
#include "temporary.h"

#include <stdlib.h>
#include <string.h>

enum { CLUSTER_BYTES = 192 };       /* of a point: the cells, and a search for those that connect no others */
enum { AXIS_BITS = 21, REACH = 2 }; /* cells farther apart than REACH along an axis have no near records */

#define SHORTER 0.999998 /* the diagonal of a cell per distance: above the rounding of squared distances in float32 */

typedef struct cells {
    int64_t n, count;
    const float *xyz;     /* n x 3 */
    int64_t slots;        /* of the hash table, a power of two */
    uint64_t *keys;       /* slots: the key + 1, 0 = empty */
    int32_t *cell_of_key; /* slots */
    uint64_t *key;        /* count */
    int32_t *first;       /* count + 1: the first place of a cell's records in `order` */
    int32_t *order;       /* n: records by cells */
    float (*box)[6];      /* count: least and largest x y z */
    int32_t *parent;      /* count: of the union-find forest; a root has the lowest id of its tree */
    int32_t *cell;        /* n: of a record */
} cells;

/* ---- the cells --------------------------------------------------------------------------------------------------- */

static void *part(char **at, size_t bytes) {
    void *memory = *at;
    *at += (bytes + 15) / 16 * 16;
    return memory;
}

/* All arrays in one block, which is returned. */
static void *make_cells(const float *xyz, int64_t n, size_t *bytes, cells *c) {
    *c = (cells){.n = n, .xyz = xyz, .slots = 16};
    while (c->slots < 2 * n) {
        c->slots *= 2;
    }
    const size_t slots = (size_t)c->slots, all = (size_t)n + 1;
    *bytes = slots * 12 + all * (8 + 4 + 4 + 24 + 4 + 4) + 8 * 16;
    void *memory = malloc(*bytes);
    char *at = memory;
    if (memory) {
        c->keys = part(&at, slots * sizeof *c->keys);
        c->cell_of_key = part(&at, slots * sizeof *c->cell_of_key);
        c->key = part(&at, all * sizeof *c->key);
        c->first = part(&at, all * sizeof *c->first);
        c->order = part(&at, all * sizeof *c->order);
        c->box = part(&at, all * sizeof *c->box);
        c->parent = part(&at, all * sizeof *c->parent);
        c->cell = part(&at, all * sizeof *c->cell);
        memset(c->keys, 0, slots * sizeof *c->keys);
    }
    return memory;
}

/* The slot of a key, or the empty one for it. */
static int64_t slot_of(const cells *c, uint64_t key) {
    int64_t slot = (int64_t)(pc_hash64(key) & (uint64_t)(c->slots - 1));
    while (c->keys[slot] && c->keys[slot] != key + 1) {
        slot = (slot + 1) & (c->slots - 1);
    }
    return slot;
}

static void widen(float box[6], const float *p) {
    for (int k = 0; k < 3; k++) {
        box[k] = p[k] < box[k] ? p[k] : box[k];
        box[3 + k] = p[k] > box[3 + k] ? p[k] : box[3 + k];
    }
}

/* Ids of cells ascend with their first record. Errors: ARGUMENT. */
static pcgpu_status number_cells(pcgpu_context *context, float distance, cells *c) {
    const double edge = SHORTER * (double)distance / sqrt(3.0);
    float all[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (int64_t i = 0; i < c->n; i++) {
        widen(all, c->xyz + 3 * i);
    }
    for (int k = 0; k < 3 && c->n > 0; k++) {
        const double wide = (double)all[3 + k] - (double)all[k];
        if (!(wide / edge < (double)((1 << AXIS_BITS) - 2 * REACH - 1))) {
            return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                           "the cloud spans %.3g m, too much for clusters of %g m; remove far outliers or give a "
                           "larger distance",
                           wide, (double)distance);
        }
    }
    for (int64_t i = 0; i < c->n; i++) {
        uint64_t key = 0;
        for (int k = 0; k < 3; k++) {
            const double at = ((double)c->xyz[3 * i + k] - (double)all[k]) / edge;
            key = key << AXIS_BITS | (uint64_t)(at + REACH);
        }
        const int64_t slot = slot_of(c, key);
        if (!c->keys[slot]) {
            c->keys[slot] = key + 1;
            c->cell_of_key[slot] = (int32_t)c->count;
            c->key[c->count] = key;
            for (int k = 0; k < 3; k++) {
                c->box[c->count][k] = INFINITY;
                c->box[c->count][3 + k] = -INFINITY;
            }
            c->parent[c->count] = (int32_t)c->count;
            c->count++;
        }
        c->cell[i] = c->cell_of_key[slot];
        widen(c->box[c->cell[i]], c->xyz + 3 * i);
    }
    return PCGPU_OK;
}

/* Sorts the records by cells, in their order. */
static void sort_records(cells *c) {
    memset(c->first, 0, (size_t)(c->count + 1) * sizeof *c->first);
    for (int64_t i = 0; i < c->n; i++) {
        c->first[c->cell[i] + 1]++;
    }
    for (int64_t v = 0; v < c->count; v++) {
        c->first[v + 1] += c->first[v];
    }
    for (int64_t i = 0; i < c->n; i++) {
        c->order[c->first[c->cell[i]]++] = (int32_t)i;
    }
    memmove(c->first + 1, c->first, (size_t)c->count * sizeof *c->first);
    c->first[0] = 0;
}

/* ---- components -------------------------------------------------------------------------------------------------- */

static int32_t root_of(int32_t *parent, int32_t v) {
    while (parent[v] != v) {
        parent[v] = parent[parent[v]];
        v = parent[v];
    }
    return v;
}

static float box_gap(const float a[6], const float b[6]) {
    float sum = 0.0f, gap[3];
    for (int k = 0; k < 3; k++) {
        gap[k] = pc_gap(a[k], a[3 + k], b[k], b[3 + k]);
    }
    sum = (gap[0] * gap[0] + gap[1] * gap[1]) + gap[2] * gap[2];
    return sum;
}

/* Whether a record of cell a is near one of cell b. */
static bool are_near(const cells *c, int64_t a, int64_t b, float squared) {
    if (!(box_gap(c->box[a], c->box[b]) < squared)) {
        return false;
    }
    for (int32_t i = c->first[a]; i < c->first[a + 1]; i++) {
        const float *p = c->xyz + 3 * (int64_t)c->order[i];
        const float at[6] = {p[0], p[1], p[2], p[0], p[1], p[2]};
        for (int32_t j = c->first[b]; j < c->first[b + 1] && box_gap(at, c->box[b]) < squared; j++) {
            const float *q = c->xyz + 3 * (int64_t)c->order[j];
            if (pc_squared_distance(p[0], p[1], p[2], q[0], q[1], q[2]) < squared) {
                return true;
            }
        }
    }
    return false;
}

static void connect(cells *c, int64_t v, uint64_t key, float squared) {
    const int64_t slot = slot_of(c, key);
    if (!c->keys[slot]) {
        return;
    }
    const int32_t other = c->cell_of_key[slot], a = root_of(c->parent, (int32_t)v), b = root_of(c->parent, other);
    if (a != b && are_near(c, v, other, squared)) {
        c->parent[a > b ? a : b] = a < b ? a : b;
    }
}

/* Connects each cell with those of higher keys around it, the nearest ones first, which leaves less to ask. */
static void connect_all(cells *c, float squared) {
    for (int reach = 1; reach <= REACH; reach++) {
        for (int64_t v = 0; v < c->count; v++) {
            for (int dx = 0; dx <= reach; dx++) {
                for (int dy = dx > 0 ? -reach : 0; dy <= reach; dy++) {
                    for (int dz = dx > 0 || dy > 0 ? -reach : 1; dz <= reach; dz++) {
                        const int y = dy < 0 ? -dy : dy, z = dz < 0 ? -dz : dz;
                        if (dx == reach || y == reach || z == reach) {
                            connect(c, v,
                                    c->key[v] + ((uint64_t)(int64_t)dx << 2 * AXIS_BITS) +
                                        ((uint64_t)(int64_t)dy << AXIS_BITS) + (uint64_t)(int64_t)dz,
                                    squared);
                        }
                    }
                }
            }
        }
    }
}

/* ---- clusters ---------------------------------------------------------------------------------------------------- */

/* The clusters of a cloud are trees of its records, too: the root of a tree is its lowest record that connects others.
 * A record that connects no others is a leaf below the first of those within the distance. -1: in no tree. */
typedef struct forest {
    const pcgpu_cluster_params *params;
    int32_t *parent; /* of the records */
    uint8_t *core;   /* of the records: 1 = connects others; NULL: all do */
} forest;

static void join(int32_t *parent, int32_t record, int32_t other) {
    parent[record] = parent[record] < 0 ? record : parent[record];
    parent[other] = parent[other] < 0 ? other : parent[other];
    const int32_t a = root_of(parent, record), b = root_of(parent, other);
    parent[a > b ? a : b] = a < b ? a : b;
}

/* Joins those of the first n points of a subset that are connected among them. */
static pcgpu_status join_points(pcgpu_context *context, const pc_subset *s, int64_t n, const forest *f) {
    cells c;
    size_t bytes;
    const float distance = f->params->distance;
    void *memory = make_cells(s->xyz, n, &bytes, &c);
    if (!memory) {
        return pc_fail_memory(context, bytes, "the clusters");
    }
    const pcgpu_status status = number_cells(context, distance, &c);
    if (status == PCGPU_OK) {
        sort_records(&c);
        connect_all(&c, distance * distance);
        for (int64_t i = 0; i < n; i++) {
            const int32_t lowest = c.order[c.first[root_of(c.parent, c.cell[i])]];
            join(f->parent, s->rows[i], s->rows[lowest]);
        }
    }
    free(memory);
    return status;
}

/* Which points of a tile connect others. */
static pcgpu_status find_cores(pcgpu_context *context, void *state, const pc_tile *tile, pcgpu_run *run) {
    const forest *f = state;
    const pc_subset *s = &tile->points;
    const size_t bytes = (size_t)(s->n + 1) * sizeof(int32_t);
    int32_t *counts = malloc(bytes);
    pcgpu_status status = counts ? pc_subset_count(context, s, f->params->distance, counts, run)
                                 : pc_fail_memory(context, bytes, "the clusters");
    for (int64_t i = 0; i < s->n && status == PCGPU_OK; i++) {
        if (pc_is_in_tile(tile, s->xyz + 3 * i, 0.0)) {
            f->core[s->rows[i]] = counts[i] >= f->params->core;
        }
    }
    free(counts);
    return status;
}

/* Puts the points that connect others first, each part in its order; returns their number. */
static int64_t sort_cores(const pc_subset *s, const uint8_t *is_core, pc_subset *sorted) {
    int64_t n = 0;
    for (int core = 1; core >= 0; core--) {
        for (int64_t i = 0; i < s->n; i++) {
            if (is_core[s->rows[i]] == core) {
                memcpy(sorted->xyz + 3 * sorted->n, s->xyz + 3 * i, 3 * sizeof *s->xyz);
                sorted->rows[sorted->n++] = s->rows[i];
            }
        }
        n = core ? sorted->n : n;
    }
    return n;
}

/* The points of a tile behind the `cores`. first: memory. */
static pcgpu_status join_others(pcgpu_context *context, const pc_tile *tile, const pc_subset *s, int64_t cores,
                                int32_t *first, const forest *f) {
    const pcgpu_clouds points = {.data = s->xyz, .stride = 3, .count = 1, .rows = cores};
    const pcgpu_clouds queries = {.data = s->xyz + 3 * cores, .stride = 3, .count = 1, .rows = s->n - cores};
    const pcgpu_neighbor_lists lists = {.indices = first, .index_bytes = sizeof *first};
    pcgpu_neighbors_params params;
    pcgpu_neighbors_params_init(&params);
    params.order = PCGPU_NEIGHBORS_FIRST;
    params.radius = f->params->distance;
    PC_TRY(pcgpu_neighbors(context, &points, &queries, &params, &lists, NULL));
    for (int64_t i = cores; i < s->n; i++) {
        if (first[i - cores] >= 0 && pc_is_in_tile(tile, s->xyz + 3 * i, 0.0)) {
            f->parent[s->rows[i]] = s->rows[first[i - cores]];
        }
    }
    return PCGPU_OK;
}

static pcgpu_status join_tile(pcgpu_context *context, void *state, const pc_tile *tile, pcgpu_run *run) {
    const forest *f = state;
    const pc_subset *s = &tile->points;
    const pc_backend *backend;
    PC_TRY(pc_choose_backend(context, 0.0, 1.0, run, &backend)); /* the cells are the host's */
    if (!f->core) {
        return join_points(context, s, s->n, f);
    }
    const size_t n = (size_t)s->n + 1, bytes = n * 5 * sizeof(int32_t);
    pcgpu_status status;
    pc_subset sorted = {.memory = malloc(bytes)};
    if (!sorted.memory) {
        return pc_fail_memory(context, bytes, "the clusters");
    }
    sorted.xyz = sorted.memory;
    sorted.rows = (int32_t *)(sorted.xyz + 3 * n);
    const int64_t cores = sort_cores(s, f->core, &sorted);
    PC_TRY_OR(done, status, join_points(context, &sorted, cores, f));
    PC_TRY_OR(done, status, cores < s->n ? join_others(context, tile, &sorted, cores, sorted.rows + n, f) : PCGPU_OK);
done:
    free(sorted.memory);
    return status;
}

/* Trees as ids from 0 on, in the order of their roots, without those of other sizes; returns their number. numbers: as
 * many as records. */
static int64_t number_trees(const pcgpu_cluster_params *p, int32_t *parent, int64_t rows, int32_t *numbers) {
    int32_t next = 0;
    memset(numbers, 0, (size_t)rows * sizeof *numbers);
    for (int64_t i = 0; i < rows; i++) {
        if (parent[i] >= 0) {
            parent[i] = root_of(parent, (int32_t)i);
            numbers[parent[i]]++;
        }
    }
    for (int64_t i = 0; i < rows; i++) { /* a size becomes an id */
        const int32_t size = numbers[i];
        numbers[i] = size > 0 && size >= p->least && (p->most == 0 || size <= p->most) ? next++ : -1;
    }
    for (int64_t i = 0; i < rows; i++) {
        parent[i] = parent[i] >= 0 ? numbers[parent[i]] : -1;
    }
    return next;
}

void pcgpu_cluster_params_init_sized(pcgpu_cluster_params *params, size_t struct_size) {
    const pcgpu_cluster_params initial = {.distance = 0.5f, .core = 1, .least = 1};
    pc_struct_init(params, struct_size, &initial, sizeof initial);
}

static pcgpu_status check(pcgpu_context *context, const pcgpu_cluster_params *p) {
    PC_TRY(pc_struct_check(context, "pcgpu_cluster_params", p->struct_size, sizeof *p));
    if (!(p->distance > 1e-18f && isfinite(p->distance * p->distance))) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "clusters of points %g m apart; give a number above 0",
                       (double)p->distance);
    }
    if (p->core < 1) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "core points with %lld points within the distance; give 1 or more", (long long)p->core);
    }
    if (p->least < 1 || p->most < 0 || (p->most > 0 && p->most < p->least)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "clusters of %lld to %lld points; give 1 or more, the least first", (long long)p->least,
                       (long long)p->most);
    }
    return PCGPU_OK;
}

pcgpu_status pcgpu_find_clusters(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_cluster_params *params,
                                 const uint8_t *mask, int32_t *clusters, int64_t *count, pcgpu_run *run) {
    const uint64_t rows = (uint64_t)cloud->rows, heap = pc_filter_heap(context);
    void *numbers = NULL, *core = NULL;
    forest f = {params, clusters, NULL};
    pcgpu_status status;
    *count = 0;
    memset(run, 0, sizeof *run);
    PC_TRY(check(context, params));
    memset(clusters, -1, rows * sizeof *clusters);
    const double begin = pc_now();
    if (params->core > 1) {
        PC_TRY_OR(done, status, pc_allocate(context, rows, heap, &core));
        f.core = core;
        PC_TRY_OR(done, status,
                  pc_run_tiles(context, cloud, mask, params->distance, PC_SEARCH_BYTES, find_cores, &f, run));
    }
    PC_TRY_OR(done, status, pc_run_tiles(context, cloud, mask, params->distance, CLUSTER_BYTES, join_tile, &f, run));
    PC_TRY_OR(done, status, pc_allocate(context, rows * sizeof(int32_t), heap, &numbers));
    *count = number_trees(params, clusters, cloud->rows, numbers);
    pc_stage(run, "clusters", begin);
done:
    pc_release(numbers);
    pc_release(core);
    *run = status == PCGPU_OK ? *run : (pcgpu_run){0};
    return status;
}
