/* Odometry: the state machine that scans and depth images share, from frame to pose.
 *
 * A frame is taken and found from the motion: registered to the reference from the predicted and from the last pose.
 * One that is not is tried against frames that were kept with their poses, a bounded number of them, before it is
 * called lost; a pose that one of these gives is registered to the reference once more. A frame with a pose becomes the
 * reference or joins it. */
#include "odometry.h"

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

/* Of the mean score, that of the newest frame. */
#define NEWEST_SCORE 0.3

/* What all attempts have, however they started. */
static double score_of(const pcgpu_registration *r) {
    return r->fitness * r->agreement;
}

static void record_found(pc_track *t, const double T[16], double time, const pcgpu_odometry_frame *f) {
    if (t->good > 0) {
        pc_track_count_periods(t, time - t->time_last);
    }
    memcpy(t->before, t->last, sizeof t->before);
    t->time_before = t->time_last;
    memcpy(t->last, T, sizeof t->last);
    t->time_last = t->newest = time;
    t->good++;
    t->lost = 0;
    t->followed = f->open > 0 ? t->followed + 1 : 0;
    t->score += (t->score > 0.0 ? NEWEST_SCORE : 1.0) * (score_of(&f->registration) - t->score);
    t->is_doubtful = false;
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

/* In half voxels: two registrations that find the same place. */
#define SAME_PLACE   0.1
#define SAME_RADIANS 0.002
/* A result that leaves each guess with so much less than the mean score is tried again near them. */
#define POOR_SCORE 0.5
/* How many frames in turn may follow the prediction along a direction that the scene leaves open. */
enum { MOST_FOLLOWED = 10 };

/* A frame to be found. */
typedef struct pc_search {
    pc_guesses guesses;
    const struct pc_guess *guess; /* the one that is tried */
    pcgpu_odometry_frame open;    /* what is to be taken when nothing converges: open.open > 0 */
    double T_open[16];
    bool is_doubtful; /* a result was rejected */
    double doubtful[16];
} pc_search;

/* An ambiguous result is no pose. The next frame may support it, unless it says that nothing has moved, where sparse
 * rings always fit. */
static void reject_ambiguous(const pc_track *t, pc_search *s, const double T[16], pcgpu_registration *r) {
    if (r->converged && pc_is_ambiguous(t, &s->guesses, T, r)) {
        r->converged = false;
        snprintf(r->reason, sizeof r->reason,
                 "the scene hardly constrains a direction, and the result is not near the predicted pose");
        s->is_doubtful = pc_moved_beyond(t->last, T, 0.5 * s->guesses.guess[0].metres, INFINITY);
        memcpy(s->doubtful, T, sizeof s->doubtful);
    }
}

/* A scene that repeats itself, or a bare road, fits at several places, and the coarse levels may lead to the wrong one.
 * Which one is meant is known from the motion: a result that is ambiguous or poor, or has not converged, is replaced
 * by one of the finest level that is near it; an ambiguous one that the finest level finds as well, from the guess
 * and without the coarse levels, is the only one there, and the guess was wrong: times jitter, scans are missing.
 * (KISS-ICP, Vizzo et al. 2023, limits correspondences by the error of predictions to the same end.) */
static pcgpu_status stay_near(const pc_track *t, pc_search *s, pc_attempt *attempt, pcgpu_odometry_frame *f,
                              double T[16]) {
    const pcgpu_registration far = f->registration;
    const bool good = far.converged && !pc_is_ambiguous(t, &s->guesses, T, &far);
    double near[16];
    attempt->near = true;
    PC_TRY(t->ops->align(t->owner, attempt, f, near));
    attempt->near = false;
    const bool found = f->registration.converged;
    if (found && pc_is_near_guess(t, &s->guesses, near, &f->registration) && !f->registration.degenerate) {
        if (good && score_of(&far) >= score_of(&f->registration)) {
            f->registration = far;
        } else {
            memcpy(T, near, sizeof near);
        }
        return PCGPU_OK;
    }
    if (found && f->registration.degenerate && s->open.open == 0) {
        s->open.registration = f->registration;
        memcpy(s->T_open, near, sizeof near);
        pc_follow_guess(t, s->guess, &s->open, s->T_open);
    }
    const bool same = found && far.converged && !pc_is_uncertain(&far) &&
                      !pc_moved_beyond(T, near, SAME_PLACE * t->near, SAME_RADIANS);
    f->registration = far;
    if (!same) {
        reject_ambiguous(t, s, T, &f->registration);
    }
    return PCGPU_OK;
}

/* Registers to the reference from a guess. */
static pcgpu_status find_by_guess(const pc_track *t, pc_search *s, pcgpu_odometry_frame *f, double T[16]) {
    pc_attempt attempt = {.kept = -1, .score = 1.0};
    memcpy(attempt.start, s->guess->T, sizeof attempt.start);
    PC_TRY(t->ops->align(t->owner, &attempt, f, T));
    const pcgpu_registration *r = &f->registration;
    const bool poor = r->converged && score_of(r) < POOR_SCORE * t->score && !pc_is_near_guess(t, &s->guesses, T, r);
    return t->near > 0.0 && (!r->converged || poor || pc_is_ambiguous(t, &s->guesses, T, r))
               ? stay_near(t, s, &attempt, f, T)
               : PCGPU_OK;
}

/* Registers to the reference from the guesses, then from the last pose, then all with a nearer reference. */
static pcgpu_status find_by_motion(const pc_track *t, pc_search *s, pcgpu_odometry_frame *f, double T[16]) {
    do {
        for (int i = 0; i < s->guesses.count; i++) {
            s->guess = &s->guesses.guess[i];
            PC_TRY(find_by_guess(t, s, f, T));
            if (f->registration.converged) {
                return PCGPU_OK;
            }
        }
        pc_attempt attempt = {.kept = -1, .score = 1.0};
        memcpy(attempt.start, t->last, sizeof attempt.start);
        PC_TRY(t->ops->align(t->owner, &attempt, f, T));
        reject_ambiguous(t, s, T, &f->registration);
        if (f->registration.converged) {
            return PCGPU_OK;
        }
    } while (t->ops->nearer(t->owner));
    if (s->open.open > 0 && t->followed < MOST_FOLLOWED) {
        f->registration = s->open.registration;
        f->open = s->open.open;
        memcpy(f->open_directions, s->open.open_directions, sizeof f->open_directions);
        memcpy(T, s->T_open, sizeof s->T_open);
    }
    return PCGPU_OK;
}

/* How far to look for the first motion, and how densely, in voxels; in how many rounds: starts near a place reach it in
 * 10 to 20 at the finest level, which has twice as many, others creep along; how many lost frames may follow it. */
enum { FIRST_REACH = 16, FIRST_ROUNDS = 12, FIRST_LOST = 2 };

/* The most free space of a first motion, which no prediction supports. Right ones have up to 0.01. */
#define FIRST_FREE (0.5 * PC_MOST_FREE)

/* What is to be small: planes lie on each other, all that constrains the motion agrees, and the weakest direction is
 * constrained well. Fitness and score prefer that nothing has moved, where the rings of both scans match. Rings on the
 * ground lie on each other better than surfaces do, but constrain less: the geometric mean of the distances between
 * planes and of the uncertainty that follows from them. Places that are off lie in the free space of the other scan. */
static double disagreement(const pcgpu_registration *r) {
    const double free = 1.0 - fmax(0.0, r->free_space) / FIRST_FREE;
    return r->converged && !r->degenerate && r->agreement > 0.0 && free > 0.0
               ? r->plane_rmse / (r->agreement * free * sqrt(sqrt(r->eigenvalues[0])))
               : INFINITY;
}

/* Before any motion is known, or when the first one leads nowhere, a bare road says hardly how far a car has come.
 * Tries the finest level from places along the direction that is constrained least, and takes the best. */
static pcgpu_status find_first_motion(const pc_track *t, const pc_search *s, pcgpu_odometry_frame *f, double T[16]) {
    const double *middle = s->guesses.count > 0 ? s->guesses.guess[0].T : t->last;
    pc_attempt attempt = {.kept = -1, .score = 1.0, .rounds = FIRST_ROUNDS, .near = true};
    pcgpu_registration best = f->registration;
    double direction[3], found[16];
    pc_weakest_direction(&best, T, direction);
    for (int i = -FIRST_REACH; i <= FIRST_REACH; i++) {
        memcpy(attempt.start, middle, sizeof attempt.start);
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
static pcgpu_status find(const pc_track *t, pc_search *s, pcgpu_odometry_frame *f, double T[16]) {
    if (t->ops->known && t->ops->anywhere && t->good == 0) {
        return t->ops->search(t->owner, f, T);
    }
    PC_TRY(find_by_motion(t, s, f, T));
    const bool first = t->good == 1 || (t->good == 2 && t->lost < FIRST_LOST && !f->registration.converged);
    if (!t->ops->known && first && t->motion.count == 0 && t->near > 0.0 && f->registration.eigenvalues[0] > 0.0 &&
        f->registration.eigenvalues[0] < PC_WELL_CONSTRAINED) {
        PC_TRY(find_first_motion(t, s, f, T));
    }
    if (f->registration.converged ||
        f->registration.source_points < PC_REGISTER_MIN_POINTS) { /* which no reference can help */
        return PCGPU_OK;
    }
    const pcgpu_registration by_motion = f->registration;
    const int count = t->ops->tries < t->kept ? t->ops->tries : t->kept;
    for (int i = 0; i < count && !f->registration.converged; i++) {
        PC_TRY(find_by_kept(t, slot_to_try(t, t->ops->tries, i), f, T));
        reject_ambiguous(t, s, T, &f->registration);
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
static pcgpu_status accept(pc_track *t, double time, const pcgpu_odometry_frame *f) {
    double T[16];
    PC_TRY(t->ops->accept(t->owner, f->T_world_frame, f->keyframe, T));
    const int slot = keep(t, T);
    if (slot >= 0) {
        t->ops->keep(t->owner, slot);
    }
    record_found(t, T, time, f);
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
    PC_TRY(accept(t, time, f));
    f->good = true;
    return PCGPU_OK;
}

static pcgpu_status add_next(pc_track *t, double time, pcgpu_odometry_frame *f) {
    pc_search s = {0};
    double T[16];
    pc_track_guess(t, time, &s.guesses);
    PC_TRY(find(t, &s, f, T));
    if (!f->registration.converged) {
        if (s.is_doubtful) {
            t->is_doubtful = true;
            t->time_doubtful = time;
            memcpy(t->doubtful, s.doubtful, sizeof t->doubtful);
        }
        return PCGPU_OK;
    }
    const bool relocalized = t->lost > 0;
    const double begin = pc_now();
    t->ops->to_caller(t->owner, T, f->T_world_frame);
    f->keyframe = t->ops->joins(t->owner, f->T_world_frame, f->registration.fitness);
    PC_TRY(accept(t, time, f));
    pc_widen_covariance(t, &f->registration);
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
