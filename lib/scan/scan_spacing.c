/* Registration: the voxel size that fits the spacing of the points.
 *
 * A cell of a registration says something about a surface when its points spread over two directions. Points that are
 * too sparse for the cell, or of one ring of a spinning LiDAR, make a line or nothing. The edge of a cell is therefore
 * the smallest power of two, in metres, at which MOST of the points lie in cells whose points spread over two
 * directions, and enough of these cells are thin: the noise of the sensor is small against them. Powers of two, so that
 * scans of one sensor have one edge.
 *
 * A sample of points, the seeds, stands for all. The boxes around them, each of PC_SPACING_STEPS levels of cells, are
 * counted in one pass over the points, by threads or on a device: in whole units, so that their order says nothing. */
#include "error.h"
#include "scan_spacing.h"

#include <stdlib.h>
#include <string.h>

enum {
    SEEDS = PC_SAMPLED_SEEDS,
    STEPS = PC_SPACING_STEPS,
    FINE = PC_SPACING_FINE,
    PART = 1 << 14, /* points of a part, at least */
    MOST_PARTS = 64,
    FEWEST_POINTS = 10, /* of a cloud */
    FEWEST = 4,         /* points of a cell that counts, as of method ndt */
    MOST_EDGES = 64,    /* that are tried */
};

#define MOST      0.675
#define THIN      0.33    /* of the seeds in such cells, at least: their cells are thin */
#define THICKNESS 0.00105 /* variance across a surface against the squared edge: 3.2 % of it */
#define EXTENT    0.003   /* of the second direction: variance against the squared edge, as of method ndt */
#define BOXES     32.0    /* boxes of the first pass to the extent, at least */
#define FINEST    1e-6    /* of the extent: no cell is narrower */
#define FARTHEST  100.0f  /* extents from the middle to a seed */
#define WIDEST    0.5     /* of the extent: no cell is wider */

/* What the cells at an edge say. */
typedef struct edge_shapes {
    double edge;        /* of a box */
    bool spread[STEPS]; /* enough seeds lie in cells that spread, where a box has 2^step cells to the edge */
    bool thin;          /* and enough of these in cells as wide as the box that are thin */
} edge_shapes;

struct pc_spacing {
    pc_sampled from;
    float extent;
    const float *seeds[SEEDS];
    int seed_count, seed_box[SEEDS];
    pc_spacing_boxes boxes;
    double wanted; /* the edge of `boxes` */
    edge_shapes known[MOST_EDGES];
    int known_count;
};

/* The median on each axis, and the distance from it that nine of ten points keep. */
static bool measure_extent(pc_spacing *s) {
    enum { SAMPLES = PC_SAMPLED_EXTENT };
    float p[3][SAMPLES], values[SAMPLES];
    const int64_t count = pc_sampling_count(PC_SAMPLE_EXTENT, s->from.cloud->rows);
    int n = 0;
    for (int64_t i = 0; i < count && n < SAMPLES; i++) {
        const float *from = pc_sampled_record(&s->from, PC_SAMPLE_EXTENT, i);
        if (pc_is_usable(s->boxes.origin, from)) {
            p[0][n] = from[0], p[1][n] = from[1], p[2][n] = from[2];
            n++;
        }
    }
    if (n < FEWEST_POINTS) {
        return false;
    }
    for (int k = 0; k < 3; k++) {
        memcpy(values, p[k], sizeof values);
        s->boxes.middle[k] = pc_select_value(values, n, n / 2);
    }
    const float *middle = s->boxes.middle;
    for (int i = 0; i < n; i++) {
        float x = p[0][i] - middle[0], y = p[1][i] - middle[1], z = p[2][i] - middle[2];
        values[i] = (x * x + y * y) + z * z;
    }
    s->extent = sqrtf(pc_select_value(values, n, n * 9 / 10));
    return s->extent > 0.0f && s->extent < 1e9f;
}

/* Whether a box around a point has a number that fits, be it the smallest one. */
static bool is_near(const pc_spacing *s, const float *p) {
    bool near = true;
    for (int k = 0; k < 3; k++) {
        near = near && fabsf(p[k] - s->boxes.middle[k]) < FARTHEST * s->extent;
    }
    return near;
}

static void choose_seeds(pc_spacing *s) {
    const int64_t rows = s->from.cloud->rows, count = pc_sampling_count(PC_SAMPLE_SEEDS, rows);
    for (int64_t i = 0; i < count && s->seed_count < SEEDS; i++) {
        if (pc_sampling_row(PC_SAMPLE_SEEDS, rows, i) >= rows) {
            continue;
        }
        const float *p = pc_sampled_record(&s->from, PC_SAMPLE_SEEDS, i);
        if (pc_is_usable(s->boxes.origin, p) && is_near(s, p)) {
            s->seeds[s->seed_count++] = p;
        }
    }
}

/* ---- one pass ---------------------------------------------------------------------------------------------------- */

static int add_box(pc_spacing_boxes *boxes, const int32_t c[3]) {
    const uint32_t entry = pc_spacing_entry(c[0], c[1], c[2]);
    int at = pc_spacing_find(boxes, c, entry);
    if (at < 0) {
        pc_spacing_box *b = &boxes->of[at = boxes->count++];
        memcpy(b->c, c, sizeof b->c);
        b->next = boxes->first[entry];
        boxes->first[entry] = (int16_t)at;
    }
    return at;
}

static float place_of(const pc_spacing *s, const float *p, int axis) {
    return pc_spacing_place(p[axis], s->boxes.middle[axis], s->boxes.per_edge);
}

static void list_boxes(pc_spacing *s, double edge) {
    s->wanted = edge;
    s->boxes.per_edge = 1.0f / (float)edge;
    s->boxes.count = 0;
    memset(s->boxes.first, -1, sizeof s->boxes.first);
    for (int i = 0; i < s->seed_count; i++) {
        int32_t c[3];
        for (int k = 0; k < 3; k++) {
            c[k] = pc_spacing_floor(place_of(s, s->seeds[i], k));
        }
        s->seed_box[i] = add_box(&s->boxes, c);
    }
}

enum { BLOCK = 256 };

/* Some records: in which boxes they are, and where the table has these. */
typedef struct located {
    float f[3][BLOCK];
    int32_t c[3][BLOCK];
    uint32_t at[BLOCK];
} located;

/* In loops that compilers vectorize. */
PC_INLINE void locate_block(const pc_spacing_boxes *boxes, const float *from, int columns, int n, located *l) {
    const float x0 = boxes->middle[0], y0 = boxes->middle[1], z0 = boxes->middle[2], per = boxes->per_edge;
    for (int i = 0; i < n; i++) { /* all axes together: one pass over the records */
        l->f[0][i] = pc_spacing_place(from[i * columns], x0, per);
        l->f[1][i] = pc_spacing_place(from[i * columns + 1], y0, per);
        l->f[2][i] = pc_spacing_place(from[i * columns + 2], z0, per);
    }
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < n; i++) {
            l->c[k][i] = pc_spacing_floor(l->f[k][i]);
        }
    }
    for (int i = 0; i < n; i++) {
        l->at[i] = pc_spacing_entry(l->c[0][i], l->c[1][i], l->c[2][i]);
    }
}

PC_INLINE void locate(const pc_spacing_boxes *boxes, const float *from, int columns, int n, located *l) {
    if (columns == 4) {
        locate_block(boxes, from, 4, n, l);
    } else {
        locate_block(boxes, from, columns, n, l);
    }
}
PC_SIMD_FORMS_OF(locate, (const pc_spacing_boxes *boxes, const float *from, int columns, int n, located *l),
                 (boxes, from, columns, n, l))

/* A pass of threads. */
typedef struct counting {
    const pc_spacing_boxes *boxes;
    const pcgpu_cloud *cloud;
    int parts;
    pc_simd simd;
    pc_spacing_cell *cells; /* of each part; of the first one, in the end, those of all */
} counting;

/* Adds the points of a part to the cells of the boxes. */
static void add_part(void *state, int part) {
    const counting *c = state;
    const int64_t rows = c->cloud->rows, first = rows * part / c->parts, end = rows * (part + 1) / c->parts;
    const pc_spacing_boxes *boxes = c->boxes;
    const size_t count = (size_t)boxes->count * PC_SPACING_CELLS;
    pc_spacing_cell *cells = c->cells + (size_t)part * count;
    const int columns = c->cloud->columns;
    located l;
    memset(cells, 0, count * sizeof *cells);
    for (int64_t begin = first; begin < end; begin += BLOCK) {
        const int n = end - begin < BLOCK ? (int)(end - begin) : BLOCK;
        const float *from = c->cloud->data + begin * columns;
        locate_for(c->simd)(boxes, from, columns, n, &l);
        for (int i = 0; i < n; i++) {
            if (boxes->first[l.at[i]] < 0) {
                continue;
            }
            const float place[3] = {l.f[0][i], l.f[1][i], l.f[2][i]};
            const int32_t box[3] = {l.c[0][i], l.c[1][i], l.c[2][i]};
            const int found = pc_spacing_find(boxes, box, l.at[i]);
            if (found >= 0 && pc_is_usable(boxes->origin, from + i * columns)) {
                uint32_t add[PC_SPACING_SUMS];
                pc_spacing_cell *to = cells + found * PC_SPACING_CELLS + pc_spacing_add(place, box, add);
                for (int k = 0; k < PC_SPACING_SUMS; k++) {
                    to->sum[k] += add[k];
                }
            }
        }
    }
}

static void join(pc_spacing_cell *cell, const pc_spacing_cell *from) {
    for (int k = 0; k < PC_SPACING_SUMS; k++) {
        cell->sum[k] += from->sum[k];
    }
}

static void count_cells(pcgpu_context *context, counting *c) {
    const size_t count = (size_t)c->boxes->count * PC_SPACING_CELLS;
    pc_run_parts(context, c->parts, add_part, c);
    for (size_t i = count; i < count * (size_t)c->parts; i++) {
        join(c->cells + i % count, c->cells + i);
    }
}

/* ---- what the cells say ------------------------------------------------------------------------------------------ */

/* What the points of a cell, `wide` edges of a box, are: 0, or 1 when they spread over two directions, or 2 when they
 * are thin in the third, too. Eigenvalues a <= b <= c of the covariance: a is about det / minors, b about minors /
 * trace; three points have a plane of their own, so that a is n / (n - 3) times as large as it looks. */
static int shape_of(const pc_spacing_cell *cell, double wide) {
    const double n = (double)cell->sum[0], per = 1.0 / (n * PC_SPACING_UNITS), per2 = per / PC_SPACING_UNITS;
    if (n < FEWEST) {
        return 0;
    }
    const double x = (double)cell->sum[1] * per, y = (double)cell->sum[2] * per, z = (double)cell->sum[3] * per;
    const double xx = (double)cell->sum[4] * per2 - x * x, xy = (double)cell->sum[5] * per2 - x * y,
                 xz = (double)cell->sum[6] * per2 - x * z, yy = (double)cell->sum[7] * per2 - y * y,
                 yz = (double)cell->sum[8] * per2 - y * z, zz = (double)cell->sum[9] * per2 - z * z;
    const double w2 = wide * wide, minors = ((xx * yy - xy * xy) + (xx * zz - xz * xz)) + (yy * zz - yz * yz);
    const double det = (xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz)) + xz * (xy * yz - yy * xz);
    return minors >= EXTENT * w2 * ((xx + yy) + zz) ? 1 + (n * det <= THICKNESS * w2 * (n - 3.0) * minors) : 0;
}

/* How many seeds lie in cells of each shape, where a box has 2^step cells to the edge. */
static void find_shapes(const pc_spacing *s, const pc_spacing_cell *cells, int step, int found[3]) {
    const int wide = FINE >> step;
    memset(found, 0, 3 * sizeof *found);
    for (int i = 0; i < s->seed_count; i++) {
        const pc_spacing_box *b = &s->boxes.of[s->seed_box[i]];
        int first[3];
        for (int k = 0; k < 3; k++) {
            first[k] = (int)((place_of(s, s->seeds[i], k) - (float)b->c[k]) * FINE) / wide * wide;
        }
        pc_spacing_cell all = {0};
        for (int j = 0; j < wide * wide * wide; j++) {
            const int z = first[2] + j / (wide * wide), y = first[1] + j / wide % wide, x = first[0] + j % wide;
            join(&all, &cells[s->seed_box[i] * PC_SPACING_CELLS + (z * FINE + y) * FINE + x]);
        }
        found[shape_of(&all, (double)wide / FINE)]++;
    }
}

void pc_spacing_take(pc_spacing *s, const pc_spacing_cell *cells) {
    edge_shapes *v = &s->known[s->known_count++];
    v->edge = s->wanted;
    for (int step = 0; step < STEPS; step++) {
        int found[3];
        find_shapes(s, cells, step, found);
        const int spread = found[1] + found[2];
        v->spread[step] = (double)spread >= MOST * (double)s->seed_count;
        v->thin = step == 0 ? v->spread[0] && (double)found[2] >= THIN * (double)spread : v->thin;
    }
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

/* NULL: the cells at this edge are to be counted first. */
static const edge_shapes *shapes_at(pc_spacing *s, double edge) {
    for (int i = 0; i < s->known_count; i++) {
        if (s->known[i].edge == edge) {
            return &s->known[i];
        }
    }
    list_boxes(s, edge);
    return NULL;
}

/* The smallest edge at which cells spread, 0 when none does; -1: cells are to be counted first. */
static double spreading_edge(pc_spacing *s) {
    const double widest = WIDEST * (double)s->extent;
    int exponent;
    (void)frexp((double)s->extent / BOXES, &exponent);
    double edge = ldexp(1.0, exponent - 1), good = 0.0; /* a power of two, extent / BOXES at the most */
    while (edge <= widest && edge > FINEST * (double)s->extent && s->known_count < MOST_EDGES) {
        const double before = good;
        const edge_shapes *v = shapes_at(s, edge);
        if (!v) {
            return -1.0;
        }
        int step = 0;
        while (step < STEPS && v->spread[step]) {
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
static double choose_edge(pc_spacing *s) {
    const double spreading = spreading_edge(s);
    for (int wider = 0; wider < 3 && spreading > 0.0; wider++) {
        const double edge = ldexp(spreading, wider);
        const edge_shapes *v = shapes_at(s, edge);
        if (!v || v->thin) {
            return v ? edge : -1.0;
        }
    }
    return spreading;
}

pc_spacing *pc_spacing_open(const pc_sampled *from, bool drop_origin) {
    pc_spacing *s = malloc(sizeof *s);
    if (!s) {
        return NULL;
    }
    s->from = *from;
    s->seed_count = s->known_count = 0;
    pc_cloud_origin(from->cloud, drop_origin, s->boxes.origin);
    if (measure_extent(s)) {
        choose_seeds(s);
    }
    return s;
}

const pc_spacing_boxes *pc_spacing_next(pc_spacing *s, double *edge, double *extent) {
    const double chosen = s->seed_count < FEWEST_POINTS ? 0.0 : choose_edge(s);
    *edge = chosen > 0.0 ? chosen : 0.0;
    *extent = s->seed_count < FEWEST_POINTS ? 0.0 : (double)s->extent;
    return chosen < 0.0 ? &s->boxes : NULL;
}

void pc_spacing_close(pc_spacing *spacing) {
    free(spacing);
}

pcgpu_status pc_scan_spacing(pcgpu_context *context, const pcgpu_cloud *cloud, bool drop_origin, double *edge,
                             double *extent) {
    const int64_t parts = cloud->rows / PART < MOST_PARTS ? cloud->rows / PART : MOST_PARTS;
    const size_t bytes = (size_t)(parts > 1 ? parts : 1) * SEEDS * PC_SPACING_CELLS * sizeof(pc_spacing_cell);
    const pc_sampled from = {cloud, NULL};
    pc_spacing *s = pc_spacing_open(&from, drop_origin);
    counting c = {.cloud = cloud,
                  .parts = parts > 1 ? (int)parts : 1,
                  .simd = context ? pc_context_simd(context) : PC_SIMD_BASE,
                  .cells = malloc(bytes)};
    const pcgpu_status status = s && c.cells ? PCGPU_OK : pc_fail_memory(context, bytes, "the voxel size");
    while (status == PCGPU_OK && (c.boxes = pc_spacing_next(s, edge, extent))) {
        count_cells(context, &c);
        pc_spacing_take(s, c.cells);
    }
    pc_spacing_close(s);
    free(c.cells);
    return status;
}
