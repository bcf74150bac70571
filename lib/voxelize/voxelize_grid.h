/* Checks of the parameters, the bounds of the points and the grid: of a cloud, or of a file in pieces. */
#ifndef PC_VOXELIZE_GRID_H
#define PC_VOXELIZE_GRID_H

#include "voxelize_ops.h"

/* Bounds of usable points; min > max when there is none. */
typedef struct pc_survey {
    float min[3], max[3];
} pc_survey;

/* `cloud` may have no data: rows and offset are used. Only a file in pieces may have more than 2^31 - 1 rows. Errors:
 * ARGUMENT. */
pcgpu_status pc_voxelize_check(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_voxelize_params *params,
                               bool in_pieces);
/* pcgpu_voxelize, which keeps the first voxels. */
pcgpu_status pc_voxelize_first(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_voxelize_params *params,
                               pcgpu_voxels *result);
/* Whether a column behind x y z has classes, whose means are not classes. */
bool pc_cloud_has_classes(const pcgpu_cloud *cloud);
/* Sets the types of voxels, and of means the classes, or warns. `pieces`: the cloud in pieces, for which the classes
 * take about `memory` bytes; or NULL. On failure the voxels own nothing. Errors: MEMORY, and those of
 * pcgpu_pieces_next. */
pcgpu_status pc_voxels_set_classes(pcgpu_context *context, const pcgpu_cloud *cloud, pcgpu_pieces *pieces,
                                   size_t memory, const pcgpu_voxelize_params *params, pcgpu_voxels *voxels);
/* The job without its grid. */
pc_voxelize_job pc_voxelize_job_of(const pcgpu_cloud *cloud, const pcgpu_voxelize_params *params);
pc_survey pc_survey_cloud(pcgpu_context *context, const pc_voxelize_job *job);
void pc_survey_join(pc_survey *all, const pc_survey *found);
/* Sets the counts of `result` that follow from others, and its cells. */
void pc_voxelize_describe(const pc_voxelize_job *job, pcgpu_voxels *result);
/* The grid, and the range in effect. Errors: ARGUMENT. */
pcgpu_status pc_voxelize_grid(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_voxelize_params *params,
                              const pc_survey *found, pc_grid *grid, double range[6]);

#endif
