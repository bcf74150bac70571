/* Registration without a guess, of objects in any rotation: where to start.
 *
 * Unlike the search of register_search.c, which is for scans with z up, this one knows no vertical. The rotations of a
 * super-Fibonacci spiral (Alexa 2022), 4096 that lie evenly and at most some 12 degrees from any other, turn the source
 * about its centroid, which is laid on that of the target. A rotation is scored by the truncated distances of points of
 * the source in a grid of distances to the target (chamfer matching, Borgefors 1988): near ones count by their square.
 * The best rotations climb from there, by ever smaller rotations and translations, so that the centroids of two views
 * of an object may differ. What lies on the highest places, apart from each other, are starts of the registration
 * proper: register_starts.c.
 *
 * Scores are integers and every rotation is its own, so that neither threads nor back ends change anything. */
#include "register.h"
#include "solve.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROTATIONS = 4096,
    CLIMBERS = 96,      /* rotations that climb */
    SIDE = 64,          /* cells of an edge of the grid */
    MARGIN = 7,         /* of them around the target */
    NEAR_UNITS = 18,    /* distances are thirds of a cell: those of 6 cells and more do not count */
    MOST_POINTS = 1024, /* of the source */
    ROUNDS = 12,        /* of a climb at one length of its steps, at most */
    LENGTHS = 5,        /* each half as long */
    FEWEST_POINTS = 20,
};

#define TURN_STEP 0.16 /* radians, the first */
#define MOVE_STEP 2.0  /* cells */
#define WIDEST    3.0  /* rms distances from the centroid: farther points are outliers */
#define APART_DOT 0.97 /* of quaternions, 28 degrees: nearer ones are the same start */

/* The steps of the spiral as points of the unit circle, cos and sin: 2 pi / sqrt(2) and 2 pi / 1.533751168755204, and
 * their halves. */
static const double STEP_PHI[2] = {-0.26625534204141565, -0.9639025328498773};
static const double HALF_PHI[2] = {-0.6056998670788134, 0.7956932015674809};
static const double STEP_PSI[2] = {-0.5775919727874612, -0.816325617000648};
static const double HALF_PSI[2] = {-0.4595693784471169, 0.8881418728974164};

/* A rotation about the centroids, and a translation in cells. */
typedef struct place {
    double q[4], t[3];
    int32_t score;
    int order; /* of the spiral */
} place;

typedef struct cloud_cells {
    const pc_points *points;
    double center[3]; /* of the cells with points, without the offset */
} cloud_cells;

typedef struct global {
    double cell;           /* metres */
    cloud_cells clouds[2]; /* source, target */
    uint16_t *values;      /* SIDE cubed: of the target */
    double (*source)[3];   /* points about the centroid, cells */
    int source_count;
    place places[ROTATIONS];
} global;

/* ---- the grid ---------------------------------------------------------------------------------------------------- */

static void mean_of(const pc_points *p, double mean[3], double *rms) {
    const float *values[3] = {p->x, p->y, p->z};
    *rms = 0.0;
    for (int k = 0; k < 3; k++) {
        double sum = 0.0;
        for (int64_t i = 0; i < p->n; i++) {
            sum += (double)values[k][i];
        }
        mean[k] = sum / (double)p->n;
        for (int64_t i = 0; i < p->n; i++) {
            const double d = (double)values[k][i] - mean[k];
            *rms += d * d / (double)p->n;
        }
    }
    *rms = sqrt(*rms);
}

/* The cell of a point about `center`; -1 outside of the grid less its margin. */
static int cell_at(const pc_points *p, int64_t i, const double center[3], double cell) {
    const double d[3] = {(double)p->x[i] - center[0], (double)p->y[i] - center[1], (double)p->z[i] - center[2]};
    int c[3];
    for (int k = 0; k < 3; k++) {
        const double at = floor(d[k] / cell + 0.5 * SIDE);
        if (!(at >= MARGIN && at < SIDE - MARGIN)) {
            return -1;
        }
        c[k] = (int)at;
    }
    return (c[2] * SIDE + c[1]) * SIDE + c[0];
}

/* Marks the cells with points, and moves the centre to their mean: it does not depend on where points are dense. */
static void occupy(cloud_cells *c, double cell, unsigned char *seen) {
    double mean[3] = {c->center[0], c->center[1], c->center[2]};
    for (int round = 0; round < 2; round++) {
        double sum[3] = {0};
        int64_t n = 0;
        memset(seen, 0, (size_t)SIDE * SIDE * SIDE);
        for (int64_t i = 0; i < c->points->n; i++) {
            const int at = cell_at(c->points, i, mean, cell);
            if (at >= 0 && !seen[at]) {
                seen[at] = 1;
                n++;
                sum[0] += at % SIDE;
                sum[1] += at / SIDE % SIDE;
                sum[2] += at / (SIDE * SIDE);
            }
        }
        memcpy(c->center, mean, sizeof mean);
        for (int k = 0; k < 3 && n > 0; k++) {
            mean[k] += (sum[k] / (double)n + 0.5 - 0.5 * SIDE) * cell;
        }
    }
}

static void lower(uint16_t *d, const uint16_t *from, ptrdiff_t step, unsigned cost) {
    const unsigned v = from[step] + cost;
    *d = (uint16_t)(v < *d ? v : *d);
}

/* Distances to the nearest occupied cell in thirds of a cell (3-4-5 chamfer), then the squares of what they are nearer
 * than NEAR_UNITS. */
static void measure_distances(const unsigned char *seen, uint16_t *values) {
    enum { CELLS = SIDE * SIDE * SIDE };
    for (int i = 0; i < CELLS; i++) {
        values[i] = seen[i] ? 0 : 1000;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k < CELLS; k++) {
            const int i = pass ? CELLS - 1 - k : k, c[3] = {i % SIDE, i / SIDE % SIDE, i / (SIDE * SIDE)};
            for (int step = 0; step < 27; step++) {
                const int d[3] = {step % 3 - 1, step / 3 % 3 - 1, step / 9 - 1};
                const int to = (d[2] * SIDE + d[1]) * SIDE + d[0], faces = abs(d[0]) + abs(d[1]) + abs(d[2]);
                const bool before = pass ? to > 0 : to < 0;
                if (before && c[0] + d[0] >= 0 && c[0] + d[0] < SIDE && c[1] + d[1] >= 0 && c[1] + d[1] < SIDE &&
                    c[2] + d[2] >= 0 && c[2] + d[2] < SIDE) {
                    lower(&values[i], &values[i], to, (unsigned)faces + 2);
                }
            }
        }
    }
    for (int i = 0; i < CELLS; i++) {
        const unsigned near = values[i] < NEAR_UNITS ? NEAR_UNITS - values[i] : 0;
        values[i] = (uint16_t)(near * near);
    }
}

/* Occupied cells of the source, at equal distances in their order, about the centre. */
static void take_source(global *g, const unsigned char *seen) {
    enum { CELLS = SIDE * SIDE * SIDE };
    int found = 0, at = 0;
    for (int i = 0; i < CELLS; i++) {
        found += seen[i];
    }
    const int most = found < MOST_POINTS ? found : MOST_POINTS;
    for (int i = 0; i < CELLS; i++) {
        if (!seen[i]) {
            continue;
        }
        if ((int64_t)at * most / found >= g->source_count) {
            double *p = g->source[g->source_count++];
            p[0] = i % SIDE + 0.5 - 0.5 * SIDE;
            p[1] = i / SIDE % SIDE + 0.5 - 0.5 * SIDE;
            p[2] = i / (SIDE * SIDE) + 0.5 - 0.5 * SIDE;
        }
        at++;
    }
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static int32_t score_of(const global *g, const place *p) {
    double R[9];
    int32_t score = 0;
    pc_quaternion_matrix(p->q, R);
    for (int i = 0; i < g->source_count; i++) {
        const double *s = g->source[i];
        const double x = ((R[0] * s[0] + R[1] * s[1]) + R[2] * s[2]) + p->t[0] + 0.5 * SIDE;
        const double y = ((R[3] * s[0] + R[4] * s[1]) + R[5] * s[2]) + p->t[1] + 0.5 * SIDE;
        const double z = ((R[6] * s[0] + R[7] * s[1]) + R[8] * s[2]) + p->t[2] + 0.5 * SIDE;
        if (x >= 0.0 && x < SIDE && y >= 0.0 && y < SIDE && z >= 0.0 && z < SIDE) {
            score += g->values[((int)z * SIDE + (int)y) * SIDE + (int)x];
        }
    }
    return score;
}

static void multiply(double z[2], const double w[2]) {
    const double x = z[0] * w[0] - z[1] * w[1], y = z[0] * w[1] + z[1] * w[0], n = sqrt(x * x + y * y);
    z[0] = x / n;
    z[1] = y / n;
}

/* The spiral, by products alone: libraries differ in sines. */
static void make_rotations(global *g) {
    double a[2] = {HALF_PHI[0], HALF_PHI[1]}, b[2] = {HALF_PSI[0], HALF_PSI[1]};
    for (int i = 0; i < ROTATIONS; i++) {
        const double t = (i + 0.5) / ROTATIONS, r = sqrt(t), R = sqrt(1.0 - t);
        g->places[i] = (place){.q = {R * b[0], r * a[1], r * a[0], R * b[1]}, .order = i};
        multiply(a, STEP_PHI);
        multiply(b, STEP_PSI);
    }
}

enum { PART = 64 };

static void score_part(void *state, int part) {
    global *g = state;
    for (int i = part * PART; i < (part + 1) * PART; i++) {
        g->places[i].score = score_of(g, &g->places[i]);
    }
}

/* Steps to the best of twelve neighbours while one is better; then by half as much. */
static void climb(void *state, int which) {
    const global *g = state;
    place *p = &((global *)state)->places[which];
    double turn = TURN_STEP, move = MOVE_STEP;
    for (int length = 0; length < LENGTHS; length++, turn *= 0.5, move *= 0.5) {
        for (int round = 0; round < ROUNDS; round++) {
            place best = *p;
            for (int k = 0; k < 12; k++) {
                place next = *p;
                const double sign = k % 2 ? -1.0 : 1.0;
                if (k < 6) {
                    double w[3] = {0}, d[4];
                    w[k / 2] = sign * turn;
                    pc_quaternion_turn(w, d);
                    pc_quaternion_turned(d, next.q);
                    pc_quaternion_normalize(next.q);
                } else {
                    next.t[(k - 6) / 2] += sign * move;
                }
                next.score = score_of(g, &next);
                best = next.score > best.score ? next : best;
            }
            if (best.score == p->score) {
                break;
            }
            *p = best;
        }
    }
}

static int compare(const void *a, const void *b) {
    const place *p = a, *q = b;
    return p->score != q->score ? (p->score < q->score) - (p->score > q->score) : p->order - q->order;
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

static bool is_apart(const place *a, const place *b) {
    const double dot = ((a->q[0] * b->q[0] + a->q[1] * b->q[1]) + a->q[2] * b->q[2]) + a->q[3] * b->q[3];
    return fabs(dot) < APART_DOT;
}

/* p_target = R (p_source - its centre) + the centre of the target + the translation, in coordinates of the files. */
static void transform_of(const global *g, const place *p, const double offsets[2][3], double T[16]) {
    double R[9], t[3];
    pc_quaternion_matrix(p->q, R);
    for (int k = 0; k < 3; k++) {
        const double *row = R + 3 * k;
        double from[3];
        for (int m = 0; m < 3; m++) {
            from[m] = g->clouds[0].center[m] + offsets[0][m];
        }
        t[k] = ((g->clouds[1].center[k] + offsets[1][k]) + p->t[k] * g->cell) -
               ((row[0] * from[0] + row[1] * from[1]) + row[2] * from[2]);
    }
    pc_transform_compose(R, t, T);
}

static int choose(global *g, const double offsets[2][3], pc_start starts[PC_STARTS]) {
    int kept[PC_STARTS], count = 0;
    qsort(g->places, CLIMBERS, sizeof *g->places, compare);
    for (int i = 0; i < CLIMBERS && count < PC_STARTS; i++) {
        bool apart = true;
        for (int k = 0; k < count; k++) {
            apart = apart && is_apart(&g->places[i], &g->places[kept[k]]);
        }
        if (apart) {
            transform_of(g, &g->places[i], offsets, starts[count].T);
            starts[count].score = g->places[i].score;
            starts[count].turn = 0;
            kept[count++] = i;
        }
    }
    return count;
}

static int find(pcgpu_context *context, global *g, unsigned char *seen, const double offsets[2][3],
                pc_start starts[PC_STARTS]) {
    double rms[2];
    for (int i = 0; i < 2; i++) {
        mean_of(g->clouds[i].points, g->clouds[i].center, &rms[i]);
    }
    const double wide = rms[0] > rms[1] ? rms[0] : rms[1];
    g->cell = WIDEST * wide / (0.5 * SIDE - MARGIN);
    if (!(g->cell > 0.0 && g->cell < 1e9)) {
        return 0;
    }
    occupy(&g->clouds[1], g->cell, seen);
    measure_distances(seen, g->values);
    occupy(&g->clouds[0], g->cell, seen);
    take_source(g, seen);
    if (g->source_count < FEWEST_POINTS) {
        return 0;
    }
    make_rotations(g);
    pc_run_parts(context, ROTATIONS / PART, score_part, g);
    qsort(g->places, ROTATIONS, sizeof *g->places, compare);
    pc_run_parts(context, CLIMBERS, climb, g);
    return choose(g, offsets, starts);
}

pcgpu_status pc_search_global(pcgpu_context *context, const pcgpu_register_params *params, const pcgpu_cloud *source,
                              const pcgpu_cloud *target, pc_start starts[PC_STARTS], int *count) {
    const size_t cells = (size_t)SIDE * SIDE * SIDE;
    const double offsets[2][3] = {{source->offset[0], source->offset[1], source->offset[2]},
                                  {target->offset[0], target->offset[1], target->offset[2]}};
    pcgpu_run ignored = {0};
    pc_points points[2] = {{0}};
    global *g = calloc(1, sizeof *g);
    unsigned char *seen = malloc(cells);
    *count = 0;
    if (g) {
        g->values = malloc(cells * sizeof *g->values);
        g->source = malloc(MOST_POINTS * sizeof *g->source);
    }
    pcgpu_status status;
    if (!g || !seen || !g->values || !g->source) {
        status = pc_fail_memory(context, sizeof *g + 3 * cells, "the search for a start");
        goto done;
    }
    for (int i = 0; i < 2; i++) {
        PC_TRY_OR(done, status,
                  pc_points_select(context, i ? target : source, params->drop_origin, &points[i], &ignored));
        g->clouds[i].points = &points[i];
    }
    if (points[0].n >= FEWEST_POINTS && points[1].n >= FEWEST_POINTS) {
        *count = find(context, g, seen, offsets, starts);
    }
done:
    pc_points_free(&points[0]);
    pc_points_free(&points[1]);
    if (g) {
        free(g->values);
        free(g->source);
    }
    free(seen);
    free(g);
    return status;
}
