/* bench_odometry_depth [OPTION]...: odometry of a depth camera, frames in host memory, by each reference on the CPU
 * and, where there is one, on CUDA: frames a second, the milliseconds of its stages, and how far the poses are from the
 * truth. The frames are those of the generated room, or of a folder.
 *
 *   --device all|cpu|cuda  --reference all|previous|keyframe|model  --threads N  --frames N  --rounds N
 *   --path sway|around  --width PIXELS  --noise 0|1  --layout SEED      of the room; the path has 120 frames, then
 * repeats
 *   --data FOLDER  instead: frame-000000.depth.png, ... and frame-000000.pose.txt, ... as of 7-Scenes
 *   --voxel-size METRES  --truncation METRES  --weight W  --bilateral METRES  --simd N
 *
 * Each run is repeated --rounds times and the last one counts, which has found code warm; its model is a new one, whose
 * memory grows. On CUDA, levels and ray casting are the device's own times, and joining the reference is what the host
 * spends on it while the device goes on. There every pose is compared with the CPU's, by its bytes, which runs too:
 * exit code 1 when one differs, 77 when CUDA was asked for and is not there. */
#include "bench.h"
#include "pcgpu_odometry.h"
#include "room.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FRAMES = 1200, LOOP = 120, REFERENCES = 3 };

static const char *const names[REFERENCES] = {"previous", "keyframe", "model"};

typedef struct arguments {
    const char *device, *reference, *data;
    int threads, frames, rounds, width, simd;
    bool noise;
    room_path path;
    uint64_t layout;
    double bilateral;
    pcgpu_volume_params volume;
} arguments;

static pcgpu_camera camera;
static pcgpu_depth frames[MOST_FRAMES];
static double truth[16 * MOST_FRAMES], times[MOST_FRAMES], poses[2][REFERENCES][16 * MOST_FRAMES];

static void fail(const char *why) {
    fprintf(stderr, "bench_odometry_depth: %s\n", why);
    exit(1);
}

static void check(const pcgpu_context *context, pcgpu_status status) {
    if (status != PCGPU_OK) {
        fail(pcgpu_last_error(context));
    }
}

static arguments parse(int argc, char **argv) {
    arguments a = {
        .device = "all", .reference = "all", .frames = 60, .rounds = 2, .width = 640, .noise = true, .layout = 1};
    pcgpu_volume_params_init(&a.volume);
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(name, "--device") == 0) {
            a.device = value;
        } else if (strcmp(name, "--reference") == 0) {
            a.reference = value;
        } else if (strcmp(name, "--data") == 0) {
            a.data = value;
        } else if (strcmp(name, "--threads") == 0) {
            a.threads = atoi(value);
        } else if (strcmp(name, "--frames") == 0) {
            a.frames = atoi(value);
        } else if (strcmp(name, "--rounds") == 0) {
            a.rounds = atoi(value);
        } else if (strcmp(name, "--path") == 0) {
            a.path = strcmp(value, "around") == 0 ? ROOM_AROUND : ROOM_SWAY;
        } else if (strcmp(name, "--width") == 0) {
            a.width = atoi(value);
        } else if (strcmp(name, "--noise") == 0) {
            a.noise = atoi(value) != 0;
        } else if (strcmp(name, "--layout") == 0) {
            a.layout = strtoull(value, NULL, 10);
        } else if (strcmp(name, "--voxel-size") == 0) {
            a.volume.voxel_size = atof(value);
        } else if (strcmp(name, "--truncation") == 0) {
            a.volume.truncation = atof(value);
        } else if (strcmp(name, "--weight") == 0) {
            a.volume.max_weight = atof(value);
        } else if (strcmp(name, "--bilateral") == 0) {
            a.bilateral = atof(value);
        } else if (strcmp(name, "--simd") == 0) {
            a.simd = atoi(value);
        } else {
            fail("an unknown option; the first lines of tests/bench/odometry_depth.c list them");
        }
    }
    if (a.frames < 2 || a.frames > MOST_FRAMES || a.rounds < 1) {
        fail("give 2 to 1200 frames and 1 or more rounds");
    }
    return a;
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static void make_frames(const arguments *a) {
    static scene room;
    room_camera seen;
    room_camera_init(&seen, a->width);
    seen.noise = a->noise;
    room_furnish(&room, a->layout);
    camera = (pcgpu_camera){seen.width, seen.height, seen.fx, seen.fy, seen.cx, seen.cy, seen.depth_scale, 0.0, 0.0};
    for (int i = 0; i < a->frames; i++) {
        scene_pose pose;
        double quaternion[4], *T = truth + 16 * i;
        room_pose(a->path, (double)(i % LOOP) / LOOP, &pose, quaternion);
        for (int k = 0; k < 3; k++) {
            memcpy(T + 4 * k, pose.rotation + 3 * k, 3 * sizeof *T);
            T[4 * k + 3] = pose.position[k];
        }
        T[15] = 1.0;
        frames[i] = (pcgpu_depth){seen.width, seen.height,
                                  malloc((size_t)seen.width * (size_t)seen.height * sizeof(uint16_t)), NULL};
        if (!frames[i].data) {
            fail("out of memory; give fewer frames");
        }
        room_frame(&room, &pose, &seen, 1, i, frames[i].data);
    }
    printf("room %llu, %d frames of %d x %d pixels%s, path %s\n", (unsigned long long)a->layout, a->frames, seen.width,
           seen.height, a->noise ? " with noise" : "", a->path == ROOM_AROUND ? "around" : "sway");
}

static bool read_pose(const char *path, double T[16]) {
    FILE *file = fopen(path, "r");
    bool good = file;
    for (int k = 0; k < 16 && good; k++) {
        good = fscanf(file, "%lf", &T[k]) == 1;
    }
    if (file) {
        fclose(file);
    }
    return good;
}

static int read_frames(pcgpu_context *context, const arguments *a) {
    char path[4096];
    int n = 0;
    pcgpu_camera_init(&camera);
    camera.fx = camera.fy = 585;
    camera.cx = 320;
    camera.cy = 240;
    for (; n < a->frames; n++) {
        snprintf(path, sizeof path, "%s/frame-%06d.depth.png", a->data, n);
        FILE *file = fopen(path, "rb");
        if (!file) {
            break;
        }
        check(context, pcgpu_read_depth(context, file, path, NULL, &frames[n]));
        fclose(file);
        snprintf(path, sizeof path, "%s/frame-%06d.pose.txt", a->data, n);
        if (!read_pose(path, truth + 16 * n)) {
            fail("a frame of the folder has no pose of 16 numbers");
        }
    }
    if (n < 2) {
        fail("fewer than two frames in the folder");
    }
    printf("%s, %d frames\n", a->data, n);
    return n;
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

/* Milliseconds of a frame, medians over those that have been registered; and what became of them. */
typedef struct outcome {
    double fps, frame, levels, raycast, reference, slowest;
    int lost, attempts, iterations;
    int64_t blocks;
} outcome;

static double stage(const pcgpu_run *run, const char *name) {
    double seconds = 0.0;
    for (int i = 0; i < run->stages; i++) { /* "level 1", "level 2", ... together */
        seconds += strncmp(run->stage[i].name, name, strlen(name)) == 0 ? run->stage[i].seconds : 0.0;
    }
    return 1e3 * seconds;
}

static outcome run(pcgpu_context *context, const arguments *a, pcgpu_reference reference, int count, double *estimate) {
    static float frame[MOST_FRAMES], levels[MOST_FRAMES], raycast[MOST_FRAMES], joined[MOST_FRAMES];
    pcgpu_depth_odometry_params p;
    pcgpu_depth_odometry *o;
    outcome out = {0};
    pcgpu_depth_odometry_params_init(&p);
    p.reference = reference;
    p.registration.bilateral = a->bilateral;
    p.volume = a->volume;
    memcpy(p.registration.init, truth, sizeof p.registration.init);
    const double begin = pc_now();
    check(context, pcgpu_depth_odometry_open(context, &camera, &p, &o));
    for (int i = 0; i < count; i++) {
        pcgpu_odometry_frame f;
        const double from = pc_now();
        check(context, pcgpu_depth_odometry_add(o, &frames[i], times[i], &f));
        memcpy(estimate + 16 * i, f.T_world_frame, sizeof f.T_world_frame);
        const int at = i > 0 ? i - 1 : 0;
        frame[at] = (float)(1e3 * (pc_now() - from));
        levels[at] = (float)stage(&f.registration.run, "level");
        raycast[at] = (float)stage(&f.registration.run, "raycast");
        joined[at] = (float)stage(&f.registration.run, "reference");
        out.lost += !f.good;
        out.attempts += f.attempts;
        out.iterations += f.registration.iterations;
    }
    pcgpu_volume *volume = pcgpu_depth_odometry_volume(o);
    if (volume) {
        pcgpu_volume_stats stats;
        pcgpu_volume_get_stats(volume, &stats);
        out.blocks = stats.blocks;
    }
    pcgpu_depth_odometry_close(o); /* waits for what a device is still at */
    out.fps = count / (pc_now() - begin);
    out.frame = bench_median(frame, count - 1);
    out.slowest = (double)frame[count - 2]; /* they are sorted now */
    out.levels = bench_median(levels, count - 1);
    out.raycast = bench_median(raycast, count - 1);
    out.reference = bench_median(joined, count - 1);
    return out;
}

static void print_errors(pcgpu_context *context, const double *estimate, int count) {
    const double *T = estimate + 16 * (count - 1), *U = truth + 16 * (count - 1);
    double square = 0.0, chord = 0.0;
    pcgpu_evaluation e;
    for (int k = 0; k < 3; k++) {
        const double d = T[4 * k + 3] - U[4 * k + 3];
        square += d * d;
        for (int i = 0; i < 3; i++) {
            const double r = T[4 * k + i] - U[4 * k + i];
            chord += r * r;
        }
    }
    printf("            end off by %.2f mm, %.3f degree", 1e3 * sqrt(square), 57.29578 * sqrt(0.5 * chord));
    if (pcgpu_trajectory_evaluate(context, estimate, truth, times, count, &e) == PCGPU_OK) {
        printf("; %.2f m: ATE %.2f mm, a frame %.2f mm %.4f degree, a second %.2f mm %.4f degree", e.length,
               1e3 * e.ate_rmse, 1e3 * e.rpe_translation, 57.29578 * e.rpe_rotation, 1e3 * e.rpe_second_translation,
               57.29578 * e.rpe_second_rotation);
    }
    printf("\n");
}

static bool wants(const char *which, const char *name) {
    return strcmp(which, "all") == 0 || strcmp(which, name) == 0;
}

static void run_all(pcgpu_context *context, const arguments *a, int count, bool cuda) {
    const char *label = cuda ? "CUDA" : "CPU";
    for (int r = 0; r < REFERENCES; r++) {
        if (!wants(a->reference, names[r])) {
            continue;
        }
        outcome out = {0};
        for (int round = 0; round < a->rounds; round++) {
            out = run(context, a, (pcgpu_reference)r, count, poses[cuda][r]);
        }
        printf("%-4s %-9s %7.1f frames/s, a frame %7.3f ms (slowest %.2f): levels %.3f, ray casting and its maps %.3f, "
               "joining the reference %.3f; %d lost, %d attempts, %.1f iterations",
               label, names[r], out.fps, out.frame, out.slowest, out.levels, out.raycast, out.reference, out.lost,
               out.attempts, (double)out.iterations / (count - 1));
        if (out.blocks > 0) {
            printf("; %lld blocks", (long long)out.blocks);
        }
        printf("\n");
        print_errors(context, poses[cuda][r], count);
        if (cuda && r == PCGPU_REFERENCE_MODEL) {
            bench_target("frame to model on CUDA, with fusion and ray casting", out.fps, " frames/s", 1000, true);
        } else if (!cuda && r == PCGPU_REFERENCE_PREVIOUS && context->threads > 1) {
            bench_target("frame to frame on the CPU", out.fps, " frames/s", 60, true);
        }
    }
}

int main(int argc, char **argv) {
    const arguments a = parse(argc, argv);
    int count = a.frames, differ = 0;
    pcgpu_context *cpu = bench_open(PCGPU_DEVICE_CPU, a.threads), *gpu = NULL;
    cpu->simd_limit = a.simd;
    if (a.data) {
        count = read_frames(cpu, &a);
    } else {
        make_frames(&a);
    }
    for (int i = 0; i < count; i++) {
        times[i] = i / 30.0;
    }
    if (wants(a.device, "cuda")) {
        char why[256];
        if (pcgpu_devices(NULL, 0, why, sizeof why, NULL) > 0) {
            gpu = bench_open(PCGPU_DEVICE_CUDA, a.threads);
        } else if (strcmp(a.device, "cuda") == 0) {
            printf("skipped: %s\n", why);
            return BENCH_SKIPPED;
        }
    }
    if (gpu) {
        run_all(gpu, &a, count, true);
    }
    run_all(cpu, &a, count, false);
    for (int r = 0; r < REFERENCES && gpu; r++) {
        for (int i = 0; i < count && wants(a.reference, names[r]); i++) {
            differ += memcmp(poses[0][r] + 16 * i, poses[1][r] + 16 * i, 16 * sizeof(double)) != 0;
        }
    }
    if (gpu) {
        printf("%d poses differ from the CPU's\n", differ);
    }
    bench_print_targets();
    for (int i = 0; i < count; i++) {
        free(frames[i].data);
    }
    pcgpu_close(gpu);
    pcgpu_close(cpu);
    return differ ? 1 : 0;
}
