/* What the programs of bench_voxelize return, compared with what the CPU does. */
#include "voxelize_bench.h"

#include "voxelize_math.h"

/* ---- byte for byte --------------------------------------------------------------------------------------------- */

static size_t feature_bytes(const pcgpu_voxels *v) {
    return (size_t)(v->count * v->capacity * v->columns) * sizeof(float);
}

const char *check_bytes(const expected *e, const answer *got) {
    const pcgpu_voxels *a = &e->exact, *b = &got->voxels;
    const size_t v = (size_t)a->count;
    if (a->count != b->count || a->voxels_found != b->voxels_found || a->capacity != b->capacity ||
        a->columns != b->columns) {
        return "the number of voxels";
    }
    if (a->in_range != b->in_range || a->kept != b->kept || a->over_points != b->over_points ||
        a->over_voxels != b->over_voxels || a->largest != b->largest || a->run.non_finite != b->run.non_finite) {
        return "the numbers of points";
    }
    if (memcmp(a->coords, b->coords, v * 16) != 0) {
        return "the coordinates";
    }
    if (memcmp(a->counts, b->counts, v * 4) != 0) {
        return "the counts";
    }
    if (memcmp(a->point_voxel, b->point_voxel, (size_t)e->job.rows * 4) != 0) {
        return "the voxels of the points";
    }
    if (memcmp(a->features, b->features, feature_bytes(a)) != 0) {
        return "the features";
    }
    return got->means && memcmp(e->exact_means.features, got->means, feature_bytes(&e->exact_means)) != 0 ? "the means"
                                                                                                          : NULL;
}

/* ---- as sets --------------------------------------------------------------------------------------------------- */

static int compare_places(const void *a, const void *b) {
    int64_t x = ((const cell_place *)a)->key, y = ((const cell_place *)b)->key;
    return (x > y) - (x < y);
}

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory) {
        fprintf(stderr, "bench_voxelize: out of memory\n");
        exit(1);
    }
    return memory;
}

cell_place *sort_by_cell(const pc_grid *grid, const pcgpu_voxels *voxels) {
    cell_place *order = allocate((size_t)voxels->count * sizeof *order);
    for (int64_t v = 0; v < voxels->count; v++) {
        const int32_t *c = voxels->coords + 4 * v;
        order[v] = (cell_place){c[0] == 0 ? pc_cell_key(grid, c[3], c[2], c[1]) : -1, v};
    }
    qsort(order, (size_t)voxels->count, sizeof *order, compare_places);
    return order;
}

/* What is looked at of one voxel. */
typedef struct voxel_pair {
    const expected *e;
    const answer *got;
    int64_t all, mine; /* its number in the CPU's result without a limit of voxels, and in the program's */
    int64_t key, kept;
    bool complete; /* no point of it was dropped, so that all that is kept is known */
    float *rows, *more_rows;
} voxel_pair;

enum { MOST_WIDTH = 16 };

static int compare_rows(const void *a, const void *b) {
    return memcmp(a, b, MOST_WIDTH * sizeof(float));
}

/* The first `width` values of the kept points of a voxel, sorted. */
static void sort_rows(const pcgpu_voxels *v, int64_t voxel, int64_t kept, int width, float *rows) {
    const float *from = v->features + voxel * v->capacity * v->columns;
    memset(rows, 0, (size_t)kept * MOST_WIDTH * sizeof *rows);
    for (int64_t i = 0; i < kept; i++) {
        memcpy(rows + i * MOST_WIDTH, from + i * v->columns, (size_t)width * sizeof *rows);
    }
    qsort(rows, (size_t)kept, MOST_WIDTH * sizeof *rows, compare_rows);
}

static double tolerance(const voxel_pair *p, int k) {
    return (double)(p->kept + 2) * 0x1p-24 * p->e->largest[k];
}

static bool is_mean_of_rows(const voxel_pair *p, const pcgpu_voxels *v, int64_t voxel, int k, double mean) {
    const float *from = v->features + voxel * v->capacity * v->columns;
    double sum = 0.0;
    for (int64_t i = 0; i < p->kept; i++) {
        sum += (double)from[i * v->columns + k];
    }
    return fabs(mean - sum / (double)p->kept) <= tolerance(p, k);
}

/* The mean of points of which is not known which were kept lies in their cell. */
static bool is_in_cell(const voxel_pair *p, int k, double mean) {
    const pc_grid *grid = &p->e->job.grid;
    double low = (double)grid->min[k] + p->e->all.coords[4 * p->all + 3 - k] * (double)grid->size[k];
    double slack = tolerance(p, k) + 0x1p-21 * fmax(fabs((double)grid->min[k]), fabs((double)grid->max[k]));
    return mean >= low - slack && mean <= low + (double)grid->size[k] + slack;
}

static const char *check_mean(const voxel_pair *p, const float *mean) {
    const pcgpu_voxels *all = &p->e->all, *mine = &p->got->voxels;
    for (int k = 0; k < p->e->job.columns; k++) {
        bool right = !p->e->job.max_points
                         ? fabs((double)mean[k] - (double)all->features[p->all * all->columns + k]) <= tolerance(p, k)
                     : p->complete ? is_mean_of_rows(p, all, p->all, k, (double)mean[k])
                     : p->e->job.features == PCGPU_FEATURES_POINTS
                         ? is_mean_of_rows(p, mine, p->mine, k, (double)mean[k])
                         : k > 2 || is_in_cell(p, k, (double)mean[k]);
        if (!right) {
            return "a mean";
        }
    }
    return NULL;
}

static const char *check_rows(const voxel_pair *p) {
    const pc_grid *grid = &p->e->job.grid;
    const pcgpu_voxels *mine = &p->got->voxels;
    const float *rows = mine->features + p->mine * mine->capacity * mine->columns;
    const int width = p->e->job.features == PCGPU_FEATURES_POINTS ? p->e->job.columns : p->e->job.columns > 3 ? 4 : 3;
    for (int64_t i = 0; i < p->kept; i++) {
        const float *row = rows + i * mine->columns;
        if (pc_point_key(grid, row[0], row[1], row[2]) != p->key) {
            return "a point is in a voxel that is not its own";
        }
    }
    for (int64_t i = p->kept * mine->columns; i < mine->capacity * mine->columns; i++) {
        uint32_t bits;
        memcpy(&bits, rows + i, sizeof bits);
        if (bits != 0) {
            return "a row behind the points is not zero";
        }
    }
    if (p->complete) {
        sort_rows(&p->e->all, p->all, p->kept, width, p->rows);
        sort_rows(mine, p->mine, p->kept, width, p->more_rows);
        if (memcmp(p->rows, p->more_rows, (size_t)p->kept * MOST_WIDTH * sizeof(float)) != 0) {
            return "the points of a voxel";
        }
    }
    return NULL;
}

static const char *check_pillar(const voxel_pair *p) {
    const pcgpu_voxels *mine = &p->got->voxels;
    const float *rows = mine->features + p->mine * mine->capacity * mine->columns;
    for (int64_t i = 0; i < p->kept; i++) {
        const float *row = rows + i * mine->columns, no_mean[3] = {0.0f, 0.0f, 0.0f};
        float same[PC_PILLAR_COLUMNS];
        pc_pillar_row(&p->e->job.grid, row, p->e->job.columns, no_mean, p->e->all.coords + 4 * p->all, same);
        if (memcmp(same + 7, row + 7, 3 * sizeof(float)) != 0) {
            return "an offset to the centre of a pillar";
        }
        for (int k = 0; k < 3; k++) {
            if (!is_mean_of_rows(p, mine, p->mine, k, (double)row[k] - (double)row[4 + k])) {
                return "an offset to the mean of a pillar";
            }
        }
    }
    return NULL;
}

static const char *check_voxel(voxel_pair *p) {
    const pcgpu_voxels *all = &p->e->all, *mine = &p->got->voxels;
    const int64_t limit = p->e->job.max_points;
    const char *wrong = NULL;
    p->kept = all->counts[p->all];
    p->complete = !limit || p->kept < limit;
    if (mine->counts[p->mine] != p->kept) {
        return "a count";
    }
    if (p->e->job.features != PCGPU_FEATURES_MEAN) {
        wrong = check_rows(p);
    }
    if (!wrong && p->e->job.features == PCGPU_FEATURES_PILLAR) {
        wrong = check_pillar(p);
    }
    const float *means = p->e->job.features == PCGPU_FEATURES_MEAN ? mine->features : p->got->means;
    return wrong || !means ? wrong : check_mean(p, means + p->mine * p->e->job.columns);
}

const char *check_sets(const expected *e, const answer *got) {
    const pcgpu_voxels *all = &e->all, *mine = &got->voxels;
    const int64_t limit = e->job.max_voxels;
    if (mine->voxels_found != all->count || mine->count != (limit && limit < all->count ? limit : all->count) ||
        mine->capacity != e->exact.capacity || mine->columns != e->exact.columns) {
        return "the number of voxels";
    }
    const size_t room = (size_t)mine->capacity * MOST_WIDTH * sizeof(float);
    cell_place *order = sort_by_cell(&e->job.grid, mine);
    voxel_pair pair = {.e = e, .got = got, .rows = allocate(room), .more_rows = allocate(room)};
    const char *wrong = NULL;
    for (int64_t i = 0, at = 0; i < mine->count && !wrong; i++, at++) { /* `at` moves on, so no voxel is met twice */
        while (at < all->count && e->order[at].key < order[i].key) {
            at++;
        }
        if (at == all->count || e->order[at].key != order[i].key) {
            wrong = "a voxel that holds no point, or that is there twice";
            break;
        }
        pair.all = e->order[at].voxel;
        pair.mine = order[i].voxel;
        pair.key = order[i].key;
        wrong = check_voxel(&pair);
    }
    free(pair.more_rows);
    free(pair.rows);
    free(order);
    return wrong;
}
