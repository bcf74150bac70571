/* One level of a registration: both clouds downsampled, the target's grid and normals, and the iterations. */
#include "icp_grid.h"
#include "register.h"
#include "solve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In units of the level's voxel: the edge of a search cell (for speed), the radius of the neighbourhood of a normal,
 * and the residual at which the robust weight of point-to-plane is a quarter. Chosen on pairs of KITTI scans, of an
 * indoor scanner and of a synthetic street: without the weight the street is off by 2.8 mm instead of 0.4, and a radius
 * of 3 turns the other pairs by 0.03 degree more. */
#define EDGE          3.0
#define NORMAL_RADIUS 2.0
#define ROBUST_SCALE  0.4

/* A cycle of poses this close together is as converged as nearest neighbours allow. */
#define CYCLE_METRES  1e-3
#define CYCLE_RADIANS 1e-4

double pc_register_stage_end(pc_register_work *w, pc_register_stage which, double begin) {
    double now = pc_now();
    w->seconds[which] += now - begin;
    return now;
}

/* ---- points ---------------------------------------------------------------------------------------------------- */

/* A grid over all points with its corner at multiples of the size. */
static pcgpu_status cover(pc_register_work *w, const pc_rows *points, double size, pc_grid *grid) {
    for (int k = 0; k < 3; k++) {
        float low = points->xyz[k], high = points->xyz[k];
        for (int64_t i = 1; i < points->n; i++) {
            float p = points->xyz[3 * i + k];
            low = p < low ? p : low;
            high = p > high ? p : high;
        }
        double corner = floor((double)low / size) * size;
        double cells = floor(((double)high - corner) / size) + 2.0;
        if (!(cells <= PC_ICP_MAX_CELLS)) {
            return pc_fail(
                w->context, PCGPU_ERROR_ARGUMENT,
                "a cloud spans %.3g m, more than %d voxels of %.3g m; remove far outliers or use a larger voxel",
                (double)high - (double)low, PC_ICP_MAX_CELLS, size);
        }
        grid->size[k] = (float)size;
        grid->min[k] = fminf((float)corner, low);
        grid->max[k] = fmaxf((float)(corner + cells * size), nextafterf(high, HUGE_VALF));
        grid->cells[k] = (float)cells;
    }
    return PCGPU_OK;
}

/* out = the voxel means of `points`, or the points themselves when there is no voxel size. */
static pcgpu_status downsample(pc_register_work *w, const pc_rows *points, double size, pc_rows *out) {
    pc_voxelize_job job = {.rows = points->n, .columns = 3, .data = points->xyz, .features = PCGPU_FEATURES_MEAN};
    pcgpu_voxels voxels = {0};
    free(out->xyz);
    *out = (pc_rows){0};
    if (size == 0.0) {
        size_t bytes = (size_t)points->n * 3 * sizeof *out->xyz;
        out->xyz = malloc(bytes);
        if (!out->xyz) {
            return pc_fail_memory(w->context, bytes, "the points");
        }
        memcpy(out->xyz, points->xyz, bytes);
        out->n = points->n;
        return PCGPU_OK;
    }
    pcgpu_status status = cover(w, points, size, &job.grid);
    if (status == PCGPU_OK) {
        status = w->backend->voxelize(w->context, &job, &voxels);
    }
    if (status == PCGPU_OK) {
        *out = (pc_rows){voxels.count, voxels.features};
        voxels.features = NULL;
    }
    pcgpu_voxels_free(&voxels);
    return status;
}

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
    return w->backend->icp_source(w->context, (int64_t)n, w->split, w->split + n, w->split + 2 * n);
}

/* Everything before the first step of level `l`. Without a voxel size the finest level keeps every point, and the
 * others take the voxel that goes with their gate in the defaults. */
static pcgpu_status prepare(pc_register_work *w, int l) {
    const pcgpu_register_params *p = w->params;
    bool finest = l == w->levels - 1;
    w->gate = p->max_distance / (double)(1 << l);
    w->spacing = p->voxel > 0.0 ? p->voxel * (double)(1 << (w->levels - 1 - l)) : 0.5 * w->gate;
    double size = finest ? p->voxel : w->spacing;
    double begin = pc_now();
    pcgpu_status status = downsample(w, &w->source, size, &w->level_source);
    if (status == PCGPU_OK) {
        status = downsample(w, &w->target, size, &w->level_target);
    }
    begin = pc_register_stage_end(w, PC_STAGE_DOWNSAMPLE, begin);
    pc_icp_grid_free(&w->grid);
    if (status == PCGPU_OK) {
        double edge = fmax(EDGE * w->spacing, 0.125 * w->gate);
        status = pc_icp_grid_build(w->context, w->level_target.n, w->level_target.xyz, edge, &w->grid);
    }
    begin = pc_register_stage_end(w, PC_STAGE_INDEX, begin);
    if (status == PCGPU_OK) {
        /* point-to-point needs normals too in the end, to tell what the scene constrains */
        w->normals = p->method == PCGPU_REGISTER_PLANE || finest;
        pc_icp_target target = {.grid = w->grid,
                                .normal_radius = w->normals ? (float)(NORMAL_RADIUS * w->spacing) : 0.0f};
        status = w->backend->icp_target(w->context, &target);
    }
    if (status == PCGPU_OK) {
        status = split_source(w);
    }
    pc_register_stage_end(w, PC_STAGE_NORMALS, begin);
    return status;
}

/* ---- iterations -------------------------------------------------------------------------------------------------- */

pcgpu_status pc_register_step(pc_register_work *w, pc_icp_rows kind, bool robust, double *sums) {
    pc_icp_step step = {.gate_squared = (float)(w->gate * w->gate), .rows = kind};
    double scale = ROBUST_SCALE * w->spacing;
    step.scale_squared = robust ? scale * scale : 0.0;
    pc_quaternion_matrix(w->pose.q, step.R);
    memcpy(step.t, w->pose.t, sizeof step.t);
    memcpy(step.center, w->center, sizeof step.center);
    return w->backend->icp_step(w->context, &step, sums);
}

/* Says why this step has no solution, or solves it. */
static bool solve(pc_register_work *w, const double *sums, double update[6]) {
    char *why = w->result->reason;
    size_t size = sizeof w->result->reason;
    if (sums[PC_ICP_MATCHES] == 0.0) {
        snprintf(why, size, "no overlap: no source point has a target point within %g m", w->gate);
    } else if (sums[PC_ICP_EQUATIONS] < PC_REGISTER_MIN_POINTS) {
        snprintf(why, size, "too few correspondences: %.0f source points have a usable target point within %g m",
                 sums[PC_ICP_EQUATIONS], w->gate);
    } else if (!pc_solve_step(sums, w->lever, update) || !isfinite(pc_norm3(update) + pc_norm3(update + 3))) {
        snprintf(why, size, "the correspondences constrain no direction");
    } else {
        return true;
    }
    return false;
}

static pcgpu_status iterate(pc_register_work *w) {
    const pcgpu_register_params *p = w->params;
    /* a robust weight makes point-to-point cling to the rings of a laser scanner, which move with the scanner */
    bool plane = p->method == PCGPU_REGISTER_PLANE;
    pc_pose_history history = {0};
    double sums[PC_ICP_SUMS], update[6];
    for (int i = 0; i < p->max_iterations && !w->converged; i++) {
        pcgpu_status status = pc_register_step(w, plane ? PC_ICP_ROWS_PLANE : PC_ICP_ROWS_POINT, plane, sums);
        if (status != PCGPU_OK) {
            return status;
        }
        w->result->iterations++;
        if (!solve(w, sums, update)) {
            w->stopped = true;
            return PCGPU_OK;
        }
        double turn = pc_norm3(update), shift = pc_norm3(update + 3);
        pc_pose next = pc_pose_updated(&w->pose, w->center, update);
        pc_pose_remember(&history, &w->pose, sums[PC_ICP_COST] / sums[PC_ICP_EQUATIONS]);
        w->pose = next;
        w->converged =
            (shift <= p->translation_epsilon && turn <= p->rotation_epsilon) ||
            (shift < CYCLE_METRES && turn < CYCLE_RADIANS &&
             pc_pose_ends_in_cycle(&w->pose, w->center, p->translation_epsilon, p->rotation_epsilon, &history));
    }
    return PCGPU_OK;
}

pcgpu_status pc_register_level(pc_register_work *w, int l) {
    w->converged = false;
    pcgpu_status status = prepare(w, l);
    double begin = pc_now();
    if (status == PCGPU_OK) {
        status = iterate(w);
    }
    pc_register_stage_end(w, PC_STAGE_ITERATE, begin);
    return status;
}
