/* The ground of scenes whose surfaces are known, of clouds that no sensor gives, on any number of threads.
 *
 *   ground           checks
 *   ground FOLDER    also writes NAME.bin of each scene: float32 x y z, 1 for ground, 1 for what was found */
#include "surfaces.h"

#include "../support/context.h"

#include <math.h>
#include <string.h>

enum { CONTEXTS = 2 };

static pcgpu_context *contexts[CONTEXTS];
static int failures;

#define CHECK(CONDITION, ...)                                                                                          \
    do {                                                                                                               \
        if (!(CONDITION)) {                                                                                            \
            printf("FAILED: %s: ", #CONDITION);                                                                        \
            printf(__VA_ARGS__);                                                                                       \
            putchar('\n');                                                                                             \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

/* The least F1 of each scene, 0.004 and more below what was measured. */
static const struct {
    const char *name;
    double least;
} limits[] = {{"flat", 0.984},        {"slope", 0.979},      {"ramp", 0.985},     {"kerbs", 0.963},
              {"trees", 0.991},       {"underpass", 0.991},  {"bridge", 0.993},   {"terrace", 0.985},
              {"reflections", 0.975}, {"flat_32", 0.972},    {"slope_32", 0.967}, {"flat_solid", 0.981},
              {"slope_solid", 0.987}, {"robot_street", 0.9}, {"indoor_16", 0.95}, {"indoor_64", 0.97},
              {"hill", 0.99}};

/* The ground on every context, the same bytes; malloc'd. */
static uint8_t *find(const char *name, const pcgpu_cloud *cloud) {
    uint8_t *first = NULL;
    pcgpu_ground_params params;
    pcgpu_ground_params_init(&params);
    for (int c = 0; c < CONTEXTS; c++) {
        uint8_t *ground = malloc((size_t)cloud->rows + 1);
        pcgpu_run run;
        memset(ground, 1, (size_t)cloud->rows + 1);
        CHECK(pcgpu_find_ground(contexts[c], cloud, &params, ground, &run) == PCGPU_OK, "%s: %s", name,
              pcgpu_last_error(contexts[c]));
        CHECK(ground[cloud->rows] == 1 && run.points_in == cloud->rows, "%s", name);
        CHECK(!first || memcmp(first, ground, (size_t)cloud->rows) == 0, "%s: context %d", name, c);
        if (first) {
            free(ground);
        } else {
            first = ground;
        }
    }
    return first;
}

/* Moves the sensor by the offset of the file: the same ground. */
static void check_offset(const char *name, pcgpu_cloud *cloud, const uint8_t *ground) {
    for (int64_t i = 0; i < cloud->rows; i++) {
        for (int k = 0; k < 3; k++) {
            cloud->data[i * cloud->columns + k] += 256.0f;
        }
    }
    for (int k = 0; k < 3; k++) {
        cloud->offset[k] = -256.0;
    }
    uint8_t *moved = find(name, cloud);
    int64_t other = 0;
    for (int64_t i = 0; i < cloud->rows; i++) {
        other += moved[i] != ground[i];
    }
    CHECK(other < cloud->rows / 1000, "%s: %lld records differ after a move", name, (long long)other);
    free(moved);
}

static void check_scene(int number, const char *folder) {
    pcgpu_cloud cloud = {.columns = 4};
    const char *name = surfaces_name(number);
    cloud.data = surfaces_make(number, &cloud.rows);
    uint8_t *ground = find(name, &cloud);
    double right = 0, found = 0, all = 0, least = 2;
    for (int64_t i = 0; i < cloud.rows; i++) {
        const bool want = cloud.data[4 * i + 3] > 0.0f;
        right += want && ground[i];
        found += ground[i];
        all += want;
    }
    for (size_t k = 0; k < sizeof limits / sizeof limits[0]; k++) {
        least = strcmp(limits[k].name, name) == 0 ? limits[k].least : least;
    }
    printf("%-14s %7lld points, precision %.4f, recall %.4f, F1 %.4f\n", name, (long long)cloud.rows, right / found,
           right / all, 2 * right / (found + all));
    CHECK(2 * right / (found + all) >= least, "%s: F1 below %g", name, least);
    if (folder) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.bin", folder, name);
        float *records = malloc((size_t)cloud.rows * 5 * sizeof *records);
        for (int64_t i = 0; i < cloud.rows; i++) {
            memcpy(records + 5 * i, cloud.data + 4 * i, 4 * sizeof *records);
            records[5 * i + 4] = ground[i];
        }
        CHECK(scene_write(path, records, cloud.rows, 5), "%s", path);
        free(records);
    }
    check_offset(name, &cloud, ground);
    free(ground);
    free(cloud.data);
}

/* ---- clouds that no sensor gives --------------------------------------------------------------------------------- */

enum { HOSTILE = 9, ROWS = 20000 };

static void make_hostile(int kind, float *data) {
    test_random r = {(uint64_t)kind};
    for (int64_t i = 0; i < ROWS; i++) {
        float *p = data + 3 * i;
        const float scale = kind == 3 ? 3e38f : kind == 4 ? 1e6f : 30.0f;
        for (int k = 0; k < 3; k++) {
            p[k] = scale * (float)test_noise(&r);
        }
        if (kind == 0) {
            p[0] = p[1] = p[2] = 1.0f;
        } else if (kind == 1) { /* a vertical line */
            p[0] = p[1] = -5.0f;
        } else if (kind == 2) { /* a diagonal */
            p[0] = p[1] = 3.0f * (float)i;
        } else if (kind == 5) {
            p[i % 3] = i % 2 ? NAN : INFINITY;
        } else if (kind == 6) { /* one of them is far away */
            p[0] = i == 77 ? 1e30f : p[0];
        } else if (kind == 7) { /* a line */
            p[1] = 0.0f;
        }
    }
}

static void check_hostile(void) {
    pcgpu_cloud cloud = {.columns = 3, .data = malloc(ROWS * 3 * sizeof(float))};
    for (int kind = 0; kind < HOSTILE; kind++) {
        char name[32];
        snprintf(name, sizeof name, "hostile cloud %d", kind);
        make_hostile(kind, cloud.data);
        for (cloud.rows = 0; cloud.rows <= ROWS; cloud.rows = cloud.rows < 3 ? cloud.rows + 1 : cloud.rows * 19) {
            uint8_t *ground = find(name, &cloud);
            for (int64_t i = 0; i < cloud.rows; i++) {
                const float *p = cloud.data + 3 * i;
                CHECK(ground[i] <= 1 && (!ground[i] || isfinite(p[0] + p[1] + p[2]) || kind == 3), "%s", name);
                CHECK(kind != 0 || ground[i], "%s: equal points are all ground", name);
            }
            free(ground);
        }
    }
    free(cloud.data);
}

/* A record that takes no part changes nothing and is not ground; parameters out of range are refused. */
static void check_calls(void) {
    float data[] = {0, 0, -1, 1, 0, -1, 0, 1, -1, 1, 1, -1, 0.5f, 0.5f, -9};
    uint8_t ground[] = {1, 1, 1, 1, 0};
    pcgpu_cloud cloud = {.rows = 5, .columns = 3, .data = data};
    pcgpu_ground_params params;
    pcgpu_ground_params_init(&params);
    CHECK(pcgpu_find_ground(contexts[0], &cloud, &params, ground, NULL) == PCGPU_OK, "a record without a part");
    CHECK(memcmp(ground, "\1\1\1\1\0", 5) == 0, "%d %d %d %d %d", ground[0], ground[1], ground[2], ground[3],
          ground[4]);
    for (int k = 0; k < 4; k++) {
        pcgpu_ground_params_init(&params);
        *(k == 0 ? &params.slope : k == 1 ? &params.cell_size : &params.tolerance) = k == 2 ? NAN : -1.0f;
        CHECK(pcgpu_find_ground(contexts[0], &cloud, &params, ground, NULL) == PCGPU_ERROR_ARGUMENT, "parameter %d", k);
    }
}

int main(int argc, char **argv) {
    static const int threads[CONTEXTS] = {1, 7};
    for (int c = 0; c < CONTEXTS; c++) {
        contexts[c] = test_open(PCGPU_DEVICE_CPU, threads[c]);
    }
    for (int i = 0; i < surfaces_count(); i++) {
        check_scene(i, argc > 1 ? argv[1] : NULL);
    }
    check_hostile();
    check_calls();
    for (int c = 0; c < CONTEXTS; c++) {
        pcgpu_close(contexts[c]);
    }
    return failures > 0;
}
