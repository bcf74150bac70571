/* The room as distances, without a ray cast: what tests compare points with. */
#include "room.h"

#include <math.h>

/* From the distances beyond the sides that meet at a right angle, each negative within. */
static double of_sides(const double *beyond, int count) {
    double outside = 0.0, inside = -INFINITY;
    for (int k = 0; k < count; k++) {
        outside += beyond[k] > 0.0 ? beyond[k] * beyond[k] : 0.0;
        inside = fmax(inside, beyond[k]);
    }
    return outside > 0.0 ? sqrt(outside) : inside;
}

double scene_distance(const scene_shape *s, const double p[3]) {
    double x = p[0] - s->center[0], y = p[1] - s->center[1], z = p[2] - s->center[2];
    if (s->kind == SCENE_SPHERE) {
        return sqrt(x * x + y * y + z * z) - s->size[0];
    }
    if (s->kind == SCENE_DRUM) {
        const double beyond[2] = {sqrt(x * x + y * y) - s->size[0], fabs(z) - s->size[2]};
        return of_sides(beyond, 2);
    }
    const double beyond[3] = {fabs(s->cosine * x + s->sine * y) - s->size[0],
                              fabs(s->cosine * y - s->sine * x) - s->size[1], fabs(z) - s->size[2]};
    return of_sides(beyond, 3);
}

double room_distance(const scene *room, const double p[3]) {
    double least = INFINITY;
    for (int i = 0; i < room->count; i++) {
        least = fmin(least, fabs(scene_distance(&room->shapes[i], p)));
    }
    return least;
}
