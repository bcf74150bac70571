/* Pixels of panoramas: float32 with + - * / sqrt and comparisons, in a fixed order. */
#ifndef PC_MAP_MATH_H
#define PC_MAP_MATH_H

#include "geometry.h"

/* Pixels of 0.4 degree in azimuth; in elevation rows of equal height on the unit sphere, which are as high on the
 * horizon. */
enum { PC_MAP_COLUMNS = 900, PC_MAP_ROWS = 287 };

/* The azimuth from x to y, 0 to PC_MAP_COLUMNS; within 0.02. Not atan2, which differs between libraries: atan on [0, 1]
 * of Abramowitz and Stegun 4.4.49. */
PC_HD_ALWAYS float pc_map_column(float x, float y) {
    const float ax = fabsf(x), ay = fabsf(y), low = ax < ay ? ax : ay, high = (ax < ay ? ay : ax) + 1e-30f;
    const float r = low / high, s = r * r;
    const float angle = r * (0.9998660f + s * (-0.3302995f + s * (0.1801410f + s * (-0.0851330f + s * 0.0208351f))));
    float turn = angle * 0.15915494f;
    turn = ax < ay ? 0.25f - turn : turn;
    turn = x < 0.0f ? 0.5f - turn : turn;
    turn = y < 0.0f ? 1.0f - turn : turn;
    const float column = turn * (float)PC_MAP_COLUMNS;
    return column < (float)PC_MAP_COLUMNS ? column : 0.0f;
}

/* The row of a point with height z at a range. */
PC_HD_ALWAYS float pc_map_row(float z, float range) {
    const float row = (z / range + 1.0f) * (0.5f * (float)PC_MAP_ROWS);
    return row < (float)(PC_MAP_ROWS - 1) ? row : (float)(PC_MAP_ROWS - 1);
}

#endif
