/* Depth images and their camera: types of pcgpu.h, which includes this header. */
#ifndef PCGPU_DEPTH_H
#define PCGPU_DEPTH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* A depth image: height rows of width pixels, row-major, from the top. A pixel is the distance along the optical axis
 * in units of 1 / depth_scale metres; 0 and 65535 (saturated) = no return. As with clouds, a caller may fill the struct
 * with its own memory. */
typedef struct pcgpu_depth {
    int width, height; /* 1 to PCGPU_DEPTH_SIDE each, at most PCGPU_DEPTH_PIXELS together */
    uint16_t *data;    /* height x width */
    uint8_t *color; /* height x width x 3: red, green, blue of the same pixels, for volumes with colour; NULL = none */
} pcgpu_depth;

enum { PCGPU_DEPTH_SIDE = 16384, PCGPU_DEPTH_PIXELS = 1 << 25 };

void pcgpu_depth_free(pcgpu_depth *depth);

/* A pinhole camera without distortion. A point (x, y, z) of its frame, x to the right, y down and z forward along the
 * optical axis, in metres, projects to column u = fx * x / z + cx and row v = fy * y / z + cy. Whole u and v are pixel
 * centres, counted from 0 (as in TUM RGB-D, 7-Scenes and Open3D). */
typedef struct pcgpu_camera {
    size_t struct_size; /* set by pcgpu_camera_init */
    int width, height;  /* size of its images in pixels, which every image must have; 0 (default) = any size */
    double fx, fy;      /* focal lengths in pixels, > 0; no default */
    double cx, cy;      /* principal point in pixels; no default: NaN */
    double depth_scale; /* depth units per metre, > 0; default 1000 (millimetres), TUM RGB-D has 5000 */
    double min_depth;   /* metres along z: a smaller depth counts as no return; default 0 */
    double max_depth;   /* metres along z: a larger depth counts as no return; default 0 = no limit */
} pcgpu_camera;

void pcgpu_camera_init_sized(pcgpu_camera *camera, size_t struct_size);
#define pcgpu_camera_init(camera) pcgpu_camera_init_sized(camera, sizeof *(camera))

/* Counts of the pixels of an image: pixels = points + no_return + out_of_range. */
typedef struct pcgpu_depth_counts {
    int64_t pixels;       /* width x height */
    int64_t no_return;    /* depth 0 or 65535 */
    int64_t out_of_range; /* nearer than min_depth or farther than max_depth */
} pcgpu_depth_counts;

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
