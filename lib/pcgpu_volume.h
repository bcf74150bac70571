/* Volumes: many depth frames with known poses become one model. A part of pcgpu.h, which includes this header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_VOLUME_H
#define PCGPU_VOLUME_H

#ifdef __cplusplus
extern "C" {
#endif

/* A truncated signed distance function (Curless and Levoy 1996; KinectFusion, Newcombe et al. 2011) in hashed blocks of
 * 8 x 8 x 8 voxels (Niessner et al. 2013), so that memory follows the surface: 4.2 kB a block, e.g. some 100 MB for a
 * furnished room at 1 cm. A voxel is a sample at a whole multiple of the voxel size of the world. */
typedef struct pcgpu_volume pcgpu_volume;

typedef struct pcgpu_volume_params {
    double voxel_size; /* metres, > 0; default 0.01 */
    double truncation; /* metres, 2 to 64 voxels; 0 (default) = 4 voxels. Distances farther from the surface are cut; it
                          should be above the noise of the depth, and thinner things than that may vanish */
    double max_weight; /* > 0; default 100. A pixel weighs cos^2(slant) / depth^2 (metres); where the sum has reached
                          this, the mean goes on as a running one, so that a model can follow changes */
    int64_t max_blocks; /* 1 to 2^22; default 2^19, which is 2.2 GB */
    int64_t frames;     /* as many are expected, for the choice of a back end; default 100 */
} pcgpu_volume_params;

void pcgpu_volume_params_init(pcgpu_volume_params *params);

/* Opens an empty volume on the context's back end. *volume is NULL on failure. It uses the context, one call at a time,
 * and is closed before it. Errors: ARGUMENT, MEMORY, UNAVAILABLE, DEVICE. */
pcgpu_status pcgpu_volume_open(pcgpu_context *context, const pcgpu_volume_params *params, pcgpu_volume **volume);
void pcgpu_volume_close(pcgpu_volume *volume); /* accepts NULL */

/* What became of a frame. */
typedef struct pcgpu_volume_counts {
    pcgpu_depth_counts depth; /* of its pixels */
    int64_t unreachable;      /* pixels with a return that lie more than 2^23 voxels from the world's origin: dropped */
    int64_t new_blocks;       /* that it needed */
    int64_t updated_blocks;   /* that it may have changed */
} pcgpu_volume_counts;

/* Fuses a frame. T_world_camera maps camera coordinates into the world, row-major, rigid to 1e-3. A frame without any
 * return changes nothing. `counts` may be NULL. On failure the volume is as before. Errors: ARGUMENT (an image, camera
 * or pose that is not possible, or a camera out of reach), MEMORY (also max_blocks), DEVICE. */
pcgpu_status pcgpu_volume_integrate(pcgpu_volume *volume, const pcgpu_depth *depth, const pcgpu_camera *camera,
                                    const double T_world_camera[16], pcgpu_volume_counts *counts);

/* What a camera sees of the model: x y z of each pixel, row by row from the top, in the camera's frame, metres; and
 * unit normals, which point to where the surface was seen from. NaN = nothing. Both arrays have height x width x 3
 * floats and are the caller's; camera->width and height must be given, and its depth fields do not matter. Errors:
 * ARGUMENT, MEMORY, DEVICE. */
pcgpu_status pcgpu_volume_raycast(pcgpu_volume *volume, const pcgpu_camera *camera, const double T_world_camera[16],
                                  float *vertices, float *normals);

/* The surface as triangles: marching cubes (Lorensen and Cline 1987) in which faces with two diagonals are always cut
 * so that what is inside stays apart, from whichever side, so that the mesh has no cracks. A vertex is where an edge
 * between two voxels crosses the surface, once in the whole mesh and never twice, in the order of blocks (z, y, x), of
 * voxels in a block, and of axes; triangles follow the same order and turn counter-clockwise seen from outside. Cells
 * with a voxel that is unseen, or cut at +truncation, have no triangle: no surface was seen there. */
typedef struct pcgpu_mesh {
    pcgpu_cloud vertices; /* x y z nx ny nz */
    int64_t triangles;
    int32_t *indices; /* 3 each */
} pcgpu_mesh;

/* min_weight: leaves out voxels whose sum of weights is below; 0 = none. The mesh, and the vertices alone, which are
 * the same; an empty volume has none. Errors: ARGUMENT, MEMORY (also more than 2^31-1 vertices or triangles), DEVICE.
 */
pcgpu_status pcgpu_volume_mesh(pcgpu_volume *volume, double min_weight, pcgpu_mesh *mesh);
pcgpu_status pcgpu_volume_surface(pcgpu_volume *volume, double min_weight, pcgpu_cloud *cloud);
void pcgpu_mesh_free(pcgpu_mesh *mesh);

/* Writes a mesh as binary .ply; errors as of pcgpu_write. */
pcgpu_status pcgpu_write_mesh(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_mesh *mesh);

typedef struct pcgpu_volume_stats {
    pcgpu_volume_params params; /* in effect */
    int64_t frames;             /* fused */
    int64_t blocks;
    int64_t bytes; /* of the blocks and of what finds them */
    pcgpu_run run; /* back end, device and reason; stages "integrate", "raycast" and "surface", each the sum of its
                      calls; points_in = pixels with a return */
} pcgpu_volume_stats;

void pcgpu_volume_get_stats(const pcgpu_volume *volume, pcgpu_volume_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
