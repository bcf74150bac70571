/* bench_register cpu|cuda: registration of KITTI scans, in memory and warm, from two clouds to the 4x4, from the
 * identity.
 *
 * cpu: scan 15 onto 14 of sequence 00 by each method on one thread, with narrower vectors than the machine's, and on
 * all threads; each within 5 cm and 0.2 degree of the pose of KITTI, ndt with the same bytes in every form. cuda: the
 * median of --runs calls for four pairs, and how long an iteration takes; then one pair, from usable points in pinned
 * memory, and --pairs (64) of them at once. Every result must be the CPU's. */
#include "bench.h"
#include "ndt.h"
#include "simd.h"

#include <stdlib.h>
#include <string.h>

enum { PAIRS = 4, MOST_PAIRS = 256, WARM = 3 };

static const char *const scans[2 * PAIRS] = {"1", "0", "3", "2", "15", "14", "95", "94"};

typedef struct call {
    pcgpu_context *context;
    const pcgpu_cloud *source, *target;
    pcgpu_register_params params;
    pcgpu_registration r;
} call;

static void call_register(void *state) {
    call *c = state;
    bench_check(c->context, pcgpu_register(c->context, c->source, c->target, &c->params, &c->r));
}

static call make_call(pcgpu_context *context, const pcgpu_cloud *source, const pcgpu_cloud *target) {
    call c = {.context = context, .source = source, .target = target};
    pcgpu_register_params_init(&c.params);
    c.params.search = PCGPU_SEARCH_NEVER; /* which would start again, with more iterations, after few of them */
    return c;
}

static bool same_registration(const pcgpu_registration *a, const pcgpu_registration *b) {
    pcgpu_registration x = *a, y = *b;
    memset(&x.run, 0, sizeof x.run);
    memset(&y.run, 0, sizeof y.run);
    return memcmp(&x, &y, sizeof x) == 0;
}

/* Scan 15 in the frame of scan 14: camera^-1 pose_14^-1 pose_15 camera, of poses.txt and calib.txt. */
static const double truth[16] = {0.99999825,
                                 -0.001864159,
                                 0.000102957406,
                                 0.855567981,
                                 0.00186430555,
                                 0.999997174,
                                 -0.00148061738,
                                 0.0205163607,
                                 -0.000100207431,
                                 0.00148080896,
                                 0.999998828,
                                 0.00683569799,
                                 0,
                                 0,
                                 0,
                                 1};

static bool near_truth(const double *T) {
    double metres = 0.0, chord = 0.0;
    for (int i = 0; i < 3; i++) {
        metres += (T[4 * i + 3] - truth[4 * i + 3]) * (T[4 * i + 3] - truth[4 * i + 3]);
        for (int k = 0; k < 3; k++) {
            chord += (T[4 * i + k] - truth[4 * i + k]) * (T[4 * i + k] - truth[4 * i + k]);
        }
    }
    return metres < 0.05 * 0.05 && chord < 2 * 0.0035 * 0.0035;
}

static void run_cpu(pcgpu_context *one, pcgpu_context *all, const pcgpu_cloud *clouds, int runs) {
    static const char *const names[] = {"plane", "point", "ndt", "gicp"};
    static const char what[] = "KITTI 00, 15 onto 14";
    call c = make_call(one, &clouds[4], &clouds[5]);
    call_register(&c);
    const pcgpu_registration first = c.r;
    for (int form = 0; form < 7; form++) {
        static const char *const forms[] = {"pcgpu", "AVX2", "base", "all threads"};
        char name[64];
        c.context = form == 3 ? all : one;
        one->simd_limit = form == 1 ? 1 + PC_SIMD_AVX2 : form == 2 ? 1 + PC_SIMD_BASE : 0;
        c.params.method = form < 4    ? PCGPU_REGISTER_NDT
                          : form == 4 ? PCGPU_REGISTER_PLANE
                          : form == 5 ? PCGPU_REGISTER_POINT
                                      : PCGPU_REGISTER_GICP;
        snprintf(name, sizeof name, "%s, %s", what, names[c.params.method]);
        const bench_times t = bench_time(call_register, &c, 1, form < 4 ? runs : 1, 0.0);
        if (bench_right(c.r.converged && near_truth(c.r.T_target_source) &&
                            (form > 3 || same_registration(&first, &c.r)),
                        name, forms[form < 4 ? form : 0])) {
            bench_row(name, forms[form < 4 ? form : 0], t.least, "ms");
        }
    }
    one->simd_limit = 0;
}

#ifdef BENCH_CUDA
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

static prepared prepare(pcgpu_context *cpu, pcgpu_context *cuda, const pcgpu_cloud *source, const pcgpu_cloud *target,
                        float **memory) {
    prepared p = {.pose = {{0}, {0}}};
    pcgpu_register_params params;
    pcgpu_registration result;
    memset(&result, 0, sizeof result);
    pcgpu_register_params_init(&params);
    pc_register_work w = {
        .context = cpu, .params = &params, .backend = &pc_backend_cpu, .result = &result, .levels = 4};
    pc_ndt_work c = {.w = &w, .backend = &pc_backend_cpu};
    if (pc_ndt_prepare(&c, source, target, &p.job) != PCGPU_OK || p.job.optimizer.levels == 0) {
        bench_right(false, "a pair has too few points", "pcgpu");
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
    bench_check(cuda, pc_backend_cuda.ndt->register_jobs(cuda, &job, 1, (pc_host_work){0}));
    p.pose = job.optimizer.base.pose; /* run_cuda has compared it with the CPU's */
    return p;
}

typedef struct together {
    pcgpu_context *cuda;
    const prepared *pairs;
    int count;
    bool same;
} together;

static void call_together(void *state) {
    static pc_ndt_job jobs[MOST_PAIRS];
    together *t = state;
    for (int k = 0; k < t->count; k++) {
        jobs[k] = t->pairs[k % PAIRS].job;
    }
    bench_check(t->cuda, pc_backend_cuda.ndt->register_jobs(t->cuda, jobs, t->count, (pc_host_work){0}));
    for (int k = 0; k < t->count; k++) {
        t->same = t->same && memcmp(&jobs[k].optimizer.base.pose, &t->pairs[k % PAIRS].pose, sizeof(pc_pose)) == 0;
    }
}

static void run_cuda(pcgpu_context *cpu, pcgpu_context *cuda, const pcgpu_cloud *clouds, int runs) {
    static prepared pairs[PAIRS];
    size_t points = 0;
    for (int i = 0; i < PAIRS; i++) {
        char name[64];
        const pcgpu_cloud *source = &clouds[2 * i], *target = &clouds[2 * i + 1];
        call host = make_call(cpu, source, target), c = make_call(cuda, source, target);
        const bench_times t = bench_time(call_register, &c, WARM, runs, 0.0);
        const bench_times own = bench_time(call_register, &host, 1, runs < 20 ? runs : 20, 0.0);
        snprintf(name, sizeof name, "KITTI 00, %s onto %s, ndt", scans[2 * i], scans[2 * i + 1]);
        if (bench_right(c.r.converged && same_registration(&c.r, &host.r), name, "CUDA")) {
            bench_row(name, "pcgpu", t.median, "ms");
            bench_row(name, "least", t.least, "ms");
            bench_row(name, "CPU, all threads", own.median, "ms");
        }
        for (int k = 0; k < c.r.run.stages && c.r.iterations > 0; k++) {
            if (strcmp(c.r.run.stage[k].name, "iterate") == 0) {
                bench_row(name, "an iteration", 1e3 * c.r.run.stage[k].seconds / c.r.iterations, "ms");
            }
        }
        points += (size_t)source->rows + (size_t)target->rows;
    }
    void *memory = NULL;
    bench_check(cuda, pc_backend_cuda.ndt->memory(cuda, PC_NDT_TARGET, 3 * points * sizeof(float), &memory));
    float *next = memory;
    for (int i = 0; i < PAIRS; i++) {
        pairs[i] = prepare(cpu, cuda, &clouds[2 * i], &clouds[2 * i + 1], &next);
    }
    const int many = (int)bench_number("--pairs", 64);
    for (int i = 0; i < 2; i++) {
        char name[64];
        together t = {cuda, pairs, i == 0 ? 1 : many < MOST_PAIRS ? many : MOST_PAIRS, true};
        const bench_times took = bench_time(call_together, &t, WARM, i && runs > 20 ? 20 : runs, 0.0);
        snprintf(name, sizeof name, "pairs of KITTI 00 from pinned memory, %d at once", t.count);
        if (bench_right(t.same, name, "CUDA")) {
            bench_row(name, "pcgpu", took.median, "ms");
        }
    }
}
#endif

int main(int argc, char **argv) {
    static pcgpu_cloud clouds[2 * PAIRS];
    const bool on_cuda = bench_begin(argc, argv, " --data --runs --pairs ");
    const int runs = (int)bench_number("--runs", on_cuda ? 100 : 11);
    pcgpu_context *one = bench_open(PCGPU_DEVICE_CPU, 1), *all = bench_open(PCGPU_DEVICE_CPU, 0);
    for (int i = 0; i < 2 * PAIRS; i++) {
        char path[64];
        snprintf(path, sizeof path, "kitti00/velodyne/%06d.bin", atoi(scans[i]));
        if (!bench_read(one, path, 4, &clouds[i])) {
            return BENCH_SKIPPED;
        }
    }
    if (on_cuda) {
        pcgpu_context *cuda = bench_open(PCGPU_DEVICE_CUDA, 0);
#ifdef BENCH_CUDA
        run_cuda(all, cuda, clouds, runs);
#endif
        pcgpu_close(cuda);
    } else {
        run_cpu(one, all, clouds, runs);
    }
    for (int i = 0; i < 2 * PAIRS; i++) {
        pcgpu_cloud_free(&clouds[i]);
    }
    pcgpu_close(one);
    pcgpu_close(all);
    return bench_end();
}
