/* Registration of depth frames on the CPU: the maps of a frame, level by level. */
#include "cpu_depth.h"

#include <stdlib.h>
#include <string.h>

enum { L = PC_DEPTH_LANES, M = PC_DEPTH_MARGIN, ROWS_A_THREAD = 16 };

pc_cpu_depth_state *pc_cpu_depth_take(pcgpu_context *context) {
    pc_cpu_depth_state *s = context->cpu_depth;
    if (!s) {
        s = context->cpu_depth = calloc(1, sizeof *s);
    }
    if (s) {
        s->simd = PC_SIMD_BASE;
        for (int form = PC_SIMD_BASE; form < PC_SIMD_FORMS; form++) {
            bool allowed = context->simd_limit == 0 || form < context->simd_limit;
            s->simd = allowed && pc_cpu_has((pc_simd)form) ? (pc_simd)form : s->simd;
        }
    }
    return s;
}

void pc_cpu_depth_end(pcgpu_context *context) {
    pc_cpu_depth_state *s = context->cpu_depth;
    if (s) {
        for (int i = 0; i < PC_DEPTH_SPARES; i++) {
            free(s->spare[i].memory);
        }
        free(s->depths.memory);
        free(s->sums.memory);
        free(s);
        context->cpu_depth = NULL;
    }
}

static int team_of(const pcgpu_context *context, int rows) {
    const int useful = rows / ROWS_A_THREAD;
    return useful < context->threads ? (useful > 1 ? useful : 1) : context->threads;
}

/* ---- depths ------------------------------------------------------------------------------------------------------ */

/* Room for the depths of all levels, with their margins of none. */
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

/* Planes of L pixels of a row from `u` on; z and inverse: of the first. `step`: pixels to a step of the window. */
PC_INLINE void fit_lanes(const pc_depth_level *given, int u, int v, const float *restrict z,
                         const float *restrict inverse, ptrdiff_t pitch, ptrdiff_t step, float *restrict nx,
                         float *restrict ny, float *restrict nz, float *restrict out) {
    enum { T = PC_DEPTH_TAPS };
    const pc_depth_level level = *given;
    const float y = ((float)v - level.cy) * level.per_fy;
    for (int l = 0; l < L; l++) {
        pc_depth_moments m = {0};
        float plane[PC_DEPTH_PLANES];
        const float edge = level.edge * z[l];
#pragma GCC unroll 5
        for (int j = -T; j <= T; j++) {
            pc_depth_row row = {0};
#pragma GCC unroll 5
            for (int i = -T; i <= T; i++) {
                const ptrdiff_t at = j * step * pitch + i * step + l;
                pc_depth_tap(&row, (float)i, z[at], inverse[at], z[l], inverse[l], edge);
            }
            pc_depth_add_row(&m, (float)j, &row);
        }
        const float x = ((float)(u + l) - level.cx) * level.per_fx;
        pc_depth_plane_of(&m, &level, x, y, z[l], inverse[l], plane);
        nx[l] = plane[PC_DEPTH_NX];
        ny[l] = plane[PC_DEPTH_NY];
        nz[l] = plane[PC_DEPTH_NZ];
        out[l] = plane[PC_DEPTH_Z];
    }
}

/* Row v of the planes of a level. */
PC_INLINE void fit_row(const pc_depth_level *level, const pc_depth_plane_pair *depths, int v, float *first) {
    const size_t plane = pc_depth_plane_size(level);
    for (int u = 0; u < level->columns; u += L) {
        const size_t from = (size_t)v * depths->pitch + (size_t)u;
        float *to = first + (size_t)v * (size_t)level->columns + (size_t)u;
        fit_lanes(level, u, v, depths->z + from, depths->inverse + from, (ptrdiff_t)depths->pitch,
                  (ptrdiff_t)level->stride, to, to + plane, to + 2 * plane, to + 3 * plane);
    }
}

PC_SIMD_FORMS_OF(fit_row, (const pc_depth_level *level, const pc_depth_plane_pair *depths, int v, float *first),
                 (level, depths, v, first))

/* ---- a frame ----------------------------------------------------------------------------------------------------- */

static void fill_depths(pcgpu_context *context, const pc_depth_image *image, const pc_depth_plane_pair *planes) {
    const pc_cpu_depth_state *s = context->cpu_depth;
#pragma omp parallel for schedule(static) num_threads(team_of(context, image->height))
    for (int v = 0; v < image->height; v++) {
        float *z = planes->z + (size_t)v * planes->pitch, *inverse = planes->inverse + (size_t)v * planes->pitch;
        if (image->range_size > 0) {
            filter_row(image, v, z, inverse);
        } else {
            convert_row_for(s->simd)(image->data + (size_t)v * (size_t)image->width, image->width, image->low,
                                     image->high, image->scale, z, inverse);
        }
    }
}

/* The finest level from maps: its planes, and the depths that the levels above are made from. */
static void fill_from_maps(pcgpu_context *context, const pc_maps *maps, const pc_depth_frame *frame,
                           const pc_depth_plane_pair *planes) {
    const pc_depth_level level = frame->level[0];
#pragma omp parallel for schedule(static) num_threads(team_of(context, level.rows))
    for (int v = 0; v < level.rows; v++) {
        const float y = ((float)v - level.cy) * level.per_fy;
        for (int u = 0; u < level.columns; u++) {
            float plane[PC_DEPTH_PLANES] = {0};
            if (u < maps->width && v < maps->height) {
                const size_t from = 3 * ((size_t)v * (size_t)maps->width + (size_t)u);
                const float x = ((float)u - level.cx) * level.per_fx;
                pc_depth_plane_given(maps->vertices + from, maps->normals + from, x, y, plane);
            }
            for (int k = 0; k < PC_DEPTH_PLANES; k++) {
                pc_depth_plane_at(frame, 0, k)[(size_t)v * (size_t)level.columns + (size_t)u] = plane[k];
            }
            if (u < maps->width && v < maps->height) {
                planes->z[(size_t)v * planes->pitch + (size_t)u] = plane[PC_DEPTH_Z];
            }
        }
    }
    (void)context;
}

static void halve_depths(pcgpu_context *context, const pc_depth_level *fine, const pc_depth_level *level,
                         const pc_depth_plane_pair *from, const pc_depth_plane_pair *to) {
    const pc_cpu_depth_state *s = context->cpu_depth;
#pragma omp parallel for schedule(static) num_threads(team_of(context, level->height))
    for (int v = 0; v < level->height; v++) {
        const float *above = from->z + (size_t)(2 * v) * from->pitch;
        halve_row_for(s->simd)(above, above + from->pitch, level->width, fine->edge,
                               to->z + (size_t)v * to->pitch, to->inverse + (size_t)v * to->pitch);
    }
}

static void fit_planes(pcgpu_context *context, const pc_depth_frame *frame, int number,
                       const pc_depth_plane_pair *depths) {
    const pc_cpu_depth_state *s = context->cpu_depth;
    const pc_depth_level *level = &frame->level[number];
    float *first = pc_depth_plane_at(frame, number, 0);
#pragma omp parallel for schedule(static) num_threads(team_of(context, level->rows))
    for (int v = 0; v < level->rows; v++) {
        fit_row_for(s->simd)(level, depths, v, first);
    }
}

/* Memory for the maps, of a frame that was freed where one has enough. */
static bool take_maps(pc_cpu_depth_state *s, pc_depth_frame *frame) {
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
    pc_depth_plane_pair depths[PC_DEPTH_MAX_LEVELS];
    if (!s || !take_maps(s, frame) || !take_depths(s, frame, depths)) {
        pc_cpu_depth_free(context, frame);
        return pc_fail_memory(context, frame->floats * 6, "the maps of a frame");
    }
    if (image->data) {
        fill_depths(context, image, &depths[0]);
        fit_planes(context, frame, 0, &depths[0]);
    } else {
        fill_from_maps(context, &image->maps, frame, &depths[0]);
    }
    for (int l = 1; l < frame->levels; l++) {
        halve_depths(context, &frame->level[l - 1], &frame->level[l], &depths[l - 1], &depths[l]);
        fit_planes(context, frame, l, &depths[l]);
    }
    if (!pc_cpu_depth_measure(context, frame)) {
        pc_cpu_depth_free(context, frame);
        return pc_fail_memory(context, 0, "the measure of a frame");
    }
    return PCGPU_OK;
}

/* The memory is kept for the next frame; the smallest spare goes when there are too many. */
void pc_cpu_depth_free(pcgpu_context *context, struct pc_depth_frame *frame) {
    pc_cpu_depth_state *s = context->cpu_depth;
    pc_buffer last = {frame->maps, frame->maps ? frame->bytes : 0};
    for (int i = 0; i < PC_DEPTH_SPARES && s; i++) {
        if (s->spare[i].bytes < last.bytes) {
            const pc_buffer smaller = s->spare[i];
            s->spare[i] = last;
            last = smaller;
        }
    }
    free(last.memory);
    frame->maps = NULL;
}
