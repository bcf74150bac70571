/* The operations of a back end for voxelization. All pointers are host pointers. */
#ifndef PC_VOXELIZE_OPS_H
#define PC_VOXELIZE_OPS_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Voxelization of `rows` row-major records. skip_origin drops records at exactly (0,0,0). Non-finite coordinates are
 * out of every range. The outputs below are malloc'd by the back end; on failure it frees them and leaves NULL. */
typedef struct pc_voxelize_job {
    int64_t rows;
    int columns;
    const float *data;
    pc_grid grid;
    int64_t max_points, max_voxels; /* 0 = none */
    pcgpu_features features;
    bool skip_origin;
    float skip[3]; /* the record that counts as the origin: -offset, normally 0 0 0 */
} pc_voxelize_job;

/* Features that are a record of the cloud. */
static inline bool pc_features_are_selected(pcgpu_features features) {
    return features == PCGPU_FEATURES_FIRST || features == PCGPU_FEATURES_NEAREST;
}

/* What a limit leaves of a number of voxels or points; 0 is no limit. */
PC_HD int64_t pc_limited(int64_t number, int64_t limit) {
    return limit && limit < number ? limit : number;
}

typedef struct pc_voxelize_ops {
    /* Fills count, capacity, columns, features, coords, counts, point_voxel, selected, in_range, kept, over_points,
     * over_voxels, voxels_found, largest, run.non_finite and run.at_origin; leaves the rest of `out` alone. */
    pcgpu_status (*voxelize)(pcgpu_context *context, const pc_voxelize_job *job, pcgpu_voxels *out);
} pc_voxelize_ops;

#ifdef __cplusplus
}
#endif
#endif
