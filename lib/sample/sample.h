/* What the files of sampling share: sample.c (checks, the back end, the way back to records), sample_places.c (where
 * sampling begins) and sample_random.c (draws). */
#ifndef PC_SAMPLE_H
#define PC_SAMPLE_H

#include "backend.h"
#include "sample_ops.h"

/* ---- sample_places.c ------------------------------------------------------------------------------------------- */

/* The usable point that is picked first. Errors: ARGUMENT (no such record, or a dropped one). */
pcgpu_status pc_sample_start(pcgpu_context *context, const pcgpu_sample_params *params, const pc_points *points,
                             int64_t rows, int64_t *start);
/* The usable points of the records that count as picked; malloc'd. Errors: ARGUMENT (no such record, a dropped one, one
 * given twice), MEMORY. */
pcgpu_status pc_sample_seeds(pcgpu_context *context, const pcgpu_sample_params *params, const pc_points *points,
                             int64_t rows, int32_t **seeds);

/* ---- sample_random.c ------------------------------------------------------------------------------------------- */

/* One of 0..n-1. */
int64_t pc_random_place(uint64_t seed, int64_t n);
/* Fills job->indices with `count` of the points that are no seeds. Errors: MEMORY. */
pcgpu_status pc_random_draw(pcgpu_context *context, uint64_t seed, pc_sample_job *job);

#endif
