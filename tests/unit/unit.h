/* What the unit tests share: cmocka and what it needs, contexts, random numbers, poses, and one main: unit.c. */
#ifndef UNIT_H
#define UNIT_H

#include "../support/random.h"
#include "pcgpu.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-parameter" /* the state that cmocka gives each test */
#define TEST(FUNCTION) cmocka_unit_test(FUNCTION)

/* The groups: unit_io and so on run theirs, and return how many tests failed. */
#define UNIT_GROUPS(GROUP)                                                                                             \
    GROUP(cmd_arrays)                                                                                                  \
    GROUP(cmd_config) GROUP(cmd_files) GROUP(cmd_json_table) GROUP(cmd_memory) GROUP(cmd_options) GROUP(cmd_text)      \
        GROUP(features) GROUP(icp) GROUP(io) GROUP(io_depth) GROUP(io_indices) GROUP(io_las) GROUP(io_pcd)             \
            GROUP(io_plausible) GROUP(io_ply) GROUP(io_xyz) GROUP(loops) GROUP(loops_depth) GROUP(map)                 \
                GROUP(pose_graph) GROUP(register) GROUP(register_all) GROUP(register_depth) GROUP(register_scan)       \
                    GROUP(sample) GROUP(view)
#define UNIT_DECLARE(NAME) int unit_##NAME(void);
UNIT_GROUPS(UNIT_DECLARE)

static test_random numbers;

static inline double noise(void) {
    return test_noise(&numbers);
}

/* On the CPU, so that the machine does not matter. */
static inline pcgpu_context *open_context(int threads) {
    pcgpu_settings settings;
    pcgpu_context *context;
    pcgpu_settings_init(&settings);
    settings.device = PCGPU_DEVICE_CPU;
    settings.threads = threads;
    assert_int_equal(pcgpu_open(&settings, &context), PCGPU_OK);
    return context;
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
