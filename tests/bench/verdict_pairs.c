/* bench_verdict: from an index to two clouds and what is true of them. */
#include "verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const verdict_truths[] = {"near", "halves", "self", "other", "far", "mirror"};

/* ---- poses ---- */

static void multiply(const double a[9], const double b[9], double product[9]) {
    for (int i = 0; i < 9; i++) {
        const double *row = a + i / 3 * 3;
        product[i] = (row[0] * b[i % 3] + row[1] * b[3 + i % 3]) + row[2] * b[6 + i % 3];
    }
}

/* Yaw, pitch, roll in degrees. */
void verdict_rotation(double yaw, double pitch, double roll, double rotation[9]) {
    const double k = 0.017453292519943295;
    double cy = cos(yaw * k), sy = sin(yaw * k), cp = cos(pitch * k), sp = sin(pitch * k), cr = cos(roll * k);
    double sr = sin(roll * k);
    const double r[9] = {cy * cp,
                         cy * sp * sr - sy * cr,
                         cy * sp * cr + sy * sr,
                         sy * cp,
                         sy * sp * sr + cy * cr,
                         sy * sp * cr - cy * sr,
                         -sp,
                         cp * sr,
                         cp * cr};
    memcpy(rotation, r, sizeof r);
}

void verdict_about(const double rotation[9], const double center[3], const double shift[3], double T[16]) {
    memset(T, 0, 16 * sizeof *T);
    T[15] = 1.0;
    for (int i = 0; i < 3; i++) {
        T[4 * i + 3] = center[i] + shift[i];
        for (int k = 0; k < 3; k++) {
            T[4 * i + k] = rotation[3 * i + k];
            T[4 * i + 3] -= rotation[3 * i + k] * center[k];
        }
    }
}

/* A sensor of a vehicle that stands on the ground, and sways a little. */
static void pose_at(const verdict_world *w, double x, double y, double yaw, double height, test_random *random,
                    scene_pose *pose) {
    double c = cos(yaw * 0.0174533), s = sin(yaw * 0.0174533), pitch, roll;
    double ahead = verdict_height(w, x + 1.4 * c, y + 1.4 * s), behind = verdict_height(w, x - 1.4 * c, y - 1.4 * s);
    double left = verdict_height(w, x - 0.8 * s, y + 0.8 * c), right = verdict_height(w, x + 0.8 * s, y - 0.8 * c);
    pitch = -atan2(ahead - behind, 2.8) * 57.29578 + 0.3 * scene_gauss(random);
    roll = atan2(left - right, 1.6) * 57.29578 + 0.3 * scene_gauss(random);
    verdict_rotation(yaw, pitch, roll, pose->rotation);
    pose->position[0] = x;
    pose->position[1] = y;
    pose->position[2] = (ahead + behind + left + right) / 4 + height;
}

/* The frame of a camera that looks ahead and, 0 to 1, ever more down. */
static void look_ahead(double down, scene_pose *pose) {
    const double optical[9] = {0, 0, 1, -1, 0, 0, 0, -1, 0}, c = cos(0.6 * down), s = sin(0.6 * down);
    const double pitch[9] = {1, 0, 0, 0, c, s, 0, -s, c};
    double camera[9], rotation[9];
    multiply(optical, pitch, camera);
    multiply(pose->rotation, camera, rotation);
    memcpy(pose->rotation, rotation, sizeof rotation);
}

/* target^-1 source, 4x4 */
static void relative(const scene_pose *source, const scene_pose *target, double T[16]) {
    double inverse[9], rotation[9];
    for (int i = 0; i < 9; i++) {
        inverse[i] = target->rotation[i % 3 * 3 + i / 3];
    }
    multiply(inverse, source->rotation, rotation);
    memset(T, 0, 16 * sizeof *T);
    T[15] = 1.0;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            T[4 * i + k] = rotation[3 * i + k];
            T[4 * i + 3] += inverse[3 * i + k] * (source->position[k] - target->position[k]);
        }
    }
}

static void identity(double T[16]) {
    for (int i = 0; i < 16; i++) {
        T[i] = i % 5 == 0 ? 1.0 : 0.0;
    }
}

/* ---- the plan of a pair ---- */

typedef struct plan {
    int small; /* 1: an object, 2: aerial */
    const verdict_place *place;
    const verdict_sensor *sensor;
    verdict_truth truth;
    bool search;
    uint64_t world, other; /* seeds */
    test_random random;    /* for what follows */
} plan;

static const verdict_sensor *sensor_for(const verdict_place *place, test_random *r) {
    const bool indoors = place->cell < 2.0;
    double pick = test_unit(r);
    if (place->cell < 0.5) {
        return &verdict_sensors[verdict_sensor_count - 1];
    }
    static const char *const inside[] = {"spin16", "spin16", "spin16", "spin32bare", "rosette"};
    const char *name = inside[(int)(5.0 * pick)];
    if (indoors) {
        return verdict_sensor_named(name);
    }
    int choice = (int)(pick * (verdict_sensor_count - 1)); /* the last is a camera */
    return &verdict_sensors[choice];
}

static void draw_plan(uint64_t seed, int index, plan *p) {
    p->random = (test_random){seed * 0x9E3779B97F4A7C15u + (uint64_t)index * 0xD1342543DE82EF95u};
    test_unit(&p->random);
    double where = test_unit(&p->random), what = test_unit(&p->random), search = test_unit(&p->random);
    static const double upto[] = {0.26, 0.48, 0.58, 0.66, 0.74, 0.80, 0.88, 0.96, 1.0}; /* places, objects, aerial */
    int place = 0;
    while (where >= upto[place]) {
        place++;
    }
    p->small = place < verdict_place_count ? 0 : place - verdict_place_count + 1;
    p->place = &verdict_places[p->small ? 0 : place];
    p->sensor = sensor_for(p->place, &p->random);
    /* Half of one place, half of two. */
    p->truth = what < 0.40   ? VERDICT_NEAR
               : what < 0.47 ? VERDICT_HALVES
               : what < 0.50 ? VERDICT_SELF
               : what < 0.70 ? VERDICT_OTHER
               : what < 0.80 ? VERDICT_FAR
                             : VERDICT_MIRROR;
    if (p->truth == VERDICT_FAR && (p->small || p->place->high[0] < 100.0)) {
        p->truth = VERDICT_OTHER;
    }
    p->search = search < 0.1 && p->truth != VERDICT_SELF;
    p->world = (uint64_t)(test_unit(&p->random) * 9007199254740992.0);
    p->other = (uint64_t)(test_unit(&p->random) * 9007199254740992.0);
}

static const char *place_of(const plan *p) {
    static const char *const names[] = {"object", "aerial"};
    return p->small ? names[p->small - 1] : p->place->name;
}

static const char *sensor_of(const plan *p) {
    static const char *const names[] = {"scanner", "airborne"};
    return p->small ? names[p->small - 1] : p->sensor->name;
}

static bool wanted(const plan *p, const char *filter) {
    char name[128];
    snprintf(name, sizeof name, "%s/%s/%s%s", place_of(p), sensor_of(p), verdict_truths[p->truth],
             p->search ? "/auto" : "");
    return !filter || strstr(name, filter);
}

static bool open_world(const plan *p, uint64_t seed, verdict_world *world) {
    test_random random = {seed};
    bool good = verdict_world_open(world, p->place->low, p->place->high, p->place->cell);
    if (good) {
        p->place->build(world, &random);
    }
    return good && verdict_world_sort(world, 0.0);
}

/* ---- clouds ---- */

/* Records first, first + 2, ... */
static pcgpu_status half_of(pcgpu_context *context, const pcgpu_cloud *cloud, int first, pcgpu_cloud *out) {
    pcgpu_status status = pcgpu_cloud_create(context, (cloud->rows + 1 - first) / 2, cloud->columns, out);
    for (int64_t i = 0; status == PCGPU_OK && i < out->rows; i++) {
        memcpy(out->data + i * out->columns, cloud->data + (2 * i + first) * cloud->columns,
               (size_t)out->columns * sizeof(float));
    }
    return status;
}

/* The source is half of the scan, moved by a little in every second pair; its truth is exact but for rounding. */
static pcgpu_status make_halves(pcgpu_context *context, plan *p, const pcgpu_cloud *scan, verdict_pair *pair) {
    const double step = p->place->step[1] / 6.0;
    bool moved = test_unit(&p->random) < 0.5;
    scene_pose there = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0}}, here = there;
    double yaw = scene_between(&p->random, -2.0, 2.0), tilt = scene_between(&p->random, -0.5, 0.5);
    if (moved) {
        verdict_rotation(yaw, tilt, -tilt, there.rotation);
        there.position[0] = scene_between(&p->random, -step, step);
        there.position[1] = scene_between(&p->random, -step, step);
        there.position[2] = 0.1 * scene_between(&p->random, -step, step);
    }
    double T[16];
    pcgpu_cloud half = {0};
    relative(&here, &there, T); /* what moves the source */
    relative(&there, &here, pair->T_target_source);
    pcgpu_status status = half_of(context, scan, 0, &half);
    if (status == PCGPU_OK) {
        status = pcgpu_cloud_transform(context, &half, T, NULL, &pair->source);
        pcgpu_cloud_free(&half);
    }
    return status == PCGPU_OK ? half_of(context, scan, 1, &pair->target) : status;
}

static void second_pose(const plan *p, test_random *r, const verdict_world *world, const double at[3], double height,
                        scene_pose *pose) {
    double step = scene_between(r, p->place->step[0], p->place->step[1]);
    double drift = scene_between(r, -0.15, 0.15), turn = p->place->yaw * scene_between(r, -1.0, 1.0);
    if (p->search) { /* what a start from the identity does not reach */
        step *= 1.5;
        turn *= 4.0;
    }
    turn *= test_unit(r); /* mostly little */
    pose_at(world, at[0] + step, at[1] + drift * step, at[2] + turn, height, r, pose);
}

/* The scene must not begin within a wall. */
static pcgpu_status scan_pair(pcgpu_context *context, plan *p, verdict_world *world, verdict_pair *pair) {
    test_random *r = &p->random;
    verdict_carrier carrier;
    scene_pose first, second;
    const verdict_place *place = p->place;
    double x = scene_between(r, place->start[0], place->end[0]), y = scene_between(r, place->start[1], place->end[1]);
    double yaw = scene_between(r, -3.0, 3.0), height = scene_between(r, place->height[0], place->height[1]);
    uint64_t noise = (uint64_t)(test_unit(r) * 9007199254740992.0);
    const bool camera = verdict_is_camera(p->sensor);
    yaw = camera ? 60.0 * yaw : yaw;
    const double at[3] = {x, y, yaw};
    verdict_carrier_draw(&carrier, r);
    pose_at(world, x, y, yaw, height, r, &first);
    if (p->truth == VERDICT_FAR) {
        double away = scene_between(r, 101.0, 110.0);
        pose_at(world, x + away, y, yaw + scene_between(r, -5.0, 5.0), height, r, &second);
    } else {
        second_pose(p, r, world, at, height, &second);
    }
    if (camera) {
        look_ahead(p->world % 97 / 97.0, &first);
        look_ahead(p->world % 97 / 97.0, &second);
    }
    pair->step = sqrt(pow(second.position[0] - first.position[0], 2) + pow(second.position[1] - first.position[1], 2));
    pcgpu_cloud target = {0};
    pcgpu_status status = verdict_scan(context, world, p->sensor, &carrier, &first, noise, &target);
    if (status != PCGPU_OK || p->truth == VERDICT_SELF) {
        pair->target = target;
        identity(pair->T_target_source);
        pair->step = 0.0;
        return status == PCGPU_OK ? pcgpu_cloud_transform(context, &target, pair->T_target_source, NULL, &pair->source)
                                  : status;
    }
    if (p->truth == VERDICT_HALVES) {
        status = make_halves(context, p, &target, pair);
        pair->step = sqrt(pow(pair->T_target_source[3], 2) + pow(pair->T_target_source[7], 2));
        pcgpu_cloud_free(&target);
        return status;
    }
    if (p->truth == VERDICT_OTHER) {
        verdict_world_close(world);
        if (!open_world(p, p->other, world)) {
            pair->target = target;
            return PCGPU_ERROR_MEMORY;
        }
        second_pose(p, r, world, at, height, &second);
        if (camera) {
            look_ahead(p->world % 97 / 97.0, &second);
        }
    } else if (!verdict_world_sort(world, place->period)) {
        pair->target = target;
        return PCGPU_ERROR_MEMORY;
    }
    pair->target = target;
    relative(&second, &first, pair->T_target_source);
    for (int64_t i = 0; p->truth == VERDICT_MIRROR && i < target.rows; i++) {
        target.data[4 * i + !camera] = -target.data[4 * i + !camera]; /* left and right */
    }
    return verdict_scan(context, world, p->sensor, &carrier, &second, noise + 1, &pair->source);
}

pcgpu_status verdict_make(pcgpu_context *context, uint64_t seed, int index, const char *filter, bool *taken,
                          verdict_pair *pair) {
    plan p;
    draw_plan(seed, index, &p);
    *pair = (verdict_pair){.place = place_of(&p), .sensor = sensor_of(&p), .truth = p.truth, .search = p.search};
    memcpy(pair->tolerance, p.place->tolerance, sizeof pair->tolerance);
    *taken = wanted(&p, filter);
    if (!*taken) {
        return PCGPU_OK;
    }
    if (p.small) {
        return p.small == 1 ? verdict_make_object(context, &p.random, pair)
                            : verdict_make_aerial(context, &p.random, pair);
    }
    verdict_world world = {0};
    pcgpu_status status = open_world(&p, p.world, &world) ? scan_pair(context, &p, &world, pair) : PCGPU_ERROR_MEMORY;
    verdict_world_close(&world);
    if (status != PCGPU_OK) {
        verdict_pair_free(pair);
    }
    return status;
}

void verdict_pair_free(verdict_pair *pair) {
    pcgpu_cloud_free(&pair->source);
    pcgpu_cloud_free(&pair->target);
}
