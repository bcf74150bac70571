/* What the tests of the back ends share: checks that count, clouds from a seed, contexts. One main: backends.c. */
#ifndef TEST_BACKENDS_H
#define TEST_BACKENDS_H

#include "backend.h"
#include "ndt_optimizer.h"
#include "pcgpu.h"
#include "random.h"
#include "simd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern test_random numbers; /* of the seed of the command line at first */

/* Counts a check; a false one is to be printed when this is true. */
bool check_fails(bool ok);
void expect(bool ok, const char *cloud, const char *label, const char *what, int64_t i);

#define CHECK(CONDITION, ...)                                                                                          \
    do {                                                                                                               \
        if (check_fails(CONDITION)) {                                                                                  \
            printf("FAILED: %s:%d: %s: ", __FILE__, __LINE__, #CONDITION);                                             \
            printf(__VA_ARGS__);                                                                                       \
            putchar('\n');                                                                                             \
        }                                                                                                              \
    } while (0)

typedef void fill_fn(int64_t i, float p[3]);
void fill_room(int64_t i, float p[3]);
void fill_line(int64_t i, float p[3]);

/* A cloud as x[], y[], z[], to be freed. */
float *make_columns(fill_fn *fill, int64_t n);

/* A box of voxels about such a cloud. */
pc_ndt_frame frame_about(const float *xyz, int64_t n, double edge);

/* Ends the program where there is no such device. */
pcgpu_context *open_context(pcgpu_device device, int threads, int simd_limit);

/* The back end in every form of it that a test runs. */
typedef struct platform {
    pcgpu_context *context;
    const pc_backend *backend;
    char label[32];
} platform;

extern platform platforms[16];
extern int platform_count;

/* CUDA, or the CPU with each of so many numbers of threads, and, where forms is set, with each form of vectors. */
void open_platforms(bool cuda, const int *threads, int count, bool forms);

/* What a registration by ndt comes to, byte for byte. */
bool same_optimizer(const pc_ndt_optimizer *a, const pc_ndt_optimizer *b);

/* Leaves what a registration reports of its run but for times and names. */
void forget_times(pcgpu_registration *r);

/* Metres and radians between two poses. */
double metres_between(const double a[16], const double b[16]);
double radians_between(const double a[16], const double b[16]);

/* The options are those after the seed; NULL ends them. */
typedef void backend_test(bool cuda, char **options);
backend_test test_icp, test_ndt, test_pairs, test_depth, test_odometry, test_odometry_depth, test_localize, test_model;
backend_test test_volume, test_surface;

#endif
