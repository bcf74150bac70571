/* The way of a registration of depth frames from its start to its result, shared by the back ends: what the next pass
 * is, from the sums of the last. It is the same on the host and on a device, which stays there to the end. */
#ifndef PC_ICP_DEPTH_PATH_H
#define PC_ICP_DEPTH_PATH_H

#include "icp_depth.h"
#include "icp_pose.h"

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
    double widening;               /* the kernel of a level is so many times as wide as that of the one below */
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
    double scale[6];
    pc_pose_history history;
} pc_depth_path;

PC_HD double pc_depth_gate(const pc_depth_path *p, int level) {
    return p->gate / (double)(1 << (p->levels - 1 - level));
}

PC_HD void pc_depth_ask_step(pc_depth_path *p) {
    pc_depth_step *s = &p->step;
    const double gate = pc_depth_gate(p, p->level);
    double kernel = PC_DEPTH_KERNEL;
    for (int l = 0; l < p->level; l++) {
        kernel *= p->widening;
    }
    double R[9];
    pc_quaternion_matrix(p->pose.q, R);
    for (int i = 0; i < 9; i++) {
        s->R[i] = (float)R[i];
    }
    for (int k = 0; k < 3; k++) {
        s->t[k] = (float)p->pose.t[k];
        s->center[k] = (float)p->target.center[k];
    }
    s->gate_squared = (float)(gate * gate);
    s->kernel_squared = (float)(kernel * kernel);
}

/* The next level that has iterations. */
PC_HD void pc_depth_next_level(pc_depth_path *p) {
    do {
        p->level--;
    } while (p->level >= 0 && p->most[p->level] < 1);
    p->history.steps = 0;
    p->converged = false;
    if (p->level >= 0) {
        pc_depth_ask_step(p);
    }
}

/* What is given is filled, the rest 0. */
PC_HD void pc_depth_path_begin(pc_depth_path *p) {
    for (int i = 0; i < 6; i++) {
        p->scale[i] = i < 3 ? 1.0 / p->target.lever[i] : 1.0;
    }
    p->pose = p->start;
    p->level = p->levels;
    pc_depth_next_level(p);
}

/* Below is the way from the sums of a pass to the next, in the parts in which lanes of a warp can share it. */

/* Where the sums of this pass are kept; NULL: nowhere. */
PC_HD double *pc_depth_path_keeps(pc_depth_path *p) {
    return p->asks_scene ? p->scene : p->level == 0 ? p->worth : NULL;
}

/* How short the last step of the level is. */
PC_HD void pc_depth_path_limits(const pc_depth_path *p, double *metres, double *radians) {
    double factor = 1.0;
    for (int l = 0; l < p->level; l++) {
        factor *= PC_DEPTH_STEP_FACTOR;
    }
    *metres = factor * p->metres;
    *radians = factor * p->radians;
}

/* The step. True when the pose, which is the new one, may have come back to one before; else `end` or `converged` says
 * how it went. */
PC_HD bool pc_depth_path_step(pc_depth_path *p, const double *sums) {
    double center[3], update[6], metres, radians;
    if (p->asks_scene) {
        p->end = PC_DEPTH_ARRIVED;
        return false;
    }
    p->iterations[p->level]++;
    if (!(sums[PC_ICP_MATCHES] >= PC_DEPTH_MIN_MATCHES) || !pc_solve_ridge(p->scale, PC_DEPTH_RIDGE, sums, update)) {
        p->end = PC_DEPTH_NO_OVERLAP;
        return false;
    }
    for (int k = 0; k < 3; k++) {
        center[k] = (double)p->step.center[k];
    }
    pc_depth_path_limits(p, &metres, &radians);
    const pc_pose before = p->pose, next = pc_pose_updated(&before, center, update);
    p->pose = next;
    memcpy(p->update, update, sizeof p->update);
    p->converged = pc_square3(update + 3) <= metres * metres && pc_square3(update) <= radians * radians;
    /* the mean, since the sum falls with the number of matches, too */
    pc_pose_remember(&p->history, &before, sums[PC_ICP_COST] / sums[PC_DEPTH_KERNEL_SUM]);
    return !p->converged;
}

/* Whether it has, to the one so many steps before. */
PC_HD bool pc_depth_path_returns(const pc_depth_path *p, int age) {
    double center[3], metres, radians;
    for (int k = 0; k < 3; k++) {
        center[k] = (double)p->step.center[k];
    }
    pc_depth_path_limits(p, &metres, &radians);
    return pc_pose_returns(&p->pose, age, center, metres, radians, &p->history);
}

/* What the next pass is, while the path is under way. age: how long the cycle is in which the pose has come back, 0 =
 * none that is known. */
PC_HD void pc_depth_path_go_on(pc_depth_path *p, int age) {
    if (age > 0) {
        p->pose = pc_pose_best(age, &p->history);
        p->converged = true;
    }
    const bool ends = p->converged || p->iterations[p->level] >= p->most[p->level];
    if (ends && p->level > 0) {
        pc_depth_next_level(p);
    } else {
        p->asks_scene = ends;
        pc_depth_ask_step(p);
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
