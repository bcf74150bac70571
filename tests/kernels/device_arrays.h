/* What the files of device_arrays share. */
#ifndef DEVICE_ARRAYS_H
#define DEVICE_ARRAYS_H

#include "context.h"
#include "device_memory.h"
#include "pcgpu_device.h"

/* A context of each back end, and a stream of the GPU. */
typedef struct device_bed {
    pcgpu_context *cpu, *cuda;
    void *stream;
    bool quick;
} device_bed;

uint32_t random_bits(void);
float random_unit(void);
#ifdef DEVICE_EMULATED
enum { REPEATS = 1, FEW_REPEATS = 1, MOST_ROWS = 2000, MOST_COLUMNS = 16 };
#else
enum { REPEATS = 1000, FEW_REPEATS = 100, MOST_ROWS = 0, MOST_COLUMNS = 64 };
#endif
/* Microseconds of the host for a call, over REPEATS of them. */
double host_us(const device_bed *bed, void (*work)(void *state), void *state);
/* A row for tests/bench/targets.py: what, of which program, and the value. */
void print_row(const char *what, const char *who, double value, const char *unit);
void expect(bool good, const char *what, int64_t a, int64_t b);
/* Fills records. Kinds: random; on a lattice; all equal; with NaN, infinities and points at the origin; the same; no
 * usable point. */
enum { KINDS = 6 };
void fill_records(float *p, int64_t stride, int64_t rows, int kind);

/* device_sample.c, device_filter.c, ... Times of a scan: of the device from a
 * graph, of the host, and of the kernels of other libraries (plain.h), whose results are compared, too. */
void check_device_sample(const device_bed *bed);
void time_device_sample(const device_bed *bed, const pcgpu_cloud *scan);
void check_device_filter(const device_bed *bed);
void check_device_neighbors(const device_bed *bed);
void time_device_neighbors(const device_bed *bed, const pcgpu_cloud *scan);
void check_device_register(const device_bed *bed, bool few); /* few: for tools that are slow */
void check_device_voxelize(const device_bed *bed);
void time_device_voxelize(const device_bed *bed, const pcgpu_cloud *scan);

#endif
