/* What the files of registration by cells share: ndt.c (the method, iterations), ndt_points.c
 * (usable points, parts of the source, the target's grid) and ndt_judge.c (what the result is worth). */
#ifndef PC_REGISTER_CELLS_H
#define PC_REGISTER_CELLS_H

#include "ndt_ops.h"
#include "ndt_path.h"
#include "register.h"

/* Points as x[], y[], z[]. */
typedef struct pc_point_set {
    int64_t n;
    float *x, *y, *z;
    float box[3][2]; /* least and largest x, y and z */
    int place;       /* of a sequence, where a device keeps it */
} pc_point_set;

typedef struct pc_cells_work {
    pc_register_work *w;
    const pc_backend *backend;
    pc_point_set source, target; /* usable points, in memory that the context or the back end keeps */
    float *memory[PC_SCRATCHES]; /* for their coordinates, 3 floats a record; NULL: one pair, which takes its own */
    double target_shift[3];      /* metres that were taken off the target */
    pc_cells_source parts;       /* of the source */
    pc_cells_frame frame;
    double noise; /* the noise scale s at the finest level, metres */
} pc_cells_work;

/* Whether the cells of the target are begun while the source is selected: those of a single pair, on a device. One of
 * several pairs has memory of its own, and a thread. */
static inline bool pc_cells_begins(const pc_cells_work *c) {
    return c->backend->ndt->begin && !c->memory[PC_SCRATCH_TARGET];
}

/* What is done with a job as soon as the target's points are there. */
typedef pcgpu_status pc_cells_target_fn(pc_cells_work *c, pc_cells_job *job);

/* The usable points of both clouds, counted in the result's run. `then` is called with those of the target, while other
 * threads select those of the source. */
pcgpu_status pc_cells_select(pc_cells_work *c, const pcgpu_cloud *source, const pcgpu_cloud *target,
                             pc_cells_target_fn *then, pc_cells_job *job);

/* Brings the target near 0 and lays its grid; `edge` is that of a finest cell in metres. Errors: ARGUMENT (it spans too
 * many cells). */
pcgpu_status pc_cells_arrange_target(pc_cells_work *c, double edge);

/* Then the source: brings it near 0 and chooses its parts; offsets and pose follow. */
void pc_cells_arrange_source(pc_cells_work *c);

/* All of that: makes a job of two clouds, whose path has no level when there are too few usable points. */
pcgpu_status pc_cells_prepare(pc_cells_work *c, const pcgpu_cloud *source, const pcgpu_cloud *target,
                              pc_cells_job *job);

/* The same for a cloud and memory of the caller's, 3 floats a record: for sets that are used more than once. */
void pc_cells_select_into(pcgpu_context *context, const pcgpu_cloud *cloud, bool drop_origin, float *memory,
                          pc_point_set *p, pcgpu_run *run);
/* The box of points that the caller has made. */
void pc_cells_find_box(pc_point_set *p);
/* Takes whole metres off far-away coordinates, which are added to `offset`: no registration has to do it then. */
void pc_cells_settle(pc_point_set *p, double offset[3]);

/* A target that several registrations have in common: once it is held, the back end has its cells. */
typedef struct pc_cells_held {
    void *device; /* the back end's state of the sequence, or NULL */
    bool held;
    pc_cells_frame frame;
    pc_cells_measure measure;
    int64_t points;
} pc_cells_held;

/* Registers selected points. `target` NULL: the model of the back end, which is held; else its points, which are used
 * when it is not held yet. Both are settled, stay as they are, and have been sent where a device keeps them. */
pcgpu_status pc_register_cells_points(pc_register_work *w, pc_point_set *source, pc_point_set *target,
                                      pc_cells_held *held);
/* Makes the target ahead of time, which a device does meanwhile; as above. Nothing happens when there are too few
 * points. */
pcgpu_status pc_register_cells_hold(pc_register_work *w, pc_point_set *target, pc_cells_held *held);

/* The noise scale of a registration with these parameters, and what a back end is told of a target. */
double pc_cells_noise_of(const pc_register_work *w);
void pc_cells_describe_target(const pc_cells_work *c, const pc_pose *pose, pc_cells_target *t);

/* After the path of a job has been followed: pose, counts and what the result says. */
void pc_cells_conclude(pc_cells_work *c, const pc_cells_path *path);

/* Fills the result but for transform and verdict, from the end of a path. */
void pc_cells_evaluate(const pc_cells_work *c, const pc_cells_path *path);

#endif
