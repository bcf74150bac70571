/* Odometry: a map as it is searched for the place of a scan (odometry_places_search.c): a picture from above, and some
 * of its points. */
#include "odometry_places.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_CELLS = 1 << 24, /* of the map; more make them wider */
    NEAR_GROUND = 3,      /* cells around a place whose ground is its ground */
    SAMPLE_CELLS = 8,     /* cells a side of a tile of sampled points */
    SAMPLES = 8,          /* points that are sampled, to a cell that has some */
    NEAR_TILES = 1,       /* tiles around that of a place whose points are near it */
};

/* ---- columns ----------------------------------------------------------------------------------------------------- */

void pc_columns_clear(pc_column *columns, size_t count) {
    for (size_t i = 0; i < count; i++) {
        columns[i] = (pc_column){INFINITY, -INFINITY};
    }
}

void pc_columns_fill(pc_column *columns, const double origin[2], double cell, int32_t width, int32_t height,
                     const pc_points *points, const double offset[3]) {
    const double per = 1.0 / cell;
    for (int64_t i = 0; i < points->n; i++) {
        const double x = floor(((double)points->x[i] + offset[0] - origin[0]) * per);
        const double y = floor(((double)points->y[i] + offset[1] - origin[1]) * per);
        const float z = (float)((double)points->z[i] + offset[2]);
        if (x >= 0.0 && y >= 0.0 && x < width && y < height) {
            pc_column *c = &columns[(size_t)y * (size_t)width + (size_t)x];
            c->low = z < c->low ? z : c->low;
            c->high = z > c->high ? z : c->high;
        }
    }
}

/* ---- the map ----------------------------------------------------------------------------------------------------- */

static void draw(pc_places *p, const pc_column *columns) {
    static const uint8_t stamp[3][3] = {
        {PC_CORNER, PC_BESIDE, PC_CORNER}, {PC_BESIDE, PC_TALL, PC_BESIDE}, {PC_CORNER, PC_BESIDE, PC_CORNER}};
    const size_t width = (size_t)p->width, count = width * (size_t)p->height;
    for (size_t i = 0; i < count; i++) {
        p->low[i] = columns[i].low;
        p->tall[i] = pc_column_is_seen(&columns[i]) ? PC_FLAT : PC_UNSEEN;
        p->flat[i] = !pc_column_is_tall(&columns[i], p->cell);
    }
    for (size_t i = width + 1; i < count - width - 1; i++) { /* the edge is margin */
        for (int k = 0; pc_column_is_tall(&columns[i], p->cell) && k < 9; k++) {
            uint8_t *to = &p->tall[i + (size_t)(k / 3) * width + (size_t)(k % 3) - width - 1];
            *to = *to > stamp[k / 3][k % 3] ? *to : stamp[k / 3][k % 3];
        }
    }
}

static void lay(pc_places *p, const pc_points *points, double cell) {
    double cells[2];
    p->cell = 0.5 * cell;
    do {
        p->cell *= 2.0;
        for (int k = 0; k < 2; k++) {
            const double low = floor((double)points->box[k][0] / p->cell),
                         high = floor((double)points->box[k][1] / p->cell);
            cells[k] = high - low + 1.0 + 2.0 * PC_PLACES_MARGIN;
            p->origin[k] = (low - PC_PLACES_MARGIN) * p->cell;
        }
    } while (!(cells[0] * cells[1] <= MOST_CELLS));
    p->width = (int32_t)cells[0];
    p->height = (int32_t)cells[1];
}

static size_t tile_of(const pc_places *p, float x, float y) {
    const int32_t i = (int32_t)floor(((double)x - p->origin[0]) / (SAMPLE_CELLS * p->cell));
    const int32_t j = (int32_t)floor(((double)y - p->origin[1]) / (SAMPLE_CELLS * p->cell));
    return (size_t)j * (size_t)p->tiles[0] + (size_t)i;
}

/* Sorts some of the points into tiles: counts, then fills from the ends. */
static bool sample(pc_places *p, const pc_points *points) {
    const size_t count = (size_t)p->width * (size_t)p->height;
    int64_t seen = 0;
    for (size_t i = 0; i < count; i++) {
        seen += p->low[i] < INFINITY;
    }
    const int64_t every = (points->n + SAMPLES * seen - 1) / (SAMPLES * seen), n = points->n / every;
    p->tiles[0] = p->width / SAMPLE_CELLS + 1;
    p->tiles[1] = p->height / SAMPLE_CELLS + 1;
    const size_t tiles = (size_t)p->tiles[0] * (size_t)p->tiles[1];
    p->first = calloc(tiles + 1, sizeof *p->first);
    p->samples = malloc((size_t)n * 3 * sizeof *p->samples);
    if (!p->first || !p->samples) {
        return false;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = n - 1; i >= 0; i--) {
            const int64_t at = pc_pick(i, every);
            int64_t *first = &p->first[tile_of(p, points->x[at], points->y[at])];
            if (pass == 0) {
                ++*first;
            } else {
                float *to = p->samples + 3 * --*first;
                to[0] = points->x[at];
                to[1] = points->y[at];
                to[2] = points->z[at];
            }
        }
        for (size_t t = 0; pass == 0 && t < tiles; t++) {
            p->first[t + 1] += p->first[t];
        }
    }
    return true;
}

int pc_places_near(const pc_places *p, double x, double y, float *xyz, int most) {
    const double i = floor((x - p->origin[0]) / (SAMPLE_CELLS * p->cell));
    const double j = floor((y - p->origin[1]) / (SAMPLE_CELLS * p->cell));
    if (!(i >= NEAR_TILES && j >= NEAR_TILES && i + NEAR_TILES < p->tiles[0] && j + NEAR_TILES < p->tiles[1])) {
        return 0; /* the pictures have wider margins */
    }
    int64_t all = 0, at = 0;
    int n = 0;
    for (int pass = 0; pass < 2; pass++) {
        const int64_t every = (all + most - 1) / most;
        for (int row = -NEAR_TILES; row <= NEAR_TILES; row++) {
            const int64_t *first = p->first + ((size_t)j + (size_t)row) * (size_t)p->tiles[0] + (size_t)i - NEAR_TILES;
            const int64_t end = first[2 * NEAR_TILES + 1];
            all += pass == 0 ? end - first[0] : 0;
            for (int64_t k = first[0]; k < end && pass == 1; k++) {
                if (at++ % every == 0) {
                    memcpy(xyz + 3 * n++, p->samples + 3 * k, 3 * sizeof *xyz);
                }
            }
        }
    }
    return n;
}

pc_places *pc_places_make(const pc_points *points, double cell) {
    static const double zero[3];
    pc_places *p = calloc(1, sizeof *p);
    pc_column *columns = NULL;
    size_t count = 0;
    if (p) {
        lay(p, points, cell);
        count = (size_t)p->width * (size_t)p->height;
        columns = malloc(count * sizeof *columns);
        p->tall = malloc(count);
        p->flat = malloc(count);
        p->low = malloc(count * sizeof *p->low);
    }
    bool good = p && columns && p->tall && p->flat && p->low;
    if (good) {
        pc_columns_clear(columns, count);
        pc_columns_fill(columns, p->origin, p->cell, p->width, p->height, points, zero);
        draw(p, columns);
        good = sample(p, points);
    }
    if (!good) {
        pc_places_free(p);
    }
    free(columns);
    return good ? p : NULL;
}

void pc_places_free(pc_places *p) {
    if (p) {
        free(p->tall);
        free(p->flat);
        free(p->low);
        free(p->first);
        free(p->samples);
        free(p);
    }
}

double pc_places_ground_at(const pc_places *p, int32_t x, int32_t y) {
    double sum = 0.0;
    int n = 0;
    for (int32_t j = y - NEAR_GROUND; j <= y + NEAR_GROUND; j++) {
        for (int32_t i = x - NEAR_GROUND; i <= x + NEAR_GROUND; i++) {
            const bool inside = i >= 0 && j >= 0 && i < p->width && j < p->height;
            const float low = inside ? p->low[(size_t)j * (size_t)p->width + (size_t)i] : INFINITY;
            sum += low < INFINITY ? (double)low : 0.0;
            n += low < INFINITY;
        }
    }
    return n ? sum / n : NAN;
}

double pc_places_ground(const pc_places *p, double x, double y) {
    const double i = floor((x - p->origin[0]) / p->cell), j = floor((y - p->origin[1]) / p->cell);
    const bool inside = i >= 0.0 && j >= 0.0 && i < p->width && j < p->height;
    return inside ? pc_places_ground_at(p, (int32_t)i, (int32_t)j) : NAN;
}
