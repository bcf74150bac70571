/* Registration: whether two scans contradict each other.
 *
 * A scan says more than where surfaces are: between the sensor and each return there is nothing. Where two scans are laid
 * on each other wrongly, points of one lie in the free space of the other, whatever their density, noise and overlap.
 *
 * The directions from the sensor are the bins of a cube map, which needs no angles. A bin keeps the least and the
 * largest distance of its points and of the bins next to it. A point of the other scan that is nearer than the least one
 * lies in free space; one that is farther than the largest is hidden and says nothing. Points that moved, and those of
 * foliage, are in free space as well, a few of a hundred.
 *
 * A cloud that was not seen from its origin, such as a map, has points behind others in most directions; it says nothing
 * about free space. Related: Hornung et al. 2013 (free space of OctoMap), Pomerleau et al. 2014 (visibility). */
#include "register.h"

#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 40, /* bins on an edge of the cube */
    FACES = 6,
    BINS = FACES * SIDE * SIDE,
    MOST_SEEN = 1 << 13,  /* points that a view is made of */
    MOST_ASKED = 1 << 11, /* points of the other scan */
    FEWEST_BINS = 256,
    FEWEST_ASKED = 256,
};

#define MARGIN_RANGE 0.04f /* of a distance, besides a voxel: what is nearer by less is no contradiction */
#define BEHIND       0.25f /* of a distance, besides a voxel: what is farther by more lies behind */
#define MOST_BEHIND  0.35  /* of the points of a scan: they lie behind others of the same scan */
#define MOST_SELF    0.01  /* of the points of a scan: they lie in the free space of others of the same scan */

/* Points of one scan in the view of another. */
typedef struct view_counts {
    int64_t agree, free;
} view_counts;

/* What a sensor saw: squared distances by bins, INFINITY and 0 where it saw nothing. */
typedef struct view {
    float low[BINS], high[BINS];
    bool own[BINS]; /* it has a point itself: beyond the edges of the field of view nothing is known */
} view;

/* The bin of a direction. */
static inline int bin_of(const float p[3]) {
    const float x = p[0], y = p[1], z = p[2], ax = fabsf(x), ay = fabsf(y), az = fabsf(z);
    const int along_x = (ax >= ay) & (ax >= az), along_y = !along_x & (ay >= az);
    const float major = along_x ? x : along_y ? y : z;
    const float per = 0.5f * SIDE / fabsf(major);
    const int i = (int)((along_x ? y : x) * per + 0.5f * SIDE);
    const int j = (int)((along_x | along_y ? z : y) * per + 0.5f * SIDE);
    const int face = 2 * (along_x ? 0 : along_y ? 1 : 2) + (major < 0.0f);
    return (face * SIDE + (j < SIDE ? j : SIDE - 1)) * SIDE + (i < SIDE ? i : SIDE - 1);
}

/* Of a value and those on both sides of it, along rows and then along columns of each face. */
static void widen(float *values, bool least) {
    float line[SIDE];
    for (int row = 0; row < FACES * SIDE; row++) {
        float *v = values + (size_t)row * SIDE;
        memcpy(line, v, sizeof line);
        for (int i = 0; i < SIDE; i++) {
            const float a = line[i > 0 ? i - 1 : i], b = line[i < SIDE - 1 ? i + 1 : i];
            const float c = least ? (a < b ? a : b) : (a > b ? a : b);
            v[i] = least ? (c < v[i] ? c : v[i]) : (c > v[i] ? c : v[i]);
        }
    }
    for (int face = 0; face < FACES; face++) {
        float *v = values + (size_t)face * SIDE * SIDE, before[SIDE];
        memcpy(before, v, sizeof before);
        for (int j = 0; j < SIDE; j++) {
            float *here = v + (size_t)j * SIDE;
            const float *after = j < SIDE - 1 ? here + SIDE : here;
            memcpy(line, here, sizeof line);
            for (int i = 0; i < SIDE; i++) {
                const float c = least ? (before[i] < after[i] ? before[i] : after[i])
                                      : (before[i] > after[i] ? before[i] : after[i]);
                here[i] = least ? (c < line[i] ? c : line[i]) : (c > line[i] ? c : line[i]);
            }
            memcpy(before, line, sizeof before);
        }
    }
}

static inline float square_of(const float p[3]) {
    return (p[0] * p[0] + p[1] * p[1]) + p[2] * p[2];
}

/* A point from the sensor; false when it has no direction. */
static inline bool take(const pc_seen *s, int64_t i, float p[3]) {
    const int64_t at = i * s->stride;
    p[0] = (float)((double)s->x[at] + s->offset[0]);
    p[1] = (float)((double)s->y[at] + s->offset[1]);
    p[2] = (float)((double)s->z[at] + s->offset[2]);
    const float square = square_of(p);
    return square > 0.0f && square < 1e30f;
}

/* One of so many points in a row is taken, so that no more than `most` are. */
static int64_t every_of(const pc_seen *s, int64_t most) {
    return (s->n + most - 1) / most;
}

static void add_points(const pc_seen *s, int64_t every, view *v) {
    for (int i = 0; i < BINS; i++) {
        v->low[i] = INFINITY;
        v->high[i] = 0.0f;
    }
    for (int64_t i = 0; i < s->n / every; i++) {
        float p[3];
        if (take(s, pc_cells_pick(i, every), p)) {
            const int bin = bin_of(p);
            const float square = square_of(p);
            v->low[bin] = square < v->low[bin] ? square : v->low[bin];
            v->high[bin] = square > v->high[bin] ? square : v->high[bin];
        }
    }
}

/* The share of the points that lie behind others in the same bin, which is small for what was seen from the origin. */
static double behind_of(const view *v, const pc_seen *s, double voxel) {
    const int64_t every = every_of(s, MOST_ASKED);
    int64_t behind = 0, used = 0;
    for (int64_t i = 0; i * every < s->n; i++) {
        float p[3];
        if (take(s, i * every, p)) {
            const float range = sqrtf(square_of(p)), low = sqrtf(v->low[bin_of(p)]);
            behind += range - low > (float)voxel + BEHIND * range;
            used++;
        }
    }
    return used ? (double)behind / (double)used : 1.0;
}

/* Counts the points of `s`, one of `every`, moved by T into the frame of a view, that the sensor of
 * the view could see: those that agree with it, and those in its free space. */
static void ask(const view *v, const pc_seen *s, int64_t every, const double T[16], double voxel, view_counts *counts) {
    for (int64_t i = 0; i < s->n / every; i++) {
        float p[3], q[3];
        if (!take(s, pc_cells_pick(i, every), p)) {
            continue;
        }
        for (int k = 0; k < 3; k++) {
            const double *row = T + 4 * k;
            q[k] = (float)(((row[0] * (double)p[0] + row[1] * (double)p[1]) + row[2] * (double)p[2]) + row[3]);
        }
        const float range = sqrtf(square_of(q)), margin = (float)voxel + MARGIN_RANGE * range;
        if (!(range > 0.0f && range < 1e15f)) {
            continue;
        }
        const int bin = bin_of(q);
        if (v->own[bin]) {
            const bool nearer = range < sqrtf(v->low[bin]) - margin;
            const bool farther = range > sqrtf(v->high[bin]) + margin;
            counts->free += nearer;
            counts->agree += !nearer && !farther;
        }
    }
}

static double free_share(const view_counts *counts) {
    const int64_t all = counts->free + counts->agree;
    return all ? (double)counts->free / (double)all : 0.0;
}

/* Makes a view of half of the points at most; false when they were not seen from the origin, or are so sparse that the
 * others lie in free space. */
static bool make_view(const pc_seen *s, double voxel, view *v) {
    static const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    const int64_t every = every_of(s, MOST_SEEN) > 2 ? every_of(s, MOST_SEEN) : 2;
    view_counts self = {0};
    int bins = 0;
    add_points(s, every, v);
    for (int i = 0; i < BINS; i++) {
        v->own[i] = v->high[i] > 0.0f;
        bins += v->own[i];
    }
    if (bins < FEWEST_BINS || behind_of(v, s, voxel) > MOST_BEHIND) {
        return false;
    }
    widen(v->low, true);
    widen(v->high, false);
    const int64_t apart = every_of(s, MOST_ASKED);
    ask(v, s, apart == every ? every + 1 : apart, identity, voxel, &self); /* hardly a point of the view */
    return free_share(&self) <= MOST_SELF;
}

pcgpu_status pc_view_compare(pcgpu_context *context, const pc_seen *source, const pc_seen *target, const double T[16],
                             double voxel, double *share) {
    view *v = malloc(sizeof *v);
    double back[16];
    view_counts sums = {0}, *counts = &sums;
    *share = -1.0;
    if (!v) {
        return pc_fail_memory(context, sizeof *v, "what the sensors saw");
    }
    pc_register_inverse_start(T, back);
    bool seen = source->n > 0 && make_view(source, voxel, v);
    if (seen) {
        ask(v, target, every_of(target, MOST_ASKED), back, voxel, counts);
        seen = target->n > 0 && make_view(target, voxel, v);
    }
    if (seen) {
        ask(v, source, every_of(source, MOST_ASKED), T, voxel, counts);
        *share = counts->agree + counts->free >= FEWEST_ASKED ? free_share(counts) : -1.0;
    }
    free(v);
    return PCGPU_OK;
}
