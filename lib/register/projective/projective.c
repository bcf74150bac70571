/* Registration of depth frames: projective data association and the point-to-plane cost, coarse to fine, as
 * KinectFusion tracks its camera (Newcombe et al. 2011, after Blais and Levine 1995 and Rusinkiewicz and Levoy 2001).
 *
 * What differs, for accuracy: planes fitted to 5 x 5 depths in place of central differences give the normals, and the
 * depths, of both frames, without the steps of a camera's quantization; pixels are weighted by the noise of a depth,
 * which grows with its square, and by a kernel; the finest level ends when the pose stands still. The arithmetic is in
 * projective_math.h, the optimizer in projective_optimizer.h. */
#include "depth.h"
#include "projective.h"
#include "register.h"
#include "solve.h"

#include <stdio.h>
#include <string.h>

/* Pixels are as uncertain together as one of so many: each depth takes part in as many planes. */
#define SHARED_DEPTHS ((double)((2 * PC_DEPTH_TAPS + 1) * (2 * PC_DEPTH_TAPS + 1)))

/* What the normals of the target alone say about a direction beyond those of both frames is noise. A sensor repeats a
 * part of it in the next frame, such as the waves that stereo matching puts on a floor, and would seem to stand still:
 * so much of the noise is taken off what both say. Of 411 pairs of a Kinect that are less than 15 mm off, that declines
 * one; of 120 with twice the noise 6; and both pairs of 1,622 that are over 60 mm off and pass all other checks. */
#define REPEATED_NOISE 0.5

/* Steps that end with the iterations, but not longer than this, are those of pixels that change their partners. */
#define SETTLED_METRES  1e-3
#define SETTLED_RADIANS 1e-3

_Static_assert((int)PCGPU_DEPTH_LEVELS <= (int)PC_DEPTH_MAX_LEVELS, "levels of a frame");

void pcgpu_register_depth_params_init_sized(pcgpu_register_depth_params *params, size_t struct_size) {
    pcgpu_register_depth_params initial = {
        .init = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1},
        .levels = 3,
        .level_iterations = {4, 5, 10},
        .max_distance = 0.4,
        .translation_epsilon = 1e-5,
        .rotation_epsilon = 1e-5,
        .min_score = 0.2,
    };
    pc_struct_init(params, struct_size, &initial, sizeof initial);
}

/* ---- convergence check ------------------------------------------------------------------------------------------- */

/* The sum of the weights, of which unit normals make the diagonal of the translation's block. */
static double weights_of(const double *sums) {
    return sums[PC_ICP_JJ + 15] + sums[PC_ICP_JJ + 18] + sums[PC_ICP_JJ + 20];
}

/* Moves the point that rotations of the 6x6 sum of j j^T among the sums are about, by `by`: the upper half of each j is
 * a x n, which becomes a x n - by x n. */
static void move_center(const double by[3], double *sums) {
    double a[36];
    int at = PC_ICP_JJ;
    pc_information(sums, a);
    for (int side = 0; side < 2; side++) { /* rows, then columns */
        const int across = side == 0 ? 1 : 6, along = side == 0 ? 6 : 1;
        for (int i = 0; i < 6; i++) {
            double *v = a + i * across;
            v[0] -= by[1] * v[5 * along] - by[2] * v[4 * along];
            v[along] -= by[2] * v[3 * along] - by[0] * v[5 * along];
            v[2 * along] -= by[0] * v[4 * along] - by[1] * v[3 * along];
        }
    }
    for (int i = 0; i < 6; i++) {
        for (int j = i; j < 6; j++) {
            sums[at++] = a[6 * i + j];
        }
    }
}

/* What sums constrain along a unit vector of pc_conditioning, in units of its eigenvalues. */
static double constrained_along(const double *sums, const double gyration[3], const double direction[6]) {
    double a[36], v[6], along = 0.0;
    pc_information(sums, a);
    for (int i = 0; i < 6; i++) {
        v[i] = i < 3 ? direction[i] / gyration[i] : direction[i];
    }
    for (int i = 0; i < 36; i++) {
        along += v[i / 6] * v[i % 6] * a[i];
    }
    return along / weights_of(sums);
}

/* Finds unconstrained directions, about the centre and in the scale of the pixels with the weights of their equations:
 * far ones, of which a stereo camera has some at tens of metres, would make the rotations that near ones determine look
 * small. */
static void condition(const pc_depth_optimizer *optimizer, pcgpu_registration *r) {
    const pc_depth_measure *target = &optimizer->target;
    pc_conditioning c;
    double both[PC_ICP_SUMS], one[PC_ICP_SUMS], by[3];
    memcpy(both, optimizer->scene, sizeof both);
    memcpy(one, optimizer->final_sums, sizeof one);
    for (int k = 0; k < 3; k++) {
        by[k] = target->weighted_center[k] - optimizer->center[k];
    }
    move_center(by, both);
    move_center(by, one);
    both[PC_ICP_EQUATIONS] = weights_of(both);
    pc_conditioning_of(both, target->weighted_gyration, PC_DEGENERATE_DEPTH, &c);
    for (; c.unconstrained < 6; c.unconstrained++) {
        const double *direction = c.vectors + 6 * c.unconstrained, held = c.values[c.unconstrained];
        const double noise = fmax(constrained_along(one, target->weighted_gyration, direction) - held, 0.0);
        if (held - REPEATED_NOISE * noise >= PC_DEGENERATE_DEPTH) {
            break;
        }
    }
    for (int i = 0; i < 6; i++) {
        r->eigenvalues[i] = c.values[i] > 0.0 ? c.values[i] : 0.0; /* less is noise */
    }
    r->degenerate = c.unconstrained > 0;
    if (r->degenerate) {
        pc_describe_unconstrained(&c, r->unconstrained, sizeof r->unconstrained);
    }
}

/* Noise takes weight from the pixels that match, and keeps others from matching. A false pose does only the latter:
 * some of its surfaces match well, since a wall fits a wall, and others do not at all. So where the share of the landed
 * pixels that match is below the mean weight of the matches, noise is not the reason, and the score falls with the
 * fourth power of their ratio. Of 1,250 pairs of a Kinect, as it is and with 2 and 5 times its noise, and of a
 * generated scene, right ones keep a ratio of 0.8 or more, wrong ones with an agreement above the default limit have at
 * most 0.79. */
static double score_of(double matched, double agreement) {
    const double ratio = matched * matched / agreement; /* agreement: `matched` times the mean weight */
    return agreement * (ratio < 1.0 ? (ratio * ratio) * (ratio * ratio) : 1.0);
}

/* Quality of the last sums. */
static void evaluate(const pc_depth_optimizer *optimizer, pcgpu_registration *r) {
    const double matches = optimizer->scene[PC_ICP_MATCHES], kernel = optimizer->scene[PC_DEPTH_KERNEL_SUM],
                 free = matches - 6.0;
    const double landed = optimizer->scene[PC_DEPTH_LANDED];
    const double weights = weights_of(optimizer->final_sums);
    r->inliers = (int64_t)matches;
    r->fitness = matches / (double)r->source_points;
    if (!(matches > 0.0) || !(weights > 0.0) || !(weights_of(optimizer->scene) > 0.0)) {
        return;
    }
    r->inlier_rmse = r->plane_rmse = sqrt(optimizer->scene[PC_ICP_R2] / matches);
    r->agreement = kernel / landed;
    r->score = score_of(matches / landed, r->agreement);
    condition(optimizer, r);
    /* the weights of depths in units of their mean */
    const double unit = optimizer->final_sums[PC_DEPTH_KERNEL_SUM] / weights;
    pc_information(optimizer->final_sums, r->information);
    for (int i = 0; i < 36; i++) {
        r->information[i] *= unit;
    }
    const double variance = optimizer->final_sums[PC_ICP_COST] * unit / (free > 1.0 ? free : 1.0);
    pc_covariance_of(r->information, SHARED_DEPTHS * variance, r->covariance);
}

static bool settled(const pc_depth_optimizer *optimizer) {
    return optimizer->base.converged ||
           (pc_norm3(optimizer->update + 3) <= SETTLED_METRES && pc_norm3(optimizer->update) <= SETTLED_RADIANS);
}

static void check_convergence(const pc_depth_optimizer *optimizer, const pcgpu_register_depth_params *p,
                              pcgpu_registration *r) {
    char *why = r->reason;
    const size_t size = sizeof r->reason;
    const double max_correspondence = pc_depth_max_correspondence(optimizer, optimizer->base.level);
    if (optimizer->end == PC_DEPTH_NO_OVERLAP) {
        snprintf(why, size, "no overlap: next to no pixel of the source falls within %g m of the target; start closer",
                 max_correspondence);
    } else if (r->fitness < p->min_score) {
        snprintf(why, size,
                 "too little overlap: %.1f %% of the source's pixels fall within %g m of the target; %.1f %% "
                 "are wanted",
                 100.0 * r->fitness, max_correspondence, 100.0 * p->min_score);
    } else if (r->score < p->min_score) {
        snprintf(why, size,
                 "the surfaces do not agree: where both frames show one, weighted by their distances %.1f %% do, and "
                 "%.1f %% "
                 "of all pixels match; the score %.3f is below %.3f",
                 100.0 * r->agreement, 100.0 * r->fitness, r->score, p->min_score);
    } else if (r->degenerate) {
        snprintf(why, size, "the scene leaves a direction open: %s", r->unconstrained);
    } else if (!settled(optimizer)) {
        snprintf(why, size, "%d iterations were not enough at the finest level; allow more or start closer",
                 optimizer->most[0]);
    } else {
        r->converged = true;
        snprintf(why, size, "converged after %d iterations", r->iterations);
    }
}

/* Writes the reason when a frame has too few pixels with a surface. */
static bool enough_pixels(pcgpu_registration *r) {
    const bool source = r->source_points < PC_REGISTER_MIN_POINTS;
    if (source || r->target_points < PC_REGISTER_MIN_POINTS) {
        snprintf(r->reason, sizeof r->reason, "the %s has %lld pixels that show a surface; at least %d are needed",
                 source ? "source" : "target", (long long)(source ? r->source_points : r->target_points),
                 PC_REGISTER_MIN_POINTS);
        return false;
    }
    return true;
}

static void conclude(const pc_depth_optimizer *optimizer, const pcgpu_register_depth_params *p, pcgpu_registration *r) {
    r->levels = optimizer->levels;
    r->source_points = (int64_t)optimizer->source_points;
    r->target_points = (int64_t)optimizer->target.points;
    memcpy(r->T_target_source, p->init, sizeof r->T_target_source);
    for (int l = 0; l < optimizer->levels; l++) {
        r->level_iterations[optimizer->levels - 1 - l] = optimizer->base.iterations[l];
        r->iterations += optimizer->base.iterations[l];
    }
    if (!enough_pixels(r)) {
        return;
    }
    pc_pose_matrix(&optimizer->base.pose, r->T_target_source);
    memcpy(r->center, optimizer->target.center, sizeof r->center);
    if (optimizer->end == PC_DEPTH_ARRIVED) {
        evaluate(optimizer, r);
    }
    check_convergence(optimizer, p, r);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void describe_optimizer(const pcgpu_frame *source, const pcgpu_frame *target,
                               const pcgpu_register_depth_params *p, pc_depth_optimizer *optimizer) {
    const int both = source->maps.levels < target->maps.levels ? source->maps.levels : target->maps.levels;
    *optimizer = (pc_depth_optimizer){.levels = both < p->levels ? both : p->levels,
                                      .max_correspondence = p->max_distance,
                                      .metres = p->translation_epsilon,
                                      .radians = p->rotation_epsilon,
                                      .start = pc_matrix_pose(p->init)};
    for (int l = 0; l < optimizer->levels; l++) {
        optimizer->most[l] = p->level_iterations[p->levels - 1 - l];
    }
}

static void report_seconds(const pc_depth_optimizer *optimizer, pcgpu_run *run) {
    char name[sizeof run->stage[0].name];
    for (int l = optimizer->levels - 1; l >= 0; l--) {
        snprintf(name, sizeof name, "level %d", optimizer->levels - l);
        pc_stage(run, name, pc_now() - optimizer->seconds[l]);
    }
}

pcgpu_status pc_register_frames(pcgpu_context *context, pcgpu_frame *source, pcgpu_frame *target,
                                const pcgpu_register_depth_params *params, bool report_maps,
                                pcgpu_registration *result) {
    pc_depth_optimizer optimizer;
    describe_optimizer(source, target, params, &optimizer);
    pcgpu_status status =
        source->backend->projective->register_frames(context, &source->maps, &target->maps, &optimizer);
    if (status != PCGPU_OK) {
        memset(result, 0, sizeof *result);
        return status;
    }
    conclude(&optimizer, params, result);
    if (report_maps) {
        pc_stage(&result->run, "maps", pc_now() - (optimizer.source_seconds + optimizer.target.seconds));
    }
    report_seconds(&optimizer, &result->run);
    return PCGPU_OK;
}

pcgpu_status pcgpu_register_frames(pcgpu_context *context, pcgpu_frame *source, pcgpu_frame *target,
                                   const pcgpu_register_depth_params *params, pcgpu_registration *result) {
    memset(result, 0, sizeof *result);
    pc_clear_error(context);
    PC_TRY(pc_register_depth_check(context, params));
    if (source->backend != target->backend) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "one frame is on %s and the other on %s; set the device of the context", source->backend->name,
                       target->backend->name);
    }
    result->run = source->run;
    return pc_register_frames(context, source, target, params, false, result);
}

pcgpu_status pcgpu_register_depth(pcgpu_context *context, const pcgpu_depth *source, const pcgpu_depth *target,
                                  const pcgpu_camera *source_camera, const pcgpu_camera *target_camera,
                                  const pcgpu_register_depth_params *params, pcgpu_registration *result) {
    const pc_backend *backend = NULL;
    pcgpu_frame *from = NULL, *to = NULL;
    const double pixels = (double)source->width * source->height + (double)target->width * target->height;
    target_camera = target_camera ? target_camera : source_camera;
    memset(result, 0, sizeof *result);
    pc_clear_error(context);
    PC_TRY(pc_register_depth_check(context, params));
    PC_TRY(pc_camera_check(context, source->width, source->height, source_camera));
    PC_TRY(pc_camera_check(context, target->width, target->height, target_camera));
    if (target_camera == source_camera && (source->width != target->width || source->height != target->height)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "the source has %d x %d pixels and the target %d x %d; give the target's camera", source->width,
                       source->height, target->width, target->height);
    }
    pcgpu_status status;
    PC_TRY_OR(done, status, pc_frame_choose(context, pixels, 2, &result->run, &backend));
    PC_TRY_OR(done, status, pc_frame_of_depth(context, backend, target, target_camera, params, &to));
    PC_TRY_OR(done, status, pc_frame_of_depth(context, backend, source, source_camera, params, &from));
    status = pc_register_frames(context, from, to, params, true, result);
done:
    pcgpu_frame_free(context, from);
    pcgpu_frame_free(context, to);
    if (status != PCGPU_OK) {
        memset(result, 0, sizeof *result);
    }
    return status;
}
