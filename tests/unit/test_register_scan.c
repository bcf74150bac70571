/* min_range and beam_correction: what a scan becomes before it is registered; pairs and sequences of such scans are in
 * tests/cli/register_scan.sh. */
#include "unit.h"

#define RADIAN 57.29577951308232 /* degrees */

static pcgpu_register_params corrections(double min_range, double degrees) {
    pcgpu_register_params params;
    pcgpu_register_params_init(&params);
    assert_true(params.min_range == 0.0 && params.beam_correction == 0.0);
    params.min_range = min_range;
    params.beam_correction = degrees;
    return params;
}

static pcgpu_cloud cloud_of(int64_t rows, int columns, const float *values) {
    pcgpu_cloud cloud;
    assert_int_equal(pcgpu_cloud_create(NULL, rows, columns, &cloud), PCGPU_OK);
    memcpy(cloud.data, values, (size_t)rows * (size_t)columns * sizeof *values);
    return cloud;
}

static pcgpu_context *context;

static int set_up(void **state) {
    context = open_context(2);
    return 0;
}

static int tear_down(void **state) {
    pcgpu_close(context);
    return 0;
}

static pcgpu_cloud corrected(const pcgpu_cloud *cloud, pcgpu_register_params params, pcgpu_run *run) {
    pcgpu_cloud out;
    pcgpu_run unused = {0};
    assert_int_equal(pcgpu_scan_correct(context, cloud, &params, &out, run ? run : &unused), PCGPU_OK);
    return out;
}

/* A point at a known elevation is then at that and the angle, with its range and azimuth; libm says where. */
static void test_elevation(void **state) {
    static const double angles[] = {0.205, -0.205, 1e-6, 1.0, 5.0, 10.0, -10.0};
    for (size_t a = 0; a < sizeof angles / sizeof angles[0]; a++) {
        for (int elevation = -80; elevation <= 75; elevation += 5) {
            for (int azimuth = 0; azimuth < 360; azimuth += 15) {
                const double e = elevation / RADIAN, z = azimuth / RADIAN, up = e + angles[a] / RADIAN, range = 23.5;
                const float values[4] = {(float)(range * cos(e) * cos(z)), (float)(range * cos(e) * sin(z)),
                                         (float)(range * sin(e)), 0.75f};
                const double wanted[3] = {range * cos(up) * cos(z), range * cos(up) * sin(z), range * sin(up)};
                pcgpu_cloud cloud = cloud_of(1, 4, values), out = corrected(&cloud, corrections(0.0, angles[a]), NULL);
                assert_int_equal(out.rows, 1);
                for (int k = 0; k < 3; k++) {
                    assert_true(fabs((double)out.data[k] - wanted[k]) < 4e-6); /* two roundings of float32 at 23.5 */
                }
                assert_true(out.data[3] == 0.75f);
                pcgpu_cloud_free(&cloud);
                pcgpu_cloud_free(&out);
            }
        }
    }
}

/* What is left out, and counted as what; records without an elevation stay as they are; far offsets. */
static void test_records(void **state) {
    const float values[] = {0,   0, 0, 1, 0,        0, 0, 2, 1, 1, 1, 3, 0,          0, 5, 4,
                            NAN, 1, 1, 5, INFINITY, 0, 0, 6, 2, 0, 0, 7, 1.9999999f, 0, 0, 8};
    pcgpu_register_params params = corrections(2.0, 0.205);
    pcgpu_run run = {.points_in = 100};
    pcgpu_cloud cloud = cloud_of(8, 4, values), out = corrected(&cloud, params, &run);
    assert_int_equal(out.rows, 4); /* 2 m is not nearer than 2 m */
    assert_int_equal(run.points_in, 104);
    assert_int_equal(run.at_origin, 2);
    assert_int_equal(run.too_near, 2);
    assert_true(out.data[2] == 5.0f && out.data[3] == 4.0f && out.data[0] == 0.0f); /* straight up */
    assert_true(isnan(out.data[4]) && out.data[7] == 5.0f && isinf(out.data[8]));
    assert_true(out.data[15] == 7.0f);
    pcgpu_cloud_free(&out);
    params.drop_origin = false;
    out = corrected(&cloud, params, &run);
    assert_int_equal(run.at_origin, 2);
    assert_int_equal(run.too_near, 2 + 4);
    pcgpu_cloud_free(&out);
    /* The sensor is at the origin of the file, not at that of the coordinates that are stored. */
    cloud.offset[0] = 8.0;
    memset(cloud.data, 0, 3 * sizeof *cloud.data);
    out = corrected(&cloud, corrections(0.0, 10.0), NULL);
    assert_true(out.rows == 8 && out.offset[0] == 8.0);
    assert_true(fabs((double)out.data[0] - (8.0 * cos(10.0 / RADIAN) - 8.0)) < 1e-6);
    assert_true(fabs((double)out.data[2] - 8.0 * sin(10.0 / RADIAN)) < 1e-6);
    pcgpu_cloud_free(&out);
    pcgpu_cloud_free(&cloud);
}

/* The normal of a wall that faces the sensor is as steep as the wall is tilted. */
static void test_normals(void **state) {
    const float values[] = {0, 20, 0, 0, -1, 0, 0, 20, 0, 1, 0, 0};
    pcgpu_cloud cloud = cloud_of(2, 6, values);
    for (int k = 0; k < 3; k++) {
        snprintf(cloud.names[3 + k], PCGPU_NAME_SIZE, "n%c", "xyz"[k]);
    }
    pcgpu_cloud out = corrected(&cloud, corrections(0.0, 2.0), NULL);
    assert_true(fabs((double)out.data[4] + cos(2.0 / RADIAN)) < 1e-6);
    assert_true(fabs((double)out.data[5] + sin(2.0 / RADIAN)) < 1e-6);
    assert_true(out.data[9] == 1.0f && out.data[10] == 0.0f && out.data[11] == 0.0f); /* along the axis */
    assert_string_equal(out.names[3], "nx");
    pcgpu_cloud_free(&out);
    pcgpu_cloud_free(&cloud);
}

static void test_refused(void **state) {
    static const double wrong[][2] = {{-1, 0}, {NAN, 0}, {2e6, 0}, {0, 10.001}, {0, -11}, {0, NAN}};
    enum { POINTS = 2 };
    const float points[] = {1, 2, 3, 4, 5, 6};
    pcgpu_cloud cloud = cloud_of(POINTS, 3, points);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        pcgpu_register_params params = corrections(wrong[i][0], wrong[i][1]);
        pcgpu_registration result;
        assert_int_equal(pcgpu_register(context, &cloud, &cloud, &params, &result), PCGPU_ERROR_ARGUMENT);
        assert_non_null(strstr(pcgpu_last_error(context), "give 0 to 1e6 and -10 to 10"));
    }
    /* Nothing is left: no answer, and no error. */
    pcgpu_register_params params = corrections(1000.0, 0.0);
    pcgpu_registration result;
    assert_int_equal(pcgpu_register(context, &cloud, &cloud, &params, &result), PCGPU_OK);
    assert_false(result.converged);
    assert_int_equal(result.run.too_near, 2 * POINTS);
    pcgpu_cloud_free(&cloud);
}

UNIT_GROUP(register_scan, set_up, tear_down, TEST(test_elevation), TEST(test_records), TEST(test_normals),
           TEST(test_refused))
