/* Registration of depth frames on the CPU: the maps of a frame, level by level. */
#pragma GCC optimize(                                                                                                  \
    "no-trapping-math") /* exception flags, which are never read, would keep selects from being vectorized */
#include "projective_cpu.h"
#include "projective_maps.h"

#include <stdlib.h>
#include <string.h>

enum { L = PC_DEPTH_LANES, M = PC_DEPTH_MARGIN, BAND = 8 /* rows that a thread does at a time */ };

/* ---- depths ------------------------------------------------------------------------------------------------------ */

/* Memory for the depths of all levels, with margins without depth. */
static float *take_depths(pc_cpu_depth_state *s, const pc_depth_frame *frame, pc_depth_plane_pair *planes) {
    size_t floats = 0;
    for (int l = 0; l < frame->levels; l++) {
        const size_t pitch = (size_t)frame->level[l].columns + 2 * M, rows = (size_t)frame->level[l].rows + 2 * M;
        planes[l].pitch = pitch;
        floats += 2 * pitch * rows;
    }
    float *memory = pc_buffer_take(&s->depths, floats * sizeof *memory, false), *at = memory;
    for (int l = 0; l < frame->levels && memory; l++) {
        const size_t pitch = planes[l].pitch, size = pitch * ((size_t)frame->level[l].rows + 2 * M);
        planes[l].z = at + M * pitch + M;
        planes[l].inverse = planes[l].z + size;
        memset(at, 0, size * sizeof *at); /* the inverse of what is none is not used */
        memset(at + size, 0, size * sizeof *at);
        at += 2 * size;
    }
    return memory;
}

PC_INLINE void invert_row(float *restrict inverse, const float *restrict z, int n) {
    for (int u = 0; u < n; u++) {
        inverse[u] = 1.0f / (z[u] > 0.0f ? z[u] : 1.0f);
    }
}

PC_INLINE void convert_row(const uint16_t *restrict d, int n, uint16_t low, uint16_t high, float scale,
                           float *restrict z, float *restrict inverse) {
    for (int u = 0; u < n; u++) {
        z[u] = pc_depth_metres(d[u], low, high, scale);
    }
    invert_row(inverse, z, n);
}

PC_SIMD_FORMS_OF(convert_row,
                 (const uint16_t *d, int n, uint16_t low, uint16_t high, float scale, float *z, float *inverse),
                 (d, n, low, high, scale, z, inverse))

/* A pixel through the bilateral filter, in depth units. */
static float filtered(const pc_depth_image *image, int u, int v) {
    const int center = image->data[(size_t)v * (size_t)image->width + (size_t)u], R = PC_DEPTH_BILATERAL;
    float sum = 0.0f, weights = 0.0f;
    for (int y = v - R < 0 ? 0 : v - R; y <= v + R && y < image->height; y++) {
        const uint16_t *row = image->data + (size_t)y * (size_t)image->width;
        for (int x = u - R < 0 ? 0 : u - R; x <= u + R && x < image->width; x++) {
            if (row[x] >= image->low && row[x] <= image->high) {
                const int place = (y - v + R) * PC_DEPTH_BILATERAL_SIDE + (x - u + R);
                const float w = pc_depth_bilateral_weight(image, place, center, row[x]);
                sum += w * (float)row[x];
                weights += w;
            }
        }
    }
    return sum / weights; /* the pixel itself weighs something */
}

static void filter_row(const pc_depth_image *image, int v, float *z, float *inverse) {
    const uint16_t *d = image->data + (size_t)v * (size_t)image->width;
    for (int u = 0; u < image->width; u++) {
        z[u] = d[u] >= image->low && d[u] <= image->high ? filtered(image, u, v) / image->scale : 0.0f;
    }
    invert_row(inverse, z, image->width);
}

PC_INLINE void halve_row(const float *restrict above, const float *restrict below, int n, float edge, float *restrict z,
                         float *restrict inverse) {
    for (int u = 0; u < n; u++) {
        z[u] = pc_depth_halve(above[2 * u], above[2 * u + 1], below[2 * u], below[2 * u + 1], edge);
    }
    invert_row(inverse, z, n);
}

PC_SIMD_FORMS_OF(halve_row, (const float *above, const float *below, int n, float edge, float *z, float *inverse),
                 (above, below, n, edge, z, inverse))

/* ---- planes ------------------------------------------------------------------------------------------------------ */

/* A row of the window, z and inverse: of its middle. Written out, since a loop within a loop is not vectorized. */
PC_INLINE void fit_taps(pc_depth_moments *m, float j, const float *z, const float *inverse, ptrdiff_t step, float own_z,
                        float own_inverse, float edge) {
    pc_depth_row row = {0, 0, 0, 0, 0};
    _Static_assert(PC_DEPTH_TAPS == 2, "five pixels a row");
    pc_depth_tap(&row, -2.0f, z[-2 * step], inverse[-2 * step], own_z, own_inverse, edge);
    pc_depth_tap(&row, -1.0f, z[-step], inverse[-step], own_z, own_inverse, edge);
    pc_depth_tap(&row, 0.0f, z[0], inverse[0], own_z, own_inverse, edge);
    pc_depth_tap(&row, 1.0f, z[step], inverse[step], own_z, own_inverse, edge);
    pc_depth_tap(&row, 2.0f, z[2 * step], inverse[2 * step], own_z, own_inverse, edge);
    pc_depth_add_row(m, j, &row);
}

/* Planes of L pixels of a row from `u` on; z and inverse: of the first. `step`: pixels to a step of the window. */
PC_INLINE void fit_lanes(const pc_depth_level *given, int u, int v, const float *restrict z,
                         const float *restrict inverse, ptrdiff_t pitch, ptrdiff_t step, float *restrict out) {
    const pc_depth_level level = *given;
    const float y = ((float)v - level.cy) * level.per_fy;
    const ptrdiff_t row = step * pitch;
    for (int l = 0; l < L; l++) {
        pc_depth_moments m = {0, 0, 0, 0, 0, 0, 0, 0, 0};
        const float edge = level.edge * z[l], x = ((float)(u + l) - level.cx) * level.per_fx;
        fit_taps(&m, -2.0f, z + l - 2 * row, inverse + l - 2 * row, step, z[l], inverse[l], edge);
        fit_taps(&m, -1.0f, z + l - row, inverse + l - row, step, z[l], inverse[l], edge);
        fit_taps(&m, 0.0f, z + l, inverse + l, step, z[l], inverse[l], edge);
        fit_taps(&m, 1.0f, z + l + row, inverse + l + row, step, z[l], inverse[l], edge);
        fit_taps(&m, 2.0f, z + l + 2 * row, inverse + l + 2 * row, step, z[l], inverse[l], edge);
        pc_depth_plane_of(&m, &level, x, y, z[l], inverse[l], out + PC_DEPTH_VALUES * l);
    }
}

/* Row v of a level. */
PC_INLINE void fit_row(const pc_depth_level *level, const pc_depth_plane_pair *depths, int v, float *first) {
    for (int u = 0; u < level->columns; u += L) {
        const size_t from = (size_t)v * depths->pitch + (size_t)u;
        float *to = first + PC_DEPTH_VALUES * ((size_t)v * (size_t)level->columns + (size_t)u);
        fit_lanes(level, u, v, depths->z + from, depths->inverse + from, (ptrdiff_t)depths->pitch,
                  (ptrdiff_t)level->stride, to);
    }
}

PC_SIMD_FORMS_OF(fit_row, (const pc_depth_level *level, const pc_depth_plane_pair *depths, int v, float *first),
                 (level, depths, v, first))

/* ---- a frame ----------------------------------------------------------------------------------------------------- */

/* The frame being made. */
typedef struct making {
    pc_simd simd;
    const pc_depth_image *image;
    const pc_depth_frame *frame;
    int number; /* of the level */
    pc_depth_plane_pair depths[PC_DEPTH_MAX_LEVELS];
} making;

static int end_of_band(int band, int rows) {
    return (band + 1) * BAND < rows ? (band + 1) * BAND : rows;
}

static void fill_band(void *state, int band) {
    const making *m = state;
    const pc_depth_image *image = m->image;
    for (int v = band * BAND; v < end_of_band(band, image->height); v++) {
        float *z = m->depths->z + (size_t)v * m->depths->pitch;
        float *inverse = m->depths->inverse + (size_t)v * m->depths->pitch;
        if (image->range_size > 0) {
            filter_row(image, v, z, inverse);
        } else {
            convert_row_for(m->simd)(image->data + (size_t)v * (size_t)image->width, image->width, image->low,
                                     image->high, image->scale, z, inverse);
        }
    }
}

/* The depths of maps. */
static void take_band(void *state, int band) {
    const making *m = state;
    const pc_maps *maps = &m->image->maps;
    for (int v = band * BAND; v < end_of_band(band, maps->height); v++) {
        float *z = m->depths->z + (size_t)v * m->depths->pitch;
        for (int u = 0; u < maps->width; u++) {
            z[u] = pc_depth_given(maps->vertices + 3 * ((size_t)v * (size_t)maps->width + (size_t)u));
        }
        invert_row(m->depths->inverse + (size_t)v * m->depths->pitch, z, maps->width);
    }
}

static void halve_band(void *state, int band) {
    const making *m = state;
    const pc_depth_level *fine = &m->frame->level[m->number - 1], *level = &m->frame->level[m->number];
    const pc_depth_plane_pair *from = &m->depths[m->number - 1], *to = &m->depths[m->number];
    for (int v = band * BAND; v < end_of_band(band, level->height); v++) {
        const float *above = from->z + (size_t)(2 * v) * from->pitch;
        halve_row_for(m->simd)(above, above + from->pitch, level->width, fine->edge, to->z + (size_t)v * to->pitch,
                               to->inverse + (size_t)v * to->pitch);
    }
}

static void fit_band(void *state, int band) {
    const making *m = state;
    const pc_depth_level *level = &m->frame->level[m->number];
    for (int v = band * BAND; v < end_of_band(band, level->rows); v++) {
        fit_row_for(m->simd)(level, &m->depths[m->number], v, pc_depth_pixels(m->frame, m->number));
    }
}

static int bands_of(int rows) {
    return (rows + BAND - 1) / BAND;
}

static void make_levels(pc_team *team, making *m) {
    pc_team_run(team, bands_of(m->image->height), m->image->data ? fill_band : take_band, m);
    pc_team_run(team, bands_of(m->frame->level[0].rows), fit_band, m);
    for (m->number = 1; m->number < m->frame->levels; m->number++) {
        pc_team_run(team, bands_of(m->frame->level[m->number].height), halve_band, m);
        pc_team_run(team, bands_of(m->frame->level[m->number].rows), fit_band, m);
    }
}

static void clear_nowhere(const pc_depth_frame *frame) {
    for (int l = 0; l < frame->levels; l++) {
        memset(pc_depth_pixels(frame, l) + PC_DEPTH_VALUES * pc_depth_nowhere(&frame->level[l]), 0,
               PC_DEPTH_VALUES * sizeof(float));
    }
}

bool pc_cpu_depth_take_maps(pc_cpu_depth_state *s, pc_depth_frame *frame) {
    const size_t bytes = (frame->floats * sizeof *frame->maps + 63) / 64 * 64;
    for (int i = 0; i < PC_DEPTH_SPARES; i++) {
        if (s->spare[i].bytes >= bytes && s->spare[i].bytes <= 4 * bytes) {
            frame->maps = s->spare[i].memory;
            frame->bytes = s->spare[i].bytes;
            s->spare[i] = (pc_buffer){0};
            return true;
        }
    }
    frame->bytes = bytes;
    frame->maps = aligned_alloc(64, bytes);
    return frame->maps;
}

pcgpu_status pc_cpu_depth_frame(pcgpu_context *context, const struct pc_depth_image *image,
                                struct pc_depth_frame *frame) {
    pc_cpu_depth_state *s = pc_cpu_depth_take(context);
    making m = {.image = image, .frame = frame};
    const double begin = pc_now();
    if (!s || !pc_cpu_depth_take_maps(s, frame) || !take_depths(s, frame, m.depths)) {
        pc_cpu_depth_free(context, frame);
        return pc_fail_memory(context, frame->floats * 6, "the maps of a frame");
    }
    m.simd = s->simd;
    clear_nowhere(frame);
    make_levels(s->team, &m);
    if (!pc_cpu_depth_measure(context, frame)) {
        pc_cpu_depth_free(context, frame);
        return pc_fail_memory(context, 0, "the measure of a frame");
    }
    frame->measure.seconds = pc_now() - begin;
    return PCGPU_OK;
}

/* The memory is kept for the next frame; the smallest spare goes when there are too many. */
void pc_cpu_depth_free(pcgpu_context *context, struct pc_depth_frame *frame) {
    pc_cpu_depth_state *s = context->kept[PC_KEPT_PROJECTIVE].memory;
    pc_buffer last = {frame->maps, frame->maps ? frame->bytes : 0};
    for (int i = 0; i < PC_DEPTH_SPARES && s; i++) {
        if (s->spare[i].bytes < last.bytes) {
            const pc_buffer smaller = s->spare[i];
            s->spare[i] = last;
            last = smaller;
        }
    }
    pc_buffer_free(&last);
    frame->maps = NULL;
}

const pc_projective_ops pc_cpu_projective_ops = {
    .make_frame = pc_cpu_depth_frame, .free_frame = pc_cpu_depth_free, .register_frames = pc_cpu_depth_register};
