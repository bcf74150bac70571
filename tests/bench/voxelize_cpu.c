/* bench_voxelize_cpu CASE CLOUD.bin THREADS: voxelization on the CPU, warm, from the cloud in memory to arrays in
 * memory: the public call, and the plain loop of the reference, which must give the same bytes. Prints one line of JSON
 * with milliseconds; voxelize_cpu.py adds peers to it and makes a table.
 *
 * bench_voxelize_cpu make POINTS CLOUD.bin writes a cloud to measure with: sweeps of 125,000 points, each 1 m back. */
#include "reference.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { MOST_RUNS = 1000, SWEEP = 125000 };

#define SECONDS 0.5 /* of calls, ten at the least */

static const struct bench_case {
    const char *name;
    pcgpu_voxelize_params params;
} cases[] = {
    {"pillar", /* configs/pillar.yaml */
     {.struct_size = sizeof(pcgpu_voxelize_params),
      .range = {0, -39.68, -3, 69.12, 39.68, 1},
      .size = {0.16, 0.16, 4},
      .max_points = 32,
      .max_voxels = 40000,
      .features = PCGPU_FEATURES_POINTS}},
    {"voxel", /* configs/centerpoint_voxel0075.yaml */
     {.struct_size = sizeof(pcgpu_voxelize_params),
      .range = {-54, -54, -5, 54, 54, 3},
      .size = {0.075, 0.075, 0.2},
      .max_points = 10,
      .max_voxels = 160000,
      .features = PCGPU_FEATURES_MEAN}},
    {"voxel points", /* the same, every point kept apart */
     {.struct_size = sizeof(pcgpu_voxelize_params),
      .range = {-54, -54, -5, 54, 54, 3},
      .size = {0.075, 0.075, 0.2},
      .max_points = 10,
      .max_voxels = 160000,
      .features = PCGPU_FEATURES_POINTS}},
    {"downsample", /* configs/downsample.yaml */
     {.struct_size = sizeof(pcgpu_voxelize_params),
      .range_auto = true,
      .size = {0.25, 0.25, 0.25},
      .features = PCGPU_FEATURES_MEAN}},
};

/* Results are freed and made again in each run; without this the C library gives their pages back to the system in
 * between, and what is measured is mostly the system clearing them: 0.1 to 1.4 us for 4 kB. Peers keep theirs. */
static void keep_memory(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, INT32_MAX);
    mallopt(M_TOP_PAD, 64 << 20);
#endif
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void die(const char *why) {
    fprintf(stderr, "bench_voxelize_cpu: %s\n", why);
    exit(1);
}

/* Milliseconds in ascending order; gives how many. */
static int time_call(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_voxelize_params *params,
                     pcgpu_voxels *got, double *ms) {
    int runs = 0;
    for (double begin = pc_now(); runs < MOST_RUNS && (runs < 10 || pc_now() - begin < SECONDS); runs++) {
        if (runs > 0) {
            pcgpu_voxels_free(got);
        }
        double start = pc_now();
        if (pcgpu_voxelize(context, cloud, params, got) != PCGPU_OK) {
            die(pcgpu_last_error(context));
        }
        ms[runs] = (pc_now() - start) * 1e3;
    }
    qsort(ms, (size_t)runs, sizeof ms[0], compare_doubles);
    return runs;
}

static bool equal(const pcgpu_voxels *a, const pcgpu_voxels *b, int64_t rows) {
    size_t v = (size_t)a->count, values = v * (size_t)a->capacity * (size_t)a->columns;
    return a->count == b->count && a->voxels_found == b->voxels_found && a->capacity == b->capacity &&
           a->in_range == b->in_range && a->kept == b->kept && memcmp(a->counts, b->counts, v * 4) == 0 &&
           memcmp(a->coords, b->coords, v * 16) == 0 && memcmp(a->features, b->features, values * 4) == 0 &&
           memcmp(a->point_voxel, b->point_voxel, (size_t)rows * 4) == 0;
}

static int measure(pcgpu_context *context, const struct bench_case *c, const pcgpu_cloud *cloud) {
    static double ms[MOST_RUNS];
    pcgpu_voxels got;
    int runs = time_call(context, cloud, &c->params, &got, ms);
    double begin = pc_now();
    pcgpu_voxels want = plain_voxelize(cloud, c->params.range_auto ? got.range : c->params.range, &c->params);
    double reference = (pc_now() - begin) * 1e3;
    bool same = equal(&want, &got, cloud->rows);
    printf("{\"points\": %lld, \"in_range\": %lld, \"voxels\": %lld, \"least\": %.4f, \"median\": %.4f, \"runs\": %d, "
           "\"reference\": %.4f}\n",
           (long long)cloud->rows, (long long)got.in_range, (long long)got.count, ms[0], ms[runs / 2], runs, reference);
    pcgpu_voxels_free(&want);
    pcgpu_voxels_free(&got);
    if (!same) {
        die("MISMATCH: the reference gives other bytes");
    }
    return 0;
}

static int make(int64_t points, const char *path) {
    FILE *file = fopen(path, "wb");
    for (int64_t made = 0, sweep = 0; file && made < points; sweep++) {
        int64_t n = points - made < SWEEP ? points - made : SWEEP;
        pcgpu_cloud cloud;
        make_cloud_named("street scan", 1 + (uint64_t)sweep, n, &cloud);
        for (int64_t i = 0; i < n; i++) {
            cloud.data[4 * i] -= (float)sweep;
        }
        made += (int64_t)fwrite(cloud.data, 16, (size_t)n, file);
        pcgpu_cloud_free(&cloud);
        if (ferror(file)) {
            die("cannot write the cloud");
        }
    }
    if (!file || fclose(file) != 0) {
        die("cannot write the cloud");
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 4 && strcmp(argv[1], "make") == 0) {
        return make(strtoll(argv[2], NULL, 10), argv[3]);
    }
    const struct bench_case *found = NULL;
    for (size_t i = 0; argc == 4 && i < sizeof cases / sizeof cases[0]; i++) {
        found = strcmp(cases[i].name, argv[1]) == 0 ? &cases[i] : found;
    }
    if (!found) {
        fprintf(stderr, "usage: bench_voxelize_cpu pillar|voxel|'voxel points'|downsample CLOUD.bin THREADS\n"
                        "       bench_voxelize_cpu make POINTS CLOUD.bin\n");
        return 2;
    }
    pcgpu_settings settings;
    pcgpu_context *context;
    pcgpu_cloud cloud;
    keep_memory();
    pcgpu_settings_init(&settings);
    settings.device = PCGPU_DEVICE_CPU;
    settings.threads = atoi(argv[3]);
    if (pcgpu_open(&settings, &context) != PCGPU_OK || pcgpu_read_file(context, argv[2], NULL, &cloud) != PCGPU_OK) {
        die(pcgpu_last_error(context));
    }
    int code = measure(context, found, &cloud);
    pcgpu_cloud_free(&cloud);
    pcgpu_close(context);
    return code;
}
