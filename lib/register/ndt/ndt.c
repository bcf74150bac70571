/* Registration by cells: distribution to distribution, on the moments of the points in cubic cells.
 *
 * The target is divided into cells; each keeps the count, the mean m and the covariance C of its points. An iteration
 * moves the source by the present pose and adds it to these cells; where the n points of the source in a cell have the
 * mean q, the residual is d = q - m. It is weighted by W = s^2 (C + s^2 I)^-2: with C = sum of l e e^T over
 * eigenvectors e, W is the sum of s^2 / (l + s^2)^2 e e^T, which is 1 / s^2 across a plane (l << s^2) and next to
 * nothing along it, so that cells slide along their surfaces as in point-to-plane ICP, without an eigenvector being
 * computed. Gauss-Newton steps maximize the sum over cells of w k^2 / (k^2 + d^T W d), where w grows with the points of
 * the two means and saturates; its derivative is the squared Geman-McClure kernel (k^2 / (k^2 + d^T W d))^2.
 *
 * What is gained: no neighbour is searched, no normal estimated and nothing of the source prepared. Noise averages out
 * within a cell, and both means being taken over the same cell, the points' pattern cancels to first order.
 *
 * Levels go from wide cells to fine ones. The wide ones, and the first steps at the finest, take a part of the source.
 * The last steps take all of it and two grids that are shifted by half a cell, since a surface near a cell's face is
 * seen badly by one of them only. Related: Biber and Strasser 2003 (NDT), Stoyanov et al. 2012 (D2D-NDT), Segal et al.
 * 2009 (generalized ICP), Koide et al. 2021 (voxelized GICP). */
#include "ndt.h"
#include "solve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In finest edges: the noise scale s, and how much of an edge widens it at the levels above. */
#define NOISE    0.055
#define WIDENING 0.05

/* Of a finest cell. */
static double edge_of(const pc_register_work *w) {
    return 2.0 * w->params->voxel;
}

double pc_cells_noise_of(const pc_register_work *w) {
    return NOISE * edge_of(w);
}

void pc_cells_describe_target(const pc_cells_work *c, const pc_pose *pose, pc_cells_target *t) {
    *t = (pc_cells_target){.n = c->target.n,
                           .x = c->target.x,
                           .y = c->target.y,
                           .z = c->target.z,
                           .map = pc_cells_map_at(&c->frame, pose),
                           .quantum = c->frame.quantum,
                           .noise = c->noise,
                           .widening = WIDENING,
                           .levels = c->w->levels};
    memcpy(t->origin, c->frame.origin, sizeof t->origin);
}

static void describe_path(const pc_cells_work *c, pc_cells_path *path) {
    const pcgpu_register_params *params = c->w->params;
    *path = (pc_cells_path){.frame = c->frame,
                            .levels = c->w->levels,
                            .max_iterations = params->max_iterations,
                            .edge = edge_of(c->w),
                            .metres = params->translation_epsilon,
                            .radians = params->rotation_epsilon,
                            .start = c->w->pose};
    memcpy(path->points, c->parts.points, sizeof path->points);
}

/* Follows a path on the host. */
static pcgpu_status follow(const pc_cells_work *c, pc_cells_path *path) {
    double sums[PC_CELLS_MOST_SUMS][PC_CELLS_SUMS];
    pcgpu_status status = PCGPU_OK;
    pc_cells_path_begin(path);
    while (path->end == PC_CELLS_UNDER_WAY && status == PCGPU_OK) {
        const pc_cells_command *command = &path->command;
        if (command->passes) {
            status = c->backend->ndt->pass(c->w->context, &command->pass);
        }
        for (int i = 0; i < command->sums && status == PCGPU_OK; i++) {
            status = c->backend->ndt->sum(c->w->context, &command->step[i], sums[i]);
        }
        if (status == PCGPU_OK) {
            pc_cells_path_next(path, sums);
        }
    }
    return status;
}

void pc_cells_conclude(pc_cells_work *c, const pc_cells_path *path) {
    pc_register_work *w = c->w;
    pcgpu_registration *r = w->result;
    w->pose = path->pose;
    w->converged = path->converged;
    w->gate = path->edge;
    memcpy(w->center, path->target.center, sizeof w->center);
    memcpy(w->lever, path->target.lever, sizeof w->lever);
    for (int l = 0; l < w->levels; l++) {
        r->level_iterations[w->levels - 1 - l] = path->iterations[l];
        r->iterations += path->iterations[l];
    }
    r->source_points = path->points[PC_SET_ALL];
    r->target_points = c->target.n;
    if (path->end == PC_CELLS_NO_OVERLAP) {
        w->stopped = true;
        snprintf(r->reason, sizeof r->reason,
                 "no overlap: no source point lies in a cell of %g m with at least %d points of the target; start "
                 "closer or use a larger voxel",
                 path->edge * (double)(1 << path->phase.level), PC_CELLS_MIN_POINTS);
    } else {
        pc_cells_evaluate(c, path);
    }
}

/* On a back end that is called for every step. */
static pcgpu_status run_by_steps(const pc_cells_work *c, pc_cells_job *job) {
    double begin = pc_now();
    pcgpu_status status = c->backend->ndt->target(c->w->context, &job->target, &job->path.target);
    if (status == PCGPU_OK) {
        status = c->backend->ndt->source(c->w->context, &job->source);
    }
    begin = pc_register_stage_end(c->w, PC_STAGE_INDEX, begin);
    if (status == PCGPU_OK) {
        status = follow(c, &job->path);
    }
    pc_register_stage_end(c->w, PC_STAGE_ITERATE, begin);
    return status;
}

static pcgpu_status run_at_once(const pc_cells_work *c, pc_cells_job *job) {
    double begin = pc_now();
    pcgpu_status status = c->backend->ndt->register_jobs(c->w->context, job, 1);
    pc_register_stage_end(c->w, PC_STAGE_ITERATE, begin);
    return status;
}

/* Lays the target's grid. */
static pcgpu_status lay_target(pc_cells_work *c, pc_cells_target *target) {
    static const pc_pose identity = {.q = {1, 0, 0, 0}};
    c->noise = pc_cells_noise_of(c->w);
    pcgpu_status status = pc_cells_arrange_target(c, edge_of(c->w));
    if (status == PCGPU_OK) {
        pc_cells_describe_target(c, &identity, target);
    }
    return status;
}

/* The target, whose cells a back end may begin to make when it is that of a single pair. */
static pcgpu_status begin(pc_cells_work *c, pc_cells_job *job) {
    if (c->target.n < PC_REGISTER_MIN_POINTS) {
        return PCGPU_OK;
    }
    pcgpu_status status = lay_target(c, &job->target);
    return status == PCGPU_OK && pc_cells_begins(c) ? c->backend->ndt->begin(c->w->context, &job->target) : status;
}

static pcgpu_status run(pc_cells_work *c, pc_cells_job *job) {
    pcgpu_status status = c->backend->ndt->register_jobs ? run_at_once(c, job) : run_by_steps(c, job);
    if (status == PCGPU_OK) {
        pc_cells_conclude(c, &job->path);
    }
    return status;
}

pcgpu_status pc_cells_prepare(pc_cells_work *c, const pcgpu_cloud *source, const pcgpu_cloud *target,
                              pc_cells_job *job) {
    pc_register_work *w = c->w;
    pcgpu_status status = pc_cells_select(c, source, target, begin, job);
    w->source.n = c->source.n;
    w->target.n = c->target.n;
    if (status == PCGPU_OK && w->source.n >= PC_REGISTER_MIN_POINTS && w->target.n >= PC_REGISTER_MIN_POINTS) {
        pc_cells_arrange_source(c);
        job->source = c->parts;
        describe_path(c, &job->path);
    }
    return status;
}

pcgpu_status pc_register_cells(pc_register_work *w, const pcgpu_cloud *source, const pcgpu_cloud *target) {
    pc_cells_work c = {.w = w, .backend = w->backend};
    pc_cells_job job = {0};
    double start = pc_now();
    pcgpu_status status = pc_cells_prepare(&c, source, target, &job);
    pc_register_stage_end(w, PC_STAGE_SELECT, start);
    return status == PCGPU_OK && job.path.levels ? run(&c, &job) : status;
}

/* ---- targets that are held ----------------------------------------------------------------------------------- */

/* The target is held afterwards, and where it was, only its frame is taken. */
static pcgpu_status take_target(pc_cells_work *c, pc_point_set *target, pc_cells_held *held) {
    pc_cells_target t;
    c->frame = held->frame;
    c->target.n = held->points;
    c->noise = pc_cells_noise_of(c->w);
    if (!target || held->held) {
        return PCGPU_OK;
    }
    c->target = *target;
    pcgpu_status status = lay_target(c, &t);
    if (status == PCGPU_OK) {
        status = held->device ? c->backend->ndt->scans_target(c->w->context, held->device, target->place, &t)
                              : c->backend->ndt->target(c->w->context, &t, &held->measure);
    }
    held->held = status == PCGPU_OK;
    held->frame = c->frame;
    held->points = c->target.n;
    return status;
}

pcgpu_status pc_register_cells_hold(pc_register_work *w, pc_point_set *target, pc_cells_held *held) {
    pc_cells_work c = {.w = w, .backend = w->backend};
    return target->n < PC_REGISTER_MIN_POINTS ? PCGPU_OK : take_target(&c, target, held);
}

/* Follows the path of a source to the target that is held. */
static pcgpu_status follow_held(pc_cells_work *c, pc_cells_job *job, const pc_cells_held *held) {
    pcgpu_context *context = c->w->context;
    if (held->device) {
        return c->backend->ndt->scans_register(context, held->device, c->source.place, job);
    }
    pcgpu_status status = c->backend->ndt->source(context, &job->source);
    return status == PCGPU_OK ? follow(c, &job->path) : status;
}

pcgpu_status pc_register_cells_points(pc_register_work *w, pc_point_set *source, pc_point_set *target,
                                      pc_cells_held *held) {
    pc_cells_work c = {.w = w, .backend = w->backend, .source = *source};
    pc_cells_job job = {0};
    w->source.n = source->n;
    w->target.n = target ? target->n : held->points;
    if (w->source.n < PC_REGISTER_MIN_POINTS || w->target.n < PC_REGISTER_MIN_POINTS) {
        return PCGPU_OK;
    }
    double start = pc_now();
    pcgpu_status status = take_target(&c, target, held);
    if (status != PCGPU_OK) {
        return status;
    }
    pc_cells_arrange_source(&c);
    job.source = c.parts;
    describe_path(&c, &job.path);
    job.path.target = held->measure;
    start = pc_register_stage_end(w, PC_STAGE_INDEX, start);
    status = follow_held(&c, &job, held);
    pc_register_stage_end(w, PC_STAGE_ITERATE, start);
    if (status == PCGPU_OK) {
        pc_cells_conclude(&c, &job.path);
    }
    return status;
}
