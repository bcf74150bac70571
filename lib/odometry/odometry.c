/* Odometry: from scan to pose. A scan is taken, its pose predicted from the motion before, and registered to a
 * reference (odometry_reference.c), which it then becomes or joins. All that a scan leaves behind follows from its
 * points, its time and its pose, so that a trajectory that is known can be gone through again without registering
 * anything. */
#include "odometry.h"

#include <stdlib.h>
#include <string.h>

/* With deskewing, a scan is registered again when the motion that was found is farther than this from the one that its
 * points were moved by, in a sweep. */
#define DESKEW_METRES  0.01
#define DESKEW_RADIANS 0.001

/* Scans that are far apart see each other's surfaces from another distance: their voxels are so much wider. */
#define KEPT_VOXELS 2.0

enum { DESKEW_ROUNDS = 5, SEARCHED_STARTS = 4 };

/* ---- motion -------------------------------------------------------------------------------------------------- */

/* The motion from one pose to another as what a scan's duration would make of it: sweeps follow each other. */
static pc_twist motion_between(const double from[16], const double to[16]) {
    double inverse[16], moved[16];
    pc_transform_invert(from, inverse);
    pc_transform_multiply(inverse, to, moved);
    return pc_twist_of(moved);
}

/* The sweep of a scan lasts as long as it is from scan to scan, and its motion is that since the last good one. */
static pc_twist sweep_motion(const pcgpu_odometry *o, double time, const double T[16]) {
    double sweep = o->track.good > 1 ? o->last->time - o->track.time_before : time - o->last->time, since = time - o->last->time;
    pc_twist motion = motion_between(o->last->T, T);
    double share = sweep < since ? sweep / since : 1.0;
    for (int k = 0; k < 3; k++) {
        motion.turn[k] *= share;
        motion.way[k] *= share;
    }
    return motion;
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

/* ---- a scan -------------------------------------------------------------------------------------------------- */

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

/* The back end for all scans, from the points of a registration. */
static pcgpu_status choose(pcgpu_odometry *o, double points) {
    const pc_backend *chosen = NULL;
    pcgpu_status status = pc_register_choose(o->context, &o->params.registration, points, 1, &o->run, &chosen);
    if (status == PCGPU_OK && chosen->ndt->scans_open && o->params.registration.method == PCGPU_REGISTER_NDT) {
        status = chosen->ndt->scans_open(o->context, &o->held.device);
    }
    o->backend = status == PCGPU_OK ? chosen : NULL;
    return status;
}

static pcgpu_status take(pcgpu_odometry *o, const pcgpu_cloud *cloud, double time, pcgpu_run *run) {
    pcgpu_status status = PCGPU_OK;
    if (!pc_track_accepts_time(&o->track, time)) {
        return pc_fail(o->context, PCGPU_ERROR_ARGUMENT, "a scan at %.17g s after one at %.17g s; times must rise",
                       time, o->track.newest);
    }
    if (!o->backend) {
        status = choose(o, 2.0 * (double)cloud->rows);
    }
    *run = o->run;
    double begin = pc_now();
    if (status == PCGPU_OK) {
        status = pc_odometry_take(o, cloud, o->present, run);
    }
    o->present->time = time;
    o->select_seconds = pc_now() - begin;
    return status;
}

/* Only the motion to the second good scan tells how the first is to be deskewed: the world begins with it once more. */
static pcgpu_status begin_with(pcgpu_odometry *o, const pc_twist *motion) {
    o->begun_now = *motion;
    o->begins_again = true;
    pcgpu_status status = pc_odometry_deskew(o, motion, o->last);
    return status == PCGPU_OK ? o->kind->begin(o, o->last) : status;
}

static pcgpu_status begin_anew(pcgpu_odometry *o, const double T[16]) {
    const pc_twist motion = sweep_motion(o, o->present->time, T);
    return begin_with(o, &motion);
}

/* The present scan has a pose: it becomes the last one. The pose is that of the trajectory, and all that is kept
 * follows from it as it is written there, so that a later run can go on from it. *joins: the scan joins the reference;
 * `known`: whether it does was found earlier. */
static pcgpu_status accept(pcgpu_odometry *o, const double T_world_frame[16], double fitness, bool known, bool *joins) {
    pc_odometry_scan *scan = o->present;
    pcgpu_status status = PCGPU_OK;
    move_origin(o, 1.0, T_world_frame, scan->T);
    if (deskews(o)) {
        const pc_twist motion = o->last ? sweep_motion(o, scan->time, scan->T) : (pc_twist){0};
        status = pc_odometry_deskew(o, o->last ? &motion : NULL, scan);
    }
    if (status == PCGPU_OK && deskews(o) && o->track.good == 1) {
        status = begin_anew(o, scan->T);
    }
    if (!known) {
        *joins = !o->last || !o->kind->joins || o->kind->joins(o, scan, fitness);
    }
    if (status == PCGPU_OK && !o->last) {
        status = o->kind->begin(o, scan);
    } else if (status == PCGPU_OK && (*joins || !o->kind->joins)) {
        status = o->kind->accept(o, scan);
    }
    if (status == PCGPU_OK) {
        const int slot = pc_track_keep(&o->track, scan->T, o->params.keyframe_distance, o->params.keyframe_angle);
        if (slot >= 0) {
            pc_odometry_keep(scan, &o->kept[slot]);
        }
        pc_track_found(&o->track, scan->T, scan->time);
        o->last = scan;
        o->present = unused_scan(o);
    }
    return status;
}

/* Whether two motions in a sweep are so near that moving the points again is of no use. */
static bool nearly_same(const pc_twist *a, const pc_twist *b) {
    double way[3], turn[3];
    for (int k = 0; k < 3; k++) {
        way[k] = a->way[k] - b->way[k];
        turn[k] = a->turn[k] - b->turn[k];
    }
    return pc_norm3(way) <= DESKEW_METRES && pc_norm3(turn) <= DESKEW_RADIANS;
}

/* Registers from one start; with deskewing until the motion is the one that the points were moved by, also where a scan
 * that is bent too much has not converged yet. */
static pcgpu_status align(pcgpu_odometry *o, const double start[16], pcgpu_odometry_frame *f, double T[16]) {
    double from[16];
    const pcgpu_run run = f->registration.run;
    pcgpu_status status = PCGPU_OK;
    memcpy(from, start, sizeof from);
    for (int round = 0; round < DESKEW_ROUNDS && status == PCGPU_OK; round++) {
        const pc_twist used = sweep_motion(o, o->present->time, from);
        if (deskews(o)) {
            status = pc_odometry_deskew(o, &used, o->present);
        }
        f->registration.run = run;
        if (status == PCGPU_OK) {
            status = o->kind->align(o, o->present, from, &f->registration, T);
        }
        f->attempts++;
        if (status != PCGPU_OK || !deskews(o)) {
            break;
        }
        const pc_twist found = sweep_motion(o, o->present->time, T);
        if (nearly_same(&used, &found)) {
            break;
        }
        if (o->track.good == 1 && f->registration.converged) {
            status = begin_anew(o, T);
        }
        memcpy(from, T, sizeof from);
    }
    return status;
}

/* Registers from the best poses that a coarse search finds: `init` matters to none of them. */
static pcgpu_status search(pcgpu_odometry *o, pcgpu_register_params *params, const pcgpu_cloud *source,
                           const pcgpu_cloud *target, pcgpu_registration *result) {
    pc_start starts[PC_STARTS];
    int found = 0;
    pcgpu_status status = pc_search_starts(o->context, params, 180.0, source, target, starts, &found);
    result->converged = false;
    for (int i = 0; i < found && i < SEARCHED_STARTS && status == PCGPU_OK && !result->converged; i++) {
        memcpy(params->init, starts[i].T, sizeof params->init);
        status = pc_register_pair(o->context, o->backend, &o->run, params, source, target, result);
    }
    return status;
}

/* Registers to a kept scan, wherever the present one may be. The cells that the CPU keeps are not touched. */
static pcgpu_status align_to_kept(pcgpu_odometry *o, const pc_attempt *attempt, pcgpu_odometry_frame *f,
                                  double T[16]) {
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
    pcgpu_status status = pc_odometry_as_cloud(o, 0, o->present, &source);
    if (status == PCGPU_OK) {
        pc_odometry_exchange_cells(o);
        status = search(o, &params, &source, &target, &f->registration);
        pc_odometry_exchange_cells(o);
    }
    f->registration.run.points_in = run.points_in;
    f->registration.run.non_finite = run.non_finite;
    f->registration.run.at_origin = run.at_origin;
    pc_transform_multiply(pose, f->registration.T_target_source, T);
    f->attempts++;
    return status;
}

static pcgpu_status align_attempt(void *owner, const pc_attempt *attempt, pcgpu_odometry_frame *f, double T[16]) {
    pcgpu_odometry *o = owner;
    if (attempt->kept >= 0) {
        return align_to_kept(o, attempt, f, T);
    }
    o->min_score = fmin(attempt->score * o->params.registration.min_score, 1.0);
    return align(o, attempt->start, f, T);
}

static bool take_nearer(void *owner) {
    pcgpu_odometry *o = owner;
    return o->kind->nearer && o->kind->nearer(o);
}

/* A lost scan costs two registrations or, with a keyframe, four, and for each kept scan a search and four more. */
static const pc_track_ops scan_ops = {.align = align_attempt, .nearer = take_nearer, .tries = 2};

/* The first good scan: nothing to register it to. */
static pcgpu_status add_first(pcgpu_odometry *o, pcgpu_odometry_frame *f) {
    pc_stage(&f->registration.run, "select", pc_now() - o->select_seconds);
    const bool enough = o->present->points.n >= PC_REGISTER_MIN_POINTS;
    if (!enough) {
        snprintf(f->registration.reason, sizeof f->registration.reason,
                 "it has %lld usable points; at least %d are needed", (long long)o->present->points.n,
                 PC_REGISTER_MIN_POINTS);
        return PCGPU_OK;
    }
    memcpy(f->T_world_frame, o->params.registration.init, sizeof f->T_world_frame);
    pcgpu_status status = accept(o, f->T_world_frame, 1.0, false, &f->keyframe);
    f->good = status == PCGPU_OK;
    return status;
}

static pcgpu_status add_next(pcgpu_odometry *o, pcgpu_odometry_frame *f) {
    double T[16];
    pcgpu_status status = pc_track_find(&o->track, &scan_ops, o, o->present->time, f, T);
    if (status != PCGPU_OK || !f->registration.converged) {
        return status;
    }
    const bool relocalized = o->track.lost > 0;
    double begin = pc_now();
    move_origin(o, -1.0, T, f->T_world_frame);
    status = accept(o, f->T_world_frame, f->registration.fitness, false, &f->keyframe);
    pc_stage(&f->registration.run, "reference", begin);
    f->good = status == PCGPU_OK;
    f->relocalized = f->good && relocalized;
    return status;
}

/* What a scan that fails has changed is as it was before: the keyframe, and with the next scan, how the world begins. */
static pcgpu_status begin_scan(pcgpu_odometry *o, pc_odometry_scan **keyframe) {
    const pc_twist begun = o->begun;
    pc_clear_error(o->context);
    pc_odometry_exchange_cells(o);
    *keyframe = o->keyframe;
    return o->begins_again ? begin_with(o, &begun) : PCGPU_OK;
}

static void end_scan(pcgpu_odometry *o, pc_odometry_scan *keyframe, pcgpu_status status) {
    pc_odometry_exchange_cells(o);
    if (status == PCGPU_OK) {
        o->begun = o->begun_now;
        o->begins_again = false;
    } else if (o->keyframe != keyframe) {
        o->keyframe = keyframe;
        o->held.held = false;
    }
}

pcgpu_status pcgpu_odometry_add(pcgpu_odometry *o, const pcgpu_cloud *cloud, double time, pcgpu_odometry_frame *f) {
    pc_odometry_scan *keyframe;
    *f = (pcgpu_odometry_frame){0};
    pcgpu_status status = begin_scan(o, &keyframe);
    do {
        status = status == PCGPU_OK ? take(o, cloud, time, &f->registration.run) : status;
        if (status == PCGPU_OK) {
            status = o->last ? add_next(o, f) : add_first(o, f);
        }
    } while (pc_odometry_begins_on_cpu(o, &status));
    end_scan(o, keyframe, status);
    if (status != PCGPU_OK) {
        *f = (pcgpu_odometry_frame){0};
        return status;
    }
    if (f->attempts > 0) {
        move_origin(o, -1.0, f->registration.T_target_source, f->registration.T_target_source);
    }
    if (!f->good) {
        pc_track_lost(&o->track, time, f->T_world_frame);
    }
    f->reference_time = o->keyframe ? o->keyframe->time : o->last ? o->last->time : NAN;
    return status;
}

pcgpu_status pcgpu_odometry_add_known(pcgpu_odometry *o, const pcgpu_cloud *cloud, double time, const double T[16],
                                      bool keyframe) {
    pcgpu_run run;
    pc_odometry_scan *before;
    pcgpu_status status = pc_register_check_pose(o->context, "the pose", T);
    if (status != PCGPU_OK) {
        return status;
    }
    status = begin_scan(o, &before);
    status = status == PCGPU_OK ? take(o, cloud, time, &run) : status;
    if (status == PCGPU_OK) {
        status = accept(o, T, 1.0, true, &keyframe);
    }
    end_scan(o, before, status);
    return status;
}
