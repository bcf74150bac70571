/* What only a caller of the library can ask of sampling; tests/cli and tests/oracle ask the rest of the program. */
#include "unit.h"

enum { POINTS = 65 };

static pcgpu_context *context;

/* Points along a line, the first one at the origin. */
static pcgpu_cloud line(void) {
    pcgpu_cloud cloud;
    assert_int_equal(pcgpu_cloud_create(context, POINTS, 3, &cloud), PCGPU_OK);
    for (int i = 0; i < 3 * POINTS; i++) {
        cloud.data[i] = i % 3 ? 0.0f : (float)(i / 3);
    }
    return cloud;
}

static void refused(pcgpu_sample_params params, int clouds, const char *words) {
    pcgpu_cloud cloud = line();
    const pcgpu_cloud *const same[] = {&cloud, &cloud};
    pcgpu_sampled results[2];
    params.struct_size = sizeof params;
    assert_int_equal(pcgpu_sample_batch(context, same, clouds, &params, results), PCGPU_ERROR_ARGUMENT);
    assert_non_null(strstr(pcgpu_last_error(context), words));
    assert_null(results[0].indices);
    assert_null(results[0].distances);
    pcgpu_cloud_free(&cloud);
}

static void refused_of(const pcgpu_cloud *cloud, const pcgpu_sample_params *params, const char *words) {
    pcgpu_sampled result;
    assert_int_equal(pcgpu_sample(context, cloud, params, &result), PCGPU_ERROR_ARGUMENT);
    assert_non_null(strstr(pcgpu_last_error(context), words));
}

static void test_refused(void **state) {
    static const int32_t seeds[] = {3, 5, 3};
    static const int64_t beyond = 101;
#define SEEDS .seeds = seeds, .seed_count
    static const struct {
        pcgpu_sample_params p;
        int clouds;
        const char *words;
    } cases[] = {{{.count = 4, SEEDS = 3}, 1, "seed 3 is record 3, which an earlier seed is, too"},
                 {{.count = 4, SEEDS = 2}, 2, "seeds for 2 clouds"},
                 {{.count = 4, SEEDS = -1}, 1, "-1 seeds"},
                 {{.count = 4, .seed_count = 2}, 1, "2 seeds; give 0 or more, and where they are"},
                 {{.count = 4, SEEDS = 2, .start = PCGPU_START_INDEX}, 1, "both a start and seeds"},
                 {{.count = 4, SEEDS = 2, .start_index = 1}, 1, "start_index is 1 without PCGPU_START_INDEX"},
                 {{.count = 4, SEEDS = 2, .start = PCGPU_START_RANDOM}, 1, "both a start and seeds"},
                 {{.count = 64, SEEDS = 2}, 1, "count 64 exceeds the 63 usable points that are no seeds"},
                 {{.ratio = 1, SEEDS = 2}, 1, "count 65 exceeds the 63 usable points that are no seeds"},
                 {{.count = 5, .start = PCGPU_START_INDEX, .start_index = -1}, 1, "-1"},
                 {{.count = 5, .starts = &beyond}, 1, "starts without"},
                 {{.count = 0}, 1, "not given"},
                 {{.count = -3}, 1, "count -3 is not positive"},
                 {{.ratio = 1.5}, 1, "ratio of 1.5"},
                 {{.ratio = (double)NAN}, 1, "ratio"},
                 {{.count = 2, .ratio = 0.5}, 1, "both"},
                 {{.min_distance = -1.0f}, 1, "least distance"},
                 {{.method = PCGPU_SAMPLE_RANDOM, .count = 2, .min_distance = 1.0f}, 1, "no least distance"},
                 {{.count = 2, .columns = {0, 64}, .column_count = 2}, 1, "column 64 of a cloud with columns 0 to 2"},
                 {{.count = 2, .columns = {0, 64}, .column_count = 65}, 1, "65 columns"},
                 {{.method = PCGPU_SAMPLE_RANDOM, .count = 2, .column_count = 1}, 1, "no distances"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        refused(cases[i].p, cases[i].clouds, cases[i].words);
    }
}

/* Clouds without points between others: no pick of these, and the picks of the others are their own. */
static void test_empty(void **state) {
    pcgpu_cloud some = line(), none = {.columns = 3}, nan = line();
    const pcgpu_cloud *clouds[] = {&none, &some, &nan, &some, &none};
    pcgpu_sample_params params;
    pcgpu_sampled got[5], wanted;
    for (int i = 0; i < 3 * POINTS; i++) {
        nan.data[i] = NAN;
    }
    for (int method = PCGPU_SAMPLE_FPS; method <= PCGPU_SAMPLE_RANDOM; method++) {
        pcgpu_sample_params_init(&params);
        params.method = (pcgpu_sample_method)method;
        params.coverage = true;
        params.count = 4;
        refused_of(&none, &params, "no usable points among 0 records");
        assert_int_equal(pcgpu_sample_batch(context, clouds + 1, 2, &params, got), PCGPU_ERROR_ARGUMENT);
        assert_non_null(strstr(pcgpu_last_error(context), "cloud 1"));
        assert_null(got[0].indices);
        assert_int_equal(pcgpu_sample(context, &some, &params, &wanted), PCGPU_OK);
        params.at_most = true;
        params.start = PCGPU_START_INDEX; /* of a cloud without points there is no first pick */
        assert_int_equal(pcgpu_sample_batch(context, clouds, 5, &params, got), PCGPU_OK);
        for (int i = 0; i < 5; i++) {
            const bool has = clouds[i] == &some;
            assert_int_equal(got[i].count, has ? 4 : 0);
            assert_non_null(got[i].indices);
            assert_memory_equal(got[i].indices, wanted.indices, has ? 4 * sizeof(int32_t) : 0);
            assert_true(got[i].coverage == (has ? wanted.coverage : 0));
            assert_string_equal(got[i].run.backend, wanted.run.backend);
            pcgpu_sampled_free(&got[i]);
        }
        pcgpu_sampled_free(&wanted);
        assert_int_equal(pcgpu_sample(context, &none, &params, &wanted), PCGPU_OK);
        assert_int_equal(wanted.count, 0);
        pcgpu_sampled_free(&wanted);
    }
    params.seeds = (const int32_t[]){0};
    params.seed_count = 1;
    params.start = PCGPU_START_FIRST;
    refused_of(&none, &params, "no usable points among 0 records");
    pcgpu_cloud_free(&some);
    pcgpu_cloud_free(&nan);
}

/* A struct of another version of the headers, or one that no _init made, is refused; a smaller one is not overrun. */
static void test_struct_size(void **unused) {
    struct {
        pcgpu_sample_params params;
        unsigned char behind[8];
    } older;
    pcgpu_sampled result;
    pcgpu_cloud cloud = {.rows = 1, .columns = 3, .data = (float[]){1, 2, 3}};
    memset(&older, 0xab, sizeof older);
    pcgpu_sample_params_init_sized(&older.params, sizeof older.params - 8);
    assert_int_equal(older.params.struct_size, sizeof older.params - 8);
    for (size_t i = 0; i < 16; i++) {
        assert_int_equal(((unsigned char *)&older)[sizeof older.params - 8 + i], 0xab);
    }
    older.params.count = 1;
    assert_int_equal(pcgpu_sample(context, &cloud, &older.params, &result), PCGPU_ERROR_ARGUMENT);
    assert_non_null(strstr(pcgpu_last_error(context), "call pcgpu_sample_params_init"));
    pcgpu_settings settings = {.threads = 1};
    pcgpu_context *other = NULL;
    assert_int_equal(pcgpu_open(&settings, &other), PCGPU_ERROR_ARGUMENT);
    assert_non_null(strstr(pcgpu_last_error(other), "pcgpu_settings has 0 bytes"));
    pcgpu_close(other);
    assert_int_equal(pcgpu_open_sized(NULL, &other, PCGPU_STRUCTS_SIZE + 8), PCGPU_ERROR_ARGUMENT);
    assert_non_null(strstr(pcgpu_last_error(other), "compile with the headers of this version"));
    pcgpu_close(other);
}

static void assert_old(pcgpu_status status, const char *name) {
    assert_int_equal(status, PCGPU_ERROR_ARGUMENT);
    assert_non_null(strstr(pcgpu_last_error(context), name));
}

static void test_old_options(void **unused) {
    const pcgpu_read_options options = {.fields = 4};
    const char *why = "call pcgpu_read_options_init";
    pcgpu_cloud cloud;
    pcgpu_depth depth;
    pcgpu_pieces *pieces;
    pcgpu_read_options good;
    pcgpu_read_options_init(&good);
    assert_int_equal(good.struct_size, sizeof good);
    assert_old(pcgpu_read(context, stdin, "-", &options, &cloud), why);
    assert_old(pcgpu_read_file(context, "/dev/null", &options, &cloud), why);
    assert_old(pcgpu_read_depth_for(context, stdin, "-", &options, &depth), why);
    assert_old(pcgpu_pieces_open(context, "/dev/null", &options, 1 << 20, &pieces), why);
    assert_null(pieces);
}

static void test_old_camera(void **unused) {
    const pcgpu_camera camera = {.width = 2, .height = 1, .fx = 1, .fy = 1, .depth_scale = 1};
    const char *why = "call pcgpu_camera_init";
    const double T[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    pcgpu_depth image = {2, 1, (uint16_t[]){1, 2}, NULL};
    pcgpu_depth_counts counts;
    pcgpu_cloud cloud;
    pcgpu_registration result;
    pcgpu_frame *frame;
    pcgpu_depth_odometry *odometry;
    pcgpu_loops *loops;
    pcgpu_volume *volume;
    pcgpu_register_depth_params registration;
    pcgpu_depth_odometry_params steps;
    pcgpu_depth_loops_params places;
    pcgpu_volume_params voxels;
    pcgpu_register_depth_params_init(&registration);
    pcgpu_depth_odometry_params_init(&steps);
    pcgpu_depth_loops_params_init(&places);
    pcgpu_volume_params_init(&voxels);
    assert_old(pcgpu_depth_count(context, &image, &camera, &counts), why);
    assert_old(pcgpu_depth_to_cloud(context, &image, &camera, &cloud, NULL), why);
    assert_old(pcgpu_register_depth(context, &image, &image, &camera, NULL, &registration, &result), why);
    assert_old(pcgpu_frame_create(context, &image, &camera, &registration, &frame), why);
    assert_old(pcgpu_depth_odometry_open(context, &camera, &steps, &odometry), why);
    assert_old(pcgpu_loops_open_depth(context, &camera, &places, &loops), why);
    assert_int_equal(pcgpu_volume_open(context, &voxels, &volume), PCGPU_OK);
    assert_old(pcgpu_volume_integrate(volume, &image, &camera, T, NULL), why);
    assert_old(pcgpu_volume_raycast(volume, &camera, T, NULL, NULL), why);
    pcgpu_volume_close(volume);
}

int unit_sample(void) {
    const struct CMUnitTest tests[] = {TEST(test_refused), TEST(test_empty), TEST(test_struct_size),
                                       TEST(test_old_options), TEST(test_old_camera)};
    context = open_context(0);
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    pcgpu_close(context);
    return failures;
}
