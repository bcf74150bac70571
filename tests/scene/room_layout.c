/* The room: walls with relief, and furniture of boxes, spheres and drums along them, so that the camera's path
 * through the middle is free and every view holds surfaces that face several ways. Random numbers are drawn as in
 * layout.c. */
#include "room.h"

#include <math.h>

#define WALL 0.1 /* half the thickness of walls, floor and ceiling */

typedef struct builder {
    scene *room;
    test_random random;
    /* The wall that things stand at: u along it to the right as one faces it, v out of it, h up. */
    double wall_cosine, wall_sine, wall_distance, wall_degrees;
} builder;

static double between(builder *b, double low, double high) {
    return scene_between(&b->random, low, high);
}

static void add(builder *b, scene_shape shape, double u, double v, double h, double degrees) {
    if (b->room->count == SCENE_MAX_SHAPES) {
        return;
    }
    /* Facing the wall means looking along (cosine, sine); right of that is (sine, -cosine). */
    double ahead = b->wall_distance - v;
    shape.center[0] = b->wall_cosine * ahead + b->wall_sine * u;
    shape.center[1] = b->wall_sine * ahead - b->wall_cosine * u;
    shape.center[2] = h;
    scene_direction(b->wall_degrees + degrees, &shape.cosine, &shape.sine);
    b->room->shapes[b->room->count++] = shape;
}

/* `depth` is out of the wall, `width` along it. */
static void add_box(builder *b, double u, double v, double width, double depth, double low, double high,
                    double degrees) {
    add(b, (scene_shape){.kind = SCENE_BOX, .size = {depth / 2, width / 2, (high - low) / 2}}, u, v, (low + high) / 2,
        degrees);
}

static void add_drum(builder *b, double u, double v, double radius, double low, double high) {
    add(b, (scene_shape){.kind = SCENE_DRUM, .size = {radius, radius, (high - low) / 2}}, u, v, (low + high) / 2, 0.0);
}

static void add_sphere(builder *b, double u, double v, double radius, double h) {
    add(b, (scene_shape){.kind = SCENE_SPHERE, .size = {radius, radius, radius}}, u, v, h, 0.0);
}

/* Walls 0 to 3: towards +x, +y, -x, -y. Returns the wall's width. */
static double face_wall(builder *b, int wall) {
    b->wall_degrees = 90.0 * wall;
    b->wall_distance = (wall & 1 ? ROOM_WIDTH : ROOM_LENGTH) / 2;
    scene_direction(b->wall_degrees, &b->wall_cosine, &b->wall_sine);
    return wall & 1 ? ROOM_LENGTH : ROOM_WIDTH;
}

/* ---- walls -------------------------------------------------------------------------------------------------- */

/* A window with bars, a sill, a radiator below and curtains of pleats. */
static void add_window(builder *b, double u) {
    const double width = 1.5, low = 0.95, high = 2.15;
    for (int i = 0; i < 3; i++) {
        add_box(b, u + (i - 1) * width / 2, 0.03, 0.07, 0.06, low, high, 0.0);
    }
    for (int i = 0; i < 3; i++) {
        add_box(b, u, 0.025, width, 0.05, low + i * (high - low - 0.07) / 2, low + i * (high - low - 0.07) / 2 + 0.07,
                0.0);
    }
    add_box(b, u, 0.12, width + 0.2, 0.24, low - 0.05, low, 0.0);
    for (int i = 0; i < 12; i++) {
        add_box(b, u - 0.55 + 0.1 * i, 0.08, 0.06, 0.1, 0.15, 0.75, 0.0);
    }
    for (int i = 0; i < 10; i++) {
        double side = i & 1 ? 1.0 : -1.0;
        add_drum(b, u + side * (width / 2 + 0.09 + 0.085 * (i / 2)), 0.09, between(b, 0.04, 0.055), 0.05, 2.3);
    }
    add_box(b, u, 0.1, width + 1.2, 0.04, 2.28, 2.33, 0.0);
    add_drum(b, u - 0.4, 0.14, 0.08, low, low + 0.14); /* a pot with a plant */
    for (int i = 0; i < 5; i++) {
        double aside = between(b, -0.08, 0.08), out = between(b, 0.1, 0.2), up = between(b, 0.16, 0.36);
        add_sphere(b, u - 0.4 + aside, out, between(b, 0.05, 0.08), low + up);
    }
}

static void add_door(builder *b, double u) {
    add_box(b, u - 0.47, 0.03, 0.08, 0.06, 0.0, 2.05, 0.0);
    add_box(b, u + 0.47, 0.03, 0.08, 0.06, 0.0, 2.05, 0.0);
    add_box(b, u, 0.03, 1.02, 0.06, 2.05, 2.13, 0.0);
    for (int i = 0; i < 4; i++) {
        double side = i & 1 ? 0.2 : -0.2, low = i & 2 ? 1.15 : 0.25;
        add_box(b, u + side, 0.012, 0.28, 0.024, low, low + 0.7, 0.0);
    }
    add_drum(b, u + 0.36, 0.06, 0.012, 0.98, 1.1);
    add_sphere(b, u + 0.36, 0.06, 0.03, 1.1);
}

static void add_picture(builder *b, double u, double h) {
    double width = between(b, 0.3, 0.6), height = between(b, 0.3, 0.5), thick = between(b, 0.02, 0.04);
    add_box(b, u, thick / 2, width, thick, h - height / 2, h + height / 2, 0.0);
    add_box(b, u, thick / 2 + 0.01, width - 0.08, thick, h - height / 2 + 0.04, h + height / 2 - 0.04, 0.0);
}

/* ---- furniture ---------------------------------------------------------------------------------------------- */

static void add_shelf(builder *b, double u) {
    const double width = 1.3, depth = 0.32, height = 2.0, gap = 0.38;
    add_box(b, u, 0.01, width, 0.02, 0.0, height, 0.0);
    add_box(b, u - width / 2, depth / 2, 0.03, depth, 0.0, height, 0.0);
    add_box(b, u + width / 2, depth / 2, 0.03, depth, 0.0, height, 0.0);
    for (double h = 0.06; h < height; h += gap) {
        add_box(b, u, depth / 2, width, depth, h, h + 0.025, 0.0);
        double at = u - width / 2 + 0.03, end = u + width / 2 - between(b, 0.06, 0.5);
        while (at < end && h + gap < height) {
            double thick = between(b, 0.02, 0.07), tall = between(b, 0.2, 0.33), deep = between(b, 0.16, 0.26);
            add_box(b, at + thick / 2, 0.02 + deep / 2, thick, deep, h + 0.025, h + 0.025 + tall, 0.0);
            at += thick + 0.002;
        }
        if (h + gap < height) {
            add_sphere(b, u + width / 2 - 0.09, 0.16, 0.06, h + 0.085); /* a ball at the end of the row */
        }
    }
}

static void add_sofa(builder *b, double u) {
    double turn = between(b, -4.0, 4.0);
    add_box(b, u, 0.53, 1.7, 0.8, 0.05, 0.42, turn);
    add_box(b, u, 0.2, 1.7, 0.22, 0.42, 0.85, turn);
    for (int i = 0; i < 2; i++) {
        double side = i ? 1.0 : -1.0;
        add_box(b, u + side * 0.93, 0.53, 0.18, 0.85, 0.05, 0.62, turn);
        add_box(b, u + side * 0.42, 0.6, 0.78, 0.62, 0.42, 0.5, turn);
        add_box(b, u + side * 0.5, 0.4, 0.42, 0.14, 0.5, 0.88, turn + between(b, -20.0, 20.0)); /* cushion */
    }
    add_sphere(b, u + between(b, -0.1, 0.1), 0.5, 0.15, 0.62);
}

static void add_desk(builder *b, double u) {
    double turn = between(b, -15.0, 15.0);
    add_box(b, u, 0.38, 1.4, 0.7, 0.7, 0.74, 0.0);
    for (int i = 0; i < 4; i++) {
        add_drum(b, u + (i & 1 ? 0.64 : -0.64), i & 2 ? 0.66 : 0.1, 0.025, 0.0, 0.7);
    }
    add_box(b, u + 0.42, 0.38, 0.42, 0.6, 0.08, 0.66, 0.0); /* drawers */
    for (int i = 0; i < 3; i++) {
        add_box(b, u + 0.42, 0.69, 0.38, 0.02, 0.1 + 0.19 * i, 0.26 + 0.19 * i, 0.0);
    }
    add_box(b, u - 0.05, 0.25, 0.55, 0.04, 0.86, 1.2, turn); /* screen */
    add_drum(b, u - 0.05, 0.22, 0.03, 0.74, 0.9);
    add_box(b, u - 0.05, 0.22, 0.24, 0.18, 0.74, 0.755, turn);
    add_box(b, u - 0.05, 0.52, 0.44, 0.14, 0.74, 0.765, turn / 3);
    for (int i = 0; i < 4; i++) { /* a pile of books */
        double degrees = between(b, -25.0, 25.0);
        add_box(b, u + 0.48, 0.35, 0.22, 0.3, 0.74 + 0.035 * i, 0.775 + 0.035 * i, degrees);
    }
    add_drum(b, u - 0.5, 0.2, 0.015, 0.74, 1.15); /* lamp */
    add_sphere(b, u - 0.5, 0.2, 0.1, 1.2);
}

static void add_chair(builder *b, double u, double v, double degrees) {
    double c, s;
    scene_direction(degrees, &c, &s);
    add_box(b, u, v, 0.44, 0.42, 0.43, 0.48, degrees);
    add_box(b, u + 0.2 * s, v + 0.2 * c, 0.42, 0.04, 0.55, 0.95, degrees); /* its back towards the room */
    add_drum(b, u, v, 0.03, 0.08, 0.43);
    for (int i = 0; i < 3; i++) {
        add_box(b, u, v, 0.5, 0.05, 0.03, 0.08, degrees + 60.0 * i);
    }
}

static void add_wardrobe(builder *b, double u) {
    add_box(b, u, 0.28, 1.1, 0.56, 0.0, 2.1, 0.0);
    for (int i = 0; i < 2; i++) {
        double side = i ? 1.0 : -1.0;
        add_box(b, u + side * 0.275, 0.57, 0.53, 0.02, 0.08, 2.04, 0.0);
        add_drum(b, u + side * 0.05, 0.61, 0.012, 0.95, 1.15);
    }
    double aside = between(b, -0.2, 0.2), turn = between(b, -20.0, 20.0);
    add_box(b, u + aside, 0.3, 0.5, 0.35, 2.1, 2.3, turn); /* a case on top */
}

static void add_plant(builder *b, double u, double v) {
    add_drum(b, u, v, 0.17, 0.0, 0.32);
    add_sphere(b, u, v, 0.16, 0.3);
    add_drum(b, u, v, 0.02, 0.3, 0.9);
    for (int i = 0; i < 9; i++) {
        double aside = between(b, -0.2, 0.2), out = between(b, -0.2, 0.2), up = between(b, 0.6, 1.3);
        add_sphere(b, u + aside, v + out, between(b, 0.07, 0.13), up);
    }
}

/* A low table in the middle of the room, v from the wall, with a bowl, a vase and books. */
static void add_table(builder *b, double v) {
    double turn = between(b, 10.0, 30.0);
    add_box(b, 0.0, v, 0.9, 0.55, 0.4, 0.44, turn);
    add_box(b, 0.0, v, 0.75, 0.42, 0.14, 0.16, turn);
    for (int i = 0; i < 4; i++) {
        add_drum(b, i & 1 ? 0.24 : -0.24, v + (i & 2 ? 0.14 : -0.14), 0.03, 0.0, 0.4);
    }
    add_sphere(b, -0.2, v + 0.05, 0.09, 0.5);
    add_drum(b, 0.2, v - 0.05, 0.05, 0.44, 0.7);
    for (int i = 0; i < 6; i++) {
        double aside = between(b, -0.09, 0.09), out = between(b, -0.09, 0.09), up = between(b, 0.74, 0.9);
        add_sphere(b, 0.2 + aside, v - 0.05 + out, between(b, 0.03, 0.05), up);
    }
    for (int i = 0; i < 3; i++) {
        double degrees = between(b, -40.0, 40.0);
        add_box(b, 0.02, v + 0.12, 0.2, 0.14, 0.44 + 0.03 * i, 0.47 + 0.03 * i, degrees);
    }
}

/* A stand with coats. */
static void add_coats(builder *b, double u, double v) {
    add_drum(b, u, v, 0.02, 0.0, 1.8);
    add_box(b, u, v, 0.45, 0.06, 0.0, 0.05, 20.0);
    add_box(b, u, v, 0.06, 0.45, 0.0, 0.05, 20.0);
    add_sphere(b, u, v, 0.05, 1.82);
    for (int i = 0; i < 3; i++) {
        double aside = between(b, -0.14, 0.14), out = between(b, -0.1, 0.1), low = between(b, 0.7, 1.0);
        add_box(b, u + aside, v + out, 0.3, 0.12, low, 1.7, between(b, -60.0, 60.0));
    }
}

static void add_floor_lamp(builder *b, double u, double v) {
    add_drum(b, u, v, 0.15, 0.0, 0.03);
    add_drum(b, u, v, 0.015, 0.0, 1.6);
    add_sphere(b, u, v, 0.17, 1.65);
}

/* ---- the room ----------------------------------------------------------------------------------------------- */

static void add_shell(builder *b) {
    face_wall(b, 0);
    double middle = b->wall_distance, across = ROOM_WIDTH + 4 * WALL, along = ROOM_LENGTH + 4 * WALL;
    add_box(b, 0.0, middle, across, along, -2 * WALL, 0.0, 0.0);
    add_box(b, 0.0, middle, across, along, ROOM_HEIGHT, ROOM_HEIGHT + 2 * WALL, 0.0);
    for (int wall = 0; wall < 4; wall++) {
        double width = face_wall(b, wall);
        add_box(b, 0.0, -WALL, width + 4 * WALL, 2 * WALL, 0.0, ROOM_HEIGHT, 0.0);
        add_box(b, 0.0, 0.01, width, 0.02, 0.0, 0.12, 0.0);                       /* skirting board */
        add_box(b, 0.0, 0.03, width, 0.06, ROOM_HEIGHT - 0.08, ROOM_HEIGHT, 0.0); /* moulding */
    }
    face_wall(b, 0);
    add_box(b, 0.2, middle + 0.1, 2.0, 2.8, 0.0, 0.015, 7.0); /* carpet */
    add_table(b, middle);
    add_drum(b, 0.0, middle, 0.01, 2.1, ROOM_HEIGHT); /* ceiling lamp */
    add_sphere(b, 0.0, middle, 0.16, 2.1);
}

void room_furnish(scene *room, uint64_t seed) {
    builder b = {.room = room, .random = {seed}};
    room->count = 0;
    add_shell(&b);
    face_wall(&b, 0);
    add_window(&b, 0.3);
    add_floor_lamp(&b, -1.75, 0.35);
    add_plant(&b, 1.85, 0.4);
    face_wall(&b, 1);
    add_shelf(&b, -1.4);
    add_desk(&b, 0.6);
    add_chair(&b, 0.5, 0.95, between(&b, -30.0, 30.0));
    add_picture(&b, 0.1, 1.65);
    add_picture(&b, 1.0, 1.7);
    face_wall(&b, 2);
    add_sofa(&b, 0.4);
    add_picture(&b, 0.0, 1.5);
    add_picture(&b, 0.9, 1.6);
    add_plant(&b, -1.6, 0.45);
    face_wall(&b, 3);
    add_wardrobe(&b, 1.5);
    add_door(&b, -0.2);
    add_coats(&b, 0.65, 0.35);
    add_picture(&b, -1.3, 1.55);
    for (int i = 0; i < 3; i++) { /* boxes on the floor */
        double turn = between(&b, -40.0, 40.0), side = between(&b, 0.25, 0.4);
        add_box(&b, -1.9 + 0.45 * i, 0.3 + 0.05 * i, side, side, 0.0, between(&b, 0.2, 0.45), turn);
    }
    add_sphere(&b, -0.6, 0.7, 0.14, 0.14); /* a ball */
}
