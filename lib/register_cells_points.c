/* Registration by cells: the usable points of both clouds, the parts of the source, and where the target's grid lies. */
#include "register_cells.h"
#include "solve.h"

#include <string.h>

#define OFF_ROUND 0.381966011250105 /* of a cell; the golden section is far from all simple fractions */

enum {
    COARSE_LEAST = 8192,
    MIDDLE_LEAST = 16384,
    MIDDLE_MOST = 1 << 18,
};

/* ---- points ----------------------------------------------------------------------------------------------------- */

/* Copies the usable records of [begin, end) after the n points that are there; returns how many there are then. origin:
 * what counts as a record at the origin, NaN for nothing. */
static inline int64_t select_block(const float *data, int columns, int64_t begin, int64_t end, const float origin[3],
                                   int64_t n, pc_point_set *p, pcgpu_run *run) {
    float *x = p->x + n, *y = p->y + n, *z = p->z + n;
    int64_t count = end - begin;
    int32_t usable = 0;
    for (int64_t i = 0; i < count; i++) {
        const float *from = data + (begin + i) * columns;
        float sum = (from[0] - from[0]) + (from[1] - from[1]) + (from[2] - from[2]); /* 0 or NaN */
        x[i] = from[0];
        y[i] = from[1];
        z[i] = from[2];
        usable += (sum == 0.0f) & !((from[0] == origin[0]) & (from[1] == origin[1]) & (from[2] == origin[2]));
    }
    if (usable == (int32_t)count) {
        return n + count;
    }
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        float a = x[i], b = y[i], c = z[i];
        bool finite = pc_is_finite3(a, b, c), zero = a == origin[0] && b == origin[1] && c == origin[2];
        run->non_finite += !finite;
        run->at_origin += zero;
        x[kept] = a;
        y[kept] = b;
        z[kept] = c;
        kept += finite && !zero;
    }
    return n + kept;
}

/* The usable points of a cloud, in memory that the context keeps. */
pcgpu_status pc_cells_select(const pc_cells_work *c, const pcgpu_cloud *cloud, int scratch, pc_point_set *p) {
    enum { AT_A_TIME = 256 };
    pcgpu_context *context = c->w->context;
    pcgpu_run *run = &c->w->result->run;
    size_t rows = (size_t)cloud->rows;
    if (cloud->rows > INT32_MAX) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld points; more than 2^31 are not possible",
                       (long long)cloud->rows);
    }
    p->x = pc_buffer_take(&context->scratch[scratch], 3 * (rows ? rows : 1) * sizeof *p->x, false);
    if (!p->x) {
        return pc_fail_memory(context, rows * 12, "the points");
    }
    p->y = p->x + rows;
    p->z = p->y + rows;
    float origin[3];
    for (int k = 0; k < 3; k++) {
        origin[k] = (float)-cloud->offset[k];
        bool exact = c->w->params->drop_origin && cloud->offset[k] + (double)origin[k] == 0.0;
        origin[k] = exact ? origin[k] : NAN;
    }
    for (int64_t i = 0; i < cloud->rows; i += AT_A_TIME) {
        int64_t end = i + AT_A_TIME < cloud->rows ? i + AT_A_TIME : cloud->rows;
        p->n = cloud->columns == 4 ? select_block(cloud->data, 4, i, end, origin, p->n, p, run)
                                   : select_block(cloud->data, cloud->columns, i, end, origin, p->n, p, run);
    }
    run->points_in += cloud->rows;
    return PCGPU_OK;
}

/* In lanes, which compilers vectorize as they are. */
static void bounds(const float *values, int64_t n, double *low, double *high) {
    enum { L = 16 };
    float least[L], most[L];
    int64_t whole = n / L * L;
    for (int l = 0; l < L; l++) {
        least[l] = most[l] = values[0];
    }
    for (int64_t i = 0; i < whole; i += L) {
        for (int l = 0; l < L; l++) {
            float v = values[i + l];
            least[l] = v < least[l] ? v : least[l];
            most[l] = v > most[l] ? v : most[l];
        }
    }
    for (int64_t i = whole; i < n; i++) {
        least[0] = values[i] < least[0] ? values[i] : least[0];
        most[0] = values[i] > most[0] ? values[i] : most[0];
    }
    for (int l = 1; l < L; l++) {
        least[0] = least[l] < least[0] ? least[l] : least[0];
        most[0] = most[l] > most[0] ? most[l] : most[0];
    }
    *low = (double)least[0];
    *high = (double)most[0];
}

/* What to take off far-away coordinates, where float32 is coarse: the middle of their box in whole metres, which is
 * exact; 0 for coordinates near 0, `other` where it does as well, so that a cloud and itself are treated alike. */
static double shift_of(const double box[2], double other) {
    double middle = floor(0.5 * (box[0] + box[1]) + 0.5), extent = box[1] - box[0];
    return fabs(middle) <= extent ? 0.0 : fabs(middle - other) <= extent ? other : middle;
}

static void shift_axis(float *values, int64_t n, double shift) {
    for (int64_t i = 0; i < n && shift != 0.0; i++) {
        values[i] -= (float)shift;
    }
}

static void find_box(const pc_point_set *p, double box[3][2]) {
    bounds(p->x, p->n, &box[0][0], &box[0][1]);
    bounds(p->y, p->n, &box[1][0], &box[1][1]);
    bounds(p->z, p->n, &box[2][0], &box[2][1]);
}

static int64_t clamped(int64_t n, int64_t least, int64_t most) {
    return n < least ? least : n > most ? most : n;
}

static void choose_parts(pc_cells_work *c) {
    pc_cells_source *s = &c->parts;
    const pc_point_set *all = &c->source;
    const int64_t most[PC_SETS] = {clamped(all->n / 8, COARSE_LEAST, PC_CELLS_MAX_COARSE),
                                   clamped(all->n / 4, MIDDLE_LEAST, MIDDLE_MOST), PC_CELLS_MAX_SOURCE};
    *s = (pc_cells_source){.n = all->n, .x = all->x, .y = all->y, .z = all->z};
    for (int i = 0; i < PC_SETS; i++) {
        s->every[i] = (all->n + most[i] - 1) / most[i];
        s->points[i] = all->n / s->every[i];
    }
}

/* Of the smallest part of the source, which tells where it is. */
static void find_box_of_part(const pc_cells_source *s, double box[3][2]) {
    float low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int64_t i = 0; i < s->points[PC_SET_COARSE]; i++) {
        int64_t at = pc_cells_pick(i, s->every[PC_SET_COARSE]);
        const float p[3] = {s->x[at], s->y[at], s->z[at]};
        for (int k = 0; k < 3; k++) {
            low[k] = p[k] < low[k] ? p[k] : low[k];
            high[k] = p[k] > high[k] ? p[k] : high[k];
        }
    }
    for (int k = 0; k < 3; k++) {
        box[k][0] = (double)low[k];
        box[k][1] = (double)high[k];
    }
}

/* Brings both clouds near 0 and finds the target's box. */
static void center_clouds(pc_cells_work *c, double box[3][2]) {
    double source[3][2];
    find_box(&c->target, box);
    find_box_of_part(&c->parts, source);
    for (int k = 0; k < 3; k++) {
        double target_shift = shift_of(box[k], 0.0), source_shift = shift_of(source[k], target_shift);
        shift_axis(k == 0 ? c->target.x : k == 1 ? c->target.y : c->target.z, c->target.n, target_shift);
        shift_axis(k == 0 ? c->source.x : k == 1 ? c->source.y : c->source.z, c->source.n, source_shift);
        box[k][0] = (double)((float)box[k][0] - (float)target_shift);
        box[k][1] = (double)((float)box[k][1] - (float)target_shift);
        c->w->offset_source[k] += source_shift;
        c->w->offset_target[k] += target_shift;
    }
}

/* ---- the target ------------------------------------------------------------------------------------------------- */

/* The quanta of the target's box, whose corner is a finest cell or more away from the points. Faces of cells keep clear
 * of round coordinates, where walls and floors of made-up scenes lie. */
static pcgpu_status lay_grid(pc_cells_work *c, double edge, double box[3][2]) {
    pc_register_work *w = c->w;
    double wide = edge * (double)(1 << (w->levels - 1));
    c->frame.quantum = edge / (double)(1 << PC_CELLS_BITS);
    c->frame.per_quantum = (double)(1 << PC_CELLS_BITS) / edge;
    for (int k = 0; k < 3; k++) {
        double low = box[k][0], high = box[k][1];
        c->frame.origin[k] = floor((low - edge) / wide) * wide - OFF_ROUND * edge;
        double cells = floor((high - c->frame.origin[k]) / edge) + 2.0;
        if (!(cells < (double)(1 << PC_CELLS_AXIS_BITS))) {
            return pc_fail(
                w->context, PCGPU_ERROR_ARGUMENT,
                "the target spans %.3g m, more than %d cells of %.3g m; remove far outliers or use a larger voxel",
                high - low, 1 << PC_CELLS_AXIS_BITS, edge);
        }
        c->frame.limit[k] = (float)(cells * (double)(1 << PC_CELLS_BITS));
    }
    return PCGPU_OK;
}

pcgpu_status pc_cells_arrange(pc_cells_work *c, double edge) {
    double box[3][2];
    choose_parts(c);
    center_clouds(c, box);
    pc_register_import_pose(c->w);
    return lay_grid(c, edge, box);
}
