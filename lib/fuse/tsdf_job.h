/* What lib/fuse/tsdf.c and a back end tell each other. */
#ifndef PC_VOLUME_JOB_H
#define PC_VOLUME_JOB_H

#include "backend.h"
#include "projective_math.h"
#include "tsdf_math.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The back end that a volume is on. */
const pc_backend *pc_volume_backend(const pcgpu_volume *volume);

/* A frame to fuse. */
typedef struct pc_volume_job {
    pc_volume_view view;
    const uint16_t *depth; /* view.height x view.width, in host memory */
    const pc_depth_frame *frame; /* of this image, by the same back end: a device need not be sent it again. Or NULL */
    uint32_t low, high;    /* depths from low to before high are points */
    float units;           /* depth units a metre */
    int64_t max_blocks;
    bool tells_updated; /* how many are, for which a device has to be waited for */
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

/* For what works with a volume inside of the library, such as registration to it. pcgpu_volume_integrate of an image
 * that a frame of the volume's back end was made of, and pcgpu_volume_raycast without normals into memory of that back
 * end, which is the volume's until its next call. A device may still be at it afterwards, and what is counted as
 * seconds of a stage is what the host spent. */
pcgpu_status pc_volume_fuse(pcgpu_volume *volume, const pcgpu_depth *depth, const pc_depth_frame *frame,
                            const pcgpu_camera *camera, const double T_world_camera[16]);
pcgpu_status pc_volume_see(pcgpu_volume *volume, const pcgpu_camera *camera, const double T_world_camera[16],
                           pc_maps *maps);

/* The sentence of a frame that needs more blocks than there may be. */
pcgpu_status pc_volume_full(pcgpu_context *context, int64_t needed, int64_t most);

/* tsdf_surface.c: the surface of a volume in host memory. `indices` of the mesh stay NULL unless `triangles`. */
pcgpu_status pc_volume_extract(pcgpu_context *context, const pc_volume_blocks *blocks, double voxel, float truncation,
                               float min_weight, bool triangles, pcgpu_mesh *mesh);

#ifdef __cplusplus
}
#endif

#endif
