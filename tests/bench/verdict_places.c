/* bench_verdict: the kinds of worlds, along the x axis where they have a direction. */
#include "verdict.h"

#include <math.h>

/* Draws stand in declarations of their own: C leaves the order within an expression open. */
static double between(test_random *r, double low, double high) {
    return scene_between(r, low, high);
}

static bool chance(test_random *r, double share) {
    return test_unit(r) < share;
}

/* A box on the ground by its middle, full length and width, lower and upper height. */
static verdict_shape *box(verdict_world *w, scene_material material, double x, double y, double length, double width,
                          double low, double high, double degrees) {
    const double center[3] = {x, y, verdict_height(w, x, y) + (low + high) / 2};
    const double size[3] = {length / 2, width / 2, (high - low) / 2};
    return verdict_add(w, SCENE_BOX, material, center, size, degrees);
}

static verdict_shape *post(verdict_world *w, scene_material material, double x, double y, double radius, double low,
                           double high) {
    const double center[3] = {x, y, verdict_height(w, x, y) + (low + high) / 2};
    const double size[3] = {radius, radius, (high - low) / 2};
    return verdict_add(w, SCENE_CYLINDER, material, center, size, 0.0);
}

/* ---- things ---- */

/* Spheres at random within an ellipsoid: rays pass between them. */
static void crown(verdict_world *w, test_random *r, double x, double y, double h, double across, double up, int count) {
    double foot = verdict_height(w, x, y);
    for (int i = 0; i < count;) {
        double u = between(r, -1.0, 1.0), v = between(r, -1.0, 1.0), t = between(r, -1.0, 1.0);
        if (u * u + v * v + t * t <= 1.0) {
            double radius = between(r, 0.08, 0.22);
            const double center[3] = {x + across * u, y + across * v, foot + h + up * t};
            const double size[3] = {radius, radius, radius};
            verdict_add(w, SCENE_SPHERE, SCENE_LEAVES, center, size, 0.0);
            i++;
        }
    }
}

static void tree(verdict_world *w, test_random *r, double x, double y) {
    double clear = between(r, 1.8, 3.5), up = between(r, 1.2, 2.6), across = between(r, 1.0, 2.4);
    double radius = between(r, 0.08, 0.3);
    int count = (int)between(r, 40.0, 110.0);
    post(w, SCENE_BARK, x, y, radius, -0.3, clear + up);
    crown(w, r, x, y, clear + up, across, up, count);
}

static void bush(verdict_world *w, test_random *r, double x, double y) {
    double up = between(r, 0.4, 1.0), across = between(r, 0.5, 1.3);
    crown(w, r, x, y, up, across, up, (int)(40 * across));
}

static void car(verdict_world *w, test_random *r, double x, double y, double degrees, double speed) {
    bool van = chance(r, 0.2);
    double length = between(r, 3.8, 5.2), width = between(r, 1.65, 1.95), roof = between(r, 1.4, 1.6);
    roof += van ? 0.7 : 0.0;
    double belt = van ? 1.05 : 0.88, c = cos(degrees * 0.0174533), s = sin(degrees * 0.0174533);
    for (int i = 0; i < 2; i++) {
        verdict_shape *part =
            i == 0 ? box(w, SCENE_PAINT, x, y, length, width, 0.22, belt, degrees)
                   : box(w, van ? SCENE_PAINT : SCENE_GLASS, x - 0.05 * c * length, y - 0.05 * s * length,
                         length * (van ? 0.86 : 0.52), width - 0.22, belt, roof, degrees);
        part->speed[0] = speed * c; /* now: the next one may move it */
        part->speed[1] = speed * s;
    }
    for (int i = 0; i < 4; i++) {
        double along = (i & 1 ? 0.31 : -0.31) * length, across = (i & 2 ? 0.5 : -0.5) * (width - 0.2);
        verdict_shape *wheel =
            box(w, SCENE_CLOTH, x + c * along - s * across, y + s * along + c * across, 0.6, 0.2, 0.0, 0.6, degrees);
        wheel->speed[0] = speed * c;
        wheel->speed[1] = speed * s;
    }
}

static void person(verdict_world *w, test_random *r, double x, double y, double speed) {
    double tall = between(r, 1.5, 1.9), angle = between(r, 0.0, 6.2832), wide = between(r, 0.18, 0.28);
    verdict_shape *body = post(w, SCENE_CLOTH, x, y, wide, 0.0, tall);
    body->speed[0] = speed * cos(angle);
    body->speed[1] = speed * sin(angle);
}

static void house(verdict_world *w, test_random *r, double side, double front, double x0, double x1) {
    double setback = chance(r, 0.4) ? between(r, 0.5, 3.0) : 0.0, depth = between(r, 8.0, 14.0);
    double tall = between(r, 4.0, 18.0), turn = between(r, -2.0, 2.0), x = (x0 + x1) / 2;
    scene_material wall = chance(r, 0.7) ? SCENE_PLASTER : SCENE_BRICK;
    front += setback;
    box(w, wall, x, side * (front + depth / 2), x1 - x0, depth, -1.0, tall, turn);
    if (chance(r, 0.35)) { /* a bay */
        double at = between(r, x0 + 1.0, x1 - 1.0), wide = between(r, 1.8, 3.0);
        box(w, SCENE_BRICK, at, side * front, wide, 1.4, -0.5, tall * 0.7, turn);
    }
    for (double h = 3.1; h < tall - 2.0 && chance(r, 0.5); h += 3.1) { /* balconies */
        double at = x0 + (x1 - x0) * 0.3;
        box(w, SCENE_PAVING, at, side * (front - 0.5), 3.2, 1.0, h - 0.15, h, turn);
        box(w, SCENE_METAL, at, side * (front - 0.97), 3.2, 0.06, h, h + 0.9, turn);
    }
    if (setback > 1.0) {
        double tall_wall = between(r, 0.6, 1.6);
        box(w, SCENE_BRICK, x, side * (front - setback), x1 - x0 - 3.0, 0.25, -0.3, tall_wall, turn);
    }
}

/* ---- worlds ---- */

static void street(verdict_world *w, test_random *r) {
    double grade = between(r, -0.04, 0.04), camber = between(r, -0.01, 0.01);
    const double slope[2] = {grade, camber};
    verdict_ground(w, r, slope, 0.25, 0.015);
    double kerb = between(r, 3.2, 7.0), front = kerb + between(r, 1.5, 6.0), parked = between(r, 0.2, 0.8);
    double planted = chance(r, 0.6) ? between(r, 0.2, 0.7) : 0.0, built = between(r, 0.6, 0.97);
    for (double side = -1.0; side <= 1.0; side += 2.0) {
        for (double x = w->low[0]; x < w->high[0];) {
            double end = x + between(r, 8.0, 20.0);
            if (chance(r, built)) {
                house(w, r, side, front, x, end);
            }
            x = end + (chance(r, 0.3) ? between(r, 1.5, 12.0) : 0.0);
        }
        for (double x = w->low[0]; x < w->high[0]; x += 12.0) {
            box(w, SCENE_PAVING, x + 6.0, side * (kerb + front) / 2, 12.0, front - kerb, -0.2, 0.13, 0.0);
        }
        for (double x = w->low[0]; x < w->high[0]; x += between(r, 5.6, 8.0)) {
            if (chance(r, parked)) {
                double aside = between(r, -0.2, 0.2), turn = between(r, -2.0, 2.0) + (side > 0.0 ? 180.0 : 0.0);
                car(w, r, x, side * (kerb - 1.1 + aside), turn, 0.0);
            }
            if (chance(r, planted)) {
                double aside = between(r, 0.6, 1.2);
                tree(w, r, x + 2.5, side * (kerb + aside));
            }
            if (chance(r, 0.25)) {
                double tall = between(r, 2.2, 7.0), wide = between(r, 0.04, 0.1);
                post(w, SCENE_METAL, x + 4.0, side * (kerb + 0.4), wide, 0.0, tall);
                if (chance(r, 0.5)) {
                    box(w, SCENE_REFLECTOR, x + 4.0, side * (kerb + 0.4), 0.06, 0.7, 2.0, 2.7, 10.0);
                }
            }
            if (chance(r, 0.2)) {
                double y = side * between(r, kerb + 0.5, front - 0.3), speed = chance(r, 0.6) ? 1.4 : 0.0;
                person(w, r, x, y, speed);
            }
        }
    }
    int traffic = (int)between(r, 0.0, 7.0);
    for (int i = 0; i < traffic; i++) {
        double x = between(r, -70.0, 90.0), way = chance(r, 0.5) ? 1.0 : -1.0, speed = between(r, 3.0, 14.0);
        if (fabs(x) > 12.0) {
            car(w, r, x, -way * kerb * 0.35, way > 0.0 ? 0.0 : 180.0, speed);
        }
    }
}

static void rails(verdict_world *w, test_random *r, double y) {
    double gap = between(r, w->low[0], w->high[0]), missing = chance(r, 0.4) ? between(r, 10.0, 60.0) : 0.0;
    double phase = between(r, 0.0, 4.0);
    for (double x = w->low[0] + phase; x < w->high[0]; x += 4.0) {
        if (fabs(x - gap) > missing / 2) {
            box(w, SCENE_METAL, x + 2.0, y, 4.0, 0.06, 0.45, 0.76, 0.0);
            box(w, SCENE_METAL, x, y, 0.1, 0.1, 0.0, 0.6, 0.0);
        }
    }
}

static void barrier(verdict_world *w, test_random *r, double side, double y) {
    double from = between(r, w->low[0], w->high[0]), length = between(r, 30.0, 150.0), tall = between(r, 2.0, 5.0);
    double phase = between(r, 0.0, 4.0);
    for (double x = from + phase; x < from + length && x < w->high[0]; x += 4.0) {
        box(w, SCENE_PAVING, x, side * y, 4.0, 0.15, -0.3, tall, 0.0);
        box(w, SCENE_METAL, x + 2.0, side * (y - 0.1), 0.2, 0.2, 0.0, tall + 0.1, 0.0);
    }
}

/* A row of bushes and trees with gaps. */
static void hedge(verdict_world *w, test_random *r, double side, double y, double base) {
    double from = base + between(r, w->low[0], 100.0), length = between(r, 40.0, 200.0);
    for (double x = from; x < from + length && x < w->high[0]; x += between(r, 1.0, 4.0)) {
        double aside = between(r, 0.0, 2.5);
        if (chance(r, 0.2)) {
            tree(w, r, x, side * (y + aside));
        } else {
            bush(w, r, x, side * (y + aside));
        }
    }
}

static void road_cars(verdict_world *w, test_random *r, double half, bool split) {
    int count = (int)between(r, 3.0, 16.0);
    for (int i = 0; i < count; i++) {
        double x = between(r, -80.0, 100.0), speed = between(r, 25.0, 40.0);
        double lane = between(r, 0.0, 1.0) < 0.5 ? 0.3 : 0.75, way = chance(r, 0.5) ? 1.0 : -1.0;
        if (fabs(x) > 9.0 || way < 0.0) {
            car(w, r, x, -way * half * lane - (split ? way * 1.0 : 0.0), way > 0.0 ? 0.0 : 180.0, speed);
        }
    }
}

double verdict_road(verdict_world *w, test_random *r, bool *split) {
    double grade = between(r, -0.03, 0.03), camber = between(r, -0.02, 0.02);
    const double slope[2] = {grade, camber};
    verdict_ground(w, r, slope, 0.15, 0.01);
    double half = between(r, 6.0, 13.0), trees = between(r, 0.05, 0.5);
    *split = chance(r, 0.5);
    if (*split) {
        rails(w, r, 0.0);
    }
    for (double side = -1.0; side <= 1.0; side += 2.0) {
        double verge = half + between(r, 1.0, 3.0);
        if (chance(r, 0.7)) {
            rails(w, r, side * verge);
        }
        if (chance(r, 0.25)) {
            barrier(w, r, side, verge + 1.5);
        }
        double phase = between(r, 0.0, 50.0);
        for (double x = w->low[0] + phase; x < w->high[0]; x += 50.0) {
            box(w, SCENE_REFLECTOR, x, side * (half + 0.6), 0.12, 0.1, 0.0, 1.0, 0.0);
        }
        for (double x = w->low[0]; x < w->high[0]; x += between(r, 40.0, 110.0)) {
            double tall = between(r, 2.5, 5.0), wide = between(r, 0.6, 3.0), y = side * (verge + 0.8);
            post(w, SCENE_METAL, x, y, 0.06, 0.0, tall);
            box(w, SCENE_REFLECTOR, x, y, 0.05, wide, tall - 0.4 * wide, tall, 0.0);
        }
        for (double x = w->low[0]; x < w->high[0]; x += 6.0) {
            double along = between(r, 0.0, 6.0), away = verge + between(r, 3.0, 30.0);
            if (chance(r, trees)) {
                tree(w, r, x + along, side * away);
            } else if (chance(r, trees)) {
                bush(w, r, x + along, side * (verge + 2.0));
            }
        }
        for (double base = 0.0; base < w->high[0] - 249.0; base += 360.0) { /* once; on a long road again and again */
            if (chance(r, 0.4)) {
                hedge(w, r, side, verge + 3.0, base);
            }
            if (chance(r, 0.3)) { /* a house or a bridge's wall far from the road */
                double x = base + between(r, -60.0, 90.0), front = verge + between(r, 5.0, 25.0);
                house(w, r, side, front, x, x + 14.0);
            }
        }
    }
    if (chance(r, 0.25)) { /* a bridge for signs */
        double x = between(r, -60.0, 80.0);
        post(w, SCENE_METAL, x, half + 1.0, 0.2, 0.0, 6.5);
        post(w, SCENE_METAL, x, -half - 1.0, 0.2, 0.0, 6.5);
        box(w, SCENE_METAL, x, 0.0, 0.5, 2.0 * half + 2.0, 6.0, 6.5, 0.0);
    }
    return half;
}

static void road(verdict_world *w, test_random *r) {
    bool split;
    double half = verdict_road(w, r, &split);
    road_cars(w, r, half, split);
}

static void park(verdict_world *w, test_random *r) {
    double grade = between(r, -0.06, 0.06), camber = between(r, -0.06, 0.06);
    const double slope[2] = {grade, camber};
    verdict_ground(w, r, slope, 0.5, 0.05);
    double dense = between(r, 0.15, 0.6), built = chance(r, 0.5) ? between(r, 0.1, 0.5) : 0.0;
    for (double x = w->low[0]; x < w->high[0]; x += 7.0) {
        for (double y = -56.0; y < 57.0; y += 7.0) {
            double u = x + between(r, 0.0, 7.0), v = y + between(r, 0.0, 7.0), kind = test_unit(r);
            if (fabs(v) < 2.5 || kind > dense) {
                continue;
            }
            if (kind < 0.75 * dense) {
                tree(w, r, u, v);
            } else if (kind < 0.9 * dense) {
                bush(w, r, u, v);
            } else {
                double turn = between(r, 0.0, 180.0), speed = chance(r, 0.5) ? 1.3 : 0.0;
                box(w, SCENE_BARK, u, v, 1.8, 0.5, 0.0, 0.5, turn);
                person(w, r, u + 1.5, v, speed);
            }
        }
        if (chance(r, 0.3)) {
            double y = between(r, 2.0, 4.0);
            post(w, SCENE_METAL, x, chance(r, 0.5) ? y : -y, 0.06, 0.0, 4.0);
        }
        if (chance(r, built * 0.3)) {
            house(w, r, chance(r, 0.5) ? 1.0 : -1.0, 30.0, x, x + 12.0);
        }
    }
}

/* Parked cars in rows, and a building or two at its edges. */
static void yard(verdict_world *w, test_random *r) {
    double grade = between(r, -0.02, 0.02), camber = between(r, -0.02, 0.02);
    const double slope[2] = {grade, camber};
    verdict_ground(w, r, slope, 0.15, 0.01);
    double full = between(r, 0.2, 0.8), edge = between(r, 25.0, 45.0);
    for (int row = -3; row <= 3; row++) {
        double y = 8.5 * row + (row < 0 ? 1.5 : row > 0 ? -1.5 : 40.0);
        for (double x = w->low[0]; x < w->high[0]; x += 2.7) {
            double turn = 90.0 + between(r, -3.0, 3.0), aside = between(r, -0.4, 0.4);
            if (row != 0 && chance(r, full)) {
                car(w, r, x, y + aside, turn, 0.0);
            }
        }
    }
    for (double side = -1.0; side <= 1.0; side += 2.0) {
        for (double x = w->low[0]; x < w->high[0]; x += 25.0) {
            double end = x + between(r, 10.0, 25.0);
            if (chance(r, 0.4)) {
                house(w, r, side, edge, x, end);
            } else {
                double y = side * between(r, edge - 4.0, edge + 4.0);
                tree(w, r, x + 5.0, y);
            }
            post(w, SCENE_METAL, x, side * 17.0, 0.1, 0.0, 8.0);
        }
    }
}

/* ---- indoors ---- */

static void furniture(verdict_world *w, test_random *r, double x, double y) {
    double turn = chance(r, 0.7) ? 90.0 * floor(between(r, 0.0, 4.0)) : between(r, 0.0, 180.0), kind = test_unit(r);
    double length = between(r, 0.6, 2.0), width = between(r, 0.4, 0.9), c = cos(turn * 0.0174533);
    double s = sin(turn * 0.0174533);
    if (kind < 0.35) { /* a table */
        box(w, SCENE_BARK, x, y, length, width, 0.70, 0.74, turn);
        for (int i = 0; i < 4; i++) {
            double u = (i & 1 ? 0.45 : -0.45) * length, v = (i & 2 ? 0.45 : -0.45) * width;
            post(w, SCENE_BARK, x + c * u - s * v, y + s * u + c * v, 0.03, 0.0, 0.7);
        }
    } else if (kind < 0.6) { /* a shelf or a box */
        double tall = between(r, 0.5, 2.1);
        box(w, SCENE_BARK, x, y, length, width * 0.6, 0.0, tall, turn);
    } else if (kind < 0.85) { /* a chair */
        box(w, SCENE_CLOTH, x, y, 0.45, 0.45, 0.40, 0.46, turn);
        box(w, SCENE_CLOTH, x - 0.2 * c, y - 0.2 * s, 0.05, 0.45, 0.46, 0.95, turn);
        post(w, SCENE_METAL, x, y, 0.03, 0.0, 0.4);
    } else {
        double wide = between(r, 0.1, 0.3), tall = between(r, 0.3, 1.2);
        post(w, SCENE_PAINT, x, y, wide, 0.0, tall);
    }
}

/* A wall along x (or y) with a door. */
static void wall(verdict_world *w, test_random *r, bool along_x, double at, double from, double to, double tall) {
    double door = between(r, from + 0.5, fmax(from + 0.6, to - 1.5)), thick = between(r, 0.1, 0.25);
    bool open = chance(r, 0.8);
    const double parts[2][2] = {{from, open ? door : to}, {open ? door + 1.0 : to, to}};
    for (int i = 0; i < 2; i++) {
        double middle = (parts[i][0] + parts[i][1]) / 2, length = parts[i][1] - parts[i][0];
        if (length > 0.01) {
            box(w, SCENE_PAVING, along_x ? middle : at, along_x ? at : middle, along_x ? length : thick,
                along_x ? thick : length, 0.0, tall, 0.0);
        }
    }
    if (open) {
        box(w, SCENE_PAVING, along_x ? door + 0.5 : at, along_x ? at : door + 0.5, along_x ? 1.0 : thick,
            along_x ? thick : 1.0, 2.1, tall, 0.0);
    }
}

static void rooms(verdict_world *w, test_random *r) {
    const double slope[2] = {0.0, 0.0};
    verdict_ground(w, r, slope, 0.0, 0.0);
    double tall = between(r, 2.4, 3.4), depth = between(r, 3.5, 7.0), hall = between(r, 1.6, 5.0);
    for (double side = -1.0; side <= 1.0; side += 2.0) {
        double back = side * (hall / 2 + depth);
        for (double x = w->low[0]; x < w->high[0];) {
            double end = x + between(r, 3.0, 7.0), front = side * (hall / 2 + between(r, 0.0, 0.7));
            wall(w, r, true, front, x, end, tall);
            wall(w, r, true, back, x, end, tall);
            wall(w, r, false, end, fmin(front, back), fmax(front, back), tall);
            int count = (int)between(r, 2.0, 7.0);
            for (int i = 0; i < count; i++) {
                double u = between(r, x + 0.5, end - 0.5),
                       v = side * between(r, hall / 2 + 0.6, hall / 2 + depth - 0.5);
                furniture(w, r, u, v);
            }
            if (chance(r, 0.6)) {
                double u = between(r, x, end);
                furniture(w, r, u, side * (hall / 2 - 0.2));
            }
            if (chance(r, 0.15)) {
                double u = between(r, x, end), v = side * between(r, 0.3, hall / 2 + 2.0);
                person(w, r, u, v, 1.0);
            }
            x = end;
        }
    }
    box(w, SCENE_PAVING, 0.0, 0.0, 2.0 * w->high[0] + 400.0, 60.0, tall, tall + 0.3, 0.0);
}

/* One room for a camera, full of things. */
static void room(verdict_world *w, test_random *r) {
    const double slope[2] = {0.0, 0.0};
    verdict_ground(w, r, slope, 0.0, 0.0);
    double x = between(r, 1.8, 3.5), y = between(r, 1.8, 3.0), tall = between(r, 2.3, 3.0);
    wall(w, r, true, y, -x, x, tall);
    wall(w, r, true, -y, -x, x, tall);
    wall(w, r, false, x, -y, y, tall);
    wall(w, r, false, -x, -y, y, tall);
    box(w, SCENE_PAVING, 0.0, 0.0, 12.0, 12.0, tall, tall + 0.2, 0.0);
    int count = (int)between(r, 14.0, 26.0);
    for (int i = 0; i < count; i++) {
        bool across = chance(r, 0.5), less = chance(r, 0.5);
        double u = between(r, -1.0, 1.0) * (x - 0.3), v = between(r, -1.0, 1.0) * (y - 0.3),
               size = between(r, 0.05, 0.4);
        double up = between(r, 0.0, 1.8), turn = between(r, 0.0, 180.0);
        if (across) {
            u = less ? 0.35 - x : x - 0.35;
        } else {
            v = less ? 0.35 - y : y - 0.35;
        }
        furniture(w, r, u, v);
        box(w, SCENE_PAINT, u, v, size, 0.6 * size, up, up + size, turn); /* on a shelf, at a wall */
    }
}

static void warehouse(verdict_world *w, test_random *r) {
    const double slope[2] = {0.0, 0.0};
    verdict_ground(w, r, slope, 0.0, 0.0);
    double tall = between(r, 5.0, 9.0), half = between(r, 10.0, 20.0), aisle = between(r, 2.5, 4.0);
    double bay = between(r, 2.2, 3.0);
    wall(w, r, true, half, w->low[0], w->high[0], tall);
    wall(w, r, true, -half, w->low[0], w->high[0], tall);
    wall(w, r, false, w->low[0] + 5.0, -half, half, tall);
    wall(w, r, false, w->high[0] - 5.0, -half, half, tall);
    for (double side = -1.0; side <= 1.0; side += 2.0) {
        for (double y = aisle / 2 + 0.5; y < half - 1.0; y += aisle + 1.0) {
            for (double x = w->low[0] + 8.0; x < w->high[0] - 8.0; x += bay) {
                post(w, SCENE_METAL, x, side * y, 0.05, 0.0, tall - 1.0);
                for (double h = 0.2; h < tall - 2.0; h += 1.5) {
                    double wide = between(r, 0.6, bay - 0.2), high = between(r, 0.4, 1.2), deep = between(r, 0.5, 1.0);
                    if (chance(r, 0.65)) {
                        box(w, SCENE_BARK, x + bay / 2, side * y, wide, deep, h, h + high, 0.0);
                    }
                }
            }
        }
    }
    box(w, SCENE_METAL, 0.0, 0.0, 2.0 * w->high[0] + 400.0, 60.0, tall, tall + 0.3, 0.0);
}

const verdict_place verdict_places[] = {
    {"street",
     street,
     {-110, -80},
     {250, 80},
     2.0,
     {-5, -2.5},
     {5, -1.0},
     {1.0, 6.0},
     10.0,
     0.5,
     {1.6, 2.0},
     {0.2, 1.0}},
    {"road", road, {-110, -80}, {250, 80}, 2.0, {-5, -5.0}, {5, -1.5}, {2.0, 4.0}, 3.0, 0.1, {1.6, 2.0}, {0.2, 1.0}},
    {"park", park, {-110, -80}, {250, 80}, 2.0, {-5, -1.5}, {5, 1.5}, {1.0, 4.0}, 10.0, 0.5, {1.0, 2.0}, {0.2, 1.0}},
    {"yard", yard, {-110, -80}, {250, 80}, 2.0, {-5, -1.0}, {5, 1.0}, {1.0, 5.0}, 10.0, 0.5, {1.6, 2.0}, {0.2, 1.0}},
    {"rooms", rooms, {-40, -20}, {150, 20}, 0.5, {-3, -0.4}, {3, 0.4}, {0.1, 1.0}, 10.0, 0.3, {0.3, 1.4}, {0.1, 1.0}},
    {"hall",
     warehouse,
     {-40, -25},
     {150, 25},
     1.0,
     {-3, -0.6},
     {3, 0.6},
     {0.1, 1.5},
     10.0,
     0.3,
     {0.4, 2.0},
     {0.1, 1.0}},
    {"room", room, {-5, -5}, {5, 5}, 0.25, {-0.5, -0.5}, {0.5, 0.5}, {0.01, 0.15}, 6.0, 0.1, {0.9, 1.6}, {0.03, 1.0}},
};
const int verdict_place_count = sizeof verdict_places / sizeof verdict_places[0];
