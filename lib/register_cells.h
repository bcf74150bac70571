/* What the files of registration by cells share: register_cells.c (the method, iterations), register_cells_points.c
 * (usable points, parts of the source, the target's grid) and register_cells_judge.c (what the result is worth). */
#ifndef PC_REGISTER_CELLS_H
#define PC_REGISTER_CELLS_H

#include "icp_cells.h"
#include "register.h"

/* Points as x[], y[], z[]. */
typedef struct pc_point_set {
    int64_t n;
    float *x, *y, *z;
} pc_point_set;

/* Parts of the source, or all of it where that is not much. */
enum { PC_SET_COARSE, PC_SET_MIDDLE, PC_SET_ALL, PC_SETS };

typedef struct pc_cells_work {
    pc_register_work *w;
    const pc_backend *backend;
    pc_point_set source, target; /* usable points, in memory that the context keeps */
    pc_point_set sets[PC_SETS];
    pc_cells_map map; /* limits of the target's box */
    double quantum, origin[3];
    double noise; /* the noise scale s at the finest level, metres */
} pc_cells_work;

/* One phase: a level, the points that it takes, the grids, the kernel's k, and when a step is small. */
typedef struct pc_cells_phase {
    int level, set, grids;
    double metres, radians, kernel;
} pc_cells_phase;

/* The usable points of a cloud, counted in the result's run. */
pcgpu_status pc_cells_select(const pc_cells_work *c, const pcgpu_cloud *cloud, int scratch, pc_point_set *p);

/* Brings both clouds near 0 (offsets and pose follow), takes the parts of the source and lays the target's grid; `edge`
 * is that of a finest cell in metres. Errors: ARGUMENT (the target spans too many cells), MEMORY. */
pcgpu_status pc_cells_arrange(pc_cells_work *c, double edge);

/* Takes points to quanta through a pose. */
void pc_cells_set_map(const pc_cells_work *c, const pc_pose *pose, pc_cells_map *map);

/* What sums over cells are for. */
typedef enum pc_cells_sums_of {
    PC_SUMS_SOLVE, /* the normal equations, robust */
    PC_SUMS_SCENE, /* what the planes among the cells can constrain: without the kernel */
    PC_SUMS_AGREE  /* what they do constrain: with it */
} pc_cells_sums_of;

/* Sums at `next`, from the last pass, which was at `pose`: the mean of a cell moves with the pose, the points stay in
 * it. */
pcgpu_status pc_cells_sum(const pc_cells_work *c, const pc_cells_phase *f, pc_cells_sums_of what, double kernel,
                          const pc_pose *pose, const pc_pose *next, double *sums);

/* Fills the result but for transform and verdict, at the present pose from the last pass, which was at `last`. */
pcgpu_status pc_cells_evaluate(const pc_cells_work *c, const pc_cells_phase *f, const pc_pose *last);

#endif
