/* Voxelization as a plain loop over the records. */
#include "reference.h"

typedef struct grid {
    float min[3], max[3], size[3], cells[3];
} grid;

static grid grid_of(const double range[6], const pcgpu_voxelize_params *p) {
    grid g;
    for (int k = 0; k < 3; k++) {
        g.min[k] = (float)range[k];
        g.max[k] = p->mask_xy && k < 2 ? (float)range[3 + k] : INFINITY;
        g.size[k] = (float)p->size[k];
        g.cells[k] = roundf(((float)range[3 + k] - g.min[k]) / g.size[k]);
    }
    return g;
}

static bool cell_of(const grid *g, const float *p, int32_t cell[3]) {
    for (int k = 0; k < 3; k++) {
        float c = floorf((p[k] - g->min[k]) / g->size[k]);
        if (!(p[k] <= g->max[k]) || !(c >= 0.0f) || c >= g->cells[k]) {
            return false;
        }
        cell[k] = (int32_t)c;
    }
    return true;
}

/* Voxels found so far, chained by a plain hash of the three cell numbers. */
typedef struct bins {
    size_t size;
    int32_t *head, *next, *cells;
    int32_t found;
} bins;

static int32_t bin_of(bins *b, const int32_t cell[3]) {
    uint32_t h = (uint32_t)cell[0] * 73856093u ^ (uint32_t)cell[1] * 19349663u ^ (uint32_t)cell[2] * 83492791u;
    int32_t *head = &b->head[h % b->size];
    for (int32_t v = *head; v >= 0; v = b->next[v]) {
        if (memcmp(b->cells + 3 * v, cell, 12) == 0) {
            return v;
        }
    }
    b->next[b->found] = *head;
    *head = b->found;
    memcpy(b->cells + 3 * b->found, cell, 12);
    return b->found++;
}

static float one_nan(double value) {
    uint32_t bits = 0x7fc00000u;
    float nan;
    memcpy(&nan, &bits, 4);
    return isnan(value) ? nan : (float)value;
}

/* Rows of a voxel's kept points, then what the features are made of. */
typedef struct plain_voxel {
    const pcgpu_cloud *cloud;
    const int32_t *rows;
    int32_t count;
    bool wide;
} plain_voxel;

/* Finite numbers that add up to the exact sum, none of which overlaps another, in ascending order (Shewchuk 1997). */
typedef struct expansion {
    double part[400]; /* float32 and its sums span fewer bits */
    int parts;
} expansion;

static void grow(expansion *e, double x) {
    int kept = 0;
    for (int i = 0; i < e->parts; i++) {
        double y = e->part[i], high = fabs(x) < fabs(y) ? y : x, low = fabs(x) < fabs(y) ? x : y;
        x = high + low;
        double error = low - (x - high);
        if (error != 0.0) {
            e->part[kept++] = error;
        }
    }
    e->part[kept++] = x;
    e->parts = kept;
}

/* Rounded once: from the largest part down until one is lost, then the tie that the parts below it may decide. */
static double value_of(const expansion *e) {
    double sum = 0.0, lost = 0.0;
    int i = e->parts;
    while (i > 0 && lost == 0.0) {
        double before = sum;
        sum = before + e->part[--i];
        lost = e->part[i] - (sum - before);
    }
    if (i > 0 && ((lost < 0.0 && e->part[i - 1] < 0.0) || (lost > 0.0 && e->part[i - 1] > 0.0))) {
        double twice = 2.0 * lost, up = sum + twice;
        sum = twice == up - sum ? up : sum;
    }
    return sum;
}

static float mean_of(const plain_voxel *v, int k) {
    expansion exact = {.parts = 0};
    double not_finite = 0.0;
    float narrow = 0.0f;
    for (int32_t i = 0; i < v->count; i++) {
        float value = v->cloud->data[(int64_t)v->rows[i] * v->cloud->columns + k];
        narrow += value;
        if (!v->wide) {
            continue;
        }
        if (isfinite(value)) {
            grow(&exact, (double)value);
        } else {
            not_finite += (double)value;
        }
    }
    double sum = not_finite != 0.0 ? not_finite : value_of(&exact);
    return v->wide ? one_nan(sum / v->count) : one_nan((double)(narrow / (float)v->count));
}

static int32_t nearest_of(const plain_voxel *v) {
    float mean[3] = {mean_of(v, 0), mean_of(v, 1), mean_of(v, 2)}, least = 0.0f;
    int32_t best = -1;
    for (int32_t i = 0; i < v->count; i++) {
        const float *p = v->cloud->data + (int64_t)v->rows[i] * v->cloud->columns;
        float dx = p[0] - mean[0], dy = p[1] - mean[1], dz = p[2] - mean[2];
        float d = dx * dx + dy * dy + dz * dz;
        if (best < 0 || d < least) {
            least = d;
            best = v->rows[i];
        }
    }
    return best;
}

static void pillar_of(const plain_voxel *v, const grid *g, const int32_t *coords, float *out) {
    const float mean[3] = {mean_of(v, 0), mean_of(v, 1), mean_of(v, 2)};
    for (int32_t i = 0; i < v->count; i++, out += 10) {
        const float *p = v->cloud->data + (int64_t)v->rows[i] * v->cloud->columns;
        out[3] = v->cloud->columns > 3 ? p[3] : 0.0f;
        for (int k = 0; k < 3; k++) {
            out[k] = p[k];
            out[4 + k] = p[k] - mean[k];
            out[7 + k] = p[k] - (g->min[k] + ((float)coords[3 - k] + 0.5f) * g->size[k]);
        }
    }
}

static void features_of(const plain_voxel *v, const grid *g, int64_t i, pcgpu_features features, pcgpu_voxels *out) {
    float *to = out->features + i * out->capacity * out->columns;
    size_t row = (size_t)v->cloud->columns * sizeof(float);
    if (features == PCGPU_FEATURES_MEAN) {
        for (int k = 0; k < out->columns; k++) {
            to[k] = mean_of(v, k);
        }
    } else if (features == PCGPU_FEATURES_PILLAR) {
        pillar_of(v, g, out->coords + 4 * i, to);
    } else if (features == PCGPU_FEATURES_POINTS) {
        for (int32_t j = 0; j < v->count; j++) {
            memcpy(to + (int64_t)j * out->columns, v->cloud->data + (int64_t)v->rows[j] * out->columns, row);
        }
    } else {
        out->selected[i] = features == PCGPU_FEATURES_FIRST ? v->rows[0] : nearest_of(v);
        memcpy(to, v->cloud->data + (int64_t)out->selected[i] * out->columns, row);
    }
}

static void *zeros(int64_t count, size_t size) {
    void *memory = calloc((size_t)(count ? count : 1), size);
    if (!memory) {
        fprintf(stderr, "kernels: out of memory\n");
        exit(1);
    }
    return memory;
}

/* Which voxel each record falls into, and what that counts up to; out->point_voxel before any limit. */
static int32_t *assign(const pcgpu_cloud *cloud, const grid *g, const pcgpu_voxelize_params *p, bins *b,
                       pcgpu_voxels *out) {
    int32_t *points = zeros(cloud->rows, sizeof *points);
    for (size_t i = 0; i < b->size; i++) {
        b->head[i] = -1;
    }
    for (int64_t i = 0; i < cloud->rows; i++) {
        const float *q = cloud->data + i * cloud->columns;
        int32_t cell[3];
        out->point_voxel[i] = -1;
        if (!isfinite(q[0]) || !isfinite(q[1]) || !isfinite(q[2])) {
            out->run.non_finite++;
        } else if (p->drop_origin && q[0] == 0.0f && q[1] == 0.0f && q[2] == 0.0f) {
            out->run.at_origin++;
        } else if (!cell_of(g, q, cell)) {
            out->out_of_range++;
        } else {
            int32_t v = out->point_voxel[i] = bin_of(b, cell);
            points[v]++;
            out->in_range++;
            out->largest = points[v] > out->largest ? points[v] : out->largest;
        }
    }
    return points;
}

pcgpu_voxels plain_voxelize(const pcgpu_cloud *cloud, const double range[6], const pcgpu_voxelize_params *p) {
    grid g = grid_of(range, p);
    pcgpu_voxels out = {.capacity = 1};
    int64_t rows = cloud->rows, largest_kept = 0;
    bins b = {.size = (size_t)(2 * rows + 1)};
    b.head = zeros(2 * rows + 1, 4);
    b.next = zeros(rows, 4);
    b.cells = zeros(rows, 12);
    out.point_voxel = zeros(rows, 4);
    int32_t *points = assign(cloud, &g, p, &b, &out);
    out.voxels_found = b.found;
    out.count = p->max_voxels && b.found > p->max_voxels ? p->max_voxels : b.found;
    out.counts = zeros(out.count, 4);
    out.coords = zeros(out.count, 16);
    out.selected = zeros(out.count, 4);
    int32_t **kept = zeros(b.found, sizeof *kept);
    for (int32_t v = 0; v < b.found; v++) {
        kept[v] = zeros(points[v], 4);
        for (int k = 0; k < 3 && v < out.count; k++) {
            out.coords[4 * v + 3 - k] = b.cells[3 * v + k];
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        int32_t v = out.point_voxel[i];
        if (v >= out.count) {
            out.over_voxels++;
            out.point_voxel[i] = -1;
        } else if (v >= 0 && p->max_points && out.counts[v] == p->max_points) {
            out.over_points++;
            out.point_voxel[i] = -1;
        } else if (v >= 0) {
            out.kept++;
            kept[v][out.counts[v]++] = (int32_t)i;
            largest_kept = out.counts[v] > largest_kept ? out.counts[v] : largest_kept;
        }
    }
    bool padded = p->features == PCGPU_FEATURES_POINTS || p->features == PCGPU_FEATURES_PILLAR;
    out.columns = p->features == PCGPU_FEATURES_PILLAR ? 10 : cloud->columns;
    out.capacity = !padded ? 1 : p->max_points ? p->max_points : largest_kept ? largest_kept : 1;
    out.features = zeros(out.count * out.capacity * out.columns, 4);
    for (int32_t v = 0; v < b.found; v++) {
        plain_voxel voxel = {cloud, kept[v], v < out.count ? out.counts[v] : 0, p->max_points == 0};
        if (v < out.count) {
            features_of(&voxel, &g, v, p->features, &out);
        }
        free(kept[v]);
    }
    free(kept);
    free(points);
    free(b.head);
    free(b.next);
    free(b.cells);
    return out;
}

const char *voxels_difference(const pcgpu_voxels *a, const pcgpu_voxels *b, int64_t rows, bool selects) {
    size_t v = (size_t)a->count;
#define DIFFERS(member)                                                                                                \
    if (a->member != b->member) {                                                                                      \
        return #member;                                                                                                \
    }
    DIFFERS(voxels_found)
    DIFFERS(count)
    DIFFERS(capacity)
    DIFFERS(columns)
    DIFFERS(in_range)
    DIFFERS(kept)
    DIFFERS(out_of_range)
    DIFFERS(over_points)
    DIFFERS(over_voxels)
    DIFFERS(largest)
    DIFFERS(run.non_finite)
    DIFFERS(run.at_origin)
#undef DIFFERS
    if (memcmp(a->point_voxel, b->point_voxel, (size_t)rows * 4)) {
        return "point_voxel";
    }
    if (memcmp(a->counts, b->counts, v * 4) || memcmp(a->coords, b->coords, v * 16)) {
        return "counts or coords";
    }
    if (selects ? !b->selected || memcmp(a->selected, b->selected, v * 4) : b->selected != NULL) {
        return "selected";
    }
    return memcmp(a->features, b->features, v * (size_t)a->capacity * (size_t)a->columns * 4) ? "features" : NULL;
}
