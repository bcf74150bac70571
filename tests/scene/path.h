/* The way of a car, from a file of KITTI poses: a time in seconds, then 12 numbers of T_0_k of the left camera (z
 * forward, x right, y down) on each line.
 *
 * The truth of KITTI jumps by centimetres from frame to frame, which no car does; a sweep needs poses between frames,
 * too. Both come from one kernel of +-0.6 s that is moved along the frames. */
#ifndef PATH_H
#define PATH_H

#include "scene.h"

/* A place on the way: where, how high, which direction. */
typedef struct path_place {
    double x, y, z, cosine, sine;
} path_place;

typedef struct drive_path {
    int count;          /* frames */
    double *times;      /* seconds */
    scene_pose *frames; /* axes of the LiDAR: x forward, y left, z up, those of the first frame */
    double *metres;     /* of the way, from the first frame */
    int places;         /* one per metre of the way */
    path_place *place;
} drive_path;

/* False with a message when there is no such file, or when it is not such a file. path_free in any case. */
bool path_read(drive_path *p, const char *name);
void path_free(drive_path *p);

/* The pose at a frame, or between frames; metres at a frame; the place at so many metres, beyond the ends as well. */
void path_pose(const drive_path *p, double frame, scene_pose *pose);
double path_metres(const drive_path *p, double frame);
path_place path_at(const drive_path *p, double metres);

/* The direction of a place in degrees, to a hundredth. */
double path_degrees(const path_place *place);

#endif
