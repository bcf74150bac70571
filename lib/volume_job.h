/* What lib/volume.c and a back end tell each other. */
#ifndef PC_VOLUME_JOB_H
#define PC_VOLUME_JOB_H

#include "backend.h"
#include "icp_depth.h"
#include "volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The back end that a volume is on. */
const pc_backend *pc_volume_backend(const pcgpu_volume *volume);

/* A frame to fuse. */
typedef struct pc_volume_job {
    pc_volume_view view;
    const uint16_t *depth; /* view.height x view.width */
    uint32_t low, high;    /* depths from low to before high are points */
    float units;           /* depth units a metre */
    int64_t max_blocks;
    /* out: */
    int64_t blocks, new_blocks, updated_blocks, unreachable, bytes;
} pc_volume_job;

/* Depth of a pixel in metres, and 1 / depth; 0 = none. */
PC_HD float pc_volume_metres(const pc_volume_job *job, uint16_t d) {
    return d >= job->low && d < job->high ? (float)d / job->units : 0.0f;
}

PC_HD float pc_volume_inverse(const pc_volume_job *job, uint16_t d) {
    return d >= job->low && d < job->high ? job->units / (float)d : 0.0f;
}

typedef struct pc_volume_blocks {
    pc_volume_grid grid;
    int64_t count; /* of blocks; they are numbered 1 to count */
} pc_volume_blocks;

/* For what works with a volume inside of the library, such as registration to it: the back end's state, and a camera's
 * place, with the errors of pcgpu_volume_raycast. */
void *pc_volume_state(const pcgpu_volume *volume);
pcgpu_status pc_volume_view_of(const pcgpu_volume *volume, int width, int height, const pcgpu_camera *camera,
                               const double T_world_camera[16], pc_volume_view *view);

/* The sentence of a frame that needs more blocks than there may be. */
pcgpu_status pc_volume_full(pcgpu_context *context, int64_t needed, int64_t most);

/* volume_surface.c: the surface of a volume in host memory. `indices` of the mesh stay NULL unless `triangles`. */
pcgpu_status pc_volume_extract(pcgpu_context *context, const pc_volume_blocks *blocks, double voxel, float truncation,
                               float min_weight, bool triangles, pcgpu_mesh *mesh);

#ifdef __cplusplus
}
#endif

#endif
