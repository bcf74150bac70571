/* Odometry: localization, the poses of scans in an existing map.
 *
 * The moments of the map's points in NDT voxels are made once and stay with the back end. A scan is registered to the
 * voxels of a box around the sensor, as to a local map; the box is cut again when the sensor has come a widest voxel
 * from its middle. Boxes lie on a grid, and a box has its voxels in the order of the map's points, so that they do not
 * depend on the path of the sensor. Scans never join the map: what has changed in the world weighs little by the robust
 * kernel, and leaves no trace. A scan that the motion does not find is searched in the whole map
 * (odometry_places.c). */
#include "odometry_localize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A map is complete, unlike the scan before: in the wrong place of one, scores are up to 0.45. */
#define MAP_SCORE 1.3
/* A result of a search has to be so much better, since a wrong pose is worse than none. */
#define ANYWHERE_SCORE 1.3
#define CLEAR_SCORE    0.8

enum {
    MEASURED_POINTS = 4096, /* of a scan, for its radii of gyration */
    SCREENING = 5,          /* iterations of a level: wrong places take many, right ones are hardly better after more */
};

/* ---- a box ------------------------------------------------------------------------------------------------------- */

double pc_odometry_widest_voxel(const pcgpu_odometry *o) {
    return 2.0 * o->params.registration.voxel * (double)(1 << (pc_register_levels(&o->params.registration) - 1));
}

/* The middle of the box for a sensor at T: that of the last pose, unless it is more than a voxel away from there. */
static void choose_middle(const pcgpu_odometry *o, const double T[16], int64_t middle[3]) {
    const pc_odometry_map *map = o->map;
    const double wide = pc_odometry_widest_voxel(o);
    bool far = !map->placed;
    for (int k = 0; k < 3; k++) {
        const double at = (T[4 * k + 3] - map->offset[k]) / wide;
        far = far || fabs(at - (double)map->anchor[k]) > 1.5;
        middle[k] = (int64_t)floor((fabs(at) < 1e12 ? at : 0.0) + 0.5);
    }
    if (!far) {
        memcpy(middle, map->anchor, sizeof map->anchor);
    }
}

/* Makes the voxels around a sensor at T the target. */
static pcgpu_status cut_around(pcgpu_odometry *o, const double T[16]) {
    pc_odometry_map *map = o->map;
    const double wide = pc_odometry_widest_voxel(o);
    pc_ndt_merge m = {.scan = map->box};
    pc_ndt_measure measure = {.gyration = {1, 1, 1}};
    int64_t middle[3];
    choose_middle(o, T, middle);
    if (map->cut && map->alone == map->cut_alone && memcmp(middle, map->middle, sizeof middle) == 0) {
        return PCGPU_OK;
    }
    for (int k = 0; k < 3; k++) {
        const double move = (double)middle[k] - map->half - (double)map->first[k];
        m.move[k] = (int32_t)(fabs(move) < 1e9 ? move : 1e9);
        o->map_anchor[k] = map->offset[k] + (double)middle[k] * wide;
    }
    map->cut = false;
    memcpy(map->middle, middle, sizeof middle);
    PC_TRY(o->backend->ndt->sequence_cut(o->context, o->held.sequence, &m, &measure));
    o->held.measure = measure;
    PC_TRY(map->alone ? PCGPU_OK : pc_odometry_session_merge(o, map->session, 0, map->half * wide));
    map->cut = true;
    map->cut_alone = map->alone;
    return PCGPU_OK;
}

/* Radii of gyration of a scan about its sensor, the mean of those about x and y: the same however it is turned. */
static void measure_scan(const pc_odometry_scan *scan, double gyration[3]) {
    const pc_points *p = &scan->points;
    const int64_t every = (p->n + MEASURED_POINTS - 1) / MEASURED_POINTS;
    double level = 0.0, height = 0.0;
    int64_t n = 0;
    for (int64_t i = 0; every > 0 && i < p->n / every; i++, n++) {
        const int64_t at = pc_pick(i, every);
        const double x = (double)p->x[at] + scan->offset[0], y = (double)p->y[at] + scan->offset[1];
        const double z = (double)p->z[at] + scan->offset[2];
        level += x * x + y * y;
        height += z * z;
    }
    gyration[0] = gyration[1] = n && level > 0.0 ? sqrt((0.5 * level + height) / (double)n) : 1.0;
    gyration[2] = n && level > 0.0 ? sqrt(level / (double)n) : 1.0;
}

pcgpu_status pc_odometry_look_at_map(pc_register_work *w, double *share) {
    const pcgpu_odometry *o = w->look_state;
    const double *T = w->result->T_target_source, *offset = o->map->offset;
    float *xyz = malloc(3 * PC_SAMPLED_ASKED * sizeof *xyz);
    double inverse[16];
    pc_transform_invert(T, inverse);
    const int n = !xyz ? 0 : pc_places_near(o->map->places, T[3] - offset[0], T[7] - offset[1], xyz, PC_SAMPLED_ASKED);
    for (int i = 0; i < n; i++) {
        float *at = xyz + 3 * i;
        const double p[3] = {(double)at[0] + offset[0], (double)at[1] + offset[1], (double)at[2] + offset[2]};
        double q[3];
        pc_transform_apply(inverse, p, q);
        for (int k = 0; k < 3; k++) {
            at[k] = (float)q[k];
        }
    }
    const pcgpu_status status =
        xyz ? pc_view_free(w->context, &w->seen[0], xyz, n, w->params->voxel, share)
            : pc_fail_memory(w->context, 3 * PC_SAMPLED_ASKED * sizeof *xyz, "points of the map");
    free(xyz);
    return status;
}

static pcgpu_status align_to_map(pcgpu_odometry *o, pc_odometry_scan *scan, const double predicted[16],
                                 pcgpu_registration *result, double T[16]) {
    pcgpu_register_params params = o->params.registration;
    memcpy(params.init, predicted, sizeof params.init);
    params.min_score = fmin((o->map->alone ? MAP_SCORE : 1.0) * o->min_score, 1.0);
    params.max_iterations = o->map->screening && params.max_iterations > SCREENING ? SCREENING : params.max_iterations;
    PC_TRY(cut_around(o, predicted));
    measure_scan(scan, o->held.measure.gyration);
    PC_TRY(pc_odometry_align_by_ndt(o, &params, scan, NULL, result));
    memcpy(T, result->T_target_source, 16 * sizeof *T);
    return PCGPU_OK;
}

/* Registers to the map alone where it has most of the scan; elsewhere, and when that fails, also to what the session
 * has added. */
static pcgpu_status align_to_both(pcgpu_odometry *o, pc_odometry_scan *scan, const double predicted[16],
                                  pcgpu_registration *result, double T[16]) {
    pc_odometry_map *map = o->map;
    const pcgpu_run run = result->run;
    const bool none = o->searching || pc_odometry_session_points(map->session) == 0;
    map->alone = none || pc_odometry_session_is_in_map(map->session, scan, predicted);
    PC_TRY(align_to_map(o, scan, predicted, result, T));
    if (map->alone && !none && !result->converged) {
        map->alone = false;
        result->run = run;
        PC_TRY(align_to_map(o, scan, predicted, result, T));
    }
    return PCGPU_OK;
}

/* ---- the reference ----------------------------------------------------------------------------------------------- */

/* The box follows poses alone, not attempts that failed. */
static pcgpu_status follow(pcgpu_odometry *o, pc_odometry_scan *scan, bool first) {
    (void)first;
    choose_middle(o, scan->T, o->map->anchor);
    o->map->placed = true;
    return PCGPU_OK;
}

const pc_reference_kind pc_odometry_localization = {.align = align_to_map, .accept = follow, .only_ndt = true};

static pcgpu_status follow_and_join(pcgpu_odometry *o, pc_odometry_scan *scan, bool first) {
    pc_odometry_map *map = o->map;
    const int64_t before = pc_odometry_session_points(map->session);
    follow(o, scan, first);
    if (!o->joins) {
        return PCGPU_OK;
    }
    if (!pc_odometry_session_add(map->session, scan, o->params.model_range)) {
        return pc_fail_memory(o->context, (uint64_t)scan->points.n * 32, "the points of the session");
    }
    if (map->cut && !map->cut_alone) {
        map->cut = false; /* on errors it is cut again */
        PC_TRY(pc_odometry_session_merge(o, map->session, before, map->half * pc_odometry_widest_voxel(o)));
        map->cut = true;
    }
    return PCGPU_OK;
}

const pc_reference_kind pc_odometry_extension = {.align = align_to_both, .accept = follow_and_join, .only_ndt = true};

/* ---- anywhere in the map ----------------------------------------------------------------------------------------- */

/* Registers the present scan from a place, with few iterations; with all of them when the score is high enough. */
static pcgpu_status register_from(pcgpu_odometry *o, const pc_place *place, pcgpu_odometry_frame *f, double T[16]) {
    const pcgpu_run run = f->registration.run;
    /* A scan of an unknown motion cannot be deskewed, and never agrees well. */
    const bool blurred = o->params.deskew != PCGPU_DESKEW_NONE && o->track.good < 2;
    pc_attempt attempt = {.kept = -1, .score = blurred ? 1.0 : ANYWHERE_SCORE};
    memcpy(attempt.start, place->T, sizeof attempt.start);
    for (int k = 0; k < 3; k++) {
        attempt.start[4 * k + 3] += o->map->offset[k];
    }
    o->map->screening = true;
    pcgpu_status status = o->ops.align(o, &attempt, f, T);
    o->map->screening = false;
    if (status == PCGPU_OK && !f->registration.converged &&
        f->registration.score >= MAP_SCORE * o->params.registration.min_score) {
        memcpy(attempt.start, T, sizeof attempt.start);
        f->registration.run = run;
        status = o->ops.align(o, &attempt, f, T);
    }
    return status;
}

/* Registers the present scan from places, best first, until one is beyond doubt; else takes the result with the highest
 * score. */
static pcgpu_status register_at(pcgpu_odometry *o, const pc_place *places, int count, pcgpu_odometry_frame *f,
                                double T[16]) {
    const pcgpu_run run = f->registration.run;
    pcgpu_registration best = {0};
    for (int i = 0; i < count && !(best.converged && best.score >= CLEAR_SCORE); i++) {
        double found[16];
        f->registration.run = run;
        PC_TRY(register_from(o, &places[i], f, found));
        if (f->registration.converged && !(best.converged && best.score >= f->registration.score)) {
            best = f->registration;
            memcpy(T, found, sizeof found);
        }
    }
    f->registration = best.converged ? best : f->registration;
    return PCGPU_OK;
}

pcgpu_status pc_odometry_search_map(void *owner, pcgpu_odometry_frame *f, double T[16]) {
    pcgpu_odometry *o = owner;
    pc_odometry_scan *scan = o->present;
    const pcgpu_run run = f->registration.run;
    const double begin = pc_now();
    pc_place places[PC_PLACES];
    if (!o->map->searches) {
        return PCGPU_OK;
    }
    o->searched = pc_odometry_usual_motion(o);
    if (o->params.deskew != PCGPU_DESKEW_NONE) {
        PC_TRY(pc_odometry_deskew(o, &o->searched, scan));
    }
    const int count = pc_places_search(o->context, o->map->places, &scan->points, scan->offset, places);
    if (count < 0) {
        return pc_fail_memory(o->context, 1 << 20, "the search in the map");
    }
    o->searching = true;
    const pcgpu_status status = register_at(o, places, count, f, T);
    o->searching = false;
    if (count == 0) {
        f->registration.run = run;
        snprintf(f->registration.reason, sizeof f->registration.reason, "%s",
                 scan->points.n < PC_REGISTER_MIN_POINTS
                     ? "the scan has too few usable points"
                     : "the scan or the map shows too little that stands upright for a search; give --init");
    }
    pc_stage(&f->registration.run, "search", begin);
    return status;
}
