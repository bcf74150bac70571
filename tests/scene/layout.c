/* The street and the block. The street: buildings with gaps and setbacks on both sides, two side streets, parked cars,
 * trees, lamps, signs.
 *
 * The block: four such streets around a square, without side streets but for a gap on each side.
 *
 * Laid out along u (ahead), v (left of the street's middle line) and h (above the road), then turned a little against
 * the sensor's axes so that no wall is parallel to an axis or to the edges of a voxel. C leaves the order of calls
 * within one expression open, so every random number is drawn by a declaration or a call of its own. */
#include "pieces.h"

#include <math.h>

#define STREET_DEGREES 3.5 /* of the street against the sensor's x axis */

/* Side streets: along u where buildings, paving and cars leave room. */
static const double gaps[2][2] = {{21.0, 31.0}, {-20.0, -11.0}}; /* left, right */

static bool in_gap(double v, double u, double margin) {
    const double *gap = gaps[v > 0.0 ? 0 : 1];
    return u > gap[0] - margin && u < gap[1] + margin;
}

/* ---- buildings ----------------------------------------------------------------------------------------------- */

static void add_row(builder *b, double side) {
    const double *gap = gaps[side > 0.0 ? 0 : 1];
    double u = -105.0;
    while (u < 88.0) {
        double end = u + piece_between(b, 9.0, 19.0);
        if (u < gap[0] && end > gap[0] - 6.0) {
            end = gap[0];
        }
        piece_house(b, side, u, end);
        u = end == gap[0] ? gap[1] : end + (piece_chance(b, 0.3) ? piece_between(b, 1.8, 4.0) : 0.0);
    }
    /* The houses along the side street, seen through its mouth, and the one that closes it. */
    for (int i = 0; i < 2; i++) {
        double edge = i == 0 ? gap[0] - 5.5 : gap[1] + 5.5;
        piece_box(b, SCENE_BRICK, edge, side * 33.0, 11.0, 16.0, 0.0, piece_between(b, 6.0, 12.0), 0.0);
    }
    piece_box(b, SCENE_PLASTER, (gap[0] + gap[1]) / 2, side * 70.0, 26.0, 10.0, 0.0, 11.0, 4.0 * side);
}

/* ---- street -------------------------------------------------------------------------------------------------- */

static void add_road(builder *b) {
    for (int i = 0; i < 2; i++) {
        double side = i == 0 ? 1.0 : -1.0, v = side * (KERB_V + FRONT_V + 4.0) / 2, width = FRONT_V + 4.0 - KERB_V;
        double u0 = -110.0, u1 = 95.0, from = gaps[i][0], to = gaps[i][1];
        piece_box(b, SCENE_PAVING, (u0 + from) / 2, v, from - u0, width, 0.0, PAVING_H, 0.0);
        piece_box(b, SCENE_PAVING, (to + u1) / 2, v, u1 - to, width, 0.0, PAVING_H, 0.0);
        for (int bar = 0; bar < 8; bar++) { /* a zebra crossing before each side street */
            piece_box(b, SCENE_MARKING, from - 3.0, -5.25 + 1.5 * bar, 3.0, 0.5, 0.0, 0.004, 0.0);
        }
    }
    for (double u = -90.0; u < 90.0; u += 6.0) {
        piece_box(b, SCENE_MARKING, u, 0.0, 3.0, 0.15, 0.0, 0.004, 0.0);
    }
    piece_box(b, SCENE_PLASTER, 93.0, 0.0, 10.0, 60.0, 0.0, 14.0, -6.0); /* the street ends in a square */
}

static void add_traffic(builder *b) {
    for (int i = 0; i < 2; i++) {
        double v = i == 0 ? 4.85 : -4.85;
        for (double u = -62.0; u < 70.0; u += piece_between(b, 5.6, 7.0)) {
            if (piece_chance(b, 0.68) && !in_gap(v, u, 4.0) && !in_gap(-v, u, 1.5)) {
                double aside = piece_between(b, -0.15, 0.15),
                       degrees = piece_between(b, -1.5, 1.5) + (i == 0 ? 180.0 : 0.0);
                piece_car(b, u, v + aside, degrees);
            }
        }
    }
    piece_car(b, 17.0, -1.9, 0.6);
    piece_car(b, -13.5, -1.6, -0.4);
    piece_car(b, 33.0, 1.8, 181.0);
    piece_car(b, 26.0, 14.0, 88.0); /* waits in the side street */
}

static void add_furniture(builder *b) {
    for (double u = -66.0; u < 75.0; u += piece_between(b, 9.0, 13.0)) {
        if (!in_gap(1.0, u, 3.0)) {
            piece_tree(b, u, 6.9);
        }
    }
    for (double u = -57.0; u < 80.0; u += 19.0) {
        if (!in_gap(-1.0, u, 1.0)) {
            piece_lamp(b, u, -6.6);
        }
    }
    for (int i = 0; i < 2; i++) {
        double side = i == 0 ? 1.0 : -1.0;
        piece_sign(b, gaps[i][0] - 1.2, side * 6.5, 0.0);
        piece_sign(b, gaps[i][1] + 1.2, side * 6.5, 8.0);
        piece_sign(b, piece_between(b, -5.0, 5.0) - 8.0 * side, side * 6.4, -5.0);
        for (int k = 0; k < 5; k++) {
            piece_cylinder(b, SCENE_METAL, gaps[i][1] + 2.6 + 1.4 * k, side * 6.25, 0.06, 0.0, 1.0);
        }
        for (int k = 0; k < 9; k++) { /* people on the pavement */
            double u = piece_between(b, -40.0, 45.0), v = side * piece_between(b, 7.2, 9.0);
            piece_cylinder(b, SCENE_CLOTH, u, v, piece_between(b, 0.2, 0.27), 0.0, 1.5);
            piece_sphere(b, SCENE_CLOTH, u, v, 0.14, 1.64);
        }
        for (int k = 0; k < 6; k++) {
            double u = piece_between(b, -50.0, 50.0), degrees = piece_between(b, -8.0, 8.0); /* bins */
            piece_box(b, SCENE_METAL, u, side * 9.0, 1.3, 0.7, 0.0, 1.2, degrees);
        }
    }
}

void scene_street(scene *street, uint64_t seed) {
    builder b = {.street = street, .random = {seed}, .degrees = STREET_DEGREES};
    scene_direction(b.degrees, &b.cosine, &b.sine);
    street->count = 0;
    add_road(&b);
    add_row(&b, 1.0);
    add_row(&b, -1.0);
    add_traffic(&b);
    add_furniture(&b);
}

/* ---- block --------------------------------------------------------------------------------------------------- */

#define SIDE      60.0                    /* of the square that the middle lines of the four streets make */
#define TURN      30.0                    /* metres of road in which the car turns by 90 degrees */
#define LANE_SIDE (SIDE - 2.0 * SENSOR_V) /* of the square that its lane makes, before the corners are cut */

static void add_fronts(builder *b) {
    double u = -24.0;
    const double gap = piece_between(b, 18.0, 30.0);
    while (u < SIDE + 24.0) { /* outside; the gap is a side street that is closed by a house */
        double end = u + piece_between(b, 9.0, 17.0);
        if (u < gap && end > gap) {
            piece_house(b, -1.0, u, gap);
            end = gap + 8.0;
        } else {
            piece_house(b, -1.0, u, end);
        }
        u = end;
    }
    piece_box(b, SCENE_PLASTER, gap + 4.0, -52.0, 26.0, 10.0, 0.0, 11.0, 7.0);
    for (u = FRONT_V; u < SIDE - FRONT_V - 8.0; u += piece_between(b, 1.0, 3.0)) { /* inside */
        double end = u + piece_between(b, 9.0, 14.0);
        end = end < SIDE - FRONT_V ? end : SIDE - FRONT_V;
        piece_house(b, 1.0, u, end);
        u = end;
    }
    const double paving = FRONT_V + 4.0 - KERB_V, middle = KERB_V + paving / 2;
    piece_box(b, SCENE_PAVING, SIDE / 2, -middle, SIDE + 2.0 * middle, paving, 0.0, PAVING_H, 0.0);
    piece_box(b, SCENE_PAVING, SIDE / 2, middle, SIDE - 2.0 * KERB_V, paving, 0.0, PAVING_H, 0.0);
}

static void add_side(builder *b) {
    add_fronts(b);
    for (int i = 0; i < 2; i++) {
        double v = i == 0 ? 4.85 : -4.85, from = i == 0 ? 12.0 : 0.0;
        for (double u = from; u < SIDE - from; u += piece_between(b, 5.6, 7.0)) {
            if (piece_chance(b, 0.6)) {
                double aside = piece_between(b, -0.15, 0.15), degrees = piece_between(b, -1.5, 1.5);
                piece_car(b, u, v + aside, degrees);
            }
        }
    }
    for (double u = 11.0; u < SIDE - 9.0; u += piece_between(b, 9.0, 13.0)) {
        piece_tree(b, u, 6.9);
    }
    for (double u = piece_between(b, 2.0, 12.0); u < SIDE; u += 19.0) {
        piece_lamp(b, u, -6.6);
    }
    piece_sign(b, piece_between(b, 8.0, 14.0), 6.5, 0.0);
    piece_sign(b, piece_between(b, 40.0, 50.0), -6.5, 8.0);
    for (int k = 0; k < 6; k++) { /* people and bins on the pavements */
        double u = piece_between(b, 12.0, 48.0), v = piece_between(b, 7.2, 9.0), at = piece_between(b, 12.0, 48.0);
        piece_cylinder(b, SCENE_CLOTH, u, k & 1 ? v : -v, 0.24, 0.0, 1.5);
        piece_sphere(b, SCENE_CLOTH, u, k & 1 ? v : -v, 0.14, 1.64);
        piece_box(b, SCENE_METAL, at, k & 1 ? -9.0 : 9.0, 1.3, 0.7, 0.0, 1.2, 5.0);
    }
}

void scene_block(scene *block, uint64_t seed) {
    builder b = {.street = block, .random = {seed}, .degrees = STREET_DEGREES};
    block->count = 0;
    scene_direction(b.degrees, &b.cosine, &b.sine);
    /* The corner that the first street begins at; the sensor starts in the middle of its lane. */
    double x = -b.cosine * SIDE / 2 + b.sine * SENSOR_V, y = -b.sine * SIDE / 2 - b.cosine * SENSOR_V;
    for (int i = 0; i < 4; i++) {
        b.origin[0] = x - b.sine * SENSOR_V; /* piece_put() counts v from the lane */
        b.origin[1] = y + b.cosine * SENSOR_V;
        add_side(&b);
        x += b.cosine * SIDE;
        y += b.sine * SIDE;
        b.degrees += 90.0;
        scene_direction(b.degrees, &b.cosine, &b.sine);
    }
}

/* How far the car has turned after some way in a corner: its steering wheel turns smoothly, too. */
static double turned_after(double way) {
    double t = way / TURN;
    return 90.0 * t * t * (3.0 - 2.0 * t);
}

/* Where it is then, from where the corner begins, by Simpson's rule. */
static void follow_corner(double way, double *x, double *y) {
    enum { PARTS = 48 };
    *x = *y = 0.0;
    for (int i = 0; i <= PARTS; i++) {
        double c, s, weight = i == 0 || i == PARTS ? 1.0 : i % 2 ? 4.0 : 2.0;
        scene_direction(turned_after(way * i / PARTS), &c, &s);
        *x += weight * c * way / (3.0 * PARTS);
        *y += weight * s * way / (3.0 * PARTS);
    }
}

/* The straight part of a side of the lane. */
static double straight(void) {
    double x, y;
    follow_corner(TURN, &x, &y);
    return LANE_SIDE - 2.0 * x;
}

/* Where on the lane, from the first street's middle: x ahead, y left, and the heading against it. */
static void follow_lane(double metres, double *x, double *y, double *degrees) {
    const double line = straight(), round = line + TURN;
    double way = metres + line / 2, side = floor(way / round), c, s, u = 0.0, v = 0.0, turned = 0.0;
    way -= side * round;
    if (way > line) {
        turned = turned_after(way - line);
        follow_corner(way - line, &u, &v);
    }
    /* about the middle of the square */
    double along = (way < line ? way : line + u) - line / 2, across = v - LANE_SIDE / 2;
    scene_direction(90.0 * side, &c, &s);
    *x = c * along - s * across;
    *y = s * along + c * across + LANE_SIDE / 2;
    *degrees = 90.0 * side + turned;
}

void scene_block_pose(double metres, scene_pose *pose) {
    double x, y, degrees, c, s, unused, sway[4];
    const double waves[4] = {7.3, 11.0, 13.0, 9.1}; /* metres */
    for (int i = 0; i < 4; i++) {
        scene_direction(360.0 * metres / waves[i] + 60.0 * i, &unused, &sway[i]);
    }
    follow_lane(metres, &x, &y, &degrees);
    scene_direction(STREET_DEGREES, &c, &s);
    pose->position[0] = c * x - s * y;
    pose->position[1] = s * x + c * y;
    pose->position[2] = 0.01 * sway[0];
    double cy, sy, cp, sp, cr, sr;
    scene_direction(degrees + STREET_DEGREES + 0.3 * sway[3], &cy, &sy);
    scene_direction(0.3 * sway[1], &cp, &sp);
    scene_direction(0.4 * sway[2], &cr, &sr);
    const double rotation[9] = {cy * cp,
                                cy * sp * sr - sy * cr,
                                cy * sp * cr + sy * sr,
                                sy * cp,
                                sy * sp * sr + cy * cr,
                                sy * sp * cr - cy * sr,
                                -sp,
                                cp * sr,
                                cp * cr};
    for (int i = 0; i < 9; i++) {
        pose->rotation[i] = rotation[i];
    }
}
