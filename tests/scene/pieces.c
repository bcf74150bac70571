/* What streets are made of. C leaves the order of calls within one expression open, so every random number is drawn by
 * a declaration or a call of its own. */
#include "pieces.h"

double piece_between(builder *b, double low, double high) {
    return scene_between(&b->random, low, high);
}

bool piece_chance(builder *b, double share) {
    return test_unit(&b->random) < share;
}

void piece_put(builder *b, scene_shape shape, double u, double v, double h, double degrees) {
    if (b->street->count == SCENE_MAX_SHAPES) {
        return;
    }
    v -= SENSOR_V;
    shape.center[0] = b->origin[0] + (b->cosine * u - b->sine * v);
    shape.center[1] = b->origin[1] + (b->sine * u + b->cosine * v);
    shape.center[2] = h - SCENE_SENSOR_HEIGHT + b->base;
    scene_direction(b->degrees + degrees, &shape.cosine, &shape.sine);
    b->street->shapes[b->street->count++] = shape;
}

/* A box by its middle, its full length and width, its lower and upper height. */
void piece_box(builder *b, scene_material material, double u, double v, double length, double width, double low,
               double high, double degrees) {
    piece_put(b,
              (scene_shape){.kind = SCENE_BOX, .material = material, .size = {length / 2, width / 2, (high - low) / 2}},
              u, v, (low + high) / 2, degrees);
}

void piece_cylinder(builder *b, scene_material material, double u, double v, double radius, double low, double high) {
    piece_put(b,
              (scene_shape){.kind = SCENE_CYLINDER, .material = material, .size = {radius, radius, (high - low) / 2}},
              u, v, (low + high) / 2, 0.0);
}

void piece_sphere(builder *b, scene_material material, double u, double v, double radius, double h) {
    piece_put(b, (scene_shape){.kind = SCENE_SPHERE, .material = material, .size = {radius, radius, radius}}, u, v, h,
              0.0);
}

/* One house from u0 to u1 with a plinth, and sometimes a bay, balconies or steps. side: +1 left, -1 right. */
void piece_house(builder *b, double side, double u0, double u1) {
    double front = FRONT_V + (piece_chance(b, 0.4) ? piece_between(b, 0.5, 3.0) : 0.0);
    double depth = piece_between(b, 10.0, 14.0), height = piece_between(b, 7.0, 17.0), u = (u0 + u1) / 2;
    scene_material wall = piece_chance(b, 0.7) ? SCENE_PLASTER : SCENE_BRICK;
    piece_box(b, wall, u, side * (front + depth / 2), u1 - u0, depth, -b->deep, height, 0.0);
    piece_box(b, SCENE_BRICK, u, side * front, u1 - u0, 0.12, 0.0, 0.6, 0.0);
    if (piece_chance(b, 0.35)) { /* a bay */
        double at = piece_between(b, u0 + 2.0, u1 - 2.0), length = piece_between(b, 1.8, 3.0);
        piece_box(b, SCENE_BRICK, at, side * front, length, 1.4, 0.0, height * 0.7, 0.0);
    }
    for (double h = 3.1; h < height - 2.0 && piece_chance(b, 0.6); h += 3.1) { /* balconies with a parapet */
        double at = u0 + (u1 - u0) * 0.3;
        piece_box(b, SCENE_PAVING, at, side * (front - 0.5), 3.2, 1.0, h - 0.15, h, 0.0);
        piece_box(b, SCENE_METAL, at, side * (front - 0.97), 3.2, 0.06, h, h + 0.9, 0.0);
    }
    if (front > FRONT_V + 1.0) { /* a garden wall on the building line */
        piece_box(b, SCENE_BRICK, u - 1.0, side * FRONT_V, u1 - u0 - 3.0, 0.25, 0.0, 0.9, 0.0);
    } else {
        piece_box(b, SCENE_PAVING, u + 2.0, side * (front - 0.35), 1.6, 0.7, PAVING_H, PAVING_H + 0.32, 0.0);
    }
}

void piece_car(builder *b, double u, double v, double degrees) {
    bool van = piece_chance(b, 0.2);
    double length = van ? piece_between(b, 4.9, 5.6) : piece_between(b, 3.8, 4.7), width = van ? 1.95 : 1.76;
    double belt = van ? 1.05 : 0.88, roof = van ? piece_between(b, 2.0, 2.5) : piece_between(b, 1.42, 1.6), c, s;
    scene_direction(degrees, &c, &s);
    piece_box(b, SCENE_PAINT, u, v, length, width, 0.22, belt, degrees);
    double back = van ? 0.06 : 0.04; /* the cabin sits behind the middle */
    piece_box(b, van ? SCENE_PAINT : SCENE_GLASS, u - c * back * length, v - s * back * length,
              length * (van ? 0.86 : 0.52), width - 0.22, belt, roof, degrees);
    for (int i = 0; i < 4; i++) {
        double along = (i & 1 ? 0.31 : -0.31) * length, across = (i & 2 ? 0.5 : -0.5) * (width - 0.2);
        piece_box(b, SCENE_CLOTH, u + c * along - s * across, v + s * along + c * across, 0.6, 0.2, 0.0, 0.6, degrees);
    }
    piece_box(b, SCENE_REFLECTOR, u - c * length / 2, v - s * length / 2, 0.03, 0.5, 0.5, 0.62, degrees);
}

void piece_tree(builder *b, double u, double v) {
    double clear = piece_between(b, 2.3, 3.0), crown = piece_between(b, 1.4, 2.1);
    double du = piece_between(b, -0.7, 0.7), dv = piece_between(b, -0.5, 0.5);
    piece_cylinder(b, SCENE_BARK, u, v, piece_between(b, 0.12, 0.22), 0.0, clear + crown);
    piece_sphere(b, SCENE_LEAVES, u, v, crown, clear + 0.8 * crown);
    piece_sphere(b, SCENE_LEAVES, u + du, v + dv, 0.75 * crown, clear + 1.8 * crown);
}

void piece_lamp(builder *b, double u, double v) {
    piece_cylinder(b, SCENE_METAL, u, v, 0.11, 0.0, 1.2);
    piece_cylinder(b, SCENE_METAL, u, v, 0.07, 1.2, 6.5);
    double reach = v > 0.0 ? -1.0 : 1.0;
    piece_box(b, SCENE_METAL, u, v + reach, 0.10, 2.0, 6.4, 6.5, 0.0);
    piece_box(b, SCENE_METAL, u, v + 1.8 * reach, 0.35, 0.8, 6.25, 6.4, 0.0);
}

void piece_sign(builder *b, double u, double v, double degrees) {
    piece_cylinder(b, SCENE_METAL, u, v, 0.04, 0.0, 2.9);
    piece_box(b, SCENE_REFLECTOR, u, v, 0.03, 0.65, 2.2, 2.85, degrees);
}
