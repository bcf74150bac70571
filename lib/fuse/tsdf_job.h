/* The data that lib/fuse/tsdf.c and a back end exchange. */
#ifndef PC_VOLUME_JOB_H
#define PC_VOLUME_JOB_H

#include "backend.h"
#include "projective_math.h"
#include "tsdf_math.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The back end of a volume. */
const pc_backend *pc_volume_backend(const pcgpu_volume *volume);

/* A frame to integrate. */
typedef struct pc_volume_job {
    pc_volume_view view;
    const uint16_t *depth;       /* view.height x view.width, in host memory */
    const uint8_t *color;        /* view.height x view.width x 3, in host memory; NULL: none */
    const pc_depth_frame *frame; /* of this image on the same back end, so that a device needs no transfer; or NULL */
    uint32_t low, high;          /* depths from low to before high are points */
    float units;                 /* depth units per metre */
    int64_t max_blocks;
    bool counts_updated; /* count the updated blocks, which needs a synchronization with the device */
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
    int64_t count; /* number of blocks; ids are 1 to count */
} pc_volume_blocks;

/* For users of a volume inside the library, such as a registration to it. Integrates an image for which the volume's
 * back end has a frame. Ray-casts without normals into memory of that back end, which the volume owns until its next
 * call. A device may still be working when they return; the seconds of a stage are then those of the host. */
pcgpu_status pc_volume_fuse(pcgpu_volume *volume, const pcgpu_depth *depth, const pc_depth_frame *frame,
                            const pcgpu_camera *camera, const double T_world_camera[16]);
pcgpu_status pc_volume_see(pcgpu_volume *volume, const pcgpu_camera *camera, const double T_world_camera[16],
                           pc_maps *maps);

/* Sets the error of a frame that needs more blocks than the limit. */
pcgpu_status pc_volume_full(pcgpu_context *context, int64_t needed, int64_t most);

/* tsdf_surface.c: extracts the surface of a volume in host memory. `indices` of the mesh stay NULL without
 * `triangles`. */
pcgpu_status pc_volume_extract(pcgpu_context *context, const pc_volume_blocks *blocks, double voxel, float truncation,
                               float min_weight, bool triangles, pcgpu_mesh *mesh);

#ifdef __cplusplus
}
#endif

#endif
