/* Clusters: connected components of records that are nearer to each other than a distance.
 *
 * The records are in cells whose diagonal is a little shorter than the distance, so that all records of a cell are in
 * one cluster. Two cells are in one if a record of one is near a record of the other, which is asked for cells next to
 * each other that are not in one cluster yet (Gunawan 2013; Gan and Tao 2015). So dense places cost no more than
 * others. */
#include "filter.h"
#include "neighbors_math.h"

#include <stdlib.h>
#include <string.h>

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

/* component[i]: the root of record i. */
static pcgpu_status find_components(pcgpu_context *context, const float *xyz, int64_t n, float distance,
                                    int32_t *component) {
    cells c;
    size_t bytes;
    void *memory = make_cells(xyz, n, &bytes, &c);
    if (!memory) {
        return pc_fail_memory(context, bytes, "the clusters");
    }
    const pcgpu_status status = number_cells(context, distance, &c);
    if (status == PCGPU_OK) {
        sort_records(&c);
        connect_all(&c, distance * distance);
        for (int64_t i = 0; i < n; i++) {
            component[i] = root_of(c.parent, c.cell[i]);
        }
    }
    free(memory);
    return status;
}

/* ---- clusters ---------------------------------------------------------------------------------------------------- */

/* Components as ids from 0 on, in the order of their first records; returns their number. `ids`: a number for each. */
static int64_t renumber(int32_t *component, int64_t n, int32_t *ids) {
    int32_t count = 0;
    memset(ids, -1, (size_t)n * sizeof *ids);
    for (int64_t i = 0; i < n; i++) {
        int32_t *id = component[i] >= 0 ? &ids[component[i]] : NULL;
        if (id && *id < 0) {
            *id = count++;
        }
        component[i] = id ? *id : -1;
    }
    return count;
}

/* Puts the records that connect others first, each part in its order; returns their number. */
static int64_t sort_cores(const pc_subset *s, const int32_t *counts, int64_t least, pc_subset *sorted) {
    int64_t n = 0;
    for (int core = 1; core >= 0; core--) {
        for (int64_t i = 0; i < s->n; i++) {
            if ((counts[i] >= least) == core) {
                memcpy(sorted->xyz + 3 * sorted->n, s->xyz + 3 * i, 3 * sizeof *s->xyz);
                sorted->rows[sorted->n++] = s->rows[i];
            }
        }
        n = core ? sorted->n : n;
    }
    return n;
}

/* The components of the records behind the `cores`: that of the first one within the distance. */
static pcgpu_status join_others(pcgpu_context *context, const pc_subset *s, int64_t cores, float distance,
                                int32_t *component) {
    const pcgpu_clouds points = {.data = s->xyz, .stride = 3, .count = 1, .rows = cores};
    const pcgpu_clouds queries = {.data = s->xyz + 3 * cores, .stride = 3, .count = 1, .rows = s->n - cores};
    const pcgpu_neighbor_lists lists = {.indices = component + cores, .index_bytes = sizeof *component};
    pcgpu_neighbors_params params;
    pcgpu_neighbors_params_init(&params);
    params.order = PCGPU_NEIGHBORS_FIRST;
    params.radius = distance;
    PC_TRY(pcgpu_neighbors(context, &points, &queries, &params, &lists, NULL));
    for (int64_t i = cores; i < s->n; i++) {
        component[i] = component[i] >= 0 ? component[component[i]] : -1;
    }
    return PCGPU_OK;
}

/* Leaves out components of other sizes; returns the number of those that stay, with ids from 0 on. sizes: memory. */
static int64_t limit_sizes(const pcgpu_cluster_params *p, int32_t *component, int64_t n, int64_t count,
                           int32_t *sizes) {
    int32_t next = 0;
    memset(sizes, 0, (size_t)count * sizeof *sizes);
    for (int64_t i = 0; i < n; i++) {
        if (component[i] >= 0) {
            sizes[component[i]]++;
        }
    }
    for (int64_t v = 0; v < count; v++) { /* becomes the id */
        sizes[v] = sizes[v] >= p->least && (p->most == 0 || sizes[v] <= p->most) ? next++ : -1;
    }
    for (int64_t i = 0; i < n; i++) {
        component[i] = component[i] >= 0 ? sizes[component[i]] : -1;
    }
    return next;
}

static pcgpu_status cluster(pcgpu_context *context, const pcgpu_cluster_params *p, pc_subset *s, pc_subset *sorted,
                            int32_t *component, int32_t *numbers, int64_t *count, pcgpu_run *run) {
    int64_t cores = s->n;
    if (p->core > 1) {
        PC_TRY(pc_subset_count(context, s, p->distance, numbers, run));
        cores = sort_cores(s, numbers, p->core, sorted);
        s = sorted;
    }
    PC_TRY(find_components(context, s->xyz, cores, p->distance, component));
    *count = renumber(component, cores, numbers);
    if (cores < s->n) {
        PC_TRY(join_others(context, s, cores, p->distance, component));
    }
    *count = limit_sizes(p, component, s->n, *count, numbers);
    return PCGPU_OK;
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
    pc_subset s, sorted = {0};
    int32_t *component = NULL;
    const pc_backend *backend;
    pcgpu_status status;
    *count = 0;
    memset(run, 0, sizeof *run);
    PC_TRY(check(context, params));
    PC_TRY(pc_choose_backend(context, 0.0, 1.0, run, &backend)); /* the cells are the host's */
    PC_TRY(pc_subset_select(context, cloud, mask, &s, run));
    const size_t bytes = (size_t)(s.n + 1) * 2 * sizeof *component,
                 more = params->core > 1 ? (size_t)(s.n + 1) * 4 * sizeof *component : 0;
    component = malloc(bytes + more);
    if (!component) {
        status = pc_fail_memory(context, bytes + more, "the clusters");
        goto done;
    }
    int32_t *numbers = component + s.n + 1;
    sorted.xyz = more ? (float *)(numbers + s.n + 1) : NULL;
    sorted.rows = more ? numbers + s.n + 1 + 3 * s.n : NULL;
    const double begin = pc_now();
    PC_TRY_OR(done, status, cluster(context, params, &s, &sorted, component, numbers, count, run));
    pc_stage(run, "clusters", begin);
    memset(clusters, -1, (size_t)cloud->rows * sizeof *clusters);
    const pc_subset *of = params->core > 1 ? &sorted : &s;
    for (int64_t i = 0; i < s.n; i++) {
        clusters[of->rows[i]] = component[i];
    }
done:
    free(component);
    pc_subset_free(&s);
    if (status != PCGPU_OK) {
        memset(run, 0, sizeof *run);
        *count = 0;
    }
    return status;
}
