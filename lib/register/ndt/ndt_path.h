/* The way of a registration by cells from its start to its result, shared by the back ends; lib/register/ndt/ndt.c says
 * what the method is. A back end is told what to add up (pc_cells_command), and what comes next follows from the sums.
 * It is the same on the host, which calls a back end for each, and on a device, which stays there to the end. */
#ifndef PC_ICP_CELLS_PATH_H
#define PC_ICP_CELLS_PATH_H

#include "ndt_math.h"
#include "pose.h"

/* k of the kernel in units of s: while far from the answer, at the finest level, and where a result is judged. */
#define PC_CELLS_KERNEL_WIDE  2.0
#define PC_CELLS_KERNEL_FINE  1.0
#define PC_CELLS_KERNEL_AGREE 1.9

/* A cell with this many points counts half as much as one with all the points in the world: while far from the answer,
 * and at the finest level, where more trust in cells near the scanner pulls towards the pattern of its rings. */
#define PC_CELLS_POINTS_WIDE 100.0
#define PC_CELLS_POINTS_FINE 12.0

/* Steps that move the points by less than this much of the level's edge end a phase that is not the last. */
#define PC_CELLS_LEVEL_STEP 0.004

#define PC_CELLS_RIDGE                                                                                                 \
    1e-3                      /* on the diagonal, relative to its mean: limits steps that the scene says nothing about \
                               */
#define PC_CELLS_SHRINKS  0.7 /* a step that is smaller than the one before by this factor lets the next be foretold */
#define PC_CELLS_START_EDGES 2e-3 /* of a finest edge: a result so near to its start is compared with it */
#define PC_CELLS_ROUNDING 1e-6 /* of a gain */
/* A step after which the gain has fallen by more is halved; less is the points' changing of cells. */
#define PC_CELLS_GAIN_LOST 0.02

enum {
    PC_CELLS_WIDE_STEPS = 2, /* Gauss-Newton steps for one pass over the points: with wide cells they reach farther */
    PC_CELLS_FINE_STEPS = 1,
    PC_CELLS_HALVINGS = 3,
};

/* ---- data ------------------------------------------------------------------------------------------------------- */

/* What sums over cells are for. */
typedef enum pc_cells_sums_of {
    PC_SUMS_SOLVE, /* the normal equations, robust */
    PC_SUMS_SCENE, /* what the planes among the cells can constrain: without the kernel */
    PC_SUMS_AGREE, /* what they do constrain: with it */
    PC_CELLS_MOST_SUMS
} pc_cells_sums_of;

/* Adds the source to cells when `passes`, then sums over them, so often. */
typedef struct pc_cells_command {
    pc_cells_pass pass;
    pc_cells_step step[PC_CELLS_MOST_SUMS];
    int sums;
    bool passes;
} pc_cells_command;

/* One phase: a level, the part of the source that it takes, the grids, the kernel's k, and when a step is small. */
typedef struct pc_cells_phase {
    int level, set, grids;
    double metres, radians, kernel;
    float points; /* of the source to one of the part */
} pc_cells_phase;

/* The last two steps of a phase. */
typedef struct pc_cells_trail {
    double step[6]; /* Gauss-Newton's */
    double move[6]; /* what was made of it */
    int steps;
    double ratio; /* of the lengths of two steps in the phase before, at the same level; 0 = not known */
} pc_cells_trail;

/* Why a path has come to its end. */
typedef enum pc_cells_end {
    PC_CELLS_UNDER_WAY,
    PC_CELLS_ARRIVED,
    PC_CELLS_NO_OVERLAP /* no point of the source met a cell at the level of the last phase */
} pc_cells_end;

/* Where the sums that come next are taken. */
typedef enum pc_cells_stage { PC_CELLS_AT_STEP, PC_CELLS_AT_RESULT, PC_CELLS_AT_START, PC_CELLS_AT_END } pc_cells_stage;

typedef struct pc_cells_path {
    /* Given. Poses and metres are those of the quanta's frame, offsets not counted. */
    pc_cells_frame frame;
    pc_cells_measure target;
    int64_t points[PC_SETS]; /* of the parts of the source */
    int levels, max_iterations;
    double edge, metres, radians; /* of a finest cell; when a step is small at the end */
    pc_pose start;
    /* Out. */
    pc_cells_end end;
    pc_pose pose;
    bool converged;
    int iterations[PC_CELLS_MAX_LEVELS];             /* of each level, 0 the finest */
    pc_cells_phase phase;                            /* the last one */
    double worth[PC_CELLS_MOST_SUMS][PC_CELLS_SUMS]; /* at the end, by pc_cells_sums_of */
    /* Under way. */
    pc_cells_command command;
    pc_cells_stage stage;
    int next_level; /* of the next phase; -1 is the finest with all of the source, -2 none */
    double scale[6];
    double ratio;   /* of the squared lengths of the last two steps; 0 = not known */
    pc_pose passed; /* the pose of the last pass */
    pc_pose last;   /* where `pose` started its last step */
    pc_pose next;   /* after the steps of this pass */
    double step[6], gain, best, here;
    int k, round, halved;
    pc_pose_history history;
    pc_cells_trail trail;
} pc_cells_path;

/* A registration as a back end does it at once: from points to the end of the path, whose `target` it fills. */
typedef struct pc_cells_job {
    pc_cells_target target;
    pc_cells_source source;
    pc_cells_path path;
} pc_cells_job;

/* ---- commands --------------------------------------------------------------------------------------------------- */

/* Takes points to quanta through a pose. */
PC_HD pc_cells_map pc_cells_map_at(const pc_cells_frame *frame, const pc_pose *pose) {
    pc_cells_map map;
    double R[9];
    pc_quaternion_matrix(pose->q, R);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            map.m[4 * i + k] = (float)(R[3 * i + k] * frame->per_quantum);
        }
        map.m[4 * i + 3] = (float)((pose->t[i] - frame->origin[i]) * frame->per_quantum);
        map.limit[i] = frame->limit[i];
    }
    return map;
}

/* Asks for a pass at a pose. */
PC_HD void pc_cells_ask_pass(pc_cells_path *p, const pc_pose *pose) {
    pc_cells_pass *pass = &p->command.pass;
    pass->map = pc_cells_map_at(&p->frame, pose);
    pass->level = p->phase.level;
    pass->set = p->phase.set;
    pass->grids = p->phase.grids;
    p->command.passes = true;
    p->passed = *pose;
}

/* Asks for one more kind of sums, at `next`, or where the last pass was for NULL: the mean of a cell moves with the
 * pose, the points stay in it. */
PC_HD void pc_cells_ask_sums(pc_cells_path *p, pc_cells_sums_of what, double kernel, const pc_pose *next) {
    pc_cells_step *step = &p->command.step[p->command.sums++];
    step->robust = what == PC_SUMS_SCENE ? 0.0f : 1.0f;
    step->planes = what == PC_SUMS_SOLVE ? 0.0f : 1.0f;
    step->quantum = (float)p->frame.quantum;
    step->points = p->phase.points;
    step->most = (float)(p->phase.level > 0 ? PC_CELLS_POINTS_WIDE : PC_CELLS_POINTS_FINE);
    step->kernel = (float)(kernel * kernel);
    double turn[9] = {0}, shift[3] = {0};
    if (next) {
        pc_pose_difference(&p->passed, next, p->target.center, turn, shift);
    }
    for (int i = 0; i < 9; i++) {
        step->turn[i] = (float)turn[i];
    }
    for (int i = 0; i < 3; i++) {
        step->shift[i] = (float)shift[i];
    }
}

PC_HD void pc_cells_ask_nothing(pc_cells_path *p) {
    p->command.passes = false;
    p->command.sums = 0;
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

PC_HD double pc_cells_dot6(const double lever[3], const double *a, const double *b) {
    double sum = 0.0;
    for (int i = 0; i < 6; i++) {
        double scale = i < 3 ? lever[i] : 1.0;
        sum += (a[i] * scale) * (b[i] * scale);
    }
    return sum;
}

/* A step makes less than the whole way, since points change their cells: the steps shrink like a geometric series. Two
 * of them tell its ratio and its limit (Anderson 1965, with a depth of one). Changes `step` into the move to make and
 * returns the ratio by which the square of the next step is expected to be smaller, 1 when that is not known. */
PC_HD double pc_cells_accelerate(const double lever[3], pc_cells_trail *t, double step[6]) {
    double change[6], move[6], ratio = 1.0;
    memcpy(move, step, sizeof move);
    if (t->steps++ > 0) {
        for (int i = 0; i < 6; i++) {
            change[i] = step[i] - t->step[i];
        }
        double before = pc_cells_dot6(lever, t->step, t->step), now = pc_cells_dot6(lever, step, step);
        double squared = pc_cells_dot6(lever, change, change);
        if (now < PC_CELLS_SHRINKS * PC_CELLS_SHRINKS * before) {
            double share = pc_cells_dot6(lever, step, change) * (1.0 / squared); /* faster than to divide on a GPU */
            share = share < -1.0 ? -1.0 : share > 0.0 ? 0.0 : share;
            for (int i = 0; i < 6; i++) {
                move[i] -= share * (t->move[i] + change[i]);
            }
            ratio = now * (1.0 / before);
        }
    } else {
        const double longer = 1.0 / (1.0 - t->ratio);
        for (int i = 0; i < 6; i++) {
            move[i] *= longer;
        }
    }
    memcpy(t->step, step, sizeof t->step);
    memcpy(t->move, move, sizeof t->move);
    memcpy(step, move, sizeof move);
    return ratio;
}

/* ---- from phase to phase ---------------------------------------------------------------------------------------- */

/* The first sums of an iteration: a pass at the present pose. */
PC_HD void pc_cells_ask_step(pc_cells_path *p) {
    p->stage = PC_CELLS_AT_STEP;
    p->k = 0;
    p->next = p->pose;
    memset(p->step, 0, sizeof p->step);
    pc_cells_ask_pass(p, &p->pose);
    pc_cells_ask_sums(p, PC_SUMS_SOLVE, p->phase.kernel, NULL);
}

PC_HD void pc_cells_ask_judge(pc_cells_path *p) {
    p->stage = PC_CELLS_AT_END;
    pc_cells_ask_sums(p, PC_SUMS_SOLVE, p->phase.kernel, &p->pose);
    pc_cells_ask_sums(p, PC_SUMS_SCENE, 1.0, &p->pose);
    pc_cells_ask_sums(p, PC_SUMS_AGREE, PC_CELLS_KERNEL_AGREE, &p->pose);
}

/* A start that is as good as what the iteration made of it stays: the answer for a cloud and itself is exact. */
PC_HD void pc_cells_finish_phases(pc_cells_path *p) {
    if (pc_pose_near(&p->start, &p->pose, p->target.center, PC_CELLS_START_EDGES * p->edge, 1e-4)) {
        p->stage = PC_CELLS_AT_RESULT;
        pc_cells_ask_pass(p, &p->pose);
        pc_cells_ask_sums(p, PC_SUMS_SOLVE, p->phase.kernel, NULL);
    } else {
        pc_cells_ask_judge(p);
    }
}

PC_HD void pc_cells_begin_phase(pc_cells_path *p) {
    const int l = p->next_level;
    if (l < -1) {
        pc_cells_finish_phases(p);
        return;
    }
    const bool finest = l < 0;
    const double *lever = p->target.lever, arm = fmax(lever[0], fmax(lever[1], lever[2]));
    const double step = PC_CELLS_LEVEL_STEP * p->edge * (double)(1 << (l > 0 ? l : 0));
    pc_cells_phase *f = &p->phase;
    f->level = finest ? 0 : l;
    f->set = finest ? PC_SET_ALL : l == 0 ? PC_SET_MIDDLE : PC_SET_COARSE;
    f->grids = finest ? 2 : 1;
    f->metres = finest ? p->metres : step;
    f->radians = finest ? p->radians : step / arm;
    f->kernel = l > 0 ? PC_CELLS_KERNEL_WIDE : PC_CELLS_KERNEL_FINE;
    f->points = (float)((double)p->points[PC_SET_ALL] / (double)p->points[f->set]);
    p->next_level--;
    memset(&p->trail, 0, sizeof p->trail);
    p->trail.ratio = finest ? sqrt(p->ratio) : 0.0;
    p->history.steps = 0;
    p->best = 0.0;
    p->round = p->halved = 0;
    p->converged = false;
    pc_cells_ask_step(p);
}

/* Ends an iteration: with the move that was made, or with half of the one before. */
PC_HD void pc_cells_end_step(pc_cells_path *p) {
    const double *center = p->target.center;
    const pc_cells_phase *f = &p->phase;
    if (p->round > 0 && p->gain < (1.0 - PC_CELLS_GAIN_LOST) * p->best && p->halved < PC_CELLS_HALVINGS) {
        p->halved++;
        p->trail.steps = 0;
        for (int j = 0; j < 6; j++) {
            p->trail.move[j] *= 0.5;
        }
        p->pose = pc_pose_updated(&p->last, center, p->trail.move);
    } else {
        p->halved = 0;
        p->best = p->gain;
        pc_pose_remember(&p->history, &p->pose, -p->gain);
        double metres2 = pc_square3(p->step + 3), radians2 = pc_square3(p->step);
        double shrinks = pc_cells_accelerate(p->target.lever, &p->trail, p->step);
        p->ratio = shrinks < 1.0 ? shrinks : 0.0;
        p->last = p->pose;
        p->pose = pc_pose_updated(&p->pose, center, p->step);
        p->converged = (metres2 * shrinks <= f->metres * f->metres && radians2 * shrinks <= f->radians * f->radians) ||
                       pc_pose_ends_in_cycle(&p->pose, center, f->metres, f->radians, &p->history);
    }
    if (++p->round < p->max_iterations && !p->converged) {
        pc_cells_ask_step(p);
    } else {
        pc_cells_begin_phase(p);
    }
}

PC_HD void pc_cells_take_step(pc_cells_path *p, const double *sums) {
    double update[6];
    p->iterations[p->phase.level] += p->k == 0;
    p->gain = p->k ? p->gain : sums[PC_CELLS_GAIN];
    if (!pc_solve_ridge(p->scale, PC_CELLS_RIDGE, sums, update)) {
        p->end = PC_CELLS_NO_OVERLAP;
        return;
    }
    for (int j = 0; j < 6; j++) {
        p->step[j] += update[j];
    }
    if (++p->k < (p->phase.level > 0 ? PC_CELLS_WIDE_STEPS : PC_CELLS_FINE_STEPS)) {
        p->next = pc_pose_updated(&p->next, p->target.center, update);
        pc_cells_ask_sums(p, PC_SUMS_SOLVE, p->phase.kernel, &p->next);
    } else {
        pc_cells_end_step(p);
    }
}

/* The first command of a path; what is given is filled, the rest 0. */
PC_HD void pc_cells_path_begin(pc_cells_path *p) {
    for (int i = 0; i < 6; i++) {
        p->scale[i] = i < 3 ? 1.0 / p->target.lever[i] : 1.0;
    }
    p->pose = p->last = p->start;
    p->next_level = p->levels - 1;
    pc_cells_begin_phase(p);
}

/* The next command, from the sums of the last, until `end` says that there is none. */
PC_HD void pc_cells_path_next(pc_cells_path *p, double (*sums)[PC_CELLS_SUMS]) {
    pc_cells_ask_nothing(p);
    if (p->stage == PC_CELLS_AT_STEP) {
        pc_cells_take_step(p, sums[0]);
    } else if (p->stage == PC_CELLS_AT_RESULT) {
        p->here = sums[0][PC_CELLS_GAIN];
        p->stage = PC_CELLS_AT_START;
        pc_cells_ask_pass(p, &p->start);
        pc_cells_ask_sums(p, PC_SUMS_SOLVE, p->phase.kernel, NULL);
    } else if (p->stage == PC_CELLS_AT_START) {
        if (sums[0][PC_CELLS_GAIN] >= (1.0 - PC_CELLS_ROUNDING) * p->here) {
            p->pose = p->start;
        } else {
            pc_cells_ask_pass(p, &p->pose);
        }
        pc_cells_ask_judge(p);
    } else {
        memcpy(p->worth, sums, sizeof p->worth);
        p->end = PC_CELLS_ARRIVED;
    }
}

#endif
