/* What the programs bench_* share: options, contexts, measuring, and rows. A program is `bench_NAME cpu|cuda [--OPTION
 * VALUE]...`; each checks a result before it prints a time, and ends with 1 when one is wrong, with 77 where there is
 * no CUDA. targets.py reads the rows. */
#ifndef BENCH_H
#define BENCH_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { BENCH_SKIPPED = 77, BENCH_MOST_RUNS = 1000 };

/* names: the options that the program has, each with spaces around it. Ends the program on others. True: cuda. */
bool bench_begin(int argc, char **argv, const char *names);
/* The value of an option, else the other one; --data without one is $PCGPU_DATA. */
const char *bench_word(const char *name, const char *other);
double bench_number(const char *name, double other);
/* Whether --only is a part of a name, or is not given. */
bool bench_wants(const char *name);

/* A context of the device; ends the program where there is none. threads: 0 = all. */
pcgpu_context *bench_open(pcgpu_device device, int threads);
/* Ends the program with the context's message when a call failed. */
void bench_check(const pcgpu_context *context, pcgpu_status status);
/* A file under the data's folder; false, and says so, when it is not there. */
bool bench_read(pcgpu_context *context, const char *name, int fields, pcgpu_cloud *cloud);
/* A scan of a generated street from the middle of its lane, by a spinning sensor with 64 beams and noise (tests/scene):
 * x y z intensity. */
void bench_scan(pcgpu_context *context, int64_t points, pcgpu_cloud *cloud);

typedef struct bench_times {
    double least, median; /* milliseconds */
    int runs;
} bench_times;

/* Times calls after `warm` ones: `runs` at least, and more until `seconds` have passed. */
bench_times bench_time(void (*call)(void *state), void *state, int warm, int runs, double seconds);
double bench_median(float *values, int count); /* sorts them */

/* Prints what was measured, of which program or form, and the value. NAN prints nothing. */
void bench_row(const char *what, const char *who, double value, const char *unit);
/* Prints and counts a result that is not right; true when it is. */
bool bench_right(bool right, const char *what, const char *who);
/* The exit code: 0, or 1 with a wrong result or without any row. */
int bench_end(void);

#ifdef __cplusplus
}
#endif

#endif
