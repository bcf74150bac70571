/* Triangles and boxes, by edge functions (Pineda 1988), shaded by the angle of their normals to a light beside the
 * viewer. */
#include "cloud.h"
#include "context.h"
#include "view_draw.h"

typedef struct corner {
    spot s;
    float light; /* 0..1 */
    float value; /* of the scale of colours */
    uint32_t color;
} corner;

static uint32_t lit(uint32_t color, float light) {
    const uint32_t gain = (uint32_t)(256.0f * (light < 1.0f ? light : 1.0f));
    const uint32_t r = (color >> 16 & 255) * gain >> 8, g = (color >> 8 & 255) * gain >> 8,
                   b = (color & 255) * gain >> 8;
    return r << 16 | g << 8 | b;
}

static float lambert(const float n[3]) {
    const float length = sqrtf((n[0] * n[0] + n[1] * n[1]) + n[2] * n[2]);
    const float cosine = length > 0.0f ? fabsf((0.30f * n[0] + 0.42f * n[1]) + 0.857f * n[2]) / length : 0.7f;
    return 0.28f + 0.72f * (cosine < 1.0f ? cosine : 1.0f);
}

/* Directions of the camera from those of the layer. */
static void turn(const layer_camera *l, const float n[3], float out[3]) {
    for (int r = 0; r < 3; r++) {
        out[r] = (l->m[4 * r] * n[0] + l->m[4 * r + 1] * n[1]) + l->m[4 * r + 2] * n[2];
    }
}

static int clamp_to(double v, int low, int high) {
    return v <= (double)low ? low : v >= (double)high ? high : (int)v;
}

static double smallest(double a, double b, double c) {
    const double m = a < b ? a : b;
    return m < c ? m : c;
}

/* A value at the corners, as a plane over the picture. */
typedef struct plane {
    float base, by_v, by_w;
} plane;

static plane plane_of(float a, float b, float c) {
    return (plane){a, b - a, c - a};
}

static float at_plane(const plane *p, float v, float w) {
    return (p->base + p->by_v * v) + p->by_w * w;
}

typedef struct planes {
    plane depth, light, value;
} planes;

static void put_fragment(const drawing *d, const corner c[3], const planes *p, int64_t at, float v, float w,
                         bool scaled) {
    const float depth = at_plane(&p->depth, v, w), u = (1.0f - v) - w;
    if (!(depth > 0.0f) ||
        __atomic_load_n(&d->canvas->keys[at], __ATOMIC_RELAXED) >= key_of(depth, d->index, 0xffffff)) {
        return; /* hidden: keys only grow */
    }
    const uint32_t color = scaled ? pc_palette_color(&d->painter, at_plane(&p->value, v, w))
                                  : c[u >= v && u >= w ? 0
                                      : v >= w         ? 1
                                                       : 2]
                                        .color;
    put(d->canvas, at, key_of(depth, d->index, lit(color, at_plane(&p->light, v, w))));
}

/* Narrows the samples [*first, *last) of a row to those where base + slope * (x - from) may be 0 or more. */
static void narrow(double base, double slope, double from, int *first, int *last) {
    const double zero = slope != 0 ? from - base / slope : 0;
    if (slope > 0 && zero - 2 > (double)*first) {
        *first = clamp_to(zero - 2, *first, *last);
    } else if (slope < 0 && zero + 2 < (double)*last) {
        *last = clamp_to(zero + 2, *first, *last);
    } else if (slope == 0 && base < 0) {
        *last = *first;
    }
}

/* Samples whose middle is in the triangle, an edge included. */
static void fill(const drawing *d, const corner c[3]) {
    const canvas *to = d->canvas;
    const double ax = (double)c[0].s.x, ay = (double)c[0].s.y, bx = (double)c[1].s.x - ax, by = (double)c[1].s.y - ay;
    const double cx = (double)c[2].s.x - ax, cy = (double)c[2].s.y - ay, area = bx * cy - by * cx;
    if (!(area - area == 0) || area == 0) {
        return;
    }
    const int x0 = clamp_to(ax + smallest(0, bx, cx), 0, to->width),
              x1 = clamp_to(ax - smallest(0, -bx, -cx) + 1, 0, to->width);
    const int y0 = clamp_to(ay + smallest(0, by, cy), 0, to->height),
              y1 = clamp_to(ay - smallest(0, -by, -cy) + 1, 0, to->height);
    const double vx = cy / area, vy = -cx / area, wx = -by / area, wy = bx / area;
    const planes p = {plane_of(c[0].s.depth, c[1].s.depth, c[2].s.depth), plane_of(c[0].light, c[1].light, c[2].light),
                      plane_of(c[0].value, c[1].value, c[2].value)};
    const bool scaled = pc_layer_is_scaled(d->layer);
    for (int y = y0; y < y1; y++) {
        const double py = (double)y + 0.5 - ay, v0 = py * vy, w0 = py * wy;
        int first = x0, last = x1;
        narrow(v0, vx, ax - 0.5, &first, &last);
        narrow(w0, wx, ax - 0.5, &first, &last);
        narrow(1 - v0 - w0, -vx - wx, ax - 0.5, &first, &last);
        for (int x = first; x < last; x++) {
            const double px = (double)x + 0.5 - ax, v = v0 + px * vx, w = w0 + px * wx;
            if (v >= 0 && w >= 0 && v + w <= 1) {
                put_fragment(d, c, &p, (int64_t)y * to->width + x, (float)v, (float)w, scaled);
            }
        }
    }
}

/* ---- meshes ------------------------------------------------------------------------------------------------------ */

/* Of the layer, by the order of the corners. */
static void face_normal(const float *const p[3], float n[3]) {
    float e[2][3];
    for (int k = 0; k < 3; k++) {
        e[0][k] = p[1][k] - p[0][k];
        e[1][k] = p[2][k] - p[0][k];
    }
    for (int k = 0; k < 3; k++) {
        n[k] = e[0][(k + 1) % 3] * e[1][(k + 2) % 3] - e[0][(k + 2) % 3] * e[1][(k + 1) % 3];
    }
}

/* The back of a surface, by its normals, is dark and lies behind all that is seen from its front: one looks into a room
 * from outside. The samples of depth of a scene are fewer. */
enum { BEHIND = 1 << 19 };

static bool is_back(const corner c[3], const float face[3], const float *const p[3], int normal) {
    float along = 0.0f;
    for (int k = 0; k < 3; k++) {
        along += face[k] * ((p[0][normal + k] + p[1][normal + k]) + p[2][normal + k]);
    }
    const float order = (c[1].s.x - c[0].s.x) * (c[2].s.y - c[0].s.y) - (c[1].s.y - c[0].s.y) * (c[2].s.x - c[0].s.x);
    return along > 0.0f ? order > 0.0f : along < 0.0f && order < 0.0f;
}

static void draw_mesh_range(void *state, int64_t begin, int64_t end) {
    const drawing *d = state;
    const pc_layer *l = d->layer;
    const int normal = pc_normal_column(&l->cloud);
    for (int64_t i = begin; i < end; i++) {
        const float *p[3];
        corner c[3];
        bool seen = true;
        for (int k = 0; k < 3; k++) {
            const int64_t row = l->indices[3 * i + k];
            p[k] = pc_layer_row(l, row);
            seen = seen && pc_layer_shows(l, p[k]) && project(&d->camera, p[k], &c[k].s);
            c[k].color = pc_color_of(&d->painter, p[k], row);
            c[k].value = pc_layer_is_scaled(l) ? pc_layer_value(l, p[k], row) : 0.0f;
        }
        if (!seen) {
            continue;
        }
        float face[3];
        face_normal(p, face);
        const bool back = normal >= 0 && is_back(c, face, p, normal);
        for (int k = 0; k < 3; k++) {
            float n[3];
            turn(&d->camera, normal >= 0 ? p[k] + normal : face, n);
            c[k].light = lambert(n) * (back ? 0.4f : 1.0f);
            c[k].s.depth += back ? (float)BEHIND : 0.0f;
        }
        fill(d, c);
    }
}

void draw_triangles(const drawing *d) {
    if (d->layer->triangles == 0) {
        draw_points(d);
        return;
    }
    pc_run_ranges(d->context, d->layer->triangles, 1 << 12, draw_mesh_range, (void *)(uintptr_t)d);
}

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

/* The face of an axis and side, as two triangles. */
static void draw_face(const drawing *d, const corner corners[8], int axis, int side) {
    const int a = 1 << (axis + 1) % 3, b = 1 << (axis + 2) % 3, base = side << axis;
    const int at[4] = {base, base + a, base + a + b, base + b};
    float n[3] = {0, 0, 0}, turned[3];
    n[axis] = 1.0f;
    turn(&d->camera, n, turned);
    /* a box hides the faces that look away from the viewer, by the order of their corners in the picture */
    const spot *p = &corners[at[0]].s, *q = &corners[at[1]].s, *r = &corners[at[2]].s;
    const float order = (q->x - p->x) * (r->y - p->y) - (q->y - p->y) * (r->x - p->x);
    if (side ? order > 0.0f : order < 0.0f) {
        return;
    }
    corner c[4];
    for (int k = 0; k < 4; k++) {
        c[k] = corners[at[k]];
        c[k].light = 0.35f + 0.65f * lambert(turned); /* their colours are values */
    }
    fill(d, c);
    c[1] = c[0];
    fill(d, c + 1);
}

enum { SMALL = 4 * SAMPLES };

/* Faces of few pixels would only be darker than a point. */
static bool is_small(const corner corners[8]) {
    float low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int k = 0; k < 8; k++) {
        const float at[2] = {corners[k].s.x, corners[k].s.y};
        for (int a = 0; a < 2; a++) {
            low[a] = at[a] < low[a] ? at[a] : low[a];
            high[a] = at[a] > high[a] ? at[a] : high[a];
        }
    }
    return high[0] - low[0] < (float)SMALL && high[1] - low[1] < (float)SMALL;
}

static void draw_box_range(void *state, int64_t begin, int64_t end) {
    const drawing *d = state;
    const pc_layer *l = d->layer;
    for (int64_t i = begin; i < end; i++) {
        const float *p = pc_layer_row(l, i);
        corner corners[8];
        bool seen = pc_layer_shows(l, p);
        for (int k = 0; k < 8 && seen; k++) {
            float q[3];
            for (int a = 0; a < 3; a++) { /* a little smaller than the voxel, so that neighbours differ */
                q[a] = p[a] + (k >> a & 1 ? 0.96f : -0.96f) * l->half[a];
            }
            corners[k].color = pc_color_of(&d->painter, p, i);
            corners[k].value = pc_layer_is_scaled(l) ? pc_layer_value(l, p, i) : 0.0f;
            seen = project(&d->camera, q, &corners[k].s);
        }
        if (seen && is_small(corners)) {
            const float grown = d->point_size * corners[0].s.grow + 0.5f;
            splat(d->canvas, corners[0].s.x, corners[0].s.y,
                  grown < 1.0f    ? 1
                  : grown < SMALL ? (int)grown
                                  : SMALL,
                  key_of(corners[0].s.depth, d->index, pc_color_of(&d->painter, p, i)));
            continue;
        }
        for (int face = 0; face < 6 && seen; face++) {
            draw_face(d, corners, face / 2, face % 2);
        }
    }
}

void draw_boxes(const drawing *d) {
    pc_run_ranges(d->context, d->layer->cloud.rows, 1 << 11, draw_box_range, (void *)(uintptr_t)d);
}
