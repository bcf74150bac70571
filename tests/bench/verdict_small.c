/* bench_verdict: scans of objects and of terrain from the air. */
#include "verdict.h"

#include <math.h>
#include <string.h>

static double between(test_random *r, double low, double high) {
    return scene_between(r, low, high);
}

static uint64_t draw_seed(test_random *r) {
    return (uint64_t)(test_unit(r) * 9007199254740992.0);
}

/* The source's points are at p in the world that is the target's frame: it gets T^-1 p. */
static void map_back(const double T[16], const double p[3], double q[3]) {
    double d[3];
    for (int i = 0; i < 3; i++) {
        d[i] = p[i] - T[4 * i + 3];
    }
    for (int i = 0; i < 3; i++) {
        q[i] = (T[i] * d[0] + T[4 + i] * d[1]) + T[8 + i] * d[2];
    }
}

static void mirror(pcgpu_cloud *cloud) {
    for (int64_t i = 0; i < cloud->rows; i++) {
        cloud->data[4 * i + 1] = -cloud->data[4 * i + 1];
    }
}

/* Every second record, from the first or the second. */
static void halve(pcgpu_cloud *cloud, int first) {
    int64_t kept = 0;
    for (int64_t i = first; i < cloud->rows; i += 2) {
        memmove(cloud->data + 4 * kept++, cloud->data + 4 * i, 4 * sizeof(float));
    }
    cloud->rows = kept;
}

/* ---- objects ---- */

/* Boxes, spheres and cylinders that stick in each other, of `size` across about the origin. */
static bool open_object(verdict_world *w, uint64_t seed, double size) {
    test_random random = {seed}, *r = &random;
    const double low[2] = {-size, -size}, high[2] = {size, size};
    if (!verdict_world_open(w, low, high, size / 16.0)) {
        return false;
    }
    w->bare = true;
    int count = (int)between(r, 8.0, 16.0);
    for (int i = 0; i < count; i++) {
        const double kinds[] = {SCENE_BOX, SCENE_SPHERE, SCENE_DRUM};
        double kind = kinds[(int)(3.0 * test_unit(r))], across = between(r, 0.06, 0.22) * size, center[3], half[3];
        for (int k = 0; k < 3; k++) {
            center[k] = between(r, -0.28, 0.28) * size;
            half[k] = kind == SCENE_BOX ? between(r, 0.05, 0.22) * size : across;
        }
        double turn = between(r, 0.0, 180.0);
        verdict_add(w, (scene_kind)(int)kind, SCENE_PAINT, center, half, turn);
    }
    return verdict_world_sort(w, 0.0);
}

/* What a scanner sees from 3 sizes away at this angle, in the object's frame, with noise along the ray. */
static pcgpu_status scan_object(pcgpu_context *context, const verdict_world *w, double size, double degrees, int across,
                                uint64_t seed, const double T[16], pcgpu_cloud *cloud) {
    test_random random = {seed};
    double rotation[9], jitter[2] = {test_unit(&random), test_unit(&random)};
    verdict_rotation(degrees, 25.0, 0.0, rotation); /* its x axis looks at the object from above */
    pcgpu_status status = pcgpu_cloud_create(context, (int64_t)across * across, 4, cloud);
    if (status != PCGPU_OK) {
        return status;
    }
    cloud->rows = 0;
    for (int i = 0; i < across * across; i++) {
        const double u = ((i % across + jitter[0]) / across - 0.5) * 1.2 * size;
        const double v = ((i / across + jitter[1]) / across - 0.5) * 1.2 * size;
        const double noise = size / 600.0 * scene_gauss(&random);
        scene_ray ray;
        scene_hit hit;
        for (int k = 0; k < 3; k++) {
            ray.direction[k] = rotation[3 * k];
            ray.origin[k] = u * rotation[3 * k + 1] + v * rotation[3 * k + 2] - 0.99 * size * rotation[3 * k];
        }
        if (verdict_cast(w, &ray, 3.0 * size, &hit) && hit.incidence > 0.1) {
            double p[3], q[3];
            for (int k = 0; k < 3; k++) {
                p[k] = ray.origin[k] + (hit.distance + noise) * ray.direction[k];
            }
            map_back(T, p, q);
            float *record = cloud->data + 4 * cloud->rows++;
            for (int k = 0; k < 3; k++) {
                record[k] = (float)q[k];
            }
            record[3] = 0.0f;
        }
    }
    return PCGPU_OK;
}

pcgpu_status verdict_make_object(pcgpu_context *context, test_random *r, verdict_pair *pair) {
    static const double still[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    const verdict_truth truth = pair->truth;
    double size = 0.02 * pow(15.0, test_unit(r)), turn = between(r, 5.0, 20.0), from = between(r, 0.0, 360.0);
    double rotation[9], shift[3], limit = truth == VERDICT_SELF ? 0.0 : 1.0;
    double yaw = limit * between(r, -8.0, 8.0), pitch = limit * between(r, -4.0, 4.0);
    int across = (int)between(r, 80.0, 130.0);
    for (int k = 0; k < 3; k++) {
        shift[k] = limit * between(r, -0.04, 0.04) * size;
    }
    uint64_t first = draw_seed(r), second = draw_seed(r), noise = draw_seed(r);
    const double middle[3] = {0};
    verdict_rotation(yaw, pitch, 0.0, rotation);
    verdict_about(rotation, middle, shift, pair->T_target_source);
    pair->step = sqrt(shift[0] * shift[0] + shift[1] * shift[1] + shift[2] * shift[2]);
    pair->tolerance[0] = 1.2 * size / across; /* the spacing of the points */
    pair->tolerance[1] = 2.0;
    verdict_world world = {0};
    bool split = truth == VERDICT_HALVES || truth == VERDICT_SELF;
    pcgpu_status status = open_object(&world, first, size) ? PCGPU_OK : PCGPU_ERROR_MEMORY;
    if (status == PCGPU_OK) {
        status = scan_object(context, &world, size, from, across, noise, still, &pair->target);
    }
    if (status == PCGPU_OK && truth == VERDICT_OTHER) {
        verdict_world_close(&world);
        status = open_object(&world, second, size) ? PCGPU_OK : PCGPU_ERROR_MEMORY;
    }
    if (status == PCGPU_OK) {
        status = scan_object(context, &world, size, split ? from : from + turn, across, split ? noise : noise + 1,
                             pair->T_target_source, &pair->source);
    }
    verdict_world_close(&world);
    if (status != PCGPU_OK) {
        verdict_pair_free(pair);
    } else if (truth == VERDICT_MIRROR) {
        mirror(&pair->target);
    } else if (truth == VERDICT_HALVES) {
        halve(&pair->target, 0);
        halve(&pair->source, 1);
    }
    return status;
}

/* ---- from the air ---- */

/* Terrain with trees and buildings that one may look down at. */
static bool open_terrain(verdict_world *w, uint64_t seed, double size) {
    test_random random = {seed}, *r = &random;
    const double low[2] = {-size / 2 - 5.0, -size / 2 - 5.0}, high[2] = {size / 2 + 5.0, size / 2 + 5.0};
    if (!verdict_world_open(w, low, high, 4.0)) {
        return false;
    }
    double grade = between(r, -0.1, 0.1), across = between(r, -0.1, 0.1), hills = between(r, 0.5, 4.0);
    const double slope[2] = {grade, across};
    verdict_ground(w, r, slope, hills, 0.15);
    int things = (int)(size * size / 900.0 * between(r, 0.4, 2.0));
    double built = between(r, 0.1, 0.9);
    for (int i = 0; i < things; i++) {
        double x = between(r, low[0], high[0]), y = between(r, low[1], high[1]), h = verdict_height(w, x, y);
        double tall = between(r, 2.0, 12.0), wide = between(r, 3.0, 12.0), deep = between(r, 3.0, 10.0);
        double turn = between(r, 0.0, 180.0);
        const double center[3] = {x, y, h}, house[3] = {wide, deep, tall}, crown[3] = {deep / 2, deep / 2, deep / 2};
        bool house_here = test_unit(r) < built;
        verdict_add(w, house_here ? SCENE_BOX : SCENE_SPHERE, SCENE_BRICK, center, house_here ? house : crown, turn);
    }
    return verdict_world_sort(w, 0.0);
}

static pcgpu_status scan_terrain(pcgpu_context *context, const verdict_world *w, double size, uint64_t seed,
                                 const double offset[3], const double T[16], pcgpu_cloud *cloud) {
    test_random random = {seed};
    pcgpu_status status = pcgpu_cloud_create(context, (int64_t)(size * size), 4, cloud);
    if (status != PCGPU_OK) {
        return status;
    }
    int64_t rows = cloud->rows;
    cloud->rows = 0;
    memcpy(cloud->offset, offset, 3 * sizeof *cloud->offset);
    for (int64_t i = 0; i < rows; i++) {
        scene_ray ray = {.direction = {0.05, 0.0, -0.99874921777}};
        scene_hit hit;
        for (int k = 0; k < 2; k++) {
            ray.origin[k] = between(&random, -size / 2, size / 2);
        }
        ray.origin[2] = w->ceiling + 1.0;
        double noise = 0.05 * scene_gauss(&random);
        if (verdict_cast(w, &ray, 1000.0, &hit)) {
            double p[3], q[3];
            for (int k = 0; k < 3; k++) {
                p[k] = offset[k] + ray.origin[k] + (hit.distance + noise) * ray.direction[k];
            }
            map_back(T, p, q);
            float *record = cloud->data + 4 * cloud->rows++;
            for (int k = 0; k < 3; k++) {
                record[k] = (float)(floor((q[k] - offset[k]) * 100.0 + 0.5) / 100.0);
            }
            record[3] = 0.0f;
        }
    }
    return PCGPU_OK;
}

pcgpu_status verdict_make_aerial(pcgpu_context *context, test_random *r, verdict_pair *pair) {
    static const double still[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    const verdict_truth truth = pair->truth;
    double size = between(r, 200.0, 320.0), rotation[9], shift[3], limit = truth == VERDICT_SELF ? 0.0 : 1.0;
    const double offset[3] = {452000.0, 5411000.0, 300.0};
    double yaw = limit * between(r, -0.5, 0.5);
    for (int k = 0; k < 3; k++) {
        shift[k] = limit * between(r, -1.5, 1.5);
    }
    uint64_t first = draw_seed(r), second = draw_seed(r), noise = draw_seed(r);
    verdict_rotation(yaw, 0.0, 0.0, rotation);
    verdict_about(rotation, offset, shift, pair->T_target_source);
    memcpy(pair->center, offset, sizeof pair->center);
    pair->step = sqrt(shift[0] * shift[0] + shift[1] * shift[1] + shift[2] * shift[2]);
    pair->tolerance[0] = 0.3;
    pair->tolerance[1] = 0.15;
    verdict_world world = {0};
    bool split = truth == VERDICT_HALVES || truth == VERDICT_SELF;
    pcgpu_status status = open_terrain(&world, first, size) ? PCGPU_OK : PCGPU_ERROR_MEMORY;
    if (status == PCGPU_OK) {
        status = scan_terrain(context, &world, size, noise, offset, still, &pair->target);
    }
    if (status == PCGPU_OK && truth == VERDICT_OTHER) {
        verdict_world_close(&world);
        status = open_terrain(&world, second, size) ? PCGPU_OK : PCGPU_ERROR_MEMORY;
    }
    if (status == PCGPU_OK) {
        status = scan_terrain(context, &world, size, split ? noise : noise + 1, offset, pair->T_target_source,
                              &pair->source);
    }
    verdict_world_close(&world);
    if (status != PCGPU_OK) {
        verdict_pair_free(pair);
    } else if (truth == VERDICT_MIRROR) {
        mirror(&pair->target);
    } else if (truth == VERDICT_HALVES) {
        halve(&pair->target, 0);
        halve(&pair->source, 1);
    }
    return status;
}
