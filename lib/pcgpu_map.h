/* Maps: scans with known poses merged into one cloud, without objects that moved. A part of pcgpu.h, which includes
 * this header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_MAP_H
#define PCGPU_MAP_H

/* Counts, means and covariances of the points of all scans in voxels (as in the normal distributions transform, Biber
 * and Strasser 2003), in whole numbers, so that the map depends neither on threads nor on what was kept on disk. A
 * voxel is the cube floor(p / voxel) of world coordinates.
 *
 * An object that moves leaves its points at places that other scans see through. Every views_distance metres or
 * views_scans scans, the ranges of a scan are kept as a panorama with pixels of 0.4 degree. A voxel is projected into
 * each panorama whose sensor is 10 to 500 voxels away (of more than 128 near its tile into 128 of them), as the points
 * of a map in Pomerleau et al. 2014 ("Long-term 3D map maintenance in dynamic environments") and Kim and Kim 2020
 * (Removert). The panorama has seen through the voxel when the return in its pixel is behind the voxel by more than 1.5
 * voxels and half a pixel, measured across the surface of the voxel, so that ground and walls at grazing angles stay,
 * and those in the eight neighbours of the pixel are as far behind along the ray, so that poles and fences stay; it
 * agrees with the voxel when a return is as near to it as that, or nearer than 3 voxels along the ray. A voxel has
 * moved when at least 3 panoramas have seen through it, and more than agree with it. Then each voxel follows its
 * neighbours: one that was seen through stays where hardly any neighbour moved, and one that a single panorama has seen
 * through goes where most of them moved. Where the sensor sees nothing behind an object, such as the sky, there is no
 * such evidence, and the object stays. */
typedef struct pcgpu_map pcgpu_map;

typedef struct pcgpu_map_params {
    size_t struct_size;    /* set by pcgpu_map_params_init */
    double voxel;          /* edge of the voxels in metres, 1e-4 to 1e3; default 0.1 */
    bool keep_moving;      /* keep points that were seen through; default false */
    bool drop_origin;      /* drop records at exactly (0,0,0), which are no returns; default true */
    double views_distance; /* metres from panorama to panorama, > 0; default 1 */
    int64_t views_scans;   /* the most scans from panorama to panorama, >= 1; default 10 */
    int64_t memory;     /* bytes for the voxels in memory, >= 2^20; voxels beyond them, those farthest from the sensor
                           first, go to a file in `folder`. 0 (default): no limit */
    const char *folder; /* of the file, which has no name once it is open, so that it disappears with the process;
                           needed with `memory`, else NULL. About 64 bytes per voxel, and 100 kB per panorama. The
                           string is used until the map is closed */
} pcgpu_map_params;

void pcgpu_map_params_init_sized(pcgpu_map_params *params, size_t struct_size);
#define pcgpu_map_params_init(params) pcgpu_map_params_init_sized(params, sizeof *(params))

/* Opens an empty map. It uses the context, one call at a time, until it is closed. *map is NULL on failure. Errors:
 * ARGUMENT, MEMORY, IO (no file can be made in the folder). */
pcgpu_status pcgpu_map_open(pcgpu_context *context, const pcgpu_map_params *params, pcgpu_map **map);
void pcgpu_map_close(pcgpu_map *map); /* accepts NULL */

/* Adds a scan: points relative to its sensor, and the pose of the sensor in the world, row-major, rigid to 1e-3. Points
 * that are not finite, or farther than 2^27 voxels from the first pose on an axis, are dropped and counted. The
 * cloud is not kept. After an error of MEMORY or IO the map is of no use. Errors: ARGUMENT (the pose; a map that is
 * finished), MEMORY, IO. */
pcgpu_status pcgpu_map_add(pcgpu_map *map, const pcgpu_cloud *scan, const double T_world_scan[16]);

/* Before the first scan: the scans extend an existing map in the same world, which must stay until this one is closed.
 * The finished map has its points first, as they are, in the columns that both have and at its offset, and then the
 * voxels of the scans in which it has none. Its own voxels are tested with the panoramas of the scans, too. `memory` is
 * for the voxels of both. Errors: ARGUMENT (after a scan, or a second time), MEMORY, IO. */
pcgpu_status pcgpu_map_into(pcgpu_map *map, const pcgpu_cloud *existing);

typedef struct pcgpu_map_stats {
    pcgpu_map_params params; /* in effect */
    int64_t scans, panoramas;
    int64_t voxels;      /* of the finished map, with those that were seen through */
    int64_t moved;       /* voxels that were left out of it since they were seen through */
    int64_t unreachable; /* points too far from the first pose: dropped */
    int64_t on_disk;     /* bytes in the file */
    int64_t kept, added; /* with pcgpu_map_into: points of the existing map, voxels of the scans besides, and changes */
    int64_t appeared, disappeared;
    pcgpu_run run; /* stages "add" and "finish"; points_in, non_finite and at_origin of all scans */
} pcgpu_map_stats;

/* Finishes the map: one row per voxel, in the order of tiles of 256 voxels (z, y, x) and of voxels in a tile (z, y, x),
 * with the columns
 * - x y z: the mean of its points, each rounded to 1/1024 voxel, metres in the world;
 * - intensity: the mean of its points, each rounded to 2^-16, where all scans have this column;
 * - nx ny nz: the unit normal of the points in the voxel and its neighbours in the tile, on the side from which the
 *   voxel was seen first; 0 0 0 where these are fewer than 6 points or no plane;
 * - seen: the number of scans with a point in the voxel;
 * - label: that of most of its points, the lower on ties, where all scans have a column label of uint8 or uint16, with
 *   at most 255 different values in all.
 *
 * A coordinate beyond 1024 m gets an offset, as from a reader of files. *points belongs to the map, until it is closed;
 * its data is in the file when the voxels did not fit into `memory`. No scan can be added afterwards. Errors: MEMORY,
 * IO. */
pcgpu_status pcgpu_map_finish(pcgpu_map *map, const pcgpu_cloud **points);

/* After pcgpu_map_finish of a map with pcgpu_map_into: mean points x y z, and the column `change`:
 * - 1, appeared: a voxel of the finished map in which at least 3 scans have a point. The existing map has none in it
 *   and in those up to 3 beside it, also one above and one below, so that gaps in its surfaces do not count, but has
 *   points in half of the 64 columns of its square of 8 x 8 voxels, seen from above, so that new places do not count;
 * - 2, disappeared: a voxel of the existing map that has moved by the rule above, and in which the finished map has no
 *   point of the scans.
 * The cloud belongs to the map. Errors: ARGUMENT (not finished, without pcgpu_map_into, or with keep_moving). */
pcgpu_status pcgpu_map_changes(pcgpu_map *map, const pcgpu_cloud **changes);

void pcgpu_map_get_stats(const pcgpu_map *map, pcgpu_map_stats *stats);
#endif
