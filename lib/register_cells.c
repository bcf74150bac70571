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
#include "register_cells.h"
#include "solve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In finest edges: the noise scale s, and how much of an edge widens it at the levels above. */
#define NOISE    0.055
#define WIDENING 0.05

/* k of the kernel in units of s: while far from the answer, and at the finest level. */
#define KERNEL_WIDE 2.0
#define KERNEL_FINE 1.0

/* A cell with this many points counts half as much as one with all the points in the world: while far from the answer,
 * and at the finest level, where more trust in cells near the scanner pulls towards the pattern of its rings. */
#define POINTS_WIDE 100.0
#define POINTS_FINE 12.0

/* Steps that move the points by less than this much of the level's edge end a phase that is not the last. */
#define LEVEL_STEP 0.004

#define RIDGE    1e-3 /* on the diagonal, relative to its mean: limits steps that the scene says nothing about */
#define SHRINKS  0.7  /* a step that is smaller than the one before by this factor lets the next be foretold */
#define ROUNDING 1e-6 /* of a gain */
/* A step after which the gain has fallen by more is halved; less is the points' changing of cells. */
#define GAIN_LOST 0.02

enum {
    WIDE_STEPS = 2, /* Gauss-Newton steps for one pass over the points: with wide cells they reach farther */
    FINE_STEPS = 1,
    HALVINGS = 3,
};

/* Of a finest cell. */
static double edge_of(const pc_register_work *w) {
    return 2.0 * w->params->voxel;
}

static pcgpu_status make_cells(pc_cells_work *c) {
    pc_register_work *w = c->w;
    static const pc_pose identity = {.q = {1, 0, 0, 0}};
    pc_cells_measure measure;
    pc_cells_target target = {.n = c->target.n,
                              .x = c->target.x,
                              .y = c->target.y,
                              .z = c->target.z,
                              .quantum = c->quantum,
                              .noise = c->noise,
                              .widening = WIDENING,
                              .levels = w->levels};
    pc_cells_set_map(c, &identity, &target.map);
    memcpy(target.origin, c->origin, sizeof target.origin);
    pcgpu_status status = c->backend->cells_target(w->context, &target, &measure);
    if (status == PCGPU_OK) {
        memcpy(w->center, measure.center, sizeof w->center);
        memcpy(w->lever, measure.lever, sizeof w->lever);
    }
    return status;
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static pcgpu_status pass(const pc_cells_work *c, const pc_cells_phase *f, const pc_pose *pose) {
    const pc_point_set *set = &c->sets[f->set];
    pc_cells_pass p = {.n = set->n, .x = set->x, .y = set->y, .z = set->z, .level = f->level, .grids = f->grids};
    pc_cells_set_map(c, pose, &p.map);
    return c->backend->cells_pass(c->w->context, &p);
}

pcgpu_status pc_cells_sum(const pc_cells_work *c, const pc_cells_phase *f, pc_cells_sums_of what, double kernel,
                          const pc_pose *pose, const pc_pose *next, double *sums) {
    double turn[9], shift[3];
    pc_cells_step step = {.robust = what == PC_SUMS_SCENE ? 0.0f : 1.0f,
                          .planes = what == PC_SUMS_SOLVE ? 0.0f : 1.0f,
                          .quantum = (float)c->quantum,
                          .points = (float)((double)c->sets[PC_SET_ALL].n / (double)c->sets[f->set].n),
                          .most = (float)(f->level > 0 ? POINTS_WIDE : POINTS_FINE),
                          .kernel = (float)(kernel * kernel)};
    pc_pose_difference(pose, next, c->w->center, turn, shift);
    for (int i = 0; i < 9 && pose != next; i++) {
        step.turn[i] = (float)turn[i];
        step.shift[i / 3] = (float)shift[i / 3];
    }
    return c->backend->cells_sum(c->w->context, &step, sums);
}

/* The Gauss-Newton step, in units in which a turn moves points as far as a translation. */
static bool solve(const pc_register_work *w, const double *sums, double update[6]) {
    double a[36], b[6], scale[6], mean = 0.0;
    pc_information(sums, a);
    for (int i = 0; i < 6; i++) {
        scale[i] = i < 3 ? 1.0 / w->lever[i] : 1.0;
        mean += a[7 * i] * scale[i] * scale[i] / 6.0;
    }
    if (!(mean > 0.0)) {
        return false;
    }
    for (int i = 0; i < 36; i++) {
        a[i] *= scale[i / 6] * scale[i % 6] / mean;
    }
    for (int i = 0; i < 6; i++) {
        a[7 * i] += RIDGE;
        b[i] = -sums[PC_ICP_JR + i] * scale[i] / mean;
    }
    bool solved = pc_solve6(a, b, update);
    for (int i = 0; i < 6; i++) {
        update[i] *= scale[i];
    }
    return solved;
}

/* The last two steps of a phase. */
typedef struct trail {
    double step[6]; /* Gauss-Newton's */
    double move[6]; /* what was made of it */
    int steps;
    double ratio; /* of the steps in the phase before, at the same level; 0 = not known */
} trail;

static double dot6(const pc_register_work *w, const double *a, const double *b) {
    double sum = 0.0;
    for (int i = 0; i < 6; i++) {
        double lever = i < 3 ? w->lever[i] : 1.0;
        sum += (a[i] * lever) * (b[i] * lever);
    }
    return sum;
}

/* A step makes less than the whole way, since points change their cells: the steps shrink like a geometric series. Two
 * of them tell its ratio and its limit (Anderson 1965, with a depth of one). Changes `step` into the move to make and
 * returns the ratio by which the next step is expected to be smaller, 1 when that is not known. */
static double accelerate(const pc_register_work *w, trail *t, double step[6]) {
    double change[6], move[6], ratio = 1.0;
    memcpy(move, step, sizeof move);
    if (t->steps++ > 0) {
        for (int i = 0; i < 6; i++) {
            change[i] = step[i] - t->step[i];
        }
        double before = dot6(w, t->step, t->step), now = dot6(w, step, step), squared = dot6(w, change, change);
        if (now < SHRINKS * SHRINKS * before) {
            double share = dot6(w, step, change) / squared;
            share = share < -1.0 ? -1.0 : share > 0.0 ? 0.0 : share;
            for (int i = 0; i < 6; i++) {
                move[i] -= share * (t->move[i] + change[i]);
            }
            ratio = sqrt(now / before);
        }
    } else {
        for (int i = 0; i < 6; i++) {
            move[i] /= 1.0 - t->ratio;
        }
    }
    memcpy(t->step, step, sizeof t->step);
    memcpy(t->move, move, sizeof t->move);
    memcpy(step, move, sizeof move);
    return ratio;
}

/* The Gauss-Newton step from the present pose, in `step`; gain: at that pose. False when no point meets a cell. */
static pcgpu_status take_step(const pc_cells_work *c, const pc_cells_phase *f, double step[6], double *gain,
                              bool *found) {
    const pc_register_work *w = c->w;
    double sums[PC_CELLS_SUMS], update[6] = {0};
    pc_pose next = w->pose;
    pcgpu_status status = pass(c, f, &w->pose);
    memset(step, 0, 6 * sizeof *step);
    *found = true;
    int steps = f->level > 0 ? WIDE_STEPS : FINE_STEPS;
    for (int k = 0; k < steps && status == PCGPU_OK && *found; k++) {
        status = pc_cells_sum(c, f, PC_SUMS_SOLVE, f->kernel, k ? &w->pose : &next, &next, sums);
        if (status == PCGPU_OK) {
            *gain = k ? *gain : sums[PC_CELLS_GAIN];
            *found = solve(w, sums, update);
            next = pc_pose_updated(&next, w->center, update);
        }
        for (int j = 0; j < 6; j++) {
            step[j] += update[j];
        }
    }
    return status;
}

/* Steps of one phase until they are small. ratio: as in trail, and afterwards what it was here. last: the pose of the
 * last pass, where w->pose started its last step. */
static pcgpu_status iterate(pc_cells_work *c, const pc_cells_phase *f, double *ratio, int *iterations, pc_pose *last) {
    pc_register_work *w = c->w;
    pc_pose_history history = {0};
    trail t = {.ratio = *ratio};
    double best = 0.0, gain = 0.0;
    int halved = 0;
    w->converged = false;
    for (int i = 0; i < w->params->max_iterations && !w->converged; i++) {
        double step[6];
        bool found;
        pcgpu_status status = take_step(c, f, step, &gain, &found);
        ++*iterations;
        w->result->iterations++;
        if (status != PCGPU_OK) {
            return status;
        }
        if (!found) {
            w->stopped = true;
            snprintf(w->result->reason, sizeof w->result->reason,
                     "no overlap: no source point lies in a cell of %g m with at least %d points of the target; start "
                     "closer or use "
                     "a larger voxel",
                     c->quantum * (double)(1 << (PC_CELLS_BITS + f->level)), PC_CELLS_MIN_POINTS);
            return PCGPU_OK;
        }
        if (i > 0 && gain < (1.0 - GAIN_LOST) * best && halved < HALVINGS) {
            halved++;
            t.steps = 0;
            for (int j = 0; j < 6; j++) {
                t.move[j] *= 0.5;
            }
            w->pose = pc_pose_updated(last, w->center, t.move);
            continue;
        }
        halved = 0;
        best = gain;
        pc_pose_remember(&history, &w->pose, -gain);
        double metres = pc_norm3(step + 3), radians = pc_norm3(step), shrinks = accelerate(w, &t, step);
        *ratio = shrinks < 1.0 ? shrinks : 0.0;
        *last = w->pose;
        w->pose = pc_pose_updated(&w->pose, w->center, step);
        w->converged = (metres * shrinks <= f->metres && radians * shrinks <= f->radians) ||
                       pc_pose_ends_in_cycle(&w->pose, w->center, f->metres, f->radians, &history);
    }
    return PCGPU_OK;
}

/* A start that is as good as what the iteration made of it stays: the answer for a cloud and itself is exact. */
static pcgpu_status keep_start(pc_cells_work *c, const pc_cells_phase *f, const pc_pose *start, pc_pose *last) {
    pc_register_work *w = c->w;
    double here[PC_CELLS_SUMS], there[PC_CELLS_SUMS];
    if (!pc_pose_near(start, &w->pose, w->center, 1e-3, 1e-4)) {
        return PCGPU_OK;
    }
    pcgpu_status status = pass(c, f, &w->pose);
    if (status == PCGPU_OK) {
        status = pc_cells_sum(c, f, PC_SUMS_SOLVE, f->kernel, &w->pose, &w->pose, here);
    }
    *last = w->pose;
    if (status == PCGPU_OK) {
        status = pass(c, f, start);
    }
    if (status == PCGPU_OK) {
        status = pc_cells_sum(c, f, PC_SUMS_SOLVE, f->kernel, start, start, there);
    }
    if (status == PCGPU_OK && there[PC_CELLS_GAIN] >= (1.0 - ROUNDING) * here[PC_CELLS_GAIN]) {
        *last = w->pose = *start;
    } else if (status == PCGPU_OK) {
        status = pass(c, f, last);
    }
    return status;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static pcgpu_status run_phases(pc_cells_work *c) {
    pc_register_work *w = c->w;
    const pcgpu_register_params *p = w->params;
    pc_pose start = w->pose, last = w->pose;
    double edge = edge_of(w);
    double arm = fmax(w->lever[0], fmax(w->lever[1], w->lever[2])), ratio = 0.0;
    pc_cells_phase f = {.set = PC_SET_COARSE, .grids = 1};
    for (int l = w->levels - 1; l >= -1 && !w->stopped; l--) {
        double step = LEVEL_STEP * edge * (double)(1 << (l > 0 ? l : 0));
        bool finest = l < 0;
        f = (pc_cells_phase){.level = finest ? 0 : l,
                             .set = finest   ? PC_SET_ALL
                                    : l == 0 ? PC_SET_MIDDLE
                                             : PC_SET_COARSE,
                             .grids = finest ? 2 : 1,
                             .metres = finest ? p->translation_epsilon : step,
                             .radians = finest ? p->rotation_epsilon : step / arm,
                             .kernel = l > 0 ? KERNEL_WIDE : KERNEL_FINE};
        ratio = finest ? ratio : 0.0;
        pcgpu_status status = iterate(c, &f, &ratio, &w->result->level_iterations[w->levels - 1 - f.level], &last);
        if (status != PCGPU_OK) {
            return status;
        }
    }
    w->gate = edge;
    w->result->source_points = c->sets[PC_SET_ALL].n;
    w->result->target_points = c->target.n;
    if (w->stopped) {
        return PCGPU_OK;
    }
    pcgpu_status status = keep_start(c, &f, &start, &last);
    return status == PCGPU_OK ? pc_cells_evaluate(c, &f, &last) : status;
}

static pcgpu_status run(pc_cells_work *c) {
    pc_register_work *w = c->w;
    double begin = pc_now();
    c->noise = NOISE * edge_of(w);
    pcgpu_status status = pc_cells_arrange(c, edge_of(w));
    begin = pc_register_stage_end(w, PC_STAGE_SELECT, begin);
    if (status == PCGPU_OK) {
        status = make_cells(c);
    }
    begin = pc_register_stage_end(w, PC_STAGE_INDEX, begin);
    if (status == PCGPU_OK) {
        status = run_phases(c);
    }
    pc_register_stage_end(w, PC_STAGE_ITERATE, begin);
    return status;
}

pcgpu_status pc_register_cells(pc_register_work *w, const pcgpu_cloud *source, const pcgpu_cloud *target) {
    pc_cells_work c = {.w = w, .backend = w->backend};
    double begin = pc_now();
    pcgpu_status status = pc_cells_select(&c, source, PC_SCRATCH_SOURCE, &c.source);
    if (status == PCGPU_OK) {
        status = pc_cells_select(&c, target, PC_SCRATCH_TARGET, &c.target);
    }
    pc_register_stage_end(w, PC_STAGE_SELECT, begin);
    if (status == PCGPU_OK) {
        w->source.n = c.source.n;
        w->target.n = c.target.n;
        status = c.source.n >= PC_REGISTER_MIN_POINTS && c.target.n >= PC_REGISTER_MIN_POINTS ? run(&c) : PCGPU_OK;
    }
    return status;
}
