/* What the programs bench_* of the GPU share: contexts, medians, and the targets at the end of their output. */
#ifndef BENCH_H
#define BENCH_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_SKIPPED = 77 };

/* A context of the device; ends the program, with BENCH_SKIPPED where there is no CUDA. threads: 0 = all. */
pcgpu_context *bench_open(pcgpu_device device, int threads);

/* Takes argument *i when it is one that all of these programs have, --data DIR, --only NAME or --quick, and leaves *i
 * at its value; else returns false. */
bool bench_take(int argc, char **argv, int *i, const char **data, const char **only, bool *quick);

/* A scan of a generated street from the middle of its lane, by a spinning sensor with 64 beams and noise (tests/scene):
 * x y z intensity. Ends the program when memory does. */
void bench_scan(pcgpu_context *context, int64_t points, pcgpu_cloud *cloud);

/* Sorts the values. */
double bench_median(float *values, int count);

/* Keeps a line for the end. The value is to be `limit` at most, or, with at_least, at least; NAN was not measured. */
void bench_target(const char *what, double value, const char *unit, double limit, bool at_least);
void bench_print_targets(void);

#ifdef __cplusplus
}
#endif

#endif
