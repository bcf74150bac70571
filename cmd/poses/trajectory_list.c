/* Poses in memory. */
#include "trajectory.h"

#include <stdlib.h>
#include <string.h>

bool trajectory_append(trajectory *t, const double T[16], double time, int64_t line) {
    if (t->count == t->capacity) {
        const int64_t more = t->capacity ? 2 * t->capacity : 256;
        double *poses = realloc(t->poses, (size_t)more * 16 * sizeof *poses);
        t->poses = poses ? poses : t->poses;
        double *times = realloc(t->times, (size_t)more * sizeof *times);
        t->times = times ? times : t->times;
        int64_t *lines = realloc(t->lines, (size_t)more * sizeof *lines);
        t->lines = lines ? lines : t->lines;
        if (!poses || !times || !lines) {
            return false;
        }
        t->capacity = more;
    }
    memcpy(t->poses + 16 * t->count, T, 16 * sizeof *T);
    t->times[t->count] = time;
    t->lines[t->count++] = line;
    return true;
}

void trajectory_free(trajectory *t) {
    free(t->poses);
    free(t->times);
    free(t->lines);
    *t = (trajectory){0};
}
