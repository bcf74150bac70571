/* Where a ray meets a shape. */
#include "scene.h"

#include <math.h>

/* The slab method in the box's own frame. */
static bool hit_box(const scene_shape *shape, const scene_ray *r, scene_hit *out) {
    double ox = r->origin[0] - shape->center[0], oy = r->origin[1] - shape->center[1];
    double o[3] = {shape->cosine * ox + shape->sine * oy, shape->cosine * oy - shape->sine * ox,
                   r->origin[2] - shape->center[2]};
    double d[3] = {shape->cosine * r->direction[0] + shape->sine * r->direction[1],
                   shape->cosine * r->direction[1] - shape->sine * r->direction[0], r->direction[2]};
    double near = -1e30, far = 1e30;
    int axis = 0;
    for (int k = 0; k < 3; k++) {
        if (fabs(d[k]) < 1e-12) {
            if (fabs(o[k]) > shape->size[k]) {
                return false;
            }
            continue;
        }
        double t0 = (-shape->size[k] - o[k]) / d[k], t1 = (shape->size[k] - o[k]) / d[k];
        double enter = t0 < t1 ? t0 : t1, leave = t0 < t1 ? t1 : t0;
        if (enter > near) {
            near = enter;
            axis = k;
        }
        far = leave < far ? leave : far;
    }
    if (near >= far) {
        return false;
    }
    int other = axis == 0 ? 1 : 0;
    out->distance = near;
    out->leave = far;
    out->incidence = fabs(d[axis]);
    out->side = axis != 2;
    out->along = o[other] + near * d[other] + shape->size[other];
    out->height = o[2] + near * d[2] + shape->size[2];
    return true;
}

/* A sphere, or a vertical cylinder when `flat`: the same quadratic with z left out. */
static bool hit_round(const scene_shape *shape, const scene_ray *r, bool flat, scene_hit *out) {
    double o[3], a = 0.0, b = 0.0, c = -shape->size[0] * shape->size[0];
    int axes = flat ? 2 : 3;
    for (int k = 0; k < 3; k++) {
        o[k] = r->origin[k] - shape->center[k];
    }
    for (int k = 0; k < axes; k++) {
        a += r->direction[k] * r->direction[k];
        b += r->direction[k] * o[k];
        c += o[k] * o[k];
    }
    double root = b * b - a * c;
    if (root <= 0.0 || a < 1e-12) {
        return false;
    }
    root = sqrt(root);
    out->distance = (-b - root) / a;
    out->leave = (-b + root) / a;
    out->incidence = root / shape->size[0];
    out->side = false;
    return !flat || fabs(o[2] + out->distance * r->direction[2]) <= shape->size[2];
}

/* The part of the ray within the round wall, cut by the planes of top and bottom. */
static bool hit_drum(const scene_shape *shape, const scene_ray *r, scene_hit *out) {
    double z = r->origin[2] - shape->center[2], rise = r->direction[2], near = -1e30, far = 1e30;
    double x = r->origin[0] - shape->center[0], y = r->origin[1] - shape->center[1];
    double a = r->direction[0] * r->direction[0] + r->direction[1] * r->direction[1];
    double b = r->direction[0] * x + r->direction[1] * y, c = x * x + y * y - shape->size[0] * shape->size[0];
    double root = b * b - a * c;
    if (a < 1e-12 ? c > 0.0 : root <= 0.0) {
        return false;
    }
    out->incidence = 0.0;
    if (a >= 1e-12) {
        root = sqrt(root);
        near = (-b - root) / a;
        far = (-b + root) / a;
        out->incidence = root / shape->size[0];
    }
    if (fabs(rise) < 1e-12) {
        if (fabs(z) > shape->size[2]) {
            return false;
        }
    } else {
        double t0 = (-shape->size[2] - z) / rise, t1 = (shape->size[2] - z) / rise;
        double enter = t0 < t1 ? t0 : t1, leave = t0 < t1 ? t1 : t0;
        if (enter > near) {
            near = enter;
            out->incidence = fabs(rise);
        }
        far = leave < far ? leave : far;
    }
    out->distance = near;
    out->leave = far;
    out->side = false;
    return near < far;
}

/* True when the ray cannot meet the shape: it passes the middle at more than the circumscribed radius. Saves time. */
static bool misses(const scene_shape *shape, const scene_ray *r) {
    double o[3], along = 0.0, square = 0.0, radius = 0.0;
    for (int k = 0; k < 3; k++) {
        o[k] = shape->center[k] - r->origin[k];
        along += o[k] * r->direction[k];
        square += o[k] * o[k];
        radius += shape->size[k] * shape->size[k];
    }
    return square - along * along > 1.001 * radius || (along < 0.0 && square > 1.001 * radius);
}

bool scene_meets(const scene_shape *shape, const scene_ray *r, scene_hit *out) {
    if (misses(shape, r)) {
        return false;
    }
    *out = (scene_hit){.material = shape->material};
    switch (shape->kind) {
    case SCENE_BOX: return hit_box(shape, r, out);
    case SCENE_DRUM: return hit_drum(shape, r, out);
    default: return hit_round(shape, r, shape->kind == SCENE_CYLINDER, out);
    }
}
