/* Range images through the library: angles and pixels, scans whose answer is known, those that have none, and wrong
 * arguments. */
#include "icp_range.h"
#include "pcgpu.h"
#include "register_depth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "register_test.h"

static pcgpu_context *context;
static pcgpu_range_image image;
static pcgpu_register_depth_params params;

static int setup(void **state) {
    (void)state;
    context = open_context(2);
    pcgpu_range_image_init(&image);
    pcgpu_register_range_params_init(&params);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    pcgpu_close(context);
    return 0;
}

/* ---- angles and pixels ------------------------------------------------------------------------------------------- */

#define TURN 6.283185307179586

static void test_angles(void **state) {
    (void)state;
    double worst = 0.0, worst_up = 0.0;
    for (int i = 0; i <= 4000000; i++) {
        const double angle = TURN * i / 4000000.0;
        const float x = (float)(3.0 * cos(angle)), y = (float)(3.0 * sin(angle));
        const double wanted = atan2((double)y, (double)x) / TURN;
        const double off = fabs((double)pc_azimuth_turns(x, y) - (wanted < 0.0 ? wanted + 1.0 : wanted));
        worst = off > worst ? off : worst;
        if (x >= 0.0f) {
            const double up = fabs((double)pc_elevation_turns(x, y) - wanted);
            worst_up = up > worst_up ? up : worst_up;
        }
    }
    assert_true(worst < 9e-8); /* with the rounding of numbers up to 1 */
    assert_true(worst_up < 8e-8);
    assert_true(pc_azimuth_turns(0.0f, 0.0f) == 0.0f && pc_azimuth_turns(2.0f, -0.0f) == 0.0f);
    assert_true(pc_azimuth_turns(0.0f, 1.0f) == 0.25f && pc_azimuth_turns(-1.0f, 0.0f) == 0.5f);
    assert_true(pc_azimuth_turns(0.0f, -1.0f) == 0.75f && pc_azimuth_turns(1.0f, -1e-30f) == 1.0f);
    assert_true(pc_elevation_turns(0.0f, -4.0f) == -0.25f && pc_elevation_turns(0.0f, 0.0f) == 0.0f);
}

static int32_t pixel(const pc_depth_level *l, double x, double y, double z) {
    float range;
    const int32_t at = pc_range_pixel(l, (float)x, (float)y, (float)z, &range);
    assert_true((at == pc_depth_nowhere(l)) == (range == 0.0f));
    return at;
}

static void test_pixels(void **state) {
    (void)state;
    pc_depth_level l;
    pc_range_level_init(&l, 64, 9, -20.0 / 360.0, 25.0 / 360.0); /* rows of 5 degrees */
    const int32_t nowhere = pc_depth_nowhere(&l);
    assert_int_equal(nowhere, 16 * 64);
    assert_int_equal(pixel(&l, 5, 0.01, 0.1), 4 * 64);
    assert_int_equal(pixel(&l, 5, -0.01, 0.1), 4 * 64 + 63); /* across the seam */
    assert_int_equal(pixel(&l, 5, -1e-30, 0.1), 4 * 64);     /* rounds to a whole turn */
    assert_int_equal(pixel(&l, -5, 0.01, -0.1), 5 * 64 + 31);
    assert_int_equal(pixel(&l, -5, -0.01, -0.1), 5 * 64 + 32);
    assert_int_equal(pixel(&l, 0.01, 5, 5 * tan(24.9 * TURN / 360)), 15);
    assert_int_equal(pixel(&l, 0.01, -5, -5 * tan(19.9 * TURN / 360)), 8 * 64 + 48);
    assert_int_equal(pixel(&l, 0.01, 5, 5 * tan(25.1 * TURN / 360)), nowhere);
    assert_int_equal(pixel(&l, 0.01, 5, -5 * tan(20.1 * TURN / 360)), nowhere);
    assert_int_equal(pixel(&l, 0, 0, 1), nowhere);
    assert_int_equal(pixel(&l, 0, 0, 0), nowhere);
    assert_int_equal(pixel(&l, NAN, 1, 0), nowhere);
    assert_int_equal(pixel(&l, 1, INFINITY, 0), nowhere);
    assert_int_equal(pixel(&l, 3e38, 3e38, 3e38), nowhere);
    assert_int_equal(pixel(&l, 1e-30, 0, 0), nowhere); /* its square is 0 */
}

/* What a frame of these points has at a pixel of its finest level. */
static const float *look(pcgpu_frame **frame, const float *points, int64_t n, int row, int column) {
    const pcgpu_cloud cloud = {.rows = n, .columns = 3, .data = (float *)points};
    assert_int_equal(pcgpu_frame_create_range(context, &cloud, &image, &params, frame), PCGPU_OK);
    const pc_depth_level *l = &(*frame)->maps.level[0];
    return (*frame)->maps.maps + l->at + PC_RANGE_VALUES * (row * l->columns + column);
}

/* The nearest point of a pixel, and of points as near the first. */
static void test_nearest(void **state) {
    (void)state;
    const float points[] = {8, 0.2f, 0, 4, 0.1f, 0.05f, 4, 0.1f, -0.05f, 4, 0.1f, 0.05f, 12, 0.1f, 0, 9, 0.1f, 1.5f};
    pcgpu_frame *frame;
    image = (pcgpu_range_image){9, 64, -45, 45};
    params.levels = 1;
    const float *found = look(&frame, points, 6, 4, 0); /* around the horizon */
    assert_true(found[PC_RANGE_X] == 4.0f && found[PC_RANGE_Z] == 0.05f);
    assert_true(found[PC_RANGE_Z - PC_RANGE_VALUES * 64] == 1.5f);
    assert_int_equal(frame->run.points_in, 6);
    pcgpu_frame_free(context, frame);
    found = look(&frame, points + 6, 3, 4, 0);
    assert_true(found[PC_RANGE_X] == 4.0f && found[PC_RANGE_Z] == -0.05f);
    pcgpu_frame_free(context, frame);
}

/* ---- scans whose answer is known --------------------------------------------------------------------------------- */

enum { BEAMS = 32, FIRINGS = 600, POINTS = BEAMS * FIRINGS };
static float from_data[3 * POINTS + 30], to_data[3 * POINTS + 30];
static pcgpu_cloud from, to;

/* The range of a ray in a box room with a column, from a place in it. */
static double range_of(const double ray[3], const double at[3], int kind) {
    static const double low[3] = {-6, -4, -1.5}, high[3] = {8, 5, 2.5}, column[2] = {3, 1.5};
    double best = 1e9;
    for (int k = kind == 1 ? 2 : 0; k < 3; k++) { /* 1: floor and ceiling alone; 2: no ends */
        if (ray[k] != 0.0 && !(kind == 2 && k == 0)) {
            const double t = ((ray[k] > 0.0 ? high[k] : low[k]) - at[k]) / ray[k];
            best = t < best ? t : best;
        }
    }
    if (kind == 0) {
        const double dx = at[0] - column[0], dy = at[1] - column[1], a = ray[0] * ray[0] + ray[1] * ray[1];
        const double b = ray[0] * dx + ray[1] * dy, c = dx * dx + dy * dy - 0.25, root = b * b - a * c;
        const double t = root > 0.0 ? (-b - sqrt(root)) / a : -1.0;
        best = t > 0.0 && t < best ? t : best;
    }
    return best;
}

/* A scan from `at`, with the scanner turned by `angle` about z. */
static void sweep(float *data, const double at[3], double angle, int kind) {
    for (int i = 0; i < POINTS; i++) {
        const double turn = TURN * (i % FIRINGS + 0.3) / FIRINGS, rise = (15.0 - i / FIRINGS) * 1.25 * TURN / 360.0;
        const double level = cos(rise), own[3] = {level * cos(turn), level * sin(turn), sin(rise)};
        const double ray[3] = {cos(angle) * own[0] - sin(angle) * own[1], sin(angle) * own[0] + cos(angle) * own[1],
                               own[2]};
        const double range = range_of(ray, at, kind);
        for (int k = 0; k < 3; k++) {
            data[3 * i + k] = range < 100.0 ? (float)(range * own[k]) : 0.0f;
        }
    }
}

static void make_scans(const double shift[3], double angle, int kind) {
    static const double origin[3] = {0, 0, 0};
    from = (pcgpu_cloud){.rows = POINTS, .columns = 3, .data = from_data};
    to = (pcgpu_cloud){.rows = POINTS, .columns = 3, .data = to_data};
    sweep(to_data, origin, 0.0, kind);
    sweep(from_data, shift, angle, kind);
}

static pcgpu_registration run(void) {
    pcgpu_registration r;
    assert_int_equal(pcgpu_register_range(context, &from, &to, &image, &params, &r), PCGPU_OK);
    return r;
}

static void test_motion(void **state) {
    (void)state;
    const double shift[3] = {0.3, -0.2, 0.1}, angle = 0.08;
    make_scans(shift, angle, 0);
    const pcgpu_registration r = run();
    assert_true(r.converged);
    for (int k = 0; k < 3; k++) {
        assert_true(fabs(r.T_target_source[4 * k + 3] - shift[k]) < 2e-3);
    }
    assert_true(fabs(r.T_target_source[4] - sin(angle)) < 2e-4 && fabs(r.T_target_source[1] + sin(angle)) < 2e-4);
    assert_true(r.fitness > 0.7 && r.score > 0.5 && r.inliers > 5000 && r.levels == 3 && !r.degenerate);
    assert_true(r.run.points_in == 2 * POINTS && r.run.non_finite == 0);
    const double deviation = sqrt(r.covariance[21] + r.covariance[28] + r.covariance[35]);
    assert_true(deviation > 1e-6 && deviation < 1e-2);
}

/* Scans that are the same give the identity, whatever is in them that cannot be used. */
static void test_same(void **state) {
    (void)state;
    const double none[3] = {0, 0, 0};
    make_scans(none, 0.0, 0);
    const float bad[] = {NAN, 1, 1, 1, INFINITY, 1, 0, 0, 0, -0.0f, 0, 0, 3e38f, 3e38f, 0, 1e-40f, 0, 0};
    memcpy(from_data + 3 * POINTS, bad, sizeof bad);
    memcpy(to_data + 3 * POINTS, bad, sizeof bad);
    from.rows = to.rows = POINTS + 6;
    const pcgpu_registration r = run();
    assert_true(r.converged);
    for (int i = 0; i < 16; i++) {
        assert_true(r.T_target_source[i] == (i % 5 == 0 ? 1.0 : 0.0));
    }
    assert_int_equal(r.run.non_finite, 4);
    assert_int_equal(r.run.at_origin, 4);
}

/* What is not seen keeps the registration from being a success. */
static void test_open(void **state) {
    (void)state;
    const double shift[3] = {0.1, 0.05, 0.02};
    make_scans(shift, 0.0, 1);
    pcgpu_registration r = run();
    assert_true(!r.converged && r.degenerate && strstr(r.unconstrained, "along x"));
    make_scans(shift, 0.0, 2);
    r = run();
    assert_true(!r.converged && r.degenerate && strstr(r.unconstrained, "along x"));
}

/* The answer with a given offset of one cloud is that of the same coordinates. */
static void test_offset(void **state) {
    (void)state;
    const double shift[3] = {0.3, -0.2, 0.1};
    make_scans(shift, 0.05, 0);
    for (int i = 0; i < POINTS; i++) {
        to_data[3 * i] = floorf(1024.0f * to_data[3 * i]) / 1024.0f; /* so that nothing is rounded */
    }
    const pcgpu_registration plain = run();
    for (int i = 0; i < POINTS; i++) {
        to_data[3 * i] -= 2.0f;
    }
    to.offset[0] = 2.0;
    const pcgpu_registration moved = run();
    assert_memory_equal(plain.T_target_source, moved.T_target_source, sizeof plain.T_target_source);
}

static void test_hostile(void **state) {
    (void)state;
    const double none[3] = {0, 0, 0};
    make_scans(none, 0.0, 0);
    static float ray[3 * POINTS];
    static const int64_t rows[] = {0, 1, POINTS, POINTS};
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 3 * POINTS; k++) { /* nothing, a point, all at the origin, all on a ray */
            ray[k] = i == 2 ? 0.0f : i == 3 ? (float)(1 + k / 3) : 1.0f;
        }
        from = (pcgpu_cloud){.rows = rows[i], .columns = 3, .data = ray};
        const pcgpu_registration r = run();
        assert_true(!r.converged && strstr(r.reason, "the source has 0 pixels"));
        assert_true(r.T_target_source[0] == 1.0 && r.T_target_source[3] == 0.0);
        const pcgpu_cloud other = from;
        from = to;
        to = other;
        assert_true(strstr(run().reason, "the target has 0 pixels"));
        to = from;
    }
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static void refuse(const char *what) {
    pcgpu_registration r;
    assert_int_equal(pcgpu_register_range(context, &from, &to, &image, &params, &r), PCGPU_ERROR_ARGUMENT);
    if (!strstr(pcgpu_last_error(context), what)) {
        fail_msg("%s", pcgpu_last_error(context));
    }
    assert_int_equal(r.iterations, 0);
    pcgpu_range_image_init(&image);
    pcgpu_register_range_params_init(&params);
}

static void test_arguments(void **state) {
    (void)state;
    const double none[3] = {0, 0, 0};
    make_scans(none, 0.0, 0);
    image.rows = -1;
    refuse("-1 rows");
    image.rows = PCGPU_RANGE_ROWS + 1;
    refuse("1025 rows");
    image.columns = 48;
    refuse("a multiple of 32");
    image.columns = 2 * PCGPU_DEPTH_SIDE;
    refuse("up to 16384");
    image.low = -10;
    refuse("from -10 to nan");
    image.low = 3, image.high = 2;
    refuse("from 3 to 2");
    image.low = -91, image.high = 2;
    refuse("-90 to 90");
    image.low = -INFINITY, image.high = 2;
    refuse("-90 to 90");
    params.levels = 0;
    refuse("0 levels");
    params.max_distance = 0;
    refuse("a largest distance of 0");
}

/* Frames that are prepared give what the call for both gives; scans and depth images do not go together. */
static void test_frames(void **state) {
    (void)state;
    const double shift[3] = {0.3, -0.2, 0.1};
    uint16_t depths[64 * 48];
    const pcgpu_depth depth = {64, 48, depths};
    pcgpu_camera camera;
    pcgpu_frame *a = NULL, *b = NULL, *c = NULL;
    pcgpu_registration r;
    make_scans(shift, 0.02, 0);
    const pcgpu_registration wanted = run();
    assert_int_equal(pcgpu_frame_create_range(context, &from, &image, &params, &a), PCGPU_OK);
    assert_int_equal(pcgpu_frame_create_range(context, &to, &image, &params, &b), PCGPU_OK);
    assert_int_equal(pcgpu_register_frames(context, a, b, &params, &r), PCGPU_OK);
    assert_memory_equal(r.T_target_source, wanted.T_target_source, sizeof r.T_target_source);
    for (int i = 0; i < 64 * 48; i++) {
        depths[i] = 1000;
    }
    pcgpu_camera_init(&camera);
    camera.fx = camera.fy = 60, camera.cx = 31.5, camera.cy = 23.5;
    assert_int_equal(pcgpu_frame_create(context, &depth, &camera, &params, &c), PCGPU_OK);
    assert_int_equal(pcgpu_register_frames(context, a, c, &params, &r), PCGPU_ERROR_ARGUMENT);
    assert_non_null(strstr(pcgpu_last_error(context), "two of a kind"));
    pcgpu_frame_free(context, a);
    pcgpu_frame_free(context, b);
    pcgpu_frame_free(context, c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_angles),
        cmocka_unit_test(test_pixels),
        cmocka_unit_test_setup_teardown(test_nearest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_motion, setup, teardown),
        cmocka_unit_test_setup_teardown(test_same, setup, teardown),
        cmocka_unit_test_setup_teardown(test_open, setup, teardown),
        cmocka_unit_test_setup_teardown(test_offset, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hostile, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arguments, setup, teardown),
        cmocka_unit_test_setup_teardown(test_frames, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
