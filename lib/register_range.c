/* Registration of scans through range images: projective association as of depth images (register_depth.c), after a
 * spherical projection. The arithmetic is in icp_range.h. */
#include "icp_range.h"
#include "register_depth.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)PCGPU_RANGE_COLUMNS == (int)PC_DEPTH_LANES, "levels have whole tiles");

#define DEGREES_A_TURN 360.0
#define HALF_TURN      180.0
/* The fewest degrees of an image that follows from its scan: those of a planar scanner are all the same. */
#define LEAST_DEGREES 0.1

enum {
    SAMPLED = 1 << 14, /* points that tell the edges */
    BINS = 1 << 13,    /* of elevations: a bin is 0.02 degree */
    OUTLIERS = 1000,   /* one point in so many is outside the edges on each side */
    MOST_RINGS = 64,   /* that are looked for */
    LEAST_RINGS = 16,
    MOST_COLUMNS = 1024, /* more make it slower, not better */
    LEAST_COLUMNS = 128
};
/* Rows that are nearly all filled: of their number. */
#define FILLED 0.85
/* Points nearer than this share of the median range do not tell the edges. */
#define OWN_VEHICLE 0.2f

void pcgpu_range_image_init(pcgpu_range_image *image) {
    *image = (pcgpu_range_image){.rows = 0, .columns = 0, .low = NAN, .high = NAN};
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
    if (i->rows < 0 || i->rows > PCGPU_RANGE_ROWS || i->columns < 0 || i->columns > PCGPU_DEPTH_SIDE ||
        i->columns % PCGPU_RANGE_COLUMNS != 0) {
        return pc_fail(
            context, PCGPU_ERROR_ARGUMENT,
            "a range image of %d rows and %d columns is not possible; give up to %d rows and a multiple of %d "
            "columns up to %d, 0 for what fits the scan",
            i->rows, i->columns, PCGPU_RANGE_ROWS, PCGPU_RANGE_COLUMNS, PCGPU_DEPTH_SIDE);
    }
    if (!(isnan(i->low) && isnan(i->high)) &&
        !(i->low >= -90.0 && i->high <= 90.0 && i->high - i->low >= PCGPU_RANGE_VIEW)) {
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

/* How many of so many rows, the first and the last around the outermost bins, are filled: have a quarter of what all
 * have on the average, or more. */
static int filled_rows(const int64_t *bins, int lowest, int highest, int rows) {
    int64_t row_points[MOST_RINGS] = {0}, all = 0;
    const int reach = highest > lowest ? highest - lowest : 1;
    int filled = 0;
    for (int bin = lowest; bin <= highest; bin++) {
        row_points[((bin - lowest) * 2 * (rows - 1) + reach) / (2 * reach)] += bins[bin];
        all += bins[bin];
    }
    for (int row = 0; row < rows; row++) {
        filled += 4 * row_points[row] * rows >= all;
    }
    return filled;
}

/* Rows that fit the rings of a scanner: the most that are nearly all filled, else those that are filled best. Between
 * rows of rings there are none with a plane. Motion and calibration blur the rings, so that only a few numbers can be
 * told. */
static int find_rows(const int64_t *bins, int lowest, int highest) {
    int best = MOST_RINGS;
    double best_share = 0.0;
    for (int rows = MOST_RINGS; rows >= LEAST_RINGS && best_share < FILLED; rows /= 2) {
        const double share = (double)filled_rows(bins, lowest, highest, rows) / rows;
        if (share > best_share) {
            best_share = share;
            best = rows;
        }
    }
    return best;
}

/* Points that tell what the image does not say: one of `step`. */
typedef struct sample {
    const pc_range_points *points;
    int64_t step;
} sample;

/* The range and the elevation of point i; false where it has none. */
static bool look(const pc_range_points *points, int64_t i, float *range, float *turns) {
    const float x = points->x[i], y = points->y[i], z = points->z[i], h2 = x * x + y * y;
    *range = sqrtf(h2 + z * z);
    *turns = pc_elevation_turns(sqrtf(h2), z);
    return *range > 0.0f && *range <= FLT_MAX;
}

/* The median of the ranges, to a 32nd of it. */
static float median_range(const sample *s) {
    enum { SHIFT = 18 }; /* of the bits of a float32: what is left is its exponent and 5 bits more */
    int64_t bins[1 << (31 - SHIFT)] = {0}, count = 0, below = 0;
    float range, turns;
    uint32_t bits;
    for (int64_t i = 0; i < s->points->n; i += s->step) {
        if (look(s->points, i, &range, &turns)) {
            memcpy(&bits, &range, sizeof bits);
            bins[bits >> SHIFT]++;
            count++;
        }
    }
    bits = 0;
    while (count > 0 && (below += bins[bits]) < (count + 1) / 2) {
        bits++;
    }
    bits <<= SHIFT;
    memcpy(&range, &bits, sizeof range);
    return range;
}

/* Elevations of the points by bins, from the nadir up; returns how many. What is much nearer than the scene is the
 * vehicle that carries the scanner. */
static int64_t count_elevations(const sample *s, int64_t bins[BINS]) {
    const float nearest = OWN_VEHICLE * median_range(s);
    float range, turns;
    int64_t count = 0;
    for (int64_t i = 0; i < s->points->n; i += s->step) {
        if (look(s->points, i, &range, &turns) && range >= nearest) {
            const int bin = (int)((turns + 0.25f) * (2.0f * BINS));
            bins[bin < BINS ? bin : BINS - 1]++;
            count++;
        }
    }
    return count;
}

/* What the image does not say follows from the scan: its rows; its columns, such that there is a point for each pixel
 * or more, since one without neighbours has no plane; and its edges, which are half a row beyond the lowest and the
 * highest points; of them some are left out, since a reflection can be anywhere. */
static void complete(const pc_range_points *points, pcgpu_range_image *image) {
    int64_t bins[BINS] = {0};
    const sample sampled = {points, (points->n + SAMPLED - 1) / SAMPLED};
    const int64_t count = count_elevations(&sampled, bins);
    int first = 0, last = BINS - 1;
    if (count > 0) {
        first = edge_of(bins, 0, 1, count / OUTLIERS);
        last = edge_of(bins, BINS - 1, -1, count / OUTLIERS);
    }
    if (image->rows == 0) {
        image->rows = count > 0 ? find_rows(bins, first, last) : MOST_RINGS;
    }
    if (image->columns == 0) {
        image->columns = MOST_COLUMNS;
        while (image->columns > LEAST_COLUMNS && (int64_t)image->columns * image->rows > count * sampled.step) {
            image->columns /= 2;
        }
    }
    if (isnan(image->low)) {
        const double bin = HALF_TURN / BINS, view = (last - first) * bin;
        const double row = (view > LEAST_DEGREES ? view : LEAST_DEGREES) / (image->rows > 1 ? image->rows - 1 : 1);
        image->low = (first + 0.5) * bin - 0.5 * HALF_TURN - 0.5 * row;
        image->high = (last + 0.5) * bin - 0.5 * HALF_TURN + 0.5 * row;
    }
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static void lay_out(const pcgpu_range_image *image, int levels, pc_depth_frame *frame) {
    frame->projection = PC_DEPTH_SPHERICAL;
    for (int l = 0, width = image->columns; l < levels && width % PCGPU_RANGE_COLUMNS == 0; l++, width /= 2) {
        pc_depth_level *level = &frame->level[l];
        pc_range_level_init(level, width, image->rows, image->low / DEGREES_A_TURN, image->high / DEGREES_A_TURN);
        level->at = frame->floats;
        frame->floats += pc_range_floats(level);
        frame->levels = l + 1;
    }
}

pcgpu_status pc_frame_of_range(pcgpu_context *context, const pc_backend *backend, const pcgpu_cloud *scan,
                               const pcgpu_range_image *image, int levels, pcgpu_run *run, pcgpu_frame **out) {
    pc_range_points points;
    pcgpu_range_image shape = *image;
    *out = NULL;
    pcgpu_status status = take_points(context, scan, &points, run);
    if (status != PCGPU_OK) {
        return status;
    }
    complete(&points, &shape);
    pcgpu_frame *frame = calloc(1, sizeof *frame);
    if (!frame) {
        return pc_fail_memory(context, sizeof *frame, "a frame");
    }
    frame->backend = backend;
    lay_out(&shape, levels, &frame->maps);
    const pc_depth_image made_from = {.points = &points};
    status = backend->depth_frame(context, &made_from, &frame->maps);
    if (status != PCGPU_OK) {
        free(frame);
        return status;
    }
    *out = frame;
    return PCGPU_OK;
}

/* That the choice of the back end expects. */
static double pixels_of(const pcgpu_range_image *image) {
    return (double)(image->columns ? image->columns : MOST_COLUMNS) * (image->rows ? image->rows : MOST_RINGS);
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
        status = pc_frame_choose(context, pixels_of(image), 1, &run, &backend);
    }
    if (status == PCGPU_OK) {
        status = pc_frame_of_range(context, backend, scan, image, params->levels, &run, frame);
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
        status = pc_frame_choose(context, 2.0 * pixels_of(image), 2, &run, &backend);
    }
    if (status == PCGPU_OK) {
        status = pc_frame_of_range(context, backend, target, image, params->levels, &run, &to);
    }
    if (status == PCGPU_OK) {
        status = pc_frame_of_range(context, backend, source, image, params->levels, &run, &from);
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
