/* Odometry: the state machine that scans and depth images share - the motion, and how a frame's pose is found.
 *
 * A frame is found from the motion: registered to the reference from the predicted and from the last pose. One that is
 * not is tried against frames that were kept with their poses, a bounded number of them, before it is called lost; a
 * pose that one of these gives is registered to the reference once more. All that is kept follows from frames, times
 * and poses, so that a trajectory that is known can be gone through again. */
#include "odometry.h"

#include <string.h>

/* A pose that no motion leads to may be anywhere: its registration has to be so much better, since a wrong pose is
 * worse than none. */
#define ANYWHERE_SCORE 1.3

bool pc_track_predict(const pc_track *t, double time, double T[16]) {
    memcpy(T, t->last, 16 * sizeof *T);
    return t->good > 1 && pc_predict(t->before, t->time_before, t->last, t->time_last, time, T);
}

void pc_track_found(pc_track *t, const double T[16], double time) {
    memcpy(t->before, t->last, sizeof t->before);
    t->time_before = t->time_last;
    memcpy(t->last, T, sizeof t->last);
    t->time_last = t->newest = time;
    t->good++;
    t->lost = 0;
}

void pc_track_lost(pc_track *t, double time, double T[16]) {
    for (int i = 0; i < 16; i++) {
        T[i] = NAN;
    }
    t->lost++;
    t->newest = time;
}

bool pc_track_accepts_time(const pc_track *t, double time) {
    return time - time == 0.0 && (t->good + t->lost == 0 || time > t->newest);
}

int pc_track_keep(pc_track *t, const double T[16], double metres, double radians) {
    for (int i = 0; i < t->kept; i++) {
        if (!pc_moved_beyond(t->poses[i], T, metres, radians)) {
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

static bool is_found(pcgpu_status status, const pcgpu_odometry_frame *f) {
    return status == PCGPU_OK && f->registration.converged;
}

/* Registers to the reference from the predicted pose, then from the last one, then both with a nearer reference. */
static pcgpu_status find_by_motion(const pc_track *t, const pc_track_ops *ops, void *owner, double time,
                                   pcgpu_odometry_frame *f, double T[16]) {
    pc_attempt attempt = {.kept = -1, .score = 1.0};
    double predicted[16];
    const bool moving = pc_track_predict(t, time, predicted);
    do {
        memcpy(attempt.start, predicted, sizeof predicted);
        pcgpu_status status = ops->align(owner, &attempt, f, T);
        if (status == PCGPU_OK && !f->registration.converged && moving) {
            memcpy(attempt.start, t->last, sizeof attempt.start);
            status = ops->align(owner, &attempt, f, T);
        }
        if (status != PCGPU_OK || f->registration.converged) {
            return status;
        }
    } while (ops->nearer(owner));
    return PCGPU_OK;
}

/* What a kept frame gives; with a pose that the reference agrees with, that. */
static pcgpu_status find_by_kept(const pc_track *t, const pc_track_ops *ops, void *owner, int slot,
                                 pcgpu_odometry_frame *f, double T[16]) {
    pc_attempt attempt = {.kept = slot, .score = ANYWHERE_SCORE};
    memcpy(attempt.start, t->poses[slot], sizeof attempt.start);
    pcgpu_status status = ops->align(owner, &attempt, f, T);
    if (!is_found(status, f)) {
        return status;
    }
    const pcgpu_registration kept = f->registration;
    double refined[16];
    attempt = (pc_attempt){.kept = -1, .score = 1.0};
    memcpy(attempt.start, T, sizeof attempt.start);
    status = ops->align(owner, &attempt, f, refined);
    if (is_found(status, f)) {
        memcpy(T, refined, sizeof refined);
    } else {
        f->registration = kept;
    }
    return status;
}

pcgpu_status pc_track_find(pc_track *t, const pc_track_ops *ops, void *owner, double time, pcgpu_odometry_frame *f,
                           double T[16]) {
    pcgpu_status status = find_by_motion(t, ops, owner, time, f, T);
    if (status != PCGPU_OK || f->registration.converged ||
        f->registration.source_points < PC_REGISTER_MIN_POINTS) { /* which no reference can help */
        return status;
    }
    const pcgpu_registration by_motion = f->registration;
    const int count = ops->tries < t->kept ? ops->tries : t->kept;
    for (int i = 0; i < count && status == PCGPU_OK && !f->registration.converged; i++) {
        status = find_by_kept(t, ops, owner, slot_to_try(t, ops->tries, i), f, T);
    }
    if (status == PCGPU_OK && !f->registration.converged) {
        f->registration = by_motion;
    }
    return status;
}
