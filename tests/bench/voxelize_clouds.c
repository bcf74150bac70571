/* The clouds of bench_voxelize. */
#include "voxelize_bench.h"

#include "threads.h"
#include "scene.h"

#include <unistd.h>

int64_t cloud_points(const bench *b, int64_t points) {
    return b->tiny ? 1500 + points / 1000000 * 500 : points;
}

bool cloud_file(const bench *b, const char *name, int fields, pcgpu_cloud *cloud) {
    if (!bench_read(b->cpu, name, fields, cloud)) {
        return false;
    }
    if (b->tiny && cloud->rows > cloud_points(b, 0)) {
        cloud->rows = cloud_points(b, 0);
    }
    return true;
}

/* ---- the street ------------------------------------------------------------------------------------------------ */

/* In the middle of its lane, `along` metres up the street from the origin. */
static scene_pose pose_at(double along) {
    const double values[7] = {along, 0.0612 * along, 0.0, 1.0, 0.0, 0.0, 0.0};
    scene_pose pose;
    scene_pose_from(values, &pose);
    return pose;
}

void cloud_scan(const bench *b, int64_t points, pcgpu_cloud *cloud) {
    bench_scan(b->cpu, points, cloud);
}

enum { PLACES = 40, SWEEP = 125000, TINY_SWEEP = 100 };

/* What the threads share that make a map. */
typedef struct map {
    scene street;
    int64_t sweep;        /* points of a sweep */
    int64_t frames;       /* sweeps in all, the last one perhaps cut */
    float *swept[PLACES]; /* sweep points each, in the sensor's frame; NULL: it failed */
    pcgpu_cloud *cloud;
} map;

static double place_of(int64_t place) {
    return (double)(place - PLACES / 2);
}

static void sweep_place(void *state, int place) {
    map *m = state;
    const scene_pose pose = pose_at(place_of(place));
    m->swept[place] = scene_scan(&m->street, &pose, m->sweep, 0.0, 1 + (uint64_t)place);
}

/* Frame by frame; each point moves up to 2 cm along its ray. */
static void fill_frame(void *state, int frame) {
    const map *m = state;
    const int64_t place = frame * (int64_t)PLACES / m->frames, begin = frame * m->sweep;
    const scene_pose pose = pose_at(place_of(place));
    test_random random = {.state = (uint64_t)frame};
    for (int64_t i = 0; i < m->sweep && begin + i < m->cloud->rows; i++) {
        const float *p = m->swept[place] + 4 * i;
        float *to = m->cloud->data + 4 * (begin + i);
        float range = sqrtf((p[0] * p[0] + p[1] * p[1]) + p[2] * p[2]);
        float stretch = 1.0f + test_uniform(&random, -0.02f, 0.02f) / range;
        for (int k = 0; k < 3; k++) {
            to[k] = (float)pose.position[k] + p[k] * stretch;
        }
        to[3] = p[3];
    }
}

void cloud_map(const bench *b, int64_t points, pcgpu_cloud *cloud) {
    static map m;
    m.sweep = b->tiny ? TINY_SWEEP : SWEEP;
    m.frames = (points + m.sweep - 1) / m.sweep;
    m.cloud = cloud;
    bench_check(b->cpu, pcgpu_cloud_create(b->cpu, points, 4, cloud));
    scene_street(&m.street, 1);
    pc_team *team = pc_team_open(b->cpu->threads);
    bench_check(NULL, team ? PCGPU_OK : PCGPU_ERROR_MEMORY);
    pc_team_run(team, PLACES, sweep_place, &m);
    for (int place = 0; place < PLACES; place++) {
        bench_check(NULL, m.swept[place] ? PCGPU_OK : PCGPU_ERROR_MEMORY);
    }
    pc_team_run(team, (int)m.frames, fill_frame, &m);
    pc_team_close(team);
    for (int place = 0; place < PLACES; place++) {
        free(m.swept[place]);
    }
}

/* ---- others ---------------------------------------------------------------------------------------------------- */

static void fill_box(const bench *b, int64_t points, const float low[3], const float high[3], pcgpu_cloud *cloud) {
    test_random random = {.state = 1};
    bench_check(b->cpu, pcgpu_cloud_create(b->cpu, points, 4, cloud));
    for (int64_t i = 0; i < points; i++) {
        for (int k = 0; k < 3; k++) {
            cloud->data[4 * i + k] = test_uniform(&random, low[k], high[k]);
        }
        cloud->data[4 * i + 3] = test_uniform(&random, 0.0f, 1.0f);
    }
}

void cloud_uniform(const bench *b, int64_t points, pcgpu_cloud *cloud) {
    fill_box(b, points, (const float[]){-50.0f, -50.0f, -5.0f}, (const float[]){50.0f, 50.0f, 5.0f}, cloud);
}

void cloud_one_voxel(const bench *b, int64_t points, pcgpu_cloud *cloud) {
    fill_box(b, points, (const float[]){10.29f, 0.01f, -0.95f}, (const float[]){10.33f, 0.06f, -0.85f}, cloud);
}

/* On the device the table, what is kept of each point and the arrays take up to 120 bytes a point; here the cloud, its
 * voxels and the CPU's work on them as much. */
bool cloud_fits(const bench *b, int64_t points) {
    const double needed = 120.0 * (double)points;
    const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    pcgpu_device_info devices[64];
    int count = pcgpu_devices(devices, 64, NULL, 0, NULL), index = b->cuda->settings.cuda_index;
    double there = index < count && index < 64 ? (double)devices[index].memory : 0.0;
    if (needed > 0.9 * memory || needed > 0.9 * there) {
        printf("skipped: %lld points need %.0f GB here and on the GPU, which have %.0f and %.0f\n", (long long)points,
               needed / 1e9, memory / 1e9, there / 1e9);
        return false;
    }
    return true;
}
