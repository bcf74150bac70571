/* What the files of bench_verdict share: worlds made of simple shapes, sensors that look at them, and pairs of scans
 * with a known truth. Everything follows from seeds. Lengths are metres; the z axis of a world points up. */
#ifndef VERDICT_H
#define VERDICT_H

#include "pcgpu.h"
#include "scene.h"

/* ---- worlds ---- */

typedef struct verdict_shape {
    scene_shape shape;
    double speed[2]; /* metres per second along x and y: cars and pedestrians */
} verdict_shape;

typedef struct verdict_world {
    int count, capacity;
    bool failed; /* memory ran out */
    verdict_shape *shapes;
    double low[2], high[2]; /* of the ground; nothing is seen beyond */
    double ceiling;         /* rays above it meet nothing */
    int columns, rows;      /* heights of the ground, a metre apart */
    float *heights;
    float lowest, highest;
    bool bare;   /* without ground */
    double cell; /* the grid of shapes: its edge, its size, and CSR lists */
    int nx, ny;
    int *begin, *lists;
} verdict_world;

bool verdict_world_open(verdict_world *world, const double low[2], const double high[2], double cell);
void verdict_world_close(verdict_world *world);
/* Ground: a slope and waves of these amplitudes, in order of ever shorter wavelength. */
void verdict_ground(verdict_world *world, test_random *random, const double slope[2], double wide, double narrow);
double verdict_height(const verdict_world *world, double x, double y);
/* What it returns is valid until the next one is added. */
verdict_shape *verdict_add(verdict_world *world, scene_kind kind, scene_material material, const double center[3],
                           const double size[3], double degrees);
/* Sorts the shapes, at the places that those that move have after `seconds`, into the grid. */
bool verdict_world_sort(verdict_world *world, double seconds);
/* The first surface along the ray within `range`; false without one. */
bool verdict_cast(const verdict_world *world, const scene_ray *ray, double range, scene_hit *nearest);

/* ---- places: kinds of worlds ---- */

typedef struct verdict_place {
    const char *name;
    void (*build)(verdict_world *world, test_random *random);
    double low[2], high[2], cell;
    double start[2], end[2]; /* the sensor's x and y of the first scan are drawn between these */
    double step[2];          /* metres between scans of a pair */
    double yaw;              /* at most, degrees, from the first scan to the second */
    double period;           /* seconds between scans */
    double height[2];        /* of the sensor above the ground */
    double tolerance[2];     /* metres, degrees: what is right */
} verdict_place;

extern const verdict_place verdict_places[];
extern const int verdict_place_count;

/* The road of "road" without its cars; returns half its width; *split: it has rails in its middle. */
double verdict_road(verdict_world *world, test_random *random, bool *split);

/* ---- sensors ---- */

typedef struct verdict_sensor {
    const char *name;
    int beams, steps;
    double (*elevation)(int beam); /* degrees; NULL: solid state */
    double view[2]; /* solid state: degrees across and up; 0 beams: a rosette; 0 degrees: a depth camera */
    double range, noise;
    bool carrier; /* on the roof of a car that it sees */
} verdict_sensor;

/* What of the car is within sight, in the sensor's frame: the same in each scan. */
typedef struct verdict_carrier {
    int count;
    scene_shape shapes[4];
} verdict_carrier;

const verdict_sensor *verdict_sensor_named(const char *name);
/* The distance along a direction of the sensor's frame, with noise; false without a return. */
bool verdict_measure(const verdict_world *world, const verdict_sensor *sensor, const verdict_carrier *carrier,
                     const scene_pose *pose, const double d[3], test_random *random, double *range);
/* The direction of a firing, one of so many steps. phase, 0 to 1, differs from scan to scan. */
void verdict_aim(const verdict_sensor *sensor, int beam, int step, int steps, double phase, double d[3]);
bool verdict_is_camera(const verdict_sensor *sensor);
extern const verdict_sensor verdict_sensors[];
extern const int verdict_sensor_count;

void verdict_carrier_draw(verdict_carrier *carrier, test_random *random);
/* A scan as a cloud of x y z intensity. */
pcgpu_status verdict_scan(pcgpu_context *context, const verdict_world *world, const verdict_sensor *sensor,
                          const verdict_carrier *carrier, const scene_pose *pose, uint64_t seed, pcgpu_cloud *cloud);

/* ---- pairs ---- */

typedef enum verdict_truth {
    VERDICT_NEAR,   /* two scans of one place */
    VERDICT_HALVES, /* a scan split by parity */
    VERDICT_SELF,   /* a scan and itself */
    VERDICT_OTHER,  /* scans of two places */
    VERDICT_FAR,    /* scans of one place, more than 100 m apart */
    VERDICT_MIRROR  /* y of the target is -y */
} verdict_truth;

extern const char *const verdict_truths[];

typedef struct verdict_pair {
    const char *place, *sensor;
    verdict_truth truth;
    bool search;
    double T_target_source[16]; /* row-major; of pairs of one place */
    double step;                /* how far apart the sensors were; -1: not known */
    double center[3];           /* of the source: where its error is measured, file coordinates */
    double tolerance[2];
    bool flat; /* the truth does not know heights */
    pcgpu_cloud source, target;
} verdict_pair;

/* The pair of this index, always the same for a seed; `filter` has to be a part of "PLACE/SENSOR/TRUTH" or NULL. Makes
 * clouds only for pairs that the filter takes, and *taken says so. Nothing to free unless it was taken and OK. */
pcgpu_status verdict_make(pcgpu_context *context, uint64_t seed, int index, const char *filter, bool *taken,
                          verdict_pair *pair);
void verdict_pair_free(verdict_pair *pair);

/* ---- pairs that are no scans of a vehicle's or a camera's: verdict_small.c ---- */

/* A scanned object of 2 to 30 cm; or terrain from the air in coordinates of millions. */
pcgpu_status verdict_make_object(pcgpu_context *context, test_random *random, verdict_pair *pair);
pcgpu_status verdict_make_aerial(pcgpu_context *context, test_random *random, verdict_pair *pair);

/* Rotation from yaw, pitch and roll in degrees; 4x4 from a rotation and how far `center` moves. */
void verdict_rotation(double yaw, double pitch, double roll, double rotation[9]);
void verdict_about(const double rotation[9], const double center[3], const double shift[3], double T[16]);

/* ---- real pairs: verdict_real.c ---- */

/* How many there are in a folder of data as ../shared/data; 0 where there is none. */
int verdict_real_count(const char *data);
pcgpu_status verdict_make_real(pcgpu_context *context, const char *data, int index, const char *filter, bool *taken,
                               verdict_pair *pair);

#endif
