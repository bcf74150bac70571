/* Registration without a guess: where to start.
 *
 * Seen from above, walls, poles and trunks distinguish two poses, while the ground looks alike
 * everywhere. Both clouds become square columns as wide as a cell of 4 voxels; a column counts whose points differ in
 * height by half a cell or more. The source's columns are turned about the vertical by all multiples of 2 degrees, and
 * for each turn all translations by whole cells are scored at once: each column of the source adds the patch of the
 * target's picture around it to the scores of the translations. The picture is blurred by a cell, so that half a step
 * of either does not matter. The height follows from the lowest points of the columns that meet. Scores are integers
 * and every turn is its own, so that neither threads nor back ends change anything.
 *
 * The best turn with its translation, and those that follow at other turns, are starts of the registration proper:
 * register_starts.c. Related: Olson 2009 (correlative scan matching). */
#include "register.h"
#include "register_peaks.h"

#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 128, /* cells from the middle to the edge of the picture */
    REACH = 16,   /* translations are -REACH to REACH - 1 cells */
    SPAN = 2 * REACH,
    SIDE = 2 * (WINDOW + REACH),
    TURNS = PC_SEARCH_TURNS,
    PEAKS = 3,           /* translations that are kept of a turn */
    MOST_COLUMNS = 4096, /* of the source: their scores fit 16 bits */
    FEWEST_COLUMNS = 8,  /* of either, for a picture that says anything */
};

#define CELL_VOXELS   4.0
#define COLUMN_HEIGHT 0.5 /* cells */

/* The points above one square, metres from the reference. */
typedef struct column {
    float low, high;
    double x, y;
    int32_t n;
} column;

typedef struct picture {
    double cell;         /* metres */
    double reference[3]; /* of the file's coordinates: what is turned about, and where the window is centred */
    column *columns;     /* 2 WINDOW squared, by rows of x */
} picture;

typedef struct search {
    picture source, target;
    uint8_t *blurred; /* SIDE squared: 3 at a column, 2 beside, 1 at its corners */
    int32_t *listed;  /* the source's columns that count */
    int listed_count;
    int most_turn;               /* in both directions */
    pc_peak best[TURNS * PEAKS]; /* of each turn; then the starts in front */
    int count;                   /* of the starts */
} search;

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

static bool counts(const picture *p, const column *c) {
    return c->n > 0 && (double)c->high - (double)c->low >= COLUMN_HEIGHT * p->cell;
}

static column *column_at(const picture *p, double x, double y) {
    double i = floor(x / p->cell) + WINDOW, j = floor(y / p->cell) + WINDOW;
    bool inside = i >= 0.0 && i < 2.0 * WINDOW && j >= 0.0 && j < 2.0 * WINDOW;
    return inside ? &p->columns[(size_t)j * (2 * WINDOW) + (size_t)i] : NULL;
}

static void fill(picture *p, const pc_points *points, const double offset[3]) {
    for (int64_t i = 0; i < points->n; i++) {
        double x = (double)points->x[i] + (offset[0] - p->reference[0]);
        double y = (double)points->y[i] + (offset[1] - p->reference[1]);
        float z = (float)((double)points->z[i] + (offset[2] - p->reference[2]));
        column *c = column_at(p, x, y);
        if (c) {
            c->low = c->n == 0 || z < c->low ? z : c->low;
            c->high = c->n == 0 || z > c->high ? z : c->high;
            c->x += x;
            c->y += y;
            c->n++;
        }
    }
}

/* Whether there are points on all sides of a vertical axis, most of them nearer to its horizon than to the axis, along
 * which cameras look. */
static bool surrounds_origin(const pcgpu_cloud *cloud, bool drop_origin) {
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    int64_t flat = 0, steep = 0;
    for (int64_t i = 0; i < cloud->rows; i++) {
        const float *p = cloud->data + i * cloud->columns;
        if (!pc_cloud_usable(cloud, p, drop_origin)) {
            continue;
        }
        const double v[3] = {(double)p[0] + cloud->offset[0], (double)p[1] + cloud->offset[1],
                             (double)p[2] + cloud->offset[2]};
        for (int k = 0; k < 2; k++) {
            low[k] = v[k] < low[k] ? v[k] : low[k];
            high[k] = v[k] > high[k] ? v[k] : high[k];
        }
        const bool near = v[2] * v[2] < v[0] * v[0] + v[1] * v[1];
        flat += near;
        steep += !near;
    }
    return flat > steep && low[0] < 0.0 && high[0] > 0.0 && low[1] < 0.0 && high[1] > 0.0;
}

bool pc_surround_origins(const pcgpu_cloud *source, const pcgpu_cloud *target, bool drop_origin) {
    return surrounds_origin(source, drop_origin) && surrounds_origin(target, drop_origin);
}

/* The centroid of a cloud that was not seen from its origin. */
static void find_reference(const pc_points *points, const double *offset, double reference[3]) {
    const float *values[3] = {points->x, points->y, points->z};
    for (int k = 0; k < 3; k++) {
        double sum = 0.0;
        for (int64_t i = 0; i < points->n; i++) {
            sum += (double)values[k][i] + offset[k];
        }
        reference[k] = sum / (double)points->n;
    }
}

static void blur(search *s) {
    static const uint8_t stamp[3][3] = {{1, 2, 1}, {2, 3, 2}, {1, 2, 1}};
    for (int at = 0; at < 4 * WINDOW * WINDOW; at++) {
        if (!counts(&s->target, &s->target.columns[at])) {
            continue;
        }
        uint8_t *to = s->blurred + (size_t)(at / (2 * WINDOW) + REACH) * SIDE + at % (2 * WINDOW) + REACH;
        for (int j = -1; j <= 1; j++) {
            for (int i = -1; i <= 1; i++) {
                uint8_t *cell = to + j * SIDE + i, value = stamp[j + 1][i + 1];
                *cell = *cell > value ? *cell : value;
            }
        }
    }
}

/* Every one, or one of so many that not too many are left. */
static void list_columns(search *s) {
    int found = 0, kept = 0;
    for (int at = 0; at < 4 * WINDOW * WINDOW; at++) {
        if (counts(&s->source, &s->source.columns[at])) {
            s->listed[found++] = at;
        }
    }
    int every = (found + MOST_COLUMNS - 1) / MOST_COLUMNS;
    for (int i = 0; i < found; i += every) {
        s->listed[kept++] = s->listed[i];
    }
    s->listed_count = kept;
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static void turned(const double R[9], const column *c, double to[2]) {
    double x = c->x / (double)c->n, y = c->y / (double)c->n;
    to[0] = R[0] * x + R[1] * y;
    to[1] = R[3] * x + R[4] * y;
}

/* The highest of the scores that is no nearer than PC_PEAK_CELLS to one of the `count` peaks before it; the first of
 * equal ones. */
static pc_peak find_peak(uint16_t scores[SPAN][SPAN], int turn, const pc_peak *peaks, int count) {
    pc_peak best = {.score = -1, .turn = turn};
    for (int at = 0; at < SPAN * SPAN; at++) {
        const int dx = at % SPAN - REACH, dy = at / SPAN - REACH;
        bool near = scores[at / SPAN][at % SPAN] <= best.score;
        for (int k = 0; k < count && !near; k++) {
            near = abs(dx - peaks[k].x) < PC_PEAK_CELLS && abs(dy - peaks[k].y) < PC_PEAK_CELLS;
        }
        if (!near) {
            best = (pc_peak){scores[at / SPAN][at % SPAN], turn, dx, dy};
        }
    }
    return best;
}

/* The best translations of a turn; scores of -1 for a turn that is too far. */
static void score_turn(const search *s, int turn, pc_peak peaks[PEAKS]) {
    uint16_t scores[SPAN][SPAN] = {{0}};
    double R[9], to[2];
    for (int i = 0; i < PEAKS; i++) {
        peaks[i] = (pc_peak){.score = -1, .turn = turn};
    }
    if (pc_turns_between(turn, 0) > s->most_turn) {
        return;
    }
    pc_search_rotation(turn, R);
    for (int k = 0; k < s->listed_count; k++) {
        turned(R, &s->source.columns[s->listed[k]], to);
        double i = floor(to[0] / s->source.cell) + WINDOW, j = floor(to[1] / s->source.cell) + WINDOW;
        if (!(i >= 0.0 && i < 2.0 * WINDOW && j >= 0.0 && j < 2.0 * WINDOW)) {
            continue;
        }
        const uint8_t *from = s->blurred + (size_t)j * SIDE + (size_t)i;
        for (int dy = 0; dy < SPAN; dy++) {
            for (int dx = 0; dx < SPAN; dx++) {
                scores[dy][dx] = (uint16_t)(scores[dy][dx] + from[dy * SIDE + dx]);
            }
        }
    }
    for (int i = 0; i < PEAKS; i++) {
        peaks[i] = find_peak(scores, turn, peaks, i);
    }
}

/* The median difference in height of the lowest points, over the columns that meet. */
static double height_of(const search *s, const pc_peak *at, const double R[9]) {
    pc_heights heights = {0};
    double cell = s->source.cell, to[2];
    for (int k = 0; k < 4 * WINDOW * WINDOW; k++) {
        const column *c = &s->source.columns[k];
        if (c->n == 0) {
            continue;
        }
        turned(R, c, to);
        const column *m = column_at(&s->target, to[0] + at->x * cell, to[1] + at->y * cell);
        if (m && m->n > 0) {
            pc_heights_add(&heights, ((double)m->low - (double)c->low) / cell);
        }
    }
    return pc_heights_median(&heights) * cell;
}

/* p_target = R (p_source - its reference) + the target's reference + the translation */
static void transform_of(const search *s, const pc_peak *at, double T[16]) {
    double R[9], t[3];
    pc_search_rotation(at->turn, R);
    const double shift[3] = {at->x * s->source.cell, at->y * s->source.cell, height_of(s, at, R)};
    const double *from = s->source.reference, *to = s->target.reference;
    for (int k = 0; k < 3; k++) {
        const double *row = R + 3 * k;
        t[k] = (to[k] + shift[k]) - ((row[0] * from[0] + row[1] * from[1]) + row[2] * from[2]);
    }
    pc_transform_compose(R, t, T);
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

static double cell_of(const pcgpu_register_params *p, int levels) {
    double spacing = p->voxel > 0.0 ? p->voxel : 0.5 * p->max_distance / (double)(1 << (levels - 1));
    /* more levels of method ndt reach as much farther */
    const int wider = p->method == PCGPU_REGISTER_NDT && levels > PC_NDT_LEVELS ? levels - PC_NDT_LEVELS : 0;
    return CELL_VOXELS * spacing * (double)(1 << wider);
}

static void score_one(void *state, int turn) {
    search *s = state;
    score_turn(s, turn, s->best + turn * PEAKS);
}

static void find_starts(pcgpu_context *context, search *s) {
    blur(s);
    list_columns(s);
    int columns = 0;
    for (int at = 0; at < 4 * WINDOW * WINDOW; at++) {
        columns += counts(&s->target, &s->target.columns[at]);
    }
    if (columns < FEWEST_COLUMNS || s->listed_count < FEWEST_COLUMNS) {
        return;
    }
    pc_run_parts(context, TURNS, score_one, s);
    s->count = pc_peaks_choose(s->best, TURNS * PEAKS, PC_STARTS);
}

static void free_search(search *s) {
    if (s) {
        free(s->source.columns);
        free(s->target.columns);
        free(s->blurred);
        free(s->listed);
        free(s);
    }
}

/* NULL when memory is short. */
static search *new_search(double cell) {
    const size_t columns = (size_t)4 * WINDOW * WINDOW;
    search *s = calloc(1, sizeof *s);
    if (s) {
        s->source.columns = calloc(columns, sizeof(column));
        s->target.columns = calloc(columns, sizeof(column));
        s->blurred = calloc((size_t)SIDE * SIDE, 1);
        s->listed = malloc(columns * sizeof *s->listed);
        s->source.cell = s->target.cell = cell;
    }
    bool good = s && s->source.columns && s->target.columns && s->blurred && s->listed;
    if (!good) {
        free_search(s);
    }
    return good ? s : NULL;
}

static pcgpu_status search_clouds(search *s, pcgpu_context *context, bool drop_origin, const pcgpu_cloud *clouds[2]) {
    const bool sensors = pc_surround_origins(clouds[0], clouds[1], drop_origin);
    picture *pictures[2] = {&s->source, &s->target};
    pcgpu_run ignored = {0};
    pc_points points[2] = {{0}};
    pcgpu_status status = PCGPU_OK;
    if (!sensors && s->most_turn < TURNS / 2) { /* the given start says more than the centroids */
        return PCGPU_OK;
    }
    for (int i = 0; i < 2; i++) {
        PC_TRY_OR(done, status, pc_points_select(context, clouds[i], drop_origin, &points[i], &ignored));
    }
    if (points[0].n > 0 && points[1].n > 0) {
        for (int i = 0; i < 2; i++) {
            if (!sensors) {
                find_reference(&points[i], clouds[i]->offset, pictures[i]->reference);
            }
            fill(pictures[i], &points[i], clouds[i]->offset);
        }
        find_starts(context, s);
    }
done:
    pc_points_free(&points[0]);
    pc_points_free(&points[1]);
    return status;
}

pcgpu_status pc_search_starts(pcgpu_context *context, const pcgpu_register_params *params, double degrees,
                              const pcgpu_cloud *source, const pcgpu_cloud *target, pc_start starts[PC_STARTS],
                              int *count) {
    search *s = new_search(cell_of(params, pc_register_levels(params)));
    *count = 0;
    if (!s) {
        return pc_fail_memory(context, 8 << 20, "the search for a start");
    }
    s->most_turn = (int)(degrees * (TURNS / 360.0));
    pcgpu_status status = search_clouds(s, context, params->drop_origin, (const pcgpu_cloud *[2]){source, target});
    for (int i = 0; i < s->count && status == PCGPU_OK; i++) {
        starts[i].score = s->best[i].score;
        starts[i].levels = 0;
        transform_of(s, &s->best[i], starts[i].T);
        *count = i + 1;
    }
    free_search(s);
    return status;
}
