/* Registration of scans through range images: projective association as of depth images (register_depth.c), after a
 * spherical projection. The arithmetic is in icp_range.h. */
#include "cpu_team.h"
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
    params->min_score = 0.2;
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

enum { MOST_PARTS = 64, POINTS_A_PART = 4096 };

/* A scan whose points are being taken, by parts. */
typedef struct taking {
    const pcgpu_cloud *scan;
    pc_range_points points;
    float *x, *y, *z;
    int parts;
    int64_t non_finite[MOST_PARTS], at_origin[MOST_PARTS];
} taking;

static void take_part(void *state, int part) {
    taking *t = state;
    const double *offset = t->scan->offset;
    const bool moved = offset[0] != 0.0 || offset[1] != 0.0 || offset[2] != 0.0;
    const int64_t begin = t->scan->rows * part / t->parts, end = t->scan->rows * (part + 1) / t->parts;
    int64_t non_finite = 0, at_origin = 0;
    for (int64_t i = begin; i < end; i++) {
        const float *record = t->scan->data + i * t->scan->columns;
        float x = record[0], y = record[1], z = record[2];
        if (moved) {
            x = (float)((double)x + offset[0]);
            y = (float)((double)y + offset[1]);
            z = (float)((double)z + offset[2]);
        }
        const bool finite = pc_is_finite3(x, y, z);
        non_finite += !finite;
        at_origin += x == 0.0f && y == 0.0f && z == 0.0f;
        t->x[i] = finite ? x : 0.0f;
        t->y[i] = finite ? y : 0.0f;
        t->z[i] = finite ? z : 0.0f;
    }
    t->non_finite[part] = non_finite;
    t->at_origin[part] = at_origin;
}

/* The points of a scan about its origin, in memory of the context; those that cannot be used are (0, 0, 0). Behind them
 * is room for what `samples` holds. */
static pcgpu_status take_points(pcgpu_context *context, const pcgpu_cloud *scan, taking *t, pcgpu_run *run) {
    if (scan->rows > INT32_MAX) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "%lld points; indices are 32 bits wide, so split the cloud below 2^31", (long long)scan->rows);
    }
    const size_t n = (size_t)scan->rows, bytes = (3 * n + 2 * SAMPLED) * sizeof(float);
    struct pc_team *team = pc_context_team(context);
    float *memory = pc_buffer_take(&context->scratch[PC_SCRATCH_SOURCE], bytes, false);
    if (!memory || !team) {
        return pc_fail_memory(context, bytes, "the points");
    }
    const int64_t useful = scan->rows / POINTS_A_PART;
    *t = (taking){.scan = scan, .x = memory, .y = memory + n, .z = memory + 2 * n};
    t->parts = useful < 1 ? 1 : useful < MOST_PARTS ? (int)useful : MOST_PARTS;
    t->points = (pc_range_points){.n = scan->rows, .x = t->x, .y = t->y, .z = t->z};
    pc_team_run(team, t->parts, take_part, t);
    run->points_in += scan->rows;
    for (int i = 0; i < t->parts; i++) {
        run->non_finite += t->non_finite[i];
        run->at_origin += t->at_origin[i];
    }
    return PCGPU_OK;
}

/* ---- the shape of an image --------------------------------------------------------------------------------------- */

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

/* Points that tell what the image does not say: one of `step`, each by its range, 0 for none, and its elevation. */
typedef struct samples {
    const pc_range_points *points;
    int64_t step;
    int n;
    float *range, *turns;
} samples;

enum { SAMPLES_A_PART = 1024 };

static void look_at_part(void *state, int part) {
    const samples *s = state;
    const int begin = part * SAMPLES_A_PART, end = begin + SAMPLES_A_PART < s->n ? begin + SAMPLES_A_PART : s->n;
    for (int k = begin; k < end; k++) {
        const int64_t i = k * s->step;
        const float x = s->points->x[i], y = s->points->y[i], z = s->points->z[i], h2 = x * x + y * y;
        const float range = sqrtf(h2 + z * z);
        s->range[k] = range <= FLT_MAX ? range : 0.0f;
        s->turns[k] = pc_elevation_turns(sqrtf(h2), z);
    }
}

/* The median of the ranges, to a 32nd of it. */
static float median_range(const samples *s) {
    enum { SHIFT = 18 }; /* of the bits of a float32: what is left is its exponent and 5 bits more */
    int32_t bins[1 << (31 - SHIFT)] = {0}, count = 0, below = 0;
    uint32_t bits = 0;
    for (int k = 0; k < s->n; k++) {
        if (s->range[k] > 0.0f) {
            bins[(uint32_t)pc_float_bits(s->range[k]) >> SHIFT]++;
            count++;
        }
    }
    while (count > 0 && (below += bins[bits]) < (count + 1) / 2) {
        bits++;
    }
    bits <<= SHIFT;
    float range;
    memcpy(&range, &bits, sizeof range);
    return range;
}

/* Elevations of the points by bins, from the nadir up; returns how many. What is much nearer than the scene is the
 * vehicle that carries the scanner. */
static int64_t count_elevations(const samples *s, int64_t bins[BINS]) {
    const float nearest = OWN_VEHICLE * median_range(s);
    int64_t count = 0;
    for (int k = 0; k < s->n; k++) {
        if (s->range[k] > 0.0f && s->range[k] >= nearest) {
            const int bin = (int)((s->turns[k] + 0.25f) * (2.0f * BINS));
            bins[bin < BINS ? bin : BINS - 1]++;
            count++;
        }
    }
    return count;
}

/* What the image does not say follows from the scan: its rows; its columns, such that there is a point for each pixel
 * or more, since one without neighbours has no plane; and its edges, which are half a row beyond the lowest and the
 * highest points; of them some are left out, since a reflection can be anywhere. */
static void complete(pcgpu_context *context, const taking *t, pcgpu_range_image *image) {
    int64_t bins[BINS] = {0};
    const int64_t n = t->points.n, step = n > SAMPLED ? (n + SAMPLED - 1) / SAMPLED : 1;
    float *room = t->z + n;
    samples sampled = {&t->points, step, (int)((n + step - 1) / step), room, room + SAMPLED};
    pc_team_run(context->team, (sampled.n + SAMPLES_A_PART - 1) / SAMPLES_A_PART, look_at_part, &sampled);
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
        while (image->columns > LEAST_COLUMNS && (int64_t)image->columns * image->rows > count * step) {
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
    taking taken;
    pcgpu_range_image shape = *image;
    *out = NULL;
    pcgpu_status status = take_points(context, scan, &taken, run);
    if (status != PCGPU_OK) {
        return status;
    }
    complete(context, &taken, &shape);
    pcgpu_frame *frame = calloc(1, sizeof *frame);
    if (!frame) {
        return pc_fail_memory(context, sizeof *frame, "a frame");
    }
    frame->backend = backend;
    lay_out(&shape, levels, &frame->maps);
    const pc_depth_image made_from = {.points = &taken.points};
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
