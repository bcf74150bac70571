/* bench_register_depth cpu|cuda [RUNS]: registration of depth frames, in memory and warm.
 *
 * Frames of $PCGPU_DATA's living room, or those of testdata/room. Prints medians in milliseconds: the maps of a frame;
 * a registration as it is used, which ends when the pose stands still; all 4 + 5 + 10 iterations; and frames a second
 * of a sequence, each frame being made once. On the CPU with one thread and with all, and beside it the classic form in
 * separate passes, each of which writes what the next one reads: a mask of matches, the list of those, a system of 29
 * numbers for each, and their sum. On CUDA the same in separate kernels, and every transform is compared with the
 * CPU's: exit code 1 when one differs, 77 without a device. */
#include "bench.h"
#include "projective_cpu.h"
#include "projective.h"
#ifdef BENCH_CUDA
#include "register_depth_apart.h"
#endif

#include <stdlib.h>
#include <string.h>

enum { MOST_FRAMES = 5, MOST_RUNS = 1000, WARM = 2 };

typedef struct frames {
    int count;
    pcgpu_depth depth[MOST_FRAMES];
    pcgpu_camera camera;
} frames;

static void die(pcgpu_context *context, const char *why) {
    fprintf(stderr, "bench_register_depth: %s\n", context ? pcgpu_last_error(context) : why);
    exit(1);
}

static void read_frames(pcgpu_context *context, frames *f) {
    const char *data = getenv("PCGPU_DATA"), *source = getenv("PCGPU_SOURCE");
    char path[1024], first[1024] = "";
    pcgpu_camera_init(&f->camera);
    f->camera.fx = f->camera.fy = 525;
    f->camera.cx = 319.5;
    f->camera.cy = 239.5;
    for (int real = 1; real >= 0 && f->count == 0; real--) {
        for (; f->count < MOST_FRAMES; f->count++) {
            snprintf(path, sizeof path, real ? "%s/depth_livingroom/%05d.png" : "%s/testdata/room/frame-%06d.png",
                     real ? (data ? data : ".") : (source ? source : "."), f->count);
            FILE *file = fopen(path, "rb");
            if (!file) {
                break;
            }
            if (pcgpu_read_depth(context, file, path, NULL, &f->depth[f->count]) != PCGPU_OK) {
                die(context, NULL);
            }
            fclose(file);
            if (f->count == 0) {
                memcpy(first, path, sizeof first);
            }
        }
    }
    if (f->count < 2) {
        die(NULL, "no frames; set PCGPU_SOURCE to the sources");
    }
    printf("%d frames of %d x %d pixels, such as %s\n", f->count, f->depth->width, f->depth->height, first);
}

static pcgpu_frame *make(pcgpu_context *context, const frames *f, int i, const pcgpu_register_depth_params *params) {
    pcgpu_frame *frame;
    if (pcgpu_frame_create(context, &f->depth[i], &f->camera, params, &frame) != PCGPU_OK) {
        die(context, NULL);
    }
    return frame;
}

static void join(pcgpu_context *context, pcgpu_frame *a, pcgpu_frame *b, const pcgpu_register_depth_params *params,
                 pcgpu_registration *r) {
    if (pcgpu_register_frames(context, a, b, params, r) != PCGPU_OK) {
        die(context, NULL);
    }
}

/* ---- the library's form ------------------------------------------------------------------------------------------ */

typedef struct timing {
    double maps, used, all, fps;
} timing;

static void measure(pcgpu_context *context, bool cuda, const frames *f, int runs, timing *t,
                    pcgpu_registration *results) {
    static float maps[MOST_RUNS], used[MOST_RUNS], all[MOST_RUNS], both[MOST_RUNS];
    pcgpu_register_depth_params params, every;
    pcgpu_register_depth_params_init(&params);
    every = params;
    every.translation_epsilon = every.rotation_epsilon = 0.0; /* never ends early */
    pcgpu_frame *before = make(context, f, 0, &params);
    for (int run = -WARM; run < runs; run++) {
        const int i = (run + WARM) % (f->count - 1) + 1, at = run < 0 ? 0 : run;
        pcgpu_registration r;
        pcgpu_frame_free(context, before);
        before = make(context, f, i - 1, &params);
        const double begin = pc_now();
        pcgpu_frame *frame = make(context, f, i, &params);
        const double made = pc_now();
        join(context, frame, before, &params, &r);
        const double joined = pc_now();
        results[i] = r;
        join(context, frame, before, &every, &r);
        maps[at] = (float)(1e3 * (cuda ? frame->maps.measure.seconds : made - begin)); /* on CUDA: without the copy */
        used[at] = (float)(1e3 * (joined - made));
        both[at] = (float)(joined - begin);
        double seconds = 0.0;
        for (int k = 0; k < r.run.stages; k++) {
            seconds += r.run.stage[k].seconds;
        }
        all[at] = (float)(1e3 * seconds); /* on CUDA: of the kernel */
        pcgpu_frame_free(context, before);
        before = frame;
    }
    pcgpu_frame_free(context, before);
    *t = (timing){bench_median(maps, runs), bench_median(used, runs), bench_median(all, runs),
                  1.0 / bench_median(both, runs)};
}

static void print(const char *label, const timing *t) {
    printf("%-12s maps %7.3f   registration %7.3f   19 iterations %7.3f ms   %6.0f frames a second\n", label, t->maps,
           t->used, t->all, t->fps);
}

/* ---- the classic form ------------------------------------------------------------------------------------------- */

/* Row by row, each pass over everything; the sums are those of the library to rounding. */
static void pass_apart(const pc_depth_frame *source, const pc_depth_frame *target, int level, const pc_depth_step *s,
                       uint8_t *mask, int32_t *list, float *systems, double *sums) {
    const pc_depth_level *from = &source->level[level], *to = &target->level[level];
    const float *pixels = source->maps + from->at, *there = target->maps + to->at;
    const int n = from->columns * from->rows;
    pc_depth_landing at;
    int count = 0;
    for (int stage = 0; stage < 2; stage++) { /* the mask, then the systems of its list */
        for (int k = 0; k < (stage ? count : n); k++) {
            const int i = stage ? list[k] : k;
            const float *p = pixels + PC_DEPTH_VALUES * i;
            float own[PC_ICP_SUMS] = {0};
            pc_depth_project(s, to, ((float)(i % from->columns) - from->cx) * from->per_fx,
                             ((float)(i / from->columns) - from->cy) * from->per_fy, p[PC_DEPTH_Z], &at);
            const float *q = there + PC_DEPTH_VALUES * at.at;
            pc_depth_add(false, s, to, &at, p[0], p[1], p[2], q[0], q[1], q[2], q[3], own, 1);
            if (stage) {
                memcpy(systems + (size_t)k * PC_ICP_SUMS, own, sizeof own);
            } else {
                mask[i] = own[PC_ICP_MATCHES] > 0.0f;
            }
        }
        for (int i = 0; i < n && stage == 0; i++) {
            list[count] = i;
            count += mask[i];
        }
    }
    memset(sums, 0, PC_ICP_SUMS * sizeof *sums);
    for (int k = 0; k < count; k++) {
        for (int m = 0; m < PC_ICP_SUMS; m++) {
            sums[m] += (double)systems[(size_t)k * PC_ICP_SUMS + (size_t)m];
        }
    }
}

static pc_depth_optimizer optimizer_of(const pcgpu_frame *source, const pcgpu_frame *target,
                                       const pcgpu_register_depth_params *params) {
    pc_depth_optimizer optimizer = {.levels = source->maps.levels,
                                    .max_correspondence = params->max_distance,
                                    .start = {.q = {1, 0, 0, 0}},
                                    .target = target->maps.measure};
    for (int l = 0; l < optimizer.levels; l++) {
        optimizer.most[l] = params->level_iterations[optimizer.levels - 1 - l];
    }
    return optimizer;
}

static void compare_forms(pcgpu_context *context, const frames *f, double fused) {
    pcgpu_register_depth_params params;
    pcgpu_register_depth_params_init(&params);
    pcgpu_frame *a = make(context, f, 1, &params), *b = make(context, f, 0, &params);
    const size_t n = (size_t)a->maps.level[0].columns * (size_t)a->maps.level[0].rows;
    uint8_t *mask = malloc(n);
    int32_t *list = malloc((n + 1) * sizeof *list);
    float *systems = malloc(n * PC_ICP_SUMS * sizeof *systems);
    double sums[PC_ICP_SUMS];
    float ms[3];
    if (!mask || !list || !systems) {
        die(NULL, "out of memory");
    }
    pc_depth_optimizer optimizer;
    for (int run = 0; run < 3; run++) {
        optimizer = optimizer_of(a, b, &params);
        const double begin = pc_now();
        pc_depth_optimizer_begin(&optimizer);
        while (optimizer.end == PC_DEPTH_RUNNING) {
            pass_apart(&a->maps, &b->maps, optimizer.base.level, &optimizer.step, mask, list, systems, sums);
            pc_depth_optimizer_next(&optimizer, sums);
        }
        ms[run] = (float)(1e3 * (pc_now() - begin));
    }
    const double apart = bench_median(ms, 3);
    printf(
        "separate passes, 1 thread: 19 iterations %.1f ms, %.1f times as long as fused; translation %.6f %.6f %.6f\n",
        apart, apart / fused, optimizer.base.pose.t[0], optimizer.base.pose.t[1], optimizer.base.pose.t[2]);
    free(systems);
    free(list);
    free(mask);
    pcgpu_frame_free(context, a);
    pcgpu_frame_free(context, b);
}

#ifdef BENCH_CUDA
static void compare_kernels(pcgpu_context *context, const frames *f, double fused) {
    enum { RUNS = 5 };
    pcgpu_register_depth_params params;
    pcgpu_registration r;
    float ms[RUNS];
    pcgpu_register_depth_params_init(&params);
    pcgpu_frame *a = make(context, f, 1, &params), *b = make(context, f, 0, &params);
    join(context, a, b, &params, &r); /* the measure of the target is known then */
    pc_depth_optimizer optimizer;
    for (int run = -1; run < RUNS; run++) {
        double own;
        optimizer = optimizer_of(a, b, &params);
        if (register_depth_apart(context, &a->maps, &b->maps, &optimizer, &own) != PCGPU_OK) {
            die(context, NULL);
        }
        ms[run < 0 ? 0 : run] = (float)own;
    }
    const double apart = bench_median(ms, RUNS);
    printf("separate kernels: 19 iterations %.3f ms, %.1f times as long as fused; translation %.6f %.6f %.6f\n", apart,
           apart / fused, optimizer.base.pose.t[0], optimizer.base.pose.t[1], optimizer.base.pose.t[2]);
    pcgpu_frame_free(context, a);
    pcgpu_frame_free(context, b);
}
#else
static void compare_kernels(pcgpu_context *context, const frames *f, double fused) {
    (void)context, (void)f, (void)fused;
}
#endif

int main(int argc, char **argv) {
    const bool cuda = argc > 1 && strcmp(argv[1], "cuda") == 0;
    const int runs = argc > 2 ? atoi(argv[2]) : 20;
    frames f = {0};
    timing one, all, device;
    pcgpu_registration wanted[MOST_FRAMES] = {0}, got[MOST_FRAMES] = {0};
    int failures = 0;
    if (runs < 1 || runs > MOST_RUNS || (!cuda && (argc < 2 || strcmp(argv[1], "cpu") != 0))) {
        die(NULL, "give cpu or cuda, and 1 to 1000 runs");
    }
    pcgpu_context *cpu = bench_open(PCGPU_DEVICE_CPU, 1), *team = bench_open(PCGPU_DEVICE_CPU, 0);
    read_frames(cpu, &f);
    measure(cpu, false, &f, cuda && runs > MOST_FRAMES ? MOST_FRAMES : runs, &one, wanted); /* for the transforms */
    print("1 thread", &one);
    if (cuda) {
        pcgpu_context *gpu = bench_open(PCGPU_DEVICE_CUDA, 0);
        measure(gpu, true, &f, runs, &device, got);
        print("CUDA", &device);
        for (int i = 1; i < f.count; i++) {
            const bool same =
                memcmp(got[i].T_target_source, wanted[i].T_target_source, sizeof got->T_target_source) == 0;
            failures += !same && wanted[i].run.backend[0];
        }
        printf("%d transforms differ from the CPU's\n", failures);
        bench_target("maps of a frame on CUDA", device.maps, "ms", 0.05, false);
        bench_target("19 iterations of a pair on CUDA", device.all, "ms", 0.15, false);
        compare_kernels(gpu, &f, device.all);
        pcgpu_close(gpu);
    } else {
        measure(team, false, &f, runs, &all, got);
        print("all threads", &all);
        compare_forms(cpu, &f, one.all);
        bench_target("frames a second, all threads", all.fps, "", 60, true);
    }
    bench_print_targets();
    for (int i = 0; i < f.count; i++) {
        pcgpu_depth_free(&f.depth[i]);
    }
    pcgpu_close(cpu);
    pcgpu_close(team);
    return failures ? 1 : 0;
}
