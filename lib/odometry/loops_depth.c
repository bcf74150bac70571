/* Loops of a depth camera: images in, and the weights of the pose graph. A place is one image, which is kept as depths
 * of about 320 x 240 pixels: what registration makes of it is ten times as large, and is made again when it is needed.
 *
 * How far an odometry drifts depends on its reference, the sensor and the scene, by a factor of 50. The loops measure
 * it, and the odometry gets the weight that follows; where they say that it is better than they are, nothing is
 * corrected. */
#include "depth.h"
#include "error.h"
#include "loops.h"
#include "odometry.h"
#include "projective.h"

#include <stdlib.h>
#include <string.h>

/* Standard deviations: of a step of the odometry at least, and radians per metre of what grows with the path. Those of
 * a loop are the systematic errors of a sensor; noise alone would make them smaller. */
#define STEP_RADIANS 1e-5
#define STEP_METRES  1e-5
#define ROTATION     0.4
#define LOOP_RADIANS 0.003
#define LOOP_METRES  0.007
/* A loop whose residual is larger contradicts the others. */
#define OUTLIER_RADIANS 0.03
#define OUTLIER_METRES  0.06
#define LOOP_LENGTH     0.1 /* metres, as the length of a loop in a path */

enum {
    WIDTH = 320, /* of the images that are kept, or more */
    HEIGHT = 240,
    IMAGES = 100 /* for the choice of the back end */
};

void pcgpu_depth_loops_params_init_sized(pcgpu_depth_loops_params *params, size_t struct_size) {
    pcgpu_depth_loops_params initial = {.place_distance = 0.1, .place_angle = 0.1, .drift = 0.05};
    static const int iterations[] = {10, 20, 40};
    pcgpu_register_depth_params_init(&initial.registration);
    memcpy(initial.registration.level_iterations, iterations, sizeof iterations);
    pc_struct_init(params, struct_size, &initial, sizeof initial);
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

/* A random walk along the path, in which a radian is a metre. */
static void weigh_image(const pcgpu_loops *l, pcgpu_pose_edge *e) {
    const double variance = l->walk * pc_loops_length(e->T_from_to);
    e->sigma[0] = sqrt(STEP_RADIANS * STEP_RADIANS + ROTATION * ROTATION * variance);
    e->sigma[1] = sqrt(STEP_METRES * STEP_METRES + variance);
}

static int order(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The variance of the odometry after a metre is what it is off by at the loops, less what they are off by; the median,
 * since a loop may be wrong. */
static pcgpu_status evaluate(pcgpu_loops *l, const pcgpu_pose_edge *loops, bool *correct) {
    double *walks = malloc(((size_t)l->link_count + 1) * sizeof *walks);
    if (!walks) {
        return pc_fail_memory(l->context, (size_t)l->link_count * sizeof *walks, "the loops");
    }
    for (int32_t i = 0; i < l->link_count; i++) {
        const double path = l->places[l->links[i].to].path - l->places[l->links[i].from].path;
        const double *sigma = loops[i].sigma;
        double off[2];
        pcgpu_pose_edge_residual(l->odometry, &loops[i], off);
        walks[i] = ((off[0] * off[0] + off[1] * off[1]) - (sigma[0] * sigma[0] + sigma[1] * sigma[1])) / path;
    }
    qsort(walks, (size_t)l->link_count, sizeof *walks, order);
    l->walk = l->link_count > 0 ? walks[l->link_count / 2] : 0.0;
    *correct = l->walk > 0.0;
    free(walks);
    return PCGPU_OK;
}

static pcgpu_status end(pcgpu_loops *l) {
    (void)l;
    return PCGPU_OK;
}

static const pc_loops_kind images = {.end = end, .weigh = weigh_image, .evaluate = evaluate};

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static pcgpu_status check(pcgpu_context *context, const pcgpu_camera *camera, const pcgpu_depth_loops_params *p) {
    PC_TRY(pc_struct_check(context, "pcgpu_depth_loops_params", p->struct_size, sizeof *p));
    PC_TRY(pc_struct_check(context, "pcgpu_camera", camera->struct_size, sizeof *camera));
    PC_TRY(pc_register_depth_check(context, &p->registration));
    if (camera->width > 0) {
        PC_TRY(pc_camera_check(context, camera->width, camera->height, camera));
    }
    if (!(p->place_distance > 0.0 && p->place_angle > 0.0 && p->drift >= 0.0 && p->drift <= 1.0)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "places %g m and %g rad apart and a drift of %g; give more than 0 and a fraction from 0 to 1",
                       p->place_distance, p->place_angle, p->drift);
    }
    return PCGPU_OK;
}

pcgpu_status pcgpu_loops_open_depth(pcgpu_context *context, const pcgpu_camera *camera,
                                    const pcgpu_depth_loops_params *params, pcgpu_loops **loops) {
    pcgpu_run run;
    const pc_backend *backend = NULL;
    pc_clear_error(context);
    *loops = NULL;
    PC_TRY(check(context, camera, params));
    PC_TRY(pc_frame_choose(context, (double)IMAGES * WIDTH * HEIGHT, IMAGES, &run, &backend));
    pcgpu_loops *l = calloc(1, sizeof *l);
    if (!l) {
        return pc_fail_memory(context, sizeof *l, "the loops");
    }
    l->context = context;
    l->kind = &images;
    l->backend = backend;
    l->camera = *camera;
    l->depth = *params;
    l->params.drift = params->drift;
    l->loop_sigma[0] = LOOP_RADIANS;
    l->loop_sigma[1] = LOOP_METRES;
    l->outlier[0] = OUTLIER_RADIANS;
    l->outlier[1] = OUTLIER_METRES;
    l->loop_length = LOOP_LENGTH;
    *loops = l;
    return PCGPU_OK;
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

/* Every n-th pixel. A mean would mix depths at edges. */
static void reduce(const pcgpu_loops *l, const pcgpu_depth *depth, uint16_t *to) {
    const int n = depth->width / l->small.width;
    for (int v = 0; v < l->small.height; v++) {
        for (int u = 0; u < l->small.width; u++) {
            to[v * l->small.width + u] = depth->data[(int64_t)v * n * depth->width + (int64_t)u * n];
        }
    }
}

static void settle(pcgpu_loops *l, const pcgpu_depth *depth) {
    const int across = depth->width / WIDTH, down = depth->height / HEIGHT, least = across < down ? across : down;
    const int n = least > 1 ? least : 1;
    l->camera.width = depth->width;
    l->camera.height = depth->height;
    l->small = l->camera;
    l->small.width /= n;
    l->small.height /= n;
    l->small.fx /= n;
    l->small.fy /= n;
    l->small.cx /= n;
    l->small.cy /= n;
    l->settled = true;
}

/* Keeps the image as a place and looks for earlier ones. */
static pcgpu_status add_place(pcgpu_loops *l, const pcgpu_depth *depth, const double T[16], double path) {
    const size_t bytes = (size_t)l->small.width * (size_t)l->small.height * sizeof *depth->data;
    pc_place place = {.frame = l->frames, .path = path, .depth = malloc(bytes)};
    if (!place.depth) {
        return pc_fail_memory(l->context, bytes, "a place");
    }
    memcpy(place.T, T, sizeof place.T);
    reduce(l, depth, place.depth);
    PC_TRY(pc_loops_take_place(l, &place));
    return pc_loops_find_depth(l);
}

pcgpu_status pcgpu_loops_add_depth(pcgpu_loops *l, const pcgpu_depth *depth, int64_t id, const double T[16]) {
    pc_clear_error(l->context);
    PC_TRY(pc_loops_reserve(l, T));
    if (l->kind != &images) {
        return pc_fail(l->context, PCGPU_ERROR_ARGUMENT, "a depth image for loops of scans; call pcgpu_loops_add");
    }
    PC_TRY(pc_camera_check(l->context, depth->width, depth->height, &l->camera));
    if (!l->settled) {
        settle(l, depth);
    }
    const pc_place *last = l->place_count > 0 ? &l->places[l->place_count - 1] : NULL;
    if (!last || pc_moved_beyond(last->T, T, l->depth.place_distance, l->depth.place_angle)) {
        double step[16];
        if (last) {
            pc_transform_between(last->T, T, step);
        }
        PC_TRY(add_place(l, depth, T, last ? last->path + pc_loops_length(step) : 0.0));
    }
    pc_loops_take_pose(l, id, T);
    return PCGPU_OK;
}
