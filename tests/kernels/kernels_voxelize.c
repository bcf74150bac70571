/* Voxelization against a plain loop over the records. */
#include "voxelize_cpu.h"
#include "reference.h"

#include <float.h>
#include <limits.h>

/* ---- cases ------------------------------------------------------------------------------------------------------- */

/* The CPU's forms and numbers of parts that the public call does not choose for clouds of this size. */
static void check_forms(test_bed *bed, const char *name, const pcgpu_cloud *cloud, const double range[6],
                        const pcgpu_voxelize_params *p, const pcgpu_voxels *want) {
    static const int parts[] = {2, 3, 5, 0, 16, 64};
    bool selects = p->features == PCGPU_FEATURES_FIRST || p->features == PCGPU_FEATURES_NEAREST;
    pc_voxelize_job job = {.rows = cloud->rows,
                           .columns = cloud->columns,
                           .data = cloud->data,
                           .max_points = p->max_points,
                           .max_voxels = p->max_voxels,
                           .features = p->features,
                           .skip_origin = p->drop_origin};
    for (int k = 0; k < 3; k++) {
        job.grid.min[k] = (float)range[k];
        job.grid.max[k] = (float)range[3 + k];
        job.grid.size[k] = (float)p->size[k];
        job.grid.cells[k] = roundf((job.grid.max[k] - job.grid.min[k]) / job.grid.size[k]);
        job.grid.max[k] = p->mask_xy && k < 2 ? job.grid.max[k] : HUGE_VALF;
    }
    for (int i = 0; i < PC_SIMD_FORMS * bed->contexts; i++) {
        pc_voxelize_form form = {
            .simd = (pc_simd)(i % PC_SIMD_FORMS), .part_rows = 700, .parts = parts[bed->checks % 6]};
        pcgpu_context *context = bed->context[i / PC_SIMD_FORMS];
        if (!pc_cpu_has(form.simd)) {
            continue;
        }
        pcgpu_voxels got = {.count = 0};
        pcgpu_status status = pc_cpu_voxelize_as(context, &job, &got, &form);
        got.out_of_range = cloud->rows - got.in_range - got.run.non_finite - got.run.at_origin;
        const char *what =
            status == PCGPU_OK ? voxels_difference(want, &got, cloud->rows, selects) : context->errors.text;
        expect(bed, !what, "voxelize, %s, %s, vector form %d, %d parts, features %d, P %lld, V %lld: %s differs", name,
               bed->label[i / PC_SIMD_FORMS], (int)form.simd, form.parts, (int)p->features, (long long)p->max_points,
               (long long)p->max_voxels, what);
        pcgpu_voxels_free(&got);
    }
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
               bed->context[i]->errors.text);
        if (status == PCGPU_OK && !want.counts) {
            want = plain_voxelize(cloud, p->range_auto ? got.range : p->range, p);
            if (!bed->cuda) {
                check_forms(bed, name, cloud, p->range_auto ? got.range : p->range, p, &want);
            }
        }
        if (status == PCGPU_OK) {
            const char *what = voxels_difference(&want, &got, cloud->rows, selects);
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

static void check_only(test_bed *bed, const char *name, const pcgpu_cloud *cloud, const pcgpu_voxelize_params *p) {
    pcgpu_voxels want = check_case(bed, name, cloud, p);
    pcgpu_voxels_free(&want);
}

/* A range of zeros: automatic. */
static pcgpu_voxelize_params params_of(const double range[6], const double size[3], int64_t max_points,
                                       int64_t max_voxels, pcgpu_features features) {
    pcgpu_voxelize_params p;
    pcgpu_voxelize_params_init(&p);
    p.range_auto = range[0] == 0.0 && range[3] == 0.0;
    memcpy(p.range, range, sizeof p.range);
    memcpy(p.size, size, sizeof p.size);
    p.max_points = max_points;
    p.max_voxels = max_voxels;
    p.features = features;
    return p;
}

static const double automatic[6], usual[6] = {-50, -50, -5, 50, 50, 5};

static const struct {
    double range[6], size[3];
    int64_t max_points, max_voxels;
    pcgpu_features features;
    bool drop_origin, mask_xy;
} settings[] = {
    {{-50, -50, -5, 50, 50, 5}, {0.5, 0.5, 0.5}, 5, 0, PCGPU_FEATURES_MEAN, false, false},
    {{-50, -50, -5, 50, 50, 5}, {1, 1, 10}, 4, 100, PCGPU_FEATURES_PILLAR, false, false},
    {{-49.5, -39.68, -3, 69.12, 39.68, 1}, {0.16, 0.16, 4}, 32, 900, PCGPU_FEATURES_PILLAR, true, false},
    {{-50, -50, -5, 50, 50, 5}, {0.01, 0.01, 0.01}, 2, 0, PCGPU_FEATURES_POINTS, false, false},
    {{-50, -50, -5, 50, 50, 5}, {12, 13, 4}, 0, 0, PCGPU_FEATURES_MEAN, false, false},
    {{-50, -50, -5, 50, 50, 5}, {3, 3, 3}, 0, 0, PCGPU_FEATURES_POINTS, false, false},
    {{-50, -50, -5, 50, 50, 5}, {13, 7.4, 3}, 0, 0, PCGPU_FEATURES_PILLAR, true, true},
    {{-50, -50, -5, 50, 50, 5}, {2, 2, 2}, 1, 0, PCGPU_FEATURES_FIRST, false, false},
    {{-50, -50, -5, 50, 50, 5}, {5, 5, 5}, 0, 0, PCGPU_FEATURES_NEAREST, false, false},
    {{-50, -50, -5, 50, 50, 5}, {5, 5, 5}, 6, 0, PCGPU_FEATURES_NEAREST, false, false},
    {{0}, {0.7, 0.7, 0.3}, 10, 0, PCGPU_FEATURES_MEAN, false, false},
    {{0}, {1e33, 2e32, 1e36}, 0, 0, PCGPU_FEATURES_NEAREST, false, false},
    {{-1e30, -1e30, -1e30, 1e30, 1e30, 1e30}, {1e29, 1e29, 1e29}, 0, 0, PCGPU_FEATURES_MEAN, false, false},
    {{-1.7e38, -1.7e38, -1.7e38, 1.7e38, 1.7e38, 1.7e38},
     {1.7e38, 1.7e38, 1.7e38},
     50,
     0,
     PCGPU_FEATURES_MEAN,
     false,
     false},
    {{-3.3e38, -3.3e38, -3.3e38, 0, 0, 0}, {3e38, 3e38, 3e38}, 50, 0, PCGPU_FEATURES_NEAREST, false, false},
    {{-1e-38, -1e-38, -1e-38, 1e-38, 1e-38, 1e-38}, {1e-39, 1e-39, 1e-39}, 3, 0, PCGPU_FEATURES_PILLAR, false, false},
};

static void check_cloud(test_bed *bed, const char *name, const pcgpu_cloud *cloud) {
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        pcgpu_voxelize_params p = params_of(settings[i].range, settings[i].size, settings[i].max_points,
                                            settings[i].max_voxels, settings[i].features);
        p.drop_origin = settings[i].drop_origin;
        p.mask_xy = settings[i].mask_xy;
        pcgpu_voxels want = check_case(bed, name, cloud, &p);
        int64_t found = want.voxels_found, largest = want.largest;
        pcgpu_voxels_free(&want);
        for (int more = -1; more <= 1 && i == 0 && found >= 2;
             more++) { /* both limits met, missed or exceeded by one */
            p.max_voxels = found + more;
            p.max_points = largest + more > 0 ? largest + more : 1;
            check_only(bed, name, cloud, &p);
        }
    }
}

/* ---- exact sums ------------------------------------------------------------------------------------------------ */

/* What a column may hold to make float64 additions round: any bits, any finite bits, values that cancel, a few that are
 * far larger than all others, a tie in the last place of float64. */
static float hostile_value(test_random *r, int column, int64_t i) {
    static const float cancelling[] = {1e30f, 1.0f, -1e30f, 3e-39f}, tie[] = {0x1p0f, 0x1p-53f, 0x1p-80f, -0x1p-80f};
    uint32_t bits = (uint32_t)test_bits(r);
    float value;
    switch (column % 5) {
    case 0: break;
    case 1: bits &= 0xbfffffffu; break;
    case 2: return cancelling[i % 4];
    case 3: return i % 1000 == 7 ? -FLT_MAX : test_uniform(r, -1.0f, 1.0f);
    default: return tie[bits % 4];
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Means without a limit of clouds whose columns need more than float64. */
static void check_sums(test_bed *bed) {
    static const struct {
        const char *cloud;
        int64_t rows;
        double size;
    } cases[] = {{"one voxel", 3, 10}, {"one voxel", 20001, 10}, {"sixteen columns", 5000, 5}, {"uniform", 10000, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        pcgpu_cloud cloud;
        test_random r = {.state = bed->seed + c};
        double size = cases[c].size;
        make_cloud_named(cases[c].cloud, bed->seed, cases[c].rows, &cloud);
        for (int64_t i = 0; i < cloud.rows; i++) {
            for (int k = 3; k < cloud.columns; k++) {
                cloud.data[i * cloud.columns + k] = hostile_value(&r, k, i);
            }
        }
        pcgpu_voxelize_params p = params_of((const double[6]){-50, -50, -10, 50, 50, 10},
                                            (const double[3]){size, size, size}, 0, 0, PCGPU_FEATURES_MEAN);
        for (int f = PCGPU_FEATURES_MEAN; f <= PCGPU_FEATURES_NEAREST; f++) {
            p.features = (pcgpu_features)f;
            check_only(bed, "hostile columns", &cloud, &p);
        }
        for (int k = 0; k < 3; k++) { /* coordinates that float64 cannot add, in one voxel */
            for (int64_t i = 0; i < cloud.rows; i++) {
                cloud.data[i * cloud.columns + k] = fabsf(hostile_value(&r, 1, i)) * 1e-30f;
            }
            p.range[k] = 0.0;
        }
        for (int f = PCGPU_FEATURES_MEAN; f <= PCGPU_FEATURES_NEAREST; f++) {
            p.features = (pcgpu_features)f;
            check_only(bed, "hostile coordinates", &cloud, &p);
        }
        pcgpu_cloud_free(&cloud);
    }
}

/* The bits that decide how the sum rounds to float64, and with it how the mean rounds to float32, below all others. */
static void check_ties(test_bed *bed) {
    static const float values[][4] = {{1.0f, 0x1p-24f, 0x1p-53f, 0x1p-100f},
                                      {1.0f, 0x1p-24f, 0x1p-53f, 0.0f},
                                      {1.0f, 0x1p-24f, 0x1p-53f, -0x1p-149f},
                                      {-0x1p-149f, -0x1p-53f, -1.0f, -0x1p-24f}};
    static const float means[] = {0.25f + 0x1p-25f, 0.25f, 0.25f, -0.25f - 0x1p-25f};
    for (size_t c = 0; c < sizeof means / sizeof means[0]; c++) {
        pcgpu_cloud cloud;
        make_cloud_named("one voxel", bed->seed, 4, &cloud);
        for (int i = 0; i < 4; i++) {
            cloud.data[i * cloud.columns + 3] = values[c][i];
            cloud.data[i * cloud.columns + 4] = values[c][3 - i];
        }
        pcgpu_voxelize_params p =
            params_of((const double[6]){0, 0, 0, 1, 1, 1}, (const double[3]){1, 1, 1}, 0, 0, PCGPU_FEATURES_MEAN);
        pcgpu_voxels want = check_case(bed, "ties", &cloud, &p);
        expect(bed, want.count == 1 && want.features[3] == means[c] && want.features[4] == means[c],
               "the mean of tie %d: %a in the reference, not %a", (int)c, (double)want.features[3], (double)means[c]);
        pcgpu_voxels_free(&want);
        pcgpu_cloud_free(&cloud);
    }
}

/* ---- many records ---------------------------------------------------------------------------------------------- */

/* Most records are of voxels that have all they keep, and others come now and then: what CUDA puts aside of a cloud
 * with very many, as the emulator has it of this one. */
static void check_again(test_bed *bed, int64_t rows) {
    static const int64_t most[] = {0, 60};
    pcgpu_cloud cloud;
    make_cloud_named("again", bed->seed, rows, &cloud);
    for (int i = 0; i < 2; i++) {
        pcgpu_voxelize_params p = params_of(usual, settings[0].size, 5 + 8 * i, most[i], PCGPU_FEATURES_MEAN);
        p.drop_origin = i > 0;
        check_only(bed, "again", &cloud, &p);
    }
    pcgpu_cloud_free(&cloud);
}

/* ---- few cells --------------------------------------------------------------------------------------------------- */

/* The same points with other columns than four: x y z, and any values. */
static void set_columns(pcgpu_cloud *cloud, int columns) {
    float *data = malloc((size_t)cloud->rows * (size_t)columns * sizeof *data + 1);
    if (!data) {
        fprintf(stderr, "kernels: out of memory\n");
        exit(1);
    }
    for (int64_t i = 0; i < cloud->rows; i++) {
        const float *p = cloud->data + i * cloud->columns;
        for (int k = 0; k < columns; k++) {
            data[i * columns + k] = k < cloud->columns ? p[k] : (float)(i % 1009 * (k + 1)) / 7.0f;
        }
    }
    for (int k = cloud->columns; k < columns; k++) {
        snprintf(cloud->names[k], sizeof cloud->names[k], "column%d", k);
        cloud->types[k] = PCGPU_FLOAT32;
    }
    free(cloud->data);
    cloud->data = data;
    cloud->columns = columns;
}

/* Grids of which CUDA has a table of every cell, and the same cells in a grid of far more, of which it has not; with
 * voxels of every size and limits near these, and records of several sizes; every `step`-th. */
static void check_few_cells(test_bed *bed, int64_t rows, int step) {
    static const int points[] = {1, 3, 4, 5, 16, 17, 31, 32, 33, 63, 64}, columns[] = {4, 3, 5, 8, 9, 16};
    static const pcgpu_features features[] = {PCGPU_FEATURES_MEAN, PCGPU_FEATURES_POINTS, PCGPU_FEATURES_PILLAR};
    static const double sizes[][3] = {{0.5, 0.5, 2}, {1, 1, 1}, {4, 4, 2}, {8, 16, 2}, {16, 16, 2}};
    for (int c = 0; c < 6; c++) {
        pcgpu_cloud cloud;
        make_cloud_named("corner", bed->seed, rows, &cloud);
        if (cloud.columns != columns[c]) {
            set_columns(&cloud, columns[c]);
        }
        for (int i = c * 2; i < 11 * 5 * 3; i += c ? step * 5 : step) {
            pcgpu_voxelize_params p = params_of((const double[6]){0, 0, 0, 16, 16, 2}, sizes[i % 5], points[i % 11],
                                                i % 4 == 3 ? 1 + i % 7 * 20 : 0, features[i % 3]);
            check_only(bed, "few cells", &cloud, &p);
            p.range[3] = p.range[4] = 8000;
            p.features = features[i % 2];
            p.max_points = points[i % 5];
            check_only(bed, "few of many cells", &cloud, &p);
        }
        pcgpu_cloud_free(&cloud);
    }
}

/* ---- the origin of clouds with an offset, refusals -------------------------------------------------------------- */

/* Records at the origin of the file: of a large offset float32 holds only some, and a rounded one is no origin. */
static void check_far_origin(test_bed *bed) {
    pcgpu_cloud cloud;
    make_cloud_named("uniform", bed->seed, 10, &cloud);
    cloud.data[0] = -500000000.0f;
    cloud.data[1] = cloud.data[2] = 0.0f;
    pcgpu_voxelize_params p = params_of(automatic, (const double[3]){1e6, 1e6, 1e6}, 0, 0, PCGPU_FEATURES_MEAN);
    p.drop_origin = true;
    for (int c = 0; c < 2 * bed->contexts; c++) {
        cloud.offset[0] = c % 2 ? 500000001.0 : 500000000.0;
        pcgpu_voxels got;
        pcgpu_status status = pcgpu_voxelize(bed->context[c / 2], &cloud, &p, &got);
        expect(bed, status == PCGPU_OK && got.run.at_origin == 1 - c % 2 && got.in_range == 9 + c % 2,
               "origin of an offset of %.0f, %s: %lld dropped", cloud.offset[0], bed->label[c / 2],
               (long long)got.run.at_origin);
        pcgpu_voxels_free(&got);
    }
    pcgpu_cloud_free(&cloud);
}

static void check_refusals(test_bed *bed) {
    static const double nan = (double)NAN, inf = (double)INFINITY;
    const struct {
        double range[6], size[3];
        int64_t max_points;
        const char *words;
    } cases[] = {
        {{-50, -50, -5, 50, 50, 5}, {0.5, 0, 0.5}, 5, "size of 0 m in y"},
        {{-50, -50, -5, 50, 50, 5}, {0.5, nan, 0.5}, 5, "in y"},
        {{-50, -50, -5, -50, 50, 5}, {0.5, 0.5, 0.5}, 5, "a range from -50 to -50 m in x"},
        {{-50, -50, -5, inf, 50, 5}, {0.5, 0.5, 0.5}, 5, "in x"},
        {{-50, -50, -5, 50, 50, 5}, {0.5, 0.5, 1e-7}, 5, "at most 16777216 an axis"},
        {{0, 0, 0, 16777216, 16777216, 16777216}, {1, 1, 1}, 0, "16777216 x 16777216 x 16777216 cells"},
        {{-50, -50, -5, 50, 50, 5}, {300, 0.5, 0.5}, 5, "holds no cell of 300 m"},
        {{-50, -50, -5, 50, 50, 5}, {0.5, 0.5, 0.5}, -1, "-1 points"},
        {{-50, -50, -5, 50, 50, 5}, {0.5, 0.5, 0.5}, INT32_MAX, "more than this machine has"},
        {{0}, {1e-7, 1, 1}, 0, "enlarge the size"},
    };
    pcgpu_cloud cloud;
    make_cloud_named("uniform", bed->seed, 1000, &cloud);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pcgpu_context *context = bed->context[0];
        const pcgpu_features features = cases[i].max_points == INT32_MAX ? PCGPU_FEATURES_POINTS : PCGPU_FEATURES_MEAN;
        const pcgpu_voxelize_params p = params_of(cases[i].range, cases[i].size, cases[i].max_points, 0, features);
        pcgpu_voxels got;
        const pcgpu_status status = pcgpu_voxelize(context, &cloud, &p, &got);
        expect(bed, status != PCGPU_OK && strstr(context->errors.text, cases[i].words), "refusal '%s': got %d '%s'",
               cases[i].words, (int)status, context->errors.text);
        expect(bed, !got.features && !got.point_voxel && got.count == 0, "refusal '%s': the result is not empty",
               cases[i].words);
        pcgpu_voxels_free(&got);
    }
    cloud.data[0] = cloud.data[4] = cloud.data[8] = 3e7f;
    const pcgpu_voxelize_params p = params_of(automatic, (const double[3]){1e5, 1e5, 1e5}, 1, 0, PCGPU_FEATURES_MEAN);
    pcgpu_voxels want = check_case(bed, "a far corner", &cloud, &p);
    expect(bed, want.voxels_found >= 2, "a far corner: %lld voxels", (long long)want.voxels_found);
    pcgpu_voxels_free(&want);
    pcgpu_cloud_free(&cloud);
}

static void check(test_bed *bed) {
    pcgpu_cloud cloud;
    const char *name;
    const int most = bed->clouds ? bed->clouds : INT_MAX;
    for (int kind = 0; kind < most && make_cloud(kind, bed->seed, 0, &cloud, &name); kind++) {
        check_cloud(bed, name, &cloud);
        pcgpu_cloud_free(&cloud);
    }
    if (bed->clouds) { /* for sanitizers, which are slow */
        check_again(bed, 20011);
        check_few_cells(bed, 1409, 7);
        return;
    }
    make_cloud_named("clusters", bed->seed, bed->quick ? 20011 : 100003, &cloud);
    check_cloud(bed, "many in clusters", &cloud);
    pcgpu_cloud_free(&cloud);
    check_sums(bed);
    check_ties(bed);
    check_again(bed, bed->quick ? 100003 : 400009);
    check_few_cells(bed, 1409, bed->cuda && !bed->quick ? 1 : 4);
    if (bed->cuda && !bed->quick) { /* the CPU has no such table */
        check_few_cells(bed, 30011, 1);
    }
    check_far_origin(bed);
    check_refusals(bed);
}

const operation operation_voxelize = {"voxelize", check};
