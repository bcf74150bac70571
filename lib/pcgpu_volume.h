/* Volumes: fusion of many depth frames with known poses into one model. A part of pcgpu.h, which includes this
 * header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_VOLUME_H
#define PCGPU_VOLUME_H

/* A truncated signed distance function (Curless and Levoy 1996; KinectFusion, Newcombe et al. 2011) in hashed blocks of
 * 8 x 8 x 8 voxels (Niessner et al. 2013). Memory is proportional to the surface: 4.2 kB per block, about 100 MB for a
 * furnished interior at 1 cm. A voxel is a sample at whole multiples of the voxel size in world coordinates. */
typedef struct pcgpu_volume pcgpu_volume;

typedef struct pcgpu_volume_params {
    size_t struct_size; /* set by pcgpu_volume_params_init */
    double voxel_size;  /* metres, > 0; default 0.01 */
    double truncation;  /* metres, 2 to 64 voxels; 0 (default) = 4 voxels. Larger distances from the surface are clamped
                           to it. It should exceed the noise of the depth; thinner objects may vanish */
    double max_weight;  /* > 0; default 100. A pixel has the weight cos^2(slant) / depth^2 (metres). Where the sum of
                           weights has reached max_weight, the mean becomes a running mean, so that the model follows
                           changes of the scene */
    int64_t max_blocks; /* 1 to 2^22; default 2^19, which is 2.2 GB */
    int64_t frames;     /* expected number of frames, for the choice of a back end; default 100 */
    bool color; /* voxels have a colour, the weighted mean of the images' colours; 4.1 kB more per block; default false.
                   A frame without a colour image leaves the colours as they are */
} pcgpu_volume_params;

void pcgpu_volume_params_init_sized(pcgpu_volume_params *params, size_t struct_size);
#define pcgpu_volume_params_init(params) pcgpu_volume_params_init_sized(params, sizeof *(params))

/* Opens an empty volume on the context's back end. *volume is NULL on failure. The volume uses the context, one call at
 * a time; close the volume first. Errors: ARGUMENT, MEMORY, UNAVAILABLE, DEVICE. */
pcgpu_status pcgpu_volume_open(pcgpu_context *context, const pcgpu_volume_params *params, pcgpu_volume **volume);
void pcgpu_volume_close(pcgpu_volume *volume); /* accepts NULL */

/* The result for one frame. */
typedef struct pcgpu_volume_counts {
    pcgpu_depth_counts depth; /* of its pixels */
    int64_t unreachable;      /* pixels with a return that lie more than 2^23 voxels from the world's origin: dropped */
    int64_t new_blocks;       /* allocated for the frame */
    int64_t updated_blocks;   /* blocks that the frame may have changed */
} pcgpu_volume_counts;

/* Integrates a frame. T_world_camera maps camera coordinates into the world, row-major, rigid to 1e-3. A frame without
 * any return changes nothing. `counts` may be NULL. A failure leaves the volume unchanged. Errors: ARGUMENT (an invalid
 * image, camera or pose, or a camera too far from the origin), MEMORY (also max_blocks), DEVICE. */
pcgpu_status pcgpu_volume_integrate(pcgpu_volume *volume, const pcgpu_depth *depth, const pcgpu_camera *camera,
                                    const double T_world_camera[16], pcgpu_volume_counts *counts);

/* Ray-casts the model from a camera: x y z of each pixel, row by row from the top, in the camera frame, metres; and
 * unit normals, which point to the side from which the surface was seen. NaN = no surface. The caller owns both arrays
 * of height x width x 3 floats. camera->width and camera->height are required; its depth fields are not used. Errors:
 * ARGUMENT, MEMORY, DEVICE. */
pcgpu_status pcgpu_volume_raycast(pcgpu_volume *volume, const pcgpu_camera *camera, const double T_world_camera[16],
                                  float *vertices, float *normals);

/* The surface as triangles: marching cubes (Lorensen and Cline 1987). On an ambiguous face, the two inside corners are
 * always separated, in both cubes of the face, so that the mesh has no cracks. A vertex is the intersection of an edge
 * between two voxels with the surface, and occurs once in the mesh. The order is by blocks (z, y, x), voxels in a
 * block, and axes. Triangles have the same order, and are counter-clockwise seen from outside. A cube with a voxel that
 * is unseen, or clamped at +truncation, has no triangle, since no surface was seen there. */
typedef struct pcgpu_mesh {
    pcgpu_cloud vertices; /* x y z nx ny nz, and of a volume with colour red green blue, 0 to 255; a vertex that no
                             colour image has shown is black */
    int64_t triangles;
    int32_t *indices; /* 3 each */
} pcgpu_mesh;

/* Extracts the mesh, or only its vertices. Voxels with a sum of weights below min_weight count as unseen. An empty
 * volume has no vertices. Errors: ARGUMENT, MEMORY (also more than 2^31-1 vertices or triangles), DEVICE. */
pcgpu_status pcgpu_volume_mesh(pcgpu_volume *volume, double min_weight, pcgpu_mesh *mesh);
pcgpu_status pcgpu_volume_surface(pcgpu_volume *volume, double min_weight, pcgpu_cloud *cloud);
void pcgpu_mesh_free(pcgpu_mesh *mesh);

/* Writes a mesh in the format of its name: Wavefront .obj, .glb (glTF 2.0), else binary .ply. Errors: as in
 * pcgpu_write. */
pcgpu_status pcgpu_write_mesh(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_mesh *mesh);
/* Whether a name ends in .ply, .obj or .glb. */
bool pcgpu_mesh_is_name(const char *path);

typedef struct pcgpu_volume_stats {
    pcgpu_volume_params params; /* in effect */
    int64_t frames;             /* fused */
    int64_t blocks;
    int64_t bytes; /* of the blocks and the hash table */
    pcgpu_run run; /* back end, device and reason; stages "integrate", "raycast" and "surface", each the sum of its
                      calls; points_in = pixels with a return */
} pcgpu_volume_stats;

void pcgpu_volume_get_stats(const pcgpu_volume *volume, pcgpu_volume_stats *stats);
#endif
