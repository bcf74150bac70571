/* Localization in a map: localize cpu|cuda [quick]. Scans along one side of a rendered block are the map; others, taken
 * elsewhere along it, are localized. 5 s.
 *
 * cuda: whole sequences, byte for byte as the CPU does them; exit code 77 without such a device.
 * cpu: Poses against the truth; the same bytes at every thread count and vector form; starts without a guess, scans
 * that are lost and found again elsewhere, maps far from their origin, what is refused. */
#include "../support/backends.h"
#include "ndt_cpu.h"
#include "odometry_lidar.h"
#include "scene.h"

enum { SCANS = 10, MAPPED = 9, MOST_STEPS = 500, LOST = 3 };

static scene block, elsewhere;
static float points[MOST_STEPS * SCENE_BEAMS * 4];
static pcgpu_cloud map, scans[SCANS];
static double truth[SCANS][16];
static int steps = MOST_STEPS, count = SCANS, back = LOST + 2; /* scans [LOST, back) show another block */
static bool extends;                                           /* scans join the map */

/* ---- a scene ----------------------------------------------------------------------------------------------------- */

static int64_t take_scan(const scene *where, double metres, uint64_t number) {
    scene_pose pose;
    const scene_sensor sensor = {.poses = &pose, .count = 1};
    scene_block_pose(metres, &pose);
    return scene_sweep(where, &sensor, steps, 0.37 * (double)(number % 3), number, points);
}

static void pose_at(double metres, double T[16]) {
    scene_pose pose;
    scene_block_pose(metres, &pose);
    scene_pose_matrix(&pose, T);
}

/* In the world of the scene, whose origin is at the first scan. */
static void make_map(void) {
    int64_t rows = 0;
    pcgpu_cloud_create(NULL, (int64_t)MAPPED * steps * SCENE_BEAMS, 3, &map);
    for (int i = 0; i < MAPPED; i++) {
        double T[16];
        const int64_t n = take_scan(&block, 6.0 * i - 8.0, 1000 + (uint64_t)i);
        pose_at(6.0 * i - 8.0, T);
        for (int64_t k = 0; k < n; k++) {
            const double x = (double)points[4 * k], y = (double)points[4 * k + 1], z = (double)points[4 * k + 2];
            for (int j = 0; j < 3; j++) {
                const double *row = T + 4 * j;
                map.data[3 * rows + j] = (float)(((row[0] * x + row[1] * y) + row[2] * z) + row[3]);
            }
            rows++;
        }
    }
    map.rows = rows;
}

/* One is of another block; after it, the car is elsewhere. */
static void make_scans(bool lost) {
    for (int i = 0; i < SCANS; i++) {
        const double metres = lost && i >= back ? 30.3 - 2.5 * (i - back) : 3.3 * i;
        const int64_t n = take_scan(lost && i >= LOST && i < back ? &elsewhere : &block, metres, (uint64_t)i);
        pcgpu_cloud_free(&scans[i]);
        pcgpu_cloud_create(NULL, n, 4, &scans[i]);
        memcpy(scans[i].data, points, (size_t)n * 4 * sizeof *points);
        for (int64_t k = 0; k < n && lost && i >= LOST && i < back; k++) { /* and behind a mirror */
            scans[i].data[4 * k + 1] = -points[4 * k + 1];
        }
        pose_at(metres, truth[i]);
    }
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static pcgpu_odometry_params params_of(pcgpu_search how) {
    pcgpu_odometry_params p;
    pcgpu_odometry_params_init(&p);
    p.registration.search = how;
    p.registration.voxel = 0.5;
    p.model_range = 40.0;
    memcpy(p.registration.init, truth[0], sizeof truth[0]);
    return p;
}

static int add_scans(pcgpu_odometry *o, double poses[SCANS][16], pcgpu_odometry_frame *frames) {
    int good = 0;
    for (int i = 0; i < count; i++) {
        const pcgpu_status status = pcgpu_odometry_add(o, &scans[i], i, &frames[i]);
        expect(status == PCGPU_OK, "sequence", "adding", pcgpu_last_error(o->context), i);
        good += frames[i].good;
        memcpy(poses[i], frames[i].T_world_frame, sizeof poses[i]);
    }
    return good;
}

static int run(pcgpu_context *context, const pcgpu_odometry_params *p, double poses[SCANS][16],
               pcgpu_odometry_frame *frames) {
    pcgpu_odometry *o = NULL;
    const pcgpu_status status =
        extends ? pcgpu_odometry_open_into(context, p, &map, &o) : pcgpu_odometry_open_map(context, p, &map, &o);
    expect(status == PCGPU_OK, "map", "opening", pcgpu_last_error(context), 0);
    const int good = o ? add_scans(o, poses, frames) : 0;
    pcgpu_odometry_close(o);
    pcgpu_close(context);
    return good;
}

/* Metres and degrees at most, of the scans that have a pose. */
static void expect_near(double poses[SCANS][16], double metres, double degrees, const char *what) {
    double worst[2] = {0};
    for (int i = 0; i < SCANS; i++) {
        if (poses[i][0] == poses[i][0]) {
            worst[0] = fmax(worst[0], metres_between(truth[i], poses[i]));
            worst[1] = fmax(worst[1], 57.29577951308232 * radians_between(truth[i], poses[i]));
        }
    }
    printf("%s: at most %.2f mm and %.4f degree off\n", what, 1e3 * worst[0], worst[1]);
    expect(worst[0] < metres && worst[1] < degrees, what, "poses", "near the truth", 0);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static double poses[SCANS][16], others[SCANS][16];
static pcgpu_odometry_frame frames[SCANS], unused[SCANS];

static void check_poses(void) {
    const pcgpu_odometry_params p = params_of(PCGPU_SEARCH_NEVER);
    const int good = run(open_context(PCGPU_DEVICE_CPU, 1, 0), &p, poses, frames);
    expect(good == SCANS, "tracking", "poses", "all scans have one", good);
    expect_near(poses, 0.02, 0.05, "tracking");
    for (int i = 0; i < SCANS; i++) {
        expect(!frames[i].keyframe && frames[i].attempts == 1, "tracking", "scans", "do not join, are found at once",
               i);
        expect(frames[i].registration.score > 0.8, "tracking", "agreement", "high", i);
    }
}

/* Scans of another block are lost; the next ones are found where the car is then. */
static void check_search(void) {
    static const struct form { int threads, simd_limit; } forms[] = {{2, 1}, {3, 2}};
    const pcgpu_odometry_params p = params_of(PCGPU_SEARCH_ALWAYS);
    const int good = run(open_context(PCGPU_DEVICE_CPU, 1, 0), &p, poses, frames);
    expect(good == SCANS - (back - LOST), "search", "poses", "all but two", good);
    expect_near(poses, 0.02, 0.05, "search");
    for (int i = 0; i < SCANS; i++) {
        expect(frames[i].good == (i < LOST || i >= back), "search", "lost", "which", i);
        expect(frames[i].relocalized == (i == back), "search", "found again", "which", i);
        expect(frames[i].good || frames[i].registration.reason[0], "search", "lost", "a reason", i);
    }
    for (int i = 0; i < 2; i++) {
        run(open_context(PCGPU_DEVICE_CPU, forms[i].threads, forms[i].simd_limit), &p, others, unused);
        expect(memcmp(poses, others, sizeof poses) == 0, "search", "threads and vectors", "the same bytes", i);
    }
    const pcgpu_odometry_params never = params_of(PCGPU_SEARCH_NEVER);
    const int without = run(open_context(PCGPU_DEVICE_CPU, 2, 0), &never, others, unused);
    expect(without < good && !unused[back].good, "no search", "poses", "none where the car is elsewhere", without);
}

/* The map in coordinates of a country. */
static void check_far(void) {
    pcgpu_odometry_params p = params_of(PCGPU_SEARCH_ALWAYS);
    run(open_context(PCGPU_DEVICE_CPU, 2, 0), &p, others, unused);
    map.offset[0] = 412345.25, map.offset[1] = 5412345.5, map.offset[2] = 512.0;
    const int good = run(open_context(PCGPU_DEVICE_CPU, 2, 0), &p, poses, frames);
    for (int i = 0; i < SCANS; i++) {
        for (int k = 0; k < 3; k++) {
            poses[i][4 * k + 3] -= map.offset[k];
            expect(!frames[i].good || fabs(poses[i][4 * k + 3] - others[i][4 * k + 3]) < 5e-3, "far map", "poses",
                   "those near 0", i);
        }
    }
    expect(good >= SCANS - 2, "far map", "poses", "found", good);
    memset(map.offset, 0, sizeof map.offset);
}

static void refuse(const pcgpu_odometry_params *p, const pcgpu_cloud *cloud, const char *why) {
    pcgpu_context *context = open_context(PCGPU_DEVICE_CPU, 1, 0);
    pcgpu_odometry *o = (pcgpu_odometry *)&o;
    const pcgpu_status status = pcgpu_odometry_open_map(context, p, cloud, &o);
    expect(status == PCGPU_ERROR_ARGUMENT && !o && strstr(pcgpu_last_error(context), why), "refused", why,
           pcgpu_last_error(context), 0);
    pcgpu_close(context);
}

static void check_refused(void) {
    pcgpu_odometry_params p = params_of(PCGPU_SEARCH_NEVER);
    float wide[3 * 16] = {0};
    pcgpu_cloud small = {.rows = 9, .columns = 3, .data = map.data};
    refuse(&p, &small, "9 usable points");
    small.rows = 0;
    refuse(&p, &small, "0 usable points");
    memcpy(wide, map.data, sizeof wide);
    wide[0] = 1e6f;
    refuse(&p, &(pcgpu_cloud){.rows = 16, .columns = 3, .data = wide}, "16384 voxels of 1 m");
    p.reference = PCGPU_REFERENCE_KEYFRAME;
    refuse(&p, &map, "a map is a reference of its own");
    p = params_of(PCGPU_SEARCH_NEVER);
    p.model_range = -1.0;
    refuse(&p, &map, "a model that reaches");
}

/* The first scans of the map, which the later ones have to extend. */
static void extend_map(bool on) {
    static int64_t rows;
    rows = on ? map.rows : rows;
    map.rows = on ? rows / 5 : rows;
    extends = on;
}

/* Scans that leave the map are lost, unless they extend it; scans in it have the poses that they have without. */
static void check_extended(void) {
    static const struct form { int threads, simd_limit; } forms[] = {{3, 0}, {1, 2}};
    const pcgpu_odometry_params p = params_of(PCGPU_SEARCH_NEVER);
    extend_map(true);
    const int good = run(open_context(PCGPU_DEVICE_CPU, 1, 0), &p, poses, frames);
    expect(good == SCANS, "extended", "poses", "all scans have one", good);
    expect_near(poses, 0.03, 0.1, "extended");
    for (int i = 0; i < 2; i++) {
        run(open_context(PCGPU_DEVICE_CPU, forms[i].threads, forms[i].simd_limit), &p, others, unused);
        expect(memcmp(poses, others, sizeof poses) == 0, "extended", "threads and vectors", "the same bytes", i);
    }
    extends = false;
    const int without = run(open_context(PCGPU_DEVICE_CPU, 2, 0), &p, others, unused);
    expect(without > 0 && without < SCANS, "not extended", "poses", "none where the map ends", without);
    expect(memcmp(poses[0], others[0], sizeof poses[0]) == 0 && frames[0].keyframe && !unused[0].keyframe, "extended",
           "the first scan", "the pose in the map, and it joins", 0);
    extend_map(false);
}

static void check_cuda(void) {
    for (int i = 0; i < 2; i++) {
        make_scans(i == 0);
        if (i == 1) {
            extend_map(true);
        }
        const pcgpu_odometry_params p = params_of(i == 0 ? PCGPU_SEARCH_ALWAYS : PCGPU_SEARCH_NEVER);
        const int good = run(open_context(PCGPU_DEVICE_CPU, 1, 0), &p, poses, frames);
        run(open_context(PCGPU_DEVICE_CUDA, 1, 0), &p, others, unused);
        expect(good > 0 && memcmp(poses, others, sizeof poses) == 0, "cuda", "poses", "those of the CPU", i);
        for (int k = 0; k < count; k++) {
            expect(frames[k].registration.score == unused[k].registration.score &&
                       frames[k].attempts == unused[k].attempts,
                   "cuda", "scores", "those of the CPU", k);
        }
        printf("cuda: %d of %d poses\n", good, count);
    }
}

void test_localize(bool cuda, char **options) {
    steps = options[0] ? 64 : MOST_STEPS;
    back = options[0] ? LOST + 1 : back;
    count = options[0] ? back + 1 : SCANS;
    scene_block(&block, 1);
    scene_block(&elsewhere, 9);
    make_map();
    if (cuda) {
        check_cuda();
    } else {
        make_scans(false);
        check_poses();
        check_extended();
        check_far();
        make_scans(true);
        check_search();
        check_refused();
    }
    for (int i = 0; i < SCANS; i++) {
        pcgpu_cloud_free(&scans[i]);
    }
    pcgpu_cloud_free(&map);
}
