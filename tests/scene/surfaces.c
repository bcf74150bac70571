/* Scenes whose surfaces are known: a ray cast with planes for the ground and shapes for the rest. */
#include "surfaces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what stands in a scene -------------------------------------------------------------------------------------- */

/* Ground: z = height + along * x + across * y above a rectangle. */
typedef struct piece {
    double x0, x1, y0, y1, height, along, across;
} piece;

typedef struct world {
    int pieces, shapes;
    piece piece[64];
    scene_shape shape[4096];
    bool hill; /* the ground is hill_height, without pieces */
    test_random random;
} world;

static double hill_height(double x, double y) {
    return 6.0 * sin(x / 23.0) * cos(y / 31.0) + 0.12 * x;
}

static void add_piece(world *w, double x0, double x1, double y0, double y1, double height, double along) {
    w->piece[w->pieces++] = (piece){x0, x1, y0, y1, height, along, 0.0};
}

/* The height of the ground, the highest piece; -1e9 where there is none. */
static double height_at(const world *w, double x, double y) {
    double height = w->hill ? hill_height(x, y) : -1e9;
    for (int i = 0; i < w->pieces; i++) {
        const piece *p = &w->piece[i];
        const double z = p->height + p->along * x + p->across * y;
        height = x >= p->x0 && x < p->x1 && y >= p->y0 && y < p->y1 && z > height ? z : height;
    }
    return height;
}

static void add_shape(world *w, scene_kind kind, scene_material material, double x, double y, double low, double high,
                      double length, double width) {
    w->shape[w->shapes++] = (scene_shape){.kind = kind,
                                          .material = material,
                                          .center = {x, y, (low + high) / 2.0},
                                          .size = {length / 2.0, width / 2.0, (high - low) / 2.0},
                                          .cosine = 1.0};
}

/* Between these heights above the ground at its middle. */
static void add_box(world *w, double x, double y, double low, double high, double length, double width) {
    const double z = height_at(w, x, y);
    add_shape(w, SCENE_BOX, SCENE_PLASTER, x, y, z + low, z + high, length, width);
}

static void add_car(world *w, double x, double y) {
    add_box(w, x, y, 0.25, 0.85, 4.3, 1.8);
    add_box(w, x - 0.3, y, 0.85, 1.5, 2.2, 1.6);
    for (int k = 0; k < 4; k++) {
        add_box(w, x + (k & 1 ? 1.4 : -1.4), y + (k & 2 ? 0.75 : -0.75), 0.0, 0.6, 0.6, 0.2);
    }
}

static void add_tree(world *w, double x, double y, double size) {
    const double z = height_at(w, x, y);
    add_shape(w, SCENE_CYLINDER, SCENE_BARK, x, y, z - 1.0, z + size, 0.3, 0.3);
    add_shape(w, SCENE_SPHERE, SCENE_LEAVES, x, y, z + size, z + 2.0 * size, size, size);
}

static void add_trees(world *w, int count, double x0, double x1, double y0, double y1) {
    for (int i = 0; i < count; i++) {
        const double x = scene_between(&w->random, x0, x1), y = scene_between(&w->random, y0, y1);
        add_tree(w, x, y, scene_between(&w->random, 2.0, 4.0));
        if (i % 3 == 0) { /* a bush */
            const double z = height_at(w, x + 3.0, y);
            add_shape(w, SCENE_SPHERE, SCENE_LEAVES, x + 3.0, y, z - 0.3, z + 1.2, 1.5, 1.5);
        }
    }
}

/* A street along x: cars at its sides, walls of houses. */
static void add_street(world *w, double wall) {
    for (int i = -9; i < 10; i++) {
        const double side = i % 2 ? 1.0 : -1.0;
        add_car(w, 9.0 * i + scene_between(&w->random, -1.0, 1.0) + (i == 0 ? 4.0 : 0.0), side * 4.5);
        if (wall > 0.0) {
            for (int k = -1; k < 2; k += 2) {
                add_box(w, 9.0 * i, k * (wall + 4.0), -1.0, scene_between(&w->random, 5.0, 12.0), 8.0, 8.0);
            }
        }
        add_box(w, 9.0 * i + 4.0, side * 6.5, 0.0, 5.0, 0.2, 0.2); /* a pole */
        add_box(w, 11.0 * i + 2.0, 1.5 * side, 0.0, 1.7, 0.4, 0.5);
    }
}

/* ---- scenes ------------------------------------------------------------------------------------------------------ */

static void make_flat(world *w) {
    add_piece(w, -200, 200, -200, 200, 0, 0);
    add_street(w, 10.0);
}

static void make_slope(world *w) {
    add_piece(w, -200, 200, -200, 200, 0, 0.1);
    add_street(w, 10.0);
}

static void make_ramp(world *w) {
    add_piece(w, -200, 12, -200, 200, 0, 0);
    add_piece(w, 12, 200, -200, 200, -1.8, 0.15);
    add_street(w, 10.0);
}

static void make_kerbs(world *w) {
    add_piece(w, -200, 200, -5.7, 5.7, 0, 0);
    for (int k = -1; k < 2; k += 2) {
        add_piece(w, -200, 200, k < 0 ? -200 : 5.7, k < 0 ? -5.7 : 200, 0.15, 0);
        add_box(w, 0, k * 105.7, -1.0, -0.001, 400, 200);
    }
    add_street(w, 12.0);
}

static void make_trees(world *w) {
    add_piece(w, -200, 200, -200, 200, 0, 0.03);
    add_trees(w, 150, -60, 60, 6, 60);
    add_trees(w, 150, -60, 60, -60, -6);
}

static void make_underpass(world *w) {
    add_piece(w, -200, 200, -200, 200, 0, 0);
    add_street(w, 0.0);
    add_box(w, 20, 0, 4.7, 6.0, 12, 120);
    for (int k = -1; k < 2; k += 2) {
        add_box(w, 20, k * 39, 0.0, 6.5, 12, 60);
        add_box(w, 20 + k * 6, 0, 6.0, 7.0, 0.3, 120);
    }
}

static void make_bridge(world *w) {
    add_piece(w, -200, 200, -200, 200, -7, 0);
    add_piece(w, -60, 60, -5, 5, 0, 0);
    add_shape(w, SCENE_BOX, SCENE_PLASTER, 0, 0, -1.0, -0.001, 120, 10);
    for (int k = -1; k < 2; k += 2) {
        for (int i = -30; i < 31; i++) { /* a railing */
            add_box(w, 2.0 * i, 4.8 * k, 0.0, 1.0, 0.1, 0.1);
        }
        add_box(w, 0, 4.8 * k, 0.9, 1.0, 120, 0.1);
        add_car(w, 12.0 * k, -2.0);
    }
}

static void make_terrace(world *w) {
    add_piece(w, -200, 200, -200, 6, 0, 0);
    add_piece(w, -200, 200, 6, 200, 2.0, 0.0);
    add_box(w, 0, 106, -3.0, -0.001, 400, 200);
    add_piece(w, -200, 200, -200, -8, -2.5, 0.0);
    w->piece[0].y0 = -8;
    add_box(w, 0, -1, -3.0, -0.001, 400, 14);
    add_street(w, 0.0);
}

static void make_indoor(world *w) {
    add_piece(w, -6, 6, -5, 5, 0, 0);
    add_piece(w, 6, 16, -1, 1, 0, 0);
    add_box(w, 0, 0, 2.7, 2.9, 14, 12);
    add_shape(w, SCENE_BOX, SCENE_PLASTER, 11, 0, 2.5, 2.7, 10, 2.2);
    for (int k = -1; k < 2; k += 2) {
        add_shape(w, SCENE_BOX, SCENE_PLASTER, 0, k * 5.1, 0, 2.8, 12.4, 0.2);
        add_shape(w, SCENE_BOX, SCENE_PLASTER, 11, k * 1.1, 0, 2.8, 10.0, 0.2);
        add_shape(w, SCENE_BOX, SCENE_PLASTER, 6.1, k * 3.1, 0, 2.8, 0.2, 4.0);
        for (int i = -1; i < 2; i++) {
            const double x = 3.5 * i, y = 3.0 * k;
            add_box(w, x, y, 0.72, 0.75, 1.6, 0.8);
            for (int j = 0; j < 4; j++) {
                add_box(w, x + (j & 1 ? 0.75 : -0.75), y + (j & 2 ? 0.35 : -0.35), 0.0, 0.72, 0.05, 0.05);
            }
            add_box(w, x, y - 0.8 * k, 0.42, 0.46, 0.45, 0.45);
            add_box(w, x, y - 1.0 * k, 0.46, 0.9, 0.45, 0.04);
            add_box(w, x + 1.4, y - 0.3, 0.0, 0.6, 0.4, 0.5);
        }
    }
    add_shape(w, SCENE_BOX, SCENE_PLASTER, -6.1, 0, 0, 2.8, 0.2, 10.4);
    add_shape(w, SCENE_BOX, SCENE_PLASTER, 16.1, 0, 0, 2.8, 0.2, 2.4);
}

static void make_hill(world *w) {
    w->hill = true;
    add_trees(w, 250, -75, 75, 10, 75);
    for (int i = 0; i < 12; i++) {
        const double x = -60.0 + 22.0 * (i % 6), y = -65.0 + 40.0 * (i / 6);
        add_box(w, x, y, -9.0, scene_between(&w->random, 4.0, 9.0), scene_between(&w->random, 8.0, 16.0),
                scene_between(&w->random, 8.0, 25.0));
    }
}

/* ---- sensors ----------------------------------------------------------------------------------------------------- */

typedef struct sensor {
    int beams, steps;
    double low, high, width; /* of the view, degrees */
    double height, noise;
    bool carrier; /* the roof of the vehicle is seen */
    int below;    /* one of so many returns is a reflection that seems to come from below the ground; 0: none */
} sensor;

static const sensor spinning = {64, 2000, -24.8, 2.0, 360, 1.73, 0.015, false, 0},
                    reflections = {64, 2000, -24.8, 2.0, 360, 1.73, 0.015, false, 300},
                    sparse = {32, 1085, -30.0, 10.0, 360, 1.84, 0.02, true, 0},
                    solid = {128, 600, -16.0, 9.0, 70, 1.0, 0.02, false, 0},
                    robot = {16, 1800, -15.0, 15.0, 360, 0.5, 0.015, false, 0},
                    dense = {64, 1800, -25.0, 25.0, 360, 0.5, 0.01, false, 0},
                    above = {0, 600, 0, 0, 160, 0, 0.03, false, 0};

static const struct {
    const char *name;
    void (*make)(world *w);
    const sensor *sensor;
} scenes[] = {
    {"flat", make_flat, &spinning},      {"slope", make_slope, &spinning},     {"ramp", make_ramp, &spinning},
    {"kerbs", make_kerbs, &spinning},    {"trees", make_trees, &spinning},     {"underpass", make_underpass, &spinning},
    {"bridge", make_bridge, &spinning},  {"terrace", make_terrace, &spinning}, {"reflections", make_flat, &reflections},
    {"flat_32", make_flat, &sparse},     {"slope_32", make_slope, &sparse},    {"flat_solid", make_kerbs, &solid},
    {"slope_solid", make_slope, &solid}, {"robot_street", make_kerbs, &robot}, {"indoor_16", make_indoor, &robot},
    {"indoor_64", make_indoor, &dense},  {"hill", make_hill, &above},
};

/* The nearest surface along the ray; false: none. */
static bool cast(world *w, const scene_ray *r, double *range, bool *ground) {
    double nearest = w->hill ? 1e9 : 120.0;
    bool found = false;
    if (w->hill) {
        double t = 500.0;
        for (int k = 0; k < 20; k++) {
            t += (r->origin[2] + t * r->direction[2] -
                  hill_height(r->origin[0] + t * r->direction[0], r->origin[1] + t * r->direction[1])) /
                 -r->direction[2];
        }
        nearest = t, found = *ground = true;
    }
    for (int i = 0; i < w->pieces; i++) {
        const piece *p = &w->piece[i];
        const double fall = r->direction[2] - p->along * r->direction[0] - p->across * r->direction[1];
        const double t = (p->height + p->along * r->origin[0] + p->across * r->origin[1] - r->origin[2]) /
                         (fall == 0.0 ? 1.0 : fall);
        const double x = r->origin[0] + t * r->direction[0], y = r->origin[1] + t * r->direction[1];
        if (fall < 0.0 && t > 0.5 && t < nearest && x >= p->x0 && x < p->x1 && y >= p->y0 && y < p->y1) {
            nearest = t, found = *ground = true;
        }
    }
    for (int i = 0; i < w->shapes; i++) {
        scene_hit h;
        if (scene_meets(&w->shape[i], r, &h) && h.distance < nearest && h.distance > 0.3) {
            if (w->shape[i].material == SCENE_LEAVES) { /* somewhere within, or not at all */
                h.distance += test_unit(&w->random) * (h.leave - h.distance);
                if (test_unit(&w->random) < 0.4 || h.distance >= nearest) {
                    continue;
                }
            }
            nearest = h.distance, found = true, *ground = false;
        }
    }
    *range = nearest;
    return found;
}

static void aim(world *w, const sensor *s, int beam, int step, scene_ray *ray) {
    const double pi = 3.14159265358979323846;
    *ray = (scene_ray){{0, 0, 0}, {0, 0, -1}, 0};
    if (s->beams) {
        const double up = (s->low + (s->high - s->low) * beam / (s->beams - 1)) * pi / 180.0;
        const double turn = (s->width * step / s->steps - s->width / 2.0) * pi / 180.0;
        ray->direction[0] = cos(up) * cos(turn);
        ray->direction[1] = cos(up) * sin(turn);
        ray->direction[2] = sin(up);
        return;
    }
    for (int k = 0; k < 2; k++) { /* from an aircraft */
        ray->origin[k] = scene_between(&w->random, -s->width / 2.0, s->width / 2.0);
    }
    ray->origin[2] = 500.0;
    ray->direction[0] = 0.1;
    ray->direction[2] = -sqrt(0.99);
}

int surfaces_count(void) {
    return (int)(sizeof scenes / sizeof scenes[0]);
}

const char *surfaces_name(int number) {
    return scenes[number].name;
}

float *surfaces_make(int number, int64_t *count) {
    const sensor *s = scenes[number].sensor;
    const int beams = s->beams ? s->beams : 100;
    world *w = calloc(1, sizeof *w);
    float *points = malloc((size_t)beams * (size_t)s->steps * 4 * sizeof *points);
    if (!w || !points) {
        exit(1);
    }
    w->random.state = (uint64_t)number + 1;
    scenes[number].make(w);
    for (int i = 0; i < w->shapes; i++) { /* the sensor is the origin */
        w->shape[i].center[2] -= s->height;
    }
    for (int i = 0; i < w->pieces; i++) {
        w->piece[i].height -= s->height;
    }
    if (s->carrier) {
        add_shape(w, SCENE_BOX, SCENE_PAINT, 0.5, 0, -1.5, -0.5, 4.0, 1.8);
    }
    *count = 0;
    for (int beam = 0; beam < beams; beam++) {
        for (int step = 0; step < s->steps; step++) {
            scene_ray ray;
            double range;
            bool ground;
            aim(w, s, beam, step, &ray);
            if (cast(w, &ray, &range, &ground)) {
                float *p = points + 4 * (*count)++;
                range += s->noise * scene_gauss(&w->random);
                if (s->below && test_bits(&w->random) % (uint64_t)s->below == 0) {
                    range *= scene_between(&w->random, 1.1, 2.5), ground = false;
                }
                for (int k = 0; k < 3; k++) {
                    p[k] = (float)(ray.origin[k] + range * ray.direction[k]);
                }
                p[3] = ground ? 1.0f : 0.0f;
            }
        }
    }
    free(w);
    return points;
}
