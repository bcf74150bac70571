/* Odometry of a depth camera: from image to pose. An image becomes a frame, its pose is predicted from the motion
 * before, and it is registered to the frame before it, to a keyframe, or to what a volume shows from the predicted
 * pose. All that an image leaves behind follows from the image, its time and its pose. */
#include "depth.h"
#include "odometry.h"
#include "projective.h"
#include "tsdf_job.h"

#include <stdlib.h>
#include <string.h>

struct pcgpu_depth_odometry {
    pcgpu_context *context;
    pcgpu_camera camera;
    pcgpu_depth_odometry_params params;
    const pc_backend *backend;
    pcgpu_run run;
    pc_track track;
    pcgpu_frame *last, *keyframe, *kept[PC_KEPT]; /* by the track's slots; a frame may be all of these */
    double keyframe_T[16], keyframe_time;
    pcgpu_volume *volume; /* NULL but for MODEL */
    /* Of the present image: */
    pcgpu_frame *present;
    pcgpu_camera present_camera; /* the odometry's, with the image's size */
    pcgpu_reference to;          /* what it is registered to */
};

void pcgpu_depth_odometry_params_init(pcgpu_depth_odometry_params *params) {
    *params = (pcgpu_depth_odometry_params){
        .reference = PCGPU_REFERENCE_MODEL, .keyframe_distance = 0.3, .keyframe_angle = 0.2, .keyframe_fitness = 0.7};
    pcgpu_register_depth_params_init(&params->registration);
    pcgpu_volume_params_init(&params->volume);
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static pcgpu_status check(pcgpu_context *context, const pcgpu_depth_odometry_params *p) {
    pcgpu_status status = pc_register_depth_check(context, &p->registration);
    if (status == PCGPU_OK && p->registration.symmetric) {
        status = pc_fail(context, PCGPU_ERROR_ARGUMENT,
                         "a sequence is registered one way, to what was before; leave symmetric out");
    }
    if (status == PCGPU_OK && ((int)p->reference < 0 || p->reference > PCGPU_REFERENCE_MODEL)) {
        status = pc_fail(context, PCGPU_ERROR_ARGUMENT, "reference %d is not known", (int)p->reference);
    }
    if (status == PCGPU_OK && !(p->keyframe_distance >= 0.0 && p->keyframe_angle >= 0.0 && p->keyframe_fitness >= 0.0 &&
                                p->keyframe_fitness <= 1.0)) {
        status =
            pc_fail(context, PCGPU_ERROR_ARGUMENT, "a keyframe of %g m, %g rad and a fitness of %g; give 0 or more",
                    p->keyframe_distance, p->keyframe_angle, p->keyframe_fitness);
    }
    return status;
}

/* Frames and volume are on the same back end. */
static pcgpu_status choose(pcgpu_depth_odometry *o) {
    if (o->params.reference != PCGPU_REFERENCE_MODEL) {
        const double frames = (double)o->params.volume.frames, pixels = 640.0 * 480.0;
        return pc_frame_choose(o->context, pixels * frames, (int)(frames < 1e6 ? frames : 1e6), &o->run, &o->backend);
    }
    pcgpu_volume_stats stats;
    pcgpu_status status = pcgpu_volume_open(o->context, &o->params.volume, &o->volume);
    if (status == PCGPU_OK) {
        pcgpu_volume_get_stats(o->volume, &stats);
        o->run = stats.run;
        o->backend = pc_volume_backend(o->volume);
    }
    return status;
}

pcgpu_status pcgpu_depth_odometry_open(pcgpu_context *context, const pcgpu_camera *camera,
                                       const pcgpu_depth_odometry_params *params, pcgpu_depth_odometry **odometry) {
    pc_clear_error(context);
    *odometry = NULL;
    pcgpu_status status = check(context, params);
    if (status != PCGPU_OK) {
        return status;
    }
    pcgpu_depth_odometry *o = calloc(1, sizeof *o);
    if (!o) {
        return pc_fail_memory(context, sizeof *o, "the odometry");
    }
    o->context = context;
    o->camera = *camera;
    o->params = *params;
    status = choose(o);
    if (status != PCGPU_OK) {
        pcgpu_depth_odometry_close(o);
        return status;
    }
    *odometry = o;
    return PCGPU_OK;
}

/* Puts `frame` where another one was, which is released once it is nowhere. */
static void replace(pcgpu_depth_odometry *o, pcgpu_frame **at, pcgpu_frame *frame) {
    pcgpu_frame *old = *at;
    *at = frame;
    bool used = old == o->last || old == o->keyframe;
    for (int i = 0; i < PC_KEPT; i++) {
        used = used || old == o->kept[i];
    }
    if (!used) {
        pcgpu_frame_free(o->context, old);
    }
}

void pcgpu_depth_odometry_close(pcgpu_depth_odometry *o) {
    if (o) {
        replace(o, &o->keyframe, NULL);
        replace(o, &o->last, NULL);
        for (int i = 0; i < PC_KEPT; i++) {
            replace(o, &o->kept[i], NULL);
        }
        pcgpu_volume_close(o->volume);
        free(o);
    }
}

pcgpu_volume *pcgpu_depth_odometry_volume(pcgpu_depth_odometry *o) {
    return o->volume;
}

/* ---- what a frame is registered to ------------------------------------------------------------------------------ */

/* The model as a camera sees it that is expected at T. It stays on the back end. */
static pcgpu_status see_model(pcgpu_depth_odometry *o, const double T[16], const pcgpu_camera *camera,
                              pcgpu_frame **seen) {
    pc_maps maps;
    pcgpu_status status = pc_volume_see(o->volume, camera, T, &maps);
    if (status == PCGPU_OK) {
        status = pc_frame_of_maps(o->context, o->backend, &maps, true, camera, o->params.registration.levels, seen);
    }
    return status;
}

/* To a kept frame from where that was; to the reference from the start. */
static pcgpu_status align(void *owner, const pc_attempt *attempt, pcgpu_odometry_frame *f, double T[16]) {
    pcgpu_depth_odometry *o = owner;
    const bool model = attempt->kept < 0 && o->to == PCGPU_REFERENCE_MODEL;
    const bool keyframe = o->to == PCGPU_REFERENCE_KEYFRAME;
    const double *from = attempt->kept >= 0 ? o->track.poses[attempt->kept]
                         : model            ? attempt->start
                         : keyframe         ? o->keyframe_T
                                            : o->track.last;
    const double begin = pc_now();
    pcgpu_register_depth_params params = o->params.registration;
    pcgpu_frame *seen = NULL, *target = attempt->kept >= 0 ? o->kept[attempt->kept] : keyframe ? o->keyframe : o->last;
    double inverse[16];
    pcgpu_status status = PCGPU_OK;
    params.min_score = fmin(attempt->score * params.min_score, 1.0);
    pc_transform_invert(from, inverse);
    pc_transform_multiply(inverse, attempt->start, params.init);
    if (model) {
        status = see_model(o, attempt->start, &o->present_camera, &seen);
        target = seen;
    }
    double seconds = pc_now() - begin;
    if (status == PCGPU_OK) {
        status = pcgpu_register_frames(o->context, o->present, target, &params, &f->registration);
    }
    if (seen) { /* a device is at it when the host has gone on */
        seconds = fmax(seconds, seen->maps.measure.seconds);
    }
    pcgpu_frame_free(o->context, seen);
    if (status == PCGPU_OK) {
        pc_transform_multiply(from, f->registration.T_target_source, T);
        if (model) {
            memcpy(f->registration.T_target_source, T, 16 * sizeof *T);
            pc_stage(&f->registration.run, "raycast", pc_now() - seconds);
        }
    }
    f->attempts++;
    return status;
}

/* The last frame in place of the keyframe or of the model, which may still be thin where the camera has just arrived.
 */
static bool take_nearer(void *owner) {
    pcgpu_depth_odometry *o = owner;
    const bool other = o->to == PCGPU_REFERENCE_MODEL || (o->to == PCGPU_REFERENCE_KEYFRAME && o->keyframe != o->last);
    o->to = other ? PCGPU_REFERENCE_PREVIOUS : o->to;
    return other;
}

static const pc_track_ops depth_ops = {.align = align, .nearer = take_nearer, .tries = 4};

/* ---- an image --------------------------------------------------------------------------------------------------- */

static bool joins_reference(const pcgpu_depth_odometry *o, const double T[16], double fitness) {
    return o->params.reference != PCGPU_REFERENCE_KEYFRAME || !o->keyframe || fitness < o->params.keyframe_fitness ||
           pc_moved_beyond(o->keyframe_T, T, o->params.keyframe_distance, o->params.keyframe_angle);
}

/* The image has a pose, and joins the reference or does not. Takes the present frame, also when it fails. */
static pcgpu_status accept(pcgpu_depth_odometry *o, const pcgpu_depth *depth, double time, const double T[16],
                           bool joins) {
    const pcgpu_depth_odometry_params *p = &o->params;
    pcgpu_frame *frame = o->present;
    pcgpu_status status = PCGPU_OK;
    o->present = NULL;
    if (o->volume) {
        status = pc_volume_fuse(o->volume, depth, &frame->maps, &o->camera, T);
    }
    if (status != PCGPU_OK) {
        pcgpu_frame_free(o->context, frame);
        return status;
    }
    replace(o, &o->last, frame);
    if ((joins || !o->keyframe) && p->reference == PCGPU_REFERENCE_KEYFRAME) {
        replace(o, &o->keyframe, frame);
        o->keyframe_time = time;
        memcpy(o->keyframe_T, T, sizeof o->keyframe_T);
    }
    const int slot = pc_track_keep(&o->track, T, p->keyframe_distance, p->keyframe_angle);
    if (slot >= 0) {
        replace(o, &o->kept[slot], frame);
    }
    pc_track_found(&o->track, T, time);
    return PCGPU_OK;
}

/* Makes the present frame of an image. */
static pcgpu_status take(pcgpu_depth_odometry *o, const pcgpu_depth *depth, double time) {
    o->present_camera = o->camera;
    o->to = o->params.reference;
    if (!pc_track_accepts_time(&o->track, time)) {
        return pc_fail(o->context, PCGPU_ERROR_ARGUMENT, "an image at %.17g s after one at %.17g s; times must rise",
                       time, o->track.newest);
    }
    pcgpu_status status = pc_camera_check(o->context, depth->width, depth->height, &o->camera);
    o->present_camera.width = depth->width;
    o->present_camera.height = depth->height;
    if (status == PCGPU_OK) {
        status = pc_frame_of_depth(o->context, o->backend, depth, &o->present_camera, &o->params.registration,
                                   &o->present);
    }
    if (status == PCGPU_OK) {
        o->present->run = o->run;
    }
    return status;
}

/* The first image with enough pixels is where the world begins. */
static pcgpu_status add_first(pcgpu_depth_odometry *o, const pcgpu_depth *depth, double time,
                              pcgpu_odometry_frame *f) {
    unsigned low, high;
    pcgpu_depth_counts counts;
    pc_depth_range(&o->camera, &low, &high);
    pc_depth_count(depth, low, high, &counts);
    const int64_t points = counts.pixels - counts.no_return - counts.out_of_range;
    f->registration.run = o->present->run;
    f->registration.run.stages = 0;
    if (points < PC_REGISTER_MIN_POINTS) {
        snprintf(f->registration.reason, sizeof f->registration.reason,
                 "it has %lld pixels with a depth; at least %d are needed", (long long)points, PC_REGISTER_MIN_POINTS);
        return PCGPU_OK;
    }
    memcpy(f->T_world_frame, o->params.registration.init, sizeof f->T_world_frame);
    f->keyframe = true;
    pcgpu_status status = accept(o, depth, time, f->T_world_frame, true);
    f->good = status == PCGPU_OK;
    return status;
}

static pcgpu_status add_next(pcgpu_depth_odometry *o, const pcgpu_depth *depth, double time,
                             pcgpu_odometry_frame *f) {
    const bool relocalized = o->track.lost > 0;
    pcgpu_status status = pc_track_find(&o->track, &depth_ops, o, time, f, f->T_world_frame);
    if (status != PCGPU_OK || !f->registration.converged) {
        return status;
    }
    const double begin = pc_now();
    f->keyframe = joins_reference(o, f->T_world_frame, f->registration.fitness);
    status = accept(o, depth, time, f->T_world_frame, f->keyframe);
    pc_stage(&f->registration.run, "reference", begin);
    f->good = status == PCGPU_OK;
    f->relocalized = f->good && relocalized;
    return status;
}

pcgpu_status pcgpu_depth_odometry_add(pcgpu_depth_odometry *o, const pcgpu_depth *depth, double time,
                                      pcgpu_odometry_frame *f) {
    *f = (pcgpu_odometry_frame){0};
    pc_clear_error(o->context);
    pcgpu_status status = take(o, depth, time);
    if (status == PCGPU_OK) {
        status = o->track.good > 0 ? add_next(o, depth, time, f) : add_first(o, depth, time, f);
    }
    pcgpu_frame_free(o->context, o->present);
    o->present = NULL;
    if (status != PCGPU_OK) {
        *f = (pcgpu_odometry_frame){0};
    } else if (!f->good) {
        pc_track_lost(&o->track, time, f->T_world_frame);
    }
    f->reference_time = o->keyframe ? o->keyframe_time : o->last ? o->track.time_last : NAN;
    return status;
}

pcgpu_status pcgpu_depth_odometry_add_known(pcgpu_depth_odometry *o, const pcgpu_depth *depth, double time,
                                            const double T[16], bool keyframe) {
    pc_clear_error(o->context);
    pcgpu_status status = pc_register_check_pose(o->context, "the pose", T);
    if (status == PCGPU_OK) {
        status = take(o, depth, time);
    }
    return status == PCGPU_OK ? accept(o, depth, time, T, keyframe) : status;
}
