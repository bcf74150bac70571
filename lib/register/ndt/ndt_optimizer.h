/* The optimizer of method ndt, shared by the back ends; lib/register/ndt/ndt.c describes the method. It emits commands
 * (pc_ndt_command: which points to add, which sums to take) and derives the next command from the sums. The CPU back
 * end and the CUDA kernel run the same code. */
#ifndef PC_NDT_OPTIMIZER_H
#define PC_NDT_OPTIMIZER_H

#include "ndt_math.h"
#include "optimizer.h"

/* k of the kernel in units of s: at coarse levels, at the finest level, and for the consistency score. */
#define PC_NDT_KERNEL_WIDE        2.0
#define PC_NDT_KERNEL_FINE        1.0
#define PC_NDT_KERNEL_CONSISTENCY 1.9

/* Number of points at which a voxel has half of the largest weight: at coarse levels, at the finest one of two scans,
 * and of a scan in a map. There, more weight near the scanner would pull towards the pattern of its rings, and the
 * errors of beams and sweeps, which all scans of a map share, would bend the path. */
#define PC_NDT_POINTS_WIDE 100.0
#define PC_NDT_POINTS_FINE 12.0
#define PC_NDT_POINTS_MAP  1.0

#define PC_NDT_LEVEL_STEP  0.004 /* of the level's edge: a shorter step ends a phase, except the last one */
#define PC_NDT_RIDGE       1e-3  /* on the diagonal, relative to its mean: limits steps in unconstrained directions */
#define PC_NDT_SHRINKS     0.7   /* a step that is smaller than the previous one by this factor is extrapolated */
#define PC_NDT_START_EDGES 2e-3  /* of a finest edge: a result this close to its start is compared with it */
#define PC_NDT_ROUNDING    1e-6  /* of an objective */
#define PC_NDT_LINES_EDGES 2e-3  /* of a finest edge: the longest step by the lines' own weights */
#define PC_NDT_LINES_LOST  0.025 /* of the objective: two scans lose 0.01 to 0.023 in one place, else 0.026 to 0.2 */
/* A step that loses a larger fraction of the objective is halved; points that change voxels lose less. */
#define PC_NDT_OBJECTIVE_LOST 0.02

enum {
    PC_NDT_WIDE_STEPS = 2, /* Gauss-Newton steps for one pass over the points: with wide voxels they reach farther */
    PC_NDT_FINE_STEPS = 1,
    PC_NDT_HALVINGS = 3,
};

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* Purpose of sums over voxels. */
typedef enum pc_ndt_sums_of {
    PC_SUMS_SOLVE,       /* the normal equations, robust */
    PC_SUMS_SCENE,       /* what the planes among the voxels can constrain: without the kernel */
    PC_SUMS_CONSISTENCY, /* what they do constrain: with it */
    PC_NDT_MOST_SUMS
} pc_ndt_sums_of;

/* Adds the source to voxels when `passes`, then takes `sums` sums over them. */
typedef struct pc_ndt_command {
    pc_ndt_pass pass;
    pc_ndt_step step[PC_NDT_MOST_SUMS];
    int sums;
    bool passes;
} pc_ndt_command;

/* One phase: a level, the part of the source that it takes, the grids, the most rounds and the kernel's k. */
typedef struct pc_ndt_phase {
    int level, set, grids, rounds;
    double kernel;
    float points; /* of the source to one of the part */
    bool own;     /* lines have their own weights */
} pc_ndt_phase;

/* The last two steps of a phase. */
typedef struct pc_ndt_step_history {
    double step[6]; /* Gauss-Newton's */
    double move[6]; /* what was made of it */
    int steps;
    double ratio; /* of the lengths of two steps in the phase before, at the same level; 0 = not known */
} pc_ndt_step_history;

/* Why the optimizer has ended. */
typedef enum pc_ndt_end {
    PC_NDT_RUNNING,
    PC_NDT_ARRIVED,
    PC_NDT_NO_OVERLAP /* no source point fell into a target voxel at the level of the last phase */
} pc_ndt_end;

/* Where the next sums are taken. */
typedef enum { PC_NDT_AT_STEP, PC_NDT_AT_LINES, PC_NDT_AT_RESULT, PC_NDT_AT_START, PC_NDT_AT_END } pc_ndt_stage;

typedef struct pc_ndt_optimizer {
    /* Given. Poses and metres are those of the frame of the fixed-point units, offsets not counted. */
    pc_ndt_frame frame;
    pc_ndt_measure target;
    int64_t points[PC_SETS]; /* of the parts of the source */
    int levels, max_iterations;
    bool single;                  /* a pair: the lines of the target may be those of the source */
    bool in_map;                  /* the target is a map of scans */
    double edge, metres, radians; /* of a finest voxel; when a step is small at the end */
    double reach;                 /* metres: how far from the start a result can be */
    pc_pose start;
    /* Out. */
    pc_ndt_end end;
    pc_optimizer base;
    pc_ndt_phase phase;                               /* the last one */
    double final_sums[PC_NDT_MOST_SUMS][PC_NDT_SUMS]; /* at the end, by pc_ndt_sums_of */
    /* State of the iteration. */
    pc_ndt_command command;
    pc_ndt_stage stage;
    int next_level; /* of the next phase; -1 is the finest with all of the source, -2 none */
    double scale[6];
    double ratio;   /* of the squared lengths of the last two steps; 0 = not known */
    pc_pose passed; /* the pose of the last pass */
    pc_pose last;   /* where `pose` started its last step */
    pc_pose next;   /* after the steps of this pass */
    pc_pose first;  /* where the phase started */
    double step[6], objective, best, here, first_objective;
    int k, halved;
    pc_ndt_step_history step_history;
} pc_ndt_optimizer;

/* A registration as one job of a back end, from points to the end of the optimizer, whose `target` it fills. */
typedef struct pc_ndt_job {
    pc_ndt_target target;
    pc_ndt_source source;
    pc_ndt_optimizer optimizer;
    double target_seconds; /* out: time to build the target, where a back end builds it separately */
} pc_ndt_job;

/* ---- commands ---------------------------------------------------------------------------------------------------- */

/* The map from source points at a pose to fixed-point units. */
PC_HD pc_ndt_map pc_ndt_map_at(const pc_ndt_frame *frame, const pc_pose *pose) {
    pc_ndt_map map;
    double R[9];
    pc_quaternion_matrix(pose->q, R);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            map.m[4 * i + k] = (float)(R[3 * i + k] * frame->per_unit);
        }
        map.m[4 * i + 3] = (float)((pose->t[i] - frame->origin[i]) * frame->per_unit);
        map.limit[i] = frame->limit[i];
    }
    return map;
}

/* Requests a pass at a pose. */
PC_HD void pc_ndt_ask_pass(pc_ndt_optimizer *p, const pc_pose *pose) {
    pc_ndt_pass *pass = &p->command.pass;
    pass->map = pc_ndt_map_at(&p->frame, pose);
    pass->level = p->phase.level;
    pass->set = p->phase.set;
    pass->grids = p->phase.grids;
    p->command.passes = true;
    p->passed = *pose;
}

/* Requests one more kind of sums at `next`, NULL: the pose of the last pass. Means move, points keep their voxel. */
PC_HD void pc_ndt_ask_sums(pc_ndt_optimizer *p, pc_ndt_sums_of what, double kernel, const pc_pose *next) {
    pc_ndt_step *step = &p->command.step[p->command.sums++];
    step->robust = what == PC_SUMS_SCENE ? 0.0f : 1.0f;
    step->parents = p->phase.own ? 0.0f : 1.0f;
    step->planes = what == PC_SUMS_SOLVE ? 0.0f : 1.0f;
    step->unit = (float)p->frame.unit;
    step->points = p->phase.points;
    const double finest = p->in_map ? PC_NDT_POINTS_MAP : PC_NDT_POINTS_FINE;
    step->most = (float)(p->phase.level > 0 ? PC_NDT_POINTS_WIDE : finest);
    step->kernel = (float)(kernel * kernel);
    double turn[9] = {0}, shift[3] = {0};
    if (next) {
        pc_pose_difference(&p->passed, next, p->target.center, turn, shift);
    }
    for (int i = 0; i < 9; i++) {
        step->rotation[i] = (float)turn[i];
    }
    for (int i = 0; i < 3; i++) {
        step->translation[i] = (float)shift[i];
    }
}

PC_HD void pc_ndt_ask_nothing(pc_ndt_optimizer *p) {
    p->command.passes = false;
    p->command.sums = 0;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

PC_HD double pc_ndt_dot6(const double gyration[3], const double *a, const double *b) {
    double sum = 0.0;
    for (int i = 0; i < 6; i++) {
        double scale = i < 3 ? gyration[i] : 1.0;
        sum += (a[i] * scale) * (b[i] * scale);
    }
    return sum;
}

/* A Gauss-Newton step falls short of the optimum, since points change their voxels: successive steps shrink like a
 * geometric series. Two steps give its ratio and its limit (Anderson 1965, depth one). Replaces `step` by the
 * accelerated step; returns the expected ratio of the squares of the next step and this one, 1 when it is unknown. */
PC_HD double pc_ndt_accelerate(const double gyration[3], pc_ndt_step_history *t, double step[6]) {
    double change[6], move[6], ratio = 1.0;
    memcpy(move, step, sizeof move);
    if (t->steps++ > 0) {
        for (int i = 0; i < 6; i++) {
            change[i] = step[i] - t->step[i];
        }
        double before = pc_ndt_dot6(gyration, t->step, t->step), now = pc_ndt_dot6(gyration, step, step);
        double squared = pc_ndt_dot6(gyration, change, change);
        if (now < PC_NDT_SHRINKS * PC_NDT_SHRINKS * before) {
            double share = pc_ndt_dot6(gyration, step, change) * (1.0 / squared); /* faster than to divide on a GPU */
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

/* ---- from phase to phase ----------------------------------------------------------------------------------------- */

/* The first sums of an iteration: a pass at the present pose. */
PC_HD void pc_ndt_ask_step(pc_ndt_optimizer *p) {
    p->stage = PC_NDT_AT_STEP;
    p->k = 0;
    p->next = p->base.pose;
    memset(p->step, 0, sizeof p->step);
    pc_ndt_ask_pass(p, &p->base.pose);
    pc_ndt_ask_sums(p, PC_SUMS_SOLVE, p->phase.kernel, NULL);
}

PC_HD void pc_ndt_ask_result(pc_ndt_optimizer *p) {
    p->stage = PC_NDT_AT_END;
    pc_ndt_ask_sums(p, PC_SUMS_SOLVE, p->phase.kernel, &p->base.pose);
    pc_ndt_ask_sums(p, PC_SUMS_SCENE, 1.0, &p->base.pose);
    pc_ndt_ask_sums(p, PC_SUMS_CONSISTENCY, PC_NDT_KERNEL_CONSISTENCY, &p->base.pose);
}

/* A start that is as good as the result replaces it, so that a cloud registered to itself gives the exact answer. */
PC_HD void pc_ndt_finish_phases(pc_ndt_optimizer *p) {
    const double near = PC_NDT_START_EDGES * p->edge, turned = 1e-4;
    if (pc_pose_near(&p->start, &p->base.pose, p->target.center, near * near, turned * turned)) {
        p->stage = PC_NDT_AT_RESULT;
        pc_ndt_ask_pass(p, &p->base.pose);
        pc_ndt_ask_sums(p, PC_SUMS_SOLVE, p->phase.kernel, NULL);
    } else {
        pc_ndt_ask_result(p);
    }
}

/* The rings of two scans from one place coincide, and constrain as any surface does. Then one more step has the lines'
 * own weights. It is short, since rings that moved a little would pull towards no motion. */
PC_HD void pc_ndt_take_lines(pc_ndt_optimizer *p, const double *sums) {
    double step[6], near = PC_NDT_LINES_EDGES * p->edge;
    p->phase.own = sums[PC_NDT_OBJECTIVE] > (1.0 - PC_NDT_LINES_LOST) * p->best &&
                   pc_solve_ridge(p->scale, PC_NDT_RIDGE, sums, step) &&
                   pc_ndt_dot6(p->target.gyration, step, step) < near * near;
    if (p->phase.own) {
        p->base.iterations[0]++;
        p->base.pose = pc_pose_updated(&p->base.pose, p->target.center, step);
    }
    pc_ndt_finish_phases(p);
}

/* Asks whether the lines of two scans of a pair lie on each other. */
PC_HD void pc_ndt_end_phases(pc_ndt_optimizer *p) {
    if (p->single) {
        p->stage = PC_NDT_AT_LINES;
        p->phase.own = true;
        pc_ndt_ask_sums(p, PC_SUMS_SOLVE, p->phase.kernel, &p->base.pose);
    } else {
        pc_ndt_finish_phases(p);
    }
}

/* Whether the last phase is to be undone: its objective fell, or it left the reach of the coarsest voxels, into which a
 * room that is seen in part fits in several rotations. The last one of all is left to the convergence check. */
PC_HD bool pc_ndt_phase_fails(const pc_ndt_optimizer *p) {
    return p->best < (1.0 - PC_NDT_OBJECTIVE_LOST) * p->first_objective ||
           (p->next_level > -2 &&
            !pc_pose_near(&p->start, &p->base.pose, p->target.center, p->reach * p->reach, PC_MOST_TURNED));
}

PC_HD void pc_ndt_begin_phase(pc_ndt_optimizer *p) {
    const int l = p->next_level;
    if (l < -1) {
        pc_ndt_end_phases(p);
        return;
    }
    const bool finest = l < 0;
    const double *gyration = p->target.gyration, arm = fmax(gyration[0], fmax(gyration[1], gyration[2]));
    const double step = PC_NDT_LEVEL_STEP * p->edge * (double)(1 << (l > 0 ? l : 0));
    pc_ndt_phase *f = &p->phase;
    f->level = finest ? 0 : l;
    f->set = finest ? PC_SET_ALL : l == 0 ? PC_SET_MIDDLE : PC_SET_COARSE;
    f->grids = finest ? 2 : 1;
    f->rounds = pc_optimizer_rounds(finest, p->max_iterations);
    f->kernel = l > 0 ? PC_NDT_KERNEL_WIDE : PC_NDT_KERNEL_FINE;
    f->points = (float)((double)p->points[PC_SET_ALL] / (double)p->points[f->set]);
    p->next_level--;
    memset(&p->step_history, 0, sizeof p->step_history);
    p->step_history.ratio = finest ? sqrt(p->ratio) : 0.0;
    p->best = 0.0;
    p->halved = 0;
    p->first = p->base.pose;
    pc_optimizer_begin_level(&p->base, f->level, finest ? p->metres : step, finest ? p->radians : step / arm);
    pc_ndt_ask_step(p);
}

/* Ends an iteration: takes the step, or halves the previous one. */
PC_HD void pc_ndt_end_step(pc_ndt_optimizer *p) {
    const double *center = p->target.center;
    pc_optimizer *o = &p->base;
    if (o->rounds > 0 && p->objective < (1.0 - PC_NDT_OBJECTIVE_LOST) * p->best && p->halved < PC_NDT_HALVINGS) {
        p->halved++;
        p->step_history.steps = 0;
        for (int j = 0; j < 6; j++) {
            p->step_history.move[j] *= 0.5;
        }
        o->pose = pc_pose_updated(&p->last, center, p->step_history.move);
    } else {
        p->halved = 0;
        p->best = p->objective;
        p->first_objective = o->rounds == 0 ? p->objective : p->first_objective;
        double metres2 = pc_square3(p->step + 3), radians2 = pc_square3(p->step);
        double shrinks = pc_ndt_accelerate(p->target.gyration, &p->step_history, p->step);
        p->ratio = shrinks < 1.0 ? shrinks : 0.0;
        p->last = o->pose;
        pc_optimizer_move(o, center, -p->objective, p->step);
        o->converged = pc_optimizer_is_short(o, metres2 * shrinks, radians2 * shrinks);
        if (!o->converged) {
            pc_optimizer_find_cycle(o, center);
        }
    }
    if (pc_optimizer_ends_level(o, p->phase.rounds)) {
        if (pc_ndt_phase_fails(p)) {
            o->pose = p->first;
            p->ratio = 0.0;
        }
        pc_ndt_begin_phase(p);
    } else {
        pc_ndt_ask_step(p);
    }
}

PC_HD void pc_ndt_take_step(pc_ndt_optimizer *p, const double *sums) {
    double update[6];
    p->base.iterations[p->base.level] += p->k == 0;
    p->objective = p->k ? p->objective : sums[PC_NDT_OBJECTIVE];
    if (!pc_solve_ridge(p->scale, PC_NDT_RIDGE, sums, update)) {
        p->end = PC_NDT_NO_OVERLAP;
        return;
    }
    for (int j = 0; j < 6; j++) {
        p->step[j] += update[j];
    }
    if (++p->k < (p->phase.level > 0 ? PC_NDT_WIDE_STEPS : PC_NDT_FINE_STEPS)) {
        p->next = pc_pose_updated(&p->next, p->target.center, update);
        pc_ndt_ask_sums(p, PC_SUMS_SOLVE, p->phase.kernel, &p->next);
    } else {
        pc_ndt_end_step(p);
    }
}

/* The first command. The given members are filled, the rest is 0. */
PC_HD void pc_ndt_optimizer_begin(pc_ndt_optimizer *p) {
    for (int i = 0; i < 6; i++) {
        p->scale[i] = i < 3 ? 1.0 / p->target.gyration[i] : 1.0;
    }
    p->base.pose = p->last = p->start;
    p->next_level = p->levels - 1;
    pc_ndt_begin_phase(p);
}

/* The next command, from the sums of the last, until `end` says that there is none. */
PC_HD void pc_ndt_optimizer_next(pc_ndt_optimizer *p, double (*sums)[PC_NDT_SUMS]) {
    pc_ndt_ask_nothing(p);
    if (p->stage == PC_NDT_AT_STEP) {
        pc_ndt_take_step(p, sums[0]);
    } else if (p->stage == PC_NDT_AT_LINES) {
        pc_ndt_take_lines(p, sums[0]);
    } else if (p->stage == PC_NDT_AT_RESULT) {
        p->here = sums[0][PC_NDT_OBJECTIVE];
        p->stage = PC_NDT_AT_START;
        pc_ndt_ask_pass(p, &p->start);
        pc_ndt_ask_sums(p, PC_SUMS_SOLVE, p->phase.kernel, NULL);
    } else if (p->stage == PC_NDT_AT_START) {
        if (sums[0][PC_NDT_OBJECTIVE] >= (1.0 - PC_NDT_ROUNDING) * p->here) {
            p->base.pose = p->start;
        } else {
            pc_ndt_ask_pass(p, &p->base.pose);
        }
        pc_ndt_ask_result(p);
    } else {
        memcpy(p->final_sums, sums, sizeof p->final_sums);
        p->end = PC_NDT_ARRIVED;
    }
}

#endif
