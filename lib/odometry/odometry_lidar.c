/* Odometry with a LiDAR. A scan is registered to a reference (odometry_reference.c); deskewing moves its points to
 * where a sensor at rest would have seen them (odometry_scan.c). */
#include "odometry_lidar.h"

#include <stdlib.h>
#include <string.h>

/* With deskewing, a scan is registered again when the motion found differs by more than this per sweep from the motion
 * used to deskew it, but once only. */
#define DESKEW_METRES  0.015
#define DESKEW_RADIANS 0.00075

/* Scans that are far apart see surfaces from different distances: their voxels are wider by this factor. */
#define KEPT_VOXELS 2.0

enum { DESKEW_ROUNDS = 2, SEARCHED_STARTS = 4 };

/* ---- motion ------------------------------------------------------------------------------------------------------ */

/* The motion from one pose to another, per sweep: sweeps follow each other. */
static pc_twist motion_between(const double from[16], const double to[16]) {
    double moved[16];
    pc_transform_between(from, to, moved);
    return pc_twist_of(moved);
}

/* The fraction of the motion since the last good scan that is in the sweep of the present one. */
static double sweep_fraction(const pcgpu_odometry *o, double time) {
    const pc_track *t = &o->track;
    const double since = time - o->last->time, sweeps = pc_track_periods(t, since);
    return pc_sweep_covered(o->present->spread, (t->elapsed + since) / (t->periods + sweeps)) / sweeps;
}

/* The motion of the present scan in its sweep. */
static pc_twist sweep_motion(const pcgpu_odometry *o, double time, const double T[16]) {
    if (!o->last) {
        return (pc_twist){0};
    }
    pc_twist motion = motion_between(o->last->T, T);
    const double share = sweep_fraction(o, time);
    for (int k = 0; k < 3; k++) {
        motion.rotation[k] *= share;
        motion.translation[k] *= share;
    }
    return motion;
}

pc_twist pc_odometry_usual_motion(const pcgpu_odometry *o) {
    double T[16];
    return pc_track_predict(&o->track, o->present->time, T) ? sweep_motion(o, o->present->time, T) : (pc_twist){0};
}

/* a + sign * b */
static pc_twist twist_plus(const pc_twist *a, double sign, const pc_twist *b) {
    pc_twist sum;
    for (int k = 0; k < 3; k++) {
        sum.rotation[k] = a->rotation[k] + sign * b->rotation[k];
        sum.translation[k] = a->translation[k] + sign * b->translation[k];
    }
    return sum;
}

/* By how much the motion of the present scan, which has the pose T, differs from the usual one. */
static pc_twist motion_change(const pcgpu_odometry *o, const double T[16]) {
    const pc_twist motion = sweep_motion(o, o->present->time, T), usual = pc_odometry_usual_motion(o);
    return o->track.good > 1 ? twist_plus(&motion, -1.0, &usual) : (pc_twist){0};
}

/* The motion to deskew a scan with before it is registered from `start`. At constant velocity a car that brakes or
 * turns would need another registration of nearly every scan, so its acceleration is taken to be constant. */
static pc_twist predicted_motion(const pcgpu_odometry *o, const double start[16]) {
    const pc_twist motion = sweep_motion(o, o->present->time, start);
    return twist_plus(&motion, 1.0, &o->change);
}

/* A transform between frames whose origins are the files', as one between frames whose origins are `sign` home, and
 * back with -1. */
static void move_origin(const pcgpu_odometry *o, double sign, const double T[16], double out[16]) {
    memmove(out, T, 16 * sizeof *out);
    for (int k = 0; k < 3; k++) {
        const double *row = T + 4 * k, *h = o->home;
        double turned = (row[0] * h[0] + row[1] * h[1]) + row[2] * h[2];
        out[4 * k + 3] = T[4 * k + 3] + sign * (turned - h[k]);
    }
}

/* ---- a scan ------------------------------------------------------------------------------------------------------ */

static bool deskews(const pcgpu_odometry *o) {
    return o->params.deskew != PCGPU_DESKEW_NONE;
}

static pc_odometry_scan *unused_scan(pcgpu_odometry *o) {
    for (int i = 0; i < PC_SCANS; i++) {
        if (&o->scans[i] != o->last && &o->scans[i] != o->keyframe) {
            return &o->scans[i];
        }
    }
    return NULL; /* there are three */
}

pcgpu_status pc_odometry_choose(pcgpu_odometry *o, double points) {
    const pc_backend *chosen = NULL;
    o->backend = NULL;
    PC_TRY(pc_register_choose(o->context, &o->params.registration, points, 1, &o->run, &chosen));
    PC_TRY(chosen->ndt->sequence_open(o->context, &o->held.sequence));
    o->backend = chosen;
    return PCGPU_OK;
}

/* The first scan can be deskewed only once the motion to the second good scan is known: the world begins with it once
 * more. */
static pcgpu_status restart_with(pcgpu_odometry *o, const pc_twist *motion) {
    o->first_motion_now = *motion;
    o->restart_pending = true;
    PC_TRY(pc_odometry_deskew(o, motion, o->last));
    return o->kind->accept(o, o->last, true);
}

static pcgpu_status take(void *owner, const void *data, double time, pcgpu_run *run) {
    pcgpu_odometry *o = owner;
    const pcgpu_cloud *cloud = data;
    if (o->restart_pending) {
        PC_TRY(restart_with(o, &o->first_motion));
    }
    if (!o->backend) {
        PC_TRY(pc_odometry_choose(o, 2.0 * (double)cloud->rows));
    }
    *run = o->run;
    double begin = pc_now();
    o->present->time = time;
    PC_TRY(pc_odometry_take(o, cloud, o->present, run));
    o->select_seconds = pc_now() - begin;
    return PCGPU_OK;
}

static int64_t count(void *owner, pcgpu_run *run) {
    const pcgpu_odometry *o = owner;
    pc_stage(run, "select", pc_now() - o->select_seconds);
    return o->present->points.n;
}

static pcgpu_status restart_world(pcgpu_odometry *o, const double T[16]) {
    const pc_twist motion = sweep_motion(o, o->present->time, T);
    return restart_with(o, &motion);
}

static void to_caller(const void *owner, const double T[16], double T_world_frame[16]) {
    move_origin(owner, -1.0, T, T_world_frame);
}

static void from_caller(const void *owner, const double T_world_frame[16], double T[16]) {
    move_origin(owner, 1.0, T_world_frame, T);
}

/* A local map takes every scan, a map those whose motion is known where they have to be deskewed, or none. */
static bool joins_map(const pcgpu_odometry *o) {
    return !o->map || (o->extends && (!deskews(o) || (o->last && o->track.lost == 0)));
}

static bool joins(const void *owner, const double T_world_frame[16], double fitness) {
    const pcgpu_odometry *o = owner;
    double T[16];
    move_origin(o, 1.0, T_world_frame, T);
    if (!o->keyframe) {
        return joins_map(o);
    }
    return o->params.reference == PCGPU_REFERENCE_PREVIOUS || fitness < o->params.keyframe_fitness ||
           pc_moved_beyond(o->keyframe->T, T, o->params.keyframe_distance, o->params.keyframe_angle);
}

static pcgpu_status accept(void *owner, const double T_world_frame[16], bool joins, double T[16]) {
    pcgpu_odometry *o = owner;
    pc_odometry_scan *scan = o->present;
    o->joins = joins;
    const bool in_reference = joins || o->params.reference != PCGPU_REFERENCE_KEYFRAME;
    move_origin(o, 1.0, T_world_frame, scan->T);
    const pc_twist change = motion_change(o, scan->T);
    if (deskews(o) && joins_map(o)) { /* no later scan looks at the points of others */
        const pc_twist motion = o->last ? sweep_motion(o, scan->time, scan->T) : (pc_twist){0};
        PC_TRY(pc_odometry_deskew(o, o->last ? &motion : NULL, scan));
        if (o->track.good == 1 && !o->map) {
            PC_TRY(restart_world(o, scan->T));
        }
    }
    if (!o->last || in_reference) {
        PC_TRY(o->kind->accept(o, scan, !o->last));
    }
    memcpy(T, scan->T, sizeof scan->T);
    o->fraction = o->last ? sweep_fraction(o, scan->time) : 0.0;
    o->change = change;
    o->last = scan;
    o->present = unused_scan(o);
    return PCGPU_OK;
}

static void keep(void *owner, int slot) {
    pcgpu_odometry *o = owner;
    pc_odometry_keep(o->last, &o->kept[slot]);
}

/* Whether two motions per sweep are so close that deskewing again changes nothing. */
static bool nearly_same(const pc_twist *a, const pc_twist *b) {
    const pc_twist difference = twist_plus(a, -1.0, b);
    return pc_norm3(difference.translation) <= DESKEW_METRES && pc_norm3(difference.rotation) <= DESKEW_RADIANS;
}

/* In a map, the first scan got its pose without deskewing: a better one gives a better motion to the second. */
static pcgpu_status register_first_again(pcgpu_odometry *o, const pc_twist *motion) {
    pcgpu_registration unused = {.run = o->run};
    double T[16];
    PC_TRY(pc_odometry_deskew(o, motion, o->last));
    PC_TRY(o->kind->align(o, o->last, o->last->T, &unused, T));
    if (unused.converged) {
        memcpy(o->last->T, T, sizeof T);
    }
    return PCGPU_OK;
}

/* Registers from one start. With deskewing it repeats once unless the motion found is the one used to deskew, also when
 * a badly deskewed scan has not converged. */
static pcgpu_status align_in_rounds(pcgpu_odometry *o, const double start[16], pcgpu_odometry_frame *f, double T[16]) {
    double from[16];
    const pcgpu_run run = f->registration.run;
    memcpy(from, start, sizeof from);
    for (int round = 0; round < DESKEW_ROUNDS; round++) {
        const pc_twist used = o->searching ? o->searched
                              : round == 0 ? predicted_motion(o, from)
                                           : sweep_motion(o, o->present->time, from);
        if (deskews(o)) {
            PC_TRY(pc_odometry_deskew(o, &used, o->present));
        }
        f->registration.run = run;
        PC_TRY(o->kind->align(o, o->present, from, &f->registration, T));
        f->attempts++;
        if (!deskews(o) || o->searching) {
            break;
        }
        const pc_twist found = sweep_motion(o, o->present->time, T);
        if (nearly_same(&used, &found)) {
            break;
        }
        if (o->track.good == 1 && f->registration.converged) {
            PC_TRY(o->map ? register_first_again(o, &found) : restart_world(o, T));
        }
        memcpy(from, T, sizeof from);
    }
    return PCGPU_OK;
}

static pcgpu_status align(pcgpu_odometry *o, const double start[16], pcgpu_odometry_frame *f, double T[16]) {
    double first[16];
    memcpy(first, o->last ? o->last->T : start, sizeof first);
    const pcgpu_status status = align_in_rounds(o, start, f, T);
    if (o->last) { /* its pose is known to others */
        memcpy(o->last->T, first, sizeof first);
    }
    return status;
}

/* Registers from the best poses of a coarse search; `init` is not used. */
static pcgpu_status search(pcgpu_odometry *o, pcgpu_register_params *params, const pcgpu_cloud *source,
                           const pcgpu_cloud *target, pcgpu_registration *result) {
    pc_start starts[PC_STARTS];
    int found = 0;
    PC_TRY(pc_search_starts(o->context, params, 180.0, source, target, starts, &found));
    result->converged = false;
    for (int i = 0; i < found && i < SEARCHED_STARTS && !result->converged; i++) {
        memcpy(params->init, starts[i].T, sizeof params->init);
        PC_TRY(pc_register_pair(o->context, o->backend, &o->run, params, source, target, result));
    }
    return PCGPU_OK;
}

/* Registers to a kept scan, wherever the present one may be. */
static pcgpu_status align_to_kept(pcgpu_odometry *o, const pc_attempt *attempt, pcgpu_odometry_frame *f, double T[16]) {
    pcgpu_register_params params = o->params.registration;
    const pcgpu_run run = f->registration.run;
    const pcgpu_cloud target = pc_odometry_kept_cloud(&o->kept[attempt->kept]);
    const double *pose = o->track.poses[attempt->kept];
    pcgpu_cloud source;
    params.search = PCGPU_SEARCH_NEVER;
    params.voxel *= KEPT_VOXELS;
    params.drop_origin = false; /* such points are gone already */
    params.min_range = params.beam_correction = 0.0;
    params.min_score = fmin(attempt->score * params.min_score, 1.0);
    PC_TRY(pc_odometry_as_cloud(o, 0, o->present, &source));
    PC_TRY(search(o, &params, &source, &target, &f->registration));
    pc_odometry_keep_counts(&run, &f->registration.run);
    pc_transform_multiply(pose, f->registration.T_target_source, T);
    f->attempts++;
    return PCGPU_OK;
}

static pcgpu_status align_attempt(void *owner, const pc_attempt *attempt, pcgpu_odometry_frame *f, double T[16]) {
    pcgpu_odometry *o = owner;
    o->min_score = fmin(attempt->score * o->params.registration.min_score, 1.0);
    o->max_iterations = o->params.registration.max_iterations;
    if (attempt->rounds > 0 && attempt->rounds < o->max_iterations) {
        o->max_iterations = attempt->rounds;
    }
    o->near = attempt->near;
    PC_TRY(attempt->kept >= 0 ? align_to_kept(o, attempt, f, T) : align(o, attempt->start, f, T));
    move_origin(o, -1.0, f->registration.T_target_source, f->registration.T_target_source);
    return PCGPU_OK;
}

static bool take_nearer(void *owner) {
    pcgpu_odometry *o = owner;
    const bool other = o->keyframe && o->keyframe != o->last;
    if (other) {
        pc_odometry_make_keyframe(o, o->last);
    }
    return other;
}

/* Undoes the changes of a scan that failed: the keyframe now, the deskewing of the first scan with the next scan. */
static void end_scan(void *owner, pcgpu_status status) {
    pcgpu_odometry *o = owner;
    if (status == PCGPU_OK) {
        o->first_motion = o->first_motion_now;
        o->restart_pending = false;
        o->keyframe_before = o->keyframe;
    } else if (o->keyframe != o->keyframe_before) {
        o->keyframe = o->keyframe_before;
        o->held.held = false;
    }
}

/* A lost scan costs two registrations or, with a keyframe, four, and for each kept scan a search and four more. */
const pc_track_ops pc_lidar_ops = {.frame = "a scan",
                                   .points = "usable points",
                                   .tries = 2,
                                   .take = take,
                                   .count = count,
                                   .align = align_attempt,
                                   .nearer = take_nearer,
                                   .to_caller = to_caller,
                                   .from_caller = from_caller,
                                   .joins = joins,
                                   .accept = accept,
                                   .keep = keep,
                                   .end = end_scan};

pcgpu_status pcgpu_odometry_guess(pcgpu_odometry *o, const double *times, const double *poses, int64_t count) {
    pc_clear_error(o->context);
    return pc_motion_set(o->context, &o->track.motion, times, poses, count);
}

pcgpu_status pcgpu_odometry_add(pcgpu_odometry *o, const pcgpu_cloud *cloud, double time, pcgpu_odometry_frame *f) {
    pcgpu_status status = pc_track_add(&o->track, cloud, time, f);
    return pc_odometry_begins_on_cpu(o, &status) ? pc_track_add(&o->track, cloud, time, f) : status;
}

double pcgpu_odometry_sweep(const pcgpu_odometry *o) {
    return o->fraction;
}

pcgpu_status pcgpu_odometry_points(pcgpu_odometry *o, const pcgpu_cloud **points) {
    pcgpu_cloud *cloud = &o->points;
    pc_clear_error(o->context);
    *points = cloud;
    if (!o->last) {
        return pc_fail(o->context, PCGPU_ERROR_ARGUMENT, "no scan has a pose yet; add scans first");
    }
    PC_TRY(pc_odometry_as_cloud(o, 0, o->last, cloud));
    for (int k = 0; k < 3; k++) {
        cloud->offset[k] += o->home[k];
        cloud->names[k][0] = "xyz"[k];
    }
    return PCGPU_OK;
}
