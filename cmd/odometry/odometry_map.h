/* The map of the scans of pcgpu odometry. Scans come with their poses in the order of time: those of the trajectory
 * while it is found, or others in another pass over the files. */
#ifndef ODOMETRY_MAP_H
#define ODOMETRY_MAP_H

#include "odometry_run.h"

typedef struct odometry_map {
    session *session;
    const pcgpu_odometry *odometry; /* that finds the poses, and has settled how scans are corrected */
    pcgpu_map *map;
    char *folder;       /* of its temporary file */
    pcgpu_cloud into;   /* the map of --into */
    pcgpu_cloud before; /* the last scan as it was read, */
    double T[16];       /* and its pose */
    int64_t scans;
    pcgpu_run left_out; /* before the map gets the points */
    double seconds;
} odometry_map;

/* The output for the map, else that for changes, or NULL. */
const char *odometry_map_output(const session *session);
/* Whether scans are given, and an output for their map or for changes. */
bool odometry_has_map(const session *session);
/* The voxel size of the map, or of the model of depth images. */
double odometry_map_voxel(const session *session);
/* Opens an empty map; close it in any case. Returns an exit code. */
int odometry_map_open(session *session, odometry_map *map);
/* Adds a scan as it was read, which it takes over, at T_world_scan; fraction: pcgpu_odometry_sweep. Returns an exit
 * code. */
int odometry_map_add(odometry_map *map, pcgpu_cloud *scan, const double T[16], double fraction);
/* Reads all scans that have a pose (not NaN) once more and adds them. Returns an exit code. */
int odometry_map_add_all(odometry_map *map, const double *poses, const double *fractions);
/* Finishes the map and writes it to the output of the job. Returns an exit code. */
int odometry_map_write(odometry_map *map, job *j);
void odometry_map_close(odometry_map *map); /* accepts a zeroed struct */

#endif
