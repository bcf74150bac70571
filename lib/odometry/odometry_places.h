/* Where in a map a scan may have been taken: the map, seen from above (odometry_places.c), and the search in it
 * (odometry_places_search.c). */
#ifndef PC_ODOMETRY_PLACES_H
#define PC_ODOMETRY_PLACES_H

#include "ndt.h"

enum { PC_PLACES = 12 }; /* that a search returns at most */

typedef struct pc_place {
    double T[16]; /* of the scan, in the coordinates of the map's points */
} pc_place;

/* The map as it is searched; NULL when memory is short. cell: metres. */
typedef struct pc_places pc_places;
pc_places *pc_places_make(const pc_points *points, double cell);
void pc_places_free(pc_places *places); /* accepts NULL */

/* The height of the ground of the map around (x, y), NAN where there is none. */
double pc_places_ground(const pc_places *places, double x, double y);

/* Points of the map around a place, x y z, at most `most` of them, spread evenly. Returns how many. */
int pc_places_near(const pc_places *places, double x, double y, float *xyz, int most);

/* Places for a scan, best first, no two of them near each other; offset: of its points from the sensor. Returns how
 * many, -1 when memory is short. */
int pc_places_search(pcgpu_context *context, const pc_places *places, const pc_points *scan, const double offset[3],
                     pc_place found[PC_PLACES]);

/* ---- the map, for the search ------------------------------------------------------------------------------------- */

/* Cells from the sensor to the farthest column of a scan that counts, cells of a tile whose scores are made together,
 * and of the margin around the map, so that no column of a scan leaves the pictures. */
enum { PC_PLACES_REACH = 40, PC_PLACES_WIDE = 32, PC_PLACES_MARGIN = PC_PLACES_REACH + PC_PLACES_WIDE };

/* What a tall column of a scan is worth on a cell of the map. */
enum { PC_FLAT = 0, PC_UNSEEN = 1, PC_CORNER = 2, PC_BESIDE = 3, PC_TALL = 4 };

/* The heights of the points of a square, metres; INFINITY and -INFINITY where there are none. */
typedef struct pc_column {
    float low, high;
} pc_column;

struct pc_places {
    double cell;           /* metres */
    double origin[2];      /* of the first cell of the pictures */
    int32_t width, height; /* of the pictures, margins included */
    uint8_t *tall, *flat;  /* what such columns of a scan are worth on each cell */
    float *low;            /* of each cell; INFINITY where there is no point */
    /* Some points of the map, by tiles of SAMPLE_CELLS cells a side: */
    int32_t tiles[2];
    int64_t *first; /* of each tile, and after the last */
    float *samples; /* x y z */
};

/* Columns without points, and the points of a scan or a map added to them. */
void pc_columns_clear(pc_column *columns, size_t count);
void pc_columns_fill(pc_column *columns, const double origin[2], double cell, int32_t width, int32_t height,
                     const pc_points *points, const double offset[3]);

static inline bool pc_column_is_seen(const pc_column *c) {
    return c->low < INFINITY;
}

/* Its points differ in height by half of a cell or more. */
static inline bool pc_column_is_tall(const pc_column *c, double cell) {
    return pc_column_is_seen(c) && (double)c->high - (double)c->low >= 0.5 * cell;
}

/* The mean of the lowest points around a cell; NAN where there are none. */
double pc_places_ground_at(const pc_places *places, int32_t x, int32_t y);

#endif
