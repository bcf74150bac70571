/* bench_register_cuda RUNS [PAIRS [SOURCE TARGET]...]: registration by cells on CUDA, in memory and warm.
 *
 * Without files it takes four pairs of $PCGPU_DATA, KITTI's. For each pair: pcgpu_register from clouds in host memory
 * to the result, and how that time divides; the same on the CPU; what an iteration takes. Then one pair,
 * from usable points in pinned memory, and PAIRS (default 64) of them at once. Prints least and median milliseconds of
 * RUNS calls after three that warm up. Every result is compared with the CPU's: exit code 1 when one differs, 77
 * without a device. */
#include "ndt.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 1000, MOST_PAIRS = 256, WARM = 3, SKIPPED = 77 };

typedef struct timing {
    double least, median;
} timing;

static pcgpu_context *cpu, *cuda;
static int failures;

static void die(const char *why) {
    fprintf(stderr, "bench_register_cuda: %s\n", why);
    exit(1);
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static timing summarize(double *ms, int runs) {
    qsort(ms, (size_t)runs, sizeof *ms, compare_doubles);
    return (timing){ms[0], ms[runs / 2]};
}

static void expect(bool same, const char *what) {
    if (!same) {
        printf("DIFFERS from the CPU: %s\n", what);
        failures++;
    }
}

/* ---- pcgpu_register ---------------------------------------------------------------------------------------------- */

static timing time_register(pcgpu_context *context, const pcgpu_cloud *source, const pcgpu_cloud *target, int runs,
                            pcgpu_registration *r) {
    static double ms[MOST_RUNS];
    pcgpu_register_params params;
    pcgpu_register_params_init(&params);
    params.search = PCGPU_SEARCH_NEVER; /* which would start again, with more iterations, after few of them */
    for (int i = -WARM; i < runs; i++) {
        double begin = pc_now();
        if (pcgpu_register(context, source, target, &params, r) != PCGPU_OK) {
            die(pcgpu_last_error(context));
        }
        ms[i < 0 ? 0 : i] = 1e3 * (pc_now() - begin);
    }
    if (!r->converged) {
        die(r->reason);
    }
    return summarize(ms, runs);
}

static bool same_registration(const pcgpu_registration *a, const pcgpu_registration *b) {
    pcgpu_registration x = *a, y = *b;
    memset(&x.run, 0, sizeof x.run);
    memset(&y.run, 0, sizeof y.run);
    return memcmp(&x, &y, sizeof x) == 0;
}

static void bench_pair(const char *name, const pcgpu_cloud *source, const pcgpu_cloud *target, int runs) {
    pcgpu_registration r, other;
    timing all = time_register(cuda, source, target, runs, &r);
    timing host = time_register(cpu, source, target, runs < 20 ? runs : 20, &other);
    expect(same_registration(&r, &other), name);
    printf("%-44s cuda %7.3f %7.3f ms, cpu %7.3f ms with %d threads; %d iterations", name, all.least, all.median,
           host.median, cpu->threads, r.iterations);
    for (int i = 0; i < r.run.stages && r.iterations > 0; i++) {
        if (strcmp(r.run.stage[i].name, "iterate") == 0) {
            printf(", %.1f us per iteration", 1e6 * r.run.stage[i].seconds / r.iterations);
        }
    }
    printf("\n    stages of the last run:");
    for (int i = 0; i < r.run.stages; i++) {
        printf(" %s %.3f", r.run.stage[i].name, 1e3 * r.run.stage[i].seconds);
    }
    printf(" ms; %s\n", r.reason);
}

/* ---- many pairs ------------------------------------------------------------------------------------------------ */

/* A job whose points are in memory that CUDA copies fast, and its path as the CPU has it. */
typedef struct prepared {
    pc_ndt_job job;
    pc_pose pose;
} prepared;

static const float *move_points(float **memory, const float *x, const float *y, const float *z, int64_t n) {
    float *to = *memory;
    memcpy(to, x, (size_t)n * sizeof *to);
    memcpy(to + n, y, (size_t)n * sizeof *to);
    memcpy(to + 2 * n, z, (size_t)n * sizeof *to);
    *memory += 3 * n;
    return to;
}

static prepared prepare(const pcgpu_cloud *source, const pcgpu_cloud *target, float **memory) {
    prepared p = {.pose = {{0}, {0}}};
    pcgpu_register_params params;
    pcgpu_registration result;
    memset(&result, 0, sizeof result);
    pcgpu_register_params_init(&params);
    pc_register_work w = {
        .context = cpu, .params = &params, .backend = &pc_backend_cpu, .result = &result, .levels = 4};
    pc_ndt_work c = {.w = &w, .backend = &pc_backend_cpu};
    if (pc_ndt_prepare(&c, source, target, &p.job) != PCGPU_OK || p.job.optimizer.levels == 0) {
        die("a pair has too few points");
    }
    pc_ndt_target *t = &p.job.target;
    pc_ndt_source *s = &p.job.source;
    t->x = move_points(memory, t->x, t->y, t->z, t->n);
    t->y = t->x + t->n;
    t->z = t->y + t->n;
    s->x = move_points(memory, s->x, s->y, s->z, s->n);
    s->y = s->x + s->n;
    s->z = s->y + s->n;
    pc_ndt_job job = p.job;
    if (pc_backend_cuda.ndt->register_jobs(cuda, &job, 1, (pc_host_work){0}) != PCGPU_OK) {
        die(pcgpu_last_error(cuda));
    }
    p.pose = job.optimizer.base.pose; /* bench_pair has compared it with the CPU's */
    return p;
}

static void bench_together(const prepared *pairs, int kinds, int count, int runs) {
    static double ms[MOST_RUNS];
    static pc_ndt_job jobs[MOST_PAIRS];
    char name[64];
    snprintf(name, sizeof name, "%d at once", count);
    for (int i = -WARM; i < runs; i++) {
        for (int k = 0; k < count; k++) {
            jobs[k] = pairs[k % kinds].job;
        }
        double begin = pc_now();
        pcgpu_status status = pc_backend_cuda.ndt->register_jobs(cuda, jobs, count, (pc_host_work){0});
        ms[i < 0 ? 0 : i] = 1e3 * (pc_now() - begin);
        if (status != PCGPU_OK) {
            die(pcgpu_last_error(cuda));
        }
        for (int k = 0; k < count; k++) {
            expect(memcmp(&jobs[k].optimizer.base.pose, &pairs[k % kinds].pose, sizeof(pc_pose)) == 0, name);
        }
    }
    timing t = summarize(ms, runs);
    printf("%-44s %7.3f %7.3f ms\n", name, t.least, t.median);
}

int main(int argc, char **argv) {
    static const char *const scans[] = {"000001", "000000", "000003", "000002", "000015", "000014", "000095", "000094"};
    enum { FILES = sizeof scans / sizeof scans[0], MOST_FILES = 64 };
    static char paths[MOST_FILES][1024];
    static pcgpu_cloud clouds[MOST_FILES];
    static prepared pairs[MOST_FILES / 2];
    int runs = argc > 1 ? atoi(argv[1]) : 100, many = argc > 2 ? atoi(argv[2]) : 64,
        files = argc > 3 ? argc - 3 : FILES;
    runs = runs < 1 ? 1 : runs < MOST_RUNS ? runs : MOST_RUNS;
    many = many < 1 ? 1 : many < MOST_PAIRS ? many : MOST_PAIRS;
    files = (files < MOST_FILES ? files : MOST_FILES) / 2 * 2;
    pcgpu_settings settings;
    pcgpu_settings_init(&settings);
    settings.device = PCGPU_DEVICE_CPU;
    if (pcgpu_open(&settings, &cpu) != PCGPU_OK) {
        die("no context");
    }
    settings.device = PCGPU_DEVICE_CUDA;
    const char *data = getenv("PCGPU_DATA");
    if (pcgpu_open(&settings, &cuda) != PCGPU_OK || (argc <= 3 && !data)) {
        printf("skipped: %s\n", data || argc > 3 ? pcgpu_last_error(cuda) : "PCGPU_DATA is not set");
        return SKIPPED;
    }
    size_t points = 0;
    for (int i = 0; i < files; i++) {
        if (argc > 3) {
            snprintf(paths[i], sizeof paths[i], "%s", argv[3 + i]);
        } else {
            snprintf(paths[i], sizeof paths[i], "%s/kitti00/velodyne/%s.bin", data, scans[i]);
        }
        if (pcgpu_read_file(cpu, paths[i], NULL, &clouds[i]) != PCGPU_OK) {
            die(pcgpu_last_error(cpu));
        }
        points += (size_t)clouds[i].rows;
    }
    printf("%s; least and median of %d\n", cuda->cuda_name, runs);
    for (int i = 0; i < files; i += 2) {
        char name[64];
        const char *last = strrchr(paths[i], '/');
        snprintf(name, sizeof name, "%.40s, %d points", last ? last + 1 : paths[i], (int)clouds[i].rows);
        bench_pair(name, &clouds[i], &clouds[i + 1], runs);
    }
    void *memory = NULL;
    if (pc_backend_cuda.ndt->memory(cuda, PC_NDT_TARGET, 3 * points * sizeof(float), &memory) != PCGPU_OK) {
        die(pcgpu_last_error(cuda));
    }
    float *next = memory;
    for (int i = 0; i < files; i += 2) {
        pairs[i / 2] = prepare(&clouds[i], &clouds[i + 1], &next);
    }
    bench_together(pairs, files / 2, 1, runs);
    bench_together(pairs, files / 2, many, runs < 20 ? runs : 20);
    for (int i = 0; i < files; i++) {
        pcgpu_cloud_free(&clouds[i]);
    }
    pcgpu_close(cuda);
    pcgpu_close(cpu);
    printf("%d of the results differ\n", failures);
    return failures ? 1 : 0;
}
