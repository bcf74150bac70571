/* Registration: whether two scans contradict each other.
 *
 * A scan says more than where surfaces are: between the sensor and each return there is nothing. Where two scans are
 * laid on each other wrongly, points of one lie in the free space of the other, whatever their density, noise and
 * overlap.
 *
 * The directions from the sensor are the bins of a cube map, which needs no angles. A bin keeps the least and the
 * largest distance of its points and of the bins next to it. A point of the other scan that is nearer than the least
 * one lies in free space; one that is farther than the largest is hidden and says nothing. Points that moved, and those
 * of foliage, are in free space as well, a few of a hundred.
 *
 * A cloud that was not seen from its origin, such as a map, has points behind others in most directions; it says
 * nothing about free space. Related: Hornung et al. 2013 (free space of OctoMap), Pomerleau et al. 2014
 * (visibility). */
#include "error.h"
#include "scan.h"

#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 40, /* bins on an edge of the cube */
    FACES = 6,
    BINS = FACES * SIDE * SIDE,
    MOST_ASKED = PC_SAMPLED_ASKED,
    FEWEST_BINS = 256,
    FEWEST_ASKED = 256,
    BLOCK = 256, /* points at a time */
};

#define MARGIN_RANGE 0.04f /* of a distance, besides a voxel: what is nearer by less is no contradiction */
#define BEHIND       0.25f /* of a distance, besides a voxel: what is farther by more lies behind */
#define MOST_BEHIND  0.35  /* of the points of a scan: they lie behind others of the same scan */
#define MOST_SELF    0.01  /* of the points of a scan: they lie in the free space of others of the same scan */

/* Points of one scan in the view of another. */
typedef struct view_counts {
    int64_t asked, agree, free;
} view_counts;

/* What a sensor saw: squared distances by bins, INFINITY and 0 where it saw nothing. */
struct pc_view {
    float low[BINS], high[BINS];
    bool own[BINS];   /* it has a point itself: beyond the edges of the field of view nothing is known */
    bool from_origin; /* else it says nothing about free space */
    int asked;        /* points of the scan that are looked up in the view of another */
    float x[MOST_ASKED], y[MOST_ASKED], z[MOST_ASKED];
};

/* Some points from a sensor, with a direction each. */
typedef struct view_points {
    int n;
    float x[BLOCK], y[BLOCK], z[BLOCK], square[BLOCK];
    int32_t bin[BLOCK];
} view_points;

/* Squared distances, and the bins of the directions; a loop that compilers vectorize. */
static void find_bins(view_points *p) {
    for (int i = 0; i < p->n; i++) {
        const float x = p->x[i], y = p->y[i], z = p->z[i], ax = fabsf(x), ay = fabsf(y), az = fabsf(z);
        const int along_x = (ax >= ay) & (ax >= az), along_y = (ay >= az) & !along_x;
        const float major = along_x ? x : along_y ? y : z;
        const float per = 0.5f * SIDE / fabsf(major);
        const int u = (int)((along_x ? y : x) * per + 0.5f * SIDE);
        const int w = (int)((along_x | along_y ? z : y) * per + 0.5f * SIDE);
        const int face = 2 * (2 - along_y - 2 * along_x) + (major < 0.0f);
        p->square[i] = (x * x + y * y) + z * z;
        p->bin[i] = (face * SIDE + (w < SIDE ? w : SIDE - 1)) * SIDE + (u < SIDE ? u : SIDE - 1);
    }
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

/* Takes the sample from `begin` on, as much as a block holds, of what has a direction; what comes after it. */
static int64_t take_block(const pc_seen *s, pc_sampling which, int64_t begin, view_points *p) {
    const int64_t all = pc_sampling_count(which, s->n), end = begin + BLOCK < all ? begin + BLOCK : all;
    const float *copies = s->copies ? s->copies + 3 * pc_sampling_begin(which) : NULL;
    const float *axes[3] = {copies ? copies : s->x, copies ? copies + 1 : s->y, copies ? copies + 2 : s->z};
    int64_t places[BLOCK];
    int n = 0;
    for (int64_t i = begin; i < end; i++) {
        places[i - begin] = copies ? 3 * i : pc_sampling_row(which, s->n, i) * s->stride;
        __builtin_prefetch(axes[0] + places[i - begin]);
        __builtin_prefetch(axes[1] + places[i - begin]);
        __builtin_prefetch(axes[2] + places[i - begin]);
    }
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = places[i - begin];
        const float x = (float)((double)axes[0][at] + s->offset[0]);
        const float y = (float)((double)axes[1][at] + s->offset[1]);
        const float z = (float)((double)axes[2][at] + s->offset[2]);
        const float square = (x * x + y * y) + z * z;
        p->x[n] = x;
        p->y[n] = y;
        p->z[n] = z;
        n += (square > 0.0f) & (square < 1e30f);
    }
    p->n = n;
    return end;
}

static void add_points(const pc_seen *s, pc_view *v) {
    view_points p;
    for (int i = 0; i < BINS; i++) {
        v->low[i] = INFINITY;
        v->high[i] = 0.0f;
    }
    for (int64_t at = 0, all = pc_sampling_count(PC_SAMPLE_VIEW, s->n); at < all;) {
        at = take_block(s, PC_SAMPLE_VIEW, at, &p);
        find_bins(&p);
        for (int i = 0; i < p.n; i++) {
            float *low = &v->low[p.bin[i]], *high = &v->high[p.bin[i]];
            *low = p.square[i] < *low ? p.square[i] : *low;
            *high = p.square[i] > *high ? p.square[i] : *high;
        }
    }
}

/* Gathers the points of a scan that are looked up. */
static void gather(const pc_seen *s, pc_sampling which, pc_view *v) {
    view_points p;
    v->asked = 0;
    for (int64_t at = 0, all = pc_sampling_count(which, s->n); at < all;) {
        at = take_block(s, which, at, &p);
        memcpy(v->x + v->asked, p.x, (size_t)p.n * sizeof *p.x);
        memcpy(v->y + v->asked, p.y, (size_t)p.n * sizeof *p.y);
        memcpy(v->z + v->asked, p.z, (size_t)p.n * sizeof *p.z);
        v->asked += p.n;
    }
}

/* The gathered points from `begin` on, as many as a block holds; the one after them. */
static int next_block(const pc_view *v, int begin, view_points *p) {
    p->n = v->asked - begin < BLOCK ? v->asked - begin : BLOCK;
    memcpy(p->x, v->x + begin, (size_t)p->n * sizeof *p->x);
    memcpy(p->y, v->y + begin, (size_t)p->n * sizeof *p->y);
    memcpy(p->z, v->z + begin, (size_t)p->n * sizeof *p->z);
    return begin + p->n;
}

/* The fraction of the gathered points that lie behind others in the same bin, which is small for what was seen from the
 * origin. */
static double fraction_behind(const pc_view *v, double voxel) {
    int64_t behind = 0;
    view_points p;
    for (int at = 0; at < v->asked;) {
        at = next_block(v, at, &p);
        find_bins(&p);
        for (int i = 0; i < p.n; i++) {
            const float range = sqrtf(p.square[i]);
            behind += range - sqrtf(v->low[p.bin[i]]) > (float)voxel + BEHIND * range;
        }
    }
    return v->asked ? (double)behind / (double)v->asked : 1.0;
}

/* Moves points by T; what comes to lie at the sensor, or too far from it, is left out. */
static void move(view_points *p, const double T[16]) {
    int n = 0;
    for (int i = 0; i < p->n; i++) {
        const double x = (double)p->x[i], y = (double)p->y[i], z = (double)p->z[i];
        const float a = (float)(((T[0] * x + T[1] * y) + T[2] * z) + T[3]);
        const float b = (float)(((T[4] * x + T[5] * y) + T[6] * z) + T[7]);
        const float c = (float)(((T[8] * x + T[9] * y) + T[10] * z) + T[11]);
        const float square = (a * a + b * b) + c * c;
        p->x[n] = a;
        p->y[n] = b;
        p->z[n] = c;
        n += (square > 0.0f) & (square < 1e30f);
    }
    p->n = n;
}

/* Counts the gathered points of `scan`, moved by T into the frame of a view, that the sensor of the view could see:
 * those that agree with it, and those in its free space. Without T they are there. */
static void look_up(const pc_view *v, const pc_view *scan, const double *T, double voxel, view_counts *counts) {
    view_points p;
    for (int at = 0; at < scan->asked;) {
        at = next_block(scan, at, &p);
        if (T) {
            move(&p, T);
        }
        find_bins(&p);
        counts->asked += p.n;
        for (int i = 0; i < p.n; i++) {
            const int bin = p.bin[i];
            const float range = sqrtf(p.square[i]), margin = (float)voxel + MARGIN_RANGE * range;
            const bool nearer = range<sqrtf(v->low[bin]) - margin, farther = range> sqrtf(v->high[bin]) + margin;
            counts->free += v->own[bin] & nearer;
            counts->agree += v->own[bin] & !nearer & !farther;
        }
    }
}

static double free_fraction(const view_counts *counts) {
    const int64_t all = counts->free + counts->agree;
    return all ? (double)counts->free / (double)all : 0.0;
}

/* The fraction of the gathered points that the sensor of the view could see. */
static double seen_fraction(const view_counts *counts) {
    return counts->asked ? (double)(counts->agree + counts->free) / (double)counts->asked : 0.0;
}

/* Makes a view of half of the points at most; false when they were not seen from the origin, or are so sparse that the
 * others lie in free space. */
static bool fill_view(const pc_seen *s, double voxel, pc_view *v) {
    view_counts self = {0};
    int bins = 0;
    add_points(s, v);
    for (int i = 0; i < BINS; i++) {
        v->own[i] = v->high[i] > 0.0f;
        bins += v->own[i];
    }
    gather(s, PC_SAMPLE_APART, v);
    bool from_origin = bins >= FEWEST_BINS && fraction_behind(v, voxel) <= MOST_BEHIND;
    if (from_origin) {
        widen(v->low, true);
        widen(v->high, false);
        look_up(v, v, NULL, voxel, &self);
        from_origin = free_fraction(&self) <= MOST_SELF;
    }
    if (pc_sampling_every(PC_SAMPLE_APART, s->n) != pc_sampling_every(PC_SAMPLE_ASKED, s->n)) {
        gather(s, PC_SAMPLE_ASKED, v);
    }
    return from_origin;
}

typedef struct making {
    pc_seen *seen;
    double voxel;
} making;

/* Makes the view of a scan, unless it is there or memory is short. */
static void make_view(void *state, int i) {
    const making *m = state;
    pc_seen *s = &m->seen[i];
    if (!s->view || *s->view || s->n == 0) {
        return;
    }
    pc_view *v = malloc(sizeof *v);
    if (v) {
        v->from_origin = fill_view(s, m->voxel, v);
        *s->view = v;
    }
}

void pc_view_make(pcgpu_context *context, pc_seen *seen, int count, double voxel) {
    making m = {seen, voxel};
    pc_run_parts(context, count, make_view, &m);
}

bool pc_view_is_from_origin(const pc_view *view) {
    return view && view->from_origin;
}

void pc_view_drop(pc_view **view) {
    free(*view);
    *view = NULL;
}

pcgpu_status pc_view_compare(pcgpu_context *context, pc_seen seen[2], const double T[16], const double back[16],
                             double voxel, pc_view_comparison *result) {
    view_counts of_target = {0}, of_source = {0};
    *result = (pc_view_comparison){-1.0, -1.0};
    if (seen[0].n == 0 || seen[1].n == 0) {
        return PCGPU_OK;
    }
    pc_view_make(context, seen, 2, voxel);
    const pc_view *source = *seen[0].view, *target = *seen[1].view;
    if (!source || !target) {
        return pc_fail_memory(context, sizeof *source, "what the sensors saw");
    }
    if (source->from_origin && target->from_origin) {
        look_up(source, target, back, voxel, &of_target);
        look_up(target, source, T, voxel, &of_source);
        const view_counts all = {of_target.asked + of_source.asked, of_target.agree + of_source.agree,
                                 of_target.free + of_source.free};
        if (all.agree + all.free >= FEWEST_ASKED) {
            result->free = free_fraction(&all);
            result->overlap = seen_fraction(&of_source);
        }
    }
    return PCGPU_OK;
}

pcgpu_status pc_view_free(pcgpu_context *context, pc_seen *scan, const float *xyz, int n, double voxel,
                          double *fraction) {
    view_counts counts = {0};
    pc_view *asked = NULL;
    *fraction = -1.0;
    pc_view_make(context, scan, 1, voxel);
    const pc_view *view = *scan->view;
    if (view && view->from_origin) {
        asked = malloc(sizeof *asked);
    }
    if ((scan->n > 0 && !view) || (view && view->from_origin && !asked)) {
        return pc_fail_memory(context, sizeof *asked, "what the sensors saw");
    }
    if (asked) {
        int at = 0;
        for (int i = 0; i < n && i < MOST_ASKED; i++) {
            const float x = xyz[3 * i], y = xyz[3 * i + 1], z = xyz[3 * i + 2], square = (x * x + y * y) + z * z;
            asked->x[at] = x;
            asked->y[at] = y;
            asked->z[at] = z;
            at += (square > 0.0f) & (square < 1e30f); /* else it has no direction */
        }
        asked->asked = at;
        look_up(view, asked, NULL, voxel, &counts);
        *fraction = counts.agree + counts.free >= FEWEST_ASKED ? free_fraction(&counts) : -1.0;
    }
    free(asked);
    return PCGPU_OK;
}
