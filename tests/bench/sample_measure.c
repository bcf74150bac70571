/* Runs the programs of bench_sample on a batch and compares them with each other. */
#include "sample_bench.h"

#include "sample_cuda.h"
#include "sample_one_block.h"

const char *const program_names[PROGRAMS] = {"reference", "cluster", "grid", "grid stored", "chosen", "cpu"};

static const pc_cuda_sample_variant forms[PROGRAMS] = {
    [CLUSTER] = {.kind = PC_CUDA_SAMPLE_CLUSTER},
    [GRID] = {.kind = PC_CUDA_SAMPLE_GRID},
    [GRID_STORED] = {.kind = PC_CUDA_SAMPLE_GRID, .stored = true},
    [CHOSEN] = {.kind = PC_CUDA_SAMPLE_CHOOSE},
};

enum { WARM = 3, TIMED = 10, RUNS = WARM + TIMED };

#define SLOW_MS 50.0 /* a run that takes longer is timed once */
#define REFERENCE_LIMIT                                                                                                \
    2.0e9 /* points x picks in one run of the reference, 0.3 s or so; its time is linear in picks                      \
           */
#define QUICK_LIMIT 2.5e8

double times_chosen(const cell *c, int program) {
    double picks = program == REFERENCE ? (double)c->reference_picks : (double)c->picks;
    return c->ms[program] / picks / (c->ms[CHOSEN] / (double)c->picks);
}

/* ---- answers -------------------------------------------------------------------------------------------------- */

/* What a program picks in each cloud of a batch. */
typedef struct answers {
    pc_sample_job *jobs;
    int32_t *indices;
    float *squared;
} answers;

static answers make_answers(const batch *of, int64_t picks) {
    size_t all = (size_t)of->count * (size_t)picks;
    answers a = {calloc((size_t)of->count, sizeof *a.jobs), calloc(all, 4), calloc(all, 4)};
    for (int i = 0; i < of->count; i++) {
        const pc_points *cloud = &of->clouds[i];
        a.jobs[i] = (pc_sample_job){.n = cloud->n,
                                    .x = cloud->x,
                                    .y = cloud->y,
                                    .z = cloud->z,
                                    .count = picks,
                                    .indices = a.indices + i * picks,
                                    .squared = a.squared + i * picks};
    }
    return a;
}

static void free_answers(answers *a) {
    free(a->jobs);
    free(a->indices);
    free(a->squared);
}

/* Compares the first `picks` picks of every cloud. */
static void compare(bench *b, const batch *of, int program, const answers *want, const answers *got, int64_t picks) {
    for (int i = 0; i < of->count; i++) {
        const pc_sample_job *w = &want->jobs[i], *g = &got->jobs[i];
        for (int64_t k = 0; k < picks; k++) {
            if (w->indices[k] != g->indices[k] || memcmp(&w->squared[k], &g->squared[k], sizeof(float)) != 0) {
                printf("MISMATCH %s, cloud %d of %lld points, %s: pick %lld is %d at squared distance %.9g, the CPU's "
                       "is %d at %.9g\n",
                       of->name, i, (long long)w->n, program_names[program], (long long)k, g->indices[k],
                       (double)g->squared[k], w->indices[k], (double)w->squared[k]);
                b->failures++;
                return;
            }
        }
    }
}

/* ---- programs ------------------------------------------------------------------------------------------------- */

static void failed(bench *b, const batch *of, int program, const char *why) {
    printf("FAILED %s, %s: %s\n", of->name, program_names[program], why);
    b->failures++;
}

static bool all_picked(const batch *of, const answers *got, int64_t picks) {
    for (int i = 0; i < of->count; i++) {
        if (got->jobs[i].picked != picks) {
            return false;
        }
    }
    return true;
}

/* The programs give milliseconds and, by `ran`, whether there is an answer to compare. */
static double run_cpu(bench *b, const batch *of, answers *want, bool *ran) {
    float ms[3];
    int runs = 0;
    *ran = false;
    do {
        double begin = pc_now();
        if (pc_backend_cpu.sample->sample(b->cpu, want->jobs, of->count) != PCGPU_OK) {
            failed(b, of, CPU, b->cpu->errors.text);
            return NAN;
        }
        ms[runs++] = (float)((pc_now() - begin) * 1e3);
    } while (runs < 3 && (double)ms[0] < SLOW_MS);
    *ran = true;
    return bench_median(ms, runs);
}

static double run_form(bench *b, const batch *of, int program, answers *got, bool *ran) {
    float ms[RUNS] = {NAN};
    const pc_cuda_sample_variant *form = &forms[program];
    *ran = false;
    if (!pc_cuda_sample_can(b->cuda, form, of->clouds[0].n)) {
        return NAN;
    }
    pcgpu_status status = pc_cuda_sample_as(b->cuda, got->jobs, of->count, form, 1, ms);
    if (status == PCGPU_OK && (double)ms[0] < SLOW_MS) {
        status = pc_cuda_sample_as(b->cuda, got->jobs, of->count, form, RUNS, ms);
        ms[0] = (float)bench_median(ms + WARM, TIMED);
    }
    *ran = status == PCGPU_OK && all_picked(of, got, got->jobs[0].count);
    if (!*ran) {
        failed(b, of, program, status == PCGPU_OK ? "too few picks" : b->cuda->errors.text);
        return NAN;
    }
    return (double)ms[0];
}

static double run_reference(bench *b, const batch *of, answers *got, bool *ran) {
    float ms[RUNS] = {NAN};
    int64_t picks = got->jobs[0].count;
    const char *wrong = one_block_sample(got->jobs, of->count, picks, 1, ms, got->indices, got->squared);
    if (!wrong && (double)ms[0] < SLOW_MS) {
        wrong = one_block_sample(got->jobs, of->count, picks, RUNS, ms, got->indices, got->squared);
        ms[0] = (float)bench_median(ms + WARM, TIMED);
    }
    *ran = !wrong;
    if (wrong) {
        failed(b, of, REFERENCE, wrong);
        return NAN;
    }
    return (double)ms[0];
}

cell measure(bench *b, const batch *of, int64_t picks) {
    cell c = {.n = of->clouds[0].n, .picks = picks, .clouds = of->count};
    double limit = (b->quick ? QUICK_LIMIT : REFERENCE_LIMIT) / (double)c.n;
    c.reference_picks = (double)picks <= limit ? picks : (int64_t)limit;
    bool known, ran;
    answers want = make_answers(of, picks);
    c.ms[CPU] = run_cpu(b, of, &want, &known);
    for (int program = REFERENCE; program < CPU; program++) {
        answers got = make_answers(of, program == REFERENCE ? c.reference_picks : picks);
        c.ms[program] = program == REFERENCE ? run_reference(b, of, &got, &ran) : run_form(b, of, program, &got, &ran);
        if (known && ran) {
            compare(b, of, program, &want, &got, got.jobs[0].count);
        }
        free_answers(&got);
    }
    free_answers(&want);
    b->cells++;
    return c;
}
