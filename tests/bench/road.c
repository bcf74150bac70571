/* bench_road [options] FOLDER: the scans of a car on a fast road (.bin), with its poses and times, as
 * tests/scene/drive.c writes those of a car in a city: guard rails, signs, trees, hedges, sometimes a barrier, and
 * other cars, at 25 to 40 m/s where the own one has 30. Also while a scan is taken everything moves, as far as --moving
 * says so. */
#include "verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SECTORS = 12, MOST_STEPS = 30000 }; /* other cars stand still within a sector of a scan */

#define FAST   30.0
#define PERIOD 0.1

typedef struct arguments {
    int frames, steps; /* steps 0: those of the sensor, or 1800 of a spinning one */
    uint64_t seed;
    double off;   /* degrees that the beams are higher than the points say */
    double speed; /* metres per second */
    bool moving;
    const verdict_sensor *sensor;
    const char *folder;
} arguments;

typedef struct road_work {
    verdict_world straight, now; /* all of the road before it is bent; what is near at a time */
    float *points;
} road_work;

/* Where the middle of the road is, metres to the left, never more than 40, and its slope. */
static double bend(double x, double *slope) {
    const double a = 0.0070, b = 0.0023;
    *slope = 15.0 * a * cos(a * x) + 25.0 * b * cos(b * x);
    return 15.0 * sin(a * x) + 25.0 * sin(b * x);
}

static void pose_at(const arguments *a, const verdict_world *world, double lane, double t, scene_pose *pose) {
    double x = a->speed * (t + 0.1 * sin(0.21 * t)), slope, y = bend(x, &slope) + lane + 0.3 * sin(0.17 * t), h[3];
    double yaw = atan(slope) * 57.29578 + 0.15 * sin(0.5 * t), pitch, roll = 0.3 * sin(0.9 * t);
    for (int i = 0; i < 3; i++) {
        h[i] =
            (verdict_height(world, x + 8.0 * (i - 1) - 2.0, y) + verdict_height(world, x + 8.0 * (i - 1) + 2.0, y)) / 2;
    }
    pitch = -atan2(h[2] - h[0], 16.0) * 57.29578 + 0.15 * sin(2.3 * t);
    verdict_rotation(yaw, pitch, roll, pose->rotation);
    pose->position[0] = x;
    pose->position[1] = y;
    pose->position[2] = (h[0] + h[1] + h[2]) / 3 + 1.73;
}

/* Cars around the own one, all the time of the drive: those of its direction keep near, those of the other come by.
 * Their time runs slower than that of the drive by the own speed. */
static void add_cars(verdict_world *w, test_random *r, double half, bool split, double lane, double seconds) {
    for (int i = 0; i < 14 + (int)(seconds * 2.0); i++) {
        const bool ahead = i < 14;
        double speed = ahead ? scene_between(r, 25.0, 40.0) : -scene_between(r, 25.0, 40.0);
        double place = test_unit(r), other = test_unit(r) < 0.5 ? 0.3 : 0.75, length = scene_between(r, 3.8, 12.0);
        double meet = ahead ? 0.5 * seconds : seconds * place; /* when it is near the own car */
        double x = FAST * meet + (ahead ? 160.0 * place - 60.0 : 80.0) - speed * meet;
        double y = ahead ? (fabs(lane + half * 0.3) < 1.0 ? -half * 0.75 : -half * 0.3) : half * other;
        y += split ? (ahead ? -1.0 : 1.0) : 0.0;
        double tall = length > 7.0 ? 3.2 : 1.5, high = verdict_height(w, x, 0.0);
        const double low[3] = {x, y, high + 0.22 + 0.35}, body[3] = {length / 2, 0.9, 0.35};
        const double top[3] = {x - 0.1 * length, y, high + 0.92 + (tall - 0.92) / 2};
        const double cabin[3] = {length * (tall > 2.0 ? 0.4 : 0.27), 0.8, (tall - 0.92) / 2};
        verdict_add(w, SCENE_BOX, SCENE_PAINT, low, body, 0.0)->speed[0] = speed;
        verdict_add(w, SCENE_BOX, tall > 2.0 ? SCENE_PAINT : SCENE_GLASS, top, cabin, 0.0)->speed[0] = speed;
    }
}

/* What is within 130 m of x at a time, bent with the road. */
static bool bring_near(const arguments *a, road_work *w, double t) {
    const double x = a->speed * t;
    w->now.count = 0;
    for (int i = 0; i < w->straight.count; i++) {
        verdict_shape s = w->straight.shapes[i];
        double slope, angle, across = s.shape.center[1], before = s.shape.center[0];
        s.shape.center[0] += t * a->speed / FAST * s.speed[0];
        if (fabs(s.shape.center[0] - x) > 130.0) {
            continue;
        }
        double middle = bend(s.shape.center[0], &slope);
        angle = atan(slope) + atan2(s.shape.sine, s.shape.cosine);
        s.shape.center[1] = middle + across;
        if (s.speed[0] != 0.0) {
            s.shape.center[2] += verdict_height(&w->straight, s.shape.center[0], s.shape.center[1]) -
                                 verdict_height(&w->straight, before, 0.0);
        } else {
            s.shape.center[2] += verdict_height(&w->straight, s.shape.center[0], s.shape.center[1]) -
                                 verdict_height(&w->straight, s.shape.center[0], across);
        }
        verdict_shape *copy = verdict_add(&w->now, s.shape.kind, s.shape.material, s.shape.center, s.shape.size, 0.0);
        copy->shape.cosine = cos(angle);
        copy->shape.sine = sin(angle);
    }
    return verdict_world_sort(&w->now, 0.0);
}

static int64_t sweep(const arguments *a, road_work *w, double lane, int frame) {
    static const verdict_carrier none;
    const verdict_sensor *sensor = a->sensor;
    const int beams = sensor->beams ? sensor->beams : 1;
    test_random random = {a->seed * 1000003u + (uint64_t)frame};
    const double phase = test_unit(&random), middle = frame * PERIOD, rise = a->off * 0.017453292519943295;
    int64_t count = 0;
    scene_pose pose;
    for (int step = 0; step < a->steps; step++) {
        double t = middle + (a->moving ? PERIOD * ((double)step / a->steps - 0.5) : 0.0);
        if (step * SECTORS / a->steps != (step - 1) * SECTORS / a->steps || step == 0) {
            if ((step == 0 || a->moving) && !bring_near(a, w, t)) {
                return -1;
            }
        }
        pose_at(a, &w->straight, lane, t, &pose);
        for (int beam = 0; beam < beams; beam++) {
            double d[3], range;
            verdict_aim(sensor, beam, step, a->steps, phase, d);
            const double flat = hypot(d[0], d[1]), level = atan2(d[2], flat) + rise;
            const double higher[3] = {cos(level) * d[0] / flat, cos(level) * d[1] / flat, sin(level)};
            if (!verdict_measure(&w->now, sensor, &none, &pose, higher, &random, &range)) {
                continue;
            }
            float *p = w->points + 5 * count++;
            for (int k = 0; k < 3; k++) {
                p[k] = (float)(floor(range * d[k] * 1000.0 + 0.5) / 1000.0);
            }
            p[3] = 0.0f;
            p[4] = (float)((double)step / a->steps);
        }
    }
    return count;
}

/* first^-1 pose, as drive.c. */
static void print_pose(FILE *file, const scene_pose *first, const scene_pose *pose) {
    for (int i = 0; i < 3; i++) {
        const double *a = first->rotation + i, *b = pose->rotation;
        double away = 0.0;
        for (int k = 0; k < 3; k++) {
            away += a[3 * k] * (pose->position[k] - first->position[k]);
            fprintf(file, "%.17g ", a[0] * b[k] + a[3] * b[3 + k] + a[6] * b[6 + k]);
        }
        fprintf(file, i < 2 ? "%.17g " : "%.17g\n", away);
    }
}

static bool write_all(const arguments *a, road_work *w, double lane) {
    char path[4096];
    scene_pose first, pose;
    snprintf(path, sizeof path, "%s/poses.txt", a->folder);
    FILE *poses = fopen(path, "w");
    snprintf(path, sizeof path, "%s/times.txt", a->folder);
    FILE *times = fopen(path, "w");
    bool good = poses && times;
    pose_at(a, &w->straight, lane, 0.0, &first);
    for (int i = 0; i < a->frames && good; i++) {
        int64_t count = sweep(a, w, lane, i);
        snprintf(path, sizeof path, "%s/%06d.bin", a->folder, i);
        good = count >= 0 && scene_write(path, w->points, count, 5);
        pose_at(a, &w->straight, lane, i * PERIOD, &pose);
        print_pose(poses, &first, &pose);
        fprintf(times, "%.17g\n", i * PERIOD);
    }
    good = (!poses || fclose(poses) == 0) && good;
    return (!times || fclose(times) == 0) && good;
}

static bool parse(int argc, char **argv, arguments *a) {
    *a = (arguments){.frames = 300, .seed = 1, .speed = FAST, .sensor = verdict_sensor_named("spin64")};
    int i = 1;
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        double value = atof(argv[i + 1]);
        if (strcmp(argv[i], "--frames") == 0 && value >= 1.0 && value <= 300.0) {
            a->frames = (int)value;
        } else if (strcmp(argv[i], "--steps") == 0 && value >= 8.0 && value <= MOST_STEPS) {
            a->steps = (int)value;
        } else if (strcmp(argv[i], "--seed") == 0) {
            a->seed = (uint64_t)value;
        } else if (strcmp(argv[i], "--moving") == 0) {
            a->moving = value == 1.0;
        } else if (strcmp(argv[i], "--beams-off") == 0) {
            a->off = value;
        } else if (strcmp(argv[i], "--speed") == 0 && value >= 0.0 && value <= 100.0) {
            a->speed = value;
        } else if (strcmp(argv[i], "--sensor") == 0 && verdict_sensor_named(argv[i + 1])) {
            a->sensor = verdict_sensor_named(argv[i + 1]);
        } else {
            return false;
        }
    }
    a->steps = a->steps ? a->steps : a->sensor->steps;
    a->folder = i + 1 == argc ? argv[i] : NULL;
    return a->folder != NULL;
}

int main(int argc, char **argv) {
    arguments a;
    if (!parse(argc, argv, &a)) {
        fputs("usage: bench_road [--frames N] [--steps N] [--seed N] [--moving 1] [--beams-off DEGREES] [--speed M/S] "
              "[--sensor NAME] FOLDER\n",
              stderr);
        return 2;
    }
    const double low[2] = {-140.0, -150.0}, high[2] = {a.speed * PERIOD * a.frames + 140.0, 150.0};
    test_random random = {a.seed};
    road_work w = {0};
    bool good = verdict_world_open(&w.straight, low, high, 2.0);
    bool split = false;
    double half = good ? verdict_road(&w.straight, &random, &split) : 0.0, lane = -half * 0.3;
    if (good) {
        add_cars(&w.straight, &random, half, split, lane, PERIOD * a.frames * a.speed / FAST);
        good = verdict_world_sort(&w.straight, 0.0) && verdict_world_open(&w.now, low, high, 2.0);
    }
    if (good) { /* the ground is that of the road, which does not bend */
        memcpy(w.now.heights, w.straight.heights, (size_t)w.now.columns * (size_t)w.now.rows * sizeof *w.now.heights);
        w.now.lowest = w.straight.lowest;
        w.now.highest = w.straight.highest;
    }
    w.points = malloc((size_t)a.steps * (size_t)(a.sensor->beams ? a.sensor->beams : 1) * 5 * sizeof *w.points);
    good = good && w.points && write_all(&a, &w, lane);
    if (!good) {
        perror("bench_road: cannot write, or out of memory");
    }
    verdict_world_close(&w.straight);
    verdict_world_close(&w.now);
    free(w.points);
    return good ? 0 : 1;
}
