/* Odometry: the state machine of a sequence of scans or depth images, from frame to pose. A frame is taken, its pose
 * predicted from the previous motion, and registered to a reference, which it then becomes or joins. */
#include "odometry.h"

#include <stdio.h>
#include <string.h>

/* Makes the present frame. */
static pcgpu_status take(pc_track *t, const void *data, double time, pcgpu_run *run) {
    if (!pc_track_accepts_time(t, time)) {
        return pc_fail(t->context, PCGPU_ERROR_ARGUMENT, "%s at %.17g s after one at %.17g s; times must rise",
                       t->ops->frame, time, t->newest);
    }
    return t->ops->take(t->owner, data, time, run);
}

/* Accepts the present frame at a pose. */
static pcgpu_status accept(pc_track *t, const double T_world_frame[16], double time, bool joins) {
    double T[16];
    pcgpu_status status = t->ops->accept(t->owner, T_world_frame, joins, T);
    if (status != PCGPU_OK) {
        return status;
    }
    const int slot = pc_track_keep(t, T, t->keyframe_distance, t->keyframe_angle);
    if (slot >= 0) {
        t->ops->keep(t->owner, slot);
    }
    pc_track_found(t, T, time);
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
    pcgpu_status status = accept(t, f->T_world_frame, time, true);
    f->good = status == PCGPU_OK;
    return status;
}

static pcgpu_status add_next(pc_track *t, double time, pcgpu_odometry_frame *f) {
    double T[16];
    pcgpu_status status = pc_track_find(t, t->ops, t->owner, time, f, T);
    if (status != PCGPU_OK || !f->registration.converged) {
        return status;
    }
    const bool relocalized = t->lost > 0;
    const double begin = pc_now();
    t->ops->to_caller(t->owner, T, f->T_world_frame);
    f->keyframe = t->ops->joins(t->owner, f->T_world_frame, f->registration.fitness);
    status = accept(t, f->T_world_frame, time, f->keyframe);
    pc_stage(&f->registration.run, "reference", begin);
    f->good = status == PCGPU_OK;
    f->relocalized = f->good && relocalized;
    return status;
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
        pc_track_lost(t, time, f->T_world_frame);
    }
    return status;
}
