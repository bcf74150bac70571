/* Odometry: what a session adds to the map in which it is localized.
 *
 * These are points in the coordinates of the map, in the order of the scans: the first one in each small cell in which
 * the map has none. A box that is cut from the map takes up those in it, so that new places continue the map. Where the
 * map has most of a scan it is registered to the map alone, and the errors of new places end there. */
#include "odometry_localize.h"

#include <stdlib.h>
#include <string.h>

#define FINER    4.0  /* small cells in a voxel: points in the voxels are then as dense as those of a usual map */
#define COVERED  0.75 /* of a scan */
#define CELL_BIT ((uint64_t)1 << 63)

enum { ASKED = 4096, CELL_BITS = 21, FIRST_BITS = 16 };

/* A set of cells. */
typedef struct cell_set {
    double per; /* cells per metre */
    int64_t count;
    int bits;
    uint64_t *slots; /* at most half of them in use; 0 = empty */
} cell_set;

struct pc_odometry_session {
    double offset[3];
    cell_set taken, mapped; /* small cells with a point, and wide ones with points of the map */
    pc_buffer memory;       /* x y z of each point */
    int64_t count;
};

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static uint64_t cell_of(const cell_set *s, const double p[3]) {
    uint64_t cell = 0;
    for (int k = 0; k < 3; k++) {
        const double at = floor(p[k] * s->per);
        cell = cell << CELL_BITS | ((uint64_t)(int64_t)(fabs(at) < 1e15 ? at : 0.0) & ((1 << CELL_BITS) - 1));
    }
    return cell | CELL_BIT;
}

/* The slot of a cell, or the empty one where it belongs. */
static size_t slot_of(const cell_set *s, uint64_t cell) {
    const size_t mask = ((size_t)1 << s->bits) - 1;
    size_t at = (size_t)(pc_hash64(cell) >> (64 - s->bits));
    while (s->slots[at] != 0 && s->slots[at] != cell) {
        at = (at + 1) & mask;
    }
    return at;
}

/* Capacity for so many more cells. */
static bool reserve(cell_set *s, int64_t more) {
    cell_set larger = {.per = s->per, .count = s->count, .bits = s->slots ? s->bits : FIRST_BITS};
    while (2 * (s->count + more) > (int64_t)1 << larger.bits) {
        larger.bits++;
    }
    if (s->slots && larger.bits == s->bits) {
        return true;
    }
    larger.slots = calloc((size_t)1 << larger.bits, sizeof *larger.slots);
    if (!larger.slots) {
        return false;
    }
    for (size_t i = 0; s->slots && i < (size_t)1 << s->bits; i++) {
        if (s->slots[i] != 0) {
            larger.slots[slot_of(&larger, s->slots[i])] = s->slots[i];
        }
    }
    free(s->slots);
    *s = larger;
    return true;
}

/* Whether the cell is new. */
static bool put(cell_set *s, uint64_t cell) {
    uint64_t *slot = &s->slots[slot_of(s, cell)];
    const bool fresh = *slot == 0;
    *slot = cell;
    s->count += fresh;
    return fresh;
}

pc_odometry_session *pc_odometry_session_make(const pc_points *map, const double offset[3], double voxel, double wide) {
    pc_odometry_session *s = calloc(1, sizeof *s);
    if (!s) {
        return NULL;
    }
    memcpy(s->offset, offset, sizeof s->offset);
    s->taken.per = FINER / voxel;
    s->mapped.per = 1.0 / wide;
    bool good = reserve(&s->taken, map->n) && reserve(&s->mapped, 1);
    for (int64_t i = 0; i < map->n && good; i++) {
        const double p[3] = {(double)map->x[i], (double)map->y[i], (double)map->z[i]};
        put(&s->taken, cell_of(&s->taken, p));
        good = reserve(&s->mapped, 1);
        if (good) {
            put(&s->mapped, cell_of(&s->mapped, p));
        }
    }
    if (!good) {
        pc_odometry_session_free(s);
    }
    return good ? s : NULL;
}

void pc_odometry_session_free(pc_odometry_session *s) {
    if (s) {
        free(s->taken.slots);
        free(s->mapped.slots);
        pc_buffer_free(&s->memory);
        free(s);
    }
}

/* ---- scans ------------------------------------------------------------------------------------------------------- */

/* Point i of a scan at T, from the offset of the map; returns the square of its distance from the sensor. */
static double place(const pc_odometry_session *s, const pc_odometry_scan *scan, const double T[16], int64_t i,
                    double p[3]) {
    const pc_points *points = &scan->points;
    const double q[3] = {(double)points->x[i] + scan->offset[0], (double)points->y[i] + scan->offset[1],
                         (double)points->z[i] + scan->offset[2]};
    pc_transform_apply(T, q, p);
    for (int k = 0; k < 3; k++) {
        p[k] -= s->offset[k];
    }
    return (q[0] * q[0] + q[1] * q[1]) + q[2] * q[2];
}

bool pc_odometry_session_is_in_map(const pc_odometry_session *s, const pc_odometry_scan *scan, const double T[16]) {
    const int64_t every = (scan->points.n + ASKED - 1) / ASKED, n = every > 0 ? scan->points.n / every : 0;
    int64_t in_map = 0;
    for (int64_t i = 0; i < n; i++) {
        double p[3];
        place(s, scan, T, pc_pick(i, every), p);
        in_map += s->mapped.slots[slot_of(&s->mapped, cell_of(&s->mapped, p))] != 0;
    }
    return (double)in_map >= COVERED * (double)n;
}

bool pc_odometry_session_add(pc_odometry_session *s, const pc_odometry_scan *scan, double range) {
    const int64_t n = scan->points.n;
    float *all = pc_buffer_take(&s->memory, 3 * ((size_t)s->count + (size_t)n + 1) * sizeof *all, true);
    if (!all || !reserve(&s->taken, n)) {
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        double p[3];
        if (place(s, scan, scan->T, i, p) <= range * range && put(&s->taken, cell_of(&s->taken, p))) {
            for (int k = 0; k < 3; k++) {
                all[3 * s->count + k] = (float)p[k];
            }
            s->count++;
        }
    }
    return true;
}

int64_t pc_odometry_session_points(const pc_odometry_session *s) {
    return s->count;
}

pcgpu_status pc_odometry_session_merge(pcgpu_odometry *o, const pc_odometry_session *s, int64_t first, double half) {
    pc_odometry_scan *scan = &o->scans[PC_SCANS - 1]; /* which no scan uses without a keyframe */
    const int64_t most = s->count - first;
    const float *p = (const float *)s->memory.memory + 3 * first;
    float middle[3];
    int64_t n = 0;
    if (most == 0) {
        return PCGPU_OK;
    }
    PC_TRY(pc_odometry_take_memory(o, scan, most));
    float *x = scan->xyz, *y = x + most, *z = y + most;
    for (int k = 0; k < 3; k++) {
        middle[k] = (float)(o->map_anchor[k] - s->offset[k]);
        scan->offset[k] = s->offset[k] + (double)middle[k];
    }
    for (int64_t i = 0; i < most; i++, p += 3) {
        x[n] = p[0] - middle[0];
        y[n] = p[1] - middle[1];
        z[n] = p[2] - middle[2];
        const double far = fmax(fmax(fabs((double)x[n]), fabs((double)y[n])), fabs((double)z[n]));
        n += far <= half;
    }
    if (n == 0) {
        return PCGPU_OK;
    }
    scan->points = (pc_points){.n = n, .x = x, .y = y, .z = z, .scan = PC_SCANS - 1};
    pc_ndt_merge m = {.most = INT64_MAX >> 2 * PC_NDT_MAX_LEVELS};
    return pc_odometry_merge(o, scan, pc_identity, o->map_anchor, &m, &o->held.measure);
}
