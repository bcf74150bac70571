/* Depth frames through the library: any role and order, wrong arguments. tests/oracle/test_register_depth.py has scenes
 * whose answer is known. */
#include "unit.h"

enum { W = 320, H = 240 };

static uint16_t a_data[W * H], b_data[W * H];
static const pcgpu_depth a = {W, H, a_data, NULL}, b = {W, H, b_data, NULL};
static pcgpu_camera camera;
static pcgpu_register_depth_params params;
static pcgpu_context *context;

/* Waves, seen from a little aside. */
static void render(uint16_t *data, int aside) {
    for (int i = 0; i < W * H; i++) {
        data[i] = (uint16_t)(9000.0 + 400.0 * sin((i % W + aside) / 20.0) + 300.0 * cos((double)(i / W) / 15.0));
    }
}

static int setup(void **state) {
    context = open_context(2);
    pcgpu_camera_init(&camera);
    camera.fx = camera.fy = 262.0;
    camera.cx = 159.5;
    camera.cy = 119.5;
    camera.depth_scale = 5000;
    pcgpu_register_depth_params_init(&params);
    render(a_data, 2);
    render(b_data, 0);
    return 0;
}

static int teardown(void **state) {
    pcgpu_close(context);
    return 0;
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

UNIT_GROUP(register_depth, NULL, NULL, TEST_BETWEEN(test_frames, setup, teardown),
           TEST_BETWEEN(test_arguments, setup, teardown))
