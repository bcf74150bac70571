/* Measured positions in files. */
#ifndef POSITIONS_H
#define POSITIONS_H

#include "reason.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct positions {
    int64_t count;
    double *times; /* as in the file (trajectory_unit), in increasing order */
    /* Metres, or latitude and longitude in degrees and the height above the ellipsoid in metres; then the standard
     * deviation in metres, NaN: the file has none. */
    double (*rows)[4];
    bool geodetic;
} positions;

/* Reads a position per line: "time x y z ..." as in TUM, EuRoC and VINS-Fusion, with 4, 8, 17 or 11 numbers; or a table
 * whose first line names a column of times and x, y, z (east, north, up) or latitude, longitude, height, and may name
 * one of sigma. A line that lacks one of these, or has latitude and longitude 0, is skipped. On failure `why` begins
 * with the name of the file, and there are no positions. */
bool positions_read(const char *path, positions *p, reason *why);
void positions_free(positions *p); /* accepts a zeroed struct */
/* Once: geodetic positions become east, north, up in metres about `origin` (latitude, longitude, height), by WGS84. */
void positions_to_metres(positions *p, const double origin[3]);

#endif
