/* The optimizer of every method of registration, shared by the back ends: Gauss-Newton steps at one level after
 * another, from coarse to fine. A method linearizes its cost at the present pose and solves for a step; everything
 * after the step is here: the pose, the history, whether a step is short, whether poses repeat, when a level ends. */
#ifndef PC_OPTIMIZER_H
#define PC_OPTIMIZER_H

#include "pose.h"

/* The largest rotation between a start and a result that follows from the start, as pc_pose_near measures it: 30
 * degrees, 2 (1 - cos 30). */
#define PC_MOST_TURNED 0.2679

enum {
    PC_POSE_HISTORY = 8,
    PC_OPTIMIZER_LEVELS = 8, /* at most */
};

/* The last poses of a level with their costs. Unused entries are undefined. */
typedef struct pc_pose_history {
    pc_pose poses[PC_POSE_HISTORY];
    double costs[PC_POSE_HISTORY];
    int steps;
} pc_pose_history;

typedef struct pc_optimizer {
    pc_pose pose;
    int level;                           /* 0 is the finest */
    int iterations[PC_OPTIMIZER_LEVELS]; /* linearizations of each level */
    bool converged;                      /* the level */
    int rounds;                          /* of the level so far */
    double metres2, radians2;            /* squares of the longest step that ends the level */
    pc_pose_history history;
} pc_optimizer;

PC_HD void pc_optimizer_begin_level(pc_optimizer *o, int level, double metres, double radians) {
    o->level = level;
    o->converged = false;
    o->rounds = 0;
    o->metres2 = metres * metres;
    o->radians2 = radians * radians;
    o->history.steps = 0;
}

/* The entry of the history for the present pose. */
PC_HD int pc_optimizer_entry(const pc_optimizer *o) {
    return o->history.steps % PC_POSE_HISTORY;
}

/* Puts the present pose and its cost into the history, and moves the pose by a step about `center`. */
PC_HD void pc_optimizer_move(pc_optimizer *o, const double center[3], double cost, const double step[6]) {
    const int at = pc_optimizer_entry(o);
    o->history.poses[at] = o->pose;
    o->history.costs[at] = cost;
    o->history.steps++;
    o->pose = pc_pose_updated(&o->pose, center, step);
}

/* Whether a step with these squares of its lengths is short enough to end the level. */
PC_HD bool pc_optimizer_is_short(const pc_optimizer *o, double metres2, double radians2) {
    return metres2 <= o->metres2 && radians2 <= o->radians2;
}

/* Whether the pose comes back to the one so many steps before, 2 to PC_POSE_HISTORY. */
PC_HD bool pc_optimizer_returns(const pc_optimizer *o, int age, const double center[3]) {
    const pc_pose_history *h = &o->history;
    return age <= h->steps &&
           pc_pose_near(&h->poses[(h->steps - age) % PC_POSE_HISTORY], &o->pose, center, o->metres2, o->radians2);
}

/* Ends a cycle of `age` poses at the one that costs least. */
PC_HD void pc_optimizer_end_cycle(pc_optimizer *o, int age) {
    const pc_pose_history *h = &o->history;
    int best = h->steps - age;
    for (int i = best + 1; i < h->steps; i++) {
        best = h->costs[i % PC_POSE_HISTORY] < h->costs[best % PC_POSE_HISTORY] ? i : best;
    }
    o->pose = h->poses[best % PC_POSE_HISTORY];
    o->converged = true;
}

/* An iteration can flip between a few poses for ever, since points change their partners. When the pose comes back to
 * one before the last, the level ends with the best pose of the cycle. */
PC_HD void pc_optimizer_find_cycle(pc_optimizer *o, const double center[3]) {
    /* By entry; all are compared before any decision, since a GPU's one thread waits for each decision. */
    unsigned near = 0;
    for (int i = 0; i < PC_POSE_HISTORY; i++) {
        near |= (unsigned)pc_pose_may_be_near(&o->history.poses[i], &o->pose, o->radians2) << i;
    }
    for (int age = 2; near && age <= PC_POSE_HISTORY; age++) {
        if (pc_optimizer_returns(o, age, center)) {
            pc_optimizer_end_cycle(o, age);
            return;
        }
    }
}

/* The most rounds of a level: the finest, whose steps are short, may take twice as many. */
PC_HD int pc_optimizer_rounds(bool finest, int max_iterations) {
    return (finest ? 2 : 1) * max_iterations;
}

/* Counts a round; returns whether the level ends, after at most so many rounds. */
PC_HD bool pc_optimizer_ends_level(pc_optimizer *o, int most) {
    return ++o->rounds >= most || o->converged;
}

#endif
