/* Runs of pcgpu bench: a process, its outputs, and what its --json says. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "reason.h"

#include <stddef.h>
#include <stdint.h>

enum { BENCH_STAGES = 16, BENCH_PATH = 4096 };

typedef struct bench_stage {
    char name[32];
    double seconds; /* of all inputs together */
} bench_stage;

typedef struct bench_run {
    double seconds; /* from the start of the process to its end */
    int inputs;
    int64_t points;
    char backend[16], device[128];
    int stage_count;
    bench_stage stages[BENCH_STAGES];
} bench_run;

/* Where a run writes. */
typedef struct bench_paths {
    char outputs[BENCH_PATH]; /* a folder */
    char model[BENCH_PATH];   /* a file in it */
    char json[BENCH_PATH], stdout_[BENCH_PATH], stderr_[BENCH_PATH];
} bench_paths;

/* From now on a signal that would end bench ends its run. */
void bench_catch_signals(void);

/* A temporary folder; it is removed with everything in it. */
bool bench_folder_make(char *folder, size_t size, reason *why);
void bench_folder_remove(const char *folder);

/* The paths of a variant. The second makes its folder for outputs again, empty. */
void bench_paths_make(const char *folder, const char *variant, bench_paths *paths);
bool bench_paths_clear(const bench_paths *paths, reason *why);
/* Runs this program with these words, of which NULL is the last; a run that fails, but for registrations that do not
 * converge, is an error. */
bool bench_run_words(const char *const *words, const bench_paths *paths, bench_run *run, reason *why);
/* Whether two runs wrote the same files and the same standard output. */
bool bench_same_outputs(const bench_paths *a, const bench_paths *b);

#endif
