/* Registration from the starts that searches found, and from the one that was given.
 *
 * There are two searches: by features, in any rotation, and by height grids, for scans with z up. Spinning sensors,
 * whose rings leave few features far away, begin with the grids; other clouds with the features. The second search is
 * made only when no start of the first has converged. The starts of a search are tried in their order; once one has
 * converged, only those that score nearly as high and lie elsewhere. The best result is the answer.
 *
 * A result whose score is hardly enough is confirmed: the exchanged scans are registered from its inverse. At a
 * right place they stay there; at a wrong one, where some surfaces lie on each other by chance, they leave it, since
 * the voxels or planes are then those of the other scan.
 *
 * Methods help each other: ndt leads plane and gicp from a start of a search to where their finest level can begin, and
 * plane follows where ndt has found a place whose voxels do not say enough. Method ndt on a
 * device registers several starts in hardly more time than one: when the first start fails, the remaining candidates
 * run in one launch. Results that the sequential order would not have reached are discarded, so the answer is the same.
 * */
#include "register_features.h"
#include "ndt_ops.h"

#include <stdio.h>
#include <string.h>

/* The score of ndt below which its result is no place at which planes could agree. They decide where the fitness, the
 * first eigenvalue and the sigma of the translation in voxels are clear. At wrong places of generated pairs one of
 * these was up to 0.44, up to 0.015 or from 0.08; at right ones of a road and a street 0.56 to 0.9, 0.029 to 0.08 and
 * 0.03 to 0.071. */
#define LEAST_FOR_PLANES      0.1
#define LEAST_ON_PLANES       0.5
#define CONSTRAINED_BY_PLANES 0.02
#define UNCERTAIN_ON_PLANES   0.075
#define NEARLY                0.8    /* as good as another score */
#define ELSEWHERE             2.7321 /* trace of a rotation by 30 degrees; less: a start that lies elsewhere */

enum { CONFIRMING_POINTS = 512 }; /* the motion between two results is that of so many */

enum { SEARCHES = 2, KEPT = 2 /* starts of a search */, TRIALS = SEARCHES * KEPT + 1 };

typedef struct trials {
    pcgpu_context *context;
    const pc_backend *backend;
    const pcgpu_run *run;
    const pcgpu_register_params *given;
    pcgpu_pair pair;
    pc_start starts[TRIALS];
    pcgpu_register_params params[TRIALS]; /* from each */
    int first, count;                     /* of those that are being tried */
    int best;                             /* of those that were tried, -1 before that */
    int tried;
    bool done[TRIALS];
    pcgpu_registration results[TRIALS];
    double seconds[TRIALS]; /* of those that were done together, of all */
    pc_seen seen[2];
    pc_view *views[2];
} trials;

static bool better(const pcgpu_registration *a, const pcgpu_registration *b) {
    return a->converged != b->converged ? a->converged : a->score > b->score;
}

static bool is_elsewhere(const double a[16], const double b[16]) {
    double trace = 0.0;
    for (int k = 0; k < 3; k++) {
        trace += (a[4 * k] * b[4 * k] + a[4 * k + 1] * b[4 * k + 1]) + a[4 * k + 2] * b[4 * k + 2];
    }
    return trace < ELSEWHERE;
}

static bool worth_it(const trials *t, int i) {
    return t->best < 0 || !t->results[t->best].converged ||
           ((double)t->starts[i].score >= NEARLY * (double)t->starts[t->first].score &&
            is_elsewhere(t->starts[i].T, t->starts[t->best].T));
}

static pcgpu_status register_once(pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                                  const pcgpu_register_params *params, const pcgpu_cloud *source,
                                  const pcgpu_cloud *target, pcgpu_registration *result) {
    return pc_register_scans(context, backend, run, params, source, target, pc_register_once, result);
}

/* From the result alone, at the finest level. */
static void begin_at_result(pcgpu_register_params *p, const double T[16]) {
    memcpy(p->init, T, sizeof p->init);
    p->max_distance /= (double)(1 << (pc_register_levels(p) - 1));
    p->levels = 1;
}

/* At the wide levels of ICP, points that meet a surface of another part lead away from the start. The voxels of ndt do
 * not: the finest level follows from their result. */
static pcgpu_status approach_start(trials *t, int i) {
    pcgpu_register_params *p = &t->params[i], voxels = *p;
    pcgpu_registration result;
    if ((p->method != PCGPU_REGISTER_PLANE && p->method != PCGPU_REGISTER_GICP) || !(p->voxel > 0.0)) {
        return PCGPU_OK;
    }
    voxels.method = PCGPU_REGISTER_NDT;
    voxels.levels = t->starts[i].levels;
    PC_TRY(register_once(t->context, t->backend, t->run, &voxels, t->pair.source, t->pair.target, &result));
    if (result.converged) {
        begin_at_result(p, result.T_target_source);
    }
    return PCGPU_OK;
}

/* Registers from start i; where the back end runs jobs concurrently, also from later starts that are candidates. */
static pcgpu_status do_start(trials *t, int i) {
    const double begin = pc_now();
    const bool together = i > t->first && t->params[0].method == PCGPU_REGISTER_NDT && t->backend->ndt->concurrent_jobs;
    pcgpu_register_params params[TRIALS];
    pcgpu_registration results[TRIALS];
    int which[TRIALS], count = 0;
    PC_TRY(approach_start(t, i));
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
        status = pc_register_set(t->context, t->backend, t->run, params, NULL, pairs, count, register_once, results);
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

void pc_register_begin_at(pcgpu_register_params *p, const pc_start *start) {
    p->search = PCGPU_SEARCH_NEVER;
    memcpy(p->init, start->T, sizeof p->init);
    if (p->method == PCGPU_REGISTER_NDT && start->levels > 0 && start->levels < pc_register_levels(p)) {
        p->levels = start->levels;
    }
}

/* Adds a start that is not yet tried. */
static void add_start(trials *t, const pc_start *start) {
    pcgpu_register_params *p = &t->params[t->count];
    *p = *t->given;
    pc_register_begin_at(p, start);
    t->starts[t->count++] = *start;
}

/* Whether so many points lie in the free space of the other scan at a start that no registration from there is right.
 * */
static pcgpu_status contradicts(trials *t, const pc_start *start, bool *wrong) {
    pc_view_comparison at_start;
    double back[16];
    pc_transform_invert(start->T, back);
    PC_TRY(pc_view_compare(t->context, t->seen, start->T, back, t->given->voxel, &at_start));
    *wrong = at_start.free > PC_MOST_FREE_AT_START;
    return PCGPU_OK;
}

/* The root mean square of the distances between points of a cloud and where T takes them. */
static double rms_motion(const pcgpu_cloud *cloud, bool drop_origin, const double T[16]) {
    const int64_t most = cloud->rows < CONFIRMING_POINTS ? cloud->rows : CONFIRMING_POINTS;
    double squares = 0.0;
    int n = 0;
    for (int64_t i = 0; i < most; i++) {
        const float *p = cloud->data + i * cloud->rows / most * cloud->columns;
        double from[3], to[3];
        if (!pc_cloud_usable(cloud, p, drop_origin)) {
            continue;
        }
        for (int k = 0; k < 3; k++) {
            from[k] = (double)p[k] + cloud->offset[k];
        }
        pc_transform_apply(T, from, to);
        for (int k = 0; k < 3; k++) {
            squares += (to[k] - from[k]) * (to[k] - from[k]);
        }
        n++;
    }
    return n ? sqrt(squares / n) : 0.0;
}

/* Refuses a doubtful result from which the exchanged scans move. */
static pcgpu_status confirm(trials *t, int i) {
    pcgpu_registration *r = &t->results[i], exchanged;
    pcgpu_register_params p = t->params[i];
    double back[16], moved[16];
    if (!pc_register_is_doubtful(&p, r)) {
        return PCGPU_OK;
    }
    pc_transform_invert(r->T_target_source, back);
    begin_at_result(&p, back);
    PC_TRY(register_once(t->context, t->backend, t->run, &p, t->pair.target, t->pair.source, &exchanged));
    pc_transform_multiply(exchanged.T_target_source, r->T_target_source, moved);
    const double motion = rms_motion(t->pair.source, p.drop_origin, moved);
    if (motion > p.voxel) {
        r->converged = false;
        snprintf(
            r->reason, sizeof r->reason,
            "the score is hardly enough, and the result is not confirmed: with source and target exchanged it moves "
            "by %.3g m",
            motion);
    }
    return PCGPU_OK;
}

static bool is_clear(const pcgpu_registration *r) {
    return r->converged && r->fitness >= LEAST_ON_PLANES && r->eigenvalues[0] >= CONSTRAINED_BY_PLANES &&
           pc_translation_sigma(r) <= UNCERTAIN_ON_PLANES * r->voxel;
}

/* Scans of few beams that lie far apart meet in few voxels, which then do not say whether a result of ndt is right.
 * Where the scans do not contradict it, ICP on planes is tried from the same start. */
static pcgpu_status try_planes(trials *t, int i) {
    const pcgpu_registration *result = &t->results[i];
    pcgpu_register_params planes = t->params[i];
    pcgpu_registration by_planes;
    if (planes.method != PCGPU_REGISTER_NDT || result->converged || result->score < LEAST_FOR_PLANES ||
        result->free_space < 0.0 || result->free_space > PC_MOST_FREE) {
        return PCGPU_OK;
    }
    planes.method = PCGPU_REGISTER_PLANE;
    planes.levels = 0;
    PC_TRY(register_once(t->context, t->backend, t->run, &planes, t->pair.source, t->pair.target, &by_planes));
    if (is_clear(&by_planes)) {
        snprintf(by_planes.reason, sizeof by_planes.reason, "converged after %d iterations, by method plane",
                 by_planes.iterations);
        t->results[i] = by_planes;
    }
    return PCGPU_OK;
}

/* Registers from the starts that were added. */
static pcgpu_status try_starts(trials *t) {
    for (int i = t->first; i < t->count; i++) {
        if (!worth_it(t, i)) {
            continue;
        }
        PC_TRY(t->done[i] ? PCGPU_OK : do_start(t, i));
        PC_TRY(confirm(t, i));
        PC_TRY(try_planes(t, i));
        t->tried++;
        if (t->best < 0 || better(&t->results[i], &t->results[t->best])) {
            t->best = i;
        }
    }
    t->first = t->count;
    return PCGPU_OK;
}

static bool has_converged(const trials *t) {
    return t->best >= 0 && t->results[t->best].converged;
}

static pcgpu_status search(trials *t, double degrees) {
    const bool surround = pc_surround_origins(t->pair.source, t->pair.target, t->given->drop_origin);
    pc_search_fn *const searches[SEARCHES] = {surround ? pc_search_starts : pc_search_features,
                                              surround ? pc_search_features : pc_search_starts};
    for (int k = 0; k < SEARCHES && !has_converged(t); k++) {
        pc_start starts[PC_STARTS];
        int found = 0;
        bool wrong = false;
        PC_TRY(searches[k](t->context, t->given, degrees, t->pair.source, t->pair.target, starts, &found));
        for (int i = 0; i < found && i < KEPT; i++) {
            PC_TRY(contradicts(t, &starts[i], &wrong));
            if (!wrong) {
                add_start(t, &starts[i]);
            }
        }
        PC_TRY(try_starts(t));
    }
    return PCGPU_OK;
}

/* The given start. */
static void add_given(trials *t) {
    pc_start start = {.score = 0};
    memcpy(start.T, t->given->init, sizeof start.T);
    add_start(t, &start);
}

static void begin_trials(trials *t) {
    t->best = -1;
    pc_register_see(t->pair.source, t->pair.target, t->seen, t->views);
}

/* The best result, with the time of all that was not its registration since `begin`; the result is cleared after an
 * error. */
static pcgpu_status finish(trials *t, pcgpu_status status, pcgpu_registration *result, double begin) {
    if (status == PCGPU_OK) {
        *result = t->results[t->best];
        result->starts = t->tried;
        pc_stage(&result->run, "search", begin + t->seconds[t->best]);
    } else {
        memset(result, 0, sizeof *result);
    }
    pc_view_drop(&t->views[0]);
    pc_view_drop(&t->views[1]);
    return status;
}

pcgpu_status pc_register_rescue(pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                                const pcgpu_register_params *params, const pcgpu_cloud *source,
                                const pcgpu_cloud *target, pcgpu_registration *result) {
    if (!pc_register_needs_search(params, result)) {
        return PCGPU_OK;
    }
    const double begin = pc_now();
    trials t = {.context = context, .backend = backend, .run = run, .given = params, .pair = {source, target}};
    add_given(&t);
    t.done[0] = true;
    t.results[0] = *result;
    begin_trials(&t);
    pcgpu_status status = try_starts(&t);
    return finish(&t, status == PCGPU_OK ? search(&t, PCGPU_RESCUE_DEGREES) : status, result, begin);
}

pcgpu_status pc_register_search(pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                                const pcgpu_register_params *params, const pcgpu_cloud *source,
                                const pcgpu_cloud *target, pcgpu_registration *result) {
    const double begin = pc_now();
    trials t = {.context = context, .backend = backend, .run = run, .given = params, .pair = {source, target}};
    begin_trials(&t);
    pcgpu_status status = search(&t, 180.0);
    if (status == PCGPU_OK && !has_converged(&t)) {
        add_given(&t);
        status = try_starts(&t);
    }
    return finish(&t, status, result, begin);
}
