/* Maps: sums that are known, in memory and on disk; what was seen through; arguments. Costs 0.2 s. */
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

static void assert_near(double value, double wanted, double most) {
    if (!(fabs(value - wanted) <= most)) {
        fail_msg("%g is not %g", value, wanted);
    }
}

/* Means, counts, the order of the rows, and points that are dropped. */
static void test_sums(void **state) {
    static const char *const names[] = {"x", "y", "z", "intensity", "nx", "ny", "nz", "seen"};
    fixture f = open_map(1, 0.5, 0);
    pcgpu_map_stats stats;
    float first[] = {0.1f, 0.1f, 0.1f, 1.0f, 0.3f, 0.2f, 0.1f, 0.5f, -0.1f, 0.1f, 0.1f, 0.25f,
                     NAN,  0,    0,    0,    0,    0,    0,    0,    1e30f, 0,    0,    0};
    float second[] = {0.2f, 0.3f, 0.4f, 0.0f};
    add(&f, first, 6, identity);
    add(&f, second, 1, identity);
    finish(&f);
    assert_int_equal(f.points->rows, 2);
    assert_int_equal(f.points->columns, 8);
    for (int k = 0; k < 8; k++) {
        assert_string_equal(f.points->names[k], names[k]);
    }
    const float before[] = {-0.1f, 0.1f, 0.1f, 0.25f, 0, 0, 0, 1}, mean[] = {0.2f, 0.2f, 0.2f, 0.5f, 0, 0, 0, 2};
    for (int k = 0; k < 8; k++) {
        assert_near((double)row_of(&f, 0)[k], (double)before[k], 0.0005);
        assert_near((double)row_of(&f, 1)[k], (double)mean[k], 0.0005);
    }
    pcgpu_map_get_stats(f.map, &stats);
    assert_int_equal(stats.scans, 2);
    assert_int_equal(stats.voxels, 2);
    assert_int_equal(stats.run.points_in, 7);
    assert_int_equal(stats.run.non_finite, 1);
    assert_int_equal(stats.run.at_origin, 1);
    assert_int_equal(stats.unreachable, 1);
    close_map(&f);
}

/* A point between -0.5 and 0.5. */
static float jitter(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 16777216.0f - 0.5f;
}

/* More points than a record of a voxel holds, and normals of a plane, towards the sensor above it. */
static void test_full_and_normals(void **state) {
    enum { POINTS = 60000 };
    fixture f = open_map(2, 1.0, 0);
    float *rows = malloc(POINTS * 4 * sizeof *rows);
    uint32_t seed = 1;
    for (int i = 0; i < POINTS; i++) {
        rows[4 * i] = 2.0f + jitter(&seed) * 1.9f;
        rows[4 * i + 1] = -0.5f + jitter(&seed) * 0.9f;
        rows[4 * i + 2] = -1.5f + 0.01f * jitter(&seed) + 0.2f * (rows[4 * i] - 2.0f);
        rows[4 * i + 3] = 1000.0f;
    }
    for (int scan = 0; scan < 3; scan++) {
        add(&f, rows, POINTS, identity);
    }
    double below[16];
    memcpy(below, identity, sizeof below);
    below[11] = -3.0;
    for (int i = 0; i < POINTS; i++) {
        rows[4 * i + 2] += 3.0f;
    }
    add(&f, rows, POINTS, below); /* from the other side */
    finish(&f);
    assert_int_equal(f.points->rows, 2); /* each with ten records */
    for (int64_t i = 0; i < 2; i++) {
        const float *row = row_of(&f, i);
        assert_near((double)row[0], i == 0 ? 1.525 : 2.475, 0.01);
        assert_near((double)row[1], -0.5, 0.01);
        assert_near((double)row[2], -1.5 + 0.2 * ((double)row[0] - 2.0), 0.002);
        assert_near((double)row[3], 1000.0, 0.0);
        assert_near((double)row[4], -0.2 / sqrt(1.04), 0.003);
        assert_near((double)row[5], 0.0, 0.003);
        assert_near((double)row[6], 1.0 / sqrt(1.04), 0.003); /* up: the first sensor is above */
        assert_near((double)row[7], 4.0, 0.0);
    }
    free(rows);
    close_map(&f);
}

/* A random walk of scans, far from the origin; some voxels are left and met again. */
static fixture random_map(int threads, int64_t memory) {
    enum { POINTS = 4000, SCANS = 40 };
    fixture f = open_map(threads, 0.1, memory);
    float *rows = malloc(POINTS * 4 * sizeof *rows);
    uint32_t seed = 7;
    for (int scan = 0; scan < SCANS; scan++) {
        double T[16];
        memcpy(T, identity, sizeof T);
        T[3] = 3000.0 + 40.0 * fabs(20.0 - scan);
        T[7] = -5.0e5;
        for (int i = 0; i < 4 * POINTS; i++) {
            rows[i] = 30.0f * jitter(&seed);
        }
        add(&f, rows, POINTS, T);
    }
    free(rows);
    finish(&f);
    return f;
}

/* The same bytes whatever the threads, and wherever the voxels were. */
static void test_disk(void **state) {
    pcgpu_map_stats stats;
    fixture one = random_map(1, 0);
    assert_true(one.points->offset[0] != 0 && fabs(one.points->offset[1] + 5e5) < 30 && one.points->offset[2] == 0);
    for (int threads = 1; threads < 4; threads += 2) {
        for (int64_t memory = 1 << 20; memory <= 1 << 22; memory *= 4) {
            fixture other = random_map(threads, memory);
            pcgpu_map_get_stats(other.map, &stats);
            assert_true(stats.on_disk > 1 << 20);
            assert_int_equal(other.points->rows, one.points->rows);
            assert_memory_equal(other.points->offset, one.points->offset, sizeof one.points->offset);
            assert_memory_equal(other.points->data, one.points->data,
                                (size_t)one.points->rows * (size_t)one.points->columns * sizeof(float));
            close_map(&other);
        }
    }
    close_map(&one);
}

/* A wall 20 m ahead, and before it, in the first scan only, a board; beams every 0.3 degree. */
static int64_t board_scan(float *rows, double x, bool board) {
    int64_t n = 0;
    for (int v = -30; v <= 30; v++) {
        for (int u = -60; u <= 60; u++) {
            const double ty = u * 0.005, tz = v * 0.005, far = 20.0 - x, near = 10.0 - x;
            const bool hit = board && fabs(near * ty) < 1.0 && fabs(near * tz) < 0.5;
            const double range = hit ? near : far;
            const float row[4] = {(float)range, (float)(range * ty), (float)(range * tz), 0.5f};
            memcpy(rows + 4 * n++, row, sizeof row);
        }
    }
    return n;
}

static int64_t count_before(const fixture *f, double x) {
    int64_t count = 0;
    for (int64_t i = 0; i < f->points->rows; i++) {
        count += (double)row_of(f, i)[0] < x;
    }
    return count;
}

static void test_seen_through(void **state) {
    float *rows = malloc(61 * 121 * 4 * sizeof *rows);
    for (int kind = 0; kind < 3; kind++) { /* it leaves; it stays; it leaves and is kept */
        fixture f = open_map(1, 0.1, 0);
        pcgpu_map_close(f.map);
        f.params.keep_moving = kind == 2;
        assert_int_equal(pcgpu_map_open(f.context, &f.params, &f.map), PCGPU_OK);
        for (int scan = 0; scan < 6; scan++) {
            double T[16];
            memcpy(T, identity, sizeof T);
            T[3] = scan;
            add(&f, rows, board_scan(rows, scan, kind == 1 || scan == 0), T);
        }
        finish(&f);
        pcgpu_map_stats stats;
        pcgpu_map_get_stats(f.map, &stats);
        assert_int_equal(stats.panoramas, kind == 2 ? 0 : 6);
        const int64_t board = count_before(&f, 15.0);
        assert_true(kind == 0 ? board == 0 && stats.moved > 100 : board > 100 && stats.moved == 0);
        assert_true(f.points->rows - board > 1000); /* the wall */
        close_map(&f);
    }
    free(rows);
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

/* An existing map: floor below the board, every so many columns of it (0: none), and a point that is not finite. */
enum { FLOOR = 100 * 40, BOARD = 20 * 10 };
static pcgpu_cloud existing_map(bool floor, int every) {
    float *rows = malloc((FLOOR + BOARD + 1) * 4 * sizeof *rows);
    int64_t n = 0;
    for (int i = 0; i < FLOOR + BOARD; i++) {
        const int k = i - FLOOR;
        const float on_floor[4] = {5.05f + 0.1f * (float)(i % 100), -1.95f + 0.1f * (float)(i / 100), -2.05f, 3.0f};
        const float on_board[4] = {10.0f, -0.95f + 0.1f * (float)(k % 20), -0.45f + 0.1f * (float)(k / 20), 4.0f};
        if (i < FLOOR ? floor : every && k % 20 % every == every / 2) {
            memcpy(rows + 4 * n++, i < FLOOR ? on_floor : on_board, sizeof on_floor);
        }
    }
    const float last[4] = {NAN, 0.0f, 0.0f, 5.0f};
    memcpy(rows + 4 * n++, last, sizeof last);
    return (pcgpu_cloud){.rows = n, .columns = 4, .data = rows, .names = {"x", "y", "z", "intensity"}};
}

static fixture extend(const pcgpu_cloud *existing, bool board, int threads, int64_t memory) {
    float *rows = malloc(61 * 121 * 4 * sizeof *rows);
    fixture f = open_map(threads, 0.1, memory);
    assert_int_equal(pcgpu_map_into(f.map, existing), PCGPU_OK);
    for (int scan = 0; scan < 6; scan++) {
        double T[16];
        memcpy(T, identity, sizeof T);
        T[3] = scan;
        add(&f, rows, board_scan(rows, scan, board), T);
    }
    free(rows);
    finish(&f);
    return f;
}

/* The points of the existing map come first, and the voxels of the board are changes where it came or went: on ground
 * that the map has, and nowhere else. */
static void test_into(void **state) {
    static const struct {
        bool floor;
        int was;
        bool is, appeared, gone;
    } kinds[] = {{true, 0, false, false, false}, {true, 1, false, false, true},  {true, 0, true, true, false},
                 {true, 1, true, false, false},  {false, 0, true, false, false}, /* where the map ends */
                 {true, 7, true, false, false}}; /* between its points, across two tiles */
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        const bool is = kinds[kind].is, appeared = kinds[kind].appeared, gone = kinds[kind].gone;
        pcgpu_cloud existing = existing_map(kinds[kind].floor, kinds[kind].was);
        fixture f = extend(&existing, is, 1, 0), other = extend(&existing, is, 3, 1 << 20);
        const pcgpu_cloud *changes;
        pcgpu_map_stats stats;
        pcgpu_map_get_stats(f.map, &stats);
        assert_int_equal(pcgpu_map_changes(f.map, &changes), PCGPU_OK);
        assert_int_equal(stats.kept, existing.rows);
        assert_int_equal(stats.added, f.points->rows - existing.rows);
        assert_int_equal(stats.appeared + stats.disappeared, changes->rows);
        assert_int_equal(f.points->columns, 4);
        assert_memory_equal(f.points->data, existing.data, (size_t)existing.rows * 4 * sizeof(float));
        assert_memory_equal(f.points->data, other.points->data, (size_t)f.points->rows * 4 * sizeof(float));
        assert_in_range(stats.appeared, appeared ? BOARD / 2 : 0, appeared ? 2 * BOARD : 0);
        assert_in_range(stats.disappeared, gone ? BOARD * 9 / 10 : 0, gone ? BOARD : 0);
        for (int64_t i = 0; i < changes->rows; i++) {
            const float *row = changes->data + 4 * i;
            assert_near((double)row[0], 10.0, 0.1);
            assert_true(fabsf(row[1]) < 1.1f && fabsf(row[2]) < 0.6f && row[3] == (gone ? 2.0f : 1.0f));
        }
        assert_true(changes->types[3] == PCGPU_UINT8 && strcmp(changes->names[3], "change") == 0);
        close_map(&f);
        close_map(&other);
        free(existing.data);
    }
}

/* At the offset of the existing map, in the columns of both; what is refused. */
static void test_into_arguments(void **state) {
    pcgpu_cloud existing = existing_map(true, 0);
    const pcgpu_cloud *changes;
    existing.offset[1] = 5.0e6;
    snprintf(existing.names[3], PCGPU_NAME_SIZE, "curvature");
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
    free(existing.data);
}

UNIT_GROUP(map, NULL, NULL, TEST(test_sums), TEST(test_full_and_normals), TEST(test_disk), TEST(test_seen_through),
           TEST(test_labels), TEST(test_arguments), TEST(test_into), TEST(test_into_arguments))
