/* Loops of a depth camera: it moves along a wall whose parts are copies of each other, a metre apart, and comes back.
 * Only the return is a loop, each loop is the right one of the copies, and the loops correct the drift of the poses. */
#include "loops_test.h"

enum { WIDTH = 160, HEIGHT = 120, COPIES = 16, PARTS = 3, STEPS = 60, FRAMES = 2 * STEPS };

#define STEP 0.08 /* metres from frame to frame */

static double truth[16 * FRAMES], odometry[16 * FRAMES];
static uint16_t images[FRAMES][WIDTH * HEIGHT];
static box boxes[COPIES * PARTS];
static const pcgpu_camera camera = {sizeof(pcgpu_camera), WIDTH, HEIGHT, 131.0, 131.0, 79.5, 59.5, 1000.0, 0.0, 0.0};

/* In each metre along x a pillar, a shelf and a chest before the wall. */
static void make_wall(void) {
    static const box parts[PARTS] = {{{0.0, -1.3, 2.1}, {0.25, 1.2, 2.6}},
                                     {{0.35, -0.5, 2.25}, {0.9, -0.4, 2.6}},
                                     {{0.5, 0.6, 1.9}, {0.85, 1.2, 2.4}}};
    for (int i = 0; i < COPIES * PARTS; i++) {
        boxes[i] = parts[i % PARTS];
        boxes[i].low[0] += i / PARTS - 5.0;
        boxes[i].high[0] += i / PARTS - 5.0;
    }
}

/* What the camera at T sees: the wall at z = 2.6, the floor at y = 1.2, and the boxes; in millimetres. */
static void render(const double *T, uint16_t *depth) {
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        const double local[3] = {(i % WIDTH - camera.cx) / camera.fx, (double)(i / WIDTH - camera.cy) / camera.fy, 1.0};
        const double o[3] = {T[3], T[7], T[11]};
        double d[3];
        turn_ray(T, local, d);
        double z = (2.6 - o[2]) / d[2];
        z = d[1] > 0.0 ? fmin(z, (1.2 - o[1]) / d[1]) : z;
        for (int k = 0; k < COPIES * PARTS; k++) {
            z = fmin(z, ray_to_box(o, d, &boxes[k]));
        }
        depth[i] = (uint16_t)(1000.0 * z + 0.5);
    }
}

static void pose_at(double x, double y, double heading, double *T) {
    const double c = cos(heading), s = sin(heading);
    const double pose[16] = {c, 0, s, x, 0, 1, 0, y, -s, 0, c, 0, 0, 0, 0, 1};
    memcpy(T, pose, sizeof pose);
}

/* Out and back again; the odometry turns too much, by 0.06 rad in all, and drifts by 1 %. */
static int make_walk(void **unused) {
    make_wall();
    for (int i = 0; i < FRAMES; i++) {
        double step[16], off[16];
        pose_at(STEP * (i < STEPS ? i : FRAMES - 1 - i), 0.05 * sin(0.3 * i), 0.1 * sin(0.17 * i), truth + 16 * i);
        render(truth + 16 * i, images[i]);
        if (i == 0) {
            memcpy(odometry, truth, 16 * sizeof *truth);
        } else {
            motion(truth + 16 * (i - 1), truth + 16 * i, step);
            pose_at(0.0005, 0.0008, 0.0005, off);
            multiply(step, off, step);
            multiply(odometry + 16 * (i - 1), step, odometry + 16 * i);
        }
    }
    return 0;
}

static pcgpu_loops *run(pcgpu_context *context, const double *poses, int frames, pcgpu_loops_result *result) {
    pcgpu_depth_loops_params params;
    pcgpu_loops *loops;
    pcgpu_depth_loops_params_init(&params);
    assert_int_equal(pcgpu_loops_open_depth(context, &camera, &params, &loops), PCGPU_OK);
    for (int i = 0; i < frames; i++) {
        const pcgpu_depth image = {.width = WIDTH, .height = HEIGHT, .data = images[i]};
        assert_int_equal(pcgpu_loops_add_depth(loops, &image, 10 * i, poses + 16 * i), PCGPU_OK);
    }
    assert_int_equal(pcgpu_loops_solve(loops, result), PCGPU_OK);
    assert_int_equal(result->frames, frames);
    return loops;
}

/* On the outward walk nothing is seen again, though all parts look alike, and the poses keep their bytes; then there
 * are loops. */
static void test_return(void **unused) {
    pcgpu_loops_result r;
    pcgpu_context *context = open_context(1);
    double before, after;
    pcgpu_loops *loops = run(context, odometry, STEPS, &r);
    assert_true(r.count == 0 && r.tried == 0);
    assert_true(r.places > STEPS / 3 && r.bytes >= r.places * WIDTH * HEIGHT * 2);
    assert_memory_equal(r.poses, odometry, 16 * STEPS * sizeof *odometry);
    pcgpu_loops_close(loops);
    loops = run(context, odometry, FRAMES, &r);
    check_loops(&r, truth, odometry, 0.05, &before, &after); /* the next copy is a metre away */
    assert_true(r.count >= 20);
    assert_true(before > 0.08 && after < 0.02);
    pcgpu_loops_close(loops);
    pcgpu_close(context);
}

/* An odometry that is better than the loops, by what they are off by, keeps its bytes though it returns. */
static void test_nothing_to_correct(void **unused) {
    pcgpu_loops_result r;
    pcgpu_context *context = open_context(1);
    pcgpu_loops *loops = run(context, truth, FRAMES, &r);
    assert_true(r.count >= 20 && r.graph.converged);
    assert_memory_equal(r.poses, truth, sizeof truth);
    pcgpu_loops_close(loops);
    pcgpu_close(context);
}

static void test_errors(void **unused) {
    static uint16_t data[WIDTH * HEIGHT];
    const pcgpu_depth image = {.width = WIDTH, .height = HEIGHT, .data = data};
    const pcgpu_depth other = {.width = WIDTH / 2, .height = HEIGHT, .data = data};
    float xyz[3] = {1, 2, 3};
    const pcgpu_cloud cloud = {.rows = 1, .columns = 3, .data = xyz};
    double T[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    pcgpu_context *context = open_context(1);
    pcgpu_depth_loops_params params, wrong;
    pcgpu_loops_params of_scans;
    pcgpu_loops *loops, *scans;
    pcgpu_loops_result r;
    pcgpu_depth_loops_params_init(&params);
    for (int i = 0; i < 5; i++) {
        wrong = params;
        wrong.place_distance = i == 0 ? 0.0 : params.place_distance;
        wrong.place_angle = i == 1 ? NAN : params.place_angle;
        wrong.drift = i == 2 ? 1.5 : params.drift;
        wrong.registration.levels = i == 3 ? 0 : params.registration.levels;
        wrong.struct_size = i == 4 ? 0 : params.struct_size;
        assert_int_equal(pcgpu_loops_open_depth(context, &camera, &wrong, &loops), PCGPU_ERROR_ARGUMENT);
        assert_null(loops);
    }
    pcgpu_loops_params_init(&of_scans);
    assert_int_equal(pcgpu_loops_open(context, &of_scans, &scans), PCGPU_OK);
    assert_int_equal(pcgpu_loops_open_depth(context, &camera, &params, &loops), PCGPU_OK);
    assert_int_equal(pcgpu_loops_add_depth(scans, &image, 0, T), PCGPU_ERROR_ARGUMENT);
    assert_int_equal(pcgpu_loops_add(loops, &cloud, 0, T), PCGPU_ERROR_ARGUMENT);
    assert_int_equal(pcgpu_loops_add_depth(loops, &other, 0, T), PCGPU_ERROR_ARGUMENT);
    assert_int_equal(pcgpu_loops_solve(loops, &r), PCGPU_OK);
    assert_int_equal(r.frames, 0);
    assert_int_equal(pcgpu_loops_add_depth(loops, &image, 0, T), PCGPU_OK); /* without any depth */
    T[0] = 2.0;
    assert_int_equal(pcgpu_loops_add_depth(loops, &image, 1, T), PCGPU_ERROR_ARGUMENT);
    assert_int_equal(pcgpu_loops_solve(loops, &r), PCGPU_OK);
    assert_true(r.frames == 1 && r.places == 1 && r.count == 0);
    pcgpu_loops_close(loops);
    pcgpu_loops_close(scans);
    pcgpu_close(context);
}

UNIT_GROUP(loops_depth, make_walk, NULL, TEST(test_return), TEST(test_nothing_to_correct), TEST(test_errors))
