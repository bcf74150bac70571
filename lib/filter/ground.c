/* The ground of a cloud: a grid with the lowest point of each cell; the cells that are ground, by a progressive
 * morphological filter (Zhang 2003, Pingel 2013), which keeps hills; and the points that are not far above such cells.
 * Time is proportional to points and cells; there are at most some cells per point. */
#include "backend.h"

#include <stdlib.h>

enum { RECORDS_PER_PART = 8192, ROWS_PER_PART = 16, SAMPLE = 1024, FREE_CELLS = 1 << 20, CELLS_PER_POINT = 4 };
enum { AROUND = 4 }; /* cells around the foot of something from which the plane of the ground is taken */

static const double most_window = 18.0; /* metres on each side of a cell */

typedef struct ground_grid {
    const pcgpu_cloud *cloud;
    uint8_t *ground; /* records: 1 takes part, or is ground */
    bool sensor;     /* the cloud is a scan from the origin of its file; else a tile */
    float slope, tolerance;
    double low[2], cell; /* metres, without the offset of the cloud */
    int64_t wide, deep;
    int32_t *cell_of; /* records: the cell, -1: none */
    float *height;    /* cells: the lowest point that others support; infinity: none, or not ground */
    float *second, *eroded, *opened, *other; /* cells, for what a step needs */
    uint8_t *foot;                           /* cells: 1 at the foot of something; 0 at first */
} ground_grid;

/* ---- the grid ---------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The box of the records that take part, and their number; `trim`: by a sample, without one in 200 on each side, and
 * half of its size around. */
static int64_t find_box(const ground_grid *g, bool trim, double low[2], double high[2]) {
    const pcgpu_cloud *cloud = g->cloud;
    const int64_t every = trim ? cloud->rows / SAMPLE + 1 : 1;
    float sample[2][SAMPLE];
    int64_t count = 0;
    for (int k = 0; k < 2; k++) {
        low[k] = INFINITY;
        high[k] = -INFINITY;
    }
    for (int64_t i = 0; i < cloud->rows; i += every) {
        const float *p = cloud->data + i * cloud->columns;
        for (int k = 0; g->ground[i] && k < 2; k++) {
            low[k] = (double)p[k] < low[k] ? (double)p[k] : low[k];
            high[k] = (double)p[k] > high[k] ? (double)p[k] : high[k];
            if (trim) {
                sample[k][count] = p[k];
            }
        }
        count += g->ground[i];
    }
    for (int k = 0; trim && count > 0 && k < 2; k++) {
        qsort(sample[k], (size_t)count, sizeof **sample, compare);
        const double first = (double)sample[k][count / 200], last = (double)sample[k][count - 1 - count / 200];
        low[k] = fmax(low[k], first - (last - first) / 2.0);
        high[k] = fmin(high[k], last + (last - first) / 2.0);
    }
    return count;
}

/* Whether the cloud is a scan from the origin of its file: most points are near it, or it is in a room. */
static bool has_sensor(const ground_grid *g, const double low[2], const double high[2]) {
    const pcgpu_cloud *cloud = g->cloud;
    const double x = -cloud->offset[0], y = -cloud->offset[1], beside = 10.0, room = 40.0;
    float ranges[SAMPLE];
    int64_t count = 0;
    if (x < low[0] - beside || x > high[0] + beside || y < low[1] - beside || y > high[1] + beside) {
        return false;
    }
    for (int64_t i = 0; i < cloud->rows; i += cloud->rows / SAMPLE + 1) {
        const float *p = cloud->data + i * cloud->columns;
        if (g->ground[i]) {
            const double dx = (double)p[0] - x, dy = (double)p[1] - y;
            ranges[count++] = (float)sqrt(dx * dx + dy * dy);
        }
    }
    qsort(ranges, (size_t)count, sizeof *ranges, compare);
    return fmax(high[0] - low[0], high[1] - low[1]) < room ||
           (count > 0 && ranges[count / 2] < 0.4f * ranges[count - 1 - count / 100]);
}

/* Chooses the cells: as large as the distance between points; larger if they were too many. */
static void lay_grid(ground_grid *g, float cell_size, int64_t count) {
    double high[2], low[2], top[2];
    find_box(g, false, g->low, high);
    if (find_box(g, true, low, top) == 0) { /* the sample missed the few records that take part */
        memcpy(low, g->low, sizeof low);
        memcpy(top, high, sizeof top);
    }
    g->sensor = has_sensor(g, low, top);
    const double spacing = sqrt((top[0] - low[0]) * (top[1] - low[1]) / (double)count);
    g->cell = g->sensor ? 0.75 : fmin(fmax(1.2 * spacing, 0.5), 4.0);
    g->cell = cell_size > 0.0f ? (double)cell_size : g->cell;
    const double most = fmin((double)FREE_CELLS + (double)CELLS_PER_POINT * (double)g->cloud->rows, 1e9);
    for (bool trimmed = false;; g->cell *= trimmed ? 2.0 : 1.0, trimmed = true) {
        const double wide = floor((high[0] - g->low[0]) / g->cell) + 1.0;
        const double deep = floor((high[1] - g->low[1]) / g->cell) + 1.0;
        if (wide * deep <= most && wide + deep <= most) {
            g->wide = (int64_t)wide;
            g->deep = (int64_t)deep;
            return;
        }
        memcpy(g->low, low, sizeof low);
        memcpy(high, top, sizeof top);
    }
}

static void find_finite(void *state, int64_t begin, int64_t end) {
    const ground_grid *g = state;
    for (int64_t i = begin; i < end; i++) {
        const float *p = g->cloud->data + i * g->cloud->columns;
        g->ground[i] = g->ground[i] && pc_is_finite3(p[0], p[1], p[2]);
    }
}

static void find_cells(void *state, int64_t begin, int64_t end) {
    const ground_grid *g = state;
    const double scale = 1.0 / g->cell;
    for (int64_t i = begin; i < end; i++) {
        const float *p = g->cloud->data + i * g->cloud->columns;
        const double x = ((double)p[0] - g->low[0]) * scale, y = ((double)p[1] - g->low[1]) * scale;
        const bool in = g->ground[i] && x >= 0.0 && y >= 0.0 && x < (double)g->wide && y < (double)g->deep;
        g->cell_of[i] = in ? (int32_t)((int64_t)y * g->wide + (int64_t)x) : -1;
    }
}

/* The lowest point of each cell, and the next one. */
static void find_heights(ground_grid *g) {
    for (int64_t c = 0; c < g->wide * g->deep; c++) {
        g->height[c] = g->second[c] = INFINITY;
    }
    for (int64_t i = 0; i < g->cloud->rows; i++) {
        const int32_t c = g->cell_of[i];
        const float z = g->cloud->data[i * g->cloud->columns + 2];
        if (c >= 0 && z < g->second[c]) {
            g->second[c] = z < g->height[c] ? g->height[c] : z;
            g->height[c] = z < g->height[c] ? z : g->height[c];
        }
    }
}

/* A lowest point below the next one and most cells around is a reflection: the next one takes its place. */
static void drop_low(ground_grid *g) {
    for (int64_t c = 0; c < g->wide * g->deep; c++) {
        const int64_t x = c % g->wide, y = c / g->wide;
        const float limit = g->height[c] + g->tolerance;
        int around = 0, above = 0;
        if (!(g->second[c] > limit)) {
            continue;
        }
        for (int64_t v = y > 1 ? y - 2 : 0; v <= y + 2 && v < g->deep; v++) {
            for (int64_t u = x > 1 ? x - 2 : 0; u <= x + 2 && u < g->wide; u++) {
                const float z = g->height[v * g->wide + u];
                around += isfinite(z);
                above += isfinite(z) && z > limit;
            }
        }
        if (around > 3 && 4 * above >= 3 * (around - 1)) {
            g->height[c] = g->second[c];
        }
    }
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

typedef struct spreading {
    const float *from;
    float *to;
    int64_t wide, deep, step;
    bool down; /* from row to row, else within rows */
} spreading;

/* The least of each cell and those `step` before and after it. */
static void spread_rows(void *state, int64_t begin, int64_t end) {
    const spreading *s = state;
    const int64_t shift = s->down ? s->step * s->wide : s->step;
    for (int64_t y = begin; y < end; y++) {
        const bool above = !s->down || y >= s->step, below = !s->down || y + s->step < s->deep;
        const float *from = s->from + y * s->wide;
        float *to = s->to + y * s->wide;
        for (int64_t x = 0; x < s->wide; x++) {
            float z = from[x];
            const float before = above && (s->down || x >= s->step) ? from[x - shift] : z;
            const float after = below && (s->down || x + s->step < s->wide) ? from[x + shift] : z;
            z = before < z ? before : z;
            to[x] = after < z ? after : z;
        }
    }
}

/* The least of the square window of `radius` cells around each, in passes that triple the window. */
static void spread_least(pcgpu_context *context, const ground_grid *g, float *field, int64_t radius) {
    spreading s = {.wide = g->wide, .deep = g->deep};
    for (int64_t done = 0; done < radius; done += s.step) {
        s.step = radius - done < 2 * done + 1 ? radius - done : 2 * done + 1;
        s.from = field, s.to = g->other, s.down = false;
        pc_run_ranges(context, g->deep, 32, spread_rows, &s);
        s.from = g->other, s.to = field, s.down = true;
        pc_run_ranges(context, g->deep, 32, spread_rows, &s);
    }
}

/* Whether two cells beside it are about as high. */
static bool is_supported(const ground_grid *g, int64_t x, int64_t y) {
    const float z = g->height[y * g->wide + x], rise = g->tolerance + (float)g->cell * g->slope;
    int count = -1; /* itself */
    for (int64_t v = y > 0 ? y - 1 : 0; v <= y + 1 && v < g->deep; v++) {
        for (int64_t u = x > 0 ? x - 1 : 0; u <= x + 1 && u < g->wide; u++) {
            count += fabsf(g->height[v * g->wide + u] - z) <= rise;
        }
    }
    return count >= 2;
}

/* A cell is not ground if the opening by a window lowers it, since the window before, by more than the slope over that
 * window; and if it has no support and the opening is above it, as reflections seem to come from below. */
static void open_cells(pcgpu_context *context, ground_grid *g) {
    const int64_t cells = g->wide * g->deep, most = (int64_t)(most_window / g->cell) + 1;
    float *before = g->second;
    memcpy(before, g->height, (size_t)cells * sizeof *before);
    for (int64_t c = 0; c < cells; c++) {
        g->foot[c] = isfinite(g->height[c]) && !is_supported(g, c % g->wide, c / g->wide);
        g->eroded[c] = g->foot[c] && g->sensor ? INFINITY : g->height[c];
    }
    for (int64_t w = 1; w <= most; w++) {
        const float limit = 0.4f * g->tolerance + g->slope * (float)w * (float)g->cell;
        spread_least(context, g, g->eroded, 1);
        for (int64_t c = 0; c < cells; c++) {
            g->opened[c] = isfinite(g->eroded[c]) ? -g->eroded[c] : INFINITY;
        }
        spread_least(context, g, g->opened, w);
        for (int64_t c = 0; c < cells; c++) {
            if (isfinite(g->opened[c])) {
                const float fall = before[c] + g->opened[c];
                g->height[c] = fall > limit || (g->foot[c] && fall < -limit) ? INFINITY : g->height[c];
                before[c] = -g->opened[c];
            }
        }
    }
    memset(g->foot, 0, (size_t)cells);
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

/* Marks the cells with points just above the ground: the feet of walls, of cars and of trees. */
static void find_feet(ground_grid *g) {
    for (int64_t i = 0; i < g->cloud->rows; i++) {
        const int32_t c = g->cell_of[i];
        if (c >= 0) {
            const float above = g->cloud->data[i * g->cloud->columns + 2] - g->height[c];
            g->foot[c] |= above > 2.0f * g->tolerance && above < 2.0f;
        }
    }
}

/* The height at the cell of the plane through the cells around it that have only ground, above its own height, by least
 * squares with a pull to the horizontal; 0 if they are few. */
static double plane_at(const ground_grid *g, int64_t x, int64_t y) {
    const float here = g->height[y * g->wide + x];
    double n = 0.0, sx = 0.0, sy = 0.0, sz = 0.0, xx = 1.0, xy = 0.0, yy = 1.0, xz = 0.0, yz = 0.0;
    for (int64_t v = y > AROUND ? y - AROUND : 0; v <= y + AROUND && v < g->deep; v++) {
        for (int64_t u = x > AROUND ? x - AROUND : 0; u <= x + AROUND && u < g->wide; u++) {
            const int64_t c = v * g->wide + u;
            if (!g->foot[c] && isfinite(g->height[c])) {
                const double dx = (double)(u - x), dy = (double)(v - y), dz = (double)(g->height[c] - here);
                n += 1.0, sx += dx, sy += dy, sz += dz;
                xx += dx * dx, xy += dx * dy, yy += dy * dy, xz += dx * dz, yz += dy * dz;
            }
        }
    }
    if (n < 4.0) {
        return 0.0;
    }
    xx -= sx * sx / n, xy -= sx * sy / n, yy -= sy * sy / n, xz -= sx * sz / n, yz -= sy * sz / n;
    const double scale = xx * yy - xy * xy, along = (xz * yy - yz * xy) / scale, across = (yz * xx - xz * xy) / scale;
    return (sz - along * sx - across * sy) / n;
}

/* In a cell at the foot of something, the lowest point may be on it: the height is at most that of the plane. */
static void lower_feet(void *state, int64_t begin, int64_t end) {
    const ground_grid *g = state;
    for (int64_t c = begin * g->wide; c < end * g->wide; c++) {
        const double plane = g->foot[c] && isfinite(g->height[c]) ? plane_at(g, c % g->wide, c / g->wide) : 0.0;
        g->second[c] = g->height[c] + (plane < 0.0 ? (float)plane : 0.0f);
    }
}

/* The difference of heights from cell to cell in one direction: the smaller one, 0 if they differ in sign. */
static float difference(const ground_grid *g, int64_t c, bool before, bool after, int64_t step) {
    const float here = g->height[c];
    const float a = before && isfinite(g->height[c - step]) ? here - g->height[c - step] : 0.0f;
    const float b = after && isfinite(g->height[c + step]) ? g->height[c + step] - here : 0.0f;
    return a * b > 0.0f ? fminf(fabsf(a), fabsf(b)) : 0.0f;
}

/* The highest ground of each cell: above its height by the tolerance and its slope. In a scan, points that thin out
 * within twice the tolerance are rough ground. */
static void find_tops(void *state, int64_t begin, int64_t end) {
    const ground_grid *g = state;
    for (int64_t y = begin; y < end; y++) {
        for (int64_t x = 0; x < g->wide; x++) {
            const int64_t c = y * g->wide + x;
            const float rise =
                difference(g, c, x > 0, x + 1 < g->wide, 1) + difference(g, c, y > 0, y + 1 < g->deep, g->wide);
            const float thickness = g->foot[c] || !g->sensor ? g->tolerance : 2.0f * g->tolerance;
            g->opened[c] = g->height[c] + (thickness + fminf(rise, (float)g->cell * g->slope));
        }
    }
}

static void choose_records(void *state, int64_t begin, int64_t end) {
    const ground_grid *g = state;
    for (int64_t i = begin; i < end; i++) {
        const int32_t c = g->cell_of[i];
        const float z = g->cloud->data[i * g->cloud->columns + 2];
        g->ground[i] = c >= 0 && z >= g->height[c] - g->tolerance && z <= g->opened[c];
    }
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

void pcgpu_ground_params_init_sized(pcgpu_ground_params *params, size_t struct_size) {
    const pcgpu_ground_params initial = {.slope = 0.2f};
    pc_struct_init(params, struct_size, &initial, sizeof initial);
}

static pcgpu_status check_params(pcgpu_context *context, const pcgpu_ground_params *p) {
    PC_TRY(pc_struct_check(context, "pcgpu_ground_params", p->struct_size, sizeof *p));
    if (!pc_in_range((double)p->slope, (double)0.01f, 10.0)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "a slope of %g; give 0.01 to 10", (double)p->slope);
    }
    if (p->cell_size != 0.0f && !pc_in_range((double)p->cell_size, 0.1, 1000.0)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "cells of %g m; give 0.1 to 1000, or 0", (double)p->cell_size);
    }
    if (p->tolerance != 0.0f && !pc_in_range((double)p->tolerance, 0.001, 100.0)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "a tolerance of %g m; give 0.001 to 100, or 0",
                       (double)p->tolerance);
    }
    return PCGPU_OK;
}

static void find_ground(pcgpu_context *context, ground_grid *g) {
    const int64_t rows = g->cloud->rows;
    pc_run_ranges(context, rows, RECORDS_PER_PART, find_cells, g);
    find_heights(g);
    drop_low(g);
    open_cells(context, g);
    find_feet(g);
    pc_run_ranges(context, g->deep, ROWS_PER_PART, lower_feet, g);
    float *lowered = g->second;
    g->second = g->height;
    g->height = lowered;
    pc_run_ranges(context, g->deep, ROWS_PER_PART, find_tops, g);
    pc_run_ranges(context, rows, RECORDS_PER_PART, choose_records, g);
}

pcgpu_status pcgpu_find_ground(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_ground_params *params,
                               uint8_t *ground, pcgpu_run *run) {
    ground_grid g = {.cloud = cloud, .ground = ground, .slope = params->slope, .tolerance = params->tolerance};
    pcgpu_run own = {.backend = "cpu", .reason = "it runs on the CPU alone", .threads = context->threads};
    int64_t count = 0;
    double begin = pc_now();
    PC_TRY(check_params(context, params));
    snprintf(own.device, sizeof own.device, "%s", context->cpu_name);
    pc_run_ranges(context, cloud->rows, RECORDS_PER_PART, find_finite, &g);
    for (int64_t i = 0; i < cloud->rows; i++) {
        count += ground[i];
    }
    if (count > 0) {
        lay_grid(&g, params->cell_size, count);
        g.tolerance = g.tolerance > 0.0f ? g.tolerance : g.sensor ? 0.1f : 0.5f;
        const size_t cells = (size_t)(g.wide * g.deep), rows = (size_t)cloud->rows;
        const size_t bytes = cells * (5 * sizeof(float) + 1) + rows * sizeof(int32_t);
        float *memory = malloc(bytes);
        if (!memory) {
            return pc_fail_memory(context, bytes, "the grid of the ground");
        }
        g.height = memory;
        g.second = memory + cells;
        g.eroded = memory + 2 * cells;
        g.opened = memory + 3 * cells;
        g.other = memory + 4 * cells;
        g.cell_of = (int32_t *)(void *)(memory + 5 * cells);
        g.foot = (uint8_t *)(g.cell_of + rows);
        memset(g.foot, 0, cells);
        find_ground(context, &g);
        free(memory);
    }
    own.points_in = cloud->rows;
    pc_stage(&own, "ground", begin);
    if (run) {
        *run = own;
    }
    return PCGPU_OK;
}
