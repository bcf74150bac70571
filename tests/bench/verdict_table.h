/* Tables of bench_verdict. */
#ifndef VERDICT_TABLE_H
#define VERDICT_TABLE_H

#include "verdict.h"

typedef struct verdict_row {
    bool taken, search;
    const char *place, *sensor;
    verdict_truth truth;
    pcgpu_status status;
    double step, error[2], score, fitness, agreement, free_space, rmse, seconds;
    double voxel, sigma[2], eigenvalues[6]; /* sigma: metres and degrees, as error */
    int64_t points[2];
    bool right, converged;
    bool open; /* converged when no score is asked */
    char reason[160];
} verdict_row;

/* False with a message. */
bool verdict_dump(const char *path, const verdict_row *rows, int count);
/* How many pairs of two places converged. */
int verdict_print(const verdict_row *rows, int count);

#endif
