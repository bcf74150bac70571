/* What the unit tests share: cmocka and what it needs, contexts, random numbers, poses, and one main: unit.c. */
#ifndef UNIT_H
#define UNIT_H

#include "../support/context.h"
#include "../support/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* the state that cmocka gives each test */
#define TEST(FUNCTION) cmocka_unit_test(FUNCTION)

#define TEST_BETWEEN(FUNCTION, SET_UP, TEAR_DOWN) cmocka_unit_test_setup_teardown(FUNCTION, SET_UP, TEAR_DOWN)
#define UNIT_GROUP(NAME, SET_UP, TEAR_DOWN, ...)                                                                       \
    int unit_##NAME(void) {                                                                                            \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                                               \
        return cmocka_run_group_tests_name(#NAME, tests, SET_UP, TEAR_DOWN);                                           \
    }

/* The groups: unit_io and so on run theirs, and return how many tests failed. */
#define UNIT_GROUPS(G)                                                                                                 \
    G(cancel), G(cmd_json_table), G(cmd_memory), G(cmd_options), G(cmd_text), G(icp), G(io), G(io_depth), G(io_las),   \
        G(io_pcd), G(io_plausible), G(io_ply), G(io_xyz), G(loops), G(map), G(pose_graph), G(register),                \
        G(register_all), G(register_depth), G(register_scan), G(sample), G(view)
#define UNIT_DECLARE(NAME) unit_##NAME(void)
int UNIT_GROUPS(UNIT_DECLARE);

static test_random numbers;

static inline double noise(void) {
    return test_noise(&numbers);
}

/* On the CPU, so that the machine does not matter. */
static inline pcgpu_context *open_context(int threads) {
    return test_open(PCGPU_DEVICE_CPU, threads);
}

/* Products and inverses of rigid transforms, in other code than the library's. */
static inline void multiply(const double *a, const double *b, double *out) {
    double r[16] = {0};
    for (int i = 0; i < 16; i++) {
        for (int k = 0; k < 4; k++) {
            r[i] += a[i / 4 * 4 + k] * b[4 * k + i % 4];
        }
    }
    memcpy(out, r, sizeof r);
}

static inline void invert(const double *T, double *out) {
    double r[16] = {T[0], T[4], T[8], 0, T[1], T[5], T[9], 0, T[2], T[6], T[10], 0, 0, 0, 0, 1};
    for (int i = 0; i < 3; i++) {
        r[4 * i + 3] = -(r[4 * i] * T[3] + r[4 * i + 1] * T[7] + r[4 * i + 2] * T[11]);
    }
    memcpy(out, r, sizeof r);
}

#endif
