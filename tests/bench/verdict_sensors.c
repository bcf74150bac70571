/* bench_verdict: sensors and what they measure. */
#include "verdict.h"

#include <math.h>
#include <string.h>

static double beams_16(int beam) {
    return 15.0 - 2.0 * beam;
}

static double beams_32(int beam) {
    return 10.67 - 4.0 / 3.0 * beam;
}

static double beams_64(int beam) {
    return beam < 32 ? 2.0 - beam / 3.0 : -8.83 - (beam - 32) * (24.8 - 8.83) / 31.0;
}

/* As many above the horizon as below it. */
static double beams_64_even(int beam) {
    return 22.5 - 45.0 / 63.0 * beam;
}

/* Dense about the horizon. */
static double beams_128_dense(int beam) {
    return beam < 26 ? 15.0 - 0.5 * beam : beam < 90 ? 2.0 - 0.125 * (beam - 26) : -6.0 - 0.5 * (beam - 90);
}

const verdict_sensor verdict_sensors[] = {
    {"spin16", 16, 1800, beams_16, {0}, 100.0, 0.02, false},
    {"spin32", 32, 1084, beams_32, {0}, 80.0, 0.02, true},
    {"spin64", 64, 1800, beams_64, {0}, 90.0, 0.015, false},
    {"spin64car", 64, 1024, beams_64_even, {0}, 90.0, 0.015, true},
    {"spin128", 128, 1024, beams_128_dense, {0}, 120.0, 0.015, true},
    {"spin32bare", 32, 1084, beams_32, {0}, 80.0, 0.02, false},
    {"rosette", 0, 24000, NULL, {70.4, 77.2}, 120.0, 0.02, false},
    {"flash", 100, 480, NULL, {120.0, 25.0}, 100.0, 0.025, false},
    {"depth", 480, 640, NULL, {0}, 8.0, 0.0012, false},
};
const int verdict_sensor_count = sizeof verdict_sensors / sizeof verdict_sensors[0];

const verdict_sensor *verdict_sensor_named(const char *name) {
    for (int i = 0; i < verdict_sensor_count; i++) {
        if (strcmp(verdict_sensors[i].name, name) == 0) {
            return &verdict_sensors[i];
        }
    }
    return NULL;
}

bool verdict_is_camera(const verdict_sensor *sensor) {
    return !sensor->elevation && sensor->view[0] == 0.0;
}

static scene_shape carrier_box(double x, double z, double length, double width, double height) {
    return (scene_shape){.kind = SCENE_BOX,
                         .material = SCENE_METAL,
                         .center = {x, 0.0, z},
                         .size = {length / 2, width / 2, height / 2},
                         .cosine = 1.0};
}

void verdict_carrier_draw(verdict_carrier *carrier, test_random *random) {
    double roof = scene_between(random, -0.45, -0.25), back = scene_between(random, -0.9, -0.2);
    double width = scene_between(random, 1.3, 1.7), hood = scene_between(random, 1.3, 1.7);
    carrier->count = 0;
    carrier->shapes[carrier->count++] = carrier_box(back, roof - 0.05, 2.4, width, 0.1);
    carrier->shapes[carrier->count++] = carrier_box(hood, roof - 0.55, 1.6, width, 0.1);
    if (test_unit(random) < 0.5) { /* racks, antennas */
        carrier->shapes[carrier->count++] = carrier_box(back - 0.6, roof + 0.1, 0.1, width * 0.9, 0.08);
        carrier->shapes[carrier->count++] = carrier_box(back + 0.9, roof + 0.05, 0.3, 0.3, 0.1);
    }
}

static const double lost_share[] = {
    [SCENE_ASPHALT] = 0.01, [SCENE_PAVING] = 0.01, [SCENE_PLASTER] = 0.01, [SCENE_BRICK] = 0.01,
    [SCENE_GLASS] = 0.45,   [SCENE_PAINT] = 0.08,  [SCENE_METAL] = 0.03,   [SCENE_BARK] = 0.02,
    [SCENE_LEAVES] = 0.10,  [SCENE_CLOTH] = 0.02,  [SCENE_MARKING] = 0.01, [SCENE_REFLECTOR] = 0.0,
};

bool verdict_measure(const verdict_world *world, const verdict_sensor *sensor, const verdict_carrier *carrier,
                     const scene_pose *pose, const double d[3], test_random *random, double *range) {
    scene_ray r = {.direction = {d[0], d[1], d[2]}};
    scene_hit h, own = {.distance = sensor->range};
    bool found = false;
    for (int i = 0; i < carrier->count; i++) {
        if (scene_meets(&carrier->shapes[i], &r, &h) && h.distance > 0.0 && h.distance < own.distance) {
            own = h;
            found = true;
        }
    }
    if (!found) {
        for (int k = 0; k < 3; k++) {
            const double *row = pose->rotation + 3 * k;
            r.origin[k] = pose->position[k];
            r.direction[k] = (row[0] * d[0] + row[1] * d[1]) + row[2] * d[2];
        }
        found = verdict_cast(world, &r, sensor->range, &own);
    }
    /* One draw each, whatever the ray meets: noise of one beam does not depend on that of others. */
    double chance = test_unit(random), noise = sensor->noise * scene_gauss(random);
    double strength = own.incidence * (1.0 - own.distance / (1.25 * sensor->range));
    double lost = lost_share[own.material] + (strength < 0.05 ? 0.5 * (1.0 - strength / 0.05) : 0.0);
    if (verdict_is_camera(sensor)) { /* Nguyen et al. 2012: it grows with the square of the depth */
        double z = own.distance * d[2] - 0.4;
        noise *= (0.0012 + 0.0019 * z * z) / (0.0012 * d[2]);
    }
    *range = own.distance + (own.material == SCENE_LEAVES ? 2.0 : 1.0) * noise;
    return found && chance >= lost && *range > 0.3;
}

static void direction_of(double azimuth, double elevation, double d[3]) {
    const double degree = 0.017453292519943295;
    d[0] = cos(elevation * degree) * cos(azimuth * degree);
    d[1] = cos(elevation * degree) * sin(azimuth * degree);
    d[2] = sin(elevation * degree);
}

void verdict_aim(const verdict_sensor *s, int beam, int step, int steps, double phase, double d[3]) {
    if (verdict_is_camera(s)) { /* a pixel: z forward, x right, y down */
        double x = (step - 319.5) / 585.0, y = (beam - 239.5) / 585.0, length = sqrt(x * x + y * y + 1.0);
        d[0] = x / length;
        d[1] = y / length;
        d[2] = 1.0 / length;
    } else if (s->elevation) {
        double skew = phase + 0.618 * beam; /* the lasers are not in one column */
        direction_of(360.0 * (step + skew - floor(skew)) / steps, s->elevation(beam), d);
    } else if (s->beams) {
        direction_of(s->view[0] * ((step + 0.5) / steps - 0.5), s->view[1] * (0.5 - (beam + 0.5) / s->beams), d);
    } else { /* two prisms that turn at rates without a common period */
        double t = 6.283185307179586 * (step / (double)steps + 7.0 * phase);
        double u = 0.5 * (cos(113.17 * t) + cos(-67.39 * t)), v = 0.5 * (sin(113.17 * t) + sin(-67.39 * t));
        direction_of(0.5 * s->view[0] * u, 0.5 * s->view[1] * v, d);
    }
}

pcgpu_status verdict_scan(pcgpu_context *context, const verdict_world *world, const verdict_sensor *sensor,
                          const verdict_carrier *carrier, const scene_pose *pose, uint64_t seed, pcgpu_cloud *cloud) {
    static const verdict_carrier none;
    test_random random = {seed};
    const int beams = sensor->beams ? sensor->beams : 1;
    double phase = test_unit(&random);
    pcgpu_status status = pcgpu_cloud_create(context, (int64_t)beams * sensor->steps, 4, cloud);
    if (status != PCGPU_OK) {
        return status;
    }
    cloud->rows = 0;
    for (int beam = 0; beam < beams; beam++) {
        for (int step = 0; step < sensor->steps; step++) {
            double d[3], range;
            verdict_aim(sensor, beam, step, sensor->steps, phase, d);
            if (verdict_measure(world, sensor, sensor->carrier ? carrier : &none, pose, d, &random, &range)) {
                float *p = cloud->data + 4 * cloud->rows++;
                for (int k = 0; k < 3; k++) {
                    p[k] = (float)(floor(range * d[k] * 1000.0 + 0.5) / 1000.0);
                }
                p[3] = 0.0f;
            }
        }
    }
    return PCGPU_OK;
}
