/* Farthest point sampling as the libraries for learning on point clouds do it, to compare with. */
#ifndef SAMPLE_ONE_BLOCK_H
#define SAMPLE_ONE_BLOCK_H

#include "sample_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Samples `clouds` clouds of the same size from their first point, `repeats` times. indices and squared: `picks` for
 * each cloud in turn; milliseconds: of each repeat, from points in device memory to picks in device memory. Gives NULL,
 * or what went wrong. */
const char *one_block_sample(const pc_sample_job *jobs, int clouds, int64_t picks, int repeats, float *milliseconds,
                             int32_t *indices, float *squared);

#ifdef __cplusplus
}
#endif
#endif
