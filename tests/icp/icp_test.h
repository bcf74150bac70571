/* What the tests of registration share: counting checks, clouds from a seed, and contexts. */
#ifndef ICP_TEST_H
#define ICP_TEST_H

#include "../support/random.h"
#include "ndt_optimizer.h"
#include "pcgpu.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SKIPPED = 77, MANY_FAILURES = 20 /* as many are printed */ };

static int failures, checks;

static void expect(bool ok, const char *cloud, const char *label, const char *what, int64_t i) {
    checks++;
    if (!ok && ++failures <= MANY_FAILURES) {
        printf("FAILED: %s, %s: %s, case %lld\n", cloud, label, what, (long long)i);
    }
}

static test_random numbers;

typedef void fill_fn(int64_t i, float p[3]);

__attribute__((unused)) static void fill_room(int64_t i, float p[3]) {
    for (int k = 0; k < 3; k++) {
        p[k] = 8.0f * test_float(&numbers) - 4.0f;
    }
    p[i % 3] = (float)(i % 2) * 3.0f + 0.02f * test_float(&numbers);
}

__attribute__((unused)) static void fill_line(int64_t i, float p[3]) {
    p[0] = 0.05f * (float)i;
    p[1] = p[2] = -7.0f;
}

/* What a registration by ndt comes to, byte for byte. */
__attribute__((unused)) static bool same_optimizer(const pc_ndt_optimizer *a, const pc_ndt_optimizer *b) {
    return memcmp(&a->target, &b->target, sizeof a->target) == 0 && a->end == b->end &&
           memcmp(&a->base.pose, &b->base.pose, sizeof a->base.pose) == 0 && a->base.converged == b->base.converged &&
           memcmp(a->base.iterations, b->base.iterations, sizeof a->base.iterations) == 0 &&
           a->phase.level == b->phase.level && memcmp(a->final_sums, b->final_sums, sizeof a->final_sums) == 0;
}

/* Ends the program where there is no such device. */
__attribute__((unused)) static pcgpu_context *open_context(pcgpu_device device, int threads) {
    pcgpu_settings settings;
    pcgpu_context *context;
    pcgpu_settings_init(&settings);
    settings.device = device;
    settings.threads = threads;
    if (pcgpu_open(&settings, &context) != PCGPU_OK) {
        printf("skipped: %s\n", pcgpu_last_error(context));
        pcgpu_close(context);
        exit(SKIPPED);
    }
    return context;
}

#endif
