/* Method ndt: distribution-to-distribution NDT on the moments of the points in cubic voxels.
 *
 * The target is divided into voxels; each keeps the count, the mean m and the covariance C of its points. An iteration
 * moves the source by the present pose and adds it to these voxels; where the n points of the source in a voxel have
 * the mean q, the residual is d = q - m. It is weighted by W = s^2 (C + s^2 I)^-2: with C = sum of l e e^T over
 * eigenvectors e, W is the sum of s^2 / (l + s^2)^2 e e^T, which is 1 / s^2 across a plane (l << s^2) and nearly 0
 * along it: voxels slide along their surfaces as in point-to-plane ICP, and no eigenvector is computed. A voxel that
 * has no extent in a second direction takes the normal of its parent instead (pc_ndt_finish), except for a last step
 * between two scans from one place, whose laser rings coincide (pc_ndt_take_lines). Gauss-Newton steps maximize the
 * sum over voxels of w k^2 / (k^2 + d^T W d), where w grows with the points of the two means and saturates; its
 * derivative is the squared Geman-McClure kernel (k^2 / (k^2 + d^T W d))^2.
 *
 * Advantages: no neighbour search, no normals, no preprocessing of the source. Noise averages out within a voxel. Both
 * means are taken over the same voxel, so the sampling pattern of the points cancels to first order.
 *
 * Levels go from wide voxels to fine ones. The wide ones, and the first steps at the finest, take a part of the source.
 * The last steps take all of it and two grids that are shifted by half a voxel, since a surface near a voxel's face is
 * sampled badly in one of them only. Related: Biber and Strasser 2003 (NDT), Stoyanov et al. 2012 (D2D-NDT), Segal et
 * al. 2009 (generalized ICP), Koide et al. 2021 (voxelized GICP). */
#include "ndt.h"
#include "solve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In finest edges: the regularization sigma s, and how much of an edge widens it at the levels above. */
#define SIGMA    0.055
#define WIDENING 0.05

/* Of a finest voxel. */
static double edge_of(const pc_register_work *w) {
    return 2.0 * w->params->voxel;
}

double pc_ndt_sigma_of(const pc_register_work *w) {
    return SIGMA * edge_of(w);
}

void pc_ndt_describe_target(const pc_ndt_work *c, const pc_pose *pose, pc_ndt_target *t) {
    *t = (pc_ndt_target){.n = c->target.n,
                         .x = c->target.x,
                         .y = c->target.y,
                         .z = c->target.z,
                         .map = pc_ndt_map_at(&c->frame, pose),
                         .unit = c->frame.unit,
                         .sigma = c->sigma,
                         .widening = WIDENING,
                         .levels = c->w->levels};
    memcpy(t->origin, c->frame.origin, sizeof t->origin);
}

static void describe_optimizer(const pc_ndt_work *c, pc_ndt_optimizer *optimizer) {
    const pcgpu_register_params *params = c->w->params;
    *optimizer = (pc_ndt_optimizer){.frame = c->frame,
                                    .levels = c->w->near ? 1 : c->w->levels,
                                    .max_iterations = params->max_iterations,
                                    .edge = edge_of(c->w),
                                    .metres = params->translation_epsilon,
                                    .radians = params->rotation_epsilon,
                                    .reach = pc_register_reach(c->w),
                                    .start = c->w->pose};
    memcpy(optimizer->points, c->parts.points, sizeof optimizer->points);
}

/* A few points very far away, as through a window, have most of the radii of gyration, and no plane to constrain a
 * rotation so well: such radii are limited by the median distance of the source's points. */
#define MOST_GYRATION 5.0

/* A coordinate of the i-th sample of the source. */
static float sampled(const pc_ndt_work *c, int i, int axis) {
    const float *const axes[3] = {c->source.x, c->source.y, c->source.z};
    return c->copies ? c->copies[3 * (pc_sampling_begin(PC_SAMPLE_POINTS) + i) + axis]
                     : axes[axis][pc_sampling_row(PC_SAMPLE_POINTS, c->source.n, i)];
}

static double most_gyration(const pc_ndt_work *c) {
    const int n = (int)pc_sampling_count(PC_SAMPLE_POINTS, c->source.n);
    float values[PC_SAMPLED_POINTS] = {0}, middle[3];
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < n; i++) {
            values[i] = sampled(c, i, k);
        }
        middle[k] = pc_select_value(values, n, n / 2);
    }
    for (int i = 0; i < n; i++) {
        const float d[3] = {sampled(c, i, 0) - middle[0], sampled(c, i, 1) - middle[1], sampled(c, i, 2) - middle[2]};
        values[i] = (d[0] * d[0] + d[1] * d[1]) + d[2] * d[2];
    }
    const double most = MOST_GYRATION * sqrt((double)pc_select_value(values, n, n / 2));
    return most > 0.0 ? most : INFINITY;
}

void pc_ndt_look(void *state) {
    pc_ndt_work *c = state;
    c->most_gyration = most_gyration(c);
    pc_view_make(c->w->context, c->w->seen, 2, c->w->params->voxel);
}

void pc_ndt_conclude(pc_ndt_work *c, const pc_ndt_job *job, double begin) {
    const pc_ndt_optimizer *optimizer = &job->optimizer;
    pc_register_work *w = c->w;
    pcgpu_registration *r = w->result;
    w->seconds[PC_STAGE_INDEX] += job->target_seconds;
    w->pose = optimizer->base.pose;
    w->converged = optimizer->base.converged;
    w->max_correspondence = optimizer->edge;
    memcpy(w->center, optimizer->target.center, sizeof w->center);
    memcpy(w->gyration, optimizer->target.gyration, sizeof w->gyration);
    c->most_gyration = c->most_gyration > 0.0 ? c->most_gyration : most_gyration(c);
    for (int k = 0; k < 3; k++) {
        w->gyration[k] = fmin(w->gyration[k], c->most_gyration);
    }
    for (int l = 0; l < w->levels; l++) {
        r->level_iterations[w->levels - 1 - l] = optimizer->base.iterations[l];
        r->iterations += optimizer->base.iterations[l];
    }
    r->source_points = optimizer->points[PC_SET_ALL];
    r->target_points = c->target.n;
    if (optimizer->end == PC_NDT_NO_OVERLAP) {
        w->stopped = true;
        snprintf(r->reason, sizeof r->reason,
                 "no overlap: no source point lies in a voxel of %g m with at least %d points of the target; start "
                 "closer or use a larger voxel",
                 optimizer->edge * (double)(1 << optimizer->phase.level), PC_NDT_MIN_POINTS);
    } else {
        pc_ndt_evaluate(c, optimizer);
    }
    pc_register_stage_end(w, PC_STAGE_ITERATE, begin + job->target_seconds);
}

/* Lays the target's grid. */
static pcgpu_status lay_target(pc_ndt_work *c, pc_ndt_target *target) {
    static const pc_pose identity = {.q = {1, 0, 0, 0}};
    c->sigma = pc_ndt_sigma_of(c->w);
    PC_TRY(pc_ndt_arrange_target(c, edge_of(c->w)));
    pc_ndt_describe_target(c, &identity, target);
    return PCGPU_OK;
}

/* Lays out the target; a back end may begin to build its voxels when the pair is a single one. */
static pcgpu_status begin(pc_ndt_work *c, pc_ndt_job *job) {
    if (c->target.n < PC_REGISTER_MIN_POINTS) {
        return PCGPU_OK;
    }
    PC_TRY(lay_target(c, &job->target));
    return pc_ndt_is_single(c) ? c->backend->ndt->begin(c->w->context, &job->target) : PCGPU_OK;
}

/* The job after the layout of its target. */
static void complete_job(pc_ndt_work *c, pc_ndt_job *job) {
    pc_register_work *w = c->w;
    w->source.n = c->source.n;
    w->target.n = c->target.n;
    if (w->source.n >= PC_REGISTER_MIN_POINTS && w->target.n >= PC_REGISTER_MIN_POINTS) {
        pc_ndt_arrange_source(c);
        job->source = c->parts;
        describe_optimizer(c, &job->optimizer);
        job->optimizer.single = true;
    }
}

pcgpu_status pc_ndt_prepare(pc_ndt_work *c, const pcgpu_cloud *source, const pcgpu_cloud *target, pc_ndt_job *job) {
    PC_TRY(pc_ndt_select(c, source, target, begin, job));
    complete_job(c, job);
    return PCGPU_OK;
}

pcgpu_status pc_ndt_make_job(pc_ndt_work *c, pc_ndt_job *job) {
    PC_TRY(c->target.n < PC_REGISTER_MIN_POINTS ? PCGPU_OK : lay_target(c, &job->target));
    complete_job(c, job);
    return PCGPU_OK;
}

pcgpu_status pc_register_ndt(pc_register_work *w, const pcgpu_cloud *source, const pcgpu_cloud *target) {
    pc_ndt_work c = {.w = w, .backend = w->backend};
    pc_ndt_job job = {0};
    double start = pc_now();
    PC_TRY(pc_ndt_prepare(&c, source, target, &job));
    start = pc_register_stage_end(w, PC_STAGE_SELECT, start);
    if (job.optimizer.levels > 0) {
        PC_TRY(w->backend->ndt->register_jobs(w->context, &job, 1, (pc_host_work){pc_ndt_look, &c}));
        pc_ndt_conclude(&c, &job, start);
    }
    return PCGPU_OK;
}

/* ---- targets that are held --------------------------------------------------------------------------------------- */

/* Holds the target; if it was held already, takes only its frame. */
static pcgpu_status take_target(pc_ndt_work *c, pc_points *target, pc_ndt_held *held) {
    pc_ndt_target t;
    c->frame = held->frame;
    c->target.n = held->points;
    c->sigma = pc_ndt_sigma_of(c->w);
    if (!target || held->held) {
        return PCGPU_OK;
    }
    c->target = *target;
    PC_TRY(lay_target(c, &t));
    PC_TRY(c->backend->ndt->sequence_target(c->w->context, held->sequence, target->scan, &t));
    held->held = true;
    held->frame = c->frame;
    held->points = c->target.n;
    return PCGPU_OK;
}

pcgpu_status pc_register_ndt_hold(pc_register_work *w, pc_points *target, pc_ndt_held *held) {
    pc_ndt_work c = {.w = w, .backend = w->backend};
    return target->n < PC_REGISTER_MIN_POINTS ? PCGPU_OK : take_target(&c, target, held);
}

pcgpu_status pc_register_ndt_points(pc_register_work *w, pc_points *source, pc_points *target, pc_ndt_held *held) {
    pc_ndt_work c = {.w = w, .backend = w->backend, .source = *source};
    pc_ndt_job job = {0};
    w->source.n = source->n;
    w->target.n = target ? target->n : held->points;
    if (w->source.n < PC_REGISTER_MIN_POINTS || w->target.n < PC_REGISTER_MIN_POINTS) {
        return PCGPU_OK;
    }
    double start = pc_now();
    PC_TRY(take_target(&c, target, held));
    pc_ndt_arrange_source(&c);
    job.source = c.parts;
    describe_optimizer(&c, &job.optimizer);
    job.optimizer.target = held->measure;
    job.optimizer.in_map = !target;
    start = pc_register_stage_end(w, PC_STAGE_INDEX, start);
    PC_TRY(w->backend->ndt->sequence_register(w->context, held->sequence, source->scan, &job,
                                              (pc_host_work){pc_ndt_look, &c}));
    pc_ndt_conclude(&c, &job, start);
    return PCGPU_OK;
}
