/* The LiDAR: pseudo-random numbers, directions, and what a return looks like. */
#include "terrain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------------------------------------------- */

double scene_between(test_random *random, double low, double high) {
    return low + (high - low) * test_unit(random);
}

/* The sum of twelve uniform numbers: near enough to a Gaussian, and free of log and cos. */
double scene_gauss(test_random *random) {
    double sum = -6.0;
    for (int i = 0; i < 12; i++) {
        sum += test_unit(random);
    }
    return sum;
}

/* Taylor series on -45..45 degrees, then quarter turns. */
void scene_direction(double degrees, double *cosine, double *sine) {
    double quarters = floor(degrees / 90.0 + 0.5);
    double a = (degrees - 90.0 * quarters) * (3.14159265358979323846 / 180.0);
    double c = 1.0, s = a, term = a;
    for (int i = 2; i <= 19; i++) {
        term = term * a / i;
        double signed_term = i & 2 ? -term : term;
        if (i & 1) {
            s += signed_term;
        } else {
            c += signed_term;
        }
    }
    int turn = (int)(quarters - 4.0 * floor(quarters / 4.0));
    *cosine = turn == 0 ? c : turn == 1 ? -s : turn == 2 ? -c : s;
    *sine = turn == 0 ? s : turn == 1 ? c : turn == 2 ? -s : -c;
}

bool scene_pose_from(const double values[7], scene_pose *pose) {
    const double *q = values + 3;
    double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(length > 0.0)) {
        return false;
    }
    double w = q[0] / length, x = q[1] / length, y = q[2] / length, z = q[3] / length;
    const double rotation[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                                2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                                2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    for (int i = 0; i < 9; i++) {
        pose->rotation[i] = rotation[i];
    }
    for (int i = 0; i < 3; i++) {
        pose->position[i] = values[i];
    }
    return true;
}

void scene_pose_matrix(const scene_pose *pose, double T[16]) {
    for (int k = 0; k < 3; k++) {
        memcpy(T + 4 * k, pose->rotation + 3 * k, 3 * sizeof *T);
        T[4 * k + 3] = pose->position[k];
    }
    T[12] = T[13] = T[14] = 0.0;
    T[15] = 1.0;
}

/* ---- ray casting --------------------------------------------------------------------------------------------- */

enum { SECTORS = 512 };

/* Which shapes a ray from about one place may meet, by the direction of its shadow on the ground, in order. */
typedef struct sectors {
    const scene *street;
    int begin[SECTORS + 1];
    int *shapes;
    double *nearest; /* no ray meets a shape before this */
} sectors;

static int sector_of(double x, double y) {
    int sector = (int)floor((atan2(y, x) / 6.283185307179586 + 0.5) * SECTORS);
    return sector < 0 ? 0 : sector >= SECTORS ? SECTORS - 1 : sector;
}

/* The sectors in which a shape may be seen from within `margin` of a place: the first, and how many; a sector too many
 * on both sides is for rounding. */
static int spread(const scene_shape *shape, const double place[3], double margin, int *first, double *nearest) {
    double x = shape->center[0] - place[0], y = shape->center[1] - place[1], across = shape->size[1];
    double radius = 1.01 * sqrt(shape->size[0] * shape->size[0] + (shape->kind == SCENE_BOX ? across * across : 0.0));
    double distance = sqrt(x * x + y * y), reach = radius + margin;
    if (shape->moves) {
        reach += sqrt(shape->velocity[0] * shape->velocity[0] + shape->velocity[1] * shape->velocity[1]);
    }
    *nearest = distance - reach;
    *first = 0;
    if (distance < 1.1 * reach) {
        return SECTORS;
    }
    int half = (int)ceil(asin(reach / distance) / 6.283185307179586 * SECTORS) + 1;
    *first = sector_of(x, y) - half + SECTORS;
    return 2 * half + 1 < SECTORS ? 2 * half + 1 : SECTORS;
}

static bool sort_shapes(const scene *street, const double place[3], double margin, sectors *s) {
    int counts[SECTORS] = {0}, first, all = 0;
    *s = (sectors){.street = street, .nearest = malloc(((size_t)street->count + 1) * sizeof *s->nearest)};
    for (int i = 0; s->nearest && i < street->count; i++) {
        int wide = spread(&street->shapes[i], place, margin, &first, &s->nearest[i]);
        for (int k = 0; k < wide; k++) {
            counts[(first + k) % SECTORS]++;
        }
        all += wide;
    }
    s->shapes = s->nearest ? malloc(((size_t)all + 1) * sizeof *s->shapes) : NULL;
    for (int k = 0; k < SECTORS; k++) {
        s->begin[k + 1] = s->begin[k] + counts[k];
        counts[k] = s->begin[k];
    }
    for (int i = 0; s->shapes && i < street->count; i++) {
        double nearest;
        int wide = spread(&street->shapes[i], place, margin, &first, &nearest);
        for (int k = 0; k < wide; k++) {
            s->shapes[counts[(first + k) % SECTORS]++] = i;
        }
    }
    return s->shapes;
}

/* The first thing beyond `after` metres; false when there is nothing within range. */
static bool cast(const sectors *s, const scene_ray *r, double after, scene_hit *nearest) {
    *nearest = (scene_hit){.distance = SCENE_MAX_RANGE};
    bool found = false;
    const struct terrain *hills = s->street->ground;
    double ground = !hills && r->direction[2] < 0.0 ? (-SCENE_SENSOR_HEIGHT - r->origin[2]) / r->direction[2] : 1e30;
    if (ground > after && ground < nearest->distance) {
        *nearest = (scene_hit){.distance = ground, .incidence = -r->direction[2], .material = SCENE_ASPHALT};
        found = true;
    }
    const int sector = sector_of(r->direction[0], r->direction[1]);
    for (int i = s->begin[sector]; i < s->begin[sector + 1]; i++) {
        const scene_shape *shape = &s->street->shapes[s->shapes[i]];
        scene_hit h;
        if (s->nearest[s->shapes[i]] > nearest->distance) {
            continue;
        }
        scene_ray moved;
        const scene_ray *ray = r;
        if (shape->moves) { /* in the shape's frame the ray begins elsewhere */
            moved = *r;
            ray = &moved;
            moved.origin[0] -= r->time * shape->velocity[0];
            moved.origin[1] -= r->time * shape->velocity[1];
        }
        if (scene_meets(shape, ray, &h) && h.distance > after && h.distance < nearest->distance) {
            *nearest = h;
            nearest->moves = shape->moves;
            found = true;
        }
    }
    return (hills && terrain_meets(hills, r, after, nearest)) || found;
}

/* ---- returns ------------------------------------------------------------------------------------------------- */

static const struct {
    double reflectivity, lost; /* lost: share of firings without a return */
} materials[] = {
    [SCENE_ASPHALT] = {0.22, 0.01}, [SCENE_PAVING] = {0.34, 0.01},  [SCENE_PLASTER] = {0.46, 0.01},
    [SCENE_BRICK] = {0.36, 0.01},   [SCENE_GLASS] = {0.08, 0.55},   [SCENE_PAINT] = {0.30, 0.08},
    [SCENE_METAL] = {0.55, 0.03},   [SCENE_BARK] = {0.30, 0.02},    [SCENE_LEAVES] = {0.42, 0.04},
    [SCENE_CLOTH] = {0.38, 0.02},   [SCENE_MARKING] = {0.75, 0.01}, [SCENE_REFLECTOR] = {1.30, 0.0},
    [SCENE_GRASS] = {0.38, 0.02},
};

/* Windows of a facade: 1.2 m wide every 2.6 m, 1.5 m high every 3.1 m, set back by 0.12 m. False when the glass mirrors
 * the beam away. */
static bool look_at_facade(scene_hit *h) {
    double u = h->along / 2.6, v = h->height / 3.1;
    u -= floor(u);
    v -= floor(v);
    if (!h->side || u < 0.27 || u > 0.73 || v < 0.30 || v > 0.78) {
        return true;
    }
    if (h->incidence < 0.2) {
        return false;
    }
    h->material = SCENE_GLASS;
    h->distance += 0.12 / h->incidence;
    return true;
}

/* What becomes of one firing: its measured range and intensity, and on what; or false for no return. */
static bool measure(const sectors *s, const scene_ray *r, double noise, test_random *random, double *range,
                    double *intensity, bool *moves) {
    scene_hit h;
    double after = 0.5;
    for (;;) {
        if (!cast(s, r, after, &h)) {
            return false;
        }
        if (h.material != SCENE_LEAVES) {
            break;
        }
        if (test_unit(random) < 0.8) {
            double depth = test_unit(random);
            depth *= test_unit(random);
            h.distance += 0.5 * depth * (h.leave - h.distance);
            break;
        }
        after = h.leave;
    }
    if (h.material == SCENE_PLASTER && !look_at_facade(&h)) {
        return false;
    }
    /* Far and flat returns are weak; the weakest are lost. */
    double strength = h.incidence * (1.0 - h.distance / (1.25 * SCENE_MAX_RANGE));
    double lost = materials[h.material].lost + (strength < 0.05 ? 0.5 * (1.0 - strength / 0.05) : 0.0);
    if (test_unit(random) < lost) {
        return false;
    }
    *moves = h.moves;
    *range = h.distance + noise * scene_gauss(random);
    *intensity =
        materials[h.material].reflectivity * (0.35 + 0.65 * h.incidence) * (1.0 - 0.4 * h.distance / SCENE_MAX_RANGE) +
        0.02 * scene_gauss(random);
    return true;
}

/* Elevations of an HDL-64: a third of a degree down from +2, then half a degree down to -24.8. */
static double elevation(int beam) {
    return beam < 32 ? 2.0 - beam / 3.0 : -8.83 - (beam - 32) * (24.8 - 8.83) / 31.0;
}

static double rounded(double value, double unit) {
    return floor(value * unit + 0.5) / unit;
}

/* How far the sensor gets from its first place. */
static double farthest(const scene_sensor *sensor) {
    double most = 0.0;
    for (int i = 1; i < sensor->count; i++) {
        double x = sensor->poses[i].position[0] - sensor->poses[0].position[0];
        double y = sensor->poses[i].position[1] - sensor->poses[0].position[1], away = sqrt(x * x + y * y);
        most = away > most ? away : most;
    }
    return most;
}

int64_t scene_sweep(const scene *street, const scene_sensor *sensor, int steps, double phase, uint64_t seed,
                    float *points) {
    test_random random = {seed};
    sectors seen;
    int64_t count = 0;
    const int columns = sensor->times ? 5 : 4;
    if (!sort_shapes(street, sensor->poses[0].position, farthest(sensor), &seen)) {
        count = -1;
    }
    for (int beam = 0; count >= 0 && beam < SCENE_BEAMS; beam++) {
        double level, rise;
        scene_direction(elevation(beam), &level, &rise);
        double skew = phase + 0.618 * beam; /* the lasers are not in one column */
        skew -= floor(skew);
        for (int step = 0; step < steps; step++) {
            const scene_pose *pose = &sensor->poses[sensor->count > 1 ? step : 0];
            double c, s;
            scene_direction(360.0 * (step + skew) / steps, &c, &s);
            const double d[3] = {level * c, level * s, rise};
            scene_ray r = {.time = sensor->count > 1 ? (double)step / steps - 0.5 : 0.0};
            for (int k = 0; k < 3; k++) {
                const double *row = pose->rotation + 3 * k;
                r.origin[k] = pose->position[k];
                r.direction[k] = (row[0] * d[0] + row[1] * d[1]) + row[2] * d[2];
            }
            double range, intensity, noise = sensor->noise > 0.0 ? sensor->noise : 0.015;
            bool moves;
            if (!measure(&seen, &r, noise, &random, &range, &intensity, &moves)) {
                continue;
            }
            if (sensor->moving) {
                sensor->moving[count] = moves;
            }
            float *p = points + columns * count++;
            for (int k = 0; k < 3; k++) {
                p[k] = (float)rounded(range * d[k], 1000.0);
            }
            p[3] = (float)rounded(intensity < 0.0 ? 0.0 : intensity > 0.99 ? 0.99 : intensity, 100.0);
            if (sensor->times) {
                p[4] = (float)((double)step / steps);
            }
        }
    }
    free(seen.shapes);
    free(seen.nearest);
    return count;
}

/* Keeps exactly `keep` of `count` records, each with the same chance (selection sampling, Knuth's algorithm S). */
static void thin(float *points, int64_t count, int64_t keep, uint64_t seed) {
    test_random random = {~seed};
    int64_t kept = 0;
    for (int64_t i = 0; i < count && kept < keep; i++) {
        if ((double)(count - i) * test_unit(&random) < (double)(keep - kept)) {
            memmove(points + 4 * kept++, points + 4 * i, 4 * sizeof *points);
        }
    }
}

float *scene_scan(const scene *street, const scene_pose *pose, int64_t count, double phase, uint64_t seed) {
    double steps = 1.09 * (double)count / SCENE_BEAMS + 8.0;
    for (int attempt = 0; attempt < 6; attempt++) {
        float *points = malloc((size_t)steps * SCENE_BEAMS * 4 * sizeof *points);
        if (!points) {
            return NULL;
        }
        const scene_sensor still = {.poses = pose, .count = 1};
        int64_t found = scene_sweep(street, &still, (int)steps, phase, seed, points);
        if (found >= count) {
            thin(points, found, count, seed);
            return points;
        }
        free(points);
        if (found < 0) {
            return NULL;
        }
        double missing = (double)count / (double)(found + 1);
        if (missing > 8.0) {
            break;
        }
        steps *= 1.01 * missing;
    }
    return NULL;
}

/* ---- files --------------------------------------------------------------------------------------------------- */

bool scene_write(const char *path, const float *points, int64_t count, int columns) {
    FILE *file = fopen(path, "wb");
    bool good = file != NULL;
    for (int64_t i = 0; good && i < columns * count; i++) {
        uint32_t bits;
        memcpy(&bits, points + i, sizeof bits);
        unsigned char bytes[4] = {bits & 255, bits >> 8 & 255, bits >> 16 & 255, bits >> 24};
        good = fwrite(bytes, 1, sizeof bytes, file) == sizeof bytes;
    }
    return file && fclose(file) == 0 && good;
}
