/* Registration by cells from points to the result, on every back end: pairs cpu|cuda [SEED] [quick|tiny].
 *
 * First the paths of pairs, made here, against those of one thread: one by one and all at once. Then pcgpu_register and
 * pcgpu_register_pairs on hostile clouds against one thread of the CPU, everything that they report, byte for byte.
 * `tiny`, for tools that are slow: one pair on CUDA. Exit code 0 passed, 1 failed, 77 no such device. */
#include "ndt_ops.h"
#include "../support/backends.h"

static bool first_seed; /* whose clouds are known to need several starts */
static pcgpu_context *cpu;

/* ---- pairs ----------------------------------------------------------------------------------------------------- */

typedef struct pair {
    const char *name;
    fill_fn *fill;
    int64_t targets, sources;
    double edge;
    int levels, max_iterations;
    double away; /* of the source from the target, metres */
    int64_t part;
} pair;

/* A ring of walls around a scanner, a floor and poles, with the noise of one. */
static void fill_street(int64_t i, float p[3]) {
    float along = 40.0f * test_float(&numbers) - 20.0f, high = 3.0f * test_float(&numbers);
    int kind = (int)(i % 5);
    p[0] = kind == 4 ? 4.0f * (float)(test_bits(&numbers) % 9) - 16.0f : along;
    p[1] = kind == 0   ? 12.0f * test_float(&numbers) - 6.0f
           : kind == 1 ? -6.0f
           : kind == 2 ? 7.0f
           : kind == 3 ? 11.0f
                       : 3.0f;
    p[2] = kind == 0 ? 0.0f : high;
    if (kind == 3) {
        p[1] = 20.0f * test_float(&numbers) - 10.0f;
        p[0] = 21.0f;
    }
    for (int k = 0; k < 3; k++) {
        p[k] += 0.02f * test_float(&numbers);
    }
}

static void fill_heap(int64_t i, float p[3]) {
    (void)i;
    for (int k = 0; k < 3; k++) {
        p[k] = 0.3f * test_float(&numbers);
    }
}

static void fill_same(int64_t i, float p[3]) {
    (void)i;
    p[0] = p[1] = p[2] = 1.0f;
}

/* Every point in a cell of its own. */
static void fill_sparse(int64_t i, float p[3]) {
    p[0] = 3.0f * (float)(i % 37);
    p[1] = 3.0f * (float)(i / 37 % 41);
    p[2] = 3.0f * (float)(i / 37 / 41);
}

/* The points of a job are in `memory`, to be freed. */
static pc_ndt_job make_job(const pair *p, float *memory[2]) {
    static const pc_pose identity = {.q = {1, 0, 0, 0}};
    const int64_t m = p->targets, n = p->sources, most[PC_SETS] = {p->part, 2 * p->part, 8 * p->part};
    float *target = memory[0] = make_columns(p->fill, m), *source = memory[1] = make_columns(p->fill, n);
    const pc_ndt_frame frame = frame_about(target, m, p->edge);
    for (int64_t i = 0; i < 2 * n; i++) { /* x and y */
        source[i] += (float)p->away;
    }
    pc_ndt_job job = {.target = {.n = m,
                                 .x = target,
                                 .y = target + m,
                                 .z = target + 2 * m,
                                 .map = pc_ndt_map_at(&frame, &identity),
                                 .unit = frame.unit,
                                 .sigma = 0.055 * p->edge,
                                 .widening = 0.05,
                                 .levels = p->levels},
                      .source = {.n = n, .x = source, .y = source + n, .z = source + 2 * n},
                      .optimizer = {.frame = frame,
                                    .levels = p->levels,
                                    .max_iterations = p->max_iterations,
                                    .edge = p->edge,
                                    .reach = 8.0 * p->edge,
                                    .metres = 1e-4,
                                    .radians = 1e-5,
                                    .start = identity}};
    memcpy(job.target.origin, frame.origin, sizeof frame.origin);
    for (int i = 0; i < PC_SETS; i++) {
        job.source.every[i] = (n + most[i] - 1) / most[i];
        job.optimizer.points[i] = job.source.points[i] = n / job.source.every[i];
    }
    return job;
}

enum { PAIRS = 12, QUICK_PAIRS = 4, FEW_ITERATIONS = 5 };

static const pair pairs[PAIRS] = {
    {"street", fill_street, 9000, 8000, 0.5, 4, 50, 0.3, 800},
    {"street, one level", fill_street, 3000, 3100, 0.8, 1, 50, 0.1, 5000},
    {"disjoint", fill_street, 3000, 3000, 0.5, 3, 20, 500.0, 400},
    {"every point a cell", fill_sparse, 5000, 5000, 0.5, 4, 10, 0.1, 600},
    {"street, six levels", fill_street, 20000, 12000, 0.25, 6, 50, 0.5, 500},
    {"few iterations", fill_street, 4000, 4000, 0.5, 4, 2, 0.8, 700},
    {"room", fill_room, 5000, 7000, 0.5, 4, 30, 0.05, 600},
    {"identical", fill_sparse, 900, 900, 7.0, 2, 50, 0.0, 2000},
    {"one cell", fill_heap, 4000, 4000, 2.0, 4, 20, 0.01, 500},
    {"one place", fill_same, 2000, 2000, 0.5, 4, 20, 0.0, 100},
    {"one point", fill_same, 1, 1, 0.5, 2, 20, 0.0, 100},
    {"line", fill_line, 3000, 3000, 0.3, 3, 20, 0.2, 300},
};

static bool run_jobs(const pc_backend *backend, pcgpu_context *context, pc_ndt_job *job, int count) {
    return backend->ndt->register_jobs(context, job, count, (pc_host_work){0}) == PCGPU_OK;
}

/* One by one, and all at once. */
static void check_paths(int first, int end) {
    pc_ndt_job jobs[PAIRS], expected[PAIRS], given[PAIRS];
    float *memory[PAIRS][2];
    for (int i = first; i < end; i++) {
        jobs[i] = expected[i] = make_job(&pairs[i], memory[i]);
        expect(run_jobs(&pc_backend_cpu, cpu, &expected[i], 1), pairs[i].name, "cpu", "path", 0);
    }
    for (int k = 0; k < platform_count; k++) {
        memcpy(given, jobs, sizeof given);
        expect(run_jobs(platforms[k].backend, platforms[k].context, given + first, end - first), "all pairs",
               platforms[k].label, "path", 0);
        for (int i = first; i < end; i++) {
            pc_ndt_job job = jobs[i];
            expect(same_optimizer(&given[i].optimizer, &expected[i].optimizer), pairs[i].name, platforms[k].label,
                   "one of all pairs", i);
            expect(run_jobs(platforms[k].backend, platforms[k].context, &job, 1) &&
                       same_optimizer(&job.optimizer, &expected[i].optimizer),
                   pairs[i].name, platforms[k].label, "alone", i);
        }
    }
    for (int i = first; i < end; i++) {
        free(memory[i][0]);
        free(memory[i][1]);
    }
}

/* ---- clouds ---------------------------------------------------------------------------------------------------- */

/* Clouds as a reader of files may give them: NaN, infinities, records at the origin, far away, too large to square. */
enum { CLOUD_PLAIN, CLOUD_EMPTY, CLOUD_ONE, CLOUD_NAN, CLOUD_FAR, CLOUD_HUGE, CLOUD_OUTLIERS, CLOUD_OFFSET, CLOUDS };

static pcgpu_cloud make_cloud(int kind, int64_t n, int columns) {
    n = kind == CLOUD_EMPTY ? 0 : kind == CLOUD_ONE ? 1 : n;
    pcgpu_cloud c = {.rows = n, .columns = columns};
    c.data = malloc((size_t)(n ? n : 1) * (size_t)columns * sizeof *c.data);
    for (int64_t i = 0; i < n; i++) {
        float p[3];
        fill_street(i, p);
        for (int k = 0; k < columns; k++) {
            float *to = &c.data[i * columns + k];
            *to = k < 3 ? p[k] : 0.5f;
            *to += k < 3 && kind == CLOUD_FAR ? 5000.0f : 0.0f;
            *to *= k < 3 && kind == CLOUD_HUGE ? 1e30f : 1.0f;
            *to = kind == CLOUD_NAN && i % 7 == 3 ? (i % 2 ? NAN : INFINITY) : *to;
            *to = kind == CLOUD_NAN && i % 11 == 5 ? 0.0f : *to;
            *to = kind == CLOUD_OUTLIERS && k == 1 && i % 1000 == 9 ? 3e3f : *to;
        }
    }
    for (int k = 0; k < 3 && kind == CLOUD_OFFSET; k++) {
        c.offset[k] = 450000.25 * (k + 1);
    }
    return c;
}

static void check_clouds(int count) {
    const int64_t n = 9000;
    int most_starts = 0;
    for (int i = 0; i < count; i++) {
        int kinds[2] = {i % CLOUDS, i / CLOUDS == 0 ? i % CLOUDS : i / CLOUDS - 1};
        pcgpu_cloud source = make_cloud(kinds[0], n, 4), target = make_cloud(kinds[1], n + 70, 3);
        pcgpu_register_params params;
        pcgpu_register_params_init(&params);
        params.max_iterations = 20;
        params.voxel = 0.25;
        params.search = i % 4 == 3 ? PCGPU_SEARCH_ALWAYS : i % 4 == 1 ? PCGPU_SEARCH_RESCUE : PCGPU_SEARCH_NEVER;
        params.min_range = i % 2 ? 3.0 : 0.0;
        params.beam_correction = i % 2 ? 0.205 : 0.0;
        pcgpu_registration expected, r;
        memset(&expected, 0, sizeof expected);
        pcgpu_status status = pcgpu_register(cpu, &source, &target, &params, &expected);
        forget_times(&expected);
        most_starts = expected.starts > most_starts ? expected.starts : most_starts;
        for (int k = 0; k < platform_count; k++) {
            bool same = pcgpu_register(platforms[k].context, &source, &target, &params, &r) == status;
            forget_times(&r);
            expect(same && memcmp(&r, &expected, sizeof r) == 0 &&
                       strcmp(pcgpu_last_error(platforms[k].context), pcgpu_last_error(cpu)) == 0,
                   "clouds", platforms[k].label, status == PCGPU_OK ? expected.reason : pcgpu_last_error(cpu), i);
        }
        free(source.data);
        free(target.data);
    }
    /* A device does those after the first at once. */
    expect(!first_seed || count < 2 * CLOUDS || most_starts > 2, "a search with several starts", "cpu", "",
           most_starts);
}

/* The same pairs by one call, as often as `times`: more than a group holds, and more and fewer than threads. A pair
 * that fails is the call's failure and leaves nothing. */
static void check_together(int kinds, int times) {
    enum { MOST = 2 * CLOUDS };
    pcgpu_cloud clouds[MOST][2];
    pcgpu_pair good[MOST], bad = {0};
    pcgpu_registration expected[MOST];
    pcgpu_register_params params;
    pcgpu_register_params_init(&params);
    params.max_iterations = 20;
    params.min_range = 3.0;
    params.beam_correction = 0.205;
    params.min_score = 0.52; /* a third of the results has little more and is to be confirmed */
    char error[1024] = "";
    int n = 0, failing = 0;
    for (int i = 0; i < kinds; i++) {
        clouds[i][0] = make_cloud(i % CLOUDS, 2000 + 16 * i, 4);
        clouds[i][1] = make_cloud(i < CLOUDS ? i : CLOUD_PLAIN, 2070, 3);
        good[n] = (pcgpu_pair){&clouds[i][0], &clouds[i][1]};
        memset(&expected[n], 0, sizeof expected[n]);
        if (pcgpu_register(cpu, good[n].source, good[n].target, &params, &expected[n]) == PCGPU_OK) {
            forget_times(&expected[n++]);
        } else if (failing++ == 0) {
            bad = good[n];
            snprintf(error, sizeof error, "%s", pcgpu_last_error(cpu));
        }
    }
    const int count = n * times;
    pcgpu_pair *chosen = malloc(((size_t)count + 1) * sizeof *chosen);
    pcgpu_registration *results = malloc(((size_t)count + 1) * sizeof *results);
    for (int i = 0; i < count; i++) {
        chosen[i] = good[i % n];
    }
    for (int k = 0; k < platform_count; k++) {
        bool same = pcgpu_register_pairs(platforms[k].context, chosen, count, &params, results) == PCGPU_OK;
        for (int i = 0; i < count; i++) {
            forget_times(&results[i]);
            expect(same && memcmp(&results[i], &expected[i % n], sizeof *results) == 0, "pairs by one call",
                   platforms[k].label, expected[i % n].reason, i);
        }
        expect(pcgpu_register_pairs(platforms[k].context, chosen, 0, &params, results) == PCGPU_OK, "no pair",
               platforms[k].label, "", 0);
        expect(pcgpu_register_pairs(platforms[k].context, chosen, -1, &params, results) == PCGPU_ERROR_ARGUMENT,
               "fewer", platforms[k].label, "", 0);
        if (failing > 0) {
            static const pcgpu_registration nothing;
            chosen[count] = bad;
            bool fails = pcgpu_register_pairs(platforms[k].context, chosen, count + 1, &params, results) ==
                             PCGPU_ERROR_ARGUMENT &&
                         strcmp(pcgpu_last_error(platforms[k].context), error) == 0;
            expect(fails && memcmp(&results[0], &nothing, sizeof nothing) == 0 &&
                       memcmp(&results[count], &nothing, sizeof nothing) == 0,
                   "one pair fails", platforms[k].label, pcgpu_last_error(platforms[k].context), count);
        }
    }
    free(chosen);
    free(results);
    for (int i = 0; i < kinds; i++) {
        free(clouds[i][0].data);
        free(clouds[i][1].data);
    }
}

/* One pair, for which a context keeps threads, and then several, each of which has a thread: in turns, since what those
 * would do to each other is a matter of luck. */
static void check_in_turns(pcgpu_device device, int turns) {
    enum { TOGETHER = 6, THREADS = 4, POINTS = 9000 };
    pcgpu_context *context = open_context(device, THREADS, 0);
    pcgpu_cloud source = make_cloud(CLOUD_PLAIN, POINTS, 4), target = make_cloud(CLOUD_PLAIN, POINTS, 3);
    pcgpu_pair several[TOGETHER];
    pcgpu_register_params params;
    pcgpu_registration expected, results[TOGETHER];
    pcgpu_register_params_init(&params);
    params.max_iterations = 2;
    memset(&expected, 0, sizeof expected);
    pcgpu_status status = pcgpu_register(cpu, &source, &target, &params, &expected);
    forget_times(&expected);
    for (int i = 0; i < TOGETHER; i++) {
        several[i] = (pcgpu_pair){&source, &target};
    }
    for (int turn = 0; turn < turns; turn++) {
        bool same = pcgpu_register(context, &source, &target, &params, &results[0]) == status &&
                    pcgpu_register_pairs(context, several, TOGETHER, &params, results) == status;
        for (int i = 0; i < TOGETHER; i++) {
            forget_times(&results[i]);
            expect(same && memcmp(&results[i], &expected, sizeof expected) == 0, "one, then several", "4 threads",
                   expected.reason, i);
        }
    }
    free(source.data);
    free(target.data);
    pcgpu_close(context);
}

void test_pairs(bool cuda, char **options) {
    static const int teams[] = {1, 2, 16};
    const bool quick = options[0], tiny = cuda && quick && strcmp(options[0], "tiny") == 0;
    first_seed = numbers.state == 1;
    cpu = open_context(PCGPU_DEVICE_CPU, 1, 0);
    open_platforms(cuda, teams, 3, false);
    if (tiny) {
        check_paths(FEW_ITERATIONS, FEW_ITERATIONS + 1);
    } else {
        check_paths(0, quick ? QUICK_PAIRS : PAIRS);
        check_clouds(quick ? 2 : 2 * CLOUDS);
        check_together(quick ? 2 : 2 * CLOUDS, 5);
        check_in_turns(cuda ? PCGPU_DEVICE_CUDA : PCGPU_DEVICE_CPU, quick ? 2 : 8);
    }
    pcgpu_close(cpu);
}
