/* Odometry of a depth camera: from image to pose. An image becomes a frame, its pose is predicted from the motion
 * before, and it is registered to the frame before it, to a keyframe, or to what a volume shows from the predicted
 * pose. */
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
    double keyframe_T[16];
    pcgpu_volume *volume; /* NULL but for MODEL */
    /* Of the present image: */
    const pcgpu_depth *image;
    pcgpu_frame *present;
    pcgpu_camera present_camera; /* the odometry's, with the image's size */
    pcgpu_reference to;          /* what it is registered to */
};

static const pc_track_ops depth_ops;

void pcgpu_depth_odometry_params_init_sized(pcgpu_depth_odometry_params *params, size_t struct_size) {
    pcgpu_depth_odometry_params initial = {
        .reference = PCGPU_REFERENCE_MODEL, .keyframe_distance = 0.3, .keyframe_angle = 0.2, .keyframe_fitness = 0.7};
    pcgpu_register_depth_params_init(&initial.registration);
    /* More than for a pair of neighbours: a prediction may be worse than the pose before, and what a pose that has not
     * arrived is off by stays in the model. */
    static const int iterations[] = {10, 20, 40};
    memcpy(initial.registration.level_iterations, iterations, sizeof iterations);
    pcgpu_volume_params_init(&initial.volume);
    pc_struct_init(params, struct_size, &initial, sizeof initial);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static pcgpu_status check(pcgpu_context *context, const pcgpu_depth_odometry_params *p) {
    PC_TRY(pc_struct_check(context, "pcgpu_depth_odometry_params", p->struct_size, sizeof *p));
    PC_TRY(pc_register_depth_check(context, &p->registration));
    if ((int)p->reference < 0 || p->reference > PCGPU_REFERENCE_MODEL) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "reference %d is not known", (int)p->reference);
    }
    return pc_keyframe_check(context, p->keyframe_distance, p->keyframe_angle, p->keyframe_fitness);
}

/* Frames and volume are on the same back end. */
static pcgpu_status choose(pcgpu_depth_odometry *o) {
    if (o->params.reference != PCGPU_REFERENCE_MODEL) {
        const double frames = (double)o->params.volume.frames, pixels = 640.0 * 480.0;
        return pc_frame_choose(o->context, pixels * frames, (int)(frames < 1e6 ? frames : 1e6), &o->run, &o->backend);
    }
    pcgpu_volume_stats stats;
    PC_TRY(pcgpu_volume_open(o->context, &o->params.volume, &o->volume));
    pcgpu_volume_get_stats(o->volume, &stats);
    o->run = stats.run;
    o->backend = pc_volume_backend(o->volume);
    return PCGPU_OK;
}

pcgpu_status pcgpu_depth_odometry_open(pcgpu_context *context, const pcgpu_camera *camera,
                                       const pcgpu_depth_odometry_params *params, pcgpu_depth_odometry **odometry) {
    pc_clear_error(context);
    *odometry = NULL;
    PC_TRY(check(context, params));
    PC_TRY(pc_struct_check(context, "pcgpu_camera", camera->struct_size, sizeof *camera));
    pcgpu_depth_odometry *o = calloc(1, sizeof *o);
    if (!o) {
        return pc_fail_memory(context, sizeof *o, "the odometry");
    }
    o->context = context;
    o->camera = *camera;
    o->params = *params;
    o->track = (pc_track){.context = context,
                          .ops = &depth_ops,
                          .owner = o,
                          .keyframe_distance = params->keyframe_distance,
                          .keyframe_angle = params->keyframe_angle};
    memcpy(o->track.init, params->registration.init, sizeof o->track.init);
    const pcgpu_status status = choose(o);
    if (status != PCGPU_OK) {
        pcgpu_depth_odometry_close(o);
        return status;
    }
    *odometry = o;
    return PCGPU_OK;
}

/* Stores `frame` in place of another frame, which is released when no other pointer has it. */
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
        pc_motion_free(&o->track.motion);
        free(o);
    }
}

pcgpu_volume *pcgpu_depth_odometry_volume(pcgpu_depth_odometry *o) {
    return o->volume;
}

/* ---- what a frame is registered to ------------------------------------------------------------------------------- */

/* Renders the model from the expected pose T; the maps stay on the back end. */
static pcgpu_status see_model(pcgpu_depth_odometry *o, const double T[16], const pcgpu_camera *camera,
                              pcgpu_frame **seen) {
    pc_maps maps;
    PC_TRY(pc_volume_see(o->volume, camera, T, &maps));
    return pc_frame_of_maps(o->context, o->backend, &maps, true, camera, o->params.registration.levels, seen);
}

/* Registers to a kept frame, or to the reference from the start. */
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
    params.min_score = fmin(attempt->score * params.min_score, 1.0);
    pc_transform_between(from, attempt->start, params.init);
    if (model) {
        PC_TRY(see_model(o, attempt->start, &o->present_camera, &seen));
        target = seen;
    }
    double seconds = pc_now() - begin;
    const pcgpu_status status = pcgpu_register_frames(o->context, o->present, target, &params, &f->registration);
    if (seen) { /* a device renders while the host continues */
        seconds = fmax(seconds, seen->maps.measure.seconds);
    }
    pcgpu_frame_free(o->context, seen);
    PC_TRY(status);
    pc_transform_multiply(from, f->registration.T_target_source, T);
    if (model) {
        memcpy(f->registration.T_target_source, T, 16 * sizeof *T);
        pc_stage(&f->registration.run, "raycast", pc_now() - seconds);
    }
    f->attempts++;
    return PCGPU_OK;
}

/* Falls back to the last frame from the keyframe or the model, which may be sparse where the camera is new. */
static bool take_nearer(void *owner) {
    pcgpu_depth_odometry *o = owner;
    const bool other = o->to == PCGPU_REFERENCE_MODEL || (o->to == PCGPU_REFERENCE_KEYFRAME && o->keyframe != o->last);
    o->to = other ? PCGPU_REFERENCE_PREVIOUS : o->to;
    return other;
}

/* ---- an image ---------------------------------------------------------------------------------------------------- */

/* Makes the present frame of an image. */
static pcgpu_status take(void *owner, const void *data, double time, pcgpu_run *run) {
    pcgpu_depth_odometry *o = owner;
    const pcgpu_depth *depth = data;
    (void)time;
    o->image = depth;
    o->to = o->params.reference;
    o->present_camera = o->camera;
    o->present_camera.width = depth->width;
    o->present_camera.height = depth->height;
    PC_TRY(pc_camera_check(o->context, depth->width, depth->height, &o->camera));
    PC_TRY(pc_frame_of_depth(o->context, o->backend, depth, &o->present_camera, &o->params.registration, &o->present));
    o->present->run = *run = o->run;
    run->stages = 0;
    return PCGPU_OK;
}

static int64_t count(void *owner, pcgpu_run *run) {
    const pcgpu_depth_odometry *o = owner;
    unsigned low, high;
    pcgpu_depth_counts counts;
    (void)run;
    pc_depth_range(&o->camera, &low, &high);
    pc_depth_count(o->image, low, high, &counts);
    return counts.pixels - counts.no_return - counts.out_of_range;
}

static void to_caller(const void *owner, const double T[16], double T_world_frame[16]) {
    (void)owner;
    memcpy(T_world_frame, T, 16 * sizeof *T);
}

static bool joins(const void *owner, const double T[16], double fitness) {
    const pcgpu_depth_odometry *o = owner;
    return o->params.reference != PCGPU_REFERENCE_KEYFRAME || !o->keyframe || fitness < o->params.keyframe_fitness ||
           pc_moved_beyond(o->keyframe_T, T, o->params.keyframe_distance, o->params.keyframe_angle);
}

static pcgpu_status accept(void *owner, const double T_world_frame[16], bool joins, double T[16]) {
    pcgpu_depth_odometry *o = owner;
    pcgpu_frame *frame = o->present;
    if (o->volume) {
        PC_TRY(pc_volume_fuse(o->volume, o->image, &frame->maps, &o->camera, T_world_frame));
    }
    o->present = NULL;
    memcpy(T, T_world_frame, 16 * sizeof *T);
    replace(o, &o->last, frame);
    if ((joins || !o->keyframe) && o->params.reference == PCGPU_REFERENCE_KEYFRAME) {
        replace(o, &o->keyframe, frame);
        memcpy(o->keyframe_T, T, sizeof o->keyframe_T);
    }
    return PCGPU_OK;
}

static void keep(void *owner, int slot) {
    pcgpu_depth_odometry *o = owner;
    replace(o, &o->kept[slot], o->last);
}

static void end_image(void *owner, pcgpu_status status) {
    pcgpu_depth_odometry *o = owner;
    (void)status;
    pcgpu_frame_free(o->context, o->present);
    o->present = NULL;
}

static const pc_track_ops depth_ops = {.frame = "an image",
                                       .points = "pixels with a depth",
                                       .tries = 4,
                                       .take = take,
                                       .count = count,
                                       .align = align,
                                       .nearer = take_nearer,
                                       .to_caller = to_caller,
                                       .from_caller = to_caller,
                                       .joins = joins,
                                       .accept = accept,
                                       .keep = keep,
                                       .end = end_image};

pcgpu_status pcgpu_depth_odometry_guess(pcgpu_depth_odometry *o, const double *times, const double *poses,
                                        int64_t count) {
    pc_clear_error(o->context);
    return pc_motion_set(o->context, &o->track.motion, times, poses, count);
}

pcgpu_status pcgpu_depth_odometry_add(pcgpu_depth_odometry *o, const pcgpu_depth *depth, double time,
                                      pcgpu_odometry_frame *f) {
    return pc_track_add(&o->track, depth, time, f);
}
