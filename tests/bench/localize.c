/* Localization in a map: bench_localize [--cuda] MAP FOLDER [FRAMES] [THREADS] [PLACES] [NAME=VALUE]...
 *
 * MAP is a cloud; FOLDER holds 000000.bin, 000001.bin, ..., and poses.txt (KITTI lines, in the map's coordinates).
 * Everything is read first, so that times are those of localization alone, from points in the host's memory. Prints the
 * speed and the absolute errors of tracking from the first pose; then, for PLACES scans (50), evenly spread, how many
 * are found anywhere in the map, within 0.1 m and 0.5 degree, and how long that takes. NAME is range, voxel, levels or
 * deskew.
 *
 * --cuda: the same on CUDA, with all threads of the host, after it on the CPU, whose poses it must give to the last
 * bit; exit code 1 when it does not, 77 without such a device. */
#include "bench_drive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = BENCH_MOST_SCANS };

#define FOUND_METRES  0.1
#define FOUND_DEGREES 0.5

static pcgpu_cloud map, clouds[MOST];
static double truth[16 * MOST], estimate[16 * MOST], expected[16 * MOST];

/* Metres and degrees between two poses. */
static void difference(const double *T, const double *U, double *metres, double *degrees) {
    double t[3], R[9], axis[3];
    for (int k = 0; k < 3; k++) {
        t[k] = T[4 * k + 3] - U[4 * k + 3];
        for (int i = 0; i < 3; i++) {
            R[3 * i + k] = (U[i] * T[k] + U[4 + i] * T[4 + k]) + U[8 + i] * T[8 + k];
        }
    }
    axis[0] = R[7] - R[5], axis[1] = R[2] - R[6], axis[2] = R[3] - R[1];
    *metres = sqrt((t[0] * t[0] + t[1] * t[1]) + t[2] * t[2]);
    *degrees = 57.29577951308232 *
               atan2(sqrt((axis[0] * axis[0] + axis[1] * axis[1]) + axis[2] * axis[2]), R[0] + R[4] + R[8] - 1.0);
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_errors(int count) {
    static double metres[MOST], degrees[MOST];
    double mean[2] = {0};
    int n = 0;
    for (int i = 0; i < count; i++) {
        if (estimate[16 * i] == estimate[16 * i]) {
            difference(estimate + 16 * i, truth + 16 * i, &metres[n], &degrees[n]);
            mean[0] += metres[n];
            mean[1] += degrees[n++];
        }
    }
    if (n > 0) {
        qsort(metres, (size_t)n, sizeof *metres, ascending);
        qsort(degrees, (size_t)n, sizeof *degrees, ascending);
        printf("; errors: mean %.2f mm %.4f deg, 95 %% %.2f mm %.4f deg, most %.2f mm %.4f deg", 1e3 * mean[0] / n,
               mean[1] / n, 1e3 * metres[n * 95 / 100], degrees[n * 95 / 100], 1e3 * metres[n - 1], degrees[n - 1]);
    }
}

static bool fail(pcgpu_context *context, pcgpu_odometry *o) {
    printf("FAILED: %s\n", pcgpu_last_error(context));
    pcgpu_odometry_close(o);
    return false;
}

static bool track(pcgpu_context *context, pcgpu_odometry_params params, int count) {
    enum { WARM = 3 }; /* the first scans are not counted */
    pcgpu_odometry *o = NULL;
    pcgpu_odometry_frame f = {0};
    double seconds = 0.0, processor = 0.0, slowest = 0.0, begin = bench_seconds(CLOCK_MONOTONIC);
    int lost = 0;
    params.registration.search = PCGPU_SEARCH_RESCUE;
    memcpy(params.registration.init, truth, 16 * sizeof *truth);
    if (pcgpu_odometry_open_map(context, &params, &map, &o) != PCGPU_OK) {
        return fail(context, o);
    }
    printf("%lld points, loaded in %.0f ms\n", (long long)map.rows, 1e3 * (bench_seconds(CLOCK_MONOTONIC) - begin));
    for (int i = 0; i < count; i++) {
        const double cpu = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
        begin = bench_seconds(CLOCK_MONOTONIC);
        if (pcgpu_odometry_add(o, &clouds[i], 0.1 * i, &f) != PCGPU_OK) {
            return fail(context, o);
        }
        const double took = bench_seconds(CLOCK_MONOTONIC) - begin;
        if (i >= WARM) {
            seconds += took;
            processor += bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
            slowest = took > slowest ? took : slowest;
        }
        lost += !f.good;
        memcpy(estimate + 16 * i, f.T_world_frame, sizeof f.T_world_frame);
    }
    pcgpu_odometry_close(o);
    printf("%-4s tracking: %.3f ms per scan (slowest %.1f), %.3f of processors, %.1f scans/s, %d of %d lost",
           f.registration.run.backend, 1e3 * seconds / (count - WARM), 1e3 * slowest, 1e3 * processor / (count - WARM),
           (count - WARM) / seconds, lost, count);
    print_errors(count);
    printf("\n");
    return true;
}

/* Each place is the first of a sequence of its own. */
static bool find_starts(pcgpu_context *context, pcgpu_odometry_params params, int count, int places) {
    pcgpu_odometry_frame f = {0};
    double slowest = 0.0, sum = 0.0, processor = 0.0;
    int found = 0, wrong = 0, attempts = 0;
    params.registration.search = PCGPU_SEARCH_ALWAYS;
    for (int i = 0; i < places; i++) {
        const int which = (int)((int64_t)i * count / places);
        pcgpu_odometry *o = NULL;
        double metres, degrees;
        if (pcgpu_odometry_open_map(context, &params, &map, &o) != PCGPU_OK) {
            return fail(context, o);
        }
        const double begin = bench_seconds(CLOCK_MONOTONIC), cpu = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
        if (pcgpu_odometry_add(o, &clouds[which], 0.0, &f) != PCGPU_OK) {
            return fail(context, o);
        }
        const double took = bench_seconds(CLOCK_MONOTONIC) - begin,
                     used = bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        pcgpu_odometry_close(o);
        difference(f.T_world_frame, truth + 16 * which, &metres, &degrees);
        const bool good = f.good && metres < FOUND_METRES && degrees < FOUND_DEGREES;
        found += good;
        wrong += f.good && !good;
        sum += took;
        processor += used;
        slowest = used > slowest ? used : slowest;
        attempts += f.attempts;
        if (!good) {
            printf("scan %d: %s, score %.3f, %.2f m %.1f deg off, %d attempts\n", which, f.good ? "wrong" : "lost",
                   f.registration.score, metres, degrees, f.attempts);
        }
    }
    printf("%-4s starts: %d of %d found, %d wrong; mean %.1f ms, of processors %.1f ms and at most %.1f "
           "ms; %d attempts\n",
           f.registration.run.backend, found, places, wrong, 1e3 * sum / places, 1e3 * processor / places,
           1e3 * slowest, attempts);
    return true;
}

static void take_parameter(const char *text, pcgpu_odometry_params *params) {
    const char *value = strchr(text, '=');
    const double number = value ? atof(value + 1) : 0.0;
    switch (text[0]) {
    case 'r': params->model_range = number; break;
    case 'v': params->registration.voxel = number; break;
    case 'l': params->registration.levels = (int)number; break;
    case 'd': params->deskew = (pcgpu_deskew)number; break;
    default: break;
    }
}

int main(int argc, char **argv) {
    pcgpu_context *context, *device = NULL;
    pcgpu_settings settings;
    pcgpu_odometry_params params;
    pcgpu_settings_init(&settings);
    pcgpu_odometry_params_init(&params);
    const bool cuda = argc > 1 && strcmp(argv[1], "--cuda") == 0;
    argc -= cuda;
    argv += cuda;
    settings.device = PCGPU_DEVICE_CPU;
    settings.threads = argc > 4 ? atoi(argv[4]) : 0;
    if (argc < 3 || pcgpu_open(&settings, &context) != PCGPU_OK) {
        fprintf(stderr, "usage: bench_localize [--cuda] MAP FOLDER [FRAMES] [THREADS] [PLACES] [NAME=VALUE]...\n");
        return 2;
    }
    settings.device = PCGPU_DEVICE_CUDA;
    settings.threads = 0;
    if (cuda && pcgpu_open(&settings, &device) != PCGPU_OK) {
        printf("skipped: %s\n", pcgpu_last_error(device));
        return 77;
    }
    const int places = argc > 5 ? atoi(argv[5]) : 50;
    for (int i = 6; i < argc; i++) {
        take_parameter(argv[i], &params);
    }
    const int count =
        bench_read_scans(context, argv[2], argc > 3 ? atoi(argv[3]) : MOST, params.deskew ? 5 : 4, clouds);
    if (count < 4 || !bench_read_poses(argv[2], count, truth) ||
        pcgpu_read_file(context, argv[1], NULL, &map) != PCGPU_OK) {
        printf("skipped: no map %s, or no scans with poses.txt in %s\n", argv[1], argv[2]);
        return 77;
    }
    bool good = track(context, params, count) && (places == 0 || find_starts(context, params, count, places));
    memcpy(expected, estimate, sizeof expected);
    if (cuda && good) {
        good = track(device, params, count) && (places == 0 || find_starts(device, params, count, places));
        const bool same = memcmp(expected, estimate, (size_t)count * 16 * sizeof *estimate) == 0;
        printf(same ? "the poses of CUDA are those of the CPU\n"
                    : "FAILED: the poses of CUDA are not those of the CPU\n");
        good = good && same;
    }
    for (int i = 0; i < count; i++) {
        pcgpu_cloud_free(&clouds[i]);
    }
    pcgpu_cloud_free(&map);
    pcgpu_close(context);
    pcgpu_close(device);
    return good ? 0 : 1;
}
