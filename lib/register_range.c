/* Registration of scans through range images: projective association as of depth images (register_depth.c), after a
 * spherical projection. The arithmetic is in icp_range.h. */
#include "icp_range.h"
#include "register_depth.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)PCGPU_RANGE_COLUMNS == (int)PC_DEPTH_LANES, "levels have whole tiles");

#define DEGREES_A_TURN 360.0
/* The fewest degrees of an image that follows from its scan: those of a planar scanner are all the same. */
#define LEAST_DEGREES 0.1

enum {
    SAMPLED = 1 << 14, /* points that tell the edges */
    BINS = 1 << 13,    /* of elevations: a bin is 0.02 degree */
    OUTLIERS = 1000    /* one point in so many is outside the edges on each side */
};

void pcgpu_range_image_init(pcgpu_range_image *image) {
    *image = (pcgpu_range_image){.rows = 64, .columns = 1024, .low = NAN, .high = NAN};
}

void pcgpu_register_range_params_init(pcgpu_register_depth_params *params) {
    pcgpu_register_depth_params_init(params);
    memcpy(params->level_iterations, (int[]){15, 15, 30}, 3 * sizeof(int));
    params->max_distance = 2.0;
    params->translation_epsilon = 1e-4;
    params->rotation_epsilon = 1e-5;
    params->min_score = 0.12;
}

static pcgpu_status check_image(pcgpu_context *context, const pcgpu_range_image *i) {
    if (i->rows < 1 || i->rows > PCGPU_RANGE_ROWS || i->columns < PCGPU_RANGE_COLUMNS || i->columns > PCGPU_DEPTH_SIDE ||
        i->columns % PCGPU_RANGE_COLUMNS != 0) {
        return pc_fail(
            context, PCGPU_ERROR_ARGUMENT,
            "a range image of %d rows and %d columns is not possible; give 1 to %d rows and a multiple of %d "
            "columns up to %d",
            i->rows, i->columns, PCGPU_RANGE_ROWS, PCGPU_RANGE_COLUMNS, PCGPU_DEPTH_SIDE);
    }
    if (!(isnan(i->low) && isnan(i->high)) && !(i->low >= -90.0 && i->high <= 90.0 && i->high - i->low >= PCGPU_RANGE_VIEW)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "a range image from %g to %g degrees above the horizon is not possible; give the lower and the "
                       "upper edge, -90 to 90",
                       i->low, i->high);
    }
    return PCGPU_OK;
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

/* The points of a scan about its origin, in memory of the context; those that cannot be used are (0, 0, 0). */
static pcgpu_status take_points(pcgpu_context *context, const pcgpu_cloud *scan, pc_range_points *points,
                                pcgpu_run *run) {
    if (scan->rows > INT32_MAX) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "%lld points; indices are 32 bits wide, so split the cloud below 2^31", (long long)scan->rows);
    }
    const size_t n = (size_t)scan->rows, bytes = 3 * n * sizeof(float);
    float *memory = pc_buffer_take(&context->scratch[PC_SCRATCH_SOURCE], bytes ? bytes : 1, false);
    if (!memory) {
        return pc_fail_memory(context, bytes, "the points");
    }
    int64_t at_origin = 0, non_finite = 0;
    const double *offset = scan->offset;
    const bool moved = offset[0] != 0.0 || offset[1] != 0.0 || offset[2] != 0.0;
    for (size_t i = 0; i < n; i++) {
        const float *record = scan->data + i * (size_t)scan->columns;
        float x = record[0], y = record[1], z = record[2];
        if (moved) {
            x = (float)((double)x + offset[0]);
            y = (float)((double)y + offset[1]);
            z = (float)((double)z + offset[2]);
        }
        const bool finite = pc_is_finite3(x, y, z);
        non_finite += !finite;
        at_origin += x == 0.0f && y == 0.0f && z == 0.0f;
        memory[i] = finite ? x : 0.0f;
        memory[n + i] = finite ? y : 0.0f;
        memory[2 * n + i] = finite ? z : 0.0f;
    }
    run->points_in += scan->rows;
    run->non_finite += non_finite;
    run->at_origin += at_origin;
    *points = (pc_range_points){.n = scan->rows, .x = memory, .y = memory + n, .z = memory + 2 * n};
    return PCGPU_OK;
}

/* The bin below which, or above which, all but `left_out` of the points are. */
static int edge_of(const int64_t *bins, int first, int step, int64_t left_out) {
    int bin = first;
    for (int64_t seen = bins[bin]; seen <= left_out; seen += bins[bin]) {
        bin += step;
    }
    return bin;
}

/* The edges of the image of a scan, in turns: half a row beyond the lowest and the highest points, of which some are
 * left out, since a reflection can be anywhere. False without points. */
static bool find_edges(const pc_range_points *points, int rows, double *low, double *high) {
    int64_t bins[BINS] = {0}, count = 0;
    const int64_t step = (points->n + SAMPLED - 1) / SAMPLED;
    for (int64_t i = 0; i < points->n; i += step) {
        const float x = points->x[i], y = points->y[i], z = points->z[i], level = sqrtf(x * x + y * y);
        if (level <= FLT_MAX && (level > 0.0f || z != 0.0f)) {
            const float turns = pc_elevation_turns(level, z);
            const int bin = (int)((turns + 0.25f) * (2.0f * BINS));
            bins[bin < BINS ? bin : BINS - 1]++;
            count++;
        }
    }
    if (count == 0) {
        return false;
    }
    const double bin = 0.5 / BINS;
    const double lowest = (edge_of(bins, 0, 1, count / OUTLIERS) + 0.5) * bin - 0.25;
    const double highest = (edge_of(bins, BINS - 1, -1, count / OUTLIERS) + 0.5) * bin - 0.25;
    const double least = LEAST_DEGREES / DEGREES_A_TURN;
    const double row = (highest - lowest > least ? highest - lowest : least) / (rows > 1 ? rows - 1 : 1);
    *low = lowest - 0.5 * row;
    *high = highest + 0.5 * row;
    return true;
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static void lay_out(const pcgpu_range_image *image, int levels, double low, double high, pc_depth_frame *frame) {
    frame->projection = PC_DEPTH_SPHERICAL;
    for (int l = 0, width = image->columns; l < levels && width % PCGPU_RANGE_COLUMNS == 0; l++, width /= 2) {
        pc_depth_level *level = &frame->level[l];
        pc_range_level_init(level, width, image->rows, low, high);
        level->at = frame->floats;
        frame->floats += pc_range_floats(level);
        frame->levels = l + 1;
    }
}

static pcgpu_status make_frame(pcgpu_context *context, const pc_backend *backend, const pcgpu_cloud *scan,
                               const pcgpu_range_image *image, int levels, pcgpu_run *run, pcgpu_frame **out) {
    pc_range_points points;
    double low = image->low / DEGREES_A_TURN, high = image->high / DEGREES_A_TURN;
    pcgpu_status status = take_points(context, scan, &points, run);
    if (status != PCGPU_OK) {
        return status;
    }
    if (isnan(image->low) && !find_edges(&points, image->rows, &low, &high)) {
        low = -0.25, high = 0.25; /* of no points */
    }
    pcgpu_frame *frame = calloc(1, sizeof *frame);
    if (!frame) {
        return pc_fail_memory(context, sizeof *frame, "a frame");
    }
    frame->backend = backend;
    lay_out(image, levels, low, high, &frame->maps);
    const pc_depth_image made_from = {.points = &points};
    status = backend->depth_frame(context, &made_from, &frame->maps);
    if (status != PCGPU_OK) {
        free(frame);
        return status;
    }
    *out = frame;
    return PCGPU_OK;
}

static pcgpu_status check(pcgpu_context *context, const pcgpu_range_image *image,
                          const pcgpu_register_depth_params *params) {
    pcgpu_status status = pc_register_depth_check(context, params);
    return status == PCGPU_OK ? check_image(context, image) : status;
}

pcgpu_status pcgpu_frame_create_range(pcgpu_context *context, const pcgpu_cloud *scan, const pcgpu_range_image *image,
                                      const pcgpu_register_depth_params *params, pcgpu_frame **frame) {
    const pc_backend *backend = NULL;
    pcgpu_run run = {0};
    *frame = NULL;
    pc_clear_error(context);
    pcgpu_status status = check(context, image, params);
    if (status == PCGPU_OK) {
        status = pc_frame_choose(context, (double)image->rows * image->columns, 1, &run, &backend);
    }
    if (status == PCGPU_OK) {
        status = make_frame(context, backend, scan, image, params->levels, &run, frame);
    }
    if (status == PCGPU_OK) {
        (*frame)->run = run;
    }
    return status;
}

pcgpu_status pcgpu_register_range(pcgpu_context *context, const pcgpu_cloud *source, const pcgpu_cloud *target,
                                  const pcgpu_range_image *image, const pcgpu_register_depth_params *params,
                                  pcgpu_registration *result) {
    const pc_backend *backend = NULL;
    pcgpu_frame *from = NULL, *to = NULL;
    pcgpu_run run = {0};
    memset(result, 0, sizeof *result);
    pc_clear_error(context);
    pcgpu_status status = check(context, image, params);
    if (status == PCGPU_OK) {
        status = pc_frame_choose(context, 2.0 * image->rows * image->columns, 2, &run, &backend);
    }
    if (status == PCGPU_OK) {
        status = make_frame(context, backend, target, image, params->levels, &run, &to);
    }
    if (status == PCGPU_OK) {
        status = make_frame(context, backend, source, image, params->levels, &run, &from);
    }
    if (status == PCGPU_OK) {
        result->run = run;
        status = pc_register_frames(context, from, to, params, true, result);
    }
    pcgpu_frame_free(context, from);
    pcgpu_frame_free(context, to);
    if (status != PCGPU_OK) {
        memset(result, 0, sizeof *result);
    }
    return status;
}
