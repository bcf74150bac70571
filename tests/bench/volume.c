/* bench_volume [OPTION]...: fusing and ray casting the frames of the generated room, in memory, as fast as it goes; and
 * how near the model is to the room, which is known. One line of a table.
 *
 *   --device cpu|cuda  --threads N  --width PIXELS  --frames N  --path sway|around  --noise 0|1  --voxel-size METRES
 *   --truncation METRES  --simd N (1: no vectors, 2: AVX2, 3: AVX-512)  --layout SEED */
#include "bench.h"
#include "room.h"
#include "tsdf_job.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_FRAMES = 400, LOOP = 120 };

typedef struct arguments {
    pcgpu_device device;
    int threads, width, frames, simd;
    bool noise;
    room_path path;
    uint64_t layout;
    pcgpu_volume_params params;
} arguments;

/* Seconds that the processor spent on this program: on a busy machine they say more than a clock. */
static double cpu_now(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

static void fail(const char *why) {
    fprintf(stderr, "bench_volume: %s\n", why);
    exit(1);
}

static void check(const pcgpu_context *context, pcgpu_status status) {
    if (status != PCGPU_OK) {
        fail(pcgpu_last_error(context));
    }
}

static arguments parse(int argc, char **argv) {
    arguments a = {.device = PCGPU_DEVICE_CPU, .width = 640, .frames = 60, .layout = 1, .noise = true};
    pcgpu_volume_params_init(&a.params);
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(name, "--device") == 0) {
            a.device = strcmp(value, "cuda") == 0 ? PCGPU_DEVICE_CUDA : PCGPU_DEVICE_CPU;
        } else if (strcmp(name, "--threads") == 0) {
            a.threads = atoi(value);
        } else if (strcmp(name, "--width") == 0) {
            a.width = atoi(value);
        } else if (strcmp(name, "--frames") == 0) {
            a.frames = atoi(value) < MOST_FRAMES ? atoi(value) : MOST_FRAMES;
        } else if (strcmp(name, "--simd") == 0) {
            a.simd = atoi(value);
        } else if (strcmp(name, "--noise") == 0) {
            a.noise = atoi(value) != 0;
        } else if (strcmp(name, "--path") == 0) {
            a.path = strcmp(value, "around") == 0 ? ROOM_AROUND : ROOM_SWAY;
        } else if (strcmp(name, "--layout") == 0) {
            a.layout = strtoull(value, NULL, 10);
        } else if (strcmp(name, "--voxel-size") == 0) {
            a.params.voxel_size = atof(value);
        } else if (strcmp(name, "--truncation") == 0) {
            a.params.truncation = atof(value);
        } else {
            fail("an unknown option; the first lines of tests/bench/volume.c list them");
        }
    }
    return a;
}

static void matrix_of(const scene_pose *pose, double T[16]) {
    for (int k = 0; k < 3; k++) {
        memcpy(T + 4 * k, pose->rotation + 3 * k, 3 * sizeof *T);
        T[4 * k + 3] = pose->position[k];
    }
    T[12] = T[13] = T[14] = 0.0;
    T[15] = 1.0;
}

/* ---- accuracy --------------------------------------------------------------------------------------------------- */

static int compare_floats(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

typedef struct errors {
    double median, rms, p95, worst, over; /* millimetres; share of more than 2 cm */
} errors;

static errors errors_of(const scene *room, const float *xyz, int stride, int64_t n, const double T[16], int step) {
    float *e = malloc((size_t)(n / step + 1) * sizeof *e);
    int64_t count = 0, over = 0;
    double squares = 0;
    for (int64_t i = 0; i < n; i += step) {
        const float *p = xyz + stride * i;
        double world[3];
        if (p[2] != p[2]) {
            continue;
        }
        for (int k = 0; k < 3; k++) {
            world[k] =
                T[4 * k] * (double)p[0] + T[4 * k + 1] * (double)p[1] + T[4 * k + 2] * (double)p[2] + T[4 * k + 3];
        }
        e[count] = (float)(1e3 * room_distance(room, world));
        over += e[count] > 20.0f;
        squares += (double)e[count] * (double)e[count];
        count++;
    }
    qsort(e, (size_t)count, sizeof *e, compare_floats);
    errors out = {0};
    if (count > 0) {
        out = (errors){(double)e[count / 2], sqrt(squares / (double)count), (double)e[count * 95 / 100],
                       (double)e[count - 1], (double)over / (double)count};
    }
    free(e);
    return out;
}

/* The mean angle in degrees between normals and the gradient of the room's distance, where that is smooth. */
static double normal_error(const scene *room, const float *vertices, const float *normals, int64_t n,
                           const double T[16]) {
    double sum = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i += 53) {
        const float *p = vertices + 3 * i, *m = normals + 3 * i;
        double at[3], world[3], g[3], length = 0, dot = 0;
        if (p[2] != p[2] || m[0] != m[0]) {
            continue;
        }
        for (int k = 0; k < 3; k++) {
            at[k] = T[4 * k] * (double)p[0] + T[4 * k + 1] * (double)p[1] + T[4 * k + 2] * (double)p[2] + T[4 * k + 3];
            world[k] = T[4 * k] * (double)m[0] + T[4 * k + 1] * (double)m[1] + T[4 * k + 2] * (double)m[2];
        }
        for (int k = 0; k < 3; k++) { /* 3 cm before the surface, distances to it are not folded */
            at[k] += 0.03 * world[k];
        }
        for (int k = 0; k < 3; k++) {
            double a[3] = {at[0], at[1], at[2]}, b[3] = {at[0], at[1], at[2]};
            a[k] -= 1e-4;
            b[k] += 1e-4;
            g[k] = (room_distance(room, b) - room_distance(room, a)) / 2e-4;
            length += g[k] * g[k];
            dot += g[k] * world[k];
        }
        if (length > 0.98) {
            dot /= sqrt(length);
            sum += acos(dot > 1.0 ? 1.0 : dot) * 57.29577951308232;
            count++;
        }
    }
    return count ? sum / (double)count : NAN;
}

/* On a GPU, the frames once more with views that stay in device memory, where a registration wants them: each frame
 * comes from host memory. Milliseconds of a frame and its view. */
static double device_ms(pcgpu_context *context, const pcgpu_volume_params *params, const pcgpu_camera *camera,
                        uint16_t *const *frames, double (*T)[16], int count) {
    pcgpu_volume *volume;
    double begin = 0.0;
    check(context, pcgpu_volume_open(context, params, &volume));
    for (int i = 0; i < count; i++) {
        const pcgpu_depth image = {camera->width, camera->height, frames[i], NULL};
        pc_maps maps;
        begin = i == count / 3 ? pc_now() : begin; /* not the first ones, for which memory grows */
        check(context, pcgpu_volume_integrate(volume, &image, camera, T[i], NULL));
        check(context, pc_volume_see(volume, camera, T[i], &maps));
    }
    /* The last view is still on its way; fusing waits for it when it is to tell what it did. */
    const pcgpu_depth image = {camera->width, camera->height, frames[count - 1], NULL};
    pcgpu_volume_counts counts;
    check(context, pcgpu_volume_integrate(volume, &image, camera, T[count - 1], &counts));
    const double ms = 1e3 * (pc_now() - begin) / (count - count / 3 + 1);
    pcgpu_volume_close(volume);
    return ms;
}

/* Ends where plain C without vectors sees something else in the last frame. */
static void check_bytes(const pcgpu_volume_params *params, const pcgpu_camera *camera, uint16_t *const *frames,
                        double (*T)[16], int count, const float *vertices, const float *normals) {
    const size_t floats = (size_t)camera->width * (size_t)camera->height * 3;
    float *v = malloc(floats * sizeof *v), *n = malloc(floats * sizeof *n);
    pcgpu_context *plain = bench_open(PCGPU_DEVICE_CPU, 0);
    pcgpu_volume *volume;
    plain->simd_limit = 1 + PC_SIMD_BASE;
    check(plain, pcgpu_volume_open(plain, params, &volume));
    for (int i = 0; i < count; i++) {
        const pcgpu_depth image = {camera->width, camera->height, frames[i], NULL};
        check(plain, pcgpu_volume_integrate(volume, &image, camera, T[i], NULL));
    }
    check(plain, pcgpu_volume_raycast(volume, camera, T[count - 1], v, n));
    if (memcmp(v, vertices, floats * sizeof *v) != 0 || memcmp(n, normals, floats * sizeof *n) != 0) {
        fail("the last frame differs from that of plain C");
    }
    pcgpu_volume_close(volume);
    pcgpu_close(plain);
    free(v);
    free(n);
}

/* ---- the run ---------------------------------------------------------------------------------------------------- */

int main(int argc, char **argv) {
    static scene room;
    static float fuse_ms[MOST_FRAMES], cast_ms[MOST_FRAMES], fuse_cpu[MOST_FRAMES], cast_cpu[MOST_FRAMES];
    const arguments a = parse(argc, argv);
    room_camera seen;
    room_camera_init(&seen, a.width);
    seen.noise = a.noise;
    room_furnish(&room, a.layout);
    pcgpu_context *context = bench_open(a.device, a.threads);
    context->simd_limit = a.simd;
    pcgpu_camera camera;
    pcgpu_camera_init(&camera);
    camera = (pcgpu_camera){seen.width, seen.height, seen.fx, seen.fy, seen.cx, seen.cy, seen.depth_scale, 0.0, 0.0};
    const int64_t pixels = (int64_t)seen.width * seen.height;
    static uint16_t *frames[MOST_FRAMES];
    static double poses[MOST_FRAMES][16];
    float *vertices = malloc((size_t)pixels * 3 * sizeof *vertices),
          *normals = malloc((size_t)pixels * 3 * sizeof *normals);
    pcgpu_volume *volume;
    check(context, pcgpu_volume_open(context, &a.params, &volume));
    double T[16];
    int64_t updated = 0;
    for (int i = 0; i < a.frames; i++) {
        scene_pose pose;
        double quaternion[4];
        pcgpu_volume_counts counts;
        room_pose(a.path, (double)i / LOOP, &pose, quaternion);
        matrix_of(&pose, T);
        memcpy(poses[i], T, sizeof T);
        frames[i] = malloc((size_t)pixels * sizeof *frames[i]);
        room_frame(&room, &pose, &seen, 1, i, frames[i]);
        const pcgpu_depth image = {seen.width, seen.height, frames[i], NULL};
        double begin = pc_now(), cpu = cpu_now();
        check(context, pcgpu_volume_integrate(volume, &image, &camera, T, &counts));
        double middle = pc_now(), cpu_middle = cpu_now();
        check(context, pcgpu_volume_raycast(volume, &camera, T, vertices, normals));
        fuse_ms[i] = (float)(1e3 * (middle - begin));
        cast_ms[i] = (float)(1e3 * (pc_now() - middle));
        fuse_cpu[i] = (float)(1e3 * (cpu_middle - cpu));
        cast_cpu[i] = (float)(1e3 * (cpu_now() - cpu_middle));
        updated += counts.updated_blocks;
    }
    check_bytes(&a.params, &camera, frames, poses, a.frames, vertices, normals);
    pcgpu_volume_stats stats;
    pcgpu_volume_get_stats(volume, &stats);
    int64_t found = 0;
    for (int64_t i = 0; i < pixels; i++) {
        found += vertices[3 * i] == vertices[3 * i];
    }
    pcgpu_mesh mesh;
    double begin = pc_now();
    check(context, pcgpu_volume_mesh(volume, 0.0, &mesh));
    double mesh_ms = 1e3 * (pc_now() - begin);
    static const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    const errors cast = errors_of(&room, vertices, 3, pixels, T, 7);
    const errors model = errors_of(&room, mesh.vertices.data, 6, mesh.vertices.rows, identity, 11);
    const double first_fuse = (double)fuse_ms[0], first_cast = (double)cast_ms[0];
    const double fuse = bench_median(fuse_ms, a.frames), shoot = bench_median(cast_ms, a.frames);
    printf("%s, %d threads, %d x %d, %d frames, voxels of %g m, truncation %g m\n", stats.run.backend,
           stats.run.threads, seen.width, seen.height, a.frames, stats.params.voxel_size, stats.params.truncation);
    printf("  first: fuse %.2f ms, cast %.2f ms; median: fuse %.2f ms, cast %.2f ms, together %.1f frames/s; mesh %.1f "
           "ms\n",
           first_fuse, first_cast, fuse, shoot, 1e3 / (fuse + shoot), mesh_ms);
    const double fuse_own = bench_median(fuse_cpu, a.frames), cast_own = bench_median(cast_cpu, a.frames);
    printf("  processor time of a frame: fuse %.2f ms (least %.2f), cast %.2f ms (least %.2f)\n", fuse_own,
           (double)fuse_cpu[0], cast_own, (double)cast_cpu[0]); /* they are sorted now */
    printf("  %lld blocks, %.1f MB, %lld updated a frame; %lld vertices, %lld triangles\n", (long long)stats.blocks,
           (double)stats.bytes / 1e6, (long long)(updated / a.frames), (long long)mesh.vertices.rows,
           (long long)mesh.triangles);
    printf(
        "  seen by the last camera: %.2f %% of its pixels, errors %.2f mm median, %.2f RMS, %.2f at 95 %%, %.1f worst, "
        "%.2f %% over 2 cm; normals off by %.2f degrees\n",
        100.0 * (double)found / (double)pixels, cast.median, cast.rms, cast.p95, cast.worst, 100.0 * cast.over,
        normal_error(&room, vertices, normals, pixels, T));
    printf("  surface: errors %.2f mm median, %.2f RMS, %.2f at 95 %%, %.1f worst, %.2f %% over 2 cm\n", model.median,
           model.rms, model.p95, model.worst, 100.0 * model.over);
    if (a.device == PCGPU_DEVICE_CUDA) {
        const double ms = device_ms(context, &a.params, &camera, frames, poses, a.frames);
        printf("  frames from host memory, views left on the device: %.3f ms a frame, %.0f frames/s\n", ms, 1e3 / ms);
    }
    pcgpu_mesh_free(&mesh);
    pcgpu_volume_close(volume);
    pcgpu_close(context);
    for (int i = 0; i < a.frames; i++) {
        free(frames[i]);
    }
    free(vertices);
    free(normals);
    return 0;
}
