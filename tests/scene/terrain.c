/* The ground of a town, and where a ray meets it. */
#include "terrain.h"

#include "pieces.h"

#include <math.h>
#include <stdlib.h>

#define AROUND 120.0 /* metres of ground around the path: more than the LiDAR's range */
#define GARDEN 13.5  /* metres from the middle of the road: here the paving ends */

/* ---- grids ------------------------------------------------------------------------------------------------------ */

static void clamp_node(double at, int nodes, int *node, double *share) {
    at = at < 0.0 ? 0.0 : at > nodes - 1.001 ? nodes - 1.001 : at;
    *node = (int)at;
    *share = at - *node;
}

double terrain_height(const terrain *t, double x, double y) {
    int i, j;
    double u, v;
    clamp_node((x - t->low[0]) / TERRAIN_CELL, t->wide, &i, &u);
    clamp_node((y - t->low[1]) / TERRAIN_CELL, t->deep, &j, &v);
    const double *a = t->heights + (size_t)j * (size_t)t->wide + (size_t)i, *b = a + t->wide;
    return (1.0 - v) * ((1.0 - u) * a[0] + u * a[1]) + v * ((1.0 - u) * b[0] + u * b[1]);
}

double terrain_off_road(const terrain *t, double x, double y) {
    int i, j;
    double u, v;
    clamp_node(x - t->low[0], t->columns, &i, &u);
    clamp_node(y - t->low[1], t->rows, &j, &v);
    const float *a = t->off + (size_t)j * (size_t)t->columns + (size_t)i, *b = a + t->columns;
    return (1.0 - v) * ((1.0 - u) * (double)a[0] + u * (double)a[1]) +
           v * ((1.0 - u) * (double)b[0] + u * (double)b[1]);
}

/* Heights of the path around, with weights 1 / (distance^2 + 12^2)^2: one height where two passes of the real path
 * differ by a metre, as they do. */
static void find_heights(terrain *t, const drive_path *p) {
    for (int j = 0; j < t->deep; j++) {
        for (int i = 0; i < t->wide; i++) {
            double x = t->low[0] + TERRAIN_CELL * i, y = t->low[1] + TERRAIN_CELL * j, all = 0.0, sum = 0.0;
            for (int k = 0; k < p->places; k += 3) {
                const path_place *at = &p->place[k];
                double w = 1.0 / ((at->x - x) * (at->x - x) + (at->y - y) * (at->y - y) + 144.0);
                all += w * w;
                sum += w * w * at->z;
            }
            t->heights[(size_t)j * (size_t)t->wide + (size_t)i] = sum / all - SCENE_SENSOR_HEIGHT;
        }
    }
    for (int j = 0; j + 1 < t->deep; j++) {
        for (int i = 0; i + 1 < t->wide; i++) {
            const double *a = t->heights + (size_t)j * (size_t)t->wide + (size_t)i;
            double x = a[1] - a[0], y = a[t->wide] - a[0], other = a[t->wide + 1] - a[t->wide];
            x = fabs(x) > fabs(other) ? x : other;
            other = a[t->wide + 1] - a[1];
            y = fabs(y) > fabs(other) ? y : other;
            double slope = sqrt(x * x + y * y) / TERRAIN_CELL;
            t->slope = slope > t->slope ? slope : t->slope;
        }
    }
}

static void find_roads(terrain *t, const drive_path *p, double left) {
    for (size_t i = 0; i < (size_t)t->columns * (size_t)t->rows; i++) {
        t->off[i] = (float)TERRAIN_OFF;
    }
    for (int k = 0; k < p->places; k++) {
        const path_place *at = &p->place[k];
        double x = at->x - left * at->sine - t->low[0], y = at->y + left * at->cosine - t->low[1];
        for (int j = (int)(y - TERRAIN_OFF); j < y + TERRAIN_OFF; j++) {
            for (int i = (int)(x - TERRAIN_OFF); i < x + TERRAIN_OFF; i++) {
                float *off = t->off + (size_t)j * (size_t)t->columns + (size_t)i;
                float distance = (float)sqrt((i - x) * (i - x) + (j - y) * (j - y));
                *off = distance < *off ? distance : *off;
            }
        }
    }
}

bool terrain_make(terrain *t, const drive_path *p, double left) {
    double high[2] = {p->place[0].x, p->place[0].y};
    *t = (terrain){.low = {high[0], high[1]}};
    for (int k = 0; k < p->places; k++) {
        const double at[2] = {p->place[k].x, p->place[k].y};
        for (int i = 0; i < 2; i++) {
            t->low[i] = at[i] < t->low[i] ? at[i] : t->low[i];
            high[i] = at[i] > high[i] ? at[i] : high[i];
        }
    }
    for (int i = 0; i < 2; i++) {
        t->low[i] = floor(t->low[i] - AROUND);
        high[i] += AROUND;
    }
    if (high[0] - t->low[0] > 2e4 || high[1] - t->low[1] > 2e4) {
        return false;
    }
    t->wide = (int)((high[0] - t->low[0]) / TERRAIN_CELL) + 2;
    t->deep = (int)((high[1] - t->low[1]) / TERRAIN_CELL) + 2;
    t->columns = (int)(high[0] - t->low[0]) + 2;
    t->rows = (int)(high[1] - t->low[1]) + 2;
    t->heights = malloc((size_t)t->wide * (size_t)t->deep * sizeof *t->heights);
    t->off = malloc((size_t)t->columns * (size_t)t->rows * sizeof *t->off);
    if (!t->heights || !t->off) {
        return false;
    }
    find_heights(t, p);
    find_roads(t, p, left);
    return true;
}

void terrain_free(terrain *t) {
    free(t->heights);
    free(t->off);
}

/* ---- rays ------------------------------------------------------------------------------------------------------- */

static double height_above(const terrain *t, const scene_ray *r, double along) {
    return r->origin[2] + along * r->direction[2] -
           terrain_height(t, r->origin[0] + along * r->direction[0], r->origin[1] + along * r->direction[1]);
}

static double off_road_at(const terrain *t, const scene_ray *r, double along) {
    return terrain_off_road(t, r->origin[0] + along * r->direction[0], r->origin[1] + along * r->direction[1]);
}

/* Where the ray comes down to so much above the road, by steps that cannot be too long: no place is steeper than the
 * slope. Returns `limit` when it does not before. */
static double come_down(const terrain *t, const scene_ray *r, double above, double from, double limit) {
    double level = sqrt(r->direction[0] * r->direction[0] + r->direction[1] * r->direction[1]);
    double fastest = t->slope * level - r->direction[2], along = from;
    if (fastest <= 1e-6) {
        return limit;
    }
    for (int i = 0; i < 64 && along < limit; i++) {
        double high = height_above(t, r, along) - above;
        if (high < 0.0005) {
            return along;
        }
        along += (high + 0.0001) / fastest;
    }
    return along < limit ? along : limit;
}

bool terrain_meets(const terrain *t, const scene_ray *r, double after, scene_hit *hit) {
    const double limit = hit->distance;
    double along = come_down(t, r, PAVING_H, after, limit), incidence = fabs(r->direction[2]);
    if (along >= limit) {
        return false;
    }
    double off = off_road_at(t, r, along);
    scene_material material = off < GARDEN ? SCENE_PAVING : SCENE_GRASS;
    if (off < KERB_V) { /* above the road: down to it, or to the side of the kerb before that */
        double top = along;
        along = come_down(t, r, 0.0, top, limit);
        material = SCENE_ASPHALT;
        if (off_road_at(t, r, along) >= KERB_V) {
            double beneath = along;
            for (int i = 0; i < 12; i++) {
                along = (top + beneath) / 2.0;
                *(off_road_at(t, r, along) < KERB_V ? &top : &beneath) = along;
            }
            material = SCENE_PAVING;
            incidence = 0.7;
        }
    }
    if (along >= limit) {
        return false;
    }
    *hit = (scene_hit){.distance = along, .incidence = incidence, .material = material};
    return true;
}
