/* .bin without a header: a wrong number of columns, another type and another unit are noticed, and no good file is. */
#include "test_io.h"

#include "io.h"

enum { POINTS = 20000 };

/* The layouts in use: x y z and then a letter per column: i intensity 0..1, I intensity 0..255, r ring, t time of 0.1
 * s, e elongation, 0 zero, n -1 (Waymo's "no label zone"), c colour, d normal. */
static const char *const layouts[] = {"i", "Ir", "ie", "ien", "00", "it", "Irt", "", "ccc", "ddd", "I", "irt0"};
enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };

static float extra(char kind, int64_t i, test_random *state) {
    switch (kind) {
    case 'i': return (float)(round(test_unit(state) * test_unit(state) * 99) / 100);
    case 'I':
    case 'c': return (float)floor(test_unit(state) * 256);
    case 'r': return (float)(i % 32);
    case 't': return (float)((double)i * 0.1 / POINTS);
    case 'e': return (float)(test_unit(state) * 1.5);
    case 'n': return -1.0f;
    case 'd': return (float)(test_unit(state) - 0.5) * 1.2f;
    default: return 0.0f;
    }
}

/* A spinning LiDAR over ground with walls; by rings (KITTI), by firings (nuScenes), or in random order. malloc'd. */
static float *make_scan(const char *layout, uint64_t seed, double scale) {
    const size_t columns = 3 + strlen(layout);
    test_random state = {seed * 977 + 5};
    float *data = malloc(POINTS * columns * sizeof *data);
    assert_non_null(data);
    for (int64_t i = 0; i < POINTS; i++) {
        const int order = (int)(seed % 3);
        const int64_t ring = order == 0 ? i * 32 / POINTS : order == 1 ? i % 32 : (int64_t)(test_unit(&state) * 32);
        const double turn = order == 2 ? test_unit(&state) : (double)(order == 0 ? i * 32 % POINTS : i) / POINTS;
        const double up = -0.42 + 0.47 * (double)ring / 31, wall = 8 + 40 * test_unit(&state);
        const double range = up < -0.03 ? fmin(1.73 / -sin(up), wall) : wall;
        float *p = data + (size_t)i * columns;
        p[0] = (float)(scale * range * cos(up) * cos(6.2831853 * turn));
        p[1] = (float)(scale * range * cos(up) * sin(6.2831853 * turn));
        p[2] = (float)(scale * range * sin(up));
        for (size_t k = 3; k < columns; k++) {
            p[k] = extra(layout[k - 3], i, &state);
        }
    }
    return data;
}

static bool looks_wrong(const float *data, size_t values, int columns, char *why) {
    const pcgpu_cloud cloud = {
        .rows = (int64_t)(values / (size_t)columns), .columns = columns, .data = (float *)(uintptr_t)data};
    return pcgpu_cloud_looks_wrong(&cloud, "bin", why, 256);
}

static void test_plausible_columns(void **state) {
    char why[256], wanted[32];
    for (int l = 0; l < LAYOUTS; l++) {
        const int right = 3 + (int)strlen(layouts[l]);
        for (uint64_t seed = 0; seed < 9; seed++) {
            float *data = make_scan(layouts[l], seed, 1.0);
            if (looks_wrong(data, POINTS * (size_t)right, right, why)) {
                fail_msg("false alarm for '%s', seed %d: %s", layouts[l], (int)seed, why);
            }
            /* Read with the default, as happens; xyz alone says too little of its columns. */
            const bool other = looks_wrong(data, POINTS * (size_t)right, 4, why);
            snprintf(wanted, sizeof wanted, "give --fields %d", right);
            if (right != 4 && right != 3 && (!other || !strstr(why, wanted))) {
                fail_msg("'%s', seed %d, read as 4 columns: '%s'", layouts[l], (int)seed, why);
            }
            free(data);
        }
    }
}

/* KITTI as nuScenes; small files and all values equal say nothing. */
static void test_plausible_few(void **state) {
    char why[256];
    static const float zeros[4000];
    float *data = make_scan("i", 1, 1.0);
    assert_true(looks_wrong(data, 60000, 5, why));
    assert_string_equal(why, "the values repeat every 4 columns and not every 5; give --fields 4");
    assert_false(looks_wrong(data, 200, 5, why));
    assert_false(looks_wrong(zeros, 4000, 5, why));
    assert_string_equal(why, "");
    assert_int_equal(pc_bin_columns(data, 60000 * sizeof(float), 60000 * sizeof(float), 4), 0);
    assert_int_equal(pc_bin_columns(data, 60000 * sizeof(float), 60000 * sizeof(float), 0), 4);
    free(data);
}

static void test_plausible_types(void **state) {
    char why[256];
    float *scan = make_scan("i", 0, 1.0);
    double *wide = malloc(4000 * 4 * sizeof *wide);
    int32_t *whole = malloc(4000 * 4 * sizeof *whole);
    uint32_t *swapped = malloc(4000 * 4 * sizeof *swapped);
    assert_true(wide && whole && swapped);
    for (int i = 0; i < 16000; i++) {
        wide[i] = (double)scan[i] + 1e-7;
        whole[i] = (int32_t)(scan[i] * 1000);
        memcpy(&swapped[i], &scan[i], 4);
        swapped[i] = __builtin_bswap32(swapped[i]);
    }
    assert_true(looks_wrong((const float *)wide, 32000, 4, why));
    assert_non_null(strstr(why, "look like float64; convert it with NumPy: np.fromfile(FILE, '<f8')"));
    assert_true(looks_wrong((const float *)whole, 16000, 4, why));
    assert_non_null(strstr(why, "np.fromfile(FILE, '<i4')"));
    assert_true(looks_wrong((const float *)swapped, 16000, 4, why));
    assert_non_null(strstr(why, "np.fromfile(FILE, '>f4')"));
    for (int i = 0; i < 16000; i++) {
        whole[i] = (int32_t)(0x7f800001u + (uint32_t)i * 77 % 0x3fffff);
    }
    assert_true(looks_wrong((const float *)whole, 16000, 4, why));
    assert_non_null(strstr(why, "have NaN or infinity in some of x y z or with odd bits"));
    /* The reader refuses it unless options allow it. Whole points of NaN, as in organized clouds, are no reason. */
    pcgpu_cloud cloud;
    io_read_bad("bin", wide, 128000, "look like float64; convert it with NumPy");
    for (int k = 0; k < 2; k++) {
        const pcgpu_read_options how = {
            .struct_size = sizeof how, .format = "bin", .fields = k ? 4 : 0, .force = k == 0};
        FILE *stream = fmemopen(wide, 128000, "rb");
        io.log[0] = '\0';
        assert_int_equal(pcgpu_read(io.context, stream, "file", &how, &cloud), PCGPU_OK);
        assert_non_null(strstr(io.log, "file: coordinates such as "));
        fclose(stream);
        pcgpu_cloud_free(&cloud);
    }
    for (int i = 0; i < 4000; i += 2) {
        scan[4 * i] = scan[4 * i + 1] = scan[4 * i + 2] = NAN;
    }
    io_read_good("bin", scan, 64000, &cloud);
    assert_string_equal(io.log, "");
    pcgpu_cloud_free(&cloud);
    free(scan);
    free(wide);
    free(whole);
    free(swapped);
}

static void test_plausible_millimetres(void **state) {
    char why[256];
    for (uint64_t seed = 0; seed < 9; seed++) {
        float *data = make_scan("i", seed, 1000.0);
        assert_true(looks_wrong(data, POINTS * 4, 4, why));
        assert_non_null(strstr(why, "look like millimetres"));
        for (size_t i = 0; i < POINTS * 4; i += 4) { /* terrain of 30 km with hills of 300 m */
            data[i + 2] *= 0.03f;
        }
        assert_false(looks_wrong(data, POINTS * 4, 4, why));
        free(data);
    }
}

UNIT_GROUP(io_plausible, io_set_up, io_tear_down, TEST(test_plausible_columns), TEST(test_plausible_few),
           TEST(test_plausible_types), TEST(test_plausible_millimetres))
