/* Method ndt: usable points of both clouds, parts of the source, layout of the target's grid. */
#include "threads.h"
#include "ndt.h"
#include "simd.h"
#include "solve.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define OFF_ROUND 0.381966011250105 /* of a cell; the golden section is far from all simple fractions */

enum {
    COARSE_LEAST = 8192,
    MIDDLE_LEAST = 16384,
    MIDDLE_MOST = 1 << 18,
    MOST_PARTS = 64,
    POINTS_A_PART = 4096,
};

/* ---- points ------------------------------------------------------------------------------------------------------ */

/* The empty box. */
static const float nowhere[3][2] = {{INFINITY, -INFINITY}, {INFINITY, -INFINITY}, {INFINITY, -INFINITY}};

/* Widens [low, high] to values; in lanes, which compilers vectorize as they are. */
PC_INLINE void widen(const float *values, int64_t n, float range[2]) {
    enum { L = 64 }; /* so many that they stay a loop */
    float least[L], most[L];
    int64_t whole = n / L * L;
    for (int l = 0; l < L; l++) {
        least[l] = range[0];
        most[l] = range[1];
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
    for (int l = 0; l < L; l++) {
        range[0] = least[l] < range[0] ? least[l] : range[0];
        range[1] = most[l] > range[1] ? most[l] : range[1];
    }
}

/* Points selected by a thread: n points from `begin` on. */
typedef struct part {
    int64_t begin, n, non_finite, at_origin;
    float box[3][2];
} part;

/* Copies the usable records of [begin, end) after those that the part has. origin: what counts as a record at the
 * origin, NaN for nothing. */
PC_INLINE void select_block(const float *data, int columns, int64_t begin, int64_t end, const float origin[3],
                            const pc_point_set *p, part *out) {
    const int64_t at = out->begin + out->n, count = end - begin;
    float *x = p->x + at, *y = p->y + at, *z = p->z + at;
    int32_t usable = 0;
    for (int64_t i = 0; i < count; i++) {
        const float *from = data + (begin + i) * columns;
        float sum = (from[0] - from[0]) + (from[1] - from[1]) + (from[2] - from[2]); /* 0 or NaN */
        x[i] = from[0];
        y[i] = from[1];
        z[i] = from[2];
        usable += (sum == 0.0f) & !((from[0] == origin[0]) & (from[1] == origin[1]) & (from[2] == origin[2]));
    }
    int64_t kept = usable == (int32_t)count ? count : 0;
    for (int64_t i = 0; i < count && usable != (int32_t)count; i++) {
        float a = x[i], b = y[i], c = z[i];
        bool finite = pc_is_finite3(a, b, c), zero = a == origin[0] && b == origin[1] && c == origin[2];
        out->non_finite += !finite;
        out->at_origin += zero;
        x[kept] = a;
        y[kept] = b;
        z[kept] = c;
        kept += finite && !zero;
    }
    out->n += kept;
    widen(x, kept, out->box[0]);
    widen(y, kept, out->box[1]);
    widen(z, kept, out->box[2]);
}

PC_INLINE void select_part(const pcgpu_cloud *cloud, int64_t begin, int64_t end, const float origin[3],
                           const pc_point_set *p, part *out) {
    enum { AT_A_TIME = 256 };
    part own = {.begin = begin};
    memcpy(own.box, nowhere, sizeof own.box);
    for (int64_t i = begin; i < end; i += AT_A_TIME) {
        int64_t last = i + AT_A_TIME < end ? i + AT_A_TIME : end;
        if (cloud->columns == 4) {
            select_block(cloud->data, 4, i, last, origin, p, &own);
        } else {
            select_block(cloud->data, cloud->columns, i, last, origin, p, &own);
        }
    }
    *out = own;
}

PC_SIMD_FORMS_OF(select_part,
                 (const pcgpu_cloud *cloud, int64_t begin, int64_t end, const float origin[3], const pc_point_set *p,
                  part *out),
                 (cloud, begin, end, origin, p, out))

/* Concatenates the parts. */
static void join_parts(const part *parts, int count, pc_point_set *p, pcgpu_run *run) {
    memcpy(p->box, nowhere, sizeof p->box);
    for (int i = 0; i < count; i++) {
        const part *from = &parts[i];
        if (from->begin != p->n) {
            size_t bytes = (size_t)from->n * sizeof *p->x;
            memmove(p->x + p->n, p->x + from->begin, bytes);
            memmove(p->y + p->n, p->y + from->begin, bytes);
            memmove(p->z + p->n, p->z + from->begin, bytes);
        }
        p->n += from->n;
        run->non_finite += from->non_finite;
        run->at_origin += from->at_origin;
        for (int k = 0; k < 3; k++) {
            p->box[k][0] = from->box[k][0] < p->box[k][0] ? from->box[k][0] : p->box[k][0];
            p->box[k][1] = from->box[k][1] > p->box[k][1] ? from->box[k][1] : p->box[k][1];
        }
    }
}

/* Memory for the coordinates of so many points: what was given, or the back end's. */
static pcgpu_status take_memory(const pc_ndt_work *c, int which, size_t rows, float **out) {
    void *memory = c->memory[which];
    pcgpu_status status = PCGPU_OK;
    if (!memory) {
        status = c->backend->ndt->memory(c->w->context, which, 3 * (rows ? rows : 1) * sizeof(float), &memory);
    }
    *out = memory;
    return status;
}

/* One cloud of which the usable points are selected. */
typedef struct selection {
    const pcgpu_cloud *cloud;
    pc_point_set *to;
    float origin[3];
    int count;
    pc_simd simd;
    atomic_int done; /* of the parts */
    part parts[MOST_PARTS];
} selection;

enum { TARGET, SOURCE, CLOUDS };

static void lay_selection(const pcgpu_context *context, const pcgpu_cloud *cloud, bool drop_origin, float *memory,
                          pc_point_set *to, selection *s) {
    *to = (pc_point_set){.x = memory, .y = memory + cloud->rows, .z = memory + 2 * cloud->rows};
    pc_cloud_origin(cloud, drop_origin, s->origin);
    const int64_t useful = cloud->rows / POINTS_A_PART;
    s->count = useful < 1 ? 1 : useful < MOST_PARTS ? (int)useful : MOST_PARTS;
    s->simd = pc_context_simd(context);
    s->cloud = cloud;
    s->to = to;
    atomic_init(&s->done, 0);
}

static pcgpu_status prepare_selection(const pc_ndt_work *c, const pcgpu_cloud *cloud, int which, pc_point_set *to,
                                      selection *s) {
    pcgpu_context *context = c->w->context;
    if (cloud->rows > INT32_MAX) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld points; more than 2^31 are not possible",
                       (long long)cloud->rows);
    }
    float *memory = NULL;
    pcgpu_status status = take_memory(c, which, (size_t)cloud->rows, &memory);
    if (status == PCGPU_OK) {
        lay_selection(context, cloud, c->w->params->drop_origin, memory, to, s);
    }
    return status;
}

/* A part of the target, or of the source after those. */
static void select_one(void *state, int i) {
    selection *s = state;
    if (i >= s[TARGET].count) {
        i -= s[TARGET].count;
        s = &s[SOURCE];
    }
    const int64_t rows = s->cloud->rows;
    select_part_for(s->simd)(s->cloud, rows * i / s->count, rows * (i + 1) / s->count, s->origin, s->to, &s->parts[i]);
    atomic_fetch_add(&s->done, 1);
}

static void finish_selection(const selection *s, pcgpu_run *run) {
    join_parts(s->parts, s->count, s->to, run);
    run->points_in += s->cloud->rows;
}

/* By one thread, beside others that do other pairs. */
static pcgpu_status select_alone(pc_ndt_work *c, selection s[CLOUDS], pc_ndt_target_fn *then, pc_ndt_job *job) {
    pcgpu_run *run = &c->w->result->run;
    pc_run_parts(c->w->context, s[TARGET].count + s[SOURCE].count, select_one, s);
    finish_selection(&s[TARGET], run);
    finish_selection(&s[SOURCE], run);
    return then(c, job);
}

void pc_ndt_select_into(pcgpu_context *context, const pcgpu_cloud *cloud, bool drop_origin, float *memory,
                        pc_point_set *p, pcgpu_run *run) {
    selection s;
    lay_selection(context, cloud, drop_origin, memory, p, &s);
    pc_run_parts(context, s.count, select_one, &s);
    finish_selection(&s, run);
}

void pc_ndt_find_box(pc_point_set *p) {
    memcpy(p->box, nowhere, sizeof p->box);
    widen(p->x, p->n, p->box[0]);
    widen(p->y, p->n, p->box[1]);
    widen(p->z, p->n, p->box[2]);
}

/* By all threads: `then` is called as soon as the points of the target are there. */
static pcgpu_status select_single(pc_ndt_work *c, selection s[CLOUDS], pc_ndt_target_fn *then, pc_ndt_job *job) {
    pcgpu_context *context = c->w->context;
    if (!pc_context_team(context)) {
        return pc_fail_memory(context, sizeof(void *) * (size_t)context->threads, "the threads");
    }
    pc_team_begin(context->team, s[TARGET].count + s[SOURCE].count, select_one, s);
    while (atomic_load(&s[TARGET].done) < s[TARGET].count) {
        if (!pc_team_help(context->team)) {
            sched_yield();
        }
    }
    finish_selection(&s[TARGET], &c->w->result->run);
    pcgpu_status status = then(c, job);
    pc_team_end(context->team);
    finish_selection(&s[SOURCE], &c->w->result->run);
    return status;
}

pcgpu_status pc_ndt_select(pc_ndt_work *c, const pcgpu_cloud *source, const pcgpu_cloud *target, pc_ndt_target_fn *then,
                           pc_ndt_job *job) {
    selection s[CLOUDS];
    pcgpu_status status = prepare_selection(c, target, PC_NDT_TARGET, &c->target, &s[TARGET]);
    if (status == PCGPU_OK) {
        status = prepare_selection(c, source, PC_NDT_SOURCE, &c->source, &s[SOURCE]);
    }
    if (status != PCGPU_OK) {
        return status;
    }
    return pc_ndt_is_single(c) ? select_single(c, s, then, job) : select_alone(c, s, then, job);
}

/* The shift of far-away coordinates, where float32 is coarse: the middle of their box in whole metres, which is exact.
 * 0 for coordinates near 0; `other` where that serves as well, so that a cloud and its copy get the same shift. */
static double shift_of(const float range[2], double other) {
    double low = (double)range[0], high = (double)range[1];
    double middle = floor(0.5 * (low + high) + 0.5), extent = high - low;
    return fabs(middle) <= extent ? 0.0 : fabs(middle - other) <= extent ? other : middle;
}

/* Subtracts whole metres from an axis of a cloud and adds them to its offset. */
static void shift_axis(pc_point_set *p, int axis, double shift, double *offset) {
    float *values = axis == 0 ? p->x : axis == 1 ? p->y : p->z;
    if (shift == 0.0) {
        return;
    }
    for (int64_t i = 0; i < p->n; i++) {
        values[i] -= (float)shift;
    }
    p->box[axis][0] -= (float)shift;
    p->box[axis][1] -= (float)shift;
    *offset += shift;
}

void pc_ndt_settle(pc_point_set *p, double offset[3]) {
    enum { MOST_SHIFTS = 3 }; /* one, and another where the middle of few points is half a metre off */
    for (int k = 0; k < 3 && p->n > 0; k++) {
        for (int i = 0; i < MOST_SHIFTS; i++) {
            shift_axis(p, k, shift_of(p->box[k], 0.0), &offset[k]);
        }
    }
}

/* ---- the source -------------------------------------------------------------------------------------------------- */

static int64_t clamped(int64_t n, int64_t least, int64_t most) {
    return n < least ? least : n > most ? most : n;
}

static void choose_parts(pc_ndt_work *c) {
    pc_ndt_source *s = &c->parts;
    const pc_point_set *all = &c->source;
    const int64_t most[PC_SETS] = {clamped(all->n / 8, COARSE_LEAST, PC_NDT_MAX_COARSE),
                                   clamped(all->n / 4, MIDDLE_LEAST, MIDDLE_MOST), PC_NDT_MAX_SOURCE};
    *s = (pc_ndt_source){.n = all->n, .x = all->x, .y = all->y, .z = all->z};
    for (int i = 0; i < PC_SETS; i++) {
        s->every[i] = (all->n + most[i] - 1) / most[i];
        s->points[i] = all->n / s->every[i];
    }
}

void pc_ndt_arrange_source(pc_ndt_work *c) {
    choose_parts(c);
    for (int k = 0; k < 3; k++) {
        shift_axis(&c->source, k, shift_of(c->source.box[k], c->target_shift[k]), &c->w->offset_source[k]);
    }
    pc_register_import_pose(c->w);
}

/* ---- the target -------------------------------------------------------------------------------------------------- */

/* The fixed-point units of the target's box, whose corner is a finest cell or more away from the points. Cell faces
 * avoid round coordinates, where walls and floors of synthetic scenes lie. */
static pcgpu_status lay_grid(pc_ndt_work *c, double edge) {
    pc_register_work *w = c->w;
    double wide = edge * (double)(1 << (w->levels - 1));
    c->frame.unit = edge / (double)(1 << PC_NDT_BITS);
    c->frame.per_unit = (double)(1 << PC_NDT_BITS) / edge;
    for (int k = 0; k < 3; k++) {
        double low = (double)c->target.box[k][0], high = (double)c->target.box[k][1];
        c->frame.origin[k] = floor((low - edge) / wide) * wide - OFF_ROUND * edge;
        double cells = floor((high - c->frame.origin[k]) / edge) + 2.0;
        if (!(cells < (double)(1 << PC_NDT_AXIS_BITS))) {
            return pc_fail(
                w->context, PCGPU_ERROR_ARGUMENT,
                "the target spans %.3g m, more than %d cells of %.3g m; remove far outliers or use a larger voxel",
                high - low, 1 << PC_NDT_AXIS_BITS, edge);
        }
        c->frame.limit[k] = (float)(cells * (double)(1 << PC_NDT_BITS));
    }
    return PCGPU_OK;
}

pcgpu_status pc_ndt_arrange_target(pc_ndt_work *c, double edge) {
    for (int k = 0; k < 3; k++) {
        c->target_shift[k] = shift_of(c->target.box[k], 0.0);
        shift_axis(&c->target, k, c->target_shift[k], &c->w->offset_target[k]);
    }
    return lay_grid(c, edge);
}
