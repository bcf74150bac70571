/* The camera: the directions of right and up, and limits by percentiles, so that a few outliers do not make the scene a
 * dot. */
#include "context.h"
#include "view_draw.h"

#include <stdlib.h>

enum { MOST = 1 << 15, CELL = 8 * SAMPLES, FEW = 5000 };

/* A sample of the points that are shown, of all layers, in the coordinates of the camera. */
typedef struct points {
    float *xyz; /* scene */
    float *u, *v, *w;
    int64_t n, lines; /* the last `lines` of n are poses, all of which are shown */
    int64_t step;     /* one of so many points */
} points;

static void take_points(const pc_scene *scene, bool lines, points *p) {
    for (int i = 0; i < scene->count; i++) {
        const pc_layer *l = &scene->layers[i];
        const int64_t step = lines ? l->cloud.rows / MOST + 1 : p->step;
        for (int64_t k = 0; (l->kind == PC_LINE) == lines && k < l->cloud.rows && p->n < 2 * MOST; k += step) {
            const float *q = pc_layer_row(l, k);
            for (int a = 0; a < 3 && pc_layer_shows(l, q); a++) {
                p->xyz[3 * p->n + a] = (float)((double)q[a] + l->origin[a]);
            }
            p->n += pc_layer_shows(l, q);
        }
    }
}

static pcgpu_status sample_points(pcgpu_context *context, const pc_scene *scene, points *p) {
    int64_t rows = 0;
    for (int i = 0; i < scene->count; i++) {
        rows += scene->layers[i].kind == PC_LINE ? 0 : scene->layers[i].cloud.rows;
    }
    p->step = rows / MOST + 1;
    p->xyz = malloc((size_t)2 * MOST * 6 * sizeof *p->xyz);
    if (!p->xyz) {
        return pc_fail_memory(context, (uint64_t)2 * MOST * 6 * sizeof *p->xyz, "the view");
    }
    p->u = p->xyz + (size_t)2 * MOST * 3;
    p->v = p->u + (size_t)2 * MOST;
    p->w = p->v + (size_t)2 * MOST;
    take_points(scene, false, p);
    if (p->n == 0) { /* points may be rare among records that are not shown */
        p->step = 1;
        take_points(scene, false, p);
    }
    const int64_t others = p->n;
    take_points(scene, true, p);
    p->lines = p->n - others;
    return p->n > 0 ? PCGPU_OK
                    : pc_fail(context, PCGPU_ERROR_FORMAT, "%s: no usable point to show; check the input",
                              scene->layers[0].name);
}

/* ---- directions -------------------------------------------------------------------------------------------------- */

static void cross(const double a[3], const double b[3], double out[3]) {
    for (int k = 0; k < 3; k++) {
        out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
    }
}

static void unit(double a[3]) {
    const double length = sqrt((a[0] * a[0] + a[1] * a[1]) + a[2] * a[2]);
    for (int k = 0; k < 3; k++) {
        a[k] /= length;
    }
}

/* Right, ahead and up of someone in the scene: x and y where z is up, x and z where -y is, as for a camera. */
static void axes(pc_up up, double right[3], double ahead[3], double upward[3]) {
    static const signed char table[7][3] = {/* 1 + the axis, with its sign; UP_AUTO is not here */
                                            {1, 2, 3},  {2, 3, 1},  {1, -3, 2}, {1, 2, 3},
                                            {3, 2, -1}, {1, 3, -2}, {1, -2, -3}};
    double *const to[3] = {right, ahead, upward};
    for (int i = 0; i < 3; i++) {
        const int axis = table[up][i];
        for (int k = 0; k < 3; k++) {
            to[i][k] = k == abs(axis) - 1 ? (axis < 0 ? -1 : 1) : 0;
        }
    }
}

/* The sum of the normals of meshes. */
static void add_normals(const pc_scene *scene, double sum[3]) {
    for (int i = 0; i < scene->count; i++) {
        const pc_layer *l = &scene->layers[i];
        const int normal = l->kind == PC_TRIANGLES && l->triangles > 0 ? pc_normal_column(&l->cloud) : -1;
        for (int64_t row = 0; normal >= 0 && row < l->cloud.rows; row++) {
            for (int k = 0; k < 3; k++) {
                const double n = (double)pc_layer_row(l, row)[normal + k];
                sum[k] += fabs(n) <= 1.0 ? n : 0.0;
            }
        }
    }
}

/* From behind, to the right of it, and above; after the quarter turns that show most of the front of a mesh. */
static void look_from_above(const pc_scene *scene, const double right[3], const double ahead[3], const double up[3],
                            double w[3]) {
    static const double sides[4][2] = {{-0.62, -0.62}, {0.62, -0.62}, {0.62, 0.62}, {-0.62, 0.62}};
    double normals[3] = {0, 0, 0}, most = -INFINITY;
    add_normals(scene, normals);
    for (int i = 0; i < 4; i++) {
        double to[3], front = 0.0;
        for (int k = 0; k < 3; k++) {
            to[k] = (sides[i][0] * right[k] + sides[i][1] * ahead[k]) + 0.58 * up[k];
            front += to[k] * normals[k];
        }
        if (front > most) {
            most = front;
            memcpy(w, to, sizeof to);
        }
    }
    unit(w);
}

static void set_basis(const pc_scene *scene, pc_from from, camera *c) {
    double right[3], ahead[3], up[3];
    double *u = c->basis, *v = c->basis + 3, *w = c->basis + 6;
    axes(scene->up, right, ahead, up);
    for (int k = 0; k < 3; k++) {
        u[k] = from == PC_FROM_SIDE ? ahead[k] : right[k];
        v[k] = from == PC_FROM_TOP || from == PC_FROM_SENSOR ? ahead[k] : up[k];
        w[k] = from == PC_FROM_TOP || from == PC_FROM_SENSOR ? up[k] : from == PC_FROM_SIDE ? right[k] : -ahead[k];
    }
    if (from == PC_FROM_ISO) {
        look_from_above(scene, right, ahead, up, w);
        cross(up, w, u);
        unit(u);
        cross(w, u, v);
    }
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

/* From the first to the last percentile and an eighth more on both sides, but not beyond the points. */
static void limits_of(const float *values, int64_t n, int64_t lines, bool exact, double limits[2]) {
    double low = (double)pc_quantile(values, n, 0), high = (double)pc_quantile(values, n, 1);
    if (!exact && n > lines) {
        const double a = (double)pc_quantile(values, n - lines, 0.01), b = (double)pc_quantile(values, n - lines, 0.99);
        low = low > a - 0.125 * (b - a) ? low : a - 0.125 * (b - a);
        high = high < b + 0.125 * (b - a) ? high : b + 0.125 * (b - a);
    }
    for (int64_t i = n - lines; i < n; i++) {
        low = (double)values[i] < low ? (double)values[i] : low;
        high = (double)values[i] > high ? (double)values[i] : high;
    }
    limits[0] = low;
    limits[1] = high;
}

static void to_camera(const camera *c, points *p) {
    for (int64_t i = 0; i < p->n; i++) {
        const float *q = p->xyz + 3 * i;
        float out[3];
        for (int r = 0; r < 3; r++) {
            const double *b = c->basis + 3 * r;
            out[r] = (float)((b[0] * ((double)q[0] - c->center[0]) + b[1] * ((double)q[1] - c->center[1])) +
                             b[2] * ((double)q[2] - c->center[2]));
        }
        p->u[i] = out[0];
        p->v[i] = out[1];
        p->w[i] = out[2];
    }
}

/* The middle of the robust bounds becomes the center; returns half their diagonal. */
static double find_center(camera *c, points *p) {
    double middle[3], square = 0;
    const float *const values[3] = {p->u, p->v, p->w};
    to_camera(c, p);
    for (int r = 0; r < 3; r++) {
        double limits[2];
        limits_of(values[r], p->n, p->lines, false, limits);
        middle[r] = 0.5 * (limits[0] + limits[1]);
        square += 0.25 * (limits[1] - limits[0]) * (limits[1] - limits[0]);
    }
    for (int k = 0; k < 3; k++) {
        c->center[k] += (c->basis[k] * middle[0] + c->basis[3 + k] * middle[1]) + c->basis[6 + k] * middle[2];
    }
    to_camera(c, p);
    const double size = sqrt((c->center[0] * c->center[0] + c->center[1] * c->center[1]) + c->center[2] * c->center[2]);
    const double radius = sqrt(square), least = size * 1e-5 > 1e-6 ? size * 1e-5 : 1e-6;
    return radius > least ? radius : least;
}

/* Where the points fall on the plane of the picture, without its scale. */
static void flatten(const camera *c, points *p) {
    int64_t n = 0, lines = 0;
    for (int64_t i = 0; i < p->n; i++) {
        const float u = p->u[i], v = p->v[i], w = p->w[i];
        bool keep = true;
        float x = u, y = v;
        if (c->kind == PERSPECTIVE) {
            const float d = c->distance - w;
            keep = d > c->near;
            x = u * (c->distance / d);
            y = v * (c->distance / d);
        } else if (c->kind == SPHERICAL) {
            x = -pc_atan2(v, u);
            y = pc_atan2(w, sqrtf(u * u + v * v));
        }
        if (keep) {
            p->u[n] = x;
            p->v[n] = y;
            lines += i >= p->n - p->lines;
            n++;
        }
    }
    p->n = n;
    p->lines = lines;
}

static void fit(const pc_scene *scene, const pc_view *view, points *p, bool exact, camera *c) {
    double x[2], y[2];
    float margins[4];
    legend_margins(scene, view, margins);
    limits_of(p->u, p->n, p->lines, exact, x);
    limits_of(p->v, p->n, p->lines, exact, y);
    const double wide = (double)((float)view->width - margins[0] - margins[1]);
    const double high = (double)((float)view->height - margins[2] - margins[3]);
    const double least = c->kind == PERSPECTIVE || c->kind == ORTHOGRAPHIC ? 1e-9 : 1e-3;
    double sx = x[1] - x[0] > least ? wide / (x[1] - x[0]) : 1e30,
           sy = y[1] - y[0] > least ? high / (y[1] - y[0]) : 1e30;
    if (c->kind != SPHERICAL) {
        sx = sx < sy ? sx : sy;
        sy = sx;
    }
    sx = sx > 1e29 ? wide / 2 : sx; /* one point: two metres, or radians */
    sy = sy > 1e29 ? wide / 2 : sy;
    c->scale[0] = (float)(SAMPLES * sx);
    c->scale[1] = (float)(SAMPLES * sy);
    c->at[0] = (float)(SAMPLES * ((double)margins[0] + 0.5 * wide - 0.5 * (x[0] + x[1]) * sx));
    c->at[1] = (float)(SAMPLES * ((double)margins[2] + 0.5 * high + 0.5 * (y[0] + y[1]) * sy));
}

/* ---- the size of points ------------------------------------------------------------------------------------------ */

/* In cells of 8 pixels, the median number of points gives their distance; the size closes a surface without hiding a
 * thin scan. In samples; 0 without memory. */
static float size_of_points(const pc_view *view, const points *p, const camera *c) {
    if (c->kind == SPHERICAL) {
        return 1.5f * SAMPLES; /* the rows are closed afterwards */
    }
    const int across = view->width * SAMPLES / CELL + 1, down = view->height * SAMPLES / CELL + 1;
    int32_t *cells = calloc((size_t)across * (size_t)down, sizeof *cells);
    float size = SAMPLES;
    if (!cells) {
        return 0;
    }
    int64_t histogram[256] = {0}, occupied = 0, seen = 0;
    for (int64_t i = 0; i < p->n - p->lines; i++) {
        const float x = (c->at[0] + c->scale[0] * p->u[i]) / CELL, y = (c->at[1] - c->scale[1] * p->v[i]) / CELL;
        if (x >= 0.0f && y >= 0.0f && x < (float)across && y < (float)down) {
            cells[(int64_t)y * across + (int64_t)x]++;
        }
    }
    for (int64_t i = 0; i < (int64_t)across * down; i++) {
        histogram[cells[i] < 255 ? cells[i] : 255]++;
        occupied += cells[i] > 0;
    }
    int median = 0;
    while (median < 255 && 2 * seen < occupied) {
        seen += histogram[++median];
    }
    free(cells);
    if (occupied > 0) {
        const float each = (float)(CELL * CELL) / ((float)median * (float)p->step);
        size = 1.5f * sqrtf(each);
    }
    /* few points are larger, and never invisible */
    const int64_t n = p->n < 16 * occupied ? p->n : 16 * occupied;
    const float few = n < FEW ? 5.0f * (float)(FEW - n) / FEW : 0.0f, least = 1.5f + few, most = (3.0f + few) * SAMPLES;
    return size < least ? least : size > most ? most : size;
}

layer_camera camera_of_layer(const camera *c, const pc_layer *layer) {
    layer_camera l = {.c = c};
    for (int r = 0; r < 3; r++) {
        const double *b = c->basis + 3 * r;
        double t = 0;
        for (int k = 0; k < 3; k++) {
            l.m[4 * r + k] = (float)b[k];
            t += b[k] * (layer->origin[k] - c->center[k]);
        }
        l.m[4 * r + 3] = (float)t;
    }
    return l;
}

/* Half the largest diagonal of a box: boxes reach so far beyond their centres. */
static double reach_of_boxes(const pc_scene *scene) {
    double reach = 0;
    for (int i = 0; i < scene->count; i++) {
        const float *h = scene->layers[i].half;
        const double own = sqrt((double)((h[0] * h[0] + h[1] * h[1]) + h[2] * h[2]));
        reach = scene->layers[i].kind == PC_BOXES && own > reach ? own : reach;
    }
    return reach;
}

static void set_depths(const pc_scene *scene, const pc_view *view, const points *p, double radius, camera *c) {
    if (c->kind == ORTHOGRAPHIC) {
        double w[2];
        limits_of(p->w, p->n, 0, true, w);
        c->back = (float)(w[1] + reach_of_boxes(scene) + 0.01 * radius + 1e-30);
        c->depth_scale = c->scale[0];
    } else {
        c->depth_scale = c->kind == PERSPECTIVE ? c->distance * c->scale[0]
                         : c->kind == PIXELS    ? 0.9f * (float)(view->width * SAMPLES)
                                                : c->scale[0];
    }
}

pcgpu_status camera_place(pcgpu_context *context, const pc_scene *scene, const pc_view *view, camera *c,
                          float *point_size) {
    points p = {0};
    const pc_from from = view->from == PC_FROM_AUTO ? PC_FROM_ISO : view->from;
    const bool image = scene->layers[0].kind == PC_IMAGE;
    *c = (camera){.kind = image                    ? PIXELS
                          : from == PC_FROM_ISO    ? PERSPECTIVE
                          : from == PC_FROM_SENSOR ? SPHERICAL
                                                   : ORTHOGRAPHIC};
    pcgpu_status status = sample_points(context, scene, &p);
    if (status == PCGPU_OK) {
        set_basis(scene, image ? PC_FROM_TOP : from, c);
        double radius = 1;
        if (c->kind == PERSPECTIVE || c->kind == ORTHOGRAPHIC) {
            radius = find_center(c, &p);
        } else {
            to_camera(c, &p);
        }
        c->distance = (float)(2.4 * radius);
        c->near = c->kind == PERSPECTIVE ? 0.05f * c->distance : 0.0f;
        flatten(c, &p);
        fit(scene, view, &p, image, c);
        set_depths(scene, view, &p, radius, c);
        *point_size = size_of_points(view, &p, c);
        status = *point_size > 0 ? PCGPU_OK
                                 : pc_fail_memory(context, (uint64_t)view->width * (uint64_t)view->height, "the view");
    }
    free(p.xyz);
    return status;
}
