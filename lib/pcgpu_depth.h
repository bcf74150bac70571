/* Depth images and the camera that took them: the types that pcgpu.h works with, which includes this header. */
#ifndef PCGPU_DEPTH_H
#define PCGPU_DEPTH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A depth image: height rows of width pixels, row-major, from the top; each the distance along the optical axis in
 * units that the camera knows, 0 and 65535 (saturated) = no return. As with clouds, a caller may fill the struct with
 * memory of its own. */
typedef struct pcgpu_depth {
    int width, height; /* 1 to PCGPU_DEPTH_SIDE each, at most PCGPU_DEPTH_PIXELS together */
    uint16_t *data;    /* height x width */
} pcgpu_depth;

enum { PCGPU_DEPTH_SIDE = 16384, PCGPU_DEPTH_PIXELS = 1 << 25 };

void pcgpu_depth_free(pcgpu_depth *depth);

/* A pinhole camera without distortion. A point (x, y, z) of its frame, x to the right, y down and z forward along the
 * optical axis, in metres, is seen at column u = fx * x / z + cx and row v = fy * y / z + cy; whole u and v are the
 * middles of pixels, counted from 0 (as in TUM RGB-D, 7-Scenes and Open3D). */
typedef struct pcgpu_camera {
    int width, height;  /* pixels of its images, which are checked against them; 0 (default) = of any size */
    double fx, fy;      /* focal lengths in pixels, > 0; no default */
    double cx, cy;      /* principal point in pixels; no default: NaN */
    double depth_scale; /* depth units a metre, > 0; default 1000 (millimetres), TUM RGB-D has 5000 */
    double min_depth;   /* metres along z: a depth below counts as no return; default 0 */
    double max_depth;   /* metres: and one above; default 0 = no limit */
} pcgpu_camera;

void pcgpu_camera_init(pcgpu_camera *camera);

/* Where the pixels of an image went: pixels = points + no_return + out_of_range. */
typedef struct pcgpu_depth_counts {
    int64_t pixels;       /* width x height */
    int64_t no_return;    /* depth 0 or 65535 */
    int64_t out_of_range; /* nearer than min_depth or farther than max_depth */
} pcgpu_depth_counts;

#ifdef __cplusplus
}
#endif
#endif
