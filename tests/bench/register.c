/* bench_register METHOD THREADS RUNS [base|avx2] < LIST: registration on the CPU, in memory and warm, from two clouds
 * to the 4x4.
 *
 * METHOD is plane, point, ndt or gicp, and words with a colon before each may follow: search, levels=N,
 * voxel=S, max-distance=D, as the command's options of these names.
 *
 * Every line of LIST is SOURCE TARGET and the 16 numbers of the transform to start from; the clouds stay in memory from
 * line to line. Prints one line of JSON for each: the transform, what the library says of it, and milliseconds of RUNS
 * calls after one that warms up; base and avx2 keep to narrower vectors than the machine's. register.py makes the
 * pairs, adds peers and makes tables. */
#include "backend.h"
#include "simd.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 1000, PATH_SIZE = 1024 };

typedef struct loaded {
    char path[PATH_SIZE];
    pcgpu_cloud cloud;
} loaded;

static void die(const char *why) {
    fprintf(stderr, "bench_register: %s\n", why);
    exit(1);
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static pcgpu_register_method method_by_name(const char *name) {
    static const char *const names[] = {"plane", "point", "ndt", "gicp"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            return (pcgpu_register_method)i;
        }
    }
    die("no such method");
    return PCGPU_REGISTER_PLANE;
}

/* One word after the method. */
static void set_parameter(pcgpu_register_params *params, const char *word) {
    if (strcmp(word, "search") == 0) {
        params->search = true;
    } else if (sscanf(word, "levels=%d", &params->levels) != 1 && sscanf(word, "voxel=%lf", &params->voxel) != 1 &&
               sscanf(word, "max-distance=%lf", &params->max_distance) != 1) {
        die("no such parameter");
    }
}

static void set_method(pcgpu_register_params *params, char *words) {
    params->method = method_by_name(strtok(words, ":"));
    for (char *word = strtok(NULL, ":"); word; word = strtok(NULL, ":")) {
        set_parameter(params, word);
    }
}

static void load(pcgpu_context *context, loaded *cloud, const char *path) {
    if (strcmp(cloud->path, path) != 0) {
        pcgpu_cloud_free(&cloud->cloud);
        if (pcgpu_read_file(context, path, NULL, &cloud->cloud) != PCGPU_OK) {
            die(pcgpu_last_error(context));
        }
        snprintf(cloud->path, sizeof cloud->path, "%s", path);
    }
}

static void print_result(const pcgpu_registration *r, const double *ms, int runs) {
    printf("{\"T\": [");
    for (int i = 0; i < 16; i++) {
        printf("%s%.17g", i ? ", " : "", r->T_target_source[i]);
    }
    printf("], \"starts\": %d, \"converged\": %s, \"iterations\": %d, \"fitness\": %.6g, "
           "\"score\": %.6g, \"agreement\": %.6g, \"reason\": \"%s\", ",
           r->starts, r->converged ? "true" : "false", r->iterations, r->fitness, r->score, r->agreement, r->reason);
    printf("\"eigenvalues\": [%g, %g], \"unconstrained\": \"%s\", \"covariance\": [", r->eigenvalues[0],
           r->eigenvalues[1], r->unconstrained);
    for (int i = 0; i < 36; i++) {
        printf("%s%.9g", i ? ", " : "", r->covariance[i]);
    }
    printf("], \"plane_rmse\": %.4g, \"inlier_rmse\": %.4g, ", r->plane_rmse, r->inlier_rmse);
    printf("\"least\": %.4f, \"median\": %.4f, \"stages\": {", runs ? ms[0] : 0.0, runs ? ms[runs / 2] : 0.0);
    for (int i = 0; i < r->run.stages; i++) {
        printf("%s\"%s\": %.4f", i ? ", " : "", r->run.stage[i].name, 1e3 * r->run.stage[i].seconds);
    }
    printf("}}\n");
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc != 4 && argc != 5) {
        fprintf(stderr, "usage: bench_register METHOD THREADS RUNS [base|avx2] < LIST\n");
        return 2;
    }
    static double ms[MOST_RUNS];
    static loaded source, target;
    int runs = atoi(argv[3]) < MOST_RUNS ? atoi(argv[3]) : MOST_RUNS;
    pcgpu_settings settings;
    pcgpu_context *context;
    pcgpu_register_params params;
    pcgpu_settings_init(&settings);
    settings.device = PCGPU_DEVICE_CPU;
    settings.threads = atoi(argv[2]);
    if (pcgpu_open(&settings, &context) != PCGPU_OK) {
        die(pcgpu_last_error(context));
    }
    if (argc == 5) {
        context->simd_limit = 1 + (strcmp(argv[4], "avx2") == 0 ? PC_SIMD_AVX2 : PC_SIMD_BASE);
    }
    pcgpu_register_params_init(&params);
    set_method(&params, argv[1]);
    char paths[2][PATH_SIZE];
    while (scanf("%1023s %1023s", paths[0], paths[1]) == 2) {
        pcgpu_registration r;
        load(context, &source, paths[0]);
        load(context, &target, paths[1]);
        for (int i = 0; i < 16; i++) {
            if (scanf("%lf", &params.init[i]) != 1) {
                die("a line has too few numbers");
            }
        }
        for (int i = -1; i < runs; i++) {
            double begin = pc_now();
            if (pcgpu_register(context, &source.cloud, &target.cloud, &params, &r) != PCGPU_OK) {
                die(pcgpu_last_error(context));
            }
            ms[i < 0 ? 0 : i] = 1e3 * (pc_now() - begin);
        }
        qsort(ms, (size_t)(runs > 0 ? runs : 0), sizeof ms[0], compare_doubles);
        print_result(&r, ms, runs);
    }
    pcgpu_cloud_free(&source.cloud);
    pcgpu_cloud_free(&target.cloud);
    pcgpu_close(context);
    return 0;
}
