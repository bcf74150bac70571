/* What the tests of loops share: boxes that rays hit, and a path with odometry that drifts. */
#ifndef LOOPS_TEST_H
#define LOOPS_TEST_H

#include "unit.h"

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

#endif
