/* See bench.h. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TARGETS = 32 };

static char targets[MOST_TARGETS][200];
static int target_count;

void bench_target(const char *what, double value, const char *unit, double limit, bool at_least) {
    if (target_count == MOST_TARGETS) {
        fprintf(stderr, "bench: more than %d targets; enlarge MOST_TARGETS\n", MOST_TARGETS);
        exit(1);
    }
    const char *verdict = isnan(value)                                   ? "not measured"
                          : (at_least ? value >= limit : value <= limit) ? "met"
                                                                         : "missed";
    snprintf(targets[target_count++], sizeof targets[0], "| %s | %.3g%s | %s %.3g%s | %s |", what, value, unit,
             at_least ? ">=" : "<=", limit, unit, verdict);
}

void bench_print_targets(void) {
    puts("\nTargets, for an H200\n\n| what | value | target | |\n|---|---|---|---|");
    for (int i = 0; i < target_count; i++) {
        puts(targets[i]);
    }
}

static int compare_floats(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

bool bench_take(int argc, char **argv, int *i, const char **data, const char **only, bool *quick) {
    if (strcmp(argv[*i], "--quick") == 0) {
        *quick = true;
        return true;
    }
    const char **text = strcmp(argv[*i], "--data") == 0 ? data : strcmp(argv[*i], "--only") == 0 ? only : NULL;
    if (!text || *i + 1 == argc) {
        return false;
    }
    *text = argv[++*i];
    return true;
}

double bench_median(float *values, int count) {
    qsort(values, (size_t)count, sizeof values[0], compare_floats);
    return 0.5 * ((double)values[(count - 1) / 2] + (double)values[count / 2]);
}

pcgpu_context *bench_open(pcgpu_device device, int threads) {
    pcgpu_settings settings;
    pcgpu_context *context;
    pcgpu_settings_init(&settings);
    settings.device = device;
    settings.threads = threads;
    pcgpu_status status = pcgpu_open(&settings, &context);
    if (status != PCGPU_OK) {
        bool absent = device == PCGPU_DEVICE_CUDA && status == PCGPU_ERROR_UNAVAILABLE;
        printf("%s: %s\n", absent ? "skipped" : "FAILED", pcgpu_last_error(context));
        exit(absent ? BENCH_SKIPPED : 1);
    }
    return context;
}
