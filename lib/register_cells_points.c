/* Registration by cells: the usable points of both clouds, parts of the source, and where the target's grid lies. */
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

/* One point at random out of every so many in a row: even in space as the order of a scan is, and not in step with the
 * rings or columns of a scanner. */
static void take_set(const pc_point_set *all, int64_t n, float *memory, pc_point_set *out) {
    uint64_t every = (uint64_t)(all->n / n);
    *out = (pc_point_set){n, memory, memory + n, memory + 2 * n};
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i * (int64_t)every + (int64_t)((pc_hash64((uint64_t)i) >> 32) * every >> 32);
        out->x[i] = all->x[at];
        out->y[i] = all->y[at];
        out->z[i] = all->z[at];
    }
}

static int64_t clamped(int64_t n, int64_t least, int64_t most) {
    return n < least ? least : n > most ? most : n;
}

static pcgpu_status take_sets(pc_cells_work *c) {
    const pc_point_set *all = &c->source;
    int64_t sizes[PC_SETS] = {clamped(all->n / 8, COARSE_LEAST, PC_CELLS_MAX_COARSE),
                              clamped(all->n / 4, MIDDLE_LEAST, MIDDLE_MOST), PC_CELLS_MAX_SOURCE};
    size_t bytes = 0;
    for (int i = 0; i < PC_SETS; i++) {
        int64_t every = (all->n + sizes[i] - 1) / sizes[i];
        sizes[i] = all->n / every;
        bytes += sizes[i] < all->n ? 3 * (size_t)sizes[i] * sizeof(float) : 0;
    }
    float *memory = pc_buffer_take(&c->w->context->scratch[PC_SCRATCH_SETS], bytes ? bytes : 1, false);
    if (!memory) {
        return pc_fail_memory(c->w->context, bytes, "parts of the source");
    }
    for (int i = 0; i < PC_SETS; i++) {
        if (sizes[i] < all->n) {
            take_set(all, sizes[i], memory, &c->sets[i]);
            memory += 3 * sizes[i];
        } else {
            c->sets[i] = *all;
        }
    }
    return PCGPU_OK;
}

/* Brings both clouds near 0 and finds the target's box. Part of the source tells where it is. */
static void center_clouds(pc_cells_work *c, double box[3][2]) {
    double source[3][2];
    find_box(&c->target, box);
    find_box(&c->sets[PC_SET_COARSE], source);
    for (int k = 0; k < 3; k++) {
        double target_shift = shift_of(box[k], 0.0), source_shift = shift_of(source[k], target_shift);
        float *target = k == 0 ? c->target.x : k == 1 ? c->target.y : c->target.z;
        shift_axis(target, c->target.n, target_shift);
        box[k][0] = (double)((float)box[k][0] - (float)target_shift);
        box[k][1] = (double)((float)box[k][1] - (float)target_shift);
        for (int i = 0; i < PC_SETS; i++) {
            pc_point_set *set = &c->sets[i];
            bool own = i == 0 || set->x != c->sets[i - 1].x; /* sets may share all of the pc_point_set */
            shift_axis(k == 0 ? set->x : k == 1 ? set->y : set->z, own ? set->n : 0, source_shift);
        }
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
    c->quantum = edge / (double)(1 << PC_CELLS_BITS);
    memset(&c->map, 0, sizeof c->map);
    for (int k = 0; k < 3; k++) {
        double low = box[k][0], high = box[k][1];
        c->origin[k] = floor((low - edge) / wide) * wide - OFF_ROUND * edge;
        double cells = floor((high - c->origin[k]) / edge) + 2.0;
        if (!(cells < (double)(1 << PC_CELLS_AXIS_BITS))) {
            return pc_fail(
                w->context, PCGPU_ERROR_ARGUMENT,
                "the target spans %.3g m, more than %d cells of %.3g m; remove far outliers or use a larger voxel",
                high - low, 1 << PC_CELLS_AXIS_BITS, edge);
        }
        c->map.limit[k] = (float)(cells * (double)(1 << PC_CELLS_BITS));
    }
    return PCGPU_OK;
}

void pc_cells_set_map(const pc_cells_work *c, const pc_pose *pose, pc_cells_map *map) {
    double R[9];
    pc_quaternion_matrix(pose->q, R);
    *map = c->map;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            map->m[4 * i + k] = (float)(R[3 * i + k] / c->quantum);
        }
        map->m[4 * i + 3] = (float)((pose->t[i] - c->origin[i]) / c->quantum);
    }
}

pcgpu_status pc_cells_arrange(pc_cells_work *c, double edge) {
    double box[3][2];
    pcgpu_status status = take_sets(c);
    if (status == PCGPU_OK) {
        center_clouds(c, box);
        pc_register_import_pose(c->w);
        status = lay_grid(c, edge, box);
    }
    return status;
}
