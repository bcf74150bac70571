/* bench_sample cpu|cuda: farthest point sampling, from points in memory to picks.
 *
 * cpu: the public call on one thread, warm, and the plain loop of the reference, which must pick the same; least
 * times. cuda: device time, median of 10 runs after 3, or one run where it takes more than 50 ms. `one block` is one
 * block per cloud, as libraries do it (sample_one_block.cu); `cluster`, `grid` and `grid stored` are the variants of
 * cuda/sample/sample_cuda.h, `pcgpu` is what is chosen, `CPU` is our own with one thread. Every one must pick the
 * same. A program that would take too long is measured with fewer picks, in which its time is linear; --quick 1: with
 * fewer still, and without the largest cloud. */
#include "bench.h"
#include "reference.h"
#include "scan.h"

static const int64_t scan_picks[] = {1024, 4096, 16384};
static bool quick;
static char name[120];

static const char *name_of(const char *cloud, int count, int64_t points, int64_t many) {
    char of[24] = "";
    if (count > 1) {
        snprintf(of, sizeof of, "%d x ", count);
    }
    snprintf(name, sizeof name, "%s, %s%lld points, %lld picks", cloud, of, (long long)points, (long long)many);
    return name;
}

/* Points x picks of about 3 s of the plain loop, 0.3 s of one block. */
static int64_t fewer_picks(int64_t points, int64_t many) {
    const double most = (quick ? 2.5e8 : 2e9) / (double)points;
    return (double)many <= most ? many : (int64_t)most;
}

/* ---- CPU --------------------------------------------------------------------------------------------------------- */

typedef struct call {
    pcgpu_context *context;
    const pcgpu_cloud *cloud;
    pcgpu_sample_params params;
    pcgpu_sampled got;
} call;

static void call_sample(void *state) {
    call *c = state;
    pcgpu_sampled_free(&c->got);
    bench_check(c->context, pcgpu_sample(c->context, c->cloud, &c->params, &c->got));
}

static void measure_cpu(pcgpu_context *context, const char *of, const pcgpu_cloud *cloud, int64_t count) {
    call c = {.context = context, .cloud = cloud};
    pcgpu_sample_params_init(&c.params);
    c.params.count = count;
    const bench_times own = bench_time(call_sample, &c, 0, quick ? 2 : 10, quick ? 0.0 : 0.5);
    const int64_t part = fewer_picks(cloud->rows, count);
    const double begin = pc_now();
    picks want = plain_sample(cloud, c.got.indices[0], part, 0.0f, false);
    const double plain = 1e3 * (pc_now() - begin) * (double)count / (double)part;
    name_of(of, 1, cloud->rows, count);
    if (bench_right(memcmp(want.indices, c.got.indices, (size_t)part * 4) == 0, name, "pcgpu")) {
        bench_row(name, "pcgpu", own.least, "ms");
        bench_row(name, "plain loop", plain, "ms");
    }
    free_picks(&want);
    pcgpu_sampled_free(&c.got);
}

static void run_cpu(pcgpu_context *context) {
    pcgpu_cloud cloud;
    if (bench_wants("KITTI") && bench_read(context, "kitti/000001.bin", 4, &cloud)) {
        for (int i = 0; i < 3; i++) {
            measure_cpu(context, "KITTI", &cloud, scan_picks[i]);
        }
        pcgpu_cloud_free(&cloud);
    }
    if (bench_wants("cube")) {
        make_cloud_named("cube", 7, quick ? 20000 : 1000000, &cloud);
        measure_cpu(context, "cube", &cloud, quick ? 512 : 16384);
        pcgpu_cloud_free(&cloud);
    }
}

/* ---- CUDA -------------------------------------------------------------------------------------------------------- */

#ifdef BENCH_CUDA
#include "sample_cuda.h"
#include "sample_one_block.h"

enum { ONE_BLOCK, CLUSTER, GRID, GRID_STORED, CHOSEN, FORMS, WARM = 3, TIMED = 10, RUNS = WARM + TIMED };

static int dimensions; /* of jobs: 0 = x y z */

#define SLOW_MS 50.0 /* a run that takes longer is timed once */

static const char *const form_names[FORMS] = {"one block", "cluster", "grid", "grid stored", "pcgpu"};
static const pc_cuda_sample_variant forms[FORMS] = {
    [CLUSTER] = {.kind = PC_CUDA_SAMPLE_CLUSTER},
    [GRID] = {.kind = PC_CUDA_SAMPLE_GRID},
    [GRID_STORED] = {.kind = PC_CUDA_SAMPLE_GRID, .stored = true},
    [CHOSEN] = {.kind = PC_CUDA_SAMPLE_CHOOSE},
};

/* Clouds of the same number of points, sampled together, and the picks of each. */
typedef struct batch {
    int count;
    int64_t many;
    pc_sample_job *jobs;
    int32_t *indices;
    float *squared;
} batch;

static batch make_batch(const pc_points *clouds, int count, int64_t many) {
    const size_t all = (size_t)count * (size_t)many;
    batch b = {count, many, calloc((size_t)count, sizeof *b.jobs), calloc(all, 4), calloc(all, 4)};
    for (int i = 0; i < count; i++) {
        const pc_points *c = &clouds[i];
        b.jobs[i] = (pc_sample_job){.n = c->n, .x = c->x, .y = c->y, .z = c->z, .count = many};
        b.jobs[i].dimensions = dimensions;
        b.jobs[i].indices = b.indices + i * many;
        b.jobs[i].squared = b.squared + i * many;
    }
    return b;
}

static void free_batch(batch *b) {
    free(b->jobs);
    free(b->indices);
    free(b->squared);
}

/* The first picks of every cloud are those of the CPU. */
static bool same_picks(const batch *want, const batch *got) {
    bool same = true;
    for (int i = 0; i < got->count; i++) {
        const pc_sample_job *w = &want->jobs[i], *g = &got->jobs[i];
        same = same && memcmp(w->indices, g->indices, (size_t)got->many * 4) == 0 &&
               memcmp(w->squared, g->squared, (size_t)got->many * 4) == 0;
    }
    return same;
}

static void run_form(pcgpu_context *cuda, int form, batch *b, int runs, float *ms) {
    for (int i = 0; i < runs && form != ONE_BLOCK && dimensions; i++) { /* the call, with the transfer of the points */
        const double begin = pc_now();
        bench_check(cuda, pc_backend_cuda.sample->sample(cuda, b->jobs, b->count));
        ms[i] = (float)(1e3 * (pc_now() - begin));
    }
    if (form != ONE_BLOCK && dimensions) {
        return;
    }
    if (form != ONE_BLOCK) {
        bench_check(cuda, pc_cuda_sample_as(cuda, b->jobs, b->count, &forms[form], runs, ms));
        return;
    }
    const char *why = one_block_sample(b->jobs, b->count, b->many, runs, ms, b->indices, b->squared);
    if (why) {
        fprintf(stderr, "bench_sample: one block: %s\n", why);
        exit(1);
    }
}

static void measure_cuda(pcgpu_context *cpu, pcgpu_context *cuda, const char *of, const pc_points *clouds, int count,
                         int64_t many) {
    batch want = make_batch(clouds, count, many);
    const double begin = pc_now();
    bench_check(cpu, pc_backend_cpu.sample->sample(cpu, want.jobs, count));
    const double host = 1e3 * (pc_now() - begin);
    name_of(of, count, clouds->n, many);
    for (int form = FORMS - 1; form >= 0; form--) {
        float ms[RUNS];
        if (form != ONE_BLOCK && form != CHOSEN && dimensions) {
            continue;
        }
        if (form != ONE_BLOCK && !pc_cuda_sample_can(cuda, &forms[form], clouds->n)) {
            continue;
        }
        batch got = make_batch(clouds, count, form == ONE_BLOCK ? fewer_picks(clouds->n, many) : many);
        run_form(cuda, form, &got, 1, ms);
        if ((double)ms[0] < SLOW_MS) {
            run_form(cuda, form, &got, RUNS, ms);
            ms[0] = (float)bench_median(ms + WARM, TIMED);
        }
        if (bench_right(same_picks(&want, &got), name, form_names[form])) {
            bench_row(name, form_names[form], (double)ms[0] * (double)many / (double)got.many, "ms");
        }
        free_batch(&got);
    }
    bench_row(name, "CPU", host, "ms");
    free_batch(&want);
}

static pc_points take_points(pcgpu_context *cpu, pcgpu_cloud *cloud) {
    pc_points points;
    pcgpu_run run = {0};
    bench_check(cpu, pc_points_select(cpu, cloud, false, &points, &run));
    pcgpu_cloud_free(cloud);
    return points;
}

/* Features of 4 to 64 columns, of one cloud and of a batch. */
static void run_columns(pcgpu_context *cpu, pcgpu_context *cuda) {
    static const int columns[] = {4, 8, 16, 64};
    enum { POINTS = 16384, CLOUDS = 16 };
    for (size_t d = 0; d < sizeof columns / sizeof columns[0] && bench_wants("columns"); d++) {
        pc_points clouds[CLOUDS];
        char of[24];
        dimensions = columns[d];
        snprintf(of, sizeof of, "%d columns", dimensions);
        for (int i = 0; i < CLOUDS; i++) {
            test_random r = {.state = (uint64_t)i + 1};
            float *x = malloc((size_t)(POINTS * dimensions) * sizeof *x);
            for (int k = 0; k < POINTS * dimensions; k++) {
                x[k] = test_uniform(&r, -1.0f, 1.0f);
            }
            clouds[i] = (pc_points){.n = POINTS, .x = x, .y = x + POINTS, .z = x + 2 * POINTS, .memory = x};
        }
        measure_cuda(cpu, cuda, of, clouds, 1, 4096);
        measure_cuda(cpu, cuda, of, clouds, quick ? 2 : CLOUDS, 1024);
        for (int i = 0; i < CLOUDS; i++) {
            pc_points_free(&clouds[i]);
        }
    }
    dimensions = 0;
}

static void run_cuda(pcgpu_context *cpu, pcgpu_context *cuda) {
    static const char *const kinds[] = {"ring scan", "room", "cube", "eightfold", "street scan", "wide lattice"};
    enum { KINDS = sizeof kinds / sizeof kinds[0], CLOUDS = 64 };
    pcgpu_cloud cloud;
    pc_points points, clouds[CLOUDS];
    run_columns(cpu, cuda);
    for (int k = -1; k < KINDS; k++) { /* of the size of a scan */
        const char *of = k < 0 ? "KITTI" : kinds[k];
        if (!bench_wants(of) || (k < 0 && !bench_read(cpu, "kitti/000001.bin", 4, &cloud))) {
            continue;
        }
        if (k == 0) {
            bench_scan(cpu, 120268, &cloud);
        } else if (k > 0) {
            make_cloud_named(of, 1, 120268, &cloud);
        }
        points = take_points(cpu, &cloud);
        for (int i = 0; i < 3; i++) {
            measure_cuda(cpu, cuda, of, &points, 1, scan_picks[i]);
        }
        pc_points_free(&points);
    }
    for (int i = 0; i < CLOUDS && bench_wants("street scans"); i++) {
        make_cloud_named("street scan", 1 + (uint64_t)i, 16384, &cloud);
        clouds[i] = take_points(cpu, &cloud);
    }
    if (bench_wants("street scans")) {
        measure_cuda(cpu, cuda, "street scans", clouds, CLOUDS, 4096);
        for (int i = 0; i < CLOUDS; i++) {
            pc_points_free(&clouds[i]);
        }
    }
    for (int large = 0; large < (quick ? 1 : 2) && bench_wants("large street"); large++) {
        make_cloud_named("street scan", 1, large ? 10000000 : 1000000, &cloud);
        points = take_points(cpu, &cloud);
        measure_cuda(cpu, cuda, "large street", &points, 1, large ? 65536 : 16384);
        pc_points_free(&points);
    }
}
#endif

int main(int argc, char **argv) {
    const bool on_cuda = bench_begin(argc, argv, " --data --only --quick ");
    pcgpu_context *cpu = bench_open(PCGPU_DEVICE_CPU, 1);
    quick = bench_number("--quick", 0) > 0;
    if (on_cuda) {
        pcgpu_context *cuda = bench_open(PCGPU_DEVICE_CUDA, 1);
#ifdef BENCH_CUDA
        run_cuda(cpu, cuda);
#endif
        pcgpu_close(cuda);
    } else {
        run_cpu(cpu);
    }
    pcgpu_close(cpu);
    return bench_end();
}
