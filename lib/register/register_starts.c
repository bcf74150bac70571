/* Registration from the starts that a search found (register_search.c), and from the one that was given.
 *
 * The starts are tried in their order, the given one last. Once one has converged, only starts are tried that score
 * nearly as high and lie elsewhere. The best result is the answer. Method ndt on a device registers several starts in
 * hardly more time than one: when the first start fails, the remaining candidates run in one launch. Results that the
 * sequential order would not have reached are discarded, so the answer is the same. */
#include "register.h"
#include "ndt_ops.h"

#include <string.h>

#define NEARLY    0.8  /* as good as another score */
#define ELSEWHERE 30.0 /* degrees between a converged start and one that lies elsewhere */

enum { TRIALS = PC_STARTS + 1 };

typedef struct trials {
    pcgpu_context *context;
    const pc_backend *backend;
    const pcgpu_run *run;
    pcgpu_pair pair;
    pc_start starts[TRIALS];              /* the given one, last, has its transform alone */
    pcgpu_register_params params[TRIALS]; /* from each */
    bool global;                          /* they are of a search of all rotations, and lie apart */
    int count, best;                      /* best: of those that were tried, -1 before that */
    bool done[TRIALS];
    pcgpu_registration results[TRIALS];
    double seconds[TRIALS]; /* of those that were done together, of all */
} trials;

static bool better(const pcgpu_registration *a, const pcgpu_registration *b) {
    return a->converged != b->converged ? a->converged : a->score > b->score;
}

static bool worth_it(const trials *t, int i) {
    const pc_start *at = &t->starts[i];
    if (t->best < 0 || !t->results[t->best].converged) {
        return true;
    }
    return i != t->count - 1 && (double)at->score >= NEARLY * (double)t->starts[0].score &&
           (t->global || pc_start_degrees(at, &t->starts[t->best]) >= ELSEWHERE);
}

static pcgpu_status register_once(pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                                  const pcgpu_register_params *params, const pcgpu_cloud *source,
                                  const pcgpu_cloud *target, pcgpu_registration *result) {
    return pc_register_scans(context, backend, run, params, source, target, pc_register_once, result);
}

/* Registers from start i; where the back end runs jobs concurrently, also from later starts that are candidates by now.
 */
static pcgpu_status do_start(trials *t, int i) {
    const double begin = pc_now();
    const bool together = i > 0 && t->params[0].method == PCGPU_REGISTER_NDT && t->backend->ndt->concurrent_jobs;
    pcgpu_register_params params[TRIALS];
    pcgpu_registration results[TRIALS];
    int which[TRIALS], count = 0;
    for (int k = i; k < (together ? t->count : i + 1); k++) {
        if (worth_it(t, k)) {
            params[count] = t->params[k];
            which[count++] = k;
        }
    }
    pcgpu_status status = PCGPU_OK;
    if (count > 1) {
        pcgpu_pair pairs[TRIALS];
        for (int k = 0; k < count; k++) {
            pairs[k] = t->pair;
        }
        status = pc_register_set(t->context, t->backend, t->run, params, pairs, count, register_once, results);
    }
    if (count == 1 || status != PCGPU_OK) { /* several jobs take more memory than one */
        count = 1;
        pc_clear_error(t->context);
        status = register_once(t->context, t->backend, t->run, &params[0], t->pair.source, t->pair.target, results);
    }
    for (int k = 0; k < count; k++) {
        t->done[which[k]] = true;
        t->results[which[k]] = results[k];
        t->seconds[which[k]] = pc_now() - begin;
    }
    return status;
}

static pcgpu_status register_from(trials *t, pcgpu_registration *result, double *seconds) {
    int tried = 0;
    for (int i = 0; i < t->count; i++) {
        if (!worth_it(t, i)) {
            continue;
        }
        PC_TRY(t->done[i] ? PCGPU_OK : do_start(t, i));
        if (tried++ == 0 || better(&t->results[i], &t->results[t->best])) {
            t->best = i;
        }
    }
    *result = t->results[t->best];
    *seconds = t->seconds[t->best];
    result->starts = tried;
    return PCGPU_OK;
}

/* The starts of a search, then the given one. */
static pcgpu_status prepare(trials *t, const pcgpu_register_params *params, double degrees) {
    int found = 0;
    t->global = params->search == PCGPU_SEARCH_GLOBAL;
    pcgpu_status status =
        t->global ? pc_search_global(t->context, params, t->pair.source, t->pair.target, t->starts, &found)
                  : pc_search_starts(t->context, params, degrees, t->pair.source, t->pair.target, t->starts, &found);
    memcpy(t->starts[found].T, params->init, sizeof params->init);
    t->count = found + 1;
    for (int i = 0; i < t->count; i++) {
        t->params[i] = *params;
        t->params[i].search = PCGPU_SEARCH_NEVER;
        memcpy(t->params[i].init, t->starts[i].T, sizeof t->starts[i].T);
    }
    return status;
}

/* The time of the search since `begin`; the result is cleared after an error. */
static pcgpu_status finish(pcgpu_status status, pcgpu_registration *result, double begin) {
    if (status == PCGPU_OK) {
        pc_stage(&result->run, "search", begin);
    } else {
        memset(result, 0, sizeof *result);
    }
    return status;
}

pcgpu_status pc_register_rescue(pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                                const pcgpu_register_params *params, const pcgpu_cloud *source,
                                const pcgpu_cloud *target, pcgpu_registration *result) {
    if (params->search != PCGPU_SEARCH_RESCUE || result->converged || result->source_points < PC_REGISTER_MIN_POINTS ||
        result->target_points < PC_REGISTER_MIN_POINTS) {
        return PCGPU_OK;
    }
    double begin = pc_now(), own = 0.0;
    trials t = {.context = context, .backend = backend, .run = run, .pair = {source, target}, .best = -1};
    pcgpu_status status = prepare(&t, params, PCGPU_RESCUE_DEGREES);
    if (status == PCGPU_OK && t.count > 1) {
        t.done[t.count - 1] = true;
        t.results[t.count - 1] = *result;
        status = register_from(&t, result, &own);
    }
    return finish(status, result, begin);
}

pcgpu_status pc_register_search(pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                                const pcgpu_register_params *params, const pcgpu_cloud *source,
                                const pcgpu_cloud *target, pcgpu_registration *result) {
    double begin = pc_now(), own = 0.0;
    trials t = {.context = context, .backend = backend, .run = run, .pair = {source, target}, .best = -1};
    pcgpu_status status = prepare(&t, params, 180.0);
    if (status == PCGPU_OK) {
        status = register_from(&t, result, &own);
    }
    return finish(status, result, begin + own);
}
