/* Maps: labels, and arguments. tests/oracle/test_maps.py has sums, normals and what was seen through;
 * tests/scene/into.sh existing maps, changes, threads and disks. */
#include "unit.h"

static const double identity[16] = {[0] = 1, [5] = 1, [10] = 1, [15] = 1};

typedef struct fixture {
    pcgpu_context *context;
    pcgpu_map_params params;
    pcgpu_map *map;
    const pcgpu_cloud *points;
} fixture;

static fixture open_map(int threads, double voxel, int64_t memory) {
    fixture f = {0};
    f.context = open_context(threads);
    pcgpu_map_params_init(&f.params);
    f.params.voxel = voxel;
    f.params.memory = memory;
    f.params.folder = memory ? "." : NULL;
    assert_int_equal(pcgpu_map_open(f.context, &f.params, &f.map), PCGPU_OK);
    return f;
}

static void finish(fixture *f) {
    assert_int_equal(pcgpu_map_finish(f->map, &f->points), PCGPU_OK);
}

static void close_map(fixture *f) {
    pcgpu_map_close(f->map);
    pcgpu_close(f->context);
}

static void add(fixture *f, float *rows, int64_t n, const double T[16]) {
    pcgpu_cloud cloud = {.rows = n, .columns = 4, .data = rows, .names = {"x", "y", "z", "intensity"}};
    assert_int_equal(pcgpu_map_add(f->map, &cloud, T), PCGPU_OK);
}

static const float *row_of(const fixture *f, int64_t i) {
    return f->points->data + i * f->points->columns;
}

/* A point between -0.5 and 0.5. */
static float jitter(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 16777216.0f - 0.5f;
}

/* The label of most points of a voxel, the lower on ties, in voxels of several records, in memory and on disk; no
 * column where a scan has no labels, or all have too many. */
static void test_labels(void **state) {
    enum { POINTS = 20000, VOXELS = 700, SCANS = 3 };
    static const uint16_t labels[] = {252, 10, 40, 65535};
    float *rows = malloc(POINTS * 4 * sizeof *rows);
    for (int way = 0; way < 4; way++) {
        int64_t votes[VOXELS][4] = {{0}}, full = 0, ties = 0;
        fixture f = open_map(2, 1.0, way == 1 ? 1 << 20 : 0);
        uint32_t seed = 7;
        for (int scan = 0; scan < SCANS; scan++) {
            for (int i = 0; i < POINTS; i++) {
                const int voxel = i % 2 ? 0 : (int)((jitter(&seed) + 0.5f) * VOXELS),
                          k = (int)((jitter(&seed) + 0.5f) * 4);
                const float row[] = {(float)voxel + 0.25f, 0.5f, 0.5f, way == 3 ? (float)(i % 300) : (float)labels[k]};
                memcpy(rows + (ptrdiff_t)4 * i, row, sizeof row);
                votes[voxel][k]++;
            }
            pcgpu_cloud cloud = {.rows = POINTS, .columns = 4, .data = rows, .names = {"x", "y", "z", "label"}};
            cloud.types[3] = way == 2 && scan == 1 ? PCGPU_FLOAT32 : PCGPU_UINT16;
            assert_int_equal(pcgpu_map_add(f.map, &cloud, identity), PCGPU_OK);
        }
        finish(&f);
        assert_int_equal(f.points->rows, VOXELS);
        assert_int_equal(pcgpu_cloud_column(f.points, "label"), way < 2 ? 7 : -1);
        for (int64_t i = 0; i < VOXELS && way < 2; i++) {
            const float *row = row_of(&f, i);
            const int voxel = (int)row[0];
            int best = -1;
            for (int k = 0; k < 4; k++) {
                const bool tie = best >= 0 && votes[voxel][k] == votes[voxel][best];
                ties += tie && votes[voxel][k] > 0;
                best = best < 0 || votes[voxel][k] > votes[voxel][best] || (tie && labels[k] < labels[best]) ? k : best;
                full += votes[voxel][k] > 8191 / 2;
            }
            assert_int_equal((int)row[7], labels[best]);
            assert_int_equal(f.points->types[7], PCGPU_UINT16);
        }
        assert_true(way >= 2 || (ties > 20 && full == 4));
        close_map(&f);
    }
    free(rows);
}

static void test_arguments(void **state) {
    fixture f = open_map(1, 0.1, 0);
    float rows[4] = {1, 2, 3, 4};
    double T[16];
    pcgpu_map *map;
    const pcgpu_cloud *points;
    pcgpu_cloud cloud = {.rows = 1, .columns = 3, .data = rows, .names = {"x", "y", "z"}};
    memcpy(T, identity, sizeof T);
    T[0] = 2;
    assert_int_equal(pcgpu_map_add(f.map, &cloud, T), PCGPU_ERROR_ARGUMENT);
    assert_int_equal(pcgpu_map_add(f.map, &cloud, identity), PCGPU_OK);
    finish(&f);
    assert_int_equal(f.points->columns, 7); /* no intensity */
    assert_int_equal(pcgpu_map_add(f.map, &cloud, identity), PCGPU_ERROR_ARGUMENT);
    assert_int_equal(pcgpu_map_finish(f.map, &points), PCGPU_ERROR_ARGUMENT);
    assert_null(points);
    for (int wrong = 0; wrong < 6; wrong++) {
        pcgpu_map_params p;
        pcgpu_map_params_init(&p);
        p.voxel = wrong == 0 ? 0.0 : wrong == 1 ? NAN : 0.1;
        p.memory = wrong == 2 ? 1 << 20 : wrong == 3 ? 5 : 0;
        p.folder = wrong == 4 ? "." : NULL;
        p.views_scans = wrong == 5 ? 0 : 1;
        assert_int_equal(pcgpu_map_open(f.context, &p, &map), PCGPU_ERROR_ARGUMENT);
        assert_null(map);
    }
    f.params.memory = 1 << 20;
    f.params.folder = "no such folder";
    assert_int_equal(pcgpu_map_open(f.context, &f.params, &map), PCGPU_ERROR_IO);
    assert_non_null(strstr(pcgpu_last_error(f.context), "give another folder"));
    close_map(&f);
    f = open_map(1, 0.1, 0); /* nothing in it */
    finish(&f);
    assert_int_equal(f.points->rows, 0);
    close_map(&f);
}

/* At the offset of the existing map, in the columns of both; what is refused. */
static void test_into_arguments(void **state) {
    enum { ROWS = 20 };
    float rows[4 * ROWS];
    for (int i = 0; i < 4 * ROWS; i++) {
        rows[i] = i % 4 ? -2.05f : 5.05f + 0.1f * (float)i;
    }
    pcgpu_cloud existing = {.rows = ROWS, .columns = 4, .data = rows, .names = {"x", "y", "z", "curvature"}};
    const pcgpu_cloud *changes;
    existing.offset[1] = 5.0e6;
    fixture f = open_map(1, 0.1, 0);
    assert_int_equal(pcgpu_map_into(f.map, &existing), PCGPU_OK);
    assert_int_equal(pcgpu_map_into(f.map, &existing), PCGPU_ERROR_ARGUMENT);
    double T[16];
    memcpy(T, identity, sizeof T);
    T[7] = 5.0e6;
    float row[4] = {1.0f, 2.0f, 3.0f, 0.5f};
    add(&f, row, 1, T);
    assert_int_equal(pcgpu_map_changes(f.map, &changes), PCGPU_ERROR_ARGUMENT);
    finish(&f);
    assert_int_equal(f.points->columns, 3);
    assert_int_equal(f.points->rows, existing.rows + 1);
    assert_true(f.points->offset[1] == 5.0e6 && fabsf(row_of(&f, existing.rows)[1] - 2.0f) < 0.1f);
    close_map(&f);
    f = open_map(1, 0.1, 0);
    add(&f, row, 1, identity);
    assert_int_equal(pcgpu_map_into(f.map, &existing), PCGPU_ERROR_ARGUMENT);
    finish(&f);
    assert_int_equal(pcgpu_map_changes(f.map, &changes), PCGPU_ERROR_ARGUMENT);
    close_map(&f);
}

UNIT_GROUP(map, NULL, NULL, TEST(test_labels), TEST(test_arguments), TEST(test_into_arguments))
