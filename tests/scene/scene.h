/* An analytic street and the spinning LiDAR that looks at it: the source of testdata/.
 *
 * Every byte is the same on every platform: float64 with + - * / sqrt and floor only, no libm function that may differ,
 * and no contraction (the build passes -ffp-contract=off). Lengths are metres. World frame: the sensor of the identity
 * pose at the origin, x forward, y left, z up, the road at z = -SCENE_SENSOR_HEIGHT. */
#ifndef SCENE_H
#define SCENE_H

#include "../support/random.h"

#include <stdbool.h>
#include <stdint.h>

#define SCENE_SENSOR_HEIGHT 1.73
#define SCENE_MAX_RANGE     90.0

enum { SCENE_MAX_SHAPES = 24576, SCENE_BEAMS = 64 };

typedef enum scene_material {
    SCENE_ASPHALT,
    SCENE_PAVING,
    SCENE_PLASTER, /* facades with windows: see scene.c */
    SCENE_BRICK,
    SCENE_GLASS,
    SCENE_PAINT,
    SCENE_METAL,
    SCENE_BARK,
    SCENE_LEAVES, /* a beam enters some way before a leaf returns it, or passes */
    SCENE_CLOTH,
    SCENE_MARKING, /* paint on the road */
    SCENE_REFLECTOR,
    SCENE_GRASS
} scene_material;

typedef enum scene_kind {
    SCENE_BOX,      /* half extents size[0..2], turned about z */
    SCENE_CYLINDER, /* vertical: radius size[0], half height size[2]; open at both ends */
    SCENE_SPHERE,   /* radius size[0] */
    SCENE_DRUM      /* a cylinder that is closed at both ends */
} scene_kind;

typedef struct scene_shape {
    scene_kind kind;
    scene_material material;
    double center[3], size[3];
    double cosine, sine; /* of the angle about z */
    bool moves;          /* it is part of a moving car */
    double velocity[2];  /* metres per sweep; the shape is here in the middle of the sweep */
} scene_shape;

typedef struct scene {
    int count;
    const struct terrain *ground; /* terrain.h; NULL: a plane at -SCENE_SENSOR_HEIGHT */
    scene_shape shapes[SCENE_MAX_SHAPES];
} scene;

double scene_between(test_random *random, double low, double high); /* [low, high) */
double scene_gauss(test_random *random);                            /* mean 0, deviation 1, within +-6 */
void scene_direction(double degrees, double *cosine, double *sine); /* any angle, to about 1e-16 */

typedef struct scene_ray {
    double origin[3], direction[3]; /* direction of length 1 */
    double time;                    /* in sweeps, from the middle of this one: for shapes that move */
} scene_ray;

typedef struct scene_hit {
    double distance, leave; /* along the ray: into the shape, out of it; may be behind the origin */
    double incidence;       /* cosine of the angle to the normal, 0..1 */
    scene_material material;
    double along, height; /* place on a box's side: metres from its edge, metres from its foot */
    bool side;            /* a vertical face of a box */
    bool moves;           /* a part of a moving car */
} scene_hit;

bool scene_meets(const scene_shape *shape, const scene_ray *ray, scene_hit *hit);

/* Fills the scene with a street drawn with `seed`; the buildings, cars and trees differ from seed to seed. */
void scene_street(scene *street, uint64_t seed);

typedef struct scene_pose {
    double rotation[9]; /* world from sensor, row-major */
    double position[3]; /* of the sensor in the world */
} scene_pose;

/* From x y z qw qx qy qz, the quaternion of any length but 0: returns false for that. */
bool scene_pose_from(const double values[7], scene_pose *pose);
/* As 4 x 4, row by row. */
void scene_pose_matrix(const scene_pose *pose, double T[16]);

/* A block of houses with streets on its four sides, drawn with `seed`, to drive around: scene_block_pose. */
void scene_block(scene *block, uint64_t seed);

/* Where a car on the right lane is that drives around the block, counter-clockwise, with turns at the corners and a
 * little sway; `metres` is the way from the middle of one side, where its pose is nearly the identity. */
void scene_block_pose(double metres, scene_pose *pose);

/* How the sensor moves in a sweep. */
typedef struct scene_sensor {
    const scene_pose *poses;
    int count;    /* 1: it stands still; else a pose for each step */
    bool times;   /* records have a fifth value, the time in the sweep: 0 at its first firing, 1 at the next sweep's */
    double noise; /* of the ranges, one sigma in metres; 0: 0.015 */
    uint8_t *moving; /* NULL, or room for a byte per record: 1 when the point is on a moving car */
} scene_sensor;

/* One sweep with `steps` firings of the 64 beams, beam by beam from the top, counter-clockwise from straight ahead plus
 * `phase` steps. points: room for SCENE_BEAMS * steps records of x y z intensity in the sensor's frame, x y z in whole
 * millimetres, intensity 0 to 1 in hundredths. Returns the number of records; negative when memory ends. */
int64_t scene_sweep(const scene *street, const scene_sensor *sensor, int steps, double phase, uint64_t seed,
                    float *points);

/* Exactly `count` records of a sweep with just enough steps to have so many returns, in its order. Returns malloc'd
 * records; NULL when memory ends or when the sensor sees too little to ever have that many. */
float *scene_scan(const scene *street, const scene_pose *pose, int64_t count, double phase, uint64_t seed);

/* ---- files ---- */

/* Records as .bin, little-endian whatever this machine is. False with errno. */
bool scene_write(const char *path, const float *points, int64_t count, int columns);

#endif
