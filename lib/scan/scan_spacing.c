/* Registration: the voxel size that fits the spacing of the points.
 *
 * A cell of a registration says something about a surface when its points spread over two directions. Points that are
 * too sparse for the cell, or of one ring of a spinning LiDAR, make a line or nothing. The edge of a cell is therefore
 * the smallest power of two, in metres, at which MOST of the points lie in cells whose points spread over two
 * directions, and enough of these cells are thin: the noise of the sensor is small against them. Powers of two, so that
 * scans of one sensor have one edge.
 *
 * SEEDS points of the cloud stand for all. The boxes around them, each of STEPS levels of cells, are counted in one
 * pass over the points, by threads in parts that depend on the number of points alone. */
#include "error.h"
#include "scan.h"

#include <stdlib.h>
#include <string.h>

enum {
    SAMPLES = 255, /* points that the extent of a cloud is estimated from */
    SEEDS = 240,   /* points whose cells are counted */
    STEPS = 2,     /* levels of cells that one pass counts, each half as wide */
    FINE = 1 << (STEPS - 1),
    CELLS = FINE * FINE * FINE,
    PART = 1 << 14, /* points of a part, at least */
    MOST_PARTS = 64,
    COLUMNS = 1 << 13,  /* of the table of boxes: 32 x 32 x 8, which repeat in space */
    FEWEST_POINTS = 10, /* of a cloud */
    FEWEST = 4,         /* points of a cell that counts, as of method ndt */
};

#define MOST      0.675
#define THIN      0.33    /* of the seeds in such cells, at least: their cells are thin */
#define THICKNESS 0.00105 /* variance across a surface against the squared edge: 3.2 % of it */
#define EXTENT    0.003   /* of the second direction: variance against the squared edge, as of method ndt */
#define BOXES     32.0    /* boxes of the first pass to the extent, at least */
#define FINEST    1e-6    /* of the extent: no cell is narrower */
#define FARTHEST  100.0f  /* extents from the middle to a seed */
#define WIDEST    0.5     /* of the extent: no cell is wider */
#define OFF_ROUND 0.381966f

/* Sums over the points of a cell, in edges of a box. */
typedef struct moments {
    float n, x, y, z, xx, xy, xz, yy, yz, zz;
} moments;

typedef struct box {
    int32_t c[3];
    int next; /* of the same entry of the table, or -1 */
} box;

/* The cells of all boxes, of one part of the points. */
typedef struct box_cells {
    moments of[SEEDS][CELLS];
} box_cells;

typedef struct scale {
    pcgpu_context *context; /* whose threads count */
    const pcgpu_cloud *cloud;
    float origin[3]; /* a record that counts as unusable; NaN for none */
    float middle[3], extent;
    int64_t seeds[SEEDS];
    int seed_count;
    float edge, per_edge;   /* of a box */
    int16_t first[COLUMNS]; /* a box, or -1 */
    int seed_box[SEEDS];
    int box_count;
    box boxes[SEEDS];
    int parts;
    pc_simd simd;
    box_cells *cells; /* of each part; of the first one, in the end, those of all */
} scale;

static const float *record(const scale *s, int64_t i) {
    return s->cloud->data + i * s->cloud->columns;
}

static bool usable(const scale *s, const float *p) {
    return pc_is_finite3(p[0], p[1], p[2]) && !pc_is_at(s->origin, p);
}

/* The median on each axis, and the distance from it that nine of ten points keep. */
static bool measure_extent(scale *s) {
    float p[3][SAMPLES], values[SAMPLES];
    const int64_t rows = s->cloud->rows, every = rows / SAMPLES > 1 ? rows / SAMPLES : 1;
    int n = 0;
    for (int64_t i = 0; i < rows && n < SAMPLES; i += every) {
        const float *from = record(s, i);
        if (usable(s, from)) {
            p[0][n] = from[0], p[1][n] = from[1], p[2][n] = from[2];
            n++;
        }
    }
    if (n < FEWEST_POINTS) {
        return false;
    }
    for (int k = 0; k < 3; k++) {
        memcpy(values, p[k], sizeof values);
        s->middle[k] = pc_select_value(values, n, n / 2);
    }
    for (int i = 0; i < n; i++) {
        float x = p[0][i] - s->middle[0], y = p[1][i] - s->middle[1], z = p[2][i] - s->middle[2];
        values[i] = (x * x + y * y) + z * z;
    }
    s->extent = sqrtf(pc_select_value(values, n, n * 9 / 10));
    return s->extent > 0.0f && s->extent < 1e9f;
}

/* Whether a box around a point has a number that fits, be it the smallest one. */
static bool is_near(const scale *s, const float *p) {
    bool near = true;
    for (int k = 0; k < 3; k++) {
        near = near && fabsf(p[k] - s->middle[k]) < FARTHEST * s->extent;
    }
    return near;
}

static void choose_seeds(scale *s) {
    const int64_t every = s->cloud->rows / SEEDS > 1 ? s->cloud->rows / SEEDS : 1;
    for (int64_t i = 0; i * every < s->cloud->rows && s->seed_count < SEEDS; i++) {
        const int64_t row = pc_pick(i, every);
        if (row < s->cloud->rows && usable(s, record(s, row)) && is_near(s, record(s, row))) {
            s->seeds[s->seed_count++] = row;
        }
    }
}

/* ---- one pass ---------------------------------------------------------------------------------------------------- */

PC_INLINE float in_boxes(const scale *s, float value, int axis) {
    return (value - s->middle[axis]) * s->per_edge + OFF_ROUND;
}

static inline unsigned entry_of(const int32_t c[3]) {
    return ((unsigned)c[0] & 31u) | ((unsigned)c[1] & 31u) << 5 | ((unsigned)c[2] & 7u) << 10;
}

/* The box of these coordinates, or -1. */
static inline int find_box(const scale *s, const int32_t c[3], unsigned entry) {
    int at = s->first[entry];
    while (at >= 0 && (s->boxes[at].c[0] != c[0] || s->boxes[at].c[1] != c[1] || s->boxes[at].c[2] != c[2])) {
        at = s->boxes[at].next;
    }
    return at;
}

static int add_box(scale *s, const int32_t c[3]) {
    const unsigned entry = entry_of(c);
    int at = find_box(s, c, entry);
    if (at < 0) {
        box *b = &s->boxes[at = s->box_count++];
        memcpy(b->c, c, sizeof b->c);
        b->next = s->first[entry];
        s->first[entry] = (int16_t)at;
    }
    return at;
}

static void list_boxes(scale *s, float edge) {
    s->edge = edge;
    s->per_edge = 1.0f / edge;
    s->box_count = 0;
    memset(s->first, -1, sizeof s->first);
    for (int i = 0; i < s->seed_count; i++) {
        const float *p = record(s, s->seeds[i]);
        int32_t c[3];
        for (int k = 0; k < 3; k++) {
            c[k] = (int32_t)floorf(in_boxes(s, p[k], k));
        }
        s->seed_box[i] = add_box(s, c);
    }
}

/* A coordinate that is not finite, or too far away for a box of a seed. */
PC_INLINE float within(float v) {
    const float most = 1e9f;
    return v < most && v > -most ? v : most;
}

static void add_point(moments *cells, const float f[3], const int32_t c[3]) {
    const float x = f[0] - (float)c[0], y = f[1] - (float)c[1], z = f[2] - (float)c[2];
    const int i = (int)(x * FINE), j = (int)(y * FINE), k = (int)(z * FINE);
    moments *m = &cells[(k * FINE + j) * FINE + i];
    m->n += 1.0f;
    m->x += x, m->y += y, m->z += z;
    m->xx += x * x, m->xy += x * y, m->xz += x * z, m->yy += y * y, m->yz += y * z, m->zz += z * z;
}

enum { BLOCK = 256 };

/* Some records: in which boxes they are, and where the table has these. */
typedef struct located {
    float f[3][BLOCK];
    int32_t c[3][BLOCK];
    uint32_t at[BLOCK];
} located;

/* In loops that compilers vectorize. */
PC_INLINE void locate_block(const scale *s, const float *from, int columns, int n, located *l) {
    const float x0 = s->middle[0], y0 = s->middle[1], z0 = s->middle[2], per = s->per_edge;
    for (int i = 0; i < n; i++) { /* all axes together: one pass over the records */
        l->f[0][i] = within((from[i * columns] - x0) * per + OFF_ROUND);
        l->f[1][i] = within((from[i * columns + 1] - y0) * per + OFF_ROUND);
        l->f[2][i] = within((from[i * columns + 2] - z0) * per + OFF_ROUND);
    }
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < n; i++) {
            const int32_t whole = (int32_t)l->f[k][i];
            l->c[k][i] = whole - (l->f[k][i] < (float)whole);
        }
    }
    for (int i = 0; i < n; i++) {
        l->at[i] = ((uint32_t)l->c[0][i] & 31u) | ((uint32_t)l->c[1][i] & 31u) << 5 | ((uint32_t)l->c[2][i] & 7u) << 10;
    }
}

PC_INLINE void locate(const scale *s, const float *from, int columns, int n, located *l) {
    if (columns == 4) {
        locate_block(s, from, 4, n, l);
    } else {
        locate_block(s, from, columns, n, l);
    }
}
PC_SIMD_FORMS_OF(locate, (const scale *s, const float *from, int columns, int n, located *l), (s, from, columns, n, l))

/* Adds the points of a part to the cells of the listed boxes. */
static void add_part(void *state, int part) {
    const scale *s = state;
    const int64_t rows = s->cloud->rows, first = rows * part / s->parts, end = rows * (part + 1) / s->parts;
    box_cells *cells = &s->cells[part];
    void (*const locate_records)(const scale *, const float *, int, int, located *) = locate_for(s->simd);
    const int columns = s->cloud->columns;
    located l;
    memset(cells->of, 0, (size_t)s->box_count * sizeof *cells->of);
    for (int64_t begin = first; begin < end; begin += BLOCK) {
        const int n = end - begin < BLOCK ? (int)(end - begin) : BLOCK;
        const float *from = record(s, begin);
        locate_records(s, from, columns, n, &l);
        for (int i = 0; i < n; i++) {
            if (s->first[l.at[i]] < 0) {
                continue;
            }
            const int32_t place[3] = {l.c[0][i], l.c[1][i], l.c[2][i]};
            const int found = find_box(s, place, l.at[i]);
            if (found >= 0 && usable(s, from + i * columns)) {
                add_point(cells->of[found], (float[3]){l.f[0][i], l.f[1][i], l.f[2][i]}, place);
            }
        }
    }
}

static void join(moments *m, const moments *from) {
    m->n += from->n;
    m->x += from->x, m->y += from->y, m->z += from->z;
    m->xx += from->xx, m->xy += from->xy, m->xz += from->xz;
    m->yy += from->yy, m->yz += from->yz, m->zz += from->zz;
}

/* Counts the cells of boxes of this edge, unless that was done last. */
static void count_cells(scale *s, double edge) {
    if (s->edge == (float)edge) {
        return;
    }
    list_boxes(s, (float)edge);
    pc_run_parts(s->context, s->parts, add_part, s);
    for (int part = 1; part < s->parts; part++) {
        for (int i = 0; i < s->box_count * CELLS; i++) {
            join(s->cells->of[0] + i, s->cells[part].of[0] + i);
        }
    }
}

/* ---- what the cells say ------------------------------------------------------------------------------------------ */

/* What the points of a cell, `wide` edges of a box, are: 0, or 1 when they spread over two directions, or 2 when they
 * are thin in the third, too. Eigenvalues a <= b <= c of the covariance: a is about det / minors, b about minors /
 * trace; three points have a plane of their own, so that a is n / (n - 3) times as large as it looks. */
static int shape_of(const moments *m, float wide) {
    if (m->n < FEWEST) {
        return 0;
    }
    const float per = 1.0f / m->n, x = m->x * per, y = m->y * per, z = m->z * per, w2 = wide * wide;
    const float xx = m->xx * per - x * x, yy = m->yy * per - y * y, zz = m->zz * per - z * z;
    const float xy = m->xy * per - x * y, xz = m->xz * per - x * z, yz = m->yz * per - y * z;
    const float minors = ((xx * yy - xy * xy) + (xx * zz - xz * xz)) + (yy * zz - yz * yz);
    const float det = (xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz)) + xz * (xy * yz - yy * xz);
    return minors >= (float)EXTENT * w2 * ((xx + yy) + zz)
               ? 1 + (m->n * det <= (float)THICKNESS * w2 * (m->n - 3.0f) * minors)
               : 0;
}

/* Whether enough of the seeds lie in cells that spread, and enough of these in cells that are thin, where a box has
 * 2^step cells to the edge. */
static bool suits(const scale *s, int step, bool thin) {
    const int wide = FINE >> step;
    int found[3] = {0};
    for (int i = 0; i < s->seed_count; i++) {
        const float *p = record(s, s->seeds[i]);
        const box *b = &s->boxes[s->seed_box[i]];
        int first[3];
        for (int k = 0; k < 3; k++) {
            first[k] = (int)((in_boxes(s, p[k], k) - (float)b->c[k]) * FINE) / wide * wide;
        }
        moments m = {0};
        for (int j = 0; j < wide * wide * wide; j++) {
            const int z = first[2] + j / (wide * wide), y = first[1] + j / wide % wide, x = first[0] + j % wide;
            join(&m, &s->cells->of[s->seed_box[i]][(z * FINE + y) * FINE + x]);
        }
        found[shape_of(&m, (float)wide / FINE)]++;
    }
    const int spread = found[1] + found[2];
    return (double)spread >= MOST * (double)s->seed_count && (!thin || (double)found[2] >= THIN * (double)spread);
}

/* The smallest edge at which cells spread, 0 when none does. */
static double spreading_edge(scale *s) {
    const double widest = WIDEST * (double)s->extent;
    int exponent;
    (void)frexp((double)s->extent / BOXES, &exponent);
    double edge = ldexp(1.0, exponent - 1), good = 0.0; /* a power of two, extent / BOXES at the most */
    while (edge <= widest && edge > FINEST * (double)s->extent) {
        const double before = good;
        count_cells(s, edge);
        int step = 0;
        while (step < STEPS && suits(s, step, false)) {
            good = ldexp(edge, -step++);
        }
        if (good > 0.0 && (step < STEPS || before > 0.0) && step != STEPS) {
            break; /* finer cells do not spread */
        }
        edge = good > 0.0 ? ldexp(edge, -STEPS) : 2.0 * edge;
    }
    return good;
}

/* That edge, or the next one or the one after it when noise makes its cells thick. */
static double choose_edge(scale *s) {
    const double spreading = spreading_edge(s);
    for (int wider = 0; wider < 3 && spreading > 0.0; wider++) {
        const double edge = ldexp(spreading, wider);
        count_cells(s, edge);
        if (suits(s, 0, true)) {
            return edge;
        }
    }
    return spreading;
}

pcgpu_status pc_scan_spacing(pcgpu_context *context, const pcgpu_cloud *cloud, bool drop_origin, double *edge,
                             double *extent) {
    const int64_t parts = cloud->rows / PART < MOST_PARTS ? cloud->rows / PART : MOST_PARTS;
    const size_t bytes = (size_t)(parts > 1 ? parts : 1) * sizeof(box_cells);
    scale *s = malloc(sizeof *s);
    box_cells *cells = malloc(bytes);
    *edge = *extent = 0.0;
    if (!s || !cells) {
        free(s);
        free(cells);
        return pc_fail_memory(context, bytes + sizeof *s, "the voxel size");
    }
    s->context = context;
    s->simd = context ? pc_context_simd(context) : PC_SIMD_BASE;
    s->cells = cells;
    s->parts = parts > 1 ? (int)parts : 1;
    s->cloud = cloud;
    s->seed_count = 0;
    s->edge = 0.0f;
    pc_cloud_origin(cloud, drop_origin, s->origin);
    if (measure_extent(s)) {
        choose_seeds(s);
    }
    if (s->seed_count >= FEWEST_POINTS) {
        *edge = choose_edge(s);
        *extent = (double)s->extent;
    }
    free(cells);
    free(s);
    return PCGPU_OK;
}
