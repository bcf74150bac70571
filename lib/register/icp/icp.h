/* ICP: the rows of clouds, and the levels from coarse to fine. */
#ifndef PC_ICP_LEVELS_H
#define PC_ICP_LEVELS_H

#include "register.h"

/* The usable points of a cloud, with its normals where the method takes them (icp_points.c); their means by voxels
 * of `size` metres, or themselves when it is 0. `out` is zeroed before, or what an earlier call left. */
pcgpu_status pc_rows_select(pc_register_work *w, const pcgpu_cloud *cloud, pc_rows *out);
pcgpu_status pc_rows_downsample(pc_register_work *w, const pc_rows *points, double size, pc_rows *out);
void pc_rows_free(pc_rows *rows);

/* Prepares and iterates level `l` of params->levels; sets pose, converged and, when nothing can be done, stopped. */
pcgpu_status pc_register_level(pc_register_work *w, int l);

/* One pass over the level's source at the present pose. */
typedef struct pc_register_weights {
    pc_icp_kernel kernel;
    double scale; /* metres */
} pc_register_weights;
pcgpu_status pc_register_step(pc_register_work *w, pc_icp_rows kind, pc_register_weights weights, double *sums);

/* The weights of a score: 1/4 at 0.4 of the level's spacing. */
pc_register_weights pc_register_score_weights(const pc_register_work *w);

#endif
