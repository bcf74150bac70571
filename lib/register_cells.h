/* What the files of registration by cells share: register_cells.c (the method, iterations), register_cells_points.c
 * (usable points, parts of the source, the target's grid) and register_cells_judge.c (what the result is worth). */
#ifndef PC_REGISTER_CELLS_H
#define PC_REGISTER_CELLS_H

#include "icp_cells_path.h"
#include "register.h"

/* Points as x[], y[], z[]. */
typedef struct pc_point_set {
    int64_t n;
    float *x, *y, *z;
} pc_point_set;

typedef struct pc_cells_work {
    pc_register_work *w;
    const pc_backend *backend;
    pc_point_set source, target; /* usable points, in memory that the context keeps */
    pc_cells_source parts;       /* of the source */
    pc_cells_frame frame;
    double noise; /* the noise scale s at the finest level, metres */
} pc_cells_work;

/* The usable points of a cloud, counted in the result's run. */
pcgpu_status pc_cells_select(const pc_cells_work *c, const pcgpu_cloud *cloud, int scratch, pc_point_set *p);

/* Brings both clouds near 0 (offsets and pose follow), chooses the parts of the source and lays the target's grid;
 * `edge` is that of a finest cell in metres. Errors: ARGUMENT (the target spans too many cells). */
pcgpu_status pc_cells_arrange(pc_cells_work *c, double edge);

/* Fills the result but for transform and verdict, from the end of a path. */
void pc_cells_evaluate(const pc_cells_work *c, const pc_cells_path *path);

#endif
