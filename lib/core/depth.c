/* Depth images: the camera, and from pixels to points. */
#include "depth.h"
#include "error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void pcgpu_depth_free(pcgpu_depth *depth) {
    free(depth->data);
    free(depth->color);
    memset(depth, 0, sizeof *depth);
}

void pcgpu_camera_init_sized(pcgpu_camera *camera, size_t struct_size) {
    const pcgpu_camera initial = {.cx = NAN, .cy = NAN, .depth_scale = 1000};
    pc_struct_init(camera, struct_size, &initial, sizeof initial);
}

/* The largest value of the images: a sensor that saturates writes it where it measures nothing. */
enum { PC_DEPTH_SATURATED = UINT16_MAX };

/* From this width on the principal point is away from the edge, or the camera is that of a larger image. */
enum { SCALED_WIDTH = 32 };

static bool is_positive(double value) {
    return value > 0 && isfinite(value);
}

pcgpu_status pc_camera_check(pcgpu_context *context, int width, int height, const pcgpu_camera *c) {
    PC_TRY(pc_struct_check(context, "pcgpu_camera", c->struct_size, sizeof *c));
    if (width < 1 || height < 1 || width > PCGPU_DEPTH_SIDE || height > PCGPU_DEPTH_SIDE ||
        width * height > PCGPU_DEPTH_PIXELS) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "an image of %d x %d pixels is not possible; 1 to %d a side and %d in all are", width, height,
                       PCGPU_DEPTH_SIDE, PCGPU_DEPTH_PIXELS);
    }
    if (!is_positive(c->fx) || !is_positive(c->fy) || !isfinite(c->cx) || !isfinite(c->cy) ||
        !is_positive(c->depth_scale)) {
        return pc_fail(
            context, PCGPU_ERROR_ARGUMENT,
            "a camera with fx %g, fy %g, cx %g, cy %g and %g depth units a metre is not possible; fx, fy and the "
            "units must be above 0, all of them finite",
            c->fx, c->fy, c->cx, c->cy, c->depth_scale);
    }
    if (!(c->min_depth >= 0 && isfinite(c->min_depth)) || !(c->max_depth == 0 || c->max_depth > c->min_depth)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "depths from %g to %g m are not possible; the smallest must be 0 or more and below the largest, "
                       "which is 0 for no limit",
                       c->min_depth, c->max_depth);
    }
    if ((c->width != 0 && c->width != width) || (c->height != 0 && c->height != height)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "the image has %d x %d pixels and the camera %d x %d; give the camera of this image", width,
                       height, c->width, c->height);
    }
    if (width >= SCALED_WIDTH && c->cx > 0.9 * width && c->cy > 0.9 * height) {
        return pc_fail(
            context, PCGPU_ERROR_ARGUMENT,
            "cx, cy of the camera are %g, %g, at the edge of the image of %d x %d pixels; where the image was "
            "scaled, scale fx, fy, cx and cy alike",
            c->cx, c->cy, width, height);
    }
    return PCGPU_OK;
}

/* The first depth, 1 or more, that is at least `metres`, or above. */
static unsigned first_depth(const pcgpu_camera *c, double metres, bool above) {
    unsigned low = 1, high = UINT16_MAX + 1;
    while (low < high) {
        const unsigned middle = low + (high - low) / 2;
        const double z = (double)middle / c->depth_scale;
        if (above ? z > metres : z >= metres) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

void pc_depth_range(const pcgpu_camera *c, unsigned *low, unsigned *high) {
    const unsigned far = c->max_depth > 0 ? first_depth(c, c->max_depth, true) : PC_DEPTH_SATURATED;
    *low = first_depth(c, c->min_depth, false);
    *high = far < PC_DEPTH_SATURATED ? far : PC_DEPTH_SATURATED;
}

void pc_depth_count(const pcgpu_depth *depth, unsigned low, unsigned high, pcgpu_depth_counts *counts) {
    size_t pixels = (size_t)depth->width * (size_t)depth->height, none = 0, points = 0;
    for (size_t i = 0; i < pixels; i++) {
        none += depth->data[i] == 0 || depth->data[i] == PC_DEPTH_SATURATED;
        points += depth->data[i] >= low && depth->data[i] < high;
    }
    *counts = (pcgpu_depth_counts){
        .pixels = (int64_t)pixels, .no_return = (int64_t)none, .out_of_range = (int64_t)(pixels - none - points)};
}

/* columns: (u - cx) / fx of each u. */
static void fill_points(const pcgpu_depth *depth, const pcgpu_camera *c, unsigned low, unsigned high,
                        const double *columns, float *out) {
    const uint16_t *d = depth->data;
    for (int v = 0; v < depth->height; v++) {
        double row = ((double)v - c->cy) / c->fy;
        for (int u = 0; u < depth->width; u++, d++) {
            if (*d >= low && *d < high) {
                double z = (double)*d / c->depth_scale;
                out[0] = (float)(columns[u] * z);
                out[1] = (float)(row * z);
                out[2] = (float)z;
                out += 3;
            }
        }
    }
}

pcgpu_status pcgpu_depth_count(pcgpu_context *context, const pcgpu_depth *depth, const pcgpu_camera *camera,
                               pcgpu_depth_counts *counts) {
    unsigned low, high;
    memset(counts, 0, sizeof *counts);
    PC_TRY(pc_camera_check(context, depth->width, depth->height, camera));
    pc_depth_range(camera, &low, &high);
    pc_depth_count(depth, low, high, counts);
    return PCGPU_OK;
}

pcgpu_status pcgpu_depth_to_cloud(pcgpu_context *context, const pcgpu_depth *depth, const pcgpu_camera *camera,
                                  pcgpu_cloud *cloud, pcgpu_depth_counts *counts) {
    pcgpu_depth_counts n;
    unsigned low, high;
    memset(cloud, 0, sizeof *cloud);
    if (counts) {
        memset(counts, 0, sizeof *counts);
    }
    PC_TRY(pc_camera_check(context, depth->width, depth->height, camera));
    pc_depth_range(camera, &low, &high);
    pc_depth_count(depth, low, high, &n);
    double *columns = malloc((size_t)depth->width * sizeof *columns);
    if (!columns) {
        return pc_fail_memory(context, (size_t)depth->width * sizeof *columns, "the columns of an image");
    }
    for (int u = 0; u < depth->width; u++) {
        columns[u] = ((double)u - camera->cx) / camera->fx;
    }
    pcgpu_status status = pcgpu_cloud_create(context, n.pixels - n.no_return - n.out_of_range, 3, cloud);
    if (status == PCGPU_OK) {
        fill_points(depth, camera, low, high, columns, cloud->data);
        if (counts) {
            *counts = n;
        }
    }
    free(columns);
    return status;
}
