/* bench_odometry cpu|cuda --scans FOLDER [--map CLOUD]: odometry of a folder of scans by each reference, or
 * localization in a map.
 *
 * FOLDER holds 000000.bin, 000001.bin, ..., and poses.txt (KITTI lines, of the sensor) where the truth is known.
 * Everything is read first, so that times are those of the operation, from points in the host's memory. --frames N,
 * --threads N, --fields N, --reference NAME, --deskew 1 and --beams DEGREES (their correction); --name WORD begins the
 * rows.
 *
 * No scan may be lost. With --map: tracking from the first pose, and for --places N scans (50), evenly spread, how
 * many are found anywhere in the map: all must be, within 0.1 m and 0.5 degree. cuda: the same after it on the CPU,
 * whose poses it must give to the last bit. */
#include "bench.h"
#include "pcgpu_odometry.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 8192, WARM = 4, REFERENCES = 3, MAPPED = 3 };

static pcgpu_cloud map, clouds[MOST];
static double truth[16 * MOST], times[MOST];
static double poses[2][REFERENCES + 1][16 * MOST]; /* of the CPU, of CUDA; by reference, in the map */
static const char *const names[] = {"previous", "keyframe", "model"};
static const char *what;
static int count;
static bool known;

/* Seconds that the processors spent on this program: on a busy machine they say more than a clock. */
static double processor(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool read_poses(const char *folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/poses.txt", folder);
    FILE *file = fopen(path, "r");
    bool good = file;
    for (int i = 0; i < count && good; i++) {
        double *T = truth + 16 * i;
        T[15] = 1.0;
        for (int k = 0; k < 12 && good; k++) {
            good = fscanf(file, "%lf", &T[k]) == 1;
        }
    }
    if (file) {
        fclose(file);
    }
    return good;
}

/* Metres and degrees between two poses. */
static void difference(const double *T, const double *U, double *metres, double *degrees) {
    double square = 0.0, chord = 0.0;
    for (int k = 0; k < 3; k++) {
        square += (T[4 * k + 3] - U[4 * k + 3]) * (T[4 * k + 3] - U[4 * k + 3]);
        for (int i = 0; i < 3; i++) {
            chord += (T[4 * k + i] - U[4 * k + i]) * (T[4 * k + i] - U[4 * k + i]);
        }
    }
    *metres = sqrt(square);
    *degrees = 57.29577951308232 * 2.0 * asin(fmin(1.0, sqrt(chord / 8.0)));
}

/* What a row is called: of a reference, or in the map. */
static const char *name_of(int r, const char *more) {
    static char name[200];
    snprintf(name, sizeof name, "%s, %s%s", what, r == MAPPED ? "in a map" : names[r], more);
    return name;
}

static pcgpu_odometry *open_one(pcgpu_context *context, const pcgpu_odometry_params *params, int r) {
    pcgpu_odometry *o;
    bench_check(context, r == MAPPED ? pcgpu_odometry_open_map(context, params, &map, &o)
                                     : pcgpu_odometry_open(context, params, &o));
    return o;
}

static void print_errors(pcgpu_context *context, int r, const char *who, const double *estimate) {
    pcgpu_evaluation e;
    double metres, degrees, most = 0.0, turned = 0.0, mean = 0.0;
    if (!known || pcgpu_trajectory_evaluate(context, estimate, truth, times, count, &e) != PCGPU_OK) {
        return;
    }
    for (int i = 0; i < count && r == MAPPED; i++) {
        difference(estimate + 16 * i, truth + 16 * i, &metres, &degrees);
        most = fmax(most, metres);
        turned = fmax(turned, degrees);
        mean += metres / count;
    }
    if (r == MAPPED) {
        bench_row(name_of(r, ", mean error"), who, 1e3 * mean, "mm");
        bench_row(name_of(r, ", worst error"), who, 1e3 * most, "mm");
        bench_row(name_of(r, ", worst angle"), who, turned, "degrees");
    } else {
        bench_row(name_of(r, ", ATE"), who, 1e3 * e.ate_rmse, "mm");
        bench_row(name_of(r, ", from scan to scan"), who, 1e3 * e.rpe_translation, "mm");
        bench_row(name_of(r, ", segments"), who, 100 * e.segment_translation, "%");
        bench_row(name_of(r, ", turn of segments"), who, 5729.578 * e.segment_rotation, "degrees per 100 m");
    }
}

/* The first run of a few scans is not counted: it starts threads and the device. */
static void run(pcgpu_context *context, bool cuda, pcgpu_odometry_params params, int r) {
    const char *who = cuda ? "CUDA" : "pcgpu";
    double *estimate = poses[cuda][r], seconds = 0.0, used = 0.0;
    pcgpu_odometry_frame f;
    int lost = 0;
    if (r == MAPPED) {
        params.registration.search = PCGPU_SEARCH_RESCUE;
        memcpy(params.registration.init, truth, 16 * sizeof *truth);
    } else {
        params.reference = (pcgpu_reference)r;
    }
    for (int warm = 1; warm >= 0; warm--) {
        pcgpu_odometry *o = open_one(context, &params, r);
        const double begin = pc_now(), cpu = processor();
        for (int i = 0; i < (warm && count > WARM ? WARM : count); i++) {
            bench_check(context, pcgpu_odometry_add(o, &clouds[i], times[i], &f));
            memcpy(estimate + 16 * i, f.T_world_frame, sizeof f.T_world_frame);
            lost += !warm && !f.good;
        }
        seconds = pc_now() - begin;
        used = processor() - cpu;
        pcgpu_odometry_close(o);
    }
    const bool same = !cuda || memcmp(estimate, poses[0][r], (size_t)count * 16 * sizeof *estimate) == 0;
    if (bench_right(lost == 0, name_of(r, ", lost scans"), who) && bench_right(same, name_of(r, ", poses"), who)) {
        bench_row(name_of(r, ""), who, count / seconds, "scans/s");
        bench_row(name_of(r, ", processor time"), who, 1e3 * used / count, "ms");
        print_errors(context, r, who, estimate);
    }
}

/* Each place is the first of a sequence of its own. */
static void find_starts(pcgpu_context *context, bool cuda, pcgpu_odometry_params params, int places) {
    double sum = 0.0, slowest = 0.0, metres, degrees;
    int found = 0;
    params.registration.search = PCGPU_SEARCH_ALWAYS;
    for (int i = 0; i < places; i++) {
        const int which = (int)((int64_t)i * count / places);
        pcgpu_odometry_frame f;
        pcgpu_odometry *o = open_one(context, &params, MAPPED);
        const double begin = processor();
        bench_check(context, pcgpu_odometry_add(o, &clouds[which], 0.0, &f));
        const double took = processor() - begin;
        pcgpu_odometry_close(o);
        difference(f.T_world_frame, truth + 16 * which, &metres, &degrees);
        found += f.good && metres < 0.1 && degrees < 0.5;
        sum += took;
        slowest = fmax(slowest, took);
    }
    if (places > 0 && bench_right(found == places, name_of(MAPPED, ", places found"), cuda ? "CUDA" : "pcgpu")) {
        bench_row(name_of(MAPPED, ", start"), cuda ? "CUDA" : "pcgpu", 1e3 * sum / places, "ms");
        bench_row(name_of(MAPPED, ", slowest start"), cuda ? "CUDA" : "pcgpu", 1e3 * slowest, "ms");
    }
}

static void run_all(pcgpu_context *context, bool cuda, const pcgpu_odometry_params *params) {
    if (map.rows > 0) {
        run(context, cuda, *params, MAPPED);
        find_starts(context, cuda, *params, (int)bench_number("--places", 50));
        return;
    }
    for (int r = 0; r < REFERENCES; r++) {
        if (strcmp(bench_word("--reference", names[r]), names[r]) == 0) {
            run(context, cuda, *params, r);
        }
    }
}

int main(int argc, char **argv) {
    const bool cuda = bench_begin(
        argc, argv, " --scans --map --frames --threads --fields --reference --deskew --beams --places --name ");
    pcgpu_context *cpu = bench_open(PCGPU_DEVICE_CPU, (int)bench_number("--threads", 0));
    pcgpu_context *device = cuda ? bench_open(PCGPU_DEVICE_CUDA, 0) : NULL;
    const char *folder = bench_word("--scans", "."), *file = bench_word("--map", NULL);
    const pcgpu_read_options how = {.struct_size = sizeof(pcgpu_read_options),
                                    .fields = (int)bench_number("--fields", 4)};
    pcgpu_odometry_params params;
    pcgpu_odometry_params_init(&params);
    params.deskew = (pcgpu_deskew)bench_number("--deskew", params.deskew);
    params.registration.beam_correction = bench_number("--beams", params.registration.beam_correction);
    what = bench_word("--name", "odometry");
    for (int most = (int)bench_number("--frames", MOST); count < most && count < MOST; count++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%06d.bin", folder, count);
        if (pcgpu_read_file(cpu, path, &how, &clouds[count]) != PCGPU_OK) {
            break;
        }
        times[count] = 0.1 * count;
    }
    known = count > 1 && read_poses(folder);
    if (file) {
        bench_check(cpu, pcgpu_read_file(cpu, file, NULL, &map));
    }
    if (count < 2 || (file && !known)) {
        printf("skipped: no scans, or a map and no poses.txt, in %s\n", folder);
        return BENCH_SKIPPED;
    }
    run_all(cpu, false, &params);
    if (cuda) {
        run_all(device, true, &params);
    }
    for (int i = 0; i < count; i++) {
        pcgpu_cloud_free(&clouds[i]);
    }
    pcgpu_cloud_free(&map);
    pcgpu_close(cpu);
    pcgpu_close(device);
    return bench_end();
}
