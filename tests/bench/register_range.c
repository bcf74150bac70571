/* bench_register_range cpu|cuda [RUNS]: registration of scans by projective association, in memory and warm.
 *
 * Two consecutive KITTI scans of $PCGPU_DATA: medians in milliseconds of a frame (points to maps), of a registration of
 * two frames that are there, of both for a sequence, and of a pair from points to transform, beside the methods cells
 * and plane. Then how accurate it is: scans are split at random into halves without a common point, one of which is
 * moved by a known motion of 0.8 m and 2 degrees; median and largest error. On the CPU with one thread and with all; on
 * CUDA every transform is compared with the CPU's: exit code 1 when one differs, 77 without a device or data. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 1000, WARM = 2, HALVES = 3, MOST_ERRORS = 64 };

static const char *const scans[] = {"kitti/000000.bin",
                                    "kitti/000001.bin",
                                    "kitti00/velodyne/000000.bin",
                                    "kitti00/velodyne/000003.bin",
                                    "kitti00/velodyne/000014.bin",
                                    "kitti00/velodyne/000094.bin"};
enum { SCANS = sizeof scans / sizeof scans[0] };

typedef enum way { PROJECTIVE, CELLS, PLANE, WAYS } way;
static const char *const way_names[WAYS] = {"projective", "cells", "plane"};

static void die(pcgpu_context *context, const char *why) {
    fprintf(stderr, "bench_register_range: %s\n", context ? pcgpu_last_error(context) : why);
    exit(1);
}

static void read_scan(pcgpu_context *context, const char *name, pcgpu_cloud *cloud) {
    const char *data = getenv("PCGPU_DATA");
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", data ? data : ".", name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        printf("%s is not there; set PCGPU_DATA\n", path);
        exit(BENCH_SKIPPED);
    }
    if (pcgpu_read(context, file, path, NULL, cloud) != PCGPU_OK) {
        die(context, NULL);
    }
    fclose(file);
}

static void register_by(pcgpu_context *context, way which, const pcgpu_cloud *source, const pcgpu_cloud *target,
                        pcgpu_registration *r) {
    pcgpu_status status;
    if (which == PROJECTIVE) {
        pcgpu_range_image image;
        pcgpu_register_depth_params params;
        pcgpu_range_image_init(&image);
        pcgpu_register_range_params_init(&params);
        status = pcgpu_register_range(context, source, target, &image, &params, r);
    } else {
        pcgpu_register_params params;
        pcgpu_register_params_init(&params);
        params.method = which == CELLS ? PCGPU_REGISTER_CELLS : PCGPU_REGISTER_PLANE;
        status = pcgpu_register(context, source, target, &params, r);
    }
    if (status != PCGPU_OK) {
        die(context, NULL);
    }
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static double median_pair(pcgpu_context *context, way which, const pcgpu_cloud *a, const pcgpu_cloud *b, int runs) {
    static float took[MOST_RUNS];
    pcgpu_registration r;
    for (int i = -WARM; i < runs; i++) {
        const double begin = pc_now();
        register_by(context, which, a, b, &r);
        took[i < 0 ? 0 : i] = (float)(1e3 * (pc_now() - begin));
    }
    return bench_median(took, runs);
}

/* Frames that are made once each, as of a sequence; the back end has finished a frame when it has been registered. */
static void measure_frames(pcgpu_context *context, const pcgpu_cloud *scan, int runs, double *both, double *alone) {
    static float took[MOST_RUNS], registered[MOST_RUNS];
    pcgpu_range_image image;
    pcgpu_register_depth_params params;
    pcgpu_registration r;
    pcgpu_frame *last = NULL, *next = NULL;
    pcgpu_range_image_init(&image);
    pcgpu_register_range_params_init(&params);
    for (int i = -WARM; i < runs; i++) {
        const double begin = pc_now();
        if (pcgpu_frame_create_range(context, &scan[i & 1], &image, &params, &next) != PCGPU_OK ||
            (last && pcgpu_register_frames(context, next, last, &params, &r) != PCGPU_OK)) {
            die(context, NULL);
        }
        took[i < 0 ? 0 : i] = (float)(1e3 * (pc_now() - begin));
        const double again = pc_now();
        if (last && pcgpu_register_frames(context, next, last, &params, &r) != PCGPU_OK) {
            die(context, NULL);
        }
        registered[i < 0 ? 0 : i] = (float)(1e3 * (pc_now() - again));
        pcgpu_frame_free(context, last);
        last = next;
    }
    pcgpu_frame_free(context, last);
    *both = bench_median(took, runs);
    *alone = bench_median(registered, runs);
}

static void measure_time(pcgpu_context *context, const char *label, const pcgpu_cloud *scan, int runs) {
    double both, alone;
    measure_frames(context, scan, runs, &both, &alone);
    printf("| %s | %.2f | %.2f | %.0f |", label, both - alone, alone, 1e3 / both);
    for (way w = PROJECTIVE; w < WAYS; w++) {
        printf(" %.2f |", median_pair(context, w, &scan[1], &scan[0], w == PLANE ? runs / 4 + 1 : runs));
    }
    printf("\n");
}

/* ---- accuracy ---------------------------------------------------------------------------------------------------- */

static uint64_t state = 1;

static double random_unit(void) {
    state += 0x9E3779B97F4A7C15ull;
    return (double)(pc_hash64(state) >> 11) * 0x1p-53;
}

/* A motion of 0.8 m and 2 degrees, mostly level and about z: a unit quaternion and a translation as a matrix. */
static void random_motion(double T[16]) {
    double axis[3], shift[3], length = 0.0, way_length = 0.0;
    for (int k = 0; k < 3; k++) {
        axis[k] = (random_unit() - 0.5) * (k == 2 ? 1.0 : 0.3);
        shift[k] = (random_unit() - 0.5) * (k == 2 ? 0.1 : 1.0);
        length += axis[k] * axis[k];
        way_length += shift[k] * shift[k];
    }
    const double s = sin(0.0174533) / sqrt(length), w = cos(0.0174533); /* of half the angle */
    const double x = s * axis[0], y = s * axis[1], z = s * axis[2], metres = 0.8 / sqrt(way_length);
    const double R[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                         2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                         2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    for (int k = 0; k < 3; k++) {
        memcpy(T + 4 * k, R + 3 * k, 3 * sizeof *T);
        T[4 * k + 3] = metres * shift[k];
        T[12 + k] = 0.0;
    }
    T[15] = 1.0;
}

/* Halves of a scan, the first moved so that T leads back to the second. */
static void split(const pcgpu_cloud *scan, const double T[16], pcgpu_cloud half[2]) {
    half[0].rows = half[1].rows = 0;
    for (int64_t i = 0; i < scan->rows; i++) {
        const float *from = scan->data + i * scan->columns;
        pcgpu_cloud *to = &half[random_unit() < 0.5];
        float *record = to->data + 3 * to->rows++;
        for (int k = 0; k < 3; k++) {
            const double d[3] = {from[0] - T[3], from[1] - T[7], from[2] - T[11]};
            record[k] = to == half ? (float)(T[k] * d[0] + T[4 + k] * d[1] + T[8 + k] * d[2]) : from[k];
        }
    }
}

/* Of the translation in mm and of the rotation in degrees: the sine of the angle between the two. */
static void error_of(const double *got, const double *truth, float *mm, float *degrees) {
    double t2 = 0.0, r2 = 0.0;
    for (int i = 0; i < 3; i++) {
        t2 += (got[4 * i + 3] - truth[4 * i + 3]) * (got[4 * i + 3] - truth[4 * i + 3]);
        for (int j = 0; j < 3; j++) {
            r2 += (got[4 * i + j] - truth[4 * i + j]) * (got[4 * i + j] - truth[4 * i + j]);
        }
    }
    *mm = (float)(1e3 * sqrt(t2));
    *degrees = (float)(57.29577951308232 * sqrt(r2 / 2.0)); /* |R - R'| is 2 sqrt(2) sin(angle / 2) */
}

static void measure_accuracy(pcgpu_context *context) {
    static float mm[WAYS][MOST_ERRORS], degrees[WAYS][MOST_ERRORS];
    int n = 0, converged[WAYS] = {0};
    for (int s = 0; s < SCANS; s++) {
        pcgpu_cloud scan, half[2] = {{.columns = 3}, {.columns = 3}};
        read_scan(context, scans[s], &scan);
        for (int k = 0; k < 2; k++) {
            half[k].data = malloc((size_t)scan.rows * 3 * sizeof(float));
            if (!half[k].data) {
                die(NULL, "out of memory");
            }
        }
        for (int i = 0; i < HALVES; i++, n++) {
            double T[16];
            pcgpu_registration r;
            random_motion(T);
            split(&scan, T, half);
            for (way w = PROJECTIVE; w < WAYS; w++) {
                register_by(context, w, &half[0], &half[1], &r);
                error_of(r.T_target_source, T, &mm[w][n], &degrees[w][n]);
                converged[w] += r.converged;
            }
        }
        free(half[0].data);
        free(half[1].data);
        pcgpu_cloud_free(&scan);
    }
    printf("\n| halves of scans | converged | median mm | degree | largest mm | degree |\n|---|---|---|---|---|---|\n");
    for (way w = PROJECTIVE; w < WAYS; w++) {
        const double middle = bench_median(mm[w], n), turn = bench_median(degrees[w], n); /* which sort */
        printf("| %s | %d of %d | %.2f | %.4f | %.2f | %.4f |\n", way_names[w], converged[w], n, middle, turn,
               (double)mm[w][n - 1], (double)degrees[w][n - 1]);
    }
}

static int compare(pcgpu_context *context, pcgpu_context *cpu, const pcgpu_cloud *scan) {
    pcgpu_registration a, b;
    register_by(context, PROJECTIVE, &scan[1], &scan[0], &a);
    register_by(cpu, PROJECTIVE, &scan[1], &scan[0], &b);
    const bool same = memcmp(a.T_target_source, b.T_target_source, sizeof a.T_target_source) == 0;
    printf("\nCUDA's transform %s the CPU's\n", same ? "is" : "is not");
    return same ? 0 : 1;
}

int main(int argc, char **argv) {
    const bool cuda = argc > 1 && strcmp(argv[1], "cuda") == 0;
    const int runs = argc > 2 ? atoi(argv[2]) : 20;
    if (argc < 2 || (!cuda && strcmp(argv[1], "cpu") != 0) || runs < 1 || runs > MOST_RUNS) {
        fprintf(stderr, "usage: bench_register_range cpu|cuda [RUNS up to %d]\n", MOST_RUNS);
        return 2;
    }
    pcgpu_context *context = bench_open(cuda ? PCGPU_DEVICE_CUDA : PCGPU_DEVICE_CPU, cuda ? 0 : 1);
    pcgpu_context *all = bench_open(PCGPU_DEVICE_CPU, 0);
    pcgpu_cloud scan[2];
    int code = 0;
    read_scan(context, scans[2], &scan[0]);
    read_scan(context, "kitti00/velodyne/000001.bin", &scan[1]);
    printf("| ms, medians of %d | frame | registration | frames a second | pair, projective | cells | plane |\n"
           "|---|---|---|---|---|---|---|\n",
           runs);
    measure_time(context, cuda ? "CUDA" : "1 thread", scan, runs);
    if (cuda) {
        code = compare(context, all, scan);
    } else {
        measure_time(all, "all threads", scan, runs);
    }
    measure_accuracy(cuda ? context : all);
    pcgpu_cloud_free(&scan[0]);
    pcgpu_cloud_free(&scan[1]);
    pcgpu_close(all);
    pcgpu_close(context);
    return code;
}
