/* A run of pcgpu bench: a process. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "reason.h"

/* From now on a signal that would end bench ends its run. */
void bench_catch_signals(void);

/* Runs this program with these words, of which NULL is the last. Its standard output and its messages go to files; a
 * run that fails, but for registrations that do not converge, prints its messages and is an error. */
bool bench_run(const char *const *words, const char *printed, const char *messages, double *seconds, reason *why);

#endif
