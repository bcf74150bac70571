/* Runs every back end against the reference on seeded clouds: kernels [--seed N] [--op NAME] [--backend cpu|cuda]
 * [--repeat N] [--clouds N] [--points N] [--tables N] [--padded] [--quick]. Exit code 0 passed, 1 failed, 77 no CUDA
 * device. */
#include "../support/context.h"
#include "kernels.h"

#include <stdarg.h>

static const operation *const operations[] = {&operation_sample,   &operation_columns,   &operation_forms,
                                              &operation_voxelize, &operation_neighbors, &operation_normals,
                                              &operation_boxes,    &operation_large,     &operation_table};
enum {
    OPERATIONS = sizeof operations / sizeof operations[0],
    MANY_FAILURES = 20,
    ALONE = 2 /* the last ones run by name */
};

void expect(test_bed *bed, bool ok, const char *format, ...) {
    bed->checks++;
    if (ok || ++bed->failures > MANY_FAILURES) {
        return;
    }
    va_list args;
    va_start(args, format);
    fputs("FAILED: ", stdout);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
}

static void open_context(test_bed *bed, pcgpu_device device, int threads, const char *label) {
    snprintf(bed->label[bed->contexts], sizeof bed->label[0], "%s", label);
    bed->context[bed->contexts++] = test_open(device, threads);
}

static void usage(const char *wrong) {
    fprintf(stderr,
            "kernels: %s\nusage: kernels [--seed N] [--op sample|columns|forms|voxelize|neighbors|normals|boxes|large|"
            "table]\n"
            "       [--backend cpu|cuda] [--repeat N] [--clouds N] [--points N] [--tables N] [--padded] [--quick]\n",
            wrong);
    exit(2);
}

int main(int argc, char **argv) {
    test_bed bed = {.seed = 1, .repeat = 1};
    const char *only = NULL;
    setvbuf(stdout, NULL, _IOLBF, 0); /* what was found before a time limit ended the program is to be seen */
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--quick") == 0) {
            bed.quick = true;
        } else if (strcmp(argv[i], "--padded") == 0) {
            bed.padded = true;
        } else if (!value) {
            usage(argv[i]);
        } else if (strcmp(argv[i], "--seed") == 0) {
            bed.seed = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--repeat") == 0) {
            bed.repeat = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--clouds") == 0) {
            bed.clouds = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--points") == 0) {
            bed.points = strtoll(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--tables") == 0) {
            bed.tables = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--op") == 0) {
            only = argv[++i];
        } else if (strcmp(argv[i], "--backend") == 0 && (strcmp(value, "cpu") == 0 || strcmp(value, "cuda") == 0)) {
            bed.cuda = strcmp(argv[++i], "cuda") == 0;
        } else {
            usage(argv[i]);
        }
    }
    if (bed.cuda) {
        open_context(&bed, PCGPU_DEVICE_CUDA, 0, "cuda");
    } else {
        open_context(&bed, PCGPU_DEVICE_CPU, 1, "cpu, 1 thread");
        open_context(&bed, PCGPU_DEVICE_CPU, 2, "cpu, 2 threads");
        open_context(&bed, PCGPU_DEVICE_CPU, 16, "cpu, 16 threads");
    }
    int run = 0;
    for (int i = 0; i < OPERATIONS; i++) {
        if (only ? strcmp(only, operations[i]->name) == 0 : i < OPERATIONS - ALONE) {
            const int before = bed.checks;
            const double begin = pc_now();
            operations[i]->check(&bed);
            printf("%s: %d checks, %.1f s\n", operations[i]->name, bed.checks - before, pc_now() - begin);
            run++;
        }
    }
    for (int i = 0; i < bed.contexts; i++) {
        pcgpu_close(bed.context[i]);
    }
    if (run == 0) {
        usage(only);
    }
    printf("seed %llu: %d of %d checks failed\n", (unsigned long long)bed.seed, bed.failures, bed.checks);
    return bed.failures ? 1 : 0;
}
