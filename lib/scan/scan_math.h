/* What the host and a device find alike in a scan: the records of samples, the cells of the carrier, and the cells of
 * the spacing. */
#ifndef PC_SCAN_MATH_H
#define PC_SCAN_MATH_H

#include "cloud.h"

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* Records that decisions about a scan are made from. */
typedef enum pc_sampling {
    PC_SAMPLE_EXTENT, /* of the records of a cloud */
    PC_SAMPLE_SEEDS,
    PC_SAMPLE_RANGES,
    PC_SAMPLE_DEPTHS,
    PC_SAMPLE_VIEW, /* of its records without those of the carrier: what makes a view, what checks it, what is asked */
    PC_SAMPLE_APART,
    PC_SAMPLE_ASKED,
    PC_SAMPLE_POINTS, /* of its usable points */
    PC_SAMPLINGS
} pc_sampling;

enum {
    PC_SAMPLED_EXTENT = 255,
    PC_SAMPLED_SEEDS = 240,
    PC_SAMPLED_RANGES = 1021,
    PC_SAMPLED_DEPTHS = 512,
    PC_SAMPLED_VIEW = 1 << 13,
    PC_SAMPLED_ASKED = 1 << 11,
    PC_SAMPLED_POINTS = 1021,
};

/* The room for each sampling, records. */
PC_HD int pc_sampling_room(int which) {
    return which == PC_SAMPLE_EXTENT   ? 2 * PC_SAMPLED_EXTENT
           : which == PC_SAMPLE_SEEDS  ? 2 * PC_SAMPLED_SEEDS
           : which == PC_SAMPLE_RANGES ? 2 * PC_SAMPLED_RANGES
           : which == PC_SAMPLE_DEPTHS ? PC_SAMPLED_DEPTHS
           : which == PC_SAMPLE_VIEW   ? PC_SAMPLED_VIEW
           : which == PC_SAMPLE_POINTS ? PC_SAMPLED_POINTS
                                       : PC_SAMPLED_ASKED;
}

/* The room for those of a cloud, and for those of what is selected of it. */
PC_HD int pc_samplings_room(int selected) {
    int room = 0;
    for (int i = selected ? PC_SAMPLE_VIEW : 0; i < (selected ? PC_SAMPLINGS : PC_SAMPLE_VIEW); i++) {
        room += pc_sampling_room(i);
    }
    return room;
}

/* Where a sampling begins there. */
PC_HD int pc_sampling_begin(int which) {
    int begin = 0;
    for (int i = which < PC_SAMPLE_VIEW ? 0 : PC_SAMPLE_VIEW; i < which; i++) {
        begin += pc_sampling_room(i);
    }
    return begin;
}

/* One record of so many is taken, of `rows`. */
PC_HD int64_t pc_sampling_every(int which, int64_t rows) {
    const int64_t view = (rows + PC_SAMPLED_VIEW - 1) / PC_SAMPLED_VIEW, every = view > 2 ? view : 2;
    const int64_t few = rows > 0 ? (rows + PC_SAMPLED_ASKED - 1) / PC_SAMPLED_ASKED : 1;
    if (which == PC_SAMPLE_VIEW) {
        return every; /* half of the points at most */
    }
    if (which == PC_SAMPLE_APART) {
        return few == every ? every + 1 : few; /* hardly a point of the view */
    }
    if (which == PC_SAMPLE_ASKED) {
        return few;
    }
    const int64_t most = which == PC_SAMPLE_EXTENT   ? PC_SAMPLED_EXTENT
                         : which == PC_SAMPLE_RANGES ? PC_SAMPLED_RANGES
                                                     : PC_SAMPLED_SEEDS;
    return rows / most > 1 ? rows / most : 1;
}

/* How many of `rows` records a sampling takes; the last seed may lie behind them. */
PC_HD int64_t pc_sampling_count(int which, int64_t rows) {
    if (which == PC_SAMPLE_DEPTHS || which == PC_SAMPLE_POINTS) {
        return rows < pc_sampling_room(which) ? rows : pc_sampling_room(which);
    }
    const int64_t every = pc_sampling_every(which, rows);
    return which < PC_SAMPLE_VIEW ? (rows + every - 1) / every : rows / every;
}

/* The i-th of them. */
PC_HD int64_t pc_sampling_row(int which, int64_t rows, int64_t i) {
    if (which == PC_SAMPLE_DEPTHS || which == PC_SAMPLE_POINTS) {
        return i * rows / pc_sampling_count(which, rows);
    }
    const int64_t every = pc_sampling_every(which, rows);
    return which == PC_SAMPLE_EXTENT || which == PC_SAMPLE_RANGES ? i * every : pc_pick(i, every);
}

/* ---- the carrier ------------------------------------------------------------------------------------------------- */

enum { PC_CARRIER_SIDE = 32 };

/* The cell of a point within the radius; false for others. */
PC_HD int pc_carrier_cell(float radius, const double offset[3], const float *record, int c[3]) {
    const double per = 0.5 * PC_CARRIER_SIDE / (double)radius;
    for (int k = 0; k < 3; k++) {
        const double v = (offset[k] + (double)record[k]) * per + 0.5 * PC_CARRIER_SIDE;
        if (!(v >= 0.0 && v < PC_CARRIER_SIDE)) {
            return 0;
        }
        c[k] = (int)v;
    }
    return 1;
}

/* Whether the cell is within a part (1 or 2: all or half) of the radius. */
PC_HD int pc_carrier_is_within(int part, const int c[3]) {
    const int low = PC_CARRIER_SIDE / 2 - PC_CARRIER_SIDE / 2 / part, high = PC_CARRIER_SIDE - low;
    return c[0] >= low && c[0] < high && c[1] >= low && c[1] < high && c[2] >= low && c[2] < high;
}

/* The most of a scan that a carrier returns: the car of nuScenes has 0.26 of it, a car with the road
 * around it 0.39, a desk around a scanner at rest 0.48. */
#define PC_MOST_CARRIER 0.4

/* Whether more than that is left out, where so many records stay. */
PC_HD int pc_carrier_is_too_much(int64_t rows, int64_t kept) {
    return (double)kept < (1.0 - PC_MOST_CARRIER) * (double)rows;
}

/* The part of the radius within which returns of the carrier are left out, where so many stay for all and half of it:
 * half where all would be too much; 0: nothing is left out. */
PC_HD int pc_carrier_part(int64_t rows, int64_t whole, int64_t half) {
    const int part = pc_carrier_is_too_much(rows, whole) ? 2 : 1;
    const int64_t kept = part == 1 ? whole : half;
    return kept < rows && !pc_carrier_is_too_much(rows, kept) ? part : 0;
}

/* ---- cells of the spacing ---------------------------------------------------------------------------------------- */

enum {
    PC_SPACING_STEPS = 2, /* levels of cells that one pass counts, each half as wide */
    PC_SPACING_FINE = 1 << (PC_SPACING_STEPS - 1),
    PC_SPACING_CELLS = PC_SPACING_FINE * PC_SPACING_FINE * PC_SPACING_FINE,
    PC_SPACING_COLUMNS = 1 << 13, /* of the table of boxes: 32 x 32 x 8, which repeat in space */
    PC_SPACING_UNITS = 4096,      /* in an edge of a box: sums are of whole units, in any order */
};
#define PC_SPACING_OFF_ROUND 0.381966f

typedef struct pc_spacing_box {
    int32_t c[3];
    int next; /* of the same entry of the table, or -1 */
} pc_spacing_box;

/* The boxes around the seeds, and where points have theirs. */
typedef struct pc_spacing_boxes {
    float origin[3]; /* a record that counts as unusable; NaN for none */
    float middle[3], per_edge;
    int count;
    int16_t first[PC_SPACING_COLUMNS]; /* a box, or -1 */
    pc_spacing_box of[PC_SAMPLED_SEEDS];
} pc_spacing_boxes;

/* Sums over the points of a cell: their number, x, y, z, xx, xy, xz, yy, yz, zz. */
enum { PC_SPACING_SUMS = 10 };
typedef struct pc_spacing_cell {
    uint64_t sum[PC_SPACING_SUMS];
} pc_spacing_cell;

/* A coordinate in edges of a box; what is not finite, or too far away for a box of a seed, is there, too. */
PC_HD_ALWAYS float pc_spacing_place(float value, float middle, float per_edge) {
    const float most = 1e9f, v = (value - middle) * per_edge + PC_SPACING_OFF_ROUND;
    return v < most && v > -most ? v : most;
}

PC_HD_ALWAYS int32_t pc_spacing_floor(float place) {
    const int32_t whole = (int32_t)place;
    return whole - (place < (float)whole);
}

PC_HD_ALWAYS uint32_t pc_spacing_entry(int32_t x, int32_t y, int32_t z) {
    return ((uint32_t)x & 31u) | ((uint32_t)y & 31u) << 5 | ((uint32_t)z & 7u) << 10;
}

/* The box of these coordinates, or -1. */
PC_HD int pc_spacing_find(const pc_spacing_boxes *boxes, const int32_t c[3], uint32_t entry) {
    int at = boxes->first[entry];
    while (at >= 0 && (boxes->of[at].c[0] != c[0] || boxes->of[at].c[1] != c[1] || boxes->of[at].c[2] != c[2])) {
        at = boxes->of[at].next;
    }
    return at;
}

/* The cell of a point in its box, and what it adds to the sums there. */
PC_HD int pc_spacing_add(const float place[3], const int32_t c[3], uint32_t add[PC_SPACING_SUMS]) {
    const uint32_t x = (uint32_t)((place[0] - (float)c[0]) * PC_SPACING_UNITS),
                   y = (uint32_t)((place[1] - (float)c[1]) * PC_SPACING_UNITS),
                   z = (uint32_t)((place[2] - (float)c[2]) * PC_SPACING_UNITS);
    const uint32_t wide = PC_SPACING_UNITS / PC_SPACING_FINE;
    add[0] = 1, add[1] = x, add[2] = y, add[3] = z;
    add[4] = x * x, add[5] = x * y, add[6] = x * z, add[7] = y * y, add[8] = y * z, add[9] = z * z;
    return (int)((z / wide * PC_SPACING_FINE + y / wide) * PC_SPACING_FINE + x / wide);
}

#endif
