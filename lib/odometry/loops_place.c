/* Loops: what is kept of a place. A single scan of a sparse sensor says little about a place; the scans of some metres
 * are joined by their poses from odometry, which hardly drifts meanwhile, and thinned to a point for each cell of half
 * a voxel: the first, in the order of frames and points. */
#include "loops.h"
#include "odometry.h"

#include <stdlib.h>
#include <string.h>

#define UNIT_VOXELS   0.015625 /* 1/64 */
#define CELL_VOXELS   0.5
#define RANGE_VOXELS  240.0 /* farther points are left out */
#define COLUMN_VOXELS 4.0   /* of a column, as in the search for a start */
#define HIGH_VOXELS   2.0   /* a column counts from this height on */
#define RING_COLUMNS  4     /* the width of a ring */

enum {
    MOST_SCAN = 1 << 14,
    HALF_COLUMNS = PC_PLACE_RINGS * RING_COLUMNS, /* from the sensor to the edge of the grid of columns */
    LEAST_SLOTS = 1 << 14,
};

/* ---- points ------------------------------------------------------------------------------------------------------ */

static bool pack(const double p[3], double voxel, int16_t to[3]) {
    for (int k = 0; k < 3; k++) {
        const double units = floor(p[k] / (UNIT_VOXELS * voxel) + 0.5);
        if (!(units >= -32767.0 && units <= 32767.0)) { /* also NaN */
            return false;
        }
        to[k] = (int16_t)units;
    }
    return true;
}

static void point_of(const pcgpu_cloud *cloud, int64_t i, double p[3]) {
    for (int k = 0; k < 3; k++) {
        p[k] = (double)cloud->data[i * cloud->columns + k] + cloud->offset[k];
    }
}

bool pc_place_unpack(const pc_packed_points *points, double voxel, const double *T, pcgpu_cloud *cloud) {
    *cloud =
        (pcgpu_cloud){.rows = points->n, .columns = 3, .data = malloc((3 * (size_t)points->n + 1) * sizeof(float))};
    for (int32_t i = 0; i < points->n && cloud->data; i++) {
        const int16_t *from = points->xyz[i];
        const double p[3] = {from[0] * (UNIT_VOXELS * voxel), from[1] * (UNIT_VOXELS * voxel),
                             from[2] * (UNIT_VOXELS * voxel)};
        double moved[3];
        if (T) {
            pc_transform_apply(T, p, moved);
        }
        for (int k = 0; k < 3; k++) {
            cloud->data[3 * (int64_t)i + k] = (float)(T ? moved[k] : p[k]);
        }
    }
    return cloud->data != NULL;
}

/* ---- the present place ------------------------------------------------------------------------------------------- */

void pc_place_begin(pc_place_builder *b, const double T[16]) {
    memcpy(b->first, T, sizeof b->first);
    b->count = 0;
    if (b->table) {
        memset(b->table, 0, (size_t)b->slots * sizeof *b->table);
    }
    free(b->scan.xyz);
    b->scan = (pc_packed_points){0};
}

/* The slot of a key, or the empty one where it belongs. */
static int64_t slot_of(const pc_place_builder *b, uint64_t key) {
    int64_t at = (int64_t)((key * 0x9E3779B97F4A7C15ull) >> 20 & (uint64_t)(b->slots - 1));
    while (b->table[at] != 0 && b->table[at] != key) {
        at = (at + 1) & (b->slots - 1);
    }
    return at;
}

/* Twice the slots; of these, half may have a point. */
static bool grow(pc_place_builder *b) {
    const int64_t before = b->slots, slots = before ? 2 * before : LEAST_SLOTS;
    uint64_t *old = b->table, *table = calloc((size_t)slots, sizeof *table);
    float *xyz = pc_buffer_take(&b->memory, 3 * (size_t)(slots / 2) * sizeof *xyz, true);
    if (!table || !xyz) {
        free(table);
        return false;
    }
    b->xyz = xyz;
    b->table = table;
    b->slots = slots;
    for (int64_t i = 0; i < before; i++) {
        if (old[i]) {
            b->table[slot_of(b, old[i])] = old[i];
        }
    }
    free(old);
    return true;
}

bool pc_place_add(pc_place_builder *b, const pcgpu_cloud *cloud, const double T[16]) {
    const double range = RANGE_VOXELS * b->voxel, cell = CELL_VOXELS * b->voxel;
    double motion[16];
    pc_transform_between(b->first, T, motion);
    for (int64_t i = 0; i < cloud->rows; i++) {
        double p[3], moved[3];
        uint64_t key = 1;
        point_of(cloud, i, p);
        if (!((p[0] * p[0] + p[1] * p[1]) + p[2] * p[2] <= range * range)) { /* also NaN */
            continue;
        }
        pc_transform_apply(motion, p, moved);
        for (int k = 0; k < 3; k++) {
            const double at = floor(moved[k] / cell) + 524288.0;
            key = key << 21 | (uint64_t)(at > 0.0 && at < 1048576.0 ? at : 0.0);
        }
        if (2 * b->count == b->slots && !grow(b)) {
            return false;
        }
        const int64_t slot = slot_of(b, key);
        if (b->table[slot] == 0) {
            b->table[slot] = key;
            for (int k = 0; k < 3; k++) {
                b->xyz[3 * b->count + k] = (float)moved[k];
            }
            b->count++;
        }
    }
    return true;
}

bool pc_place_take_scan(pc_place_builder *b, const pcgpu_cloud *cloud) {
    const int64_t every = (cloud->rows + MOST_SCAN - 1) / MOST_SCAN;
    free(b->scan.xyz);
    b->scan = (pc_packed_points){.xyz = malloc(MOST_SCAN * sizeof *b->scan.xyz)};
    for (int64_t i = 0; b->scan.xyz && every > 0 && i < cloud->rows / every; i++) {
        double p[3];
        point_of(cloud, pc_pick(i, every), p);
        b->scan.n += pack(p, b->voxel, b->scan.xyz[b->scan.n]);
    }
    return b->scan.xyz != NULL;
}

/* ---- a place ----------------------------------------------------------------------------------------------------- */

/* Seen from above: columns are high or not. The rings do not change when the place is seen from another heading. */
static bool describe(const pc_place *place, double voxel, uint16_t rings[PC_PLACE_RINGS]) {
    enum { SIDE = 2 * HALF_COLUMNS };
    const int units = (int)(COLUMN_VOXELS / UNIT_VOXELS), high = (int)(HIGH_VOXELS / UNIT_VOXELS);
    int16_t(*columns)[2] = malloc((size_t)SIDE * SIDE * sizeof *columns);
    (void)voxel;
    if (!columns) {
        return false;
    }
    for (int i = 0; i < SIDE * SIDE; i++) {
        columns[i][0] = INT16_MAX;
        columns[i][1] = INT16_MIN;
    }
    for (int32_t i = 0; i < place->map.n; i++) {
        const int16_t *p = place->map.xyz[i];
        const int x = (p[0] + HALF_COLUMNS * units) / units, y = (p[1] + HALF_COLUMNS * units) / units;
        if (p[0] >= -HALF_COLUMNS * units && p[1] >= -HALF_COLUMNS * units && x < SIDE && y < SIDE) {
            int16_t *c = columns[y * SIDE + x];
            c[0] = p[2] < c[0] ? p[2] : c[0];
            c[1] = p[2] > c[1] ? p[2] : c[1];
        }
    }
    memset(rings, 0, PC_PLACE_RINGS * sizeof *rings);
    for (int i = 0; i < SIDE * SIDE; i++) {
        const int x = 2 * (i % SIDE) + 1 - SIDE, y = 2 * (i / SIDE) + 1 - SIDE; /* of the middle, half columns */
        int ring = 0;
        while (ring < PC_PLACE_RINGS && x * x + y * y >= 4 * RING_COLUMNS * RING_COLUMNS * (ring + 1) * (ring + 1)) {
            ring++;
        }
        if (ring < PC_PLACE_RINGS && (int)columns[i][1] - (int)columns[i][0] >= high) {
            rings[ring]++;
        }
    }
    free(columns);
    return true;
}

bool pc_place_finish(pc_place_builder *b, pc_place *place) {
    double motion[16];
    pc_transform_between(place->T, b->first, motion);
    place->map = (pc_packed_points){.xyz = malloc(((size_t)b->count + 1) * sizeof *place->map.xyz)};
    if (!place->map.xyz) {
        return false;
    }
    for (int64_t i = 0; i < b->count && place->map.n < INT32_MAX; i++) {
        const float *from = b->xyz + 3 * i;
        const double p[3] = {(double)from[0], (double)from[1], (double)from[2]};
        double moved[3];
        pc_transform_apply(motion, p, moved);
        place->map.n += pack(moved, b->voxel, place->map.xyz[place->map.n]);
    }
    place->scan = b->scan;
    b->scan = (pc_packed_points){0};
    void *less = realloc(place->map.xyz, ((size_t)place->map.n + 1) * sizeof *place->map.xyz);
    place->map.xyz = less ? less : place->map.xyz;
    less = realloc(place->scan.xyz, ((size_t)place->scan.n + 1) * sizeof *place->scan.xyz);
    place->scan.xyz = less ? less : place->scan.xyz;
    return describe(place, b->voxel, place->rings);
}

void pc_place_free(pc_place *place) {
    free(place->map.xyz);
    free(place->scan.xyz);
    free(place->depth);
    *place = (pc_place){0};
}

void pc_place_builder_free(pc_place_builder *b) {
    pc_buffer_free(&b->memory);
    free(b->table);
    free(b->scan.xyz);
    *b = (pc_place_builder){0};
}
