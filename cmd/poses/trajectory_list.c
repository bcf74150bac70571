/* Poses in memory. */
#include "trajectory.h"
#include "heap.h"

#include <stdlib.h>
#include <string.h>

void trajectory_append(trajectory *t, const double T[16], double time, int64_t line) {
    t->poses = heap_grow(t->poses, (size_t)t->count, 16 * sizeof *t->poses);
    t->times = heap_grow(t->times, (size_t)t->count, sizeof *t->times);
    t->lines = heap_grow(t->lines, (size_t)t->count, sizeof *t->lines);
    memcpy(t->poses + 16 * t->count, T, 16 * sizeof *T);
    t->times[t->count] = time;
    t->lines[t->count++] = line;
}

void trajectory_free(trajectory *t) {
    free(t->poses);
    free(t->times);
    free(t->lines);
    *t = (trajectory){0};
}
