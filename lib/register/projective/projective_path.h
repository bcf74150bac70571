/* The way of a registration of depth frames from its start to its result, shared by the back ends: what the next pass
 * is, from the sums of the last. It is the same on the host and on a device, which stays there to the end. */
#ifndef PC_ICP_DEPTH_PATH_H
#define PC_ICP_DEPTH_PATH_H

#include "projective_math.h"
#include "pose.h"

#define PC_DEPTH_RIDGE 1e-3
/* Scale of the kernel at the finest level, in standard deviations of a depth; a level above PC_DEPTH_WIDENING times
 * that, and so on. */
#define PC_DEPTH_KERNEL   1.0
#define PC_DEPTH_WIDENING 2.0
/* A level above the finest ends with steps so many times as long as the last one may, for each level. */
#define PC_DEPTH_STEP_FACTOR 4.0
#define PC_DEPTH_MIN_MATCHES 10.0

typedef enum pc_depth_end {
    PC_DEPTH_UNDER_WAY,
    PC_DEPTH_ARRIVED,
    PC_DEPTH_NO_OVERLAP /* fewer than PC_DEPTH_MIN_MATCHES pixels of the source match at `level` */
} pc_depth_end;

typedef struct pc_depth_path {
    /* Given. */
    int levels;                    /* both frames have as many */
    int most[PC_DEPTH_MAX_LEVELS]; /* iterations of each level, 0 the finest, which has at least one */
    double gate;                   /* largest distance of corresponding points at the coarsest level; halved below */
    double metres, radians;        /* shorter steps end the finest level */
    pc_pose start;
    pc_depth_measure target;
    /* Out. */
    pc_depth_end end;
    pc_pose pose;
    bool converged; /* the finest level */
    int iterations[PC_DEPTH_MAX_LEVELS];
    double update[6];      /* the last one */
    double source_points;  /* pixels of the source that have a plane, at the finest level */
    double source_seconds; /* of its maps */
    double seconds[PC_DEPTH_MAX_LEVELS];
    double worth[PC_ICP_SUMS]; /* the last sums at the finest level, before that update */
    double scene[PC_ICP_SUMS]; /* at the end, for the scene */
    /* Under way: what to add up next. */
    int level;
    bool asks_scene;
    pc_depth_step step; /* of the next pass */
    double scale[6], center[3];
    double metres_squared, radians_squared; /* the longest step that ends the level */
    /* How far apart poses are is told by their quaternions and by where they take one point of the source, the anchor,
     * which the start takes to the centre. */
    double anchor[3], mark[3]; /* mark: where the present pose does */
    pc_pose_history history;   /* its costs are sums of `weights` */
    double marks[PC_POSE_HISTORY][3], weights[PC_POSE_HISTORY];
} pc_depth_path;

PC_HD double pc_depth_gate(const pc_depth_path *p, int level) {
    return p->gate / (double)(1 << (p->levels - 1 - level));
}

/* What follows from the pose. */
PC_HD void pc_depth_take_pose(pc_depth_path *p, const pc_pose *pose) {
    pc_depth_step *s = &p->step;
    double R[9];
    p->pose = *pose;
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

/* The next level that has iterations, and what follows from it. */
PC_HD void pc_depth_next_level(pc_depth_path *p) {
    do {
        p->level--;
    } while (p->level >= 0 && p->most[p->level] < 1);
    p->history.steps = 0;
    p->converged = false;
    if (p->level >= 0) {
        const double gate = pc_depth_gate(p, p->level);
        double kernel = PC_DEPTH_KERNEL, factor = 1.0;
        for (int l = 0; l < p->level; l++) {
            kernel *= PC_DEPTH_WIDENING;
            factor *= PC_DEPTH_STEP_FACTOR;
        }
        p->step.gate_squared = (float)(gate * gate);
        p->step.kernel_squared = (float)(kernel * kernel);
        p->metres_squared = (factor * p->metres) * (factor * p->metres);
        p->radians_squared = (factor * p->radians) * (factor * p->radians);
    }
}

/* What is given is filled, the rest 0. */
PC_HD void pc_depth_path_begin(pc_depth_path *p) {
    for (int i = 0; i < 6; i++) {
        p->scale[i] = i < 3 ? 1.0 / p->target.lever[i] : 1.0;
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
    pc_depth_take_pose(p, &p->start);
    p->level = p->levels;
    pc_depth_next_level(p);
}

/* Below is the way from the sums of a pass to the next, in the parts in which lanes of a warp can share it. */

/* Where the sums of this pass are kept; NULL: nowhere. */
PC_HD double *pc_depth_path_keeps(pc_depth_path *p) {
    return p->asks_scene ? p->scene : p->level == 0 ? p->worth : NULL;
}

/* The step. True when the pose, which is the new one, may have come back to one before; else `end` or `converged` says
 * how it went. */
PC_HD bool pc_depth_path_step(pc_depth_path *p, const double *sums) {
    double update[6];
    if (p->asks_scene) {
        p->end = PC_DEPTH_ARRIVED;
        return false;
    }
    p->iterations[p->level]++;
    if (!(sums[PC_ICP_MATCHES] >= PC_DEPTH_MIN_MATCHES) || !pc_solve_ridge(p->scale, PC_DEPTH_RIDGE, sums, update)) {
        p->end = PC_DEPTH_NO_OVERLAP;
        return false;
    }
    const int at = p->history.steps % PC_POSE_HISTORY;
    const pc_pose before = p->pose, next = pc_pose_updated(&before, p->center, update);
    memcpy(p->marks[at], p->mark, sizeof p->mark);
    p->weights[at] = sums[PC_DEPTH_KERNEL_SUM];
    pc_pose_remember(&p->history, &before, sums[PC_ICP_COST]);
    pc_depth_take_pose(p, &next);
    memcpy(p->update, update, sizeof p->update);
    p->converged = pc_square3(update + 3) <= p->metres_squared && pc_square3(update) <= p->radians_squared;
    return !p->converged;
}

/* Whether it has, to the one so many steps before. */
PC_HD bool pc_depth_path_returns(const pc_depth_path *p, int age) {
    if (age > p->history.steps) {
        return false;
    }
    const int at = (p->history.steps - age) % PC_POSE_HISTORY;
    const double *a = p->history.poses[at].q, *b = p->pose.q, *mark = p->marks[at];
    const double dot = (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3]), sign = dot < 0.0 ? -1.0 : 1.0;
    const double w = a[0] - sign * b[0], x = a[1] - sign * b[1], y = a[2] - sign * b[2], z = a[3] - sign * b[3];
    const double moved[3] = {p->mark[0] - mark[0], p->mark[1] - mark[1], p->mark[2] - mark[2]};
    /* quaternions are half as far apart as the turn is wide */
    return pc_square3(moved) <= p->metres_squared && 4.0 * ((w * w + x * x) + (y * y + z * z)) <= p->radians_squared;
}

/* What the next pass is, while the path is under way. age: how long the cycle is in which the pose has come back, 0 =
 * none that is known. */
PC_HD void pc_depth_path_go_on(pc_depth_path *p, int age) {
    if (age > 0) {
        for (int i = 0; i < PC_POSE_HISTORY; i++) { /* means, since the sums fall with the number of matches, too */
            p->history.costs[i] /= p->weights[i];
        }
        const pc_pose best = pc_pose_best(age, &p->history);
        pc_depth_take_pose(p, &best);
        p->converged = true;
    }
    const bool ends = p->converged || p->iterations[p->level] >= p->most[p->level];
    if (ends && p->level > 0) {
        pc_depth_next_level(p);
    } else {
        p->asks_scene = ends;
    }
}

/* All of it: from the sums of the pass at `level` to the next, until `end` says that there is none. The last pass tells
 * what the result is worth. */
PC_HD void pc_depth_path_next(pc_depth_path *p, const double *sums) {
    double *kept = pc_depth_path_keeps(p);
    int age = 0;
    if (kept) {
        memcpy(kept, sums, PC_ICP_SUMS * sizeof *sums);
    }
    if (pc_depth_path_step(p, sums)) {
        for (int k = 2; age == 0 && k <= PC_POSE_HISTORY; k++) {
            age = pc_depth_path_returns(p, k) ? k : 0;
        }
    }
    if (p->end == PC_DEPTH_UNDER_WAY) {
        pc_depth_path_go_on(p, age);
    }
}

#endif
