/* What streets are made of: houses, cars, trees, lamps and signs, put along a street by u (ahead), v (left of its
 * middle line) and h (above the road). */
#ifndef PIECES_H
#define PIECES_H

#include "scene.h"

#define SENSOR_V -1.7 /* the car drives in the right lane */
#define KERB_V   6.0  /* half the width of the road */
#define FRONT_V  9.5  /* building line */
#define PAVING_H 0.14

typedef struct builder {
    scene *street;
    test_random random;
    /* Of the street that is being laid out: where u = 0, v = SENSOR_V is, its angle, its road above that of the street
     * of testdata/. */
    double origin[2], degrees, cosine, sine, base;
    double deep; /* houses begin so far below the road: for slopes */
} builder;

double piece_between(builder *b, double low, double high);
bool piece_chance(builder *b, double share);

/* The last argument of these is the angle against the street. */
void piece_put(builder *b, scene_shape shape, double u, double v, double h, double degrees);
/* A box by its middle, its full length and width, its lower and upper height. */
void piece_box(builder *b, scene_material material, double u, double v, double length, double width, double low,
               double high, double degrees);
void piece_cylinder(builder *b, scene_material material, double u, double v, double radius, double low, double high);
void piece_sphere(builder *b, scene_material material, double u, double v, double radius, double h);

/* One house from u0 to u1 with a plinth, and sometimes a bay, balconies or steps. side: +1 left, -1 right. */
void piece_house(builder *b, double side, double u0, double u1);
void piece_car(builder *b, double u, double v, double degrees);
void piece_tree(builder *b, double u, double v);
void piece_lamp(builder *b, double u, double v);
void piece_sign(builder *b, double u, double v, double degrees);

#endif
