/* Registration of scans through range images on the CPU: the maps of a frame, level by level. */
#pragma GCC optimize(                                                                                                  \
    "no-trapping-math") /* flags of exceptions, which nobody reads, keep selects from being vectorized */
#include "cpu_depth.h"
#include "icp_range.h"

#include <stdlib.h>
#include <string.h>

enum {
    L = PC_DEPTH_LANES,
    V = PC_RANGE_VALUES,
    BAND = 8,     /* rows that a thread does at a time */
    MARGIN = 16,  /* columns on each side of a row; one is used, the others keep rows aligned */
    CHUNK = 4096, /* points that a thread projects at a time */
    POINT_VALUES = 4
};

/* The points of a level by coordinates and range, rows of `pitch`, of its first pixel: beside it what lies beyond the
 * seam of the turn, above and below rows of none. */
typedef struct points_of {
    float *value[POINT_VALUES]; /* x, y, z, range */
    size_t pitch;
} points_of;

/* The frame being made. */
typedef struct making {
    pc_simd simd;
    const pc_range_points *points;
    const pc_depth_frame *frame;
    int32_t *pixels; /* of each point */
    float *ranges;   /* likewise */
    uint64_t *keys;  /* of each pixel of the finest level, and one for none */
    int number;      /* of the level */
    points_of levels[PC_DEPTH_MAX_LEVELS];
} making;

static int end_of_band(int band, int rows) {
    return (band + 1) * BAND < rows ? (band + 1) * BAND : rows;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static size_t round_up(size_t floats) {
    return (floats + MARGIN - 1) / MARGIN * MARGIN;
}

/* Room for the points of all levels, without any in them, and for what they are made from. */
static bool take_points(pc_cpu_depth_state *s, making *m) {
    const pc_depth_frame *frame = m->frame;
    const size_t pixels = (size_t)pc_depth_nowhere(&frame->level[0]) + 1, points = round_up((size_t)m->points->n);
    size_t floats = 0;
    for (int l = 0; l < frame->levels; l++) {
        m->levels[l].pitch = (size_t)frame->level[l].columns + 2 * MARGIN;
        floats += POINT_VALUES * m->levels[l].pitch * ((size_t)frame->level[l].rows + 2);
    }
    const size_t keys = round_up(2 * pixels);
    float *at = pc_buffer_take(&s->depths, (floats + keys + 2 * points) * sizeof *at, false);
    if (!at) {
        return false;
    }
    memset(at, 0, floats * sizeof *at);
    for (int l = 0; l < frame->levels; l++) {
        points_of *level = &m->levels[l];
        for (int k = 0; k < POINT_VALUES; k++) {
            level->value[k] = at + level->pitch + MARGIN;
            at += level->pitch * ((size_t)frame->level[l].rows + 2);
        }
    }
    m->keys = (uint64_t *)(void *)at;
    memset(m->keys, 0xff, pixels * sizeof *m->keys);
    m->ranges = at + keys;
    m->pixels = (int32_t *)(void *)(m->ranges + points);
    return true;
}

/* ---- from points to pixels --------------------------------------------------------------------------------------- */

PC_INLINE void project_points(const pc_depth_level *given, const float *restrict x, const float *restrict y,
                              const float *restrict z, int64_t n, int32_t *restrict pixels, float *restrict ranges) {
    const pc_depth_level level = *given;
    for (int64_t i = 0; i < n; i++) {
        pixels[i] = pc_range_pixel(&level, x[i], y[i], z[i], &ranges[i]);
    }
}

PC_SIMD_FORMS_OF(project_points,
                 (const pc_depth_level *given, const float *x, const float *y, const float *z, int64_t n,
                  int32_t *pixels, float *ranges),
                 (given, x, y, z, n, pixels, ranges))

static void project_chunk(void *state, int chunk) {
    const making *m = state;
    const int64_t first = (int64_t)chunk * CHUNK, rest = m->points->n - first;
    project_points_for(m->simd)(&m->frame->level[0], m->points->x + first, m->points->y + first, m->points->z + first,
                                rest < CHUNK ? rest : CHUNK, m->pixels + first, m->ranges + first);
}

static void find_nearest(const making *m) {
    for (int64_t i = 0; i < m->points->n; i++) {
        uint32_t bits;
        memcpy(&bits, &m->ranges[i], sizeof bits);
        const uint64_t key = pc_range_key(bits, (int32_t)i);
        uint64_t *least = &m->keys[m->pixels[i]];
        *least = key < *least ? key : *least;
    }
}

/* What lies beyond the seam. */
static void close_turn(const points_of *points, size_t row, int columns) {
    for (int k = 0; k < POINT_VALUES; k++) {
        float *first = points->value[k] + row;
        first[-1] = first[columns - 1];
        first[columns] = first[0];
    }
}

static void fill_band(void *state, int band) {
    const making *m = state;
    const pc_depth_level *level = &m->frame->level[0];
    const points_of *to = &m->levels[0];
    for (int v = band * BAND; v < end_of_band(band, level->height); v++) {
        const uint64_t *keys = m->keys + (size_t)v * (size_t)level->columns;
        const size_t row = (size_t)v * to->pitch;
        for (int u = 0; u < level->columns; u++) {
            if (keys[u] != PC_RANGE_NO_KEY) {
                const int32_t i = (int32_t)(uint32_t)keys[u];
                to->value[0][row + (size_t)u] = m->points->x[i];
                to->value[1][row + (size_t)u] = m->points->y[i];
                to->value[2][row + (size_t)u] = m->points->z[i];
                to->value[3][row + (size_t)u] = m->ranges[i];
            }
        }
        close_turn(to, row, level->columns);
    }
}

PC_INLINE void halve_row(const points_of *given, size_t from, int n, const points_of *result, size_t to) {
    const float *restrict x = given->value[0] + from, *restrict y = given->value[1] + from;
    const float *restrict z = given->value[2] + from, *restrict range = given->value[3] + from;
    float *restrict half_x = result->value[0] + to, *restrict half_y = result->value[1] + to;
    float *restrict half_z = result->value[2] + to, *restrict half_range = result->value[3] + to;
    for (int u = 0; u < n; u++) {
        const bool left = pc_range_takes_left(range[2 * u], range[2 * u + 1]);
        half_x[u] = left ? x[2 * u] : x[2 * u + 1];
        half_y[u] = left ? y[2 * u] : y[2 * u + 1];
        half_z[u] = left ? z[2 * u] : z[2 * u + 1];
        half_range[u] = left ? range[2 * u] : range[2 * u + 1];
    }
}

PC_SIMD_FORMS_OF(halve_row, (const points_of *given, size_t from, int n, const points_of *result, size_t to),
                 (given, from, n, result, to))

static void halve_band(void *state, int band) {
    const making *m = state;
    const pc_depth_level *level = &m->frame->level[m->number];
    const points_of *from = &m->levels[m->number - 1], *to = &m->levels[m->number];
    for (int v = band * BAND; v < end_of_band(band, level->height); v++) {
        const size_t row = (size_t)v * to->pitch;
        halve_row_for(m->simd)(from, (size_t)v * from->pitch, level->columns, to, row);
        close_turn(to, row, level->columns);
    }
}

/* ---- planes ------------------------------------------------------------------------------------------------------ */

/* Planes of L pixels of a row; the pointers are to the first one's values. */
PC_INLINE void fit_lanes(float edge_share, const float *restrict x, const float *restrict y, const float *restrict z,
                         const float *restrict range, ptrdiff_t pitch, float (*restrict planes)[L]) {
    for (int l = 0; l < L; l++) {
        pc_range_sight s;
        pc_depth_moments m = pc_range_moments();
        float plane[PC_DEPTH_VALUES];
        const float edge = edge_share * range[l];
        pc_range_sight_of(x[l], y[l], z[l], range[l], &s);
#define TAP(at) pc_range_tap(&m, &s, x[l + (at)], y[l + (at)], z[l + (at)], range[l + (at)], edge)
        TAP(-pitch - 1), TAP(-pitch), TAP(-pitch + 1), TAP(-1), TAP(1), TAP(pitch - 1), TAP(pitch), TAP(pitch + 1);
#undef TAP
        pc_range_plane_of(&m, &s, plane);
        planes[PC_DEPTH_NX][l] = plane[PC_DEPTH_NX];
        planes[PC_DEPTH_NY][l] = plane[PC_DEPTH_NY];
        planes[PC_DEPTH_NZ][l] = plane[PC_DEPTH_NZ];
        planes[PC_DEPTH_Z][l] = plane[PC_DEPTH_Z];
    }
}

PC_INLINE void fit_row(const pc_depth_level *level, const points_of *points, int v, float *first) {
    for (int u = 0; u < level->columns; u += L) {
        float planes[PC_DEPTH_VALUES][L] __attribute__((aligned(64)));
        const size_t from = (size_t)v * points->pitch + (size_t)u;
        const float *x = points->value[0] + from, *y = points->value[1] + from, *z = points->value[2] + from;
        float *restrict to = first + V * ((size_t)v * (size_t)level->columns + (size_t)u);
        fit_lanes(level->edge, x, y, z, points->value[3] + from, (ptrdiff_t)points->pitch, planes);
        for (int l = 0; l < L; l++) {
            to[V * l + PC_DEPTH_NX] = planes[PC_DEPTH_NX][l];
            to[V * l + PC_DEPTH_NY] = planes[PC_DEPTH_NY][l];
            to[V * l + PC_DEPTH_NZ] = planes[PC_DEPTH_NZ][l];
            to[V * l + PC_DEPTH_Z] = planes[PC_DEPTH_Z][l];
            to[V * l + PC_RANGE_X] = x[l];
            to[V * l + PC_RANGE_Y] = y[l];
            to[V * l + PC_RANGE_Z] = z[l];
            to[V * l + PC_RANGE_Z + 1] = 0.0f;
        }
    }
}

PC_SIMD_FORMS_OF(fit_row, (const pc_depth_level *level, const points_of *points, int v, float *first),
                 (level, points, v, first))

static void fit_band(void *state, int band) {
    const making *m = state;
    const pc_depth_level *level = &m->frame->level[m->number];
    for (int v = band * BAND; v < end_of_band(band, level->rows); v++) {
        fit_row_for(m->simd)(level, &m->levels[m->number], v, pc_depth_pixels(m->frame, m->number));
    }
}

/* ---- a frame ----------------------------------------------------------------------------------------------------- */

static int bands_of(int rows) {
    return (rows + BAND - 1) / BAND;
}

static void make_levels(pc_team *team, making *m) {
    const pc_depth_frame *frame = m->frame;
    pc_team_run(team, (int)((m->points->n + CHUNK - 1) / CHUNK), project_chunk, m);
    find_nearest(m);
    for (m->number = 0; m->number < frame->levels; m->number++) {
        const pc_depth_level *level = &frame->level[m->number];
        pc_team_run(team, bands_of(level->height), m->number == 0 ? fill_band : halve_band, m);
        pc_team_run(team, bands_of(level->rows), fit_band, m);
        memset(pc_depth_pixels(frame, m->number) + V * (size_t)pc_depth_nowhere(level), 0, V * sizeof(float));
    }
}

pcgpu_status pc_cpu_range_frame(pcgpu_context *context, const struct pc_depth_image *image,
                                struct pc_depth_frame *frame) {
    pc_cpu_depth_state *s = pc_cpu_depth_take(context);
    making m = {.points = image->points, .frame = frame};
    const double begin = pc_now();
    if (!s || !pc_cpu_depth_take_maps(s, frame) || !take_points(s, &m)) {
        pc_cpu_depth_free(context, frame);
        return pc_fail_memory(context, frame->floats * 6, "the maps of a frame");
    }
    m.simd = s->simd;
    make_levels(s->team, &m);
    if (!pc_cpu_depth_measure(context, frame)) {
        pc_cpu_depth_free(context, frame);
        return pc_fail_memory(context, 0, "the measure of a frame");
    }
    frame->measure.seconds = pc_now() - begin;
    return PCGPU_OK;
}
