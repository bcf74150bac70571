/* One level of a registration: both clouds downsampled, the target's grid and normals, and the iterations. */
#include "icp_grid.h"
#include "icp_ops.h"
#include "optimizer.h"
#include "icp.h"
#include "solve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In units of the level's voxel: the edge of a search cell (for speed), the radius of the neighbourhood of a normal,
 * the residual at which the weight of a score is a quarter, that at which the weight of an equation is a half, and the
 * update that ends a level above the finest. Chosen on pairs of KITTI scans, of an indoor scanner and of a synthetic
 * street: a radius of 3 turns the other pairs by 0.03 degree more. */
#define EDGE          3.0
#define NORMAL_RADIUS 2.0
#define SCORE_SCALE   0.4
#define KERNEL_SCALE  0.14
#define COARSE_STEP   0.004

/* Nearest neighbours do not converge further than a cycle of poses this close together. */
#define CYCLE_VOXELS  4e-3
#define CYCLE_RADIANS 1e-4

/* ---- preparation ------------------------------------------------------------------------------------------------- */

static pcgpu_status split_source(pc_register_work *w) {
    size_t n = (size_t)w->level_source.n;
    free(w->split);
    w->split = malloc(3 * n * sizeof *w->split);
    if (!w->split) {
        return pc_fail_memory(w->context, 12 * n, "the source");
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < 3; k++) {
            w->split[k * n + i] = w->level_source.xyz[3 * i + k];
        }
    }
    return PCGPU_OK;
}

/* Gives the source to the back end, with the grid from which its normals are estimated. */
static pcgpu_status give_source(pc_register_work *w, bool paired, double edge, float radius) {
    const bool estimates = paired && !w->level_source.normals;
    pc_icp_grid_free(&w->source_grid);
    PC_TRY(split_source(w));
    if (estimates) {
        PC_TRY(pc_icp_grid_build(w->context, w->level_source.n, w->level_source.xyz, edge, &w->source_grid));
    }
    const int64_t n = w->level_source.n;
    pc_icp_source source = {.n = n,
                            .x = w->split,
                            .y = w->split + n,
                            .z = w->split + 2 * n,
                            .normals = paired ? w->level_source.normals : NULL,
                            .grid = &w->source_grid,
                            .normal_radius = estimates ? radius : 0.0f};
    return w->backend->icp->source(w->context, &source);
}

/* The target's own normals in the order of its grid. */
static pcgpu_status group_normals(pc_register_work *w) {
    const size_t n = (size_t)w->level_target.n;
    free(w->grouped);
    w->grouped = NULL;
    if (!w->level_target.normals) {
        return PCGPU_OK;
    }
    w->grouped = malloc(3 * n * sizeof *w->grouped);
    if (!w->grouped) {
        return pc_fail_memory(w->context, 12 * n, "the target's normals");
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(w->grouped + 3 * i, w->level_target.normals + 3 * (size_t)w->grid.points[i].index, 3 * sizeof(float));
    }
    return PCGPU_OK;
}

/* Prepares level `l`. Without a voxel size the finest level keeps every point, and the others take the default voxel of
 * their maximum correspondence distance. */
static pcgpu_status prepare(pc_register_work *w, int l) {
    const pcgpu_register_params *p = w->params;
    bool finest = l == w->levels - 1;
    w->max_correspondence = p->max_distance / (double)(1 << l);
    w->spacing = p->voxel > 0.0 ? p->voxel * (double)(1 << (w->levels - 1 - l)) : 0.5 * w->max_correspondence;
    double size = finest ? p->voxel : w->spacing;
    double begin = pc_now();
    double edge = fmax(EDGE * w->spacing, 0.125 * w->max_correspondence);
    PC_TRY(pc_rows_downsample(w, &w->source, size, &w->level_source));
    PC_TRY(pc_rows_downsample(w, &w->target, size, &w->level_target));
    begin = pc_register_stage_end(w, PC_STAGE_DOWNSAMPLE, begin);
    pc_icp_grid_free(&w->grid);
    PC_TRY(pc_icp_grid_build(w->context, w->level_target.n, w->level_target.xyz, edge, &w->grid));
    PC_TRY(group_normals(w));
    begin = pc_register_stage_end(w, PC_STAGE_INDEX, begin);
    const float radius = (float)(NORMAL_RADIUS * w->spacing);
    /* point-to-point needs normals at the end, too, to find unconstrained directions */
    w->normals = p->method != PCGPU_REGISTER_POINT || finest;
    pc_icp_target target = {.grid = w->grid, .normals = w->grouped, .normal_radius = w->normals ? radius : 0.0f};
    PC_TRY(w->backend->icp->target(w->context, &target));
    PC_TRY(give_source(w, p->method == PCGPU_REGISTER_GICP && finest, edge, radius));
    pc_register_stage_end(w, PC_STAGE_NORMALS, begin);
    return PCGPU_OK;
}

/* ---- iterations -------------------------------------------------------------------------------------------------- */

pc_register_weights pc_register_score_weights(const pc_register_work *w) {
    return (pc_register_weights){PC_ICP_KERNEL_GEMAN, SCORE_SCALE * w->spacing};
}

/* Of the iterations. Levels above the finest have no kernel: far from the answer, small residuals do not mean correct
 * matches. On halves of KITTI scans, a kernel at all levels was up to 0.8 m off, where rings lay on rings. */
static pc_register_weights weights_of(const pc_register_work *w, bool finest) {
    /* with robust weights point-to-point locks to the rings of a laser scanner, which move with the scanner */
    const bool robust = finest && w->params->method != PCGPU_REGISTER_POINT;
    return (pc_register_weights){robust ? PC_ICP_KERNEL_CAUCHY : PC_ICP_KERNEL_NONE, KERNEL_SCALE * w->spacing};
}

/* Plane-to-plane weights only at the finest level: above it, they favour what fits already. */
static pc_icp_rows rows_of(const pc_register_work *w, bool finest) {
    const pcgpu_register_method method = w->params->method;
    return method == PCGPU_REGISTER_POINT            ? PC_ICP_ROWS_POINT
           : method == PCGPU_REGISTER_GICP && finest ? PC_ICP_ROWS_PAIR
                                                     : PC_ICP_ROWS_PLANE;
}

pcgpu_status pc_register_step(pc_register_work *w, pc_icp_rows kind, pc_register_weights weights, double *sums) {
    pc_icp_step step = {.max_correspondence_squared = (float)(w->max_correspondence * w->max_correspondence),
                        .scale_squared = weights.scale * weights.scale,
                        .kernel = weights.kernel,
                        .rows = kind};
    pc_quaternion_matrix(w->pose.q, step.R);
    memcpy(step.t, w->pose.t, sizeof step.t);
    memcpy(step.center, w->center, sizeof step.center);
    return w->backend->icp->step(w->context, &step, sums);
}

/* Solves the step, or writes the reason why it has no solution. */
static bool solve(pc_register_work *w, const double *sums, double update[6]) {
    char *why = w->result->reason;
    size_t size = sizeof w->result->reason;
    if (sums[PC_ICP_MATCHES] == 0.0) {
        snprintf(why, size, "no overlap: no source point has a target point within %g m", w->max_correspondence);
    } else if (sums[PC_ICP_EQUATIONS] < PC_REGISTER_MIN_POINTS) {
        snprintf(why, size, "too few correspondences: %.0f source points have a usable target point within %g m",
                 sums[PC_ICP_EQUATIONS], w->max_correspondence);
    } else if (!pc_solve_step(sums, w->gyration, update) || !isfinite(pc_norm3(update) + pc_norm3(update + 3))) {
        snprintf(why, size, "the correspondences constrain no direction");
    } else {
        return true;
    }
    return false;
}

static pcgpu_status iterate(pc_register_work *w, bool finest) {
    const pcgpu_register_params *p = w->params;
    const pc_register_weights weights = weights_of(w, finest);
    const pc_icp_rows rows = rows_of(w, finest);
    const double step = finest ? 0.0 : COARSE_STEP * w->spacing,
                 arm = fmax(w->gyration[0], fmax(w->gyration[1], w->gyration[2]));
    const double metres = fmax(p->translation_epsilon, step), radians = fmax(p->rotation_epsilon, step / arm);
    const int most = pc_optimizer_rounds(finest && p->method != PCGPU_REGISTER_POINT, p->max_iterations);
    pc_optimizer o = {.pose = w->pose};
    double sums[PC_ICP_SUMS], update[6];
    pc_optimizer_begin_level(&o, 0, metres, radians);
    do {
        PC_TRY(pc_check_cancelled(w->context));
        PC_TRY(pc_register_step(w, rows, weights, sums));
        w->result->iterations++;
        if (!solve(w, sums, update)) {
            w->stopped = true;
            return PCGPU_OK;
        }
        pc_optimizer_move(&o, w->center, sums[PC_ICP_COST] / sums[PC_ICP_EQUATIONS], update);
        o.converged = pc_optimizer_is_short(&o, pc_square3(update + 3), pc_square3(update));
        if (!o.converged &&
            (!finest || (pc_norm3(update + 3) < CYCLE_VOXELS * w->spacing && pc_norm3(update) < CYCLE_RADIANS))) {
            pc_optimizer_find_cycle(&o, w->center);
        }
        w->pose = o.pose;
    } while (!pc_optimizer_ends_level(&o, most));
    w->converged = o.converged;
    return PCGPU_OK;
}

pcgpu_status pc_register_level(pc_register_work *w, int l) {
    w->converged = false;
    PC_TRY(prepare(w, l));
    double begin = pc_now();
    PC_TRY(iterate(w, l == w->levels - 1));
    pc_register_stage_end(w, PC_STAGE_ITERATE, begin);
    return PCGPU_OK;
}
