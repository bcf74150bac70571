/* bench_verdict: shapes on uneven ground, and rays that meet them. */
#include "verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool verdict_world_open(verdict_world *world, const double low[2], const double high[2], double cell) {
    *world = (verdict_world){.low = {low[0], low[1]}, .high = {high[0], high[1]}, .cell = cell};
    world->columns = (int)ceil(high[0] - low[0]) + 2;
    world->rows = (int)ceil(high[1] - low[1]) + 2;
    world->nx = (int)ceil((high[0] - low[0]) / cell);
    world->ny = (int)ceil((high[1] - low[1]) / cell);
    world->heights = calloc((size_t)world->columns * (size_t)world->rows, sizeof *world->heights);
    world->begin = malloc(((size_t)world->nx * (size_t)world->ny + 1) * sizeof *world->begin);
    return world->heights && world->begin;
}

void verdict_world_close(verdict_world *world) {
    free(world->shapes);
    free(world->heights);
    free(world->begin);
    free(world->lists);
    *world = (verdict_world){0};
}

/* One wave, as a product of sines so that a metre of ground costs no call. */
static void add_wave(verdict_world *w, test_random *random, double amplitude, double length) {
    double angle = scene_between(random, 0.0, 6.2832), phase = scene_between(random, 0.0, 6.2832), k = 6.2832 / length;
    double *cx = malloc((size_t)(2 * w->columns) * sizeof *cx), kx = k * cos(angle), ky = k * sin(angle);
    for (int i = 0; cx && i < w->columns; i++) {
        cx[2 * i] = cos(kx * (w->low[0] + i) + phase);
        cx[2 * i + 1] = sin(kx * (w->low[0] + i) + phase);
    }
    for (int j = 0; cx && j < w->rows; j++) {
        double c = cos(ky * (w->low[1] + j)), s = sin(ky * (w->low[1] + j));
        for (int i = 0; i < w->columns; i++) {
            w->heights[(size_t)j * w->columns + i] += (float)(amplitude * (cx[2 * i + 1] * c + cx[2 * i] * s));
        }
    }
    w->failed = w->failed || !cx;
    free(cx);
}

void verdict_ground(verdict_world *w, test_random *random, const double slope[2], double wide, double narrow) {
    for (int j = 0; j < w->rows; j++) {
        for (int i = 0; i < w->columns; i++) {
            w->heights[(size_t)j * w->columns + i] = (float)(slope[0] * (w->low[0] + i) + slope[1] * (w->low[1] + j));
        }
    }
    for (int i = 0; i < 3; i++) {
        if (wide > 0.0) {
            add_wave(w, random, wide * scene_between(random, 0.3, 1.0), scene_between(random, 30.0, 90.0));
        }
        if (narrow > 0.0) {
            add_wave(w, random, narrow * scene_between(random, 0.3, 1.0), scene_between(random, 4.0, 12.0));
        }
    }
    w->lowest = w->highest = w->heights[0];
    for (int i = 0; i < w->columns * w->rows; i++) {
        w->lowest = w->heights[i] < w->lowest ? w->heights[i] : w->lowest;
        w->highest = w->heights[i] > w->highest ? w->heights[i] : w->highest;
    }
}

double verdict_height(const verdict_world *w, double x, double y) {
    double u = x - w->low[0], v = y - w->low[1];
    int i = (int)u, j = (int)v;
    i = i < 0 ? 0 : i > w->columns - 2 ? w->columns - 2 : i;
    j = j < 0 ? 0 : j > w->rows - 2 ? w->rows - 2 : j;
    u -= i;
    v -= j;
    const float *h = w->heights + (size_t)j * w->columns + i;
    return (h[0] * (1 - u) + h[1] * u) * (1 - v) + (h[w->columns] * (1 - u) + h[w->columns + 1] * u) * v;
}

verdict_shape *verdict_add(verdict_world *world, scene_kind kind, scene_material material, const double center[3],
                           const double size[3], double degrees) {
    static verdict_shape nowhere; /* for callers that set a speed */
    if (world->count == world->capacity) {
        int capacity = world->capacity ? 2 * world->capacity : 1024;
        verdict_shape *shapes = realloc(world->shapes, (size_t)capacity * sizeof *shapes);
        if (!shapes) {
            world->failed = true;
            return &nowhere;
        }
        world->shapes = shapes;
        world->capacity = capacity;
    }
    verdict_shape *s = &world->shapes[world->count++];
    *s = (verdict_shape){.shape = {.kind = kind,
                                   .material = material,
                                   .center = {center[0], center[1], center[2]},
                                   .size = {size[0], size[1], size[2]}}};
    s->shape.cosine = cos(degrees * 0.017453292519943295);
    s->shape.sine = sin(degrees * 0.017453292519943295);
    return s;
}

/* ---- the grid ---- */

/* Half the extents along the axes of the world. */
static void extents(const scene_shape *s, double half[2]) {
    double c = fabs(s->cosine), n = fabs(s->sine), wide = s->kind == SCENE_BOX ? s->size[1] : s->size[0];
    half[0] = s->kind == SCENE_BOX ? c * s->size[0] + n * wide : s->size[0];
    half[1] = s->kind == SCENE_BOX ? n * s->size[0] + c * wide : s->size[0];
}

/* Whether a shape may reach into a cell with this middle. */
static bool reaches(const scene_shape *s, double x, double y, double cell) {
    if (s->kind != SCENE_BOX) {
        return true;
    }
    double u = fabs(s->cosine * (x - s->center[0]) + s->sine * (y - s->center[1]));
    double v = fabs(s->cosine * (y - s->center[1]) - s->sine * (x - s->center[0]));
    double margin = 0.5 * cell * (fabs(s->cosine) + fabs(s->sine)) + 1e-6;
    return u <= s->size[0] + margin && v <= s->size[1] + margin;
}

static int clamp(double value, int most) {
    return value < 0.0 ? 0 : value > most ? most : (int)value;
}

/* Counts (fill false) or writes the entries of the lists. */
static void visit(verdict_world *w, int index, bool fill, int *counts) {
    const scene_shape *s = &w->shapes[index].shape;
    double half[2], x = s->center[0] - w->low[0], y = s->center[1] - w->low[1];
    extents(s, half);
    if (x + half[0] < 0 || y + half[1] < 0 || x - half[0] > w->nx * w->cell || y - half[1] > w->ny * w->cell) {
        return;
    }
    int i0 = clamp((x - half[0]) / w->cell, w->nx - 1), i1 = clamp((x + half[0]) / w->cell, w->nx - 1);
    int j0 = clamp((y - half[1]) / w->cell, w->ny - 1), j1 = clamp((y + half[1]) / w->cell, w->ny - 1);
    for (int j = j0; j <= j1; j++) {
        for (int i = i0; i <= i1; i++) {
            if (reaches(s, w->low[0] + (i + 0.5) * w->cell, w->low[1] + (j + 0.5) * w->cell, w->cell)) {
                int *count = &counts[j * w->nx + i];
                if (fill) {
                    w->lists[*count] = index;
                }
                (*count)++;
            }
        }
    }
}

bool verdict_world_sort(verdict_world *w, double seconds) {
    const int cells = w->nx * w->ny;
    int *counts = calloc((size_t)cells, sizeof *counts);
    w->ceiling = w->highest;
    for (int i = 0; counts && i < w->count; i++) {
        verdict_shape *s = &w->shapes[i];
        for (int k = 0; k < 2; k++) {
            s->shape.center[k] += seconds * s->speed[k];
        }
        w->ceiling = fmax(w->ceiling, s->shape.center[2] + s->shape.size[2]);
        visit(w, i, false, counts);
    }
    int sum = 0;
    for (int i = 0; counts && i < cells; i++) {
        w->begin[i] = sum;
        sum += counts[i];
        counts[i] = w->begin[i];
    }
    w->begin[cells] = sum;
    free(w->lists);
    w->lists = malloc(((size_t)sum + 1) * sizeof *w->lists);
    for (int i = 0; counts && w->lists && i < w->count; i++) {
        visit(w, i, true, counts);
    }
    bool good = counts && w->lists && !w->failed;
    free(counts);
    return good;
}

/* ---- rays ---- */

/* Steps of half a metre between the heights that the ground has, then bisection. */
static bool meet_ground(const verdict_world *w, const scene_ray *r, double range, scene_hit *hit) {
    if (w->bare || r->direction[2] >= -1e-6) {
        return false;
    }
    double t = (w->highest + 1e-3 - r->origin[2]) / r->direction[2], last, above = 0.0;
    t = t < 0.0 ? 0.0 : t;
    double end = fmin(range, (w->lowest - 1e-3 - r->origin[2]) / r->direction[2]), step = fmin(0.5, end - t);
    for (last = t; t <= end + 0.5; last = t, t += step) {
        double x = r->origin[0] + t * r->direction[0], y = r->origin[1] + t * r->direction[1];
        double over = r->origin[2] + t * r->direction[2] - verdict_height(w, x, y);
        if (x < w->low[0] || y < w->low[1] || x > w->high[0] || y > w->high[1] || step <= 0.0) {
            return false;
        }
        if (over <= 0.0) {
            double far = t;
            t = last + (far - last) * above / (above - over);
            for (int i = 0; i < 4 && far > last; i++) {
                x = r->origin[0] + t * r->direction[0], y = r->origin[1] + t * r->direction[1];
                double at = r->origin[2] + t * r->direction[2] - verdict_height(w, x, y);
                if (at > 0.0) {
                    last = t;
                    above = at;
                } else {
                    far = t;
                    over = at;
                }
                t = last + (far - last) * (above - over > 0.0 ? above / (above - over) : 0.5);
            }
            *hit = (scene_hit){.distance = t, .incidence = -r->direction[2], .material = SCENE_ASPHALT};
            return t <= range;
        }
        above = over;
    }
    return false;
}

/* Windows of a facade: 1.2 m wide every 2.6 m, 1.5 m high every 3.1 m, set back by 0.12 m, and glass. */
static void look_at_facade(scene_hit *h) {
    double u = h->along / 2.6, v = h->height / 3.1;
    u -= floor(u);
    v -= floor(v);
    if (h->side && u >= 0.27 && u <= 0.73 && v >= 0.30 && v <= 0.78 && h->incidence > 0.2) {
        h->material = SCENE_GLASS;
        h->distance += 0.12 / h->incidence;
    }
}

bool verdict_cast(const verdict_world *w, const scene_ray *r, double range, scene_hit *nearest) {
    *nearest = (scene_hit){.distance = range};
    bool found = meet_ground(w, r, range, nearest);
    double t = 0.0, next[2], step[2];
    int at[2], direction[2];
    for (int k = 0; k < 2; k++) {
        double p = (r->origin[k] - w->low[k]) / w->cell, d = r->direction[k] / w->cell;
        at[k] = (int)floor(p);
        direction[k] = d > 0.0 ? 1 : -1;
        step[k] = fabs(d) > 1e-12 ? fabs(1.0 / d) : 1e30;
        next[k] = fabs(d) > 1e-12 ? (d > 0.0 ? at[k] + 1 - p : p - at[k]) * step[k] : 1e30;
    }
    while (at[0] >= 0 && at[1] >= 0 && at[0] < w->nx && at[1] < w->ny && t <= nearest->distance &&
           !(r->direction[2] > 0.0 && r->origin[2] + t * r->direction[2] > w->ceiling)) {
        int cell = at[1] * w->nx + at[0];
        for (int i = w->begin[cell]; i < w->begin[cell + 1]; i++) {
            scene_hit h;
            if (scene_meets(&w->shapes[w->lists[i]].shape, r, &h) && h.distance > 0.0 &&
                h.distance < nearest->distance) {
                *nearest = h;
                found = true;
            }
        }
        int k = next[0] < next[1] ? 0 : 1;
        t = next[k];
        next[k] += step[k];
        at[k] += direction[k];
    }
    if (found && nearest->material == SCENE_PLASTER) {
        look_at_facade(nearest);
    }
    return found;
}
