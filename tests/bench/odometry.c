/* Odometry of a folder of scans, by each reference: bench_odometry [--cuda] FOLDER [FRAMES] [THREADS] [REFERENCE]
 * [NAME=VALUE]...
 *
 * FOLDER holds 000000.bin, 000001.bin, ..., and poses.txt (KITTI lines, of the sensor) where the truth is known. The
 * scans are read first, so that the time is that of the odometry alone, from points in the host's memory. Prints a line
 * a reference: milliseconds a scan, scans a second, lost scans and, with the truth, the errors; and a hash of the
 * poses. NAME is range, points, voxel, levels, deskew, beams (degrees of their correction) or fields.
 *
 * --cuda: the same on CUDA after it on the CPU, whose poses it must give to the last bit; exit code 1 when it does not,
 * 77 without such a device. */
#include "bench_drive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = BENCH_MOST_SCANS };

static pcgpu_cloud clouds[MOST];
static double truth[16 * MOST], estimate[16 * MOST], times[MOST];
static double expected[3][16 * MOST]; /* the CPU's estimates by reference */

/* FNV-1a of the poses' bytes. */
static unsigned long long hash_of(const double *poses, int count) {
    const unsigned char *bytes = (const unsigned char *)poses;
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < (size_t)count * 16 * sizeof *poses; i++) {
        hash = (hash ^ bytes[i]) * 0x100000001B3u;
    }
    return hash;
}

static const char *const names[] = {"previous", "keyframe", "model"};

/* False when it failed. */
static bool run(pcgpu_context *context, const pcgpu_odometry_params *params, int count, bool known) {
    pcgpu_odometry *o;
    pcgpu_odometry_frame f = {0};
    int lost = 0, attempts = 0, iterations = 0;
    double seconds = 0.0, processor = 0.0, slowest = 0.0, reference = 0.0, iterate = 0.0;
    if (pcgpu_odometry_open(context, params, &o) != PCGPU_OK) {
        printf("%s: %s\n", names[params->reference], pcgpu_last_error(context));
        return false;
    }
    for (int i = 0; i < count; i++) {
        times[i] = 0.1 * i;
        double begin = bench_seconds(CLOCK_MONOTONIC), cpu = bench_seconds(CLOCK_PROCESS_CPUTIME_ID);
        if (pcgpu_odometry_add(o, &clouds[i], times[i], &f) != PCGPU_OK) {
            printf("%s: %s\n", names[params->reference], pcgpu_last_error(context));
            pcgpu_odometry_close(o);
            return false;
        }
        double took = bench_seconds(CLOCK_MONOTONIC) - begin;
        processor += bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        seconds += took;
        slowest = took > slowest ? took : slowest;
        lost += !f.good;
        attempts += f.attempts;
        iterations += f.registration.iterations;
        for (int k = 0; k < f.registration.run.stages; k++) {
            const char *stage = f.registration.run.stage[k].name;
            reference += strcmp(stage, "reference") == 0 ? f.registration.run.stage[k].seconds : 0.0;
            iterate += strcmp(stage, "iterate") == 0 ? f.registration.run.stage[k].seconds : 0.0;
        }
        memcpy(estimate + 16 * i, f.T_world_frame, sizeof f.T_world_frame);
    }
    pcgpu_odometry_close(o);
    printf("%-4s %-9s %6.2f ms, %.2f of processors (iterate %.2f, reference %.2f; %.1f iterations, slowest %.1f ms), "
           "%6.1f "
           "scans/s, %d of %d lost, "
           "%d attempts",
           f.registration.run.backend, names[params->reference], 1e3 * seconds / count, 1e3 * processor / count,
           1e3 * iterate / count, 1e3 * reference / count, (double)iterations / count, 1e3 * slowest, count / seconds,
           lost, count, attempts);
    pcgpu_evaluation e;
    if (known && pcgpu_trajectory_evaluate(context, estimate, truth, times, count, &e) == PCGPU_OK) {
        const double *T = estimate + 16 * (count - 1), *U = truth + 16 * (count - 1);
        double end =
            sqrt((T[3] - U[3]) * (T[3] - U[3]) + (T[7] - U[7]) * (T[7] - U[7]) + (T[11] - U[11]) * (T[11] - U[11]));
        printf(
            "; %.0f m: ATE %.2f mm, a scan %.2f mm %.4f deg, 100 m and more %.4f %% %.4f deg/100m, end %.1f mm = %.4f "
            "%%",
            e.length, 1e3 * e.ate_rmse, 1e3 * e.rpe_translation, e.rpe_rotation * 57.29578, 100 * e.segment_translation,
            5729.578 * e.segment_rotation, 1e3 * end, 100 * end / e.length);
    }
    printf("; poses %016llx\n", hash_of(estimate, count));
    return true;
}

/* The references that are asked for on one back end; false when one failed, or CUDA's poses are not the CPU's. A first
 * run of a few scans is not counted: it starts threads and the device. */
static bool run_all(pcgpu_context *context, bool cuda, const char *only, pcgpu_odometry_params *params, int count,
                    bool known) {
    enum { WARM = 4 };
    bool good = true;
    for (int r = 0; r < 3; r++) {
        if (only && strcmp(only, names[r]) != 0) {
            continue;
        }
        params->reference = (pcgpu_reference)r;
        pcgpu_odometry *warm = NULL;
        if (pcgpu_odometry_open(context, params, &warm) == PCGPU_OK) {
            for (int i = 0; i < count && i < WARM; i++) {
                pcgpu_odometry_frame f;
                pcgpu_odometry_add(warm, &clouds[i], i, &f);
            }
        }
        pcgpu_odometry_close(warm);
        good = run(context, params, count, known) && good;
        const size_t bytes = (size_t)count * 16 * sizeof *estimate;
        if (!cuda) {
            memcpy(expected[r], estimate, bytes);
        } else if (memcmp(expected[r], estimate, bytes) != 0) {
            printf("FAILED: %s: the poses are not those of the CPU\n", names[r]);
            good = false;
        }
    }
    return good;
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
    settings.threads = argc > 3 ? atoi(argv[3]) : 0;
    if (argc < 2 || pcgpu_open(&settings, &context) != PCGPU_OK) {
        fprintf(stderr, "usage: bench_odometry [--cuda] FOLDER [FRAMES] [THREADS] [REFERENCE] [NAME=VALUE]...\n");
        return 2;
    }
    settings.device = PCGPU_DEVICE_CUDA;
    if (cuda && pcgpu_open(&settings, &device) != PCGPU_OK) {
        printf("skipped: %s\n", pcgpu_last_error(device));
        pcgpu_close(device);
        pcgpu_close(context);
        return 77;
    }
    const char *only = argc > 4 && strcmp(argv[4], "all") != 0 ? argv[4] : NULL;
    int fields = 0;
    for (int i = 5; i < argc; i++) {
        const char *value = strchr(argv[i], '=');
        double number = value ? atof(value + 1) : 0.0;
        switch (argv[i][0]) {
        case 'r': params.model_range = number; break;
        case 'p': params.model_points = (int64_t)number; break;
        case 'v': params.registration.voxel = number; break;
        case 'l': params.registration.levels = (int)number; break;
        case 'f': fields = (int)number; break;
        case 'b': params.registration.beam_correction = number; break;
        case 'd': params.deskew = (pcgpu_deskew)number; break;
        default: break;
        }
    }
    const int columns = fields ? fields : params.deskew == PCGPU_DESKEW_TIME ? 5 : 4;
    int count = bench_read_scans(context, argv[1], argc > 2 ? atoi(argv[2]) : MOST, columns, clouds);
    bool known = count > 1 && bench_read_poses(argv[1], count, truth);
    bool good = count == 0 || run_all(context, false, only, &params, count, known);
    if (cuda && count > 0) {
        good = run_all(device, true, only, &params, count, known) && good;
    }
    for (int i = 0; i < count; i++) {
        pcgpu_cloud_free(&clouds[i]);
    }
    pcgpu_close(context);
    pcgpu_close(device);
    if (count == 0) {
        fprintf(stderr, "bench_odometry: no scan could be read in %s\n", argv[1]);
        return 1;
    }
    return good ? 0 : 1;
}
