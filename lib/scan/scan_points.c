/* The usable points of a scan as arrays. Parts of the cloud are selected by threads, each into its place, and then
 * concatenated. */
#include "error.h"
#include "scan.h"
#include "temporary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_A_PART = 4096 };

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

/* Copies the usable records of [begin, end) after those that the part has. origin: what counts as a record at the
 * origin, NaN for nothing. */
PC_INLINE void select_block(const float *data, int columns, int64_t begin, int64_t end, const float origin[3],
                            const pc_points *p, pc_selected_part *out) {
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
                           const pc_points *p, pc_selected_part *out) {
    enum { AT_A_TIME = 256 };
    pc_selected_part own = {.begin = begin};
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
                 (const pcgpu_cloud *cloud, int64_t begin, int64_t end, const float origin[3], const pc_points *p,
                  pc_selected_part *out),
                 (cloud, begin, end, origin, p, out))

/* Concatenates the parts. */
static void join_parts(const pc_selected_part *parts, int count, pc_points *p, pcgpu_run *run) {
    memcpy(p->box, nowhere, sizeof p->box);
    for (int i = 0; i < count; i++) {
        const pc_selected_part *from = &parts[i];
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

/* ---- in parts ---------------------------------------------------------------------------------------------------- */

void pc_selection_begin(const pcgpu_context *context, const pcgpu_cloud *cloud, bool drop_origin, float *memory,
                        pc_points *points, pc_selection *s) {
    const int64_t rows = cloud->rows, useful = rows / POINTS_A_PART;
    *points = (pc_points){.x = memory, .y = memory + rows, .z = memory + 2 * rows};
    pc_cloud_origin(cloud, drop_origin, s->origin);
    s->count = useful < 1 ? 1 : useful < PC_SELECTION_PARTS ? (int)useful : PC_SELECTION_PARTS;
    s->simd = pc_context_simd(context);
    s->cloud = cloud;
    s->to = points;
    atomic_init(&s->done, 0);
}

void pc_selection_part(void *selection, int part) {
    pc_selection *s = selection;
    const int64_t rows = s->cloud->rows;
    select_part_for(s->simd)(s->cloud, rows * part / s->count, rows * (part + 1) / s->count, s->origin, s->to,
                             &s->parts[part]);
    atomic_fetch_add(&s->done, 1);
}

void pc_selection_end(const pc_selection *s, pcgpu_run *run) {
    join_parts(s->parts, s->count, s->to, run);
    run->points_in += s->cloud->rows;
}

/* ---- all at once ------------------------------------------------------------------------------------------------- */

void pc_points_select_into(pcgpu_context *context, const pcgpu_cloud *cloud, bool drop_origin, float *memory,
                           pc_points *points, pcgpu_run *run) {
    pc_selection s;
    pc_selection_begin(context, cloud, drop_origin, memory, points, &s);
    pc_run_parts(context, s.count, pc_selection_part, &s);
    pc_selection_end(&s, run);
}

void pc_points_list_rows(const pcgpu_cloud *cloud, bool drop_origin, int32_t *rows) {
    float origin[3];
    pc_cloud_origin(cloud, drop_origin, origin);
    for (int64_t i = 0, n = 0; i < cloud->rows; i++) {
        const float *p = cloud->data + i * cloud->columns;
        if (pc_is_usable(origin, p)) {
            rows[n++] = (int32_t)i;
        }
    }
}

pcgpu_status pc_points_select(pcgpu_context *context, const pcgpu_cloud *cloud, bool drop_origin, pc_points *points,
                              pcgpu_run *run) {
    const size_t rows = (size_t)cloud->rows, bytes = (4 * rows + 1) * sizeof(float);
    *points = (pc_points){0};
    if (cloud->rows > INT32_MAX) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "%lld points; indices are 32 bits wide, so split the cloud below 2^31", (long long)cloud->rows);
    }
    float *memory = malloc(bytes);
    if (!memory) {
        return pc_fail_memory(context, bytes, "the points");
    }
    pc_points_select_into(context, cloud, drop_origin, memory, points, run);
    points->memory = memory;
    if (points->n < cloud->rows) {
        points->rows = (int32_t *)(memory + 3 * rows);
        pc_points_list_rows(cloud, drop_origin, points->rows);
    }
    return PCGPU_OK;
}

void pc_points_free(pc_points *points) {
    pc_release(points->memory);
    *points = (pc_points){0};
}

void pc_points_find_box(pc_points *p) {
    memcpy(p->box, nowhere, sizeof p->box);
    widen(p->x, p->n, p->box[0]);
    widen(p->y, p->n, p->box[1]);
    widen(p->z, p->n, p->box[2]);
}

/* ---- near 0 ------------------------------------------------------------------------------------------------------ */

double pc_points_shift_of(const float range[2], double other) {
    double low = (double)range[0], high = (double)range[1];
    double middle = floor(0.5 * (low + high) + 0.5), extent = high - low;
    return fabs(middle) <= extent ? 0.0 : fabs(middle - other) <= extent ? other : middle;
}

void pc_points_shift(pc_points *p, int axis, double shift, double *offset) {
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

void pc_points_center(pc_points *p, double offset[3]) {
    enum { MOST_SHIFTS = 3 }; /* one, and another where the middle of few points is half a metre off */
    for (int k = 0; k < 3 && p->n > 0; k++) {
        for (int i = 0; i < MOST_SHIFTS; i++) {
            pc_points_shift(p, k, pc_points_shift_of(p->box[k], 0.0), &offset[k]);
        }
    }
}
