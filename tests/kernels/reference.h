/* The references: each operation as the shortest plain program, sharing no code with the library. */
#ifndef REFERENCE_H
#define REFERENCE_H

#include "kernels.h"

typedef struct picks {
    int64_t count;
    int32_t *indices;
    float *distances;
} picks;

/* Finite, and not at the origin when that is to be dropped. */
bool is_usable(const pcgpu_cloud *cloud, int64_t record, bool drop_origin);
/* The number of usable records and the first of them, -1 without one. */
int64_t count_usable(const pcgpu_cloud *cloud, bool drop_origin, int64_t *first);
/* What lib/core/backend.h says of a job. */
void plain_sample_job(pc_sample_job *job);
/* count: 1 to the usable records; start: a usable record. */
picks plain_sample(const pcgpu_cloud *cloud, int64_t start, int64_t count, float min_distance, bool drop_origin);
/* The same with other columns as coordinates, after seeds, which are usable records. */
picks plain_sample_columns(const pcgpu_cloud *cloud, const int *columns, int dimensions, const int32_t *seeds,
                           int64_t seed_count, int64_t start, int64_t count, float min_distance);
bool equal_picks(const picks *want, int64_t count, const int32_t *indices, const float *distances);
void free_picks(picks *p);
/* The public call on every context, against what is wanted. */
void check_sample(test_bed *bed, const char *name, const pcgpu_cloud *cloud, const pcgpu_sample_params *params,
                  const picks *want);

/* A cloud without an offset; `range` instead of the one of the parameters. Free with pcgpu_voxels_free. */
pcgpu_voxels plain_voxelize(const pcgpu_cloud *cloud, const double range[6], const pcgpu_voxelize_params *p);
/* The first thing in which two results of a cloud of so many records differ, or NULL. selects: records are selected. */
const char *voxels_difference(const pcgpu_voxels *a, const pcgpu_voxels *b, int64_t rows, bool selects);

#endif
