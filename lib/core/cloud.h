/* Shared by operations on clouds: usable points, normals, creation of a cloud with the columns of another. */
#ifndef PC_CLOUD_H
#define PC_CLOUD_H

#include "pcgpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The usable points of a cloud as separate arrays: finite, and not at the origin of the file when drop_origin. */
typedef struct pc_points {
    int64_t n;
    float *x, *y, *z; /* n each */
    int32_t *rows;    /* n: the record of each point, or NULL when every record is usable */
    float *memory;
} pc_points;

/* Fills `points` and counts points_in, non_finite and at_origin in `run` (added to what is there). */
pcgpu_status pc_points_select(pcgpu_context *context, const pcgpu_cloud *cloud, bool drop_origin, pc_points *points,
                              pcgpu_run *run);
void pc_points_free(pc_points *points);

/* First of the three adjacent columns nx ny nz or normal_x normal_y normal_z, or -1. */
int pc_normal_column(const pcgpu_cloud *cloud);

/* A new cloud with the columns, types and offset of another; its values are the caller's to fill. */
pcgpu_status pc_cloud_create_like(pcgpu_context *context, const pcgpu_cloud *model, int64_t rows, pcgpu_cloud *out);

#ifdef __cplusplus
}
#endif
#endif
