/* The ground of a town: hills through the heights of a path, a road with a kerb wherever the path leads. */
#ifndef TERRAIN_H
#define TERRAIN_H

#include "path.h"

typedef struct terrain {
    double low[2];     /* x and y of the first node of both grids */
    int wide, deep;    /* nodes in x, in y, TERRAIN_CELL metres apart */
    double *heights;   /* of the road */
    int columns, rows; /* nodes a metre apart */
    float *off;        /* metres to the next middle line of a road, at most TERRAIN_OFF */
    double slope;      /* no place is steeper */
} terrain;

#define TERRAIN_CELL 4.0
#define TERRAIN_OFF  30.0

/* Roads whose middle is `left` metres left of the path.
 * False when memory ends; terrain_free in any case. */
bool terrain_make(terrain *t, const drive_path *p, double left);
void terrain_free(terrain *t);

double terrain_height(const terrain *t, double x, double y); /* of the road, beside it as if it were road */
double terrain_off_road(const terrain *t, double x, double y);

/* The first ground between `after` and the distance of `hit`, which then is in hit. */
bool terrain_meets(const terrain *t, const scene_ray *r, double after, scene_hit *hit);

#endif
