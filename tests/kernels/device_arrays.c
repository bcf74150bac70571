/* Operations on arrays in the memory of a GPU against those on host arrays by the CPU, bit for bit:
 * device_arrays [--quick [few]] [SCAN.bin]; few: some registrations alone, for tools that are slow
 *
 * Clouds with NaN, infinities, points at the origin, duplicates; each call again from a CUDA graph; wrong arguments.
 * With a scan also the times of a call. Exit code 1: a difference; 77: no CUDA. */
#include "../support/context.h"
#include "../support/random.h"
#include "device_arrays.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int checks, failures;
static test_random numbers = {1};

uint32_t random_bits(void) {
    return (uint32_t)test_bits(&numbers);
}

float random_unit(void) {
    return test_float(&numbers);
}

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double host_us(const device_bed *bed, void (*work)(void *state), void *state) {
    double host = 0.0;
    for (int i = 0; i < REPEATS; i++) {
        const double begin = seconds_now();
        work(state);
        host += seconds_now() - begin;
        device_stream_wait(bed->stream);
    }
    return 1e6 * host / REPEATS;
}

void print_row(const char *what, const char *who, double value, const char *unit) {
    printf("row: %s; %s; %.5g %s\n", what, who, value, unit);
}

void expect(bool good, const char *what, int64_t a, int64_t b) {
    checks++;
    if (!good && failures++ < 20) {
        printf("FAIL: %s (%lld, %lld)\n", what, (long long)a, (long long)b);
    }
}

void fill_records(float *p, int64_t stride, int64_t rows, int kind) {
    for (int64_t i = 0; i < rows; i++) {
        float *at = p + i * stride;
        for (int64_t k = 0; k < stride; k++) {
            at[k] = kind == 1 ? floorf(random_unit() * 4.0f) : kind == 2 ? 1.5f : random_unit() * 20.0f - 10.0f;
        }
        if (kind >= 3 && random_bits() % 4 == 0) { /* unusable ones, and those at the origin */
            static const float odd[] = {0.0f, NAN, INFINITY, -INFINITY};
            const float value = odd[random_bits() % 4];
            at[0] = value;
            at[1] = value == 0.0f ? 0.0f : at[1];
            at[2] = value == 0.0f ? 0.0f : at[2];
        }
        if (kind == 5) {
            at[random_bits() % 3] = NAN;
        }
    }
}

int main(int argc, char **argv) {
    device_bed bed = {.quick = argc > 1 && strcmp(argv[1], "--quick") == 0};
    const char *path = argc > 1 && !bed.quick ? argv[1] : NULL;
    bed.cuda = test_open(PCGPU_DEVICE_CUDA, 0);
    bed.cpu = test_open(PCGPU_DEVICE_CPU, 0);
    bed.stream = device_stream_open();
    if (path) {
        pcgpu_cloud scan;
        const pcgpu_read_options options = {.struct_size = sizeof options, .fields = 4};
        if (pcgpu_read_file(bed.cpu, path, &options, &scan) != PCGPU_OK) {
            printf("FAIL: %s\n", pcgpu_last_error(bed.cpu));
            return 1;
        }
        scan.rows = MOST_ROWS && scan.rows > MOST_ROWS ? MOST_ROWS : scan.rows;
        time_device_sample(&bed, &scan);
        if (scan.rows < 500000) {
            time_device_neighbors(&bed, &scan);
        }
        time_device_voxelize(&bed, &scan);
        pcgpu_cloud_free(&scan);
    } else {
        check_device_register(&bed, argc > 2);
    }
    if (!path && argc < 3) {
        check_device_sample(&bed);
        check_device_filter(&bed);
        check_device_neighbors(&bed);
        check_device_voxelize(&bed);
    }
    device_stream_close(bed.stream);
    pcgpu_close(bed.cuda);
    pcgpu_close(bed.cpu);
    printf("device arrays: %d checks, %d failed\n", checks, failures);
    return failures ? 1 : 0;
}
