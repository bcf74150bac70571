/* bench_sample: ways of farthest point sampling on the GPU side by side in one run. sample.c says which clouds and
 * prints the tables, sample_measure.c runs the programs and compares what they pick. */
#ifndef SAMPLE_BENCH_H
#define SAMPLE_BENCH_H

#include "bench.h"
#include "kernels.h"
#include "scan.h"

enum { REFERENCE, CLUSTER, GRID, GRID_STORED, CHOSEN, CPU, PROGRAMS };

typedef struct bench {
    pcgpu_context *cuda, *cpu; /* the CPU's has one thread */
    bool quick;
    const char *only, *data;
    int cells, failures;
} bench;

/* Clouds of the same number of points, sampled together. */
typedef struct batch {
    const char *name;
    int count;
    pc_points *clouds;
} batch;

/* Milliseconds of each program, NAN where it did not run, and for how many picks the reference ran. */
typedef struct cell {
    int64_t n, picks, reference_picks;
    int clouds;
    double ms[PROGRAMS];
} cell;

extern const char *const program_names[PROGRAMS];

/* Runs every program that can; a difference or a failure is printed and counted. */
cell measure(bench *b, const batch *of, int64_t picks);
/* How many times as long the program takes for a pick as the form that is chosen. */
double times_chosen(const cell *c, int program);

#endif
