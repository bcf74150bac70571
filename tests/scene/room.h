/* A furnished room and the depth camera that is carried through it on a closed path: depth frames with known poses.
 *
 * As in scene.h every pixel is the same on every platform. World frame: the middle of the floor at the origin, z up;
 * the room is ROOM_LENGTH along x, ROOM_WIDTH along y. Camera frame: x to the right, y down, z along the optical
 * axis. */
#ifndef ROOM_H
#define ROOM_H

#include "scene.h"

#define ROOM_LENGTH 5.4
#define ROOM_WIDTH  4.6
#define ROOM_HEIGHT 2.6

/* Fills the scene with a room; books, pictures, plants and the angles of the furniture differ from seed to seed. */
void room_furnish(scene *room, uint64_t seed);

/* Closed paths at the height of a hand, on which the camera rises and falls, nods and rolls a little. */
typedef enum room_path {
    ROOM_SWAY,  /* to and fro before one corner; of 120 frames one is at most 1.3 degrees and 3 cm from the next */
    ROOM_AROUND /* once around the middle, looking across it; 120 frames: 3.6 degrees and 7 cm, views share less */
} room_path;

/* The pose at a share of the path, 0 to 1; 1 is 0 again. quaternion: w x y z, world from camera. */
void room_pose(room_path path, double share, scene_pose *pose, double quaternion[4]);

typedef struct room_camera {
    int width, height;     /* pixels */
    double fx, fy, cx, cy; /* pixels; whole coordinates are the middles of pixels */
    double depth_scale;    /* depth units a metre */
    bool noise;            /* as a Kinect's, else only rounded to depth units */
} room_camera;

/* The camera of PrimeSense at its 640 pixels of width, with its pixels made larger for a smaller width. */
void room_camera_init(room_camera *camera, int width);

/* One frame: depth along the optical axis of each pixel in depth units, row by row, 0 = no return. `seed` and `frame`
 * choose the noise, which does not depend on other frames.
 *
 * Noise: the disparity of a Kinect has 351.3 steps at 1 m; one sixth of a step of Gaussian noise is added and it is
 * rounded (Barron and Malik 2013, Handa et al. 2014), so that errors grow with the square of the depth. No return comes
 * from where the projector, 7.5 cm to the right, cannot shine: the shadow beside edges; and from ever more pixels
 * where a surface is seen at less than 12 degrees, nearer than 0.4 m or farther than 8 m. */
void room_frame(const scene *room, const scene_pose *pose, const room_camera *camera, uint64_t seed, int frame,
                uint16_t *depth);

/* The colour of a point of the shape with this number: its own, which changes by some levels per metre. */
void room_color(int shape, const double p[3], uint8_t rgb[3]);

/* The colour image that is registered to a frame: height x width x 3, red green blue; black where there is nothing. */
void room_colors(const scene *room, const scene_pose *pose, const room_camera *camera, uint8_t *rgb);

#endif
