/* Loops of a sequence: a car drives along two streets that are exact copies of each other, 40 m apart, and comes back
 * to the first one. Only the return is a loop, and it corrects the drift of the poses. Costs 7 s. */

#include "loops_test.h"

enum { BOXES = 34, STEPS = 200, RINGS = 16, MOST_FRAMES = 1024 };

#define APART  40.0 /* metres between the streets */
#define LENGTH 150.0
#define SENSOR 1.7 /* above the ground */

typedef struct drive {
    int frames;
    double truth[16 * MOST_FRAMES], odometry[16 * MOST_FRAMES];
} drive;

static box boxes[2 * BOXES];
static double between(double low, double high) {
    return low + (high - low) * test_unit(&numbers);
}

/* House fronts, parked cars and poles along y = 0, and the same along y = APART. */
static void make_streets(void) {
    numbers.state = 11;
    for (int i = 0; i < BOXES; i++) {
        const int side = i % 2 ? 1 : -1;
        const double x = -10.0 + 10.0 * (i / 2) + between(-3.0, 3.0), wide = between(0.3, 3.5),
                     front = between(5.0, 9.0);
        box *b = &boxes[i];
        b->low[0] = x - wide;
        b->high[0] = x + wide;
        b->low[1] = side > 0 ? front : -front - 3.0;
        b->high[1] = side > 0 ? front + 3.0 : -front;
        b->low[2] = 0.0;
        b->high[2] = between(1.5, 7.0);
        boxes[BOXES + i] = *b;
        boxes[BOXES + i].low[1] += APART;
        boxes[BOXES + i].high[1] += APART;
    }
}

static void pose_at(double x, double y, double heading, double *T) {
    const double c = cos(heading), s = sin(heading);
    const double pose[16] = {c, -s, 0, x, s, c, 0, y, 0, 0, 1, SENSOR, 0, 0, 0, 1};
    memcpy(T, pose, sizeof pose);
}

/* What a scanner at T sees, in its frame, with 2 cm of noise. */
static int64_t scan(const double *T, float *xyz) {
    const double o[3] = {T[3] + 1e-9, T[7] + 1e-9, T[11]};
    int64_t n = 0;
    for (int i = 0; i < STEPS * RINGS; i++) {
        const double azimuth = 6.283185307179586 * ((i / RINGS) + between(0.0, 1.0)) / STEPS;
        const double elevation = -0.4 + 0.55 * (i % RINGS) / RINGS;
        const double local[3] = {cos(elevation) * cos(azimuth), cos(elevation) * sin(azimuth), sin(elevation)};
        double d[3], range = local[2] < 0.0 ? -o[2] / local[2] : INFINITY;
        for (int k = 0; k < 3; k++) {
            d[k] = T[4 * k] * local[0] + T[4 * k + 1] * local[1] + T[4 * k + 2] * local[2] + 1e-12;
        }
        for (int k = 0; k < 2 * BOXES; k++) {
            range = fmin(range, ray_to_box(o, d, &boxes[k]));
        }
        range += between(-0.02, 0.02);
        for (int k = 0; k < 3 && range < 60.0; k++) {
            xyz[3 * n + k] = (float)(range * local[k]);
        }
        n += range < 60.0;
    }
    return n;
}

/* Along the first street, along the second one in the same direction, and `back` metres of the first one again. The
 * odometry turns too much by 1 part of 300, and drifts by 4 mm per metre. */
static void make_drive(drive *g, double back) {
    const double corners[8][2] = {{0, 0},       {LENGTH, 0},     {LENGTH, -30},        {-30, -30},
                                  {-30, APART}, {LENGTH, APART}, {LENGTH + 25, APART}, {LENGTH + 25, 0}};
    double path = 0.0, at[2] = {0, 0}, heading = 0.0;
    int corner = 1;
    g->frames = 0;
    while (g->frames < MOST_FRAMES && path < 860.0 + back) {
        const double *to = corner < 8 ? corners[corner] : (double[2]){-1000.0, 0.0};
        const double d[2] = {to[0] - at[0], to[1] - at[1]}, left = sqrt(d[0] * d[0] + d[1] * d[1]);
        double step = fmin(2.0, left);
        at[0] += d[0] / left * step;
        at[1] += d[1] / left * step;
        heading = atan2(d[1], d[0]);
        path += step;
        corner += left <= 2.0;
        if (corner == 8 && at[0] < LENGTH + 24.0 && back == 0.0) {
            break;
        }
        pose_at(at[0], at[1], heading, g->truth + 16 * g->frames++);
    }
    memcpy(g->odometry, g->truth, 16 * sizeof *g->truth);
    for (int i = 1; i < g->frames; i++) {
        double inverse[16], step[16], off[16];
        invert(g->truth + 16 * (i - 1), inverse);
        multiply(inverse, g->truth + 16 * i, step);
        pose_at(0.004 * 2.0, 0.0, 2e-5 + (step[4] > 0.1 ? 0.005 : step[4] < -0.1 ? -0.005 : 0.0), off);
        off[11] = 0.001;
        multiply(step, off, step);
        multiply(g->odometry + 16 * (i - 1), step, g->odometry + 16 * i);
    }
}

static pcgpu_loops *run(pcgpu_context *context, const drive *g, pcgpu_loops_result *result) {
    pcgpu_loops_params params;
    pcgpu_loops *loops;
    float *xyz = malloc(3 * STEPS * RINGS * sizeof *xyz);
    assert_non_null(xyz);
    pcgpu_loops_params_init(&params);
    params.registration.voxel = 0.25;
    assert_int_equal(pcgpu_loops_open(context, &params, &loops), PCGPU_OK);
    numbers.state = 5;
    for (int i = 0; i < g->frames; i++) {
        const pcgpu_cloud cloud = {.rows = scan(g->truth + 16 * i, xyz), .columns = 3, .data = xyz};
        assert_int_equal(pcgpu_loops_add(loops, &cloud, 10 * i, g->odometry + 16 * i), PCGPU_OK);
    }
    free(xyz);
    assert_int_equal(pcgpu_loops_solve(loops, result), PCGPU_OK);
    assert_int_equal(result->frames, g->frames);
    return loops;
}

/* Up to the end of the second street nothing is seen again: the poses keep their bytes. */
static void test_copies(void **unused) {
    (void)unused;
    static drive g;
    pcgpu_loops_result r;
    pcgpu_context *context = open_context(1);
    make_drive(&g, 0.0);
    pcgpu_loops *loops = run(context, &g, &r);
    assert_true(r.places > 50);
    assert_int_equal(r.count, 0);
    assert_memory_equal(r.poses, g.odometry, 16 * (size_t)g.frames * sizeof *g.odometry);
    pcgpu_loops_close(loops);
    pcgpu_close(context);
}

static void test_return(void **unused) {
    (void)unused;
    static drive g;
    pcgpu_loops_result r, again;
    pcgpu_context *context = open_context(1), *other = open_context(3);
    make_drive(&g, 100.0);
    pcgpu_loops *loops = run(context, &g, &r);
    const double before = off_by(g.odometry + 16 * (g.frames - 1), g.truth + 16 * (g.frames - 1));
    const double after = off_by(r.poses + 16 * (g.frames - 1), g.truth + 16 * (g.frames - 1));
    print_message(
        "%d frames, %lld places, %lld loops, %lld tried, %lld refused: the end is off by %.3f m, %.3f m before\n",
        g.frames, (long long)r.places, (long long)r.count, (long long)r.tried, (long long)r.refused, after, before);
    assert_true(before > 2.0 && after < 0.15 * before);
    assert_true(r.count >= 6 && r.graph.converged);
    for (int64_t i = 0; i < r.count; i++) {
        const pcgpu_loop *l = &r.loops[i];
        double inverse[16], T[16];
        invert(g.truth + 16 * (l->from / 10), inverse);
        multiply(inverse, g.truth + 16 * (l->to / 10), T);
        assert_true(l->from % 10 == 0 && l->to > l->from && l->path > 400.0);
        assert_true(off_by(T, l->T_from_to) < 0.1); /* a right one */
        assert_true(l->residual[1] < 0.2 && l->before[1] > 0.2);
    }
    /* The same bytes from three threads. */
    pcgpu_loops *twin = run(other, &g, &again);
    assert_int_equal(r.count, again.count);
    assert_memory_equal(r.poses, again.poses, 16 * (size_t)g.frames * sizeof *r.poses);
    assert_memory_equal(r.loops, again.loops, (size_t)r.count * sizeof *r.loops);
    pcgpu_loops_close(loops);
    pcgpu_loops_close(twin);
    pcgpu_close(context);
    pcgpu_close(other);
}

static void test_hostile(void **unused) {
    (void)unused;
    pcgpu_context *context = open_context(1);
    pcgpu_loops_params params, wrong;
    pcgpu_loops *loops;
    pcgpu_loops_result r;
    float xyz[3 * 64];
    double T[16];
    pcgpu_loops_params_init(&params);
    for (int i = 0; i < 4; i++) {
        wrong = params;
        *(i == 0   ? &wrong.drift
          : i == 1 ? &wrong.place_distance
          : i == 2 ? &wrong.registration.voxel
                   : &wrong.drift) = i == 3 ? (double)NAN : -3.0;
        assert_int_equal(pcgpu_loops_open(context, &wrong, &loops), PCGPU_ERROR_ARGUMENT);
        assert_null(loops);
    }
    wrong = params;
    wrong.struct_size = 8;
    assert_int_equal(pcgpu_loops_open(context, &wrong, &loops), PCGPU_ERROR_ARGUMENT);
    pcgpu_loops_close(NULL);
    /* Nothing at all, then clouds without points, of one point, far away, not finite, at poses that jump. */
    assert_int_equal(pcgpu_loops_open(context, &params, &loops), PCGPU_OK);
    assert_int_equal(pcgpu_loops_solve(loops, &r), PCGPU_OK);
    assert_true(r.frames == 0 && r.count == 0);
    for (int i = 0; i < 60; i++) {
        for (int k = 0; k < 3 * 64; k++) {
            xyz[k] = i % 3 == 0 ? 1e30f : i % 3 == 1 ? NAN : (float)k;
        }
        const pcgpu_cloud cloud = {.rows = i % 5 ? i : i % 2, .columns = 3, .data = xyz};
        pose_at(i % 2 ? 3.0 * i : -1e6, 0.0, 0.1 * i, T);
        assert_int_equal(pcgpu_loops_add(loops, &cloud, i, T), PCGPU_OK);
    }
    const pcgpu_cloud cloud = {.rows = 1, .columns = 2, .data = xyz};
    assert_int_equal(pcgpu_loops_add(loops, &cloud, 1, T), PCGPU_ERROR_ARGUMENT);
    T[3] = (double)NAN;
    assert_int_equal(pcgpu_loops_add(loops, &cloud, 1, T), PCGPU_ERROR_ARGUMENT);
    assert_int_equal(pcgpu_loops_solve(loops, &r), PCGPU_OK);
    assert_true(r.frames == 60 && r.count == 0);
    pcgpu_loops_close(loops);
    pcgpu_close(context);
}

int unit_loops(void) {
    make_streets();
    const struct CMUnitTest tests[] = {TEST(test_copies), TEST(test_return), TEST(test_hostile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
