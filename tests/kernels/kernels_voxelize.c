/* Voxelization against a plain loop over the records. */
#include "kernels.h"

/* ---- the reference -------------------------------------------------------------------------------------------- */

typedef struct grid {
    float min[3], max[3], size[3], cells[3];
} grid;

static grid grid_of(const double range[6], const double size[3]) {
    grid g;
    for (int k = 0; k < 3; k++) {
        g.min[k] = (float)range[k];
        g.max[k] = (float)range[3 + k];
        g.size[k] = (float)size[k];
        g.cells[k] = roundf((g.max[k] - g.min[k]) / g.size[k]);
    }
    return g;
}

static bool cell_of(const grid *g, const float *p, int32_t cell[3]) {
    for (int k = 0; k < 3; k++) {
        if (!(g->min[k] <= p[k]) || !(p[k] < g->max[k])) {
            return false;
        }
        float c = floorf((p[k] - g->min[k]) / g->size[k]);
        if (c < 0.0f || c >= g->cells[k]) {
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

static float mean_of(const plain_voxel *v, int k) {
    double wide = 0.0;
    float narrow = 0.0f;
    for (int32_t i = 0; i < v->count; i++) {
        float value = v->cloud->data[(int64_t)v->rows[i] * v->cloud->columns + k];
        wide += (double)value;
        narrow += value;
    }
    return v->wide ? one_nan(wide / v->count) : one_nan((double)(narrow / (float)v->count));
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
    for (int32_t i = 0; i < v->count; i++, out += 10) {
        const float *p = v->cloud->data + (int64_t)v->rows[i] * v->cloud->columns;
        out[3] = v->cloud->columns > 3 ? p[3] : 0.0f;
        for (int k = 0; k < 3; k++) {
            out[k] = p[k];
            out[4 + k] = p[k] - mean_of(v, k);
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

static pcgpu_voxels reference(const pcgpu_cloud *cloud, const double range[6], const pcgpu_voxelize_params *p) {
    grid g = grid_of(range, p->size);
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

/* ---- comparing ------------------------------------------------------------------------------------------------ */

/* The first thing in which two results differ, or NULL. */
static const char *difference(const pcgpu_voxels *a, const pcgpu_voxels *b, int64_t rows, bool selects) {
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
    if (selects ? memcmp(a->selected, b->selected, v * 4) != 0 : b->selected != NULL) {
        return "selected";
    }
    return memcmp(a->features, b->features, v * (size_t)a->capacity * (size_t)a->columns * 4) ? "features" : NULL;
}

/* Runs one case on every context; returns the reference's result (zeroed when all of them refused the parameters). */
static pcgpu_voxels check_case(test_bed *bed, const char *name, const pcgpu_cloud *cloud,
                               const pcgpu_voxelize_params *p) {
    pcgpu_voxels want = {0};
    bool selects = p->features == PCGPU_FEATURES_FIRST || p->features == PCGPU_FEATURES_NEAREST, refused = false;
    for (int c = 0; c < bed->contexts * bed->repeat; c++) {
        int i = c % bed->contexts;
        pcgpu_voxels got;
        pcgpu_status status = pcgpu_voxelize(bed->context[i], cloud, p, &got);
        if (p->range_auto && (c == 0 || refused) && status == PCGPU_ERROR_ARGUMENT) {
            refused = true; /* a span of too many cells; every context must say so */
            expect(bed, !got.features && got.count == 0, "voxelize, %s: a refused result is not empty", name);
            continue;
        }
        expect(bed, status == PCGPU_OK && !refused, "voxelize, %s, %s: %s", name, bed->label[i],
               bed->context[i]->error);
        if (status == PCGPU_OK && !want.counts) {
            want = reference(cloud, p->range_auto ? got.range : p->range, p);
        }
        if (status == PCGPU_OK) {
            const char *what = difference(&want, &got, cloud->rows, selects);
            expect(bed, !what, "voxelize, %s, %s, features %d, P %lld, V %lld: %s differs", name, bed->label[i],
                   (int)p->features, (long long)p->max_points, (long long)p->max_voxels, what);
            expect(bed, !p->range_auto || got.out_of_range == 0, "voxelize, %s: automatic range, %lld outside", name,
                   (long long)got.out_of_range);
            expect(bed, strcmp(got.run.backend, bed->cuda ? "cuda" : "cpu") == 0, "ran on %s", got.run.backend);
        }
        pcgpu_voxels_free(&got);
    }
    return want;
}

static const struct setting {
    pcgpu_voxelize_params p;
} settings[] = {
    {{.range = {-50, -50, -5, 50, 50, 5}, .size = {0.5, 0.5, 0.5}, .max_points = 5, .features = PCGPU_FEATURES_MEAN}},
    {{.range = {-50, -50, -5, 50, 50, 5},
      .size = {1, 1, 10},
      .max_points = 4,
      .max_voxels = 100,
      .features = PCGPU_FEATURES_PILLAR}},
    {{.range = {-49.5, -39.68, -3, 69.12, 39.68, 1},
      .size = {0.16, 0.16, 4},
      .max_points = 32,
      .max_voxels = 900,
      .features = PCGPU_FEATURES_PILLAR,
      .drop_origin = true}},
    {{.range = {-50, -50, -5, 50, 50, 5},
      .size = {0.01, 0.01, 0.01},
      .max_points = 2,
      .features = PCGPU_FEATURES_POINTS}},
    {{.range = {-50, -50, -5, 50, 50, 5}, .size = {12, 13, 4}, .features = PCGPU_FEATURES_MEAN}},
    {{.range = {-50, -50, -5, 50, 50, 5}, .size = {3, 3, 3}, .features = PCGPU_FEATURES_POINTS}},
    {{.range = {-50, -50, -5, 50, 50, 5}, .size = {3, 3, 3}, .features = PCGPU_FEATURES_PILLAR, .drop_origin = true}},
    {{.range = {-50, -50, -5, 50, 50, 5}, .size = {2, 2, 2}, .features = PCGPU_FEATURES_FIRST, .max_points = 1}},
    {{.range = {-50, -50, -5, 50, 50, 5}, .size = {5, 5, 5}, .features = PCGPU_FEATURES_NEAREST}},
    {{.range = {-50, -50, -5, 50, 50, 5}, .size = {5, 5, 5}, .features = PCGPU_FEATURES_NEAREST, .max_points = 6}},
    {{.range_auto = true, .size = {0.7, 0.7, 0.3}, .max_points = 10, .features = PCGPU_FEATURES_MEAN}},
    {{.range_auto = true, .size = {1e33, 2e32, 1e36}, .features = PCGPU_FEATURES_NEAREST}},
    {{.range = {-1e30, -1e30, -1e30, 1e30, 1e30, 1e30}, .size = {1e29, 1e29, 1e29}, .features = PCGPU_FEATURES_MEAN}},
    {{.range = {-1.7e38, -1.7e38, -1.7e38, 1.7e38, 1.7e38, 1.7e38},
      .size = {1.7e38, 1.7e38, 1.7e38},
      .max_points = 50,
      .features = PCGPU_FEATURES_MEAN}},
    {{.range = {-3.3e38, -3.3e38, -3.3e38, 0, 0, 0},
      .size = {3e38, 3e38, 3e38},
      .max_points = 50,
      .features = PCGPU_FEATURES_NEAREST}},
    {{.range = {-1e-38, -1e-38, -1e-38, 1e-38, 1e-38, 1e-38},
      .size = {1e-39, 1e-39, 1e-39},
      .max_points = 3,
      .features = PCGPU_FEATURES_PILLAR}},
};

static void check_cloud(test_bed *bed, const char *name, const pcgpu_cloud *cloud) {
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        pcgpu_voxelize_params p = settings[i].p;
        pcgpu_voxels want = check_case(bed, name, cloud, &p);
        int64_t found = want.voxels_found, largest = want.largest;
        pcgpu_voxels_free(&want);
        if (i != 0 || found < 2) {
            continue;
        }
        for (int more = -1; more <= 1; more++) { /* both limits met exactly, missed by one, exceeded by one */
            p.max_voxels = found + more;
            p.max_points = largest + more > 0 ? largest + more : 1;
            want = check_case(bed, name, cloud, &p);
            pcgpu_voxels_free(&want);
        }
    }
}

/* ---- clouds with an offset, refusals -------------------------------------------------------------------------- */

/* The offset is subtracted from the range in float64, so that a moved cloud gives the features of the same records. */
static void check_offset(test_bed *bed) {
    pcgpu_cloud cloud;
    make_cloud_named("origins", bed->seed, 5000, &cloud);
    pcgpu_voxelize_params p = settings[0].p;
    p.drop_origin = true;
    pcgpu_voxels want = reference(&cloud, p.range, &p);
    want.out_of_range += want.run.at_origin; /* with an offset no record is the file's origin ... */
    want.run.at_origin = 0;
    const double offset[3] = {500000.0, 5400123.0, -1000.0};
    memcpy(cloud.offset, offset, sizeof offset);
    for (int k = 0; k < 6; k++) {
        p.range[k] += offset[k % 3];
    }
    for (int64_t i = 0; i < cloud.rows; i++) { /* ... so those records are moved out of range */
        float *q = cloud.data + i * cloud.columns;
        q[0] = q[0] == 0.0f && q[1] == 0.0f && q[2] == 0.0f ? 1000.0f : q[0];
    }
    for (int c = 0; c < bed->contexts; c++) {
        pcgpu_voxels got;
        pcgpu_status status = pcgpu_voxelize(bed->context[c], &cloud, &p, &got);
        const char *what = status == PCGPU_OK ? difference(&want, &got, cloud.rows, false) : "the status";
        expect(bed, !what, "voxelize with an offset, %s: %s differs", bed->label[c], what);
        pcgpu_voxels_free(&got);
    }
    pcgpu_voxels_free(&want);
    p = (pcgpu_voxelize_params){.range_auto = true, .size = {0.3, 0.3, 0.3}};
    for (int c = 0; c < bed->contexts; c++) {
        pcgpu_voxels got;
        pcgpu_status status = pcgpu_voxelize(bed->context[c], &cloud, &p, &got);
        expect(bed, status == PCGPU_OK && got.in_range == cloud.rows && fabs(got.range[1] - 5400073.0) < 1.0,
               "automatic range with an offset, %s: %s", bed->label[c], bed->context[c]->error);
        pcgpu_voxels_free(&got);
    }
    pcgpu_cloud_free(&cloud);
}

static void refused(test_bed *bed, const pcgpu_cloud *cloud, pcgpu_voxelize_params p, const char *words) {
    pcgpu_context *context = bed->context[0];
    pcgpu_voxels got;
    pcgpu_status status = pcgpu_voxelize(context, cloud, &p, &got);
    expect(bed, status != PCGPU_OK && strstr(context->error, words), "refusal '%s': got %d '%s'", words, (int)status,
           context->error);
    expect(bed, !got.features && !got.point_voxel && got.count == 0, "refusal '%s': the result is not empty", words);
    pcgpu_voxels_free(&got);
}

static void check_refusals(test_bed *bed) {
    pcgpu_cloud cloud;
    make_cloud_named("uniform", bed->seed, 1000, &cloud);
    const pcgpu_voxelize_params good = settings[0].p;
    pcgpu_voxelize_params p = good;
    p.size[1] = 0.0;
    refused(bed, &cloud, p, "size of 0 m in y");
    p.size[1] = (double)NAN;
    refused(bed, &cloud, p, "in y");
    p = good;
    p.range[3] = p.range[0];
    refused(bed, &cloud, p, "a range from -50 to -50 m in x");
    p.range[3] = (double)INFINITY;
    refused(bed, &cloud, p, "in x");
    p = good;
    p.size[2] = 1e-7;
    refused(bed, &cloud, p, "at most 16777216 an axis");
    p = (pcgpu_voxelize_params){.range = {0, 0, 0, 16777216, 16777216, 16777216}, .size = {1, 1, 1}};
    refused(bed, &cloud, p, "16777216 x 16777216 x 16777216 cells");
    p = good;
    p.size[0] = 300.0;
    refused(bed, &cloud, p, "holds no cell of 300 m");
    p = good;
    p.max_points = -1;
    refused(bed, &cloud, p, "-1 points");
    p = good;
    p.features = PCGPU_FEATURES_POINTS;
    p.max_points = INT32_MAX;
    refused(bed, &cloud, p, "more than this machine has");
    p = (pcgpu_voxelize_params){.range_auto = true, .size = {1e-7, 1, 1}};
    refused(bed, &cloud, p, "enlarge the size");
    cloud.data[0] = 3e7f;
    cloud.data[4] = cloud.data[8] = 3e7f;
    p = (pcgpu_voxelize_params){.range_auto = true, .size = {1e5, 1e5, 1e5}, .max_points = 1};
    pcgpu_voxels want = check_case(bed, "a far corner", &cloud, &p);
    expect(bed, want.voxels_found >= 2, "a far corner: %lld voxels", (long long)want.voxels_found);
    pcgpu_voxels_free(&want);
    pcgpu_cloud_free(&cloud);
}

static void check(test_bed *bed) {
    pcgpu_cloud cloud;
    const char *name;
    for (int kind = 0; make_cloud(kind, bed->seed, 0, &cloud, &name); kind++) {
        check_cloud(bed, name, &cloud);
        pcgpu_cloud_free(&cloud);
    }
    make_cloud_named("clusters", bed->seed, 100003, &cloud);
    check_cloud(bed, "many in clusters", &cloud);
    pcgpu_cloud_free(&cloud);
    check_offset(bed);
    check_refusals(bed);
}

/* ---- speed ---------------------------------------------------------------------------------------------------- */

typedef struct bench_state {
    const pcgpu_cloud *cloud;
    pcgpu_context *context;
    const pcgpu_voxelize_params *params;
} bench_state;

static void run_reference(void *state) {
    bench_state *s = state;
    pcgpu_voxels out = reference(s->cloud, s->params->range, s->params);
    pcgpu_voxels_free(&out);
}

static void run_public(void *state) {
    bench_state *s = state;
    pcgpu_voxels got;
    if (pcgpu_voxelize(s->context, s->cloud, s->params, &got) != PCGPU_OK) {
        printf("%s\n", s->context->error);
    }
    pcgpu_voxels_free(&got);
}

static void bench(test_bed *bed) {
    static const struct {
        const char *name;
        int64_t rows;
        pcgpu_voxelize_params p;
    } cases[] = {
        {"pillar 0.16 m",
         120000,
         {.range = {-50, -50, -5, 50, 50, 5},
          .size = {0.16, 0.16, 10},
          .max_points = 32,
          .max_voxels = 16000,
          .features = PCGPU_FEATURES_PILLAR}},
        {"mean 0.05 m",
         120000,
         {.range = {-50, -50, -5, 50, 50, 5},
          .size = {0.05, 0.05, 0.1},
          .max_points = 5,
          .features = PCGPU_FEATURES_MEAN}},
        {"mean 0.1 m",
         1000000,
         {.range = {-50, -50, -5, 50, 50, 5}, .size = {0.1, 0.1, 0.1}, .features = PCGPU_FEATURES_MEAN}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] - (bed->quick ? 1 : 0); i++) {
        pcgpu_cloud cloud;
        make_cloud_named("rings", bed->seed, cases[i].rows, &cloud);
        bench_state s = {.cloud = &cloud, .params = &cases[i].p};
        double plain = median_seconds(bed, run_reference, &s), items = (double)cases[i].rows;
        printf("voxelize %lld points, %s\n", (long long)cases[i].rows, cases[i].name);
        print_rate("reference", plain, plain, items, "point");
        for (int c = 0; c < bed->contexts; c++) {
            s.context = bed->context[c];
            print_rate(bed->label[c], median_seconds(bed, run_public, &s), plain, items, "point");
        }
        pcgpu_cloud_free(&cloud);
    }
}

const operation operation_voxelize = {"voxelize", check, bench};
