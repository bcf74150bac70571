/* Odometry of a depth camera: from image to pose. An image becomes a frame, its pose is predicted from the motion
 * before, and it is registered to the frame before it, to a keyframe, or to what a volume shows from the predicted
 * pose. All that an image leaves behind follows from the image, its time and its pose. */
#include "depth.h"
#include "odometry.h"
#include "register_depth.h"
#include "volume_job.h"

#include <stdlib.h>
#include <string.h>

/* A frame with a pose. */
typedef struct posed_frame {
    pcgpu_frame *frame;
    double T[16], time;
} posed_frame;

struct pcgpu_depth_odometry {
    pcgpu_context *context;
    pcgpu_camera camera;
    pcgpu_depth_odometry_params params;
    const pc_backend *backend;
    pcgpu_run run;
    posed_frame last, keyframe;     /* the keyframe's frame may be the last one's */
    pcgpu_volume *volume;           /* NULL but for MODEL */
    double before[16], time_before; /* of the good image before the last, when good > 1 */
    int64_t good;                   /* images with a pose */
    int lost;                       /* images without one since the last that has */
    double newest;                  /* time of the last image */
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

void pcgpu_depth_odometry_close(pcgpu_depth_odometry *o) {
    if (o) {
        if (o->keyframe.frame != o->last.frame) {
            pcgpu_frame_free(o->context, o->keyframe.frame);
        }
        pcgpu_frame_free(o->context, o->last.frame);
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

/* Registers `frame` from a start in the world; *T becomes its pose. */
static pcgpu_status align(pcgpu_depth_odometry *o, pcgpu_frame *frame, const pcgpu_camera *camera, pcgpu_reference to,
                          const double start[16], pcgpu_odometry_frame *f, double T[16]) {
    const bool model = to == PCGPU_REFERENCE_MODEL;
    const posed_frame *reference = to == PCGPU_REFERENCE_KEYFRAME ? &o->keyframe : &o->last;
    const double *from = model ? start : reference->T;
    const double begin = pc_now();
    pcgpu_register_depth_params params = o->params.registration;
    pcgpu_frame *seen = NULL, *target = reference->frame;
    double inverse[16];
    pcgpu_status status = PCGPU_OK;
    params.min_score = pc_least_score(params.min_score, o->lost);
    pc_transform_invert(from, inverse);
    pc_transform_multiply(inverse, start, params.init);
    if (model) {
        status = see_model(o, start, camera, &seen);
        target = seen;
    }
    double seconds = pc_now() - begin;
    if (status == PCGPU_OK) {
        status = pcgpu_register_frames(o->context, frame, target, &params, &f->registration);
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

/* Where the camera would be now if it went on as before; false when that is not known, and it is the last pose. */
static bool predict(const pcgpu_depth_odometry *o, double time, double T[16]) {
    memcpy(T, o->last.T, 16 * sizeof *T);
    return o->good > 1 && pc_predict(o->before, o->time_before, o->last.T, o->last.time, time, T);
}

/* Tries what may lead to a registration that converges: the predicted pose, then the last one, then both with the last
 * frame in place of the keyframe or of the model, which may still be thin where the camera has just arrived. */
static pcgpu_status find_pose(pcgpu_depth_odometry *o, pcgpu_frame *frame, const pcgpu_camera *camera, double time,
                              pcgpu_odometry_frame *f, double T[16]) {
    double predicted[16];
    const bool moving = predict(o, time, predicted);
    pcgpu_reference to = o->params.reference;
    if (to == PCGPU_REFERENCE_KEYFRAME && o->keyframe.frame == o->last.frame) {
        to = PCGPU_REFERENCE_PREVIOUS;
    }
    for (;;) {
        pcgpu_status status = align(o, frame, camera, to, predicted, f, T);
        if (status == PCGPU_OK && !f->registration.converged && moving) {
            status = align(o, frame, camera, to, o->last.T, f, T);
        }
        if (status != PCGPU_OK || f->registration.converged || to == PCGPU_REFERENCE_PREVIOUS) {
            return status;
        }
        to = PCGPU_REFERENCE_PREVIOUS;
    }
}

/* ---- an image --------------------------------------------------------------------------------------------------- */

static bool joins_reference(const pcgpu_depth_odometry *o, const double T[16], double fitness) {
    return o->params.reference != PCGPU_REFERENCE_KEYFRAME || !o->keyframe.frame ||
           fitness < o->params.keyframe_fitness ||
           pc_moved_beyond(o->keyframe.T, T, o->params.keyframe_distance, o->params.keyframe_angle);
}

/* The image has a pose, and joins the reference or does not. Takes the frame, also when it fails. */
static pcgpu_status accept(pcgpu_depth_odometry *o, pcgpu_frame *frame, const pcgpu_depth *depth, double time,
                           const double T[16], bool joins) {
    pcgpu_status status = PCGPU_OK;
    if (o->volume) {
        status = pc_volume_fuse(o->volume, depth, &frame->maps, &o->camera, T);
    }
    if (status != PCGPU_OK) {
        pcgpu_frame_free(o->context, frame);
        return status;
    }
    if (o->good > 0) {
        memcpy(o->before, o->last.T, sizeof o->before);
        o->time_before = o->last.time;
    }
    pcgpu_frame *old = o->last.frame;
    o->last.frame = frame;
    o->last.time = time;
    memcpy(o->last.T, T, sizeof o->last.T);
    if (old != o->keyframe.frame) {
        pcgpu_frame_free(o->context, old);
    }
    if ((joins || !o->keyframe.frame) && o->params.reference == PCGPU_REFERENCE_KEYFRAME) {
        pcgpu_frame_free(o->context, o->keyframe.frame);
        o->keyframe = o->last;
    }
    o->good++;
    o->lost = 0;
    o->newest = time;
    return PCGPU_OK;
}

/* Makes the frame of an image. camera: the odometry's, with the image's size. */
static pcgpu_status take(pcgpu_depth_odometry *o, const pcgpu_depth *depth, double time, pcgpu_camera *camera,
                         pcgpu_frame **frame) {
    *frame = NULL;
    *camera = o->camera;
    if (!(time - time == 0.0) || (o->good + o->lost > 0 && !(time > o->newest))) {
        return pc_fail(o->context, PCGPU_ERROR_ARGUMENT, "an image at %.17g s after one at %.17g s; times must rise",
                       time, o->newest);
    }
    pcgpu_status status = pc_camera_check(o->context, depth->width, depth->height, camera);
    camera->width = depth->width;
    camera->height = depth->height;
    if (status == PCGPU_OK) {
        status = pc_frame_of_depth(o->context, o->backend, depth, camera, &o->params.registration, frame);
    }
    if (status == PCGPU_OK) {
        (*frame)->run = o->run;
    }
    return status;
}

/* The first image with enough pixels is where the world begins. */
static pcgpu_status add_first(pcgpu_depth_odometry *o, pcgpu_frame *frame, const pcgpu_depth *depth, double time,
                              pcgpu_odometry_frame *f) {
    unsigned low, high;
    pcgpu_depth_counts counts;
    pc_depth_range(&o->camera, &low, &high);
    pc_depth_count(depth, low, high, &counts);
    const int64_t points = counts.pixels - counts.no_return - counts.out_of_range;
    f->registration.run = frame->run;
    f->registration.run.stages = 0;
    if (points < PC_REGISTER_MIN_POINTS) {
        snprintf(f->registration.reason, sizeof f->registration.reason,
                 "it has %lld pixels with a depth; at least %d are needed", (long long)points, PC_REGISTER_MIN_POINTS);
        pcgpu_frame_free(o->context, frame);
        return PCGPU_OK;
    }
    memcpy(f->T_world_frame, o->params.registration.init, sizeof f->T_world_frame);
    f->keyframe = true;
    pcgpu_status status = accept(o, frame, depth, time, f->T_world_frame, true);
    f->good = status == PCGPU_OK;
    return status;
}

static pcgpu_status add_next(pcgpu_depth_odometry *o, pcgpu_frame *frame, const pcgpu_camera *camera,
                             const pcgpu_depth *depth, double time, pcgpu_odometry_frame *f) {
    const bool relocalized = o->lost > 0;
    pcgpu_status status = find_pose(o, frame, camera, time, f, f->T_world_frame);
    if (status != PCGPU_OK || !f->registration.converged) {
        pcgpu_frame_free(o->context, frame);
        return status;
    }
    const double begin = pc_now();
    f->keyframe = joins_reference(o, f->T_world_frame, f->registration.fitness);
    status = accept(o, frame, depth, time, f->T_world_frame, f->keyframe);
    pc_stage(&f->registration.run, "reference", begin);
    f->good = status == PCGPU_OK;
    f->relocalized = f->good && relocalized;
    return status;
}

pcgpu_status pcgpu_depth_odometry_add(pcgpu_depth_odometry *o, const pcgpu_depth *depth, double time,
                                      pcgpu_odometry_frame *f) {
    pcgpu_camera camera;
    pcgpu_frame *frame;
    *f = (pcgpu_odometry_frame){0};
    pc_clear_error(o->context);
    pcgpu_status status = take(o, depth, time, &camera, &frame);
    if (status == PCGPU_OK) {
        status = o->good > 0 ? add_next(o, frame, &camera, depth, time, f) : add_first(o, frame, depth, time, f);
    }
    if (status != PCGPU_OK) {
        *f = (pcgpu_odometry_frame){0};
        return status;
    }
    if (!f->good) {
        for (int i = 0; i < 16; i++) {
            f->T_world_frame[i] = NAN;
        }
        o->lost++;
        o->newest = time;
    }
    f->reference_time = o->keyframe.frame ? o->keyframe.time : o->last.frame ? o->last.time : NAN;
    return PCGPU_OK;
}

pcgpu_status pcgpu_depth_odometry_add_known(pcgpu_depth_odometry *o, const pcgpu_depth *depth, double time,
                                            const double T[16], bool keyframe) {
    pcgpu_camera camera;
    pcgpu_frame *frame;
    pc_clear_error(o->context);
    pcgpu_status status = pc_register_check_pose(o->context, "the pose", T);
    if (status == PCGPU_OK) {
        status = take(o, depth, time, &camera, &frame);
    }
    return status == PCGPU_OK ? accept(o, frame, depth, time, T, keyframe) : status;
}
