/* Shared by the files of method ndt: ndt.c (the method), ndt_points.c (usable points, parts of the source, grid of the
 * target) and ndt_evaluate.c (quality of the result). */
#ifndef PC_NDT_H
#define PC_NDT_H

#include "ndt_ops.h"
#include "ndt_optimizer.h"
#include "register.h"

typedef struct pc_ndt_work {
    pc_register_work *w;
    const pc_backend *backend;
    pc_points source, target;     /* usable points, in memory that the context or the back end keeps */
    float *memory[PC_NDT_CLOUDS]; /* for their coordinates, 3 floats a record; NULL: one pair, which takes its own */
    double target_shift[3];       /* metres that were taken off the target */
    pc_ndt_source parts;          /* of the source */
    pc_ndt_frame frame;
    double most_gyration; /* metres, by the source: see pc_ndt_look; 0: not known yet */
    const float *copies;  /* of samples of the source, where its points are in the memory of a device: pc_sampled */
    double sigma;         /* the regularization sigma s at the finest level, metres */
} pc_ndt_work;

/* Whether the pair is a single one: its target may be begun while its source is selected. A pair of a group has its own
 * memory and one thread. */
static inline bool pc_ndt_is_single(const pc_ndt_work *c) {
    return !c->memory[PC_NDT_TARGET];
}

/* Called with a job as soon as the target's points are selected. */
typedef pcgpu_status pc_ndt_target_fn(pc_ndt_work *c, pc_ndt_job *job);

/* The usable points of both clouds, counted in the result's run. `then` is called with those of the target, while other
 * threads select those of the source. */
pcgpu_status pc_ndt_select(pc_ndt_work *c, const pcgpu_cloud *source, const pcgpu_cloud *target, pc_ndt_target_fn *then,
                           pc_ndt_job *job);

/* Shifts the target near 0 and lays out its grid; `edge`: of a finest voxel, metres. Errors: ARGUMENT (it spans too
 * many voxels). */
pcgpu_status pc_ndt_arrange_target(pc_ndt_work *c, double edge);

/* Then the source: shifts it near 0 and chooses its parts; updates offsets and pose. */
void pc_ndt_arrange_source(pc_ndt_work *c);

/* All of the above: makes a job of two clouds. Its optimizer has no level when there are too few usable points. */
pcgpu_status pc_ndt_prepare(pc_ndt_work *c, const pcgpu_cloud *source, const pcgpu_cloud *target, pc_ndt_job *job);

/* The same of points that are selected, near 0. */
pcgpu_status pc_ndt_make_job(pc_ndt_work *c, pc_ndt_job *job);

/* A target that several registrations share. Once it is held, the back end has its voxels. */
typedef struct pc_ndt_held {
    void *sequence; /* the back end's state of it */
    bool held;
    pc_ndt_frame frame;
    pc_ndt_measure measure;
    int64_t points;
} pc_ndt_held;

/* Registers selected points. `target` NULL: the local map of the sequence, which is held; else its points, which are
 * used when it is not held yet. Both are settled, stay as they are, and have been sent to the sequence. */
pcgpu_status pc_register_ndt_points(pc_register_work *w, pc_points *source, pc_points *target, pc_ndt_held *held);
/* Sets the target ahead of time, so that a device makes its voxels meanwhile; as above. Nothing happens when there are
 * too few points. */
pcgpu_status pc_register_ndt_hold(pc_register_work *w, pc_points *target, pc_ndt_held *held);

/* The regularization sigma of a registration with these parameters, and the target as a back end gets it. */
double pc_ndt_sigma_of(const pc_register_work *w);
void pc_ndt_describe_target(const pc_ndt_work *c, const pc_pose *pose, pc_ndt_target *t);

/* What conclusions need that no job changes: the views of both clouds, and how far the points of the source lie from
 * each other. state: a pc_ndt_work. For a back end to call beside its work. */
void pc_ndt_look(void *state);

/* After a job was done, which began at `begin`: pose, counts, times and what the result says. */
void pc_ndt_conclude(pc_ndt_work *c, const pc_ndt_job *job, double begin);

/* Fills the result from the end of the optimizer, except transform and convergence check. */
void pc_ndt_evaluate(const pc_ndt_work *c, const pc_ndt_optimizer *optimizer);

/* Registers by method ndt (ndt.c): sets the pose and the result except transform and convergence check, source and
 * target points, center and radii of gyration. */
pcgpu_status pc_register_ndt(pc_register_work *w, const pcgpu_cloud *source, const pcgpu_cloud *target);

#endif
