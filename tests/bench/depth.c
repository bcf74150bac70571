/* bench_depth cpu|cuda: fusing, ray casting and odometry of the depth frames of the generated room, in memory, warm.
 *
 * --frames N (60) of --width PIXELS (640) along the path around the room, with noise; --threads N. The last view and
 * every pose must be those of the CPU without vectors, or on CUDA of the CPU, to the last bit; the view and the mesh
 * within 3 mm of the room by the median, and the last pose within 3 cm. */
#include "bench.h"
#include "pcgpu_odometry.h"
#include "room.h"
#include "tsdf_job.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FRAMES = 1200, LOOP = 120, REFERENCES = 3 };

static scene room;
static pcgpu_camera camera;
static pcgpu_depth frames[MOST_FRAMES];
static double truth[MOST_FRAMES][16], poses[2][REFERENCES][MOST_FRAMES][16];
static int count;

static void make_frames(void) {
    room_camera seen;
    room_camera_init(&seen, (int)bench_number("--width", 640));
    seen.noise = true;
    room_furnish(&room, 1);
    camera = (pcgpu_camera){sizeof camera, seen.width, seen.height,      seen.fx, seen.fy,
                            seen.cx,       seen.cy,    seen.depth_scale, 0.0,     0.0};
    for (int i = 0; i < count; i++) {
        scene_pose pose;
        double quaternion[4];
        room_pose(ROOM_AROUND, (double)(i % LOOP) / LOOP, &pose, quaternion);
        for (int k = 0; k < 3; k++) {
            memcpy(truth[i] + 4 * k, pose.rotation + 3 * k, 3 * sizeof(double));
            truth[i][4 * k + 3] = pose.position[k];
        }
        truth[i][15] = 1.0;
        uint16_t *pixels = malloc((size_t)seen.width * (size_t)seen.height * sizeof *pixels);
        bench_check(NULL, pixels ? PCGPU_OK : PCGPU_ERROR_MEMORY);
        room_frame(&room, &pose, &seen, 1, i, pixels);
        frames[i] = (pcgpu_depth){seen.width, seen.height, pixels, NULL};
    }
}

/* Median millimetres between the room and points in the frame of T. */
static double error_of(const float *xyz, int stride, int64_t n, const double T[16]) {
    float *e = malloc((size_t)(n / 7 + 1) * sizeof *e);
    int found = 0;
    for (int64_t i = 0; i < n; i += 7) {
        const float *p = xyz + stride * i;
        double world[3];
        for (int k = 0; k < 3; k++) {
            const double *row = T + 4 * k;
            world[k] = row[0] * (double)p[0] + row[1] * (double)p[1] + row[2] * (double)p[2] + row[3];
        }
        if (p[2] == p[2]) {
            e[found++] = (float)(1e3 * room_distance(&room, world));
        }
    }
    const double median = found > 0 ? bench_median(e, found) : INFINITY;
    free(e);
    return median;
}

/* ---- fusing and ray casting -------------------------------------------------------------------------------------- */

typedef struct model {
    pcgpu_volume *volume;
    double fuse, cast;         /* milliseconds, medians */
    float *vertices, *normals; /* of the last view */
    size_t floats;
} model;

static model fuse(pcgpu_context *context) {
    static float ms[2][MOST_FRAMES];
    pcgpu_volume_params params;
    model m = {.floats = (size_t)camera.width * (size_t)camera.height * 3};
    m.vertices = malloc(m.floats * sizeof(float));
    m.normals = malloc(m.floats * sizeof(float));
    pcgpu_volume_params_init(&params);
    bench_check(context, pcgpu_volume_open(context, &params, &m.volume));
    for (int i = 0; i < count; i++) {
        const double begin = pc_now();
        bench_check(context, pcgpu_volume_integrate(m.volume, &frames[i], &camera, truth[i], NULL));
        const double middle = pc_now();
        bench_check(context, pcgpu_volume_raycast(m.volume, &camera, truth[i], m.vertices, m.normals));
        ms[0][i] = (float)(1e3 * (middle - begin));
        ms[1][i] = (float)(1e3 * (pc_now() - middle));
    }
    m.fuse = bench_median(ms[0], count);
    m.cast = bench_median(ms[1], count);
    return m;
}

static void close_model(model *m) {
    pcgpu_volume_close(m->volume);
    free(m->vertices);
    free(m->normals);
}

/* On a GPU, the frames once more with views that stay in device memory, where a registration wants them: each frame
 * comes from host memory. Milliseconds of a frame and its view. */
static double device_ms(pcgpu_context *context) {
    pcgpu_volume_params params;
    pcgpu_volume_counts counts;
    pcgpu_volume *volume;
    pc_maps maps;
    double begin = 0.0;
    pcgpu_volume_params_init(&params);
    bench_check(context, pcgpu_volume_open(context, &params, &volume));
    for (int i = 0; i < count; i++) {
        begin = i == count / 3 ? pc_now() : begin; /* not the first ones, for which memory grows */
        bench_check(context, pcgpu_volume_integrate(volume, &frames[i], &camera, truth[i], NULL));
        bench_check(context, pc_volume_see(volume, &camera, truth[i], &maps));
    }
    /* The last view is still on its way; fusing waits for it when it is to count what it did. */
    bench_check(context, pcgpu_volume_integrate(volume, &frames[count - 1], &camera, truth[count - 1], &counts));
    const double ms = 1e3 * (pc_now() - begin) / (count - count / 3 + 1);
    pcgpu_volume_close(volume);
    return ms;
}

static void run_model(pcgpu_context *context, bool cuda) {
    static const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    pcgpu_context *plain = bench_open(PCGPU_DEVICE_CPU, 0);
    plain->simd_limit = 1 + PC_SIMD_BASE;
    model m = fuse(context), p = fuse(plain);
    pcgpu_mesh mesh;
    const double begin = pc_now();
    bench_check(context, pcgpu_volume_mesh(m.volume, 0.0, &mesh));
    const double meshed = 1e3 * (pc_now() - begin);
    const double view = error_of(m.vertices, 3, (int64_t)m.floats / 3, truth[count - 1]);
    const double surface = error_of(mesh.vertices.data, 6, mesh.vertices.rows, identity);
    const bool same = memcmp(m.vertices, p.vertices, m.floats * sizeof(float)) == 0 &&
                      memcmp(m.normals, p.normals, m.floats * sizeof(float)) == 0;
    if (bench_right(same, "the last view", "plain C") &&
        bench_right(view < 3.0 && surface < 3.0, "the model", "the room")) {
        bench_row("fuse a depth image", "pcgpu", m.fuse, "ms");
        bench_row("ray-cast a view", "pcgpu", m.cast, "ms");
        bench_row("fuse a depth image", "plain C", p.fuse, "ms");
        bench_row("ray-cast a view", "plain C", p.cast, "ms");
        bench_row("mesh of a room", "pcgpu", meshed, "ms");
        bench_row("fuse and ray-cast, on the device", "pcgpu", cuda ? device_ms(context) : (double)NAN, "ms");
        bench_row("mesh of a room, error", "pcgpu", surface, "mm");
        bench_row("view of a room, error", "pcgpu", view, "mm");
    }
    pcgpu_mesh_free(&mesh);
    close_model(&m);
    close_model(&p);
    pcgpu_close(plain);
}

/* ---- odometry ---------------------------------------------------------------------------------------------------- */

/* The second run counts, which has found code warm; its model is a new one, whose memory grows. */
static void run_odometry(pcgpu_context *context, bool cuda, int r) {
    static const char *const names[REFERENCES] = {"odometry to the previous image", "odometry to the keyframe",
                                                  "odometry to the model"};
    pcgpu_depth_odometry_params p;
    double seconds = 0.0, square = 0.0;
    int lost = 0;
    pcgpu_depth_odometry_params_init(&p);
    p.reference = (pcgpu_reference)r;
    memcpy(p.registration.init, truth, sizeof p.registration.init);
    for (int round = 0; round < 2; round++) {
        pcgpu_depth_odometry *o;
        const double begin = pc_now();
        bench_check(context, pcgpu_depth_odometry_open(context, &camera, &p, &o));
        for (int i = 0; i < count; i++) {
            pcgpu_odometry_frame f;
            bench_check(context, pcgpu_depth_odometry_add(o, &frames[i], i / 30.0, &f));
            memcpy(poses[cuda][r][i], f.T_world_frame, sizeof f.T_world_frame);
            lost += !f.good;
        }
        pcgpu_depth_odometry_close(o); /* waits for what a device is still at */
        seconds = pc_now() - begin;
    }
    for (int k = 0; k < 3; k++) {
        const double d = poses[cuda][r][count - 1][4 * k + 3] - truth[count - 1][4 * k + 3];
        square += d * d;
    }
    const bool same = !cuda || memcmp(poses[0][r], poses[1][r], (size_t)count * sizeof truth[0]) == 0;
    if (bench_right(lost == 0 && square < 0.03 * 0.03 && same, names[r], cuda ? "CUDA" : "CPU")) {
        bench_row(names[r], cuda ? "CUDA" : "pcgpu", count / seconds, "frames/s");
        bench_row("its end is off", names[r], 1e3 * sqrt(square), "mm");
    }
}

int main(int argc, char **argv) {
    const bool cuda = bench_begin(argc, argv, " --frames --width --threads --only ");
    pcgpu_context *cpu = bench_open(PCGPU_DEVICE_CPU, (int)bench_number("--threads", 0));
    pcgpu_context *context = cuda ? bench_open(PCGPU_DEVICE_CUDA, 0) : cpu;
    count = (int)bench_number("--frames", 60);
    count = count < 2 ? 2 : count < MOST_FRAMES ? count : MOST_FRAMES;
    make_frames();
    if (bench_wants("model")) {
        run_model(context, cuda);
    }
    for (int r = 0; r < REFERENCES && bench_wants("odometry"); r++) {
        run_odometry(cpu, false, r);
        if (cuda) {
            run_odometry(context, true, r);
        }
    }
    for (int i = 0; i < count; i++) {
        free(frames[i].data);
    }
    if (cuda) {
        pcgpu_close(context);
    }
    pcgpu_close(cpu);
    return bench_end();
}
