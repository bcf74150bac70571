/* Odometry: where the motion so far leads, and which results it supports.
 *
 * Frames come at a constant rate: stamps jitter, and frames may be missing. A pose is predicted from whole periods of
 * the sensor, and, where the stamps say otherwise, from these. */
#include "odometry.h"
#include "solve.h"

#include <string.h>

/* ---- periods ----------------------------------------------------------------------------------------------------- */

/* A much shorter time between frames than so far: they were missing until now. */
#define SHORT_PERIOD 0.55

static double period_of(const pc_track *t, double since) {
    const double mean = t->periods > 0.0 ? t->elapsed / t->periods : since;
    return since < SHORT_PERIOD * mean ? since : mean;
}

static double whole_periods(double seconds, double period) {
    return fmax(1.0, floor(seconds / period + 0.5));
}

double pc_track_periods(const pc_track *t, double since) {
    return whole_periods(since, period_of(t, since));
}

void pc_track_count_periods(pc_track *t, double since) {
    if (period_of(t, since) == since) {
        t->elapsed = t->periods = 0.0;
    }
    t->periods += pc_track_periods(t, since);
    t->elapsed += since;
}

/* ---- guesses ----------------------------------------------------------------------------------------------------- */

/* From `before` over `last` to the time, in whole periods. */
static bool predict_by_periods(const pc_track *t, const double before[16], double time_before, const double last[16],
                               double time_last, double time, double T[16]) {
    const double period = period_of(t, time - time_last), step = whole_periods(time_last - time_before, period);
    return pc_predict(before, 0.0, last, step, step + whole_periods(time - time_last, period), T);
}

/* From the last pose by the motion from elsewhere, which has the axes of the caller's frames. */
static bool predict_by_motion(const pc_track *t, double time, double T[16]) {
    double step[16], last[16];
    if (t->good == 0 || !pc_motion_between(&t->motion, t->time_last, time, step)) {
        return false;
    }
    t->ops->to_caller(t->owner, t->last, last);
    pc_transform_multiply(last, step, step);
    t->ops->from_caller(t->owner, step, T);
    return true;
}

bool pc_track_predict(const pc_track *t, double time, double T[16]) {
    memcpy(T, t->last, 16 * sizeof *T);
    if (predict_by_motion(t, time, T)) {
        return true;
    }
    return t->good > 1 &&
           (t->near > 0.0 ? predict_by_periods(t, t->before, t->time_before, t->last, t->time_last, time, T)
                          : pc_predict(t->before, t->time_before, t->last, t->time_last, time, T));
}

/* How far a result may be from a guess to be supported by it: a sensor does not change its velocity by more in a step,
 * and every period without a pose leaves the velocity unknown for one more. */
#define NEAR_STEP    0.1
#define NEAR_RADIANS 0.02
/* Besides, half of a voxel, but not half of the step: sparse rings fit where nothing has moved, and their voxels are
 * wider than the step. A result that is uncertain itself has its sigmas in place of both. */
#define NEAR_SIGMAS 3.0
#define NEAR_HALF   0.5

static void add_guess(const pc_track *t, pc_guesses *guesses, const double T[16], const double from[16], double since) {
    struct pc_guess *guess = &guesses->guess[guesses->count++];
    double step[16];
    memcpy(guess->T, T, sizeof guess->T);
    pc_transform_between(from, T, step);
    const pc_twist twist = pc_twist_of(step);
    guess->periods = pc_track_periods(t, since);
    guess->metres = pc_transform_length(step);
    guess->radians = pc_norm3(twist.rotation);
}

void pc_track_guess(const pc_track *t, double time, pc_guesses *guesses) {
    double T[16];
    guesses->count = 0;
    if (!pc_track_predict(t, time, T)) {
        return;
    }
    add_guess(t, guesses, T, t->last, time - t->time_last);
    const struct pc_guess *first = &guesses->guess[0];
    if (t->near > 0.0 && t->motion.count == 0 &&
        pc_predict(t->before, t->time_before, t->last, t->time_last, time, T) &&
        pc_moved_beyond(first->T, T, NEAR_STEP * first->metres, NEAR_RADIANS)) {
        add_guess(t, guesses, T, t->last, time - t->time_last);
    }
    if (t->is_doubtful && predict_by_periods(t, t->last, t->time_last, t->doubtful, t->time_doubtful, time, T)) {
        add_guess(t, guesses, T, t->doubtful, time - t->time_doubtful);
    }
}

static double margin_of(const pc_track *t, const struct pc_guess *guess, const pcgpu_registration *r) {
    const double sigmas = NEAR_SIGMAS * pc_translation_sigma(r),
                 own = pc_is_uncertain(r) ? sigmas : fmin(t->near, fmax(sigmas, NEAR_HALF * guess->metres));
    return guess->periods * (own + NEAR_STEP * guess->metres);
}

static bool is_near(const pc_track *t, const struct pc_guess *guess, const double T[16], const pcgpu_registration *r) {
    return !pc_moved_beyond(guess->T, T, margin_of(t, guess, r),
                            guess->periods * (NEAR_RADIANS + NEAR_STEP * guess->radians));
}

bool pc_is_near_guess(const pc_track *t, const pc_guesses *guesses, const double T[16], const pcgpu_registration *r) {
    bool near = false;
    for (int i = 0; i < guesses->count && !near; i++) {
        near = is_near(t, &guesses->guess[i], T, r);
    }
    return near;
}

/* ---- directions that the scene leaves open ----------------------------------------------------------------------- */

/* The eigenvectors of the translation's block of the information, ascending, which has the axes of the target. */
static void weak_directions(const pcgpu_registration *r, double directions[3][3]) {
    double a[36] = {0}, values[6], vectors[36];
    for (int i = 3; i < 6; i++) {
        memcpy(a + 6 * i + 3, r->information + 6 * i + 3, 3 * sizeof *a);
        a[7 * (i - 3)] = (r->information[21] + r->information[28]) + r->information[35]; /* above all of the others */
    }
    pc_eigen6(a, values, vectors);
    for (int i = 0; i < 3; i++) {
        memcpy(directions[i], vectors + 6 * i + 3, sizeof directions[i]);
    }
}

/* Of a vector in the target's axes, in those of the world. */
static void to_world(const pcgpu_registration *r, const double T_world_frame[16], const double v[3], double out[3]) {
    double inverse[16], T_world_target[16];
    pc_transform_invert(r->T_target_source, inverse);
    pc_transform_multiply(T_world_frame, inverse, T_world_target);
    for (int k = 0; k < 3; k++) {
        const double *row = T_world_target + 4 * k;
        out[k] = (row[0] * v[0] + row[1] * v[1]) + row[2] * v[2];
    }
}

void pc_weakest_direction(const pcgpu_registration *r, const double T_world_frame[16], double direction[3]) {
    double directions[3][3];
    weak_directions(r, directions);
    to_world(r, T_world_frame, directions[0], direction);
}

/* How far a result is from a pose along a direction. */
static double off_along(const double direction[3], const double T[16], const double from[16]) {
    double off = 0.0;
    for (int k = 0; k < 3; k++) {
        off += direction[k] * (T[4 * k + 3] - from[4 * k + 3]);
    }
    return off;
}

bool pc_is_ambiguous(const pc_track *t, const pc_guesses *guesses, const double T[16], const pcgpu_registration *r) {
    double direction[3];
    bool far = guesses->count > 0;
    if (t->near == 0.0 ||
        (!pc_is_uncertain(r) && (r->eigenvalues[0] >= PC_WELL_CONSTRAINED || r->score >= t->clear_score))) {
        return false;
    }
    pc_weakest_direction(r, T, direction);
    for (int i = 0; i < guesses->count && far; i++) {
        const struct pc_guess *guess = &guesses->guess[i];
        far = fabs(off_along(direction, T, guess->T)) > margin_of(t, guess, r);
    }
    return far;
}

static void widen(pcgpu_registration *r, const double direction[3], double sigma) {
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            r->covariance[6 * (i + 3) + k + 3] += sigma * sigma * direction[i] * direction[k];
        }
    }
}

void pc_follow_guess(const pc_track *t, const struct pc_guess *guess, pcgpu_odometry_frame *f, double T[16]) {
    pcgpu_registration *r = &f->registration;
    double directions[3][3], mixed[16], there[16];
    int open = 0;
    while (open < PCGPU_MOST_OPEN && r->eigenvalues[open] < PC_DEGENERATE_NDT) {
        open++;
    }
    memcpy(mixed, T, sizeof mixed);
    memcpy(there, r->T_target_source, sizeof there);
    weak_directions(r, directions);
    for (int i = 0; i < open; i++) {
        double *direction = f->open_directions + 3 * i;
        to_world(r, T, directions[i], direction);
        const double off = off_along(direction, T, guess->T);
        for (int k = 0; k < 3; k++) {
            mixed[4 * k + 3] -= off * direction[k];
            there[4 * k + 3] -= off * directions[i][k];
        }
    }
    if (open > 0 && is_near(t, guess, mixed, r)) {
        f->open = open;
        memcpy(T, mixed, sizeof mixed);
        memcpy(r->T_target_source, there, sizeof there);
        for (int i = 0; i < open; i++) {
            widen(r, directions[i], (1.0 + t->followed) * margin_of(t, guess, r));
        }
    }
}

void pc_widen_covariance(const pc_track *t, pcgpu_registration *r) {
    const double share = 1.0 - r->eigenvalues[0] / PC_WELL_CONSTRAINED;
    double directions[3][3];
    if (t->near > 0.0 && share > 0.0) {
        weak_directions(r, directions);
        widen(r, directions[0], 2.0 * t->near * share);
    }
}
