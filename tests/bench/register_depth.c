/* bench_register_depth cpu|cuda: registration of depth frames, in memory and warm.
 *
 * Frames of the data's living room, or those of testdata/room. Medians: the maps of a frame; a registration as it is
 * used, which ends when the pose stands still; all 4 + 5 + 10 iterations; and frames a second of a sequence, each
 * frame being made once. On the CPU with one thread and with all, and beside it the classic form in separate passes,
 * each of which writes what the next one reads: a mask of matches, the list of those, a system of 29 numbers for each,
 * and their sum. On CUDA the same in separate kernels. Every transform must be that of the CPU with one thread, those
 * of the separate forms to 0.1 mm. */
#include "bench.h"
#include "projective_cpu.h"
#include "projective.h"
#ifdef BENCH_CUDA
#include "register_depth_apart.h"
#endif

#include <stdlib.h>
#include <string.h>

enum { MOST_FRAMES = 5, WARM = 2, APART_RUNS = 3 };

typedef struct frames {
    int count;
    pcgpu_depth depth[MOST_FRAMES];
    pcgpu_camera camera;
} frames;

static void read_frames(pcgpu_context *context, frames *f) {
    const char *source = getenv("PCGPU_SOURCE");
    char path[1024];
    pcgpu_camera_init(&f->camera);
    f->camera.fx = f->camera.fy = 525;
    f->camera.cx = 319.5;
    f->camera.cy = 239.5;
    for (int real = 1; real >= 0 && f->count == 0; real--) {
        for (; f->count < MOST_FRAMES; f->count++) {
            snprintf(path, sizeof path, real ? "%s/depth_livingroom/%05d.png" : "%s/testdata/room/frame-%06d.png",
                     real ? bench_word("--data", ".") : (source ? source : "."), f->count);
            FILE *file = fopen(path, "rb");
            if (!file) {
                break;
            }
            bench_check(context, pcgpu_read_depth(context, file, path, NULL, &f->depth[f->count]));
            fclose(file);
        }
    }
    if (f->count < 2) {
        printf("skipped: no frames; set PCGPU_SOURCE to the sources\n");
        exit(BENCH_SKIPPED);
    }
}

static pcgpu_frame *make(pcgpu_context *context, const frames *f, int i, const pcgpu_register_depth_params *params) {
    pcgpu_frame *frame;
    bench_check(context, pcgpu_frame_create(context, &f->depth[i], &f->camera, params, &frame));
    return frame;
}

static void join(pcgpu_context *context, pcgpu_frame *a, pcgpu_frame *b, const pcgpu_register_depth_params *params,
                 pcgpu_registration *r) {
    bench_check(context, pcgpu_register_frames(context, a, b, params, r));
}

/* ---- the library's form ------------------------------------------------------------------------------------------ */

typedef struct timing {
    double maps, used, all, fps;
} timing;

static void measure(pcgpu_context *context, bool cuda, const frames *f, int runs, timing *t,
                    pcgpu_registration *results) {
    static float maps[BENCH_MOST_RUNS], used[BENCH_MOST_RUNS], all[BENCH_MOST_RUNS], both[BENCH_MOST_RUNS];
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

/* Milliseconds of 19 iterations in separate passes, or kernels, and where they end. */
static double run_apart(pcgpu_context *context, bool cuda, const frames *f, pc_depth_optimizer *optimizer) {
    pcgpu_register_depth_params params;
    pcgpu_registration r;
    float ms[APART_RUNS];
    double sums[PC_ICP_SUMS];
    pcgpu_register_depth_params_init(&params);
    pcgpu_frame *a = make(context, f, 1, &params), *b = make(context, f, 0, &params);
    join(context, a, b, &params, &r); /* the measure of the target is known then */
    const size_t n = (size_t)f->depth->width * (size_t)f->depth->height;
    uint8_t *mask = malloc(n);
    int32_t *list = malloc((n + 1) * sizeof *list);
    float *systems = malloc(n * PC_ICP_SUMS * sizeof *systems);
    bench_check(NULL, mask && list && systems ? PCGPU_OK : PCGPU_ERROR_MEMORY);
    for (int run = -1; run < APART_RUNS; run++) {
        *optimizer = optimizer_of(a, b, &params);
        const double begin = pc_now();
        double own = 0.0;
#ifdef BENCH_CUDA
        if (cuda) {
            bench_check(context, register_depth_apart(context, &a->maps, &b->maps, optimizer, &own));
        }
#endif
        if (!cuda) {
            pc_depth_optimizer_begin(optimizer);
            while (optimizer->end == PC_DEPTH_RUNNING) {
                pass_apart(&a->maps, &b->maps, optimizer->base.level, &optimizer->step, mask, list, systems, sums);
                pc_depth_optimizer_next(optimizer, sums);
            }
            own = 1e3 * (pc_now() - begin);
        }
        ms[run < 0 ? 0 : run] = (float)own;
    }
    free(systems);
    free(list);
    free(mask);
    pcgpu_frame_free(context, a);
    pcgpu_frame_free(context, b);
    return bench_median(ms, APART_RUNS);
}

/* Rows of one context, whose transforms must be those that are wanted. */
static void report(pcgpu_context *context, bool cuda, const char *who, const frames *f, int runs,
                   const pcgpu_registration *wanted, const char *apart) {
    timing t;
    pcgpu_registration got[MOST_FRAMES] = {0};
    pc_depth_optimizer optimizer;
    double off = 0.0;
    measure(context, cuda, f, runs, &t, got);
    for (int i = 1; i < f->count && got[i].run.backend[0]; i++) {
        if (!bench_right(memcmp(got[i].T_target_source, wanted[i].T_target_source, sizeof got->T_target_source) == 0,
                         "depth frames", who)) {
            return;
        }
    }
    bench_row("maps of a depth frame", who, t.maps, "ms");
    bench_row("registration of depth frames", who, t.used, "ms");
    bench_row("registration of depth frames, 19 iterations", who, t.all, "ms");
    bench_row("a sequence of depth frames", who, t.fps, "frames/s");
    if (apart) {
        const double ms = run_apart(context, cuda, f, &optimizer);
        for (int k = 0; k < 3; k++) {
            off = fmax(off, fabs(optimizer.base.pose.t[k] - wanted[1].T_target_source[4 * k + 3]));
        }
        if (bench_right(off < 1e-4, "depth frames", apart)) {
            bench_row("registration of depth frames, 19 iterations", apart, ms, "ms");
        }
    }
}

int main(int argc, char **argv) {
    const bool cuda = bench_begin(argc, argv, " --data --runs ");
    const int runs = (int)bench_number("--runs", cuda ? 100 : 20);
    frames f = {0};
    timing first;
    pcgpu_registration wanted[MOST_FRAMES] = {0};
    pcgpu_context *cpu = bench_open(PCGPU_DEVICE_CPU, 1),
                  *other = bench_open(cuda ? PCGPU_DEVICE_CUDA : PCGPU_DEVICE_CPU, 0);
    read_frames(cpu, &f);
    measure(cpu, false, &f, MOST_FRAMES, &first, wanted); /* for the transforms */
    if (cuda) {
        report(other, true, "pcgpu", &f, runs, wanted, "separate kernels");
    } else {
        report(cpu, false, "pcgpu", &f, runs, wanted, "separate passes");
        report(other, false, "all threads", &f, runs, wanted, NULL);
    }
    for (int i = 0; i < f.count; i++) {
        pcgpu_depth_free(&f.depth[i]);
    }
    pcgpu_close(cpu);
    pcgpu_close(other);
    return bench_end();
}
