/* Depth frames through the library: scenes whose answer is known, those that have none, and wrong arguments. */
#include "unit.h"
#include "projective.h"

enum { W = 320, H = 240 };

static uint16_t a_data[W * H], b_data[W * H];
static const pcgpu_depth a = {W, H, a_data, NULL}, b = {W, H, b_data, NULL};
static pcgpu_camera camera;
static pcgpu_register_depth_params params;
static pcgpu_context *context;

/* Depth of a ray through a corner with a ball in it, from a camera that has moved by `shift`; float64, metres. */
static double depth_of(double x, double y, const double shift[3], bool corner) {
    const double walls[3] = {1.1, 0.8, 2.5}, ray[3] = {x, y, 1.0}, ball[3] = {0.1, 0.2, 1.8};
    double best = INFINITY, d[3], a2 = 0, b2 = 0, c = -0.16;
    for (int k = corner ? 0 : 2; k < 3; k++) {
        const double t = (walls[k] - shift[k]) / ray[k];
        best = t > 0 && t < best ? t : best;
    }
    for (int k = 0; k < 3; k++) {
        d[k] = shift[k] - ball[k];
        a2 += ray[k] * ray[k];
        b2 += ray[k] * d[k];
        c += d[k] * d[k];
    }
    const double root = b2 * b2 - a2 * c, t = corner && root > 0 ? (-b2 - sqrt(root)) / a2 : -1;
    return t > 0 && t < best ? t : best;
}

static void render(uint16_t *data, const double shift[3], bool corner) {
    for (int i = 0; i < W * H; i++) {
        const double x = (i % W - camera.cx) / camera.fx, y = (i / W - camera.cy) / camera.fy;
        data[i] = (uint16_t)(depth_of(x, y, shift, corner) * camera.depth_scale + 0.5);
    }
}

static const double origin[3] = {0, 0, 0}, moved[3] = {0.02, -0.01, 0.015};

static int setup(void **state) {
    context = open_context(2);
    pcgpu_camera_init(&camera);
    camera.fx = camera.fy = 262.0;
    camera.cx = 159.5;
    camera.cy = 119.5;
    camera.depth_scale = 5000;
    pcgpu_register_depth_params_init(&params);
    render(a_data, moved, true);
    render(b_data, origin, true);
    return 0;
}

static int teardown(void **state) {
    pcgpu_close(context);
    return 0;
}

static void expect_moved(const pcgpu_registration *r, double tolerance) {
    for (int k = 0; k < 3; k++) {
        assert_true(fabs(r->T_target_source[4 * k + 3] - moved[k]) < tolerance);
        assert_true(fabs(r->T_target_source[5 * k] - 1.0) < tolerance);
    }
}

/* Frames are made once and used in any role and order, while others come and go. */
static void test_frames(void **state) {
    pcgpu_registration wanted, got;
    pcgpu_frame *source, *target, *other[4];
    assert_int_equal(pcgpu_register_depth(context, &a, &b, &camera, NULL, &params, &wanted), PCGPU_OK);
    assert_int_equal(pcgpu_frame_create(context, &a, &camera, &params, &source), PCGPU_OK);
    assert_int_equal(pcgpu_frame_create(context, &b, &camera, &params, &target), PCGPU_OK);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            assert_int_equal(pcgpu_frame_create(context, &b, &camera, &params, &other[i]), PCGPU_OK);
        }
        assert_int_equal(pcgpu_register_frames(context, target, source, &params, &got), PCGPU_OK);
        assert_int_equal(pcgpu_register_frames(context, source, target, &params, &got), PCGPU_OK);
        assert_memory_equal(got.T_target_source, wanted.T_target_source, sizeof got.T_target_source);
        assert_memory_equal(got.information, wanted.information, sizeof got.information);
        for (int i = 0; i < 4; i++) {
            pcgpu_frame_free(context, other[i]);
        }
    }
    /* fewer levels than were made */
    params.levels = 2;
    assert_int_equal(pcgpu_register_frames(context, source, target, &params, &got), PCGPU_OK);
    assert_int_equal(got.levels, 2);
    pcgpu_frame_free(context, target);
    pcgpu_frame_free(context, source);
    pcgpu_frame_free(context, NULL);
}

/* A model as ray casting gives it: exact vertices and normals, those facing either way. */
static void test_model(void **state) {
    static float vertices[3 * W * H];
    for (int i = 0; i < W * H; i++) {
        const double x = (i % W - camera.cx) / camera.fx, y = (i / W - camera.cy) / camera.fy;
        const double z = depth_of(x, y, origin, true), p[3] = {x * z, y * z, z};
        for (int k = 0; k < 3; k++) {
            vertices[3 * i + k] = i % 50 ? (float)p[k] : NAN;
        }
    }
    const pc_maps maps = {.width = W, .height = H, .vertices = vertices};
    pcgpu_frame *source, *model;
    pcgpu_registration r;
    assert_int_equal(pcgpu_frame_create(context, &a, &camera, &params, &source), PCGPU_OK);
    assert_int_equal(pc_frame_of_maps(context, source->backend, &maps, false, &camera, 3, &model), PCGPU_OK);
    assert_int_equal(pcgpu_register_frames(context, source, model, &params, &r), PCGPU_OK);
    assert_string_equal(r.converged ? "" : r.reason, "");
    expect_moved(&r, 3e-4); /* planes lie below curved surfaces, in both */
    assert_true(r.target_points > 70000 && r.target_points < W * H);
    pcgpu_frame_free(context, model);
    pcgpu_frame_free(context, source);
}

static void refuse(const pcgpu_depth *source, const pcgpu_depth *target, const char *what) {
    pcgpu_registration r;
    memset(&r, 1, sizeof r);
    assert_int_equal(pcgpu_register_depth(context, source, target, &camera, NULL, &params, &r), PCGPU_ERROR_ARGUMENT);
    assert_non_null(strstr(pcgpu_last_error(context), what));
    for (size_t i = 0; i < sizeof r; i++) {
        assert_int_equal(((unsigned char *)&r)[i], 0);
    }
}

static void test_arguments(void **state) {
    const pcgpu_register_depth_params good = params;
    const pcgpu_camera own = camera;
    const pcgpu_depth small = {W / 2, H, a_data, NULL}, empty = {0, 120, a_data, NULL};
#define REFUSE(what, ...)                                                                                              \
    __VA_ARGS__;                                                                                                       \
    refuse(&a, &b, what);                                                                                              \
    params = good, camera = own
    REFUSE("0 levels", params.levels = 0);
    REFUSE("7 levels", params.levels = 7);
    REFUSE("-1 iterations of level 2 of 3", params.level_iterations[1] = -1);
    REFUSE("0 iterations of level 3 of 3; give 1", params.level_iterations[2] = 0);
    REFUSE("bilateral filter of -1", params.bilateral = -1);
    REFUSE("bilateral filter of nan", params.bilateral = NAN);
    REFUSE("largest distance", params.max_distance = 0);
    REFUSE("to stop at", params.rotation_epsilon = NAN);
    REFUSE("least score", params.min_score = 1.5);
    REFUSE("initial transform", params.init[0] = 2);
    REFUSE("fx 0", camera.fx = 0);
    REFUSE("cy nan", camera.cy = NAN);
    REFUSE("the camera 640 x 0", camera.width = 640);
#undef REFUSE
    refuse(&a, &small, "give the target's camera");
    refuse(&empty, &b, "0 x 120 pixels is not possible");
    pcgpu_frame *frame = (pcgpu_frame *)&params;
    params.levels = 9;
    assert_int_equal(pcgpu_frame_create(context, &a, &camera, &params, &frame), PCGPU_ERROR_ARGUMENT);
    assert_null(frame);
}

/* What has no answer says why. */
static void test_outcomes(void **state) {
    static uint16_t none[W * H];
    const pcgpu_depth zero = {W, H, none, NULL}, tiny = {1, 1, a_data, NULL};
    pcgpu_registration r;
    assert_int_equal(pcgpu_register_depth(context, &zero, &zero, &camera, NULL, &params, &r), PCGPU_OK);
    assert_true(!r.converged && strstr(r.reason, "the source has 0 pixels") && r.T_target_source[0] == 1.0);
    assert_int_equal(pcgpu_register_depth(context, &tiny, &tiny, &camera, NULL, &params, &r), PCGPU_OK);
    assert_true(!r.converged && r.levels == 1);
    params.init[3] = 100.0;
    assert_int_equal(pcgpu_register_depth(context, &a, &b, &camera, NULL, &params, &r), PCGPU_OK);
    assert_true(!r.converged && strstr(r.reason, "no overlap") && r.T_target_source[3] == 100.0);
    params.init[3] = 0.0;
    params.min_score = 1.0;
    assert_int_equal(pcgpu_register_depth(context, &a, &b, &camera, NULL, &params, &r), PCGPU_OK);
    assert_false(r.converged);
    params.min_score = 0.4;
    render(a_data, moved, false); /* a wall leaves three directions open; the fourth is found nevertheless */
    render(b_data, origin, false);
    assert_int_equal(pcgpu_register_depth(context, &a, &b, &camera, NULL, &params, &r), PCGPU_OK);
    assert_true(!r.converged && r.degenerate && strstr(r.reason, "leaves a direction open"));
    assert_string_equal(r.unconstrained, "translation along x, translation along y, rotation about z");
    assert_true(fabs(r.T_target_source[11] - moved[2]) < 5e-4);
}

UNIT_GROUP(register_depth, NULL, NULL, TEST_BETWEEN(test_frames, setup, teardown),
           TEST_BETWEEN(test_model, setup, teardown), TEST_BETWEEN(test_arguments, setup, teardown),
           TEST_BETWEEN(test_outcomes, setup, teardown))
