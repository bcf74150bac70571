/* bench_sample_cpu CLOUD.bin PICKS: farthest point sampling on one CPU thread, warm, from the cloud in memory to
 * indices: the public call, and the plain loop of the reference, which must pick the same. Prints one line of JSON with
 * milliseconds; sample_cpu.py adds peers to it and makes a table. */
#include "reference.h"

enum { MOST_RUNS = 1000 };

#define SECONDS         0.5   /* of calls, ten at the least */
#define REFERENCE_LIMIT 2.0e9 /* points x picks of the plain loop, 3 s or so; its time is linear in picks */

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void die(const char *why) {
    fprintf(stderr, "bench_sample_cpu: %s\n", why);
    exit(1);
}

/* Milliseconds in ascending order; gives how many. */
static int time_call(pcgpu_context *context, const pcgpu_cloud *cloud, int64_t count, pcgpu_sampled *got, double *ms) {
    pcgpu_sample_params params;
    pcgpu_sample_params_init(&params);
    params.count = count;
    int runs = 0;
    for (double begin = pc_now(); runs < MOST_RUNS && (runs < 10 || pc_now() - begin < SECONDS); runs++) {
        if (runs > 0) {
            pcgpu_sampled_free(got);
        }
        double start = pc_now();
        if (pcgpu_sample(context, cloud, &params, got) != PCGPU_OK) {
            die(pcgpu_last_error(context));
        }
        ms[runs] = (pc_now() - start) * 1e3;
    }
    qsort(ms, (size_t)runs, sizeof ms[0], compare_doubles);
    return runs;
}

int main(int argc, char **argv) {
    int64_t count = argc == 3 ? strtoll(argv[2], NULL, 10) : 0;
    if (count < 1) {
        fprintf(stderr, "usage: bench_sample_cpu CLOUD.bin PICKS\n");
        return 2;
    }
    pcgpu_settings settings;
    pcgpu_context *context;
    pcgpu_cloud cloud;
    pcgpu_sampled got;
    static double ms[MOST_RUNS];
    pcgpu_settings_init(&settings);
    settings.device = PCGPU_DEVICE_CPU;
    settings.threads = 1;
    if (pcgpu_open(&settings, &context) != PCGPU_OK || pcgpu_read_file(context, argv[1], NULL, &cloud) != PCGPU_OK) {
        die(pcgpu_last_error(context));
    }
    int runs = time_call(context, &cloud, count, &got, ms);
    double limit = REFERENCE_LIMIT / (double)cloud.rows;
    int64_t reference_picks = (double)count <= limit ? count : (int64_t)limit;
    double begin = pc_now();
    picks want = plain_sample(&cloud, got.indices[0], reference_picks, 0.0f, false);
    double reference = (pc_now() - begin) * 1e3;
    bool equal = memcmp(want.indices, got.indices, (size_t)reference_picks * 4) == 0;
    printf("{\"points\": %lld, \"picks\": %lld, \"least\": %.4f, \"median\": %.4f, \"runs\": %d, \"reference\": %.4f, "
           "\"reference_picks\": %lld}\n",
           (long long)cloud.rows, (long long)count, ms[0], ms[runs / 2], runs, reference, (long long)reference_picks);
    free_picks(&want);
    pcgpu_sampled_free(&got);
    pcgpu_cloud_free(&cloud);
    pcgpu_close(context);
    if (!equal) {
        die("MISMATCH: the reference picks other points");
    }
    return 0;
}
