/* Odometry: localization, the poses of scans in an existing map.
 *
 * The moments of the map's points in NDT voxels are made once and stay with the back end. A scan is registered to the
 * voxels of a box around the sensor, as to a local map; the box is cut again when the sensor has come a widest voxel
 * from its middle. Boxes lie on a grid, and a box has its voxels in the order of the map's points, so that they do not
 * depend on the path of the sensor. Scans never join the map: what has changed in the world weighs little by the robust
 * kernel, and leaves no trace. A scan that the motion does not find is searched in the whole map
 * (odometry_places.c). */
#include "odometry_lidar.h"
#include "odometry_places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Scans and maps are in float32 units of a finest voxel; these are exact up to here. */
#define MOST_VOXELS 16384.0

/* A map is complete, unlike the scan before: in the wrong place of one, scores are up to 0.45. */
#define MAP_SCORE 1.3
/* A result of a search has to be so much better, since a wrong pose is worse than none. */
#define ANYWHERE_SCORE 1.3
#define CLEAR_SCORE    0.8

#define VOXEL_VOXELS 4.0 /* of the search */

#define WIDER      4.0 /* than the voxel that fits the spacing of the map's points, */
#define WIDE_VOXEL 0.5 /* up to so many metres */

enum {
    MEASURED_POINTS = 4096, /* of a scan, for its radii of gyration */
    SCREENING = 5,          /* iterations of a level: wrong places take many, right ones are hardly better after more */
};

/* A map. Its coordinates have their origin at `offset`, those of its boxes at their middles. */
struct pc_odometry_map {
    double offset[3];
    pc_ndt_target box; /* a box, but for its points */
    double half;       /* of its edge, in widest voxels */
    int64_t first[3];  /* where the box of all voxels begins, in widest voxels */
    bool placed;       /* `anchor` is known */
    int64_t anchor[3]; /* the middle of the box that belongs to the last pose, in widest voxels */
    bool cut;
    int64_t middle[3]; /* that of the box that was cut last */
    bool screening;    /* the present registration is a short one, which shows whether the place is possible */
    bool searches;     /* scans that their motion does not find */
    pc_places *places;
};

/* ---- a box ------------------------------------------------------------------------------------------------------- */

static double widest_voxel(const pcgpu_odometry *o) {
    return 2.0 * o->params.registration.voxel * (double)(1 << (pc_register_levels(&o->params.registration) - 1));
}

/* The middle of the box for a sensor at T: that of the last pose, unless it is more than a voxel away from there. */
static void choose_middle(const pcgpu_odometry *o, const double T[16], int64_t middle[3]) {
    const pc_odometry_map *map = o->map;
    const double wide = widest_voxel(o);
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
    const double wide = widest_voxel(o);
    pc_ndt_merge m = {.scan = map->box};
    pc_ndt_measure measure = {.gyration = {1, 1, 1}};
    int64_t middle[3];
    choose_middle(o, T, middle);
    if (map->cut && memcmp(middle, map->middle, sizeof middle) == 0) {
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
    map->cut = true;
    o->held.measure = measure;
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

static pcgpu_status look_at_map(pc_register_work *w, double *share) {
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
    params.min_score = fmin(MAP_SCORE * o->min_score, 1.0);
    params.max_iterations = o->map->screening && params.max_iterations > SCREENING ? SCREENING : params.max_iterations;
    PC_TRY(cut_around(o, predicted));
    measure_scan(scan, o->held.measure.gyration);
    PC_TRY(pc_odometry_align_by_ndt(o, &params, scan, NULL, result));
    memcpy(T, result->T_target_source, 16 * sizeof *T);
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

static const pc_reference_kind localization = {.align = align_to_map, .accept = follow, .only_ndt = true};

static void keep_nothing(void *owner, int slot) {
    (void)owner;
    (void)slot;
}

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

/* Searches the present scan in the whole map. */
static pcgpu_status search(void *owner, pcgpu_odometry_frame *f, double T[16]) {
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

/* ---- loading ----------------------------------------------------------------------------------------------------- */

/* The box of all voxels, in whole widest voxels; its faces are those of all boxes. */
static pcgpu_status lay_world(pcgpu_odometry *o, const pc_points *points, pc_ndt_frame *frame) {
    const double edge = 2.0 * o->params.registration.voxel, wide = widest_voxel(o);
    *frame = o->held.frame;
    for (int k = 0; k < 3; k++) {
        const double low = (double)points->box[k][0], high = (double)points->box[k][1];
        const double first = floor((low - edge) / wide), voxels = ceil((high + edge) / wide) + 1.0 - first;
        if (!(voxels * wide / edge <= MOST_VOXELS)) {
            return pc_fail(o->context, PCGPU_ERROR_ARGUMENT,
                           "the map spans %.4g m, more than %.0f voxels of %.3g m; crop it, or use a larger voxel",
                           high - low, MOST_VOXELS, edge);
        }
        o->map->first[k] = (int64_t)first;
        frame->origin[k] += (first + o->map->half) * wide;
        frame->limit[k] = (float)(voxels * wide / edge * (double)(1 << PC_NDT_BITS));
    }
    return PCGPU_OK;
}

/* Makes the voxels of all points, and keeps them. */
static pcgpu_status make_voxels(pcgpu_odometry *o, pc_odometry_scan *scan) {
    static const pc_pose identity = {.q = {1, 0, 0, 0}};
    pc_register_work w = {.params = &o->params.registration, .levels = pc_register_levels(&o->params.registration)};
    pc_ndt_work c = {.w = &w, .target = scan->points, .sigma = pc_ndt_sigma_of(&w)};
    pc_ndt_merge m = {.forget = true, .renew = true, .most = INT64_MAX >> 2 * PC_NDT_MAX_LEVELS};
    pc_ndt_measure unused = {0};
    PC_TRY(lay_world(o, &scan->points, &c.frame));
    pc_ndt_describe_target(&c, &identity, &m.scan);
    PC_TRY(pc_odometry_send(o, scan));
    PC_TRY(o->backend->ndt->sequence_merge(o->context, o->held.sequence, scan->points.scan, &m, &unused));
    PC_TRY(o->backend->ndt->sequence_keep(o->context, o->held.sequence));
    c.frame = o->held.frame;
    c.target.n = 0;
    pc_ndt_describe_target(&c, &identity, &o->map->box);
    return PCGPU_OK;
}

static pcgpu_status load(pcgpu_odometry *o, const pcgpu_cloud *cloud) {
    pc_odometry_scan *scan = &o->scans[PC_SCANS - 1]; /* whose memory is free before the first scan */
    PC_TRY(pc_odometry_choose(o, 2.0 * (double)cloud->rows));
    PC_TRY(pc_odometry_take_memory(o, scan, cloud->rows));
    memcpy(o->map->offset, cloud->offset, sizeof o->map->offset);
    pcgpu_run unused = {0};
    pc_points_select_into(o->context, cloud, o->params.registration.drop_origin, scan->xyz, &scan->points, &unused);
    pc_points_center(&scan->points, o->map->offset);
    scan->points.scan = PC_SCANS - 1;
    if (scan->points.n < PC_REGISTER_MIN_POINTS) {
        return pc_fail(o->context, PCGPU_ERROR_ARGUMENT, "the map has %lld usable points; at least %d are needed",
                       (long long)scan->points.n, PC_REGISTER_MIN_POINTS);
    }
    o->map->half = pc_odometry_lay_box(o);
    o->map->places = pc_places_make(&scan->points, VOXEL_VOXELS * o->params.registration.voxel);
    if (!o->map->places) {
        return pc_fail_memory(o->context, (uint64_t)scan->points.n * 8, "the search in the map");
    }
    o->held.held = true;
    o->held.points = INT32_MAX; /* no need to count them */
    return make_voxels(o, scan);
}

/* The voxel that AUTO takes from the spacing of the map has few points of a scan, and a map that is a point per voxel
 * says nothing about the scans: wider voxels up to some size are as accurate in maps of streets, and three times as
 * fast. */
static pcgpu_status settle_voxel(pcgpu_odometry *o) {
    const double voxel = o->params.registration.voxel;
    if (o->given.registration.voxel != PCGPU_AUTO) {
        return PCGPU_OK;
    }
    o->given.registration.voxel = fmax(voxel, fmin(WIDER * voxel, WIDE_VOXEL));
    return pc_register_settle(o->context, &o->given.registration, NULL, &o->params.registration);
}

static void free_map(pc_odometry_map *map) {
    pc_places_free(map->places);
    free(map);
}

/* Makes the map the reference of an odometry. */
static pcgpu_status enter_map(pcgpu_odometry *o, const pcgpu_cloud *map, pcgpu_search search_mode) {
    pcgpu_context *context = o->context;
    if (o->params.reference != PCGPU_REFERENCE_MODEL) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "a map is a reference of its own; leave `reference` as it is");
    }
    if (map->rows > INT32_MAX || map->columns < 3) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "a map of %lld points with %d columns; give x, y, z and up to 2^31 points", (long long)map->rows,
                       map->columns);
    }
    PC_TRY(pc_register_settle(context, &o->given.registration, map, &o->params.registration));
    PC_TRY(settle_voxel(o));
    o->given.registration = o->params.registration;
    o->params.model_range = fmin(o->given.model_range, pc_odometry_widest_local_map(&o->params));
    o->map = calloc(1, sizeof *o->map);
    if (!o->map) {
        return pc_fail_memory(context, sizeof *o->map, "the map");
    }
    o->free_map = free_map;
    o->look_at_map = look_at_map;
    o->kind = &localization;
    o->map->searches = search_mode != PCGPU_SEARCH_NEVER;
    o->ops.known = true;
    o->ops.anywhere = search_mode == PCGPU_SEARCH_ALWAYS;
    o->ops.search = search;
    o->ops.tries = 0;
    o->ops.keep = keep_nothing;
    pcgpu_status status;
    do {
        status = load(o, map);
    } while (pc_odometry_begins_on_cpu(o, &status) && status == PCGPU_OK);
    return status;
}

pcgpu_status pcgpu_odometry_open_map(pcgpu_context *context, const pcgpu_odometry_params *params,
                                     const pcgpu_cloud *map, pcgpu_odometry **odometry) {
    PC_TRY(pcgpu_odometry_open(context, params, odometry));
    const pcgpu_status status = enter_map(*odometry, map, params->registration.search);
    if (status != PCGPU_OK) {
        pcgpu_odometry_close(*odometry);
        *odometry = NULL;
    }
    return status;
}
