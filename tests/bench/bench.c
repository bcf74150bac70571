/* See bench.h. */
#include "bench.h"
#include "scene.h"

#include <stdlib.h>
#include <string.h>

static int words, rows, failures;
static char **word;

bool bench_begin(int argc, char **argv, const char *names) {
    words = argc;
    word = argv;
    bool good = argc % 2 == 0 && (strcmp(argv[1], "cpu") == 0 || strcmp(argv[1], "cuda") == 0);
    for (int i = 2; i < argc && good; i += 2) {
        char name[64];
        snprintf(name, sizeof name, " %s ", argv[i]);
        good = strstr(names, name) != NULL;
    }
    if (!good) {
        fprintf(stderr, "usage: %s cpu|cuda [--OPTION VALUE]...; options:%s\n", argv[0], names);
        exit(2);
    }
    return strcmp(argv[1], "cuda") == 0;
}

const char *bench_word(const char *name, const char *other) {
    for (int i = 2; i < words; i += 2) {
        if (strcmp(word[i], name) == 0) {
            return word[i + 1];
        }
    }
    return strcmp(name, "--data") == 0 && getenv("PCGPU_DATA") ? getenv("PCGPU_DATA") : other;
}

double bench_number(const char *name, double other) {
    const char *text = bench_word(name, NULL);
    return text ? atof(text) : other;
}

bool bench_wants(const char *name) {
    return strstr(name, bench_word("--only", "")) != NULL;
}

pcgpu_context *bench_open(pcgpu_device device, int threads) {
    pcgpu_settings settings;
    pcgpu_context *context;
    pcgpu_settings_init(&settings);
    settings.device = device;
    settings.threads = threads;
    pcgpu_status status = pcgpu_open(&settings, &context);
    if (device == PCGPU_DEVICE_CUDA && status == PCGPU_ERROR_UNAVAILABLE) {
        printf("skipped: %s\n", pcgpu_last_error(context));
        exit(BENCH_SKIPPED);
    }
    bench_check(context, status);
    return context;
}

void bench_check(const pcgpu_context *context, pcgpu_status status) {
    if (status != PCGPU_OK) {
        fprintf(stderr, "%s: %s\n", word[0], context ? pcgpu_last_error(context) : "out of memory");
        exit(1);
    }
}

bool bench_read(pcgpu_context *context, const char *name, int fields, pcgpu_cloud *cloud) {
    char path[4096];
    const pcgpu_read_options options = {.struct_size = sizeof options, .fields = fields};
    snprintf(path, sizeof path, "%s/%s", bench_word("--data", "."), name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        printf("skipped: %s is not there (--data DIR or PCGPU_DATA)\n", path);
        return false;
    }
    fclose(file);
    bench_check(context, pcgpu_read_file(context, path, &options, cloud));
    return true;
}

void bench_scan(pcgpu_context *context, int64_t points, pcgpu_cloud *cloud) {
    static const double middle[7] = {0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0};
    static scene street;
    scene_pose pose;
    scene_pose_from(middle, &pose);
    scene_street(&street, 1);
    float *scan = scene_scan(&street, &pose, points, 0.0, 1);
    bench_check(NULL, scan ? PCGPU_OK : PCGPU_ERROR_MEMORY);
    bench_check(context, pcgpu_cloud_create(context, points, 4, cloud));
    memcpy(cloud->data, scan, (size_t)points * 4 * sizeof *scan);
    free(scan);
}

static int compare_floats(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

double bench_median(float *values, int count) {
    qsort(values, (size_t)count, sizeof values[0], compare_floats);
    return 0.5 * ((double)values[(count - 1) / 2] + (double)values[count / 2]);
}

bench_times bench_time(void (*call)(void *state), void *state, int warm, int runs, double seconds) {
    static float ms[BENCH_MOST_RUNS];
    int n = 0;
    for (int i = 0; i < warm; i++) {
        call(state);
    }
    for (double begin = pc_now(); n < BENCH_MOST_RUNS && (n < runs || pc_now() - begin < seconds); n++) {
        const double from = pc_now();
        call(state);
        ms[n] = (float)(1e3 * (pc_now() - from));
    }
    const double median = bench_median(ms, n);
    return (bench_times){(double)ms[0], median, n};
}

void bench_row(const char *what, const char *who, double value, const char *unit) {
    if (!isnan(value)) {
        printf("row: %s; %s; %.5g %s\n", what, who, value, unit);
        fflush(stdout);
        rows++;
    }
}

bool bench_right(bool right, const char *what, const char *who) {
    if (!right) {
        printf("WRONG: %s; %s\n", what, who);
        fflush(stdout);
        failures++;
    }
    return right;
}

int bench_end(void) {
    printf("%d rows, %d wrong results\n", rows, failures);
    return failures > 0 || rows == 0;
}
