/* Registration of depth frames: how a frame is made of a depth image or of maps. */
#include "depth.h"
#include "projective.h"
#include "register.h"

#include <stdlib.h>
#include <string.h>

static pcgpu_status check_levels(pcgpu_context *context, const pcgpu_register_depth_params *p) {
    if (p->levels < 1 || p->levels > PCGPU_DEPTH_LEVELS) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%d levels of depth frames; give 1 to %d", p->levels,
                       PCGPU_DEPTH_LEVELS);
    }
    for (int l = 0; l < p->levels; l++) {
        const int fewest = l == p->levels - 1;
        if (p->level_iterations[l] < fewest || p->level_iterations[l] > 100000) {
            return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%d iterations of level %d of %d; give %d to 100000",
                           p->level_iterations[l], l + 1, p->levels, fewest);
        }
    }
    return PCGPU_OK;
}

pcgpu_status pc_register_depth_check(pcgpu_context *context, const pcgpu_register_depth_params *p) {
    pcgpu_register_params clouds; /* what both kinds of registration have is checked in one place */
    pcgpu_register_params_init(&clouds);
    memcpy(clouds.init, p->init, sizeof clouds.init);
    clouds.max_distance = p->max_distance;
    clouds.translation_epsilon = p->translation_epsilon;
    clouds.rotation_epsilon = p->rotation_epsilon;
    clouds.min_score = p->min_score;
    PC_TRY(pc_struct_check(context, "pcgpu_register_depth_params", p->struct_size, sizeof *p));
    PC_TRY(pc_register_check(context, &clouds));
    if (!pc_in_range(p->bilateral, 0.0, 1e6)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "a bilateral filter of %g m; give 0 (none) to 1e6", p->bilateral);
    }
    return check_levels(context, p);
}

/* Standard deviation of the bilateral filter's weight of places, pixels. */
#define BILATERAL_PIXELS 4.5

/* A 640x480 frame takes 11 ms on one thread of a 2.6 GHz EPYC with its iterations. */
pcgpu_status pc_frame_choose(pcgpu_context *context, double pixels, int frames, pcgpu_run *run,
                             const pc_backend **backend) {
    return pc_choose_backend(context, 5e-8 * pixels, 2e-4 * frames + 2e-10 * pixels, run, backend);
}

/* exp(-x) for x >= 0 by its series, the same on every machine. */
static double exp_of_minus(double x) {
    double sum = 1.0, term = 1.0;
    for (int k = 1; k <= 12; k++) {
        term *= -(x / 1024.0) / k;
        sum += term;
    }
    for (int k = 0; k < 10; k++) {
        sum *= sum;
    }
    return sum;
}

/* The tables of the bilateral filter; NULL without memory. Weights beyond three standard deviations are none. */
static float *bilateral_tables(double metres, double scale, pc_depth_image *image) {
    enum { R = PC_DEPTH_BILATERAL, SIDE = PC_DEPTH_BILATERAL_SIDE };
    const double sigma = metres * scale, reach = 3.0 * sigma;
    const int size = 1 + (reach < UINT16_MAX ? (int)reach : UINT16_MAX);
    float *tables = malloc(((size_t)size + SIDE * SIDE) * sizeof *tables);
    for (int i = 0; i < size && tables; i++) {
        tables[i] = (float)exp_of_minus(i > 0 ? (i / sigma) * (i / sigma) / 2.0 : 0.0);
    }
    for (int i = 0; i < SIDE * SIDE && tables; i++) {
        const int dx = i % SIDE - R, dy = i / SIDE - R;
        tables[size + i] = (float)exp_of_minus((dx * dx + dy * dy) / (2.0 * BILATERAL_PIXELS * BILATERAL_PIXELS));
    }
    image->range_size = size;
    image->range = tables;
    image->space = tables + (tables ? size : 0);
    return tables;
}

/* The pyramid of a camera: middles of pixels are at whole numbers, so that those of the next level lie between. */
static void lay_out(const pcgpu_camera *camera, int width, int height, int levels, pc_depth_frame *frame) {
    double fx = camera->fx, fy = camera->fy, cx = camera->cx, cy = camera->cy;
    for (int l = 0; l < levels && (l == 0 || (width >= PC_DEPTH_MIN_SIDE && height >= PC_DEPTH_MIN_SIDE)); l++) {
        pc_depth_level *level = &frame->level[l];
        pc_depth_level_init(level, l, width, height, fx, fy, cx, cy);
        level->at = frame->floats;
        frame->floats += pc_depth_floats(level);
        frame->levels = l + 1;
        width /= 2, height /= 2;
        fx *= 0.5, fy *= 0.5, cx = 0.5 * (cx - 0.5), cy = 0.5 * (cy - 0.5);
    }
}

static pcgpu_status make_frame(pcgpu_context *context, const pc_backend *backend, const pc_depth_image *image,
                               const pcgpu_camera *camera, int levels, pcgpu_frame **out) {
    pcgpu_frame *frame = calloc(1, sizeof *frame);
    *out = NULL;
    if (!frame) {
        return pc_fail_memory(context, sizeof *frame, "a frame");
    }
    frame->backend = backend;
    lay_out(camera, image->width, image->height, levels, &frame->maps);
    pcgpu_status status = backend->projective->make_frame(context, image, &frame->maps);
    if (status != PCGPU_OK) {
        free(frame);
        return status;
    }
    *out = frame;
    return PCGPU_OK;
}

pcgpu_status pc_frame_of_depth(pcgpu_context *context, const pc_backend *backend, const pcgpu_depth *depth,
                               const pcgpu_camera *camera, const pcgpu_register_depth_params *params,
                               pcgpu_frame **frame) {
    unsigned low, high;
    float *tables = NULL;
    pc_depth_range(camera, &low, &high);
    pc_depth_image image = {.width = depth->width,
                            .height = depth->height,
                            .data = depth->data,
                            .low = (uint16_t)(low < high ? low : 1),
                            .high = (uint16_t)(low < high ? high - 1 : 0),
                            .scale = (float)camera->depth_scale};
    if (params->bilateral > 0.0) {
        tables = bilateral_tables(params->bilateral, camera->depth_scale, &image);
        if (!tables) {
            return pc_fail_memory(context, (uint64_t)image.range_size * sizeof *tables, "the bilateral filter");
        }
    }
    pcgpu_status status = make_frame(context, backend, &image, camera, params->levels, frame);
    free(tables);
    return status;
}

pcgpu_status pc_frame_of_maps(pcgpu_context *context, const pc_backend *backend, const pc_maps *maps, bool on_device,
                              const pcgpu_camera *camera, int levels, pcgpu_frame **frame) {
    const pc_depth_image image = {
        .width = maps->width, .height = maps->height, .maps = *maps, .maps_on_device = on_device};
    *frame = NULL;
    PC_TRY(pc_camera_check(context, maps->width, maps->height, camera));
    return make_frame(context, backend, &image, camera, levels, frame);
}

pcgpu_status pcgpu_frame_create(pcgpu_context *context, const pcgpu_depth *depth, const pcgpu_camera *camera,
                                const pcgpu_register_depth_params *params, pcgpu_frame **frame) {
    const pc_backend *backend = NULL;
    pcgpu_run run = {0};
    *frame = NULL;
    pc_clear_error(context);
    PC_TRY(pc_register_depth_check(context, params));
    PC_TRY(pc_camera_check(context, depth->width, depth->height, camera));
    PC_TRY(pc_frame_choose(context, (double)depth->width * depth->height, 1, &run, &backend));
    PC_TRY(pc_frame_of_depth(context, backend, depth, camera, params, frame));
    (*frame)->run = run;
    return PCGPU_OK;
}

void pcgpu_frame_free(pcgpu_context *context, pcgpu_frame *frame) {
    if (frame) {
        frame->backend->projective->free_frame(context, &frame->maps);
        free(frame);
    }
}
