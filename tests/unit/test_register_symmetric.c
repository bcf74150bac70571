/* Registration both ways: the mean of two motions, the verdict, and what the exchange of the clouds gives. */
#include "register.h"
#include "solve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "register_test.h"

#include <math.h>

static uint64_t state = 7;

/* In [-1, 1). */
static double noise(void) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(int64_t)state * 0x1p-63;
}

/* ---- transforms -------------------------------------------------------------------------------------------------- */

static void product(const double a[16], const double b[16], double out[16]) {
    for (int i = 0; i < 16; i++) {
        out[i] = 0.0;
        for (int k = 0; k < 4; k++) {
            out[i] += a[i / 4 * 4 + k] * b[4 * k + i % 4];
        }
    }
}

static double from_identity(const double T[16]) {
    double most = 0.0;
    for (int i = 0; i < 16; i++) {
        most = fmax(most, fabs(T[i] - (i % 5 == 0)));
    }
    return most;
}

static double from_inverse(const double a[16], const double b[16]) {
    double T[16];
    product(a, b, T);
    return from_identity(T);
}

/* A turn about any axis whose quaternion's real part is w before it is normalized, and a translation. */
static void make_transform(double w, double turn, double metres, double T[16]) {
    pc_pose pose = {.q = {w, turn * noise(), turn * noise(), turn * noise()}};
    pc_quaternion_normalize(pose.q);
    for (int k = 0; k < 3; k++) {
        pose.t[k] = metres * noise();
    }
    pc_pose_matrix(&pose, T);
}

static pcgpu_registration ended(const double T[16]) {
    pcgpu_registration r = {.converged = true};
    memcpy(r.T_target_source, T, sizeof r.T_target_source);
    return r;
}

/* ---- the mean ---------------------------------------------------------------------------------------------------- */

static void test_inverse_start(void **unused) {
    (void)unused;
    for (int i = 0; i < 100; i++) {
        double T[16], inverse[16];
        make_transform(i % 4 ? 1.0 : 0.0, i % 3 ? 1.0 : 1e-6, i % 5 ? 10.0 : 0.0, T);
        pc_register_inverse_start(T, inverse);
        assert_true(from_inverse(T, inverse) < 1e-13);
        assert_true(from_inverse(inverse, T) < 1e-13);
    }
    static const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    double inverse[16];
    pc_register_inverse_start(identity, inverse);
    assert_memory_equal(identity, inverse, sizeof inverse); /* no -0 either */
}

/* The mean of A and B is as far from both; it does not depend on their order, nor on the coordinates of either cloud;
 * and its inverse is the mean of the inverses. */
static void test_halfway(void **unused) {
    (void)unused;
    for (int i = 0; i < 200; i++) {
        const double metres = i % 5 ? 3.0 : 5000.0, close = 1e-9 * metres;
        double A[16], D[16], B[16], A_back[16], B_back[16], to[16], from[16], inverse[16], moved[16];
        make_transform(1.0, i % 2 ? 1.0 : 0.01, metres, A);
        make_transform(1.0, 0.004, 0.1, D); /* within a degree */
        product(A, D, B);
        pc_register_inverse_start(A, A_back);
        pc_register_inverse_start(B, B_back);
        pcgpu_registration there = ended(A), back = ended(B_back);
        there.center[0] = metres;
        pc_register_meet_halfway(&there, &back, 1e6);
        assert_true(there.converged && there.symmetric);
        const double *M = there.T_target_source;
        /* M = A H = B H^-1 */
        product(A_back, M, to);
        product(B_back, M, from);
        assert_true(from_inverse(to, from) < close);
        assert_true(from_identity(to) <= 0.11);
        pcgpu_registration swapped = ended(B_back), swapped_back = ended(A);
        pc_register_meet_halfway(&swapped, &swapped_back, 1e6);
        assert_true(from_inverse(M, swapped.T_target_source) < close);
        assert_true(fabs(there.apart[1] - swapped.apart[1]) < 1e-9);
        /* other coordinates of the source, then of the target */
        double S[16];
        make_transform(1.0, 1.0, metres, S);
        pc_register_inverse_start(S, inverse);
        product(A, S, to);
        product(inverse, B_back, from);
        pcgpu_registration other = ended(to), other_back = ended(from);
        pc_register_meet_halfway(&other, &other_back, 1e6);
        product(M, S, moved);
        pc_register_inverse_start(moved, inverse);
        assert_true(from_inverse(inverse, other.T_target_source) < 10.0 * close);
        product(S, A, to);
        pc_register_inverse_start(S, inverse);
        product(B_back, inverse, from);
        other = ended(to);
        other_back = ended(from);
        pc_register_meet_halfway(&other, &other_back, 1e6);
        product(S, M, moved);
        pc_register_inverse_start(moved, inverse);
        assert_true(from_inverse(inverse, other.T_target_source) < 10.0 * close);
    }
}

/* How far apart: at the centre, where a turn about it moves nothing. */
static void test_apart(void **unused) {
    (void)unused;
    double B[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, B_back[16];
    static const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    const double angle = 0.01, center[3] = {30.0, -20.0, 5.0};
    B[0] = B[5] = cos(angle);
    B[1] = -sin(angle);
    B[4] = sin(angle);
    B[3] = center[0] - (B[0] * center[0] + B[1] * center[1]) + 0.003;
    B[7] = center[1] - (B[4] * center[0] + B[5] * center[1]) + 0.004;
    pc_register_inverse_start(B, B_back);
    pcgpu_registration there = ended(identity), back = ended(B_back);
    memcpy(there.center, center, sizeof center);
    pc_register_meet_halfway(&there, &back, 0.0051);
    assert_true(there.converged);
    assert_true(fabs(there.apart[0] - 0.005) < 1e-12 && fabs(there.apart[1] - angle) < 1e-12);
    assert_true(fabs(there.T_target_source[4] - sin(0.5 * angle)) < 1e-12);
}

/* ---- the verdict ------------------------------------------------------------------------------------------------- */

static void test_verdict(void **unused) {
    (void)unused;
    static const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    double far[16], turned[16], half[16];
    memcpy(far, identity, sizeof far);
    far[3] = 0.3;
    make_transform(1.0, 0.0, 0.0, turned);
    turned[0] = turned[5] = cos(0.02);
    turned[1] = -(turned[4] = sin(0.02));
    memcpy(half, identity, sizeof half);
    half[0] = half[5] = -1.0; /* half a turn */
    const double *const elsewhere[] = {far, turned, half};
    for (int i = 0; i < 3; i++) { /* apart: the transform stays that of the source onto the target */
        pcgpu_registration there = ended(identity), back = ended(elsewhere[i]);
        pc_register_meet_halfway(&there, &back, 0.25);
        assert_false(there.converged);
        assert_non_null(strstr(there.reason, "give a better init"));
        assert_memory_equal(there.T_target_source, identity, sizeof identity);
        assert_true(i != 2 || fabs(there.apart[1] - 3.14159265358979) < 1e-9);
    }
    /* the other way has not converged: as long a reason as there is */
    pcgpu_registration there = ended(identity), back = ended(identity);
    back.converged = false;
    memset(back.reason, 'x', sizeof back.reason - 1);
    pc_register_meet_halfway(&there, &back, 0.25);
    assert_false(there.converged);
    assert_memory_equal(there.reason, "source and target exchanged: xxx", 32);
    assert_true(memchr(there.reason, 0, sizeof there.reason) != NULL);
    /* neither has: its own reason stays */
    there = ended(identity);
    there.converged = false;
    snprintf(there.reason, sizeof there.reason, "its own");
    pc_register_meet_halfway(&there, &back, 0.25);
    assert_string_equal(there.reason, "its own");
}

/* ---- clouds ------------------------------------------------------------------------------------------------------ */

/* A street corner: ground, two walls, boxes. */
static void place(double p[3]) {
    double which = noise();
    for (int k = 0; k < 3; k++) {
        p[k] = 10.0 * noise();
    }
    if (which < 0.0) {
        p[2] = 0.0;
    } else if (which < 0.6) {
        p[which < 0.3] = which < 0.3 ? -10.0 : 10.0;
        p[2] = 2.0 + 0.2 * p[2];
    } else {
        p[which < 0.8 ? 0 : 1] = 3.0 * floor(0.2 * p[2]);
        p[2] = 1.0 + 0.1 * p[2];
    }
}

/* Seen from a frame that T maps into the scene's. */
static pcgpu_cloud make(pcgpu_context *context, int64_t rows, const double T[16]) {
    pcgpu_cloud cloud;
    assert_int_equal(pcgpu_cloud_create(context, rows, 3, &cloud), PCGPU_OK);
    for (int64_t i = 0; i < rows; i++) {
        double p[3];
        place(p);
        for (int k = 0; k < 3; k++) {
            p[k] += 0.02 * noise() - T[4 * k + 3];
        }
        for (int k = 0; k < 3; k++) {
            cloud.data[3 * i + k] = (float)(T[k] * p[0] + T[4 + k] * p[1] + T[8 + k] * p[2]);
        }
    }
    return cloud;
}

static pcgpu_registration run(pcgpu_context *context, const pcgpu_cloud *source, const pcgpu_cloud *target,
                              const pcgpu_register_params *params) {
    pcgpu_registration r;
    assert_int_equal(pcgpu_register(context, source, target, params, &r), PCGPU_OK);
    return r;
}

/* The distance of the origin's image from where it belongs, metres. */
static double error_of(const double T[16], const double truth[16]) {
    const double d[3] = {T[3] - truth[3], T[7] - truth[7], T[11] - truth[11]};
    return pc_norm3(d);
}

/* Exchanged clouds give the inverse, for every method, start and number of threads; and what is found is nearer to the
 * truth than one way is, on the average over scenes and methods. */
static void test_exchange(void **unused) {
    (void)unused;
    static const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    enum { SCENES = 3 };
    pcgpu_context *context = open_context(1), *team = open_context(2);
    double one_way = 0.0, both_ways = 0.0;
    for (int method = 0; method <= PCGPU_REGISTER_GICP; method++) {
        for (int i = 0; i < SCENES; i++) {
            double truth[16];
            make_transform(1.0, 0.02, 0.5, truth);
            pcgpu_cloud target = make(context, 24000, identity), source = make(context, 24000, truth);
            source.offset[1] = target.offset[1] = i % 2 ? 5000000.0 : 0.0;
            pcgpu_register_params params, back;
            pcgpu_register_params_init(&params);
            params.method = (pcgpu_register_method)method;
            params.max_iterations = 400; /* point-to-point is slow */
            params.search = i == 2;
            const pcgpu_registration plain = run(context, &source, &target, &params);
            params.symmetric = true;
            back = params;
            if (i == 0) {
                memcpy(params.init, truth, sizeof truth);
                pc_register_inverse_start(truth, back.init);
            }
            const pcgpu_registration r = run(context, &source, &target, &params);
            const pcgpu_registration returned = run(context, &target, &source, &back);
            const pcgpu_registration threads = run(team, &source, &target, &params);
            assert_true(plain.converged && r.converged && returned.converged);
            assert_true(r.symmetric && !plain.symmetric);
            assert_true(from_inverse(r.T_target_source, returned.T_target_source) < (i % 2 ? 1e-7 : 1e-12));
            assert_true(r.apart[0] > 0.0 && r.apart[0] < 0.02 && fabs(r.apart[0] - returned.apart[0]) < 2e-3);
            assert_memory_equal(r.T_target_source, threads.T_target_source, sizeof r.T_target_source);
            assert_memory_equal(r.apart, threads.apart, sizeof r.apart);
            assert_true(fabs(r.center[1] - (i % 2 ? 5000000.0 : 0.0)) < 5.0);
            if (i % 2 == 0 && method != PCGPU_REGISTER_POINT) { /* whose error is that of the points' pattern */
                one_way += error_of(plain.T_target_source, truth);
                both_ways += error_of(r.T_target_source, truth);
            }
            pcgpu_cloud_free(&target);
            pcgpu_cloud_free(&source);
        }
    }
    assert_true(both_ways < one_way);
    pcgpu_close(team);
    pcgpu_close(context);
}

static void test_one_cloud(void **unused) {
    (void)unused;
    static const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    pcgpu_context *context = open_context(2);
    pcgpu_cloud cloud = make(context, 12000, identity), few = make(context, 5, identity);
    pcgpu_register_params params;
    pcgpu_register_params_init(&params);
    params.symmetric = true;
    pcgpu_registration r = run(context, &cloud, &cloud, &params);
    assert_true(r.converged && r.apart[0] == 0.0 && r.apart[1] == 0.0);
    assert_memory_equal(r.T_target_source, identity, sizeof identity);
    r = run(context, &cloud, &few, &params);
    assert_false(r.converged);
    assert_non_null(strstr(r.reason, "the target has 5 usable points"));
    pcgpu_cloud_free(&few);
    pcgpu_cloud_free(&cloud);
    pcgpu_close(context);
}

/* A quarter of the target: it lies within the target, but the target does not lie within it. A target that is no
 * source: the error says which way it is about. */
static void test_part(void **unused) {
    (void)unused;
    static const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    pcgpu_context *const contexts[] = {open_context(1), open_context(2)};
    pcgpu_cloud whole = make(contexts[0], 40000, identity), part = make(contexts[0], 40000, identity);
    for (int64_t i = 0; i < part.rows; i++) { /* others are left out */
        part.data[3 * i] = part.data[3 * i] > 2.0f || part.data[3 * i + 1] < -2.0f ? part.data[3 * i] : NAN;
        part.data[3 * i] = part.data[3 * i + 1] < 2.0f && part.data[3 * i] > -3.0f ? part.data[3 * i] : NAN;
    }
    pcgpu_register_params params;
    pcgpu_register_params_init(&params);
    for (int k = 0; k < 2; k++) {
        params.min_score = 0.75;
        params.symmetric = false;
        pcgpu_registration r = run(contexts[k], &part, &whole, &params);
        assert_true(r.converged);
        params.symmetric = true;
        r = run(contexts[k], &part, &whole, &params);
        assert_false(r.converged);
        assert_memory_equal(r.reason, "source and target exchanged: ", 29);
        assert_true(from_identity(r.T_target_source) < 0.02);
        const float before = part.data[0];
        part.data[0] = 3e8f;
        part.data[1] = part.data[2] = 0.0f;
        assert_int_equal(pcgpu_register(contexts[k], &part, &whole, &params, &r), PCGPU_ERROR_ARGUMENT);
        assert_non_null(strstr(pcgpu_last_error(contexts[k]), "source and target exchanged: the target spans "));
        assert_int_equal(pcgpu_register(contexts[k], &whole, &part, &params, &r), PCGPU_ERROR_ARGUMENT);
        assert_non_null(strstr(pcgpu_last_error(contexts[k]), "the target spans "));
        assert_null(strstr(pcgpu_last_error(contexts[k]), "exchanged"));
        part.data[0] = before;
    }
    pcgpu_cloud_free(&whole);
    pcgpu_cloud_free(&part);
    pcgpu_close(contexts[0]);
    pcgpu_close(contexts[1]);
}

/* Both kinds of a sequence are registered one way. */
static void test_sequences(void **unused) {
    (void)unused;
    pcgpu_context *context = open_context(1);
    pcgpu_odometry_params params;
    pcgpu_odometry *odometry;
    pcgpu_odometry_params_init(&params);
    params.registration.symmetric = true;
    assert_int_equal(pcgpu_odometry_open(context, &params, &odometry), PCGPU_ERROR_ARGUMENT);
    assert_non_null(strstr(pcgpu_last_error(context), "leave symmetric out"));
    pcgpu_depth_odometry_params depth;
    pcgpu_depth_odometry *frames;
    const pcgpu_camera camera = {
        .width = 64, .height = 48, .fx = 50, .fy = 50, .cx = 32, .cy = 24, .depth_scale = 1000};
    pcgpu_depth_odometry_params_init(&depth);
    depth.registration.symmetric = true;
    assert_int_equal(pcgpu_depth_odometry_open(context, &camera, &depth, &frames), PCGPU_ERROR_ARGUMENT);
    assert_non_null(strstr(pcgpu_last_error(context), "leave symmetric out"));
    pcgpu_close(context);
}

/* Against the C library's, whose last digits depend on its version; and the bits, which do not. */
static void test_angle(void **unused) {
    (void)unused;
    const double pi = 3.141592653589793;
    for (int i = 1; i < 20000; i++) {
        const double a = i % 2 ? pi * i / 20000 : pow(10.0, -i / 1000.0), size = 1 + i % 5;
        const double got = pc_angle(size * sin(a), size * cos(a)), wanted = atan2(size * sin(a), size * cos(a));
        assert_true(fabs(got - wanted) <= 2e-15 * wanted);
    }
    assert_true(pc_angle(0, 1) == 0.0 && pc_angle(0, 0) == 0.0 && pc_angle(0, -1) == pi && pc_angle(1, 0) == pi / 2);
    assert_true(isnan(pc_angle(NAN, 1)) && isnan(pc_angle(1, NAN)));
    assert_true(pc_angle(0.3, 0.7) == 0x1.9e9bf3d20dc73p-2);
    const double T[16] = {0, -1, 0, 5, 1, 0, 0, 6, 0, 0, 1, 7, 0, 0, 0, 1};
    assert_true(pcgpu_rotation_angle(T) == pi / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inverse_start), cmocka_unit_test(test_halfway),   cmocka_unit_test(test_apart),
        cmocka_unit_test(test_verdict),       cmocka_unit_test(test_exchange),  cmocka_unit_test(test_one_cloud),
        cmocka_unit_test(test_part),          cmocka_unit_test(test_sequences), cmocka_unit_test(test_angle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
