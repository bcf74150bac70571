/* What the files of sampling share: sample.c (checks, back end, conversion to records), sample_columns.c (points of
 * other columns than x y z), sample_start.c (the start and the seeds) and sample_random.c (random numbers). */
#ifndef PC_SAMPLE_H
#define PC_SAMPLE_H

#include "backend.h"
#include "sample_ops.h"
#include "scan.h"

/* ---- sample.c ------------------------------------------------------------------------------------------------- */

/* Errors: ARGUMENT. */
pcgpu_status pc_sample_check(pcgpu_context *context, const pcgpu_sample_params *params, int clouds);
/* The number of picks of n usable points; with a minimum distance, a count is only an upper bound. Errors: ARGUMENT. */
pcgpu_status pc_sample_count(pcgpu_context *context, const pcgpu_sample_params *params, int64_t n, int64_t rows,
                             int64_t *count);

/* Farthest point sampling of points that are selected among `rows` records, and are overwritten; `files`: large arrays
 * are in temporary files. Errors: as pcgpu_sample; IO. */
pcgpu_status pc_sample_points(pcgpu_context *context, pc_points *points, int64_t rows, bool files,
                              const pcgpu_sample_params *params, pcgpu_sampled *result);

/* ---- sample_columns.c ----------------------------------------------------------------------------------------- */

/* Whether distances have other columns than x y z. */
bool pc_has_columns(const pcgpu_sample_params *params);
/* The dimensions of a job: 0 where x, y and z hold all columns. */
static inline int pc_dimensions_of(const pcgpu_sample_params *params) {
    return params->column_count > 3 ? params->column_count : 0;
}
/* Errors: ARGUMENT (a column that the cloud does not have; random sampling). */
pcgpu_status pc_columns_check(pcgpu_context *context, const pcgpu_sample_params *params, int64_t columns);
/* As pc_points_select, with the columns of the parameters as coordinates: without a box; with 4 or more columns,
 * coordinate k of point i is x[k * n + i]. */
pcgpu_status pc_columns_select(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_sample_params *params,
                               pc_points *points, pcgpu_run *run);

/* ---- sample_start.c ------------------------------------------------------------------------------------------- */

/* The index, among the usable points, of the first pick. Errors: ARGUMENT (no such record, or a dropped record). */
pcgpu_status pc_sample_start(pcgpu_context *context, const pcgpu_sample_params *params, const pc_points *points,
                             int64_t rows, int64_t *start);
/* The indices, among the usable points, of the seeds; malloc'd. Errors: ARGUMENT (no such record, a dropped record, a
 * repeated record), MEMORY. */
pcgpu_status pc_sample_seeds(pcgpu_context *context, const pcgpu_sample_params *params, const pc_points *points,
                             int64_t rows, int32_t **seeds);

/* ---- sample_random.c ------------------------------------------------------------------------------------------- */

/* A random number in 0..n-1. */
int64_t pc_random_below(uint64_t seed, int64_t n);
/* Fills job->indices with `count` random points that are not seeds. Errors: MEMORY. */
pcgpu_status pc_random_draw(pcgpu_context *context, uint64_t seed, pc_sample_job *job);
/* The same `count` of n points without seeds, in memory for the picks instead of the points. Errors: MEMORY. */
enum { PC_SPARSE_DRAW_BYTES = 64 }; /* per pick, at most */
pcgpu_status pc_random_draw_sparse(pcgpu_context *context, uint64_t seed, int64_t n, int64_t count, int64_t *indices);

#endif
