/* Loops of a sequence: a car drives along two streets that are exact copies of each other, 40 m apart, and comes back
 * to the first one. Only the return is a loop, and it corrects the drift of the poses. */
#include "unit.h"

enum { BOXES = 34, STEPS = 200, RINGS = 16, MOST_FRAMES = 1024 };

#define APART  40.0 /* metres between the streets */
#define LENGTH 150.0
#define SENSOR 1.7 /* above the ground */

typedef struct box {
    double low[3], high[3];
} box;

static double ray_to_box(const double o[3], const double d[3], const box *b) {
    double near = 0.0, far = 60.0;
    for (int k = 0; k < 3 && near < far; k++) {
        const double t1 = (b->low[k] - o[k]) / d[k], t2 = (b->high[k] - o[k]) / d[k];
        const double first = t1 < t2 ? t1 : t2, last = t1 < t2 ? t2 : t1;
        near = first > near ? first : near;
        far = last < far ? last : far;
    }
    return near < far && near > 0.0 ? near : INFINITY;
}

/* The direction of a ray in the frame of T; no part of it is 0. */
static void turn_ray(const double *T, const double local[3], double d[3]) {
    for (int k = 0; k < 3; k++) {
        d[k] = T[4 * k] * local[0] + T[4 * k + 1] * local[1] + T[4 * k + 2] * local[2] + 1e-12;
    }
}

static double off_by(const double *a, const double *b) {
    return sqrt((a[3] - b[3]) * (a[3] - b[3]) + (a[7] - b[7]) * (a[7] - b[7]) + (a[11] - b[11]) * (a[11] - b[11]));
}

/* The motion from pose a to pose b. */
static void motion(const double *a, const double *b, double *T) {
    double inverse[16];
    invert(a, inverse);
    multiply(inverse, b, T);
}

/* The end of a path is off by less with the loops, each of which is right to `most` metres; times are 10 a frame. */
static void check_loops(const pcgpu_loops_result *r, const double *truth, const double *odometry, double most,
                        double *before, double *after) {
    const int64_t end = 16 * (r->frames - 1);
    *before = off_by(odometry + end, truth + end);
    *after = off_by(r->poses + end, truth + end);
    print_message(
        "%lld frames, %lld places, %lld loops, %lld tried, %lld refused: the end is off by %.4f m, %.4f m before\n",
        (long long)r->frames, (long long)r->places, (long long)r->count, (long long)r->tried, (long long)r->refused,
        *after, *before);
    assert_true(r->graph.converged);
    for (int64_t i = 0; i < r->count; i++) {
        const pcgpu_loop *l = &r->loops[i];
        double T[16];
        motion(truth + 16 * (l->from / 10), truth + 16 * (l->to / 10), T);
        assert_true(l->from % 10 == 0 && l->from < l->to);
        assert_true(off_by(l->T_from_to, T) < most);
    }
}

/* What is seen from each pose, and the number of frames up to the end of the second street. */
static struct drive {
    int frames, streets;
    double truth[16 * MOST_FRAMES], odometry[16 * MOST_FRAMES];
    pcgpu_cloud clouds[MOST_FRAMES];
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
static void scan(const double *T, pcgpu_cloud *cloud) {
    const double o[3] = {T[3] + 1e-9, T[7] + 1e-9, T[11]};
    assert_int_equal(pcgpu_cloud_create(NULL, STEPS * RINGS, 3, cloud), PCGPU_OK);
    cloud->rows = 0;
    for (int i = 0; i < STEPS * RINGS; i++) {
        const double azimuth = 6.283185307179586 * ((i / RINGS) + between(0.0, 1.0)) / STEPS;
        const double elevation = -0.4 + 0.55 * (i % RINGS) / RINGS;
        const double local[3] = {cos(elevation) * cos(azimuth), cos(elevation) * sin(azimuth), sin(elevation)};
        double d[3], range = local[2] < 0.0 ? -o[2] / local[2] : INFINITY;
        turn_ray(T, local, d);
        for (int k = 0; k < 2 * BOXES; k++) {
            range = fmin(range, ray_to_box(o, d, &boxes[k]));
        }
        range += between(-0.02, 0.02);
        for (int k = 0; k < 3 && range < 60.0; k++) {
            cloud->data[3 * cloud->rows + k] = (float)(range * local[k]);
        }
        cloud->rows += range < 60.0;
    }
}

/* Along the first street, along the second one in the same direction, and 100 m of the first one again. The odometry
 * turns too much by 1 part of 300, and drifts by 4 mm per metre. */
static int make_drive(void **unused) {
    static const double corners[9][2] = {{0, 0},       {LENGTH, 0},     {LENGTH, -30},        {-30, -30},
                                         {-30, APART}, {LENGTH, APART}, {LENGTH + 25, APART}, {LENGTH + 25, 0},
                                         {-1000, 0}};
    double at[2] = {0, 0};
    int corner = 1;
    make_streets();
    for (double path = 0.0; drive.frames < MOST_FRAMES && path < 960.0; drive.frames++) {
        const double d[2] = {corners[corner][0] - at[0], corners[corner][1] - at[1]};
        const double left = sqrt(d[0] * d[0] + d[1] * d[1]), step = fmin(2.0, left);
        at[0] += d[0] / left * step;
        at[1] += d[1] / left * step;
        path += step;
        corner += left <= 2.0;
        if (corner == 8 && at[0] < LENGTH + 24.0 && drive.streets == 0) {
            drive.streets = drive.frames;
        }
        pose_at(at[0], at[1], atan2(d[1], d[0]), drive.truth + 16 * drive.frames);
    }
    memcpy(drive.odometry, drive.truth, 16 * sizeof *drive.truth);
    numbers.state = 5;
    for (int i = 0; i < drive.frames; i++) {
        double step[16], off[16];
        scan(drive.truth + 16 * i, &drive.clouds[i]);
        if (i > 0) {
            motion(drive.truth + 16 * (i - 1), drive.truth + 16 * i, step);
            pose_at(0.004 * 2.0, 0.0, 2e-5 + (step[4] > 0.1 ? 0.005 : step[4] < -0.1 ? -0.005 : 0.0), off);
            off[11] = 0.001;
            multiply(step, off, step);
            multiply(drive.odometry + 16 * (i - 1), step, drive.odometry + 16 * i);
        }
    }
    return 0;
}

static int free_drive(void **unused) {
    for (int i = 0; i < drive.frames; i++) {
        pcgpu_cloud_free(&drive.clouds[i]);
    }
    return 0;
}

static pcgpu_loops *search(pcgpu_context *context, int frames, bool places, pcgpu_loops_result *result) {
    pcgpu_loops_params params;
    pcgpu_loops *loops;
    pcgpu_loops_params_init(&params);
    params.registration.voxel = 0.25;
    params.search = places;
    assert_int_equal(pcgpu_loops_open(context, &params, &loops), PCGPU_OK);
    for (int i = 0; i < frames; i++) {
        assert_int_equal(pcgpu_loops_add(loops, &drive.clouds[i], 10 * i, drive.odometry + 16 * i), PCGPU_OK);
    }
    assert_int_equal(pcgpu_loops_solve(loops, result), PCGPU_OK);
    assert_int_equal(result->frames, frames);
    return loops;
}

/* Up to the end of the second street nothing is seen again, and the poses keep their bytes; then there are loops. */
static void test_return(void **unused) {
    pcgpu_loops_result r;
    pcgpu_context *context = open_context(1);
    double before, after;
    pcgpu_loops *loops = search(context, drive.streets, true, &r);
    assert_true(r.places > 50);
    assert_int_equal(r.count, 0);
    assert_memory_equal(r.poses, drive.odometry, 16 * (size_t)drive.streets * sizeof *drive.odometry);
    pcgpu_loops_close(loops);
    loops = search(context, drive.frames, true, &r);
    check_loops(&r, drive.truth, drive.odometry, 0.1, &before, &after);
    assert_true(before > 2.0 && after < 0.15 * before);
    assert_true(r.count >= 6);
    for (int64_t i = 0; i < r.count; i++) {
        assert_true(r.loops[i].path > 400.0 && r.loops[i].residual[1] < 0.2 && r.loops[i].before[1] > 0.2);
    }
    pcgpu_loops_close(loops);
    pcgpu_close(context);
}

/* Positions of an antenna in another world, with 0.3 m of noise, of which the frames from 20 to 30 % are 20 m off. */
static void make_positions(int frames, const double *W, const double lever[3], pcgpu_position *p) {
    numbers.state = 3;
    for (int i = 0; i < frames; i++) {
        const double *T = drive.truth + 16 * i;
        double at[3];
        for (int k = 0; k < 3; k++) {
            at[k] = T[4 * k] * lever[0] + T[4 * k + 1] * lever[1] + T[4 * k + 2] * lever[2] + T[4 * k + 3];
        }
        p[i] = (pcgpu_position){.id = 10 * i, .sigma = 0.3};
        for (int k = 0; k < 3; k++) {
            p[i].at[k] = W[4 * k] * at[0] + W[4 * k + 1] * at[1] + W[4 * k + 2] * at[2] + W[4 * k + 3] + 0.5 * noise();
        }
        p[i].at[1] += i % (frames / 2) >= frames / 4 && i % (frames / 2) < frames * 3 / 10 ? 20.0 : 0.0;
    }
}

/* Along a line the poses become those of the truth in the world of the positions, but for the tilt about the line.
 * tests/oracle/test_sequence.py has other paths, and loops. */
static void test_positions(void **unused) {
    enum { FRAMES = 70 };
    static const double lever[3] = {0.5, -1.0, 1.5}, W[16] = {0, -1, 0, 5e5, 1, 0, 0, 5.4e6, 0, 0, 1, 100, 0, 0, 0, 1};
    static pcgpu_position positions[FRAMES];
    pcgpu_context *context = open_context(1);
    pcgpu_loops_result r;
    pcgpu_anchor_result a;
    make_positions(FRAMES, W, lever, positions);
    pcgpu_loops *loops = search(context, FRAMES, false, &r);
    assert_int_equal(pcgpu_loops_anchor(loops, positions, FRAMES, lever, &a), PCGPU_OK);
    for (int f = 0; f < FRAMES; f++) {
        double T[16];
        multiply(W, drive.truth + 16 * f, T);
        assert_true(off_by(r.poses + 16 * f, T) < 0.4 && fabs(r.poses[16 * f + 9] - T[9]) < 0.03);
    }
    assert_true(a.line && a.graph.converged);
    pcgpu_loops_close(loops);
    pcgpu_close(context);
}

static void test_hostile(void **unused) {
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
    /* Positions: two, of no frame, out of order, not finite or too large, without a deviation, of no extent; right
     * ones; and after a frame that is not solved. */
    for (int i = 0; i < 8; i++) {
        pcgpu_position p[4] = {{1, {0, 0, 0}, 1}, {2, {9, 9, 0}, 1}, {3, {0, 9, 9}, 1}, {5, {9, 0, 0}, 1}};
        pcgpu_anchor_result a;
        double before[16 * 60];
        memcpy(before, r.poses, sizeof before);
        p[1].id = i == 1 ? 70 : i == 2 ? 4 : 2;
        p[2].at[1] = i == 3 ? (double)NAN : i == 4 ? 1e30 : 9;
        p[3].sigma = i == 5 ? 0 : 1;
        for (int k = 0; k < 4 && i == 6; k++) {
            p[k].sigma = 100;
        }
        const pcgpu_status status = pcgpu_loops_anchor(loops, p, i == 0 ? 2 : 4, NULL, &a);
        assert_int_equal(status, i < 7 ? PCGPU_ERROR_ARGUMENT : PCGPU_OK);
        assert_true((memcmp(before, r.poses, sizeof before) == 0) == (i < 7));
    }
    pose_at(0.0, 0.0, 0.0, T);
    pcgpu_anchor_result a;
    const pcgpu_cloud none = {.rows = 0, .columns = 3, .data = xyz};
    assert_int_equal(pcgpu_loops_add(loops, &none, 60, T), PCGPU_OK);
    assert_int_equal(pcgpu_loops_anchor(loops, NULL, 3, NULL, &a), PCGPU_ERROR_ARGUMENT);
    pcgpu_loops_close(loops);
    pcgpu_close(context);
}

/* Of depth images; tests/scene/room_loops.sh has their loops. */
static void test_depth_errors(void **unused) {
    enum { WIDTH = 160, HEIGHT = 120 };
    static const pcgpu_camera camera = {sizeof camera, WIDTH, HEIGHT, 131.0, 131.0, 79.5, 59.5, 1000.0, 0.0, 0.0};
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

UNIT_GROUP(loops, make_drive, free_drive, TEST(test_return), TEST(test_positions), TEST(test_hostile),
           TEST(test_depth_errors))
