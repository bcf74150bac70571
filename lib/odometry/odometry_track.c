/* Odometry: the state machine that scans and depth images share, from frame to pose.
 *
 * A frame is taken and found from the motion: registered to the reference from the predicted and from the last pose.
 * One that is not is tried against frames that were kept with their poses, a bounded number of them, before it is
 * called lost; a pose that one of these gives is registered to the reference once more. A frame with a pose becomes the
 * reference or joins it. */
#include "odometry.h"
#include "solve.h"

#include <stdio.h>
#include <string.h>

/* A pose that no motion leads to may be anywhere: its registration has to be so much better, since a wrong pose is
 * worse than none. */
#define ANYWHERE_SCORE 1.3

pcgpu_status pc_keyframe_check(pcgpu_context *context, double distance, double angle, double fitness) {
    return distance >= 0.0 && angle >= 0.0 && fitness >= 0.0 && fitness <= 1.0
               ? PCGPU_OK
               : pc_fail(context, PCGPU_ERROR_ARGUMENT,
                         "a keyframe of %g m, %g rad and a fitness of %g; give 0 or more", distance, angle, fitness);
}

bool pc_track_predict(const pc_track *t, double time, double T[16]) {
    memcpy(T, t->last, 16 * sizeof *T);
    return t->good > 1 && pc_predict(t->before, t->time_before, t->last, t->time_last, time, T);
}

static void record_found(pc_track *t, const double T[16], double time) {
    memcpy(t->before, t->last, sizeof t->before);
    t->time_before = t->time_last;
    memcpy(t->last, T, sizeof t->last);
    t->time_last = t->newest = time;
    t->good++;
    t->lost = 0;
}

static void record_lost(pc_track *t, double time, double T[16]) {
    for (int i = 0; i < 16; i++) {
        T[i] = NAN;
    }
    t->lost++;
    t->newest = time;
}

/* The slot in which the owner keeps a frame at T, replacing what was there; -1 when a kept frame is near T. */
static int keep(pc_track *t, const double T[16]) {
    for (int i = 0; i < t->kept; i++) {
        if (!pc_moved_beyond(t->poses[i], T, t->keyframe_distance, t->keyframe_angle)) {
            return -1;
        }
    }
    const int slot = t->kept < PC_KEPT ? t->kept++ : t->oldest;
    t->oldest = t->kept < PC_KEPT ? 0 : (slot + 1) % PC_KEPT;
    memcpy(t->poses[slot], T, sizeof t->poses[slot]);
    return slot;
}

/* The slot of the kept frame to try as number i: the newest, then others in turn, so that further lost frames try
 * those that this one does not. */
static int slot_to_try(const pc_track *t, int tries, int i) {
    const int others = t->kept - 1;
    const int age = i == 0 || others < 1 ? 0 : 1 + (int)(((int64_t)t->lost * (tries - 1) + i - 1) % others);
    return (t->oldest + t->kept - 1 - age) % t->kept;
}

/* How far a result may be from the prediction to support it: a sensor does not change its velocity by more in a step,
 * and every lost frame leaves the velocity unknown for one more. */
#define NEAR_STEP    0.1
#define NEAR_RADIANS 0.02
/* Besides, half of a voxel, but not half of the step: sparse rings fit where nothing has moved, and their voxels are
 * wider than the step. A result that is uncertain itself has its sigmas in place of both. */
#define NEAR_SIGMAS 3.0
#define NEAR_HALF   0.5
/* In half voxels: two registrations that find the same place. */
#define SAME_PLACE 0.1

static double margin_of(const pc_track *t, const double predicted[16], const pcgpu_registration *r) {
    double step[16];
    pc_transform_between(t->last, predicted, step); /* since the last frame with a pose */
    const double metres = pc_transform_length(step), sigmas = NEAR_SIGMAS * pc_translation_sigma(r),
                 own = pc_is_uncertain(r) ? sigmas : fmin(t->near, fmax(sigmas, NEAR_HALF * metres));
    return (1.0 + t->lost) * (own + NEAR_STEP * metres);
}

static bool is_near(const pc_track *t, const double predicted[16], const double T[16], const pcgpu_registration *r) {
    double step[16];
    pc_transform_between(t->last, predicted, step);
    const pc_twist twist = pc_twist_of(step);
    return !pc_moved_beyond(predicted, T, margin_of(t, predicted, r),
                            (1.0 + t->lost) * (NEAR_RADIANS + NEAR_STEP * pc_norm3(twist.rotation)));
}

/* The direction in the world that a registration with the result T_world_frame says least about: the first eigenvector
 * of the translation's block of its information, which has the axes of the target. */
static void weakest_direction(const pcgpu_registration *r, const double T_world_frame[16], double direction[3]) {
    const double *information = r->information;
    double a[36] = {0}, values[6], vectors[36], inverse[16], T_world_target[16];
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 6; k++) {
            a[6 * i + k] = i >= 3 && k >= 3 ? information[6 * i + k] : 0.0;
        }
    }
    for (int i = 0; i < 3; i++) {
        a[7 * i] = a[21] + a[28] + a[35]; /* above all of the others */
    }
    pc_eigen6(a, values, vectors);
    pc_transform_invert(r->T_target_source, inverse);
    pc_transform_multiply(T_world_frame, inverse, T_world_target);
    for (int k = 0; k < 3; k++) {
        const double *row = T_world_target + 4 * k;
        direction[k] = (row[0] * vectors[3] + row[1] * vectors[4]) + row[2] * vectors[5];
    }
}

/* Whether a result may fit elsewhere just as well: the scene hardly constrains a direction, along which the result is
 * far from the prediction, and the surfaces do not agree well enough for an exception. */
static bool is_ambiguous(const pc_track *t, const double predicted[16], const double T[16],
                         const pcgpu_registration *r) {
    double direction[3], off = 0.0;
    if (t->near == 0.0 ||
        (!pc_is_uncertain(r) && (r->eigenvalues[0] >= PC_WELL_CONSTRAINED || r->score >= t->clear_score))) {
        return false;
    }
    weakest_direction(r, T, direction);
    for (int k = 0; k < 3; k++) {
        off += direction[k] * (T[4 * k + 3] - predicted[4 * k + 3]);
    }
    return fabs(off) > margin_of(t, predicted, r);
}

static void reject_ambiguous(const pc_track *t, const double predicted[16], const double T[16], pcgpu_registration *r) {
    if (r->converged && is_ambiguous(t, predicted, T, r)) {
        r->converged = false;
        snprintf(r->reason, sizeof r->reason,
                 "the scene hardly constrains a direction, and the result is not near the predicted pose");
    }
}

/* A scene that repeats itself, or a bare road, fits at several places, and the coarse levels may lead to the wrong one.
 * Which one is meant is known from the motion: a result that is ambiguous, or has not converged, is replaced
 * by one of the finest level that is near it; an ambiguous one that the finest level finds as well, from the prediction
 * and without the coarse levels, is the only one there, and the prediction was wrong: times jitter, scans are missing.
 * (KISS-ICP, Vizzo et al. 2023, limits correspondences by the error of predictions to the same end.) */
static pcgpu_status stay_near(const pc_track *t, pc_attempt *attempt, pcgpu_odometry_frame *f, double T[16]) {
    const pcgpu_registration far = f->registration;
    double near[16];
    attempt->near = true;
    PC_TRY(t->ops->align(t->owner, attempt, f, near));
    attempt->near = false;
    const bool found = f->registration.converged;
    if (found && is_near(t, attempt->start, near, &f->registration)) {
        memcpy(T, near, sizeof near);
        return PCGPU_OK;
    }
    const bool same = found && far.converged && !pc_is_uncertain(&far) &&
                      !pc_moved_beyond(T, near, SAME_PLACE * t->near, SAME_PLACE * NEAR_RADIANS);
    f->registration = far;
    if (!same) {
        reject_ambiguous(t, attempt->start, T, &f->registration);
    }
    return PCGPU_OK;
}

/* Registers to the reference from the predicted pose, then from the last one, then both with a nearer reference. */
static pcgpu_status find_by_motion(const pc_track *t, double time, pcgpu_odometry_frame *f, double T[16]) {
    pc_attempt attempt = {.kept = -1, .score = 1.0};
    double predicted[16];
    const bool moving = pc_track_predict(t, time, predicted);
    do {
        memcpy(attempt.start, predicted, sizeof predicted);
        PC_TRY(t->ops->align(t->owner, &attempt, f, T));
        if (moving && t->near > 0.0 &&
            (!f->registration.converged || is_ambiguous(t, predicted, T, &f->registration))) {
            PC_TRY(stay_near(t, &attempt, f, T));
        }
        if (!f->registration.converged && moving) {
            memcpy(attempt.start, t->last, sizeof attempt.start);
            PC_TRY(t->ops->align(t->owner, &attempt, f, T));
            reject_ambiguous(t, predicted, T, &f->registration);
        }
        if (f->registration.converged) {
            return PCGPU_OK;
        }
    } while (t->ops->nearer(t->owner));
    return PCGPU_OK;
}

/* How far to look for the first motion, and how densely, in voxels. */
enum { FIRST_REACH = 16 };

/* The most free space of a first motion, which no prediction supports. Right ones have up to 0.01. */
#define FIRST_FREE (0.5 * PC_MOST_FREE)

/* What is to be small: planes lie on each other, all that constrains the motion agrees, and the weakest direction is
 * constrained well. Fitness and score prefer that nothing has moved, where the rings of both scans match. Rings on the
 * ground lie on each other better than surfaces do, but constrain less: the geometric mean of the distances between
 * planes and of the uncertainty that follows from them. */
static double disagreement(const pcgpu_registration *r) {
    return r->converged && !r->degenerate && r->agreement > 0.0
               ? r->plane_rmse / (r->agreement * sqrt(sqrt(r->eigenvalues[0])))
               : INFINITY;
}

/* Before any motion is known, a bare road says hardly how far a car has come. Tries the finest level from places along
 * the direction that is constrained least, and takes the best. */
static pcgpu_status find_first_motion(const pc_track *t, pcgpu_odometry_frame *f, double T[16]) {
    pc_attempt attempt = {.kept = -1, .score = 1.0, .near = true};
    pcgpu_registration best = f->registration;
    double direction[3], found[16];
    weakest_direction(&best, T, direction);
    for (int i = -FIRST_REACH; i <= FIRST_REACH; i++) {
        memcpy(attempt.start, t->last, sizeof attempt.start);
        for (int k = 0; k < 3; k++) {
            attempt.start[4 * k + 3] += 2.0 * t->near * i * direction[k];
        }
        PC_TRY(t->ops->align(t->owner, &attempt, f, found));
        if (disagreement(&f->registration) < disagreement(&best)) {
            best = f->registration;
            memcpy(T, found, sizeof found);
        }
    }
    f->registration = best;
    if (best.converged && best.free_space > FIRST_FREE) {
        f->registration.converged = false;
        snprintf(
            f->registration.reason, sizeof best.reason,
            "no motion is known yet, and the scans contradict each other: %.1f %% of the points lie in the free space "
            "of the other scan",
            100.0 * best.free_space);
    }
    return PCGPU_OK;
}

/* What a kept frame gives; with a pose that the reference agrees with, that. */
static pcgpu_status find_by_kept(const pc_track *t, int slot, pcgpu_odometry_frame *f, double T[16]) {
    pc_attempt attempt = {.kept = slot, .score = ANYWHERE_SCORE};
    memcpy(attempt.start, t->poses[slot], sizeof attempt.start);
    PC_TRY(t->ops->align(t->owner, &attempt, f, T));
    if (!f->registration.converged) {
        return PCGPU_OK;
    }
    const pcgpu_registration kept = f->registration;
    double refined[16];
    attempt = (pc_attempt){.kept = -1, .score = 1.0};
    memcpy(attempt.start, T, sizeof attempt.start);
    PC_TRY(t->ops->align(t->owner, &attempt, f, refined));
    if (f->registration.converged) {
        memcpy(T, refined, sizeof refined);
    } else {
        f->registration = kept;
    }
    return PCGPU_OK;
}

/* Finds the pose of the present frame; it has none when f->registration has not converged. */
static pcgpu_status find(const pc_track *t, double time, pcgpu_odometry_frame *f, double T[16]) {
    if (t->ops->known && t->ops->anywhere && t->good == 0) {
        return t->ops->search(t->owner, f, T);
    }
    PC_TRY(find_by_motion(t, time, f, T));
    if (!t->ops->known && t->good == 1 && t->near > 0.0 && f->registration.eigenvalues[0] > 0.0 &&
        f->registration.eigenvalues[0] < PC_WELL_CONSTRAINED) {
        PC_TRY(find_first_motion(t, f, T));
    }
    if (f->registration.converged ||
        f->registration.source_points < PC_REGISTER_MIN_POINTS) { /* which no reference can help */
        return PCGPU_OK;
    }
    const pcgpu_registration by_motion = f->registration;
    double predicted[16];
    const bool moving = pc_track_predict(t, time, predicted);
    const int count = t->ops->tries < t->kept ? t->ops->tries : t->kept;
    for (int i = 0; i < count && !f->registration.converged; i++) {
        PC_TRY(find_by_kept(t, slot_to_try(t, t->ops->tries, i), f, T));
        if (moving) {
            reject_ambiguous(t, predicted, T, &f->registration);
        }
    }
    if (t->ops->known && !f->registration.converged) {
        PC_TRY(t->ops->search(t->owner, f, T));
    }
    if (!f->registration.converged) {
        f->registration = by_motion;
    }
    return PCGPU_OK;
}

/* ---- a frame ----------------------------------------------------------------------------------------------------- */

/* Makes the present frame. */
static pcgpu_status take(pc_track *t, const void *data, double time, pcgpu_run *run) {
    if (time - time != 0.0 || (t->good + t->lost > 0 && time <= t->newest)) {
        return pc_fail(t->context, PCGPU_ERROR_ARGUMENT, "%s at %.17g s after one at %.17g s; times must rise",
                       t->ops->frame, time, t->newest);
    }
    return t->ops->take(t->owner, data, time, run);
}

/* Accepts the present frame at a pose. */
static pcgpu_status accept(pc_track *t, const double T_world_frame[16], double time, bool joins) {
    double T[16];
    PC_TRY(t->ops->accept(t->owner, T_world_frame, joins, T));
    const int slot = keep(t, T);
    if (slot >= 0) {
        t->ops->keep(t->owner, slot);
    }
    record_found(t, T, time);
    return PCGPU_OK;
}

/* The first frame with enough points is where the world begins. */
static pcgpu_status add_first(pc_track *t, double time, pcgpu_odometry_frame *f) {
    const int64_t points = t->ops->count(t->owner, &f->registration.run);
    if (points < PC_REGISTER_MIN_POINTS) {
        snprintf(f->registration.reason, sizeof f->registration.reason, "it has %lld %s; at least %d are needed",
                 (long long)points, t->ops->points, PC_REGISTER_MIN_POINTS);
        return PCGPU_OK;
    }
    memcpy(f->T_world_frame, t->init, sizeof f->T_world_frame);
    f->keyframe = true;
    PC_TRY(accept(t, f->T_world_frame, time, true));
    f->good = true;
    return PCGPU_OK;
}

static pcgpu_status add_next(pc_track *t, double time, pcgpu_odometry_frame *f) {
    double T[16];
    PC_TRY(find(t, time, f, T));
    if (!f->registration.converged) {
        return PCGPU_OK;
    }
    const bool relocalized = t->lost > 0;
    const double begin = pc_now();
    t->ops->to_caller(t->owner, T, f->T_world_frame);
    f->keyframe = t->ops->joins(t->owner, f->T_world_frame, f->registration.fitness);
    PC_TRY(accept(t, f->T_world_frame, time, f->keyframe));
    pc_stage(&f->registration.run, "reference", begin);
    f->good = true;
    f->relocalized = relocalized;
    return PCGPU_OK;
}

pcgpu_status pc_track_add(pc_track *t, const void *data, double time, pcgpu_odometry_frame *f) {
    *f = (pcgpu_odometry_frame){0};
    pc_clear_error(t->context);
    pcgpu_status status = take(t, data, time, &f->registration.run);
    if (status == PCGPU_OK) {
        status = t->good > 0 || t->ops->known ? add_next(t, time, f) : add_first(t, time, f);
    }
    t->ops->end(t->owner, status);
    if (status != PCGPU_OK) {
        *f = (pcgpu_odometry_frame){0};
        return status;
    }
    if (!f->good) {
        record_lost(t, time, f->T_world_frame);
    }
    return status;
}
