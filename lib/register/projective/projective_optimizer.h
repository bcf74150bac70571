/* The optimizer of projective registration, shared by the back ends: derives the next pass from the sums of the last
 * one. The CPU back end and the CUDA kernel run the same code. */
#ifndef PC_PROJECTIVE_OPTIMIZER_H
#define PC_PROJECTIVE_OPTIMIZER_H

#include "optimizer.h"
#include "projective_math.h"

#define PC_DEPTH_RIDGE 1e-3
/* Scale of the kernel at the finest level, in standard deviations of a depth; a level above PC_DEPTH_WIDENING times
 * that, and so on. */
#define PC_DEPTH_KERNEL   1.0
#define PC_DEPTH_WIDENING 2.0
/* A level above the finest ends with steps so many times as long as the last one may, for each level. */
#define PC_DEPTH_STEP_FACTOR 4.0
#define PC_DEPTH_MIN_MATCHES 10.0

typedef enum pc_depth_end {
    PC_DEPTH_RUNNING,
    PC_DEPTH_ARRIVED,
    PC_DEPTH_NO_OVERLAP /* fewer than PC_DEPTH_MIN_MATCHES pixels of the source match at `level` */
} pc_depth_end;

typedef struct pc_depth_optimizer {
    /* Given. */
    int levels;                    /* both frames have as many */
    int most[PC_DEPTH_MAX_LEVELS]; /* iterations of each level, 0 the finest, which has at least one */
    double max_correspondence;     /* largest distance of corresponding points at the coarsest level; halved below */
    double metres, radians;        /* shorter steps end the finest level */
    pc_pose start;
    pc_depth_measure target;
    /* Out. */
    pc_depth_end end;
    pc_optimizer base;     /* its costs are sums of `weights` */
    double update[6];      /* the last one */
    double source_points;  /* pixels of the source that have a plane, at the finest level */
    double source_seconds; /* of its maps */
    double seconds[PC_DEPTH_MAX_LEVELS];
    double final_sums[PC_ICP_SUMS]; /* the last sums at the finest level, before that update */
    double scene[PC_ICP_SUMS];      /* at the end, for the scene */
    /* State of the iteration: the next sums. */
    bool asks_scene;
    pc_depth_step step; /* of the next pass */
    double scale[6], center[3];
    /* The distance of two poses is measured by their quaternions and by the images of one source point, the anchor,
     * which the start maps to the centre. */
    double anchor[3], mark[3]; /* mark: where the present pose does */
    double marks[PC_POSE_HISTORY][3], weights[PC_POSE_HISTORY];
} pc_depth_optimizer;

PC_HD double pc_depth_max_correspondence(const pc_depth_optimizer *p, int level) {
    return p->max_correspondence / (double)(1 << (p->levels - 1 - level));
}

/* Derives the step's transform and the mark from the pose. */
PC_HD void pc_depth_take_pose(pc_depth_optimizer *p) {
    const pc_pose *pose = &p->base.pose;
    pc_depth_step *s = &p->step;
    double R[9];
    pc_quaternion_matrix(pose->q, R);
    for (int i = 0; i < 9; i++) {
        s->R[i] = (float)R[i];
    }
    for (int k = 0; k < 3; k++) {
        const double *row = R + 3 * k;
        s->t[k] = (float)pose->t[k];
        p->mark[k] = ((row[0] * p->anchor[0] + row[1] * p->anchor[1]) + row[2] * p->anchor[2]) + pose->t[k];
    }
}

/* Begins the next level that has iterations. */
PC_HD void pc_depth_next_level(pc_depth_optimizer *p) {
    int level = p->base.level - 1;
    while (level > 0 && p->most[level] < 1) {
        level--;
    }
    const double max_correspondence = pc_depth_max_correspondence(p, level);
    double kernel = PC_DEPTH_KERNEL, factor = 1.0;
    for (int l = 0; l < level; l++) {
        kernel *= PC_DEPTH_WIDENING;
        factor *= PC_DEPTH_STEP_FACTOR;
    }
    p->step.max_correspondence_squared = (float)(max_correspondence * max_correspondence);
    p->step.kernel_squared = (float)(kernel * kernel);
    pc_optimizer_begin_level(&p->base, level, factor * p->metres, factor * p->radians);
}

/* What is given is filled, the rest 0. */
PC_HD void pc_depth_optimizer_begin(pc_depth_optimizer *p) {
    for (int i = 0; i < 6; i++) {
        p->scale[i] = i < 3 ? 1.0 / p->target.gyration[i] : 1.0;
    }
    double R[9], arm[3];
    pc_quaternion_matrix(p->start.q, R);
    for (int k = 0; k < 3; k++) {
        p->step.center[k] = (float)p->target.center[k];
        p->center[k] = (double)p->step.center[k];
        arm[k] = p->center[k] - p->start.t[k];
    }
    for (int k = 0; k < 3; k++) {
        p->anchor[k] = (R[k] * arm[0] + R[3 + k] * arm[1]) + R[6 + k] * arm[2];
    }
    p->base.pose = p->start;
    pc_depth_take_pose(p);
    p->base.level = p->levels;
    pc_depth_next_level(p);
}

/* From the sums of a pass to the next pass, in parts that the lanes of a warp can share. */

/* Where the sums of this pass are stored; NULL: they are not stored. */
PC_HD double *pc_depth_optimizer_keeps(pc_depth_optimizer *p) {
    return p->asks_scene ? p->scene : p->base.level == 0 ? p->final_sums : NULL;
}

/* Takes the step. True when the new pose has to be checked for a cycle; else `end` or `converged` is set. */
PC_HD bool pc_depth_optimizer_step(pc_depth_optimizer *p, const double *sums) {
    pc_optimizer *o = &p->base;
    double update[6];
    if (p->asks_scene) {
        p->end = PC_DEPTH_ARRIVED;
        return false;
    }
    o->iterations[o->level]++;
    if (!(sums[PC_ICP_MATCHES] >= PC_DEPTH_MIN_MATCHES) || !pc_solve_ridge(p->scale, PC_DEPTH_RIDGE, sums, update)) {
        p->end = PC_DEPTH_NO_OVERLAP;
        return false;
    }
    const int at = pc_optimizer_entry(o);
    memcpy(p->marks[at], p->mark, sizeof p->mark);
    p->weights[at] = sums[PC_DEPTH_KERNEL_SUM];
    pc_optimizer_move(o, p->center, sums[PC_ICP_COST], update);
    pc_depth_take_pose(p);
    memcpy(p->update, update, sizeof p->update);
    o->converged = pc_optimizer_is_short(o, pc_square3(update + 3), pc_square3(update));
    return !o->converged;
}

/* Whether the pose has come back to the one `age` steps before. */
PC_HD bool pc_depth_optimizer_returns(const pc_depth_optimizer *p, int age) {
    const pc_optimizer *o = &p->base;
    if (age > o->history.steps) {
        return false;
    }
    const int at = (o->history.steps - age) % PC_POSE_HISTORY;
    const double *a = o->history.poses[at].q, *b = o->pose.q, *mark = p->marks[at];
    const double dot = (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3]), sign = dot < 0.0 ? -1.0 : 1.0;
    const double w = a[0] - sign * b[0], x = a[1] - sign * b[1], y = a[2] - sign * b[2], z = a[3] - sign * b[3];
    const double moved[3] = {p->mark[0] - mark[0], p->mark[1] - mark[1], p->mark[2] - mark[2]};
    /* the distance of quaternions is half the angle */
    return pc_optimizer_is_short(o, pc_square3(moved), 4.0 * ((w * w + x * x) + (y * y + z * z)));
}

/* Sets the next pass while the optimizer runs. age: length of the cycle in which the pose has come back, 0 = none. */
PC_HD void pc_depth_optimizer_continue(pc_depth_optimizer *p, int age) {
    if (age > 0) {
        for (int i = 0; i < PC_POSE_HISTORY; i++) { /* means, since the sums fall with the number of matches, too */
            p->base.history.costs[i] /= p->weights[i];
        }
        pc_optimizer_end_cycle(&p->base, age);
        pc_depth_take_pose(p);
    }
    const bool ends = pc_optimizer_ends_level(&p->base, p->most[p->base.level]);
    if (ends && p->base.level > 0) {
        pc_depth_next_level(p);
    } else {
        p->asks_scene = ends;
    }
}

/* All of the above: from the sums of the pass at `level` to the next one, until `end`. The last pass evaluates the
 * result. */
PC_HD void pc_depth_optimizer_next(pc_depth_optimizer *p, const double *sums) {
    double *kept = pc_depth_optimizer_keeps(p);
    int age = 0;
    if (kept) {
        memcpy(kept, sums, PC_ICP_SUMS * sizeof *sums);
    }
    if (pc_depth_optimizer_step(p, sums)) {
        for (int k = 2; age == 0 && k <= PC_POSE_HISTORY; k++) {
            age = pc_depth_optimizer_returns(p, k) ? k : 0;
        }
    }
    if (p->end == PC_DEPTH_RUNNING) {
        pc_depth_optimizer_continue(p, age);
    }
}

#endif
