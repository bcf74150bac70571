/* Loops: which earlier places a place may be, and whether it is.
 *
 * Places are joined along the path and by the loops found so far. The shortest path in this graph from
 * the present place (Dijkstra 1959) predicts where an earlier place is, and its length bounds how wrong that may be: a
 * fraction of it, since a loop costs nothing (relative representations: Sibley et al. 2009). Where streets look alike,
 * nothing else says which one is meant.
 *
 * A prediction that is good enough is a start of the registration. Else the earlier places within the bound are tried,
 * those first that are near and have as many high columns in the same rings around the sensor (after Scan Context, Kim
 * and Kim 2018), by a search of their pictures from above (register_search.c). What a search has found needs a witness:
 * the place before is registered too, and their cycle must close (pairwise consistency, Mangelson et al. 2018). */
#include "loops.h"
#include "odometry.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_PATH      5.0 /* place distances between two places of a loop: until then the local map joins them */
#define LEAST_METRES    4.0 /* voxels that any prediction may be off */
#define LEAST_RADIANS   0.03
#define RADIANS_A_METRE 0.0005
#define TIGHT_VOXELS    12.0 /* a prediction that is off by no more is a start */
#define CENTRED_VOXELS                                                                                                 \
    48.0                  /* a search looks around a prediction that is off by no more; else around no translation  \
                              */
#define OVERLAP       1.2 /* place distances between sensors of places that see the same */
#define APART         1.5 /* place distances between places that are searched: a search covers more */
#define CYCLE_VOXELS  2.0 /* a cycle has to close within these */
#define CYCLE_RADIANS 0.02

enum { MOST_SEARCHED = 4 };

double pc_loops_most_metres(const pcgpu_loops *l, double path) {
    return LEAST_METRES * l->params.registration.voxel + l->params.drift * path;
}

double pc_loops_most_radians(double path) {
    return LEAST_RADIANS + RADIANS_A_METRE * path;
}

/* ---- links ------------------------------------------------------------------------------------------------------- */

/* Whether a link agrees with the prediction, to so many metres and radians. */
static bool agrees(const pc_link *link, const double predicted[16], double metres, double radians) {
    return !pc_moved_beyond(predicted, link->T_from_to, metres, radians);
}

static bool is_earlier(const pcgpu_loops *l, int32_t place, int32_t of) {
    return l->places[of].path - l->places[place].path >= LEAST_PATH * l->params.place_distance;
}

/* The nearest earlier place by a prediction that is good enough, or -1. */
static int32_t nearest(const pcgpu_loops *l, const pc_prediction *p) {
    const int32_t last = l->place_count - 1;
    const double tight = TIGHT_VOXELS * l->params.registration.voxel, near = OVERLAP * l->params.place_distance;
    int32_t best = -1;
    for (int32_t i = 0; i < last && is_earlier(l, i, last); i++) {
        if (pc_loops_most_metres(l, p[i].length) <= tight && p[i].distance <= near &&
            (best < 0 || p[i].distance < p[best].distance)) {
            best = i;
        }
    }
    return best;
}

static pcgpu_status link_nearest(pcgpu_loops *l, const pc_prediction *p, int32_t place) {
    const int32_t last = l->place_count - 1;
    pc_link link;
    bool converged;
    PC_TRY(pc_loops_register(l, place, last, p[place].T, l->params.registration.min_score, &link, &converged));
    if (!converged) {
        return PCGPU_OK;
    }
    if (!agrees(&link, p[place].T, pc_loops_most_metres(l, p[place].length), pc_loops_most_radians(p[place].length))) {
        l->refused++;
        return PCGPU_OK;
    }
    return pc_loops_append(l, &link);
}

/* ---- searches ---------------------------------------------------------------------------------------------------- */

/* Of the numbers of high columns in all rings: 0 the same, 1 nothing in common. */
static double difference(const pc_place *a, const pc_place *b) {
    int64_t apart = 0, all = 1;
    for (int k = 0; k < PC_PLACE_RINGS; k++) {
        apart += abs((int)a->rings[k] - (int)b->rings[k]);
        all += a->rings[k] + b->rings[k];
    }
    return (double)apart / (double)all;
}

/* The candidate to search next, or -1: of least cost, far from those before. */
static int32_t next_candidate(const pcgpu_loops *l, const pc_prediction *p, const int32_t *before, int count) {
    const int32_t last = l->place_count - 1;
    int32_t best = -1;
    for (int32_t i = 0; i < last && is_earlier(l, i, last); i++) {
        bool apart = p[i].cost < INFINITY;
        for (int k = 0; k < count && apart; k++) {
            const double *a = l->places[i].T, *b = l->places[before[k]].T;
            const double d[3] = {a[3] - b[3], a[7] - b[7], a[11] - b[11]};
            apart = pc_norm3(d) > APART * l->params.place_distance;
        }
        best = apart && (best < 0 || p[i].cost < p[best].cost) ? i : best;
    }
    return best;
}

/* Registers the place before the last one where the link says that it is; the cycle has to close. */
static pcgpu_status find_witness(pcgpu_loops *l, const pc_link *link, pc_link *witness, bool *found) {
    const pc_place *last = &l->places[link->to], *before = last - 1;
    double T[16], T_from_before[16], start[16];
    double least = INFINITY;
    int32_t near = link->from;
    pc_transform_between(last->T, before->T, T);
    pc_transform_multiply(link->T_from_to, T, T_from_before);
    for (int32_t i = link->from > 2 ? link->from - 2 : 0; i <= link->from + 2 && i < link->to - 1; i++) {
        double step[16];
        pc_transform_between(l->places[i].T, l->places[link->from].T, step);
        pc_transform_multiply(step, T_from_before, T);
        if (pc_transform_length(T) < least) {
            least = pc_transform_length(T);
            near = i;
            memcpy(start, T, sizeof start);
        }
    }
    PC_TRY(pc_loops_register(l, near, link->to - 1, start, l->params.registration.min_score, witness, found));
    *found = *found && agrees(witness, start, CYCLE_VOXELS * l->params.registration.voxel, CYCLE_RADIANS);
    return PCGPU_OK;
}

/* Searches the last place in an earlier one. *found: a link was appended. */
static pcgpu_status search_in(pcgpu_loops *l, const pc_prediction *p, int32_t place, bool *found) {
    const int32_t last = l->place_count - 1;
    const double metres = pc_loops_most_metres(l, p[place].length), radians = pc_loops_most_radians(p[place].length);
    pc_link link, witness;
    bool converged, closes = false;
    double start[16];
    memcpy(start, p[place].T, sizeof start);
    for (int k = 0; k < 3 && metres > CENTRED_VOXELS * l->params.registration.voxel; k++) {
        start[4 * k + 3] = 0.0;
    }
    PC_TRY(pc_loops_search(l, place, last, start, fmin(57.3 * radians + 4.0, 180.0), &link, &converged));
    if (!converged) {
        return PCGPU_OK;
    }
    if (agrees(&link, p[place].T, metres, radians)) {
        PC_TRY(find_witness(l, &link, &witness, &closes));
    }
    if (!closes) {
        l->refused++;
        return PCGPU_OK;
    }
    *found = true;
    PC_TRY(pc_loops_append(l, &link));
    return is_earlier(l, witness.from, witness.to) ? pc_loops_append(l, &witness) : PCGPU_OK;
}

static pcgpu_status search(pcgpu_loops *l, pc_prediction *p) {
    const int32_t last = l->place_count - 1;
    const double near = OVERLAP * l->params.place_distance;
    int32_t before[MOST_SEARCHED];
    bool found = false;
    for (int32_t i = 0; i < last; i++) {
        const double most = near + pc_loops_most_metres(l, p[i].length);
        p[i].cost =
            p[i].distance <= most ? difference(&l->places[i], &l->places[last]) + p[i].distance / most : INFINITY;
    }
    for (int k = 0; k < MOST_SEARCHED && !found; k++) {
        before[k] = next_candidate(l, p, before, k);
        if (before[k] < 0) {
            break;
        }
        PC_TRY(search_in(l, p, before[k], &found));
    }
    return PCGPU_OK;
}

pcgpu_status pc_loops_find(pcgpu_loops *l) {
    pc_prediction *p = malloc((size_t)l->place_count * sizeof *p);
    if (!p || !pc_loops_predict(l, p)) {
        free(p);
        return pc_fail_memory(l->context, (size_t)l->place_count * sizeof *p, "the places");
    }
    const int32_t place = nearest(l, p);
    pcgpu_status status = place >= 0 ? link_nearest(l, p, place) : search(l, p);
    free(p);
    return status;
}
