/* Several pairs: method ndt on CUDA in groups that are on the device together, on the CPU one pair per thread. */
#include "register_device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All pairs of a call, and what is the same for them. */
typedef struct pair_set {
    pcgpu_context *context;
    const pc_backend *backend;
    const pcgpu_register_params *params; /* of each pair */
    pcgpu_run run;                       /* as it begins for each */
    const pcgpu_pair *pairs;
    int count;
    pc_register_fn *one;
    pcgpu_registration *results;
    pc_device_pairs *device; /* where the clouds are in the memory of a device, else NULL */
    pthread_mutex_t mutex;   /* guards what follows, and the context's error */
    int failing;             /* the first pair that failed, in their order, and how; `count`: none */
    pcgpu_status failed;
} pair_set;

/* Keeps the error of pair `i`, which is in `from`, unless an earlier one failed. */
static void keep_failure(pair_set *set, const pcgpu_context *from, int i, pcgpu_status status) {
    char why[sizeof from->errors.text];
    snprintf(why, sizeof why, "%s", pcgpu_last_error(from));
    pthread_mutex_lock(&set->mutex);
    if (i < set->failing) {
        set->failing = i;
        set->failed = pc_fail(set->context, status, "%s", why);
    }
    pthread_mutex_unlock(&set->mutex);
}

static int64_t points_of(const pcgpu_pair *pair) {
    return pair->source->rows + pair->target->rows;
}

static pcgpu_status run_pair(const pair_set *set, pcgpu_context *context, int i) {
    const pcgpu_pair *pair = &set->pairs[i];
    return set->one(context, set->backend, &set->run, &set->params[i], pair->source, pair->target, &set->results[i]);
}

/* ---- together on a device ---------------------------------------------------------------------------------------- */

typedef struct group {
    pc_register_work w[PC_GROUP_PAIRS];
    pc_ndt_work c[PC_GROUP_PAIRS];
    pc_scan source[PC_GROUP_PAIRS], target[PC_GROUP_PAIRS];
    pc_ndt_job jobs[PC_GROUP_PAIRS]; /* of the pairs, then of those that have enough points */
    int job[PC_GROUP_PAIRS];         /* of each pair; -1: it has none */
    int job_count;
} group;

/* One block for the coordinates of all targets, one for those of all sources: a back end has no more of them. */
static pcgpu_status take_memory(const pair_set *set, int first, int count, float *memory[PC_NDT_CLOUDS]) {
    size_t rows[PC_NDT_CLOUDS] = {1, 1};
    for (int i = first; i < first + count; i++) {
        rows[PC_NDT_SOURCE] += (size_t)set->pairs[i].source->rows;
        rows[PC_NDT_TARGET] += (size_t)set->pairs[i].target->rows;
    }
    static const int order[PC_NDT_CLOUDS] = {PC_NDT_TARGET, PC_NDT_SOURCE};
    for (int k = 0; k < PC_NDT_CLOUDS; k++) {
        void *block = NULL;
        PC_TRY(set->backend->ndt->memory(set->context, order[k], rows[order[k]] * 3 * sizeof(float), &block));
        memory[order[k]] = block;
    }
    return PCGPU_OK;
}

/* The jobs of pairs from `first` on. */
typedef struct preparation {
    pair_set *set;
    int first, count;
    group *g;
} preparation;

/* Selects the points of a pair and makes its job, on one thread. */
static void prepare_pair(void *state, int i) {
    const preparation *p = state;
    pair_set *set = p->set;
    group *g = p->g;
    const int first = p->first;
    const pcgpu_pair *pair = &set->pairs[first + i];
    pcgpu_context own = *set->context; /* for the error: others may fail at the same time */
    pcgpu_run *run = &g->w[i].result->run;
    pc_scan *from = &g->source[i], *to = &g->target[i];
    own.threads = 1;
    g->w[i].context = &own;
    double begin = pc_now();
    pcgpu_status status = set->device ? pc_device_take(set->device, i, &g->c[i], &g->jobs[i])
                                      : pc_scan_take_pair(&own, pair, g->w[i].params, from, to, run);
    if (status == PCGPU_OK && !set->device) {
        pc_register_attach_clouds(&g->w[i], from->cloud, to->cloud);
        status = pc_ndt_prepare(&g->c[i], from->cloud, to->cloud, &g->jobs[i]);
    }
    g->w[i].context = set->context;
    pc_register_stage_end(&g->w[i], PC_STAGE_SELECT, begin);
    if (status != PCGPU_OK) {
        keep_failure(set, &own, first + i, status);
    }
}

/* Makes the jobs of all pairs. */
static pcgpu_status prepare(pair_set *set, int first, int count, group *g) {
    float *memory[PC_NDT_CLOUDS] = {NULL, NULL};
    PC_TRY(set->device ? PCGPU_OK : take_memory(set, first, count, memory));
    for (int i = 0; i < count; i++) {
        g->jobs[i] = (pc_ndt_job){0};
        g->c[i] = (pc_ndt_work){.w = &g->w[i], .backend = set->backend};
        memcpy(g->c[i].memory, memory, sizeof memory);
        memory[PC_NDT_SOURCE] += set->device ? 0 : 3 * set->pairs[first + i].source->rows;
        memory[PC_NDT_TARGET] += set->device ? 0 : 3 * set->pairs[first + i].target->rows;
    }
    preparation p = {set, first, count, g};
    pc_run_parts(set->context, count, prepare_pair, &p);
    g->job_count = 0;
    for (int i = 0; i < count; i++) {
        g->job[i] = -1;
        if (g->jobs[i].optimizer.levels) { /* else there are too few points */
            g->job[i] = g->job_count;
            g->jobs[g->job_count++] = g->jobs[i];
        }
    }
    return set->failed;
}

static void look_at_pair(void *state, int i) {
    const preparation *p = state;
    pcgpu_context own = *p->set->context;
    own.threads = 1;
    p->g->w[i].context = &own;
    pc_ndt_look(&p->g->c[i]);
    p->g->w[i].context = p->set->context;
}

/* While a device registers them. */
static void look_at_pairs(void *state) {
    const preparation *p = state;
    if (p->set->device && pc_cuda_scan_samples(p->set->context) != PCGPU_OK) {
        return; /* the registrations will fail, too */
    }
    pc_run_parts(p->set->context, p->count, look_at_pair, state);
}

/* Pairs after their jobs, which began at `begin` and ended with a status. */
typedef struct conclusion {
    preparation p;
    double begin;
    pcgpu_status status;
} conclusion;

static void conclude_pair(void *state, int i) {
    const conclusion *c = state;
    group *g = c->p.g;
    pcgpu_context own = *c->p.set->context;
    own.threads = 1;
    g->w[i].context = &own;
    if (c->status == PCGPU_OK && g->job[i] >= 0) {
        pc_ndt_conclude(&g->c[i], &g->jobs[g->job[i]], c->begin);
    }
    const pcgpu_status status = pc_register_close(&g->w[i], c->status);
    if (c->status == PCGPU_OK && status != PCGPU_OK) {
        keep_failure(c->p.set, &own, c->p.first + i, status);
    }
    pc_scan_release(&g->source[i]);
    pc_scan_release(&g->target[i]);
}

static pcgpu_status run_group(pair_set *set, int first, int count, group *g) {
    const preparation p = {set, first, count, g};
    if (set->device) {
        PC_TRY(pc_device_prepare(set->context, set->device, set->pairs + first, count, set->device->settled + first));
    }
    for (int i = 0; i < count; i++) {
        g->source[i] = g->target[i] = (pc_scan){0};
        pc_register_open(&g->w[i], set->context, set->backend, &set->run, &set->params[first + i],
                         &set->results[first + i]);
    }
    conclusion c = {p, 0.0, prepare(set, first, count, g)};
    c.begin = pc_now();
    if (c.status == PCGPU_OK && g->job_count > 0) {
        c.status =
            set->backend->ndt->register_jobs(set->context, g->jobs, g->job_count, (pc_host_work){look_at_pairs, &c.p});
    }
    if (c.status == PCGPU_OK && set->device) {
        c.status = pc_cuda_scan_samples(set->context);
    }
    pc_run_parts(set->context, count, conclude_pair, &c);
    PC_TRY(c.status == PCGPU_OK ? set->failed : c.status);
    for (int i = first; i < first + count; i++) {
        const bool far = set->device && pc_device_is_far(set->device, i - first);
        if (far || pc_register_needs_search(&set->params[i], &set->results[i])) {
            PC_TRY(run_pair(set, set->context, i));
        }
    }
    return PCGPU_OK;
}

static pcgpu_status run_groups(pair_set *set) {
    group *g = malloc(sizeof *g);
    pcgpu_status status = PCGPU_OK;
    if (!g) {
        return pc_fail_memory(set->context, sizeof *g, "the pairs");
    }
    for (int first = 0, count; first < set->count && status == PCGPU_OK; first += count) {
        int64_t points = points_of(&set->pairs[first]);
        count = 1;
        while (count < PC_GROUP_PAIRS && first + count < set->count &&
               points + points_of(&set->pairs[first + count]) <= PC_GROUP_POINTS) {
            points += points_of(&set->pairs[first + count++]);
        }
        status = run_group(set, first, count, g);
    }
    free(g);
    return status;
}

/* ---- one after the other, or one a thread ------------------------------------------------------------------------ */

static pcgpu_status run_in_turn(const pair_set *set) {
    for (int i = 0; i < set->count; i++) {
        PC_TRY(run_pair(set, set->context, i));
    }
    return PCGPU_OK;
}

/* The context of a thread, opened when it is first needed: the next call finds its memory there. */
static pcgpu_status take_helper(pcgpu_context *context, int thread, pcgpu_context **own) {
    const pcgpu_settings settings = {
        .struct_size = sizeof settings, .device = PCGPU_DEVICE_CPU, .threads = 1, .names = context->settings.names};
    pcgpu_status status = PCGPU_OK;
    if (!context->helpers[thread]) {
        status = pc_context_open(&settings, context->cpu, context->gpu, &context->helpers[thread]);
    }
    *own = context->helpers[thread];
    if (*own) {
        (*own)->simd_limit = context->simd_limit;
        (*own)->parent = context;
    }
    return status;
}

/* Threads claim pairs one by one. A context has the memory of one registration, so each thread has its own context. */
typedef struct claims {
    pair_set *set;
    atomic_int next;
} claims;

static void run_claimed(void *state, int thread) {
    claims *c = state;
    for (int i; !pc_is_cancelled(c->set->context) && (i = atomic_fetch_add(&c->next, 1)) < c->set->count;) {
        pcgpu_context *own = NULL;
        pcgpu_status status = take_helper(c->set->context, thread, &own);
        status = status == PCGPU_OK ? run_pair(c->set, own, i) : status;
        if (status != PCGPU_OK) {
            keep_failure(c->set, own, i, status);
        }
    }
}

static pcgpu_status run_a_thread_each(pair_set *set) {
    pcgpu_context *context = set->context;
    const size_t bytes = (size_t)context->threads * sizeof(pcgpu_context *);
    context->helpers = context->helpers ? context->helpers : calloc(1, bytes);
    if (!context->helpers) {
        return pc_fail_memory(context, bytes, "the threads");
    }
    claims c = {.set = set};
    PC_TRY(pc_check_cancelled(context));
    pc_run_parts(context, context->threads, run_claimed, &c);
    PC_TRY(pc_check_cancelled(context));
    return set->failed;
}

pcgpu_status pc_register_set(pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                             const pcgpu_register_params *params, pc_device_pairs *device, const pcgpu_pair *pairs,
                             int count, pc_register_fn *one, pcgpu_registration *results) {
    pair_set set = {.context = context,
                    .backend = backend,
                    .params = params,
                    .device = device,
                    .run = *run,
                    .pairs = pairs,
                    .count = count,
                    .one = one,
                    .results = results,
                    .failing = count};
    const bool together = device || (params->method == PCGPU_REGISTER_NDT && params->search != PCGPU_SEARCH_ALWAYS &&
                                     backend->ndt->concurrent_jobs);
    const bool spread = backend == context->cpu && context->threads > 1 && count >= context->threads;
    set.run.threads = spread ? 1 : run->threads;
    pthread_mutex_init(&set.mutex, NULL);
    pcgpu_status status = together ? run_groups(&set) : spread ? run_a_thread_each(&set) : run_in_turn(&set);
    pthread_mutex_destroy(&set.mutex);
    return status;
}
