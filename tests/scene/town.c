/* What stands along a path. Everything has a place of its own in the sequence of random numbers, so that a car which
 * differs leaves the rest of the town as it is. */
#include "town.h"

#include "pieces.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MIDDLE_LEFT -SENSOR_V /* the middle of the road is left of the path */
#define SIGHT       (SCENE_MAX_RANGE + 12.0)
#define OPEN_EVERY  850.0 /* metres: centres of the stretches without houses, the first at OPEN_FIRST */
#define OPEN_FIRST  420.0
#define OPEN_RADIUS 75.0
#define PARKING     1   /* seed of the cars that are exchanged */
#define LANE_LEFT   3.4 /* of the oncoming cars, left of the path */

/* ---- what is free ----------------------------------------------------------------------------------------------- */

/* Numbers of one thing: `kind` says what, `index` which. */
static test_random numbers_of(uint64_t seed, uint64_t kind, int64_t index) {
    test_random random = {seed * 0x9E3779B97F4A7C15u + kind * 0xD1B54A32D192ED03u +
                          (uint64_t)index * 0x8CB92BA72F3D8DD7u};
    test_unit(&random);
    return random;
}

enum { HOUSES = 1, YARDS, CARS, WHICH_CARS, TREES, LAMPS, MEADOWS, TRAFFIC };

static builder builder_at(const town *t, scene *into, const path_place *at, test_random random) {
    builder b = {.street = into, .random = random, .origin = {at->x, at->y}, .degrees = path_degrees(at)};
    scene_direction(b.degrees, &b.cosine, &b.sine);
    b.base = terrain_height(&t->ground, at->x, at->y) + SCENE_SENSOR_HEIGHT;
    b.deep = 2.0;
    return b;
}

/* Where u, v of a builder is. */
static void world_of(const builder *b, double u, double v, double *x, double *y) {
    v -= SENSOR_V;
    *x = b->origin[0] + (b->cosine * u - b->sine * v);
    *y = b->origin[1] + (b->sine * u + b->cosine * v);
}

/* The heights of what stands at v are above the ground there. */
static void stand(const town *t, builder *b, double u, double v) {
    double x, y;
    world_of(b, u, v, &x, &y);
    b->base = terrain_height(&t->ground, x, y) + SCENE_SENSOR_HEIGHT;
}

static unsigned char *built_at(const town *t, double x, double y) {
    int i = (int)(x - t->ground.low[0]), j = (int)(y - t->ground.low[1]);
    i = i < 0 ? 0 : i >= t->ground.columns ? t->ground.columns - 1 : i;
    j = j < 0 ? 0 : j >= t->ground.rows ? t->ground.rows - 1 : j;
    return t->built + (size_t)j * (size_t)t->ground.columns + (size_t)i;
}

static bool is_open(const town *t, double x, double y) {
    for (double metres = OPEN_FIRST; metres < t->way.places; metres += OPEN_EVERY) {
        path_place at = path_at(&t->way, metres);
        double dx = at.x - x, dy = at.y - y;
        if (dx * dx + dy * dy < OPEN_RADIUS * OPEN_RADIUS) {
            return true;
        }
    }
    return false;
}

/* Whether u0..u1 x v0..v1 is `off` metres from the middle of every road, without a house and not on an open stretch;
 * when `build`, a house stands there from now on. */
static bool is_free(const town *t, const builder *b, const double u[2], const double v[2], double off, bool build) {
    for (int pass = 0; pass < (build ? 2 : 1); pass++) {
        for (double along = u[0]; along <= u[1]; along += 0.7) {
            for (double across = v[0]; across <= v[1]; across += 0.7) {
                double x, y;
                world_of(b, along, across, &x, &y);
                if (pass) {
                    *built_at(t, x, y) = 1;
                } else if (terrain_off_road(&t->ground, x, y) < off || *built_at(t, x, y) || is_open(t, x, y)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static bool is_free_side(const town *t, const builder *b, double side, double from, double to, double length,
                         double off, bool build) {
    const double u[2] = {1.0 - length / 2, length / 2 - 1.0} /* houses of a row touch */,
                 v[2] = {side > 0.0 ? from : -to, side > 0.0 ? to : -from};
    return is_free(t, b, u, v, off, build);
}

/* ---- what stands ------------------------------------------------------------------------------------------------ */

/* Houses in a row, a wall where only a wall fits. Behind the row stands another. */
static void add_houses(town *t, double side) {
    int64_t index = side > 0.0 ? 0 : 1000000;
    for (double way = 0.0; way < t->way.places; index++) {
        test_random random = numbers_of(t->settings.layout, HOUSES, index);
        double length = scene_between(&random, 9.0, 19.0), gap = test_unit(&random);
        path_place at = path_at(&t->way, way + length / 2);
        builder b = builder_at(t, &t->all, &at, random);
        stand(t, &b, 0.0, side * FRONT_V);
        if (is_free_side(t, &b, side, FRONT_V, FRONT_V + 16.0, length, 8.4, true)) {
            piece_house(&b, side, -length / 2, length / 2);
            way += length + (gap < 0.3 ? 2.0 + 7.0 * gap : 0.1);
            continue;
        }
        if (is_free_side(t, &b, side, FRONT_V, FRONT_V + 3.0, 5.0, 8.4, true)) {
            piece_box(&b, gap < 0.5 ? SCENE_BRICK : SCENE_LEAVES, 0.0, side * (FRONT_V + 1.0), 5.0, 0.5, -2.0, 1.7,
                      0.0);
        }
        way += 4.0;
    }
}

static void add_yards(town *t, double side) {
    for (int64_t i = 0; i < t->way.places / 17; i++) {
        test_random random = numbers_of(t->settings.layout, YARDS, side > 0.0 ? i : i + 1000000);
        path_place at = path_at(&t->way, 17.0 * (double)i);
        builder b = builder_at(t, &t->all, &at, random);
        double length = piece_between(&b, 8.0, 15.0), depth = piece_between(&b, 6.0, 12.0);
        double front = piece_between(&b, 31.0, 46.0), height = piece_between(&b, 4.0, 12.0);
        double degrees = piece_between(&b, -20.0, 20.0);
        stand(t, &b, 0.0, side * front);
        if (is_free_side(t, &b, side, front - 2.0, front + depth + 2.0, length + 4.0, 14.0, true)) {
            piece_box(&b, SCENE_PLASTER, 0.0, side * (front + depth / 2), length, depth, -2.0, height, degrees);
        }
    }
}

/* A place at the kerb is free when no lane leads over it, and no car stands there from another pass. */
static void add_parked_cars(town *t) {
    const double slot = 7.0;
    for (int64_t i = 0; i < 2 * (int64_t)(t->way.places / slot); i++) {
        double side = i % 2 ? -1.0 : 1.0, v = side * 4.85, x, y;
        path_place at = path_at(&t->way, slot * (double)(i / 2));
        test_random which = numbers_of(PARKING, WHICH_CARS, i);
        bool other = test_unit(&which) < t->settings.exchange;
        builder b = builder_at(t, &t->all, &at, numbers_of(other ? ~(uint64_t)PARKING : t->settings.layout, CARS, i));
        const double u_range[2] = {-2.5, 2.5}, v_range[2] = {v - 0.3, v + 0.3};
        stand(t, &b, 0.0, v);
        world_of(&b, 0.0, v, &x, &y);
        /* Places are taken whether or not a car stands there: an exchanged car must not free the next place. */
        if (is_free(t, &b, u_range, v_range, 4.4, true) && piece_chance(&b, 0.62)) {
            double aside = piece_between(&b, -0.15, 0.15), degrees = piece_between(&b, -1.5, 1.5);
            piece_car(&b, 0.0, v + aside, degrees + (side > 0.0 ? 180.0 : 0.0));
        }
    }
}

static void add_green(town *t) {
    for (int64_t i = 0; i < 2 * (t->way.places / 12); i++) {
        double side = i % 2 ? -1.0 : 1.0;
        path_place at = path_at(&t->way, 12.0 * (double)(i / 2));
        builder b = builder_at(t, &t->all, &at, numbers_of(t->settings.layout, TREES, i));
        double u = piece_between(&b, -3.0, 3.0), v = side * piece_between(&b, 6.8, 7.4);
        double near = v - 0.6, far = v + 0.6;
        const double u_range[2] = {u - 0.6, u + 0.6}, v_range[2] = {near, far};
        stand(t, &b, u, v);
        if (piece_chance(&b, 0.5) && is_free(t, &b, u_range, v_range, 6.2, true)) {
            piece_tree(&b, u, v);
        }
    }
    for (int64_t i = 0; i < t->way.places / 26; i++) {
        path_place at = path_at(&t->way, 26.0 * (double)i + 5.0);
        builder b = builder_at(t, &t->all, &at, numbers_of(t->settings.layout, LAMPS, i));
        const double u_range[2] = {-0.5, 0.5}, v_range[2] = {-7.1, -6.1};
        stand(t, &b, 0.0, -6.6);
        if (is_free(t, &b, u_range, v_range, 6.2, true)) {
            piece_lamp(&b, 0.0, -6.6);
            piece_sign(&b, piece_between(&b, 4.0, 9.0), -6.5, piece_between(&b, -9.0, 9.0));
        }
    }
}

/* An open stretch has trees and bushes in the meadows, and posts at the road. */
static void add_meadows(town *t) {
    for (int64_t i = 0; i < t->way.places / 4; i++) {
        path_place at = path_at(&t->way, 4.0 * (double)i);
        builder b = builder_at(t, &t->all, &at, numbers_of(t->settings.layout, MEADOWS, i));
        double u = piece_between(&b, -4.0, 4.0), far = test_unit(&b.random), kind = test_unit(&b.random), x, y;
        double v = (8.0 + 32.0 * far * far) * (piece_chance(&b, 0.5) ? 1.0 : -1.0);
        world_of(&b, u, v, &x, &y);
        if (!is_open(t, x, y) || terrain_off_road(&t->ground, x, y) < 7.5) {
            continue;
        }
        stand(t, &b, u, v);
        if (kind < 0.3) {
            piece_tree(&b, u, v);
        } else {
            double radius = piece_between(&b, 0.5, 1.3);
            piece_sphere(&b, SCENE_LEAVES, u, v, radius, 0.6 * radius);
        }
        if (i % 3 == 0) {
            double side = i % 2 ? 6.8 : -6.8;
            stand(t, &b, 0.0, side);
            piece_cylinder(&b, SCENE_METAL, 0.0, side, 0.09, -0.5, 1.1);
        }
    }
}

/* ---- a sensor in it ---------------------------------------------------------------------------------------------- */

void town_pose(const town *t, double frame, double left, scene_pose *pose) {
    path_pose(&t->way, frame, pose);
    double *at = pose->position, x = at[0], y = at[1], side[2] = {pose->rotation[1], pose->rotation[4]};
    double length = sqrt(side[0] * side[0] + side[1] * side[1]);
    at[0] += left * side[0] / length;
    at[1] += left * side[1] / length;
    at[2] += terrain_height(&t->ground, at[0], at[1]) - terrain_height(&t->ground, x, y);
}

/* 0 until `begin`, 1 from `frames` later on. */
static double ramp(double frame, double begin, double frames) {
    double at = (frame - begin) / frames;
    at = at < 0.0 ? 0.0 : at > 1.0 ? 1.0 : at;
    return at * at * (3.0 - 2.0 * at);
}

enum { AHEAD, BEHIND, ONCOMING }; /* ONCOMING + i: the i-th of them */

/* Where on the way, and how far left of the path, a car is at a frame; false when it is not in sight.
 * One drives ahead for 300 of every 500 frames, one behind: they come from 80 m, keep 13 and 16 m, and leave. */
static bool find_car(const town *t, int car, double frame, double *metres, double *left) {
    const drive_path *way = &t->way;
    if (car < ONCOMING) {
        double of_500 = frame - 500.0 * floor(frame / 500.0), begin = car == AHEAD ? 40.0 : 150.0;
        double away = 1.0 - ramp(of_500, begin, 80.0) + ramp(of_500, begin + 220.0, 80.0);
        *metres = path_metres(way, frame) + (car == AHEAD ? 13.0 + 75.0 * away : -16.0 - 75.0 * away);
        *left = t->settings.lane;
        return of_500 > begin && of_500 < begin + 300.0 && *metres > 0.0 && *metres < way->places - 1;
    }
    int index = car - ONCOMING;
    test_random random = numbers_of(t->settings.layout, TRAFFIC, index);
    double meet = 25.0 + 60.0 * index + 30.0 * test_unit(&random), speed = scene_between(&random, 0.6, 1.2);
    *metres = path_metres(way, meet) - speed * (frame - meet);
    *left = t->settings.lane > LANE_LEFT / 2 ? 0.0 : LANE_LEFT;
    return fabs(frame - meet) < 100.0 && *metres > 0.0 && *metres < way->places - 1;
}

static path_place lane_place(const town *t, double metres, double left) {
    path_place at = path_at(&t->way, metres);
    at.x -= left * at.sine;
    at.y += left * at.cosine;
    return at;
}

/* Cars that differ from each other, but not from frame to frame. */
static void add_moving_cars(const town *t, double frame, scene *into) {
    int first = (int)(frame / 60.0) - 2;
    for (int k = 0; k < 8; k++) {
        int car = k < ONCOMING ? k : ONCOMING + first + k - ONCOMING;
        double metres[3], left;
        if (car < 0 || (k >= ONCOMING && car < ONCOMING) || !find_car(t, car, frame, &metres[1], &left)) {
            continue;
        }
        find_car(t, car, frame - 0.5, &metres[0], &left);
        find_car(t, car, frame + 0.5, &metres[2], &left);
        path_place before = lane_place(t, metres[0], left), at = lane_place(t, metres[1], left),
                   after = lane_place(t, metres[2], left);
        builder b = builder_at(t, into, &at, numbers_of(t->settings.layout, TRAFFIC, 1000 + car));
        int i = into->count;
        piece_car(&b, 0.0, SENSOR_V, car < ONCOMING ? 0.0 : 180.0);
        for (; i < into->count; i++) {
            into->shapes[i].moves = true;
            into->shapes[i].velocity[0] = after.x - before.x;
            into->shapes[i].velocity[1] = after.y - before.y;
        }
    }
}

typedef struct nearby {
    double distance;
    int index;
} nearby;

static int by_distance(const void *a, const void *b) {
    const nearby *one = a, *two = b;
    return one->distance < two->distance ? -1 : one->distance > two->distance ? 1 : one->index - two->index;
}

void town_around(const town *t, double frame, const scene_pose *pose, scene *near) {
    static nearby list[SCENE_MAX_SHAPES];
    int count = 0;
    near->count = 0;
    near->ground = &t->ground;
    if (t->settings.moving_cars) {
        add_moving_cars(t, frame, near);
    }
    for (int i = 0; i < t->all.count; i++) {
        const scene_shape *shape = &t->all.shapes[i];
        double x = shape->center[0] - pose->position[0], y = shape->center[1] - pose->position[1];
        double reach = SIGHT + shape->size[0] + shape->size[1], square = x * x + y * y;
        if (square < reach * reach) {
            list[count++] = (nearby){square, i};
        }
    }
    qsort(list, (size_t)count, sizeof *list, by_distance);
    for (int i = 0; i < count && near->count < SCENE_MAX_SHAPES; i++) {
        near->shapes[near->count++] = t->all.shapes[list[i].index];
    }
}

/* ---- the town ---------------------------------------------------------------------------------------------------- */

bool town_build(town *t, const char *path_name, const town_settings *settings) {
    t->settings = *settings;
    t->built = NULL;
    t->all.count = 0;
    t->ground = (terrain){.heights = NULL};
    if (!path_read(&t->way, path_name)) {
        return false;
    }
    if (terrain_make(&t->ground, &t->way, MIDDLE_LEFT)) {
        t->built = calloc((size_t)t->ground.columns, (size_t)t->ground.rows);
    }
    if (!t->built) {
        fprintf(stderr, "drive: %s: memory ends, or the way leads more than 20 km away\n", path_name);
        return false;
    }
    for (int i = 0; i < t->way.count; i++) {
        double *at = t->way.frames[i].position;
        at[2] = terrain_height(&t->ground, at[0], at[1]) + SCENE_SENSOR_HEIGHT;
    }
    add_houses(t, 1.0);
    add_houses(t, -1.0);
    add_yards(t, 1.0);
    add_yards(t, -1.0);
    add_parked_cars(t);
    add_green(t);
    add_meadows(t);
    if (t->all.count == SCENE_MAX_SHAPES) {
        fprintf(stderr, "drive: %s: the town has more than %d shapes\n", path_name, SCENE_MAX_SHAPES);
    }
    return t->all.count < SCENE_MAX_SHAPES;
}

void town_free(town *t) {
    path_free(&t->way);
    terrain_free(&t->ground);
    free(t->built);
}
