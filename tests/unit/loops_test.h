/* What the tests of loops share. */
#ifndef LOOPS_TEST_H
#define LOOPS_TEST_H

#include "unit.h"

typedef struct box {
    double low[3], high[3];
} box;

static double ray_to_box(const double o[3], const double d[3], const box *b) {
    double near = 0.0, far = 60.0;
    for (int k = 0; k < 3; k++) {
        const double t1 = (b->low[k] - o[k]) / d[k], t2 = (b->high[k] - o[k]) / d[k];
        near = fmax(near, fmin(t1, t2));
        far = fmin(far, fmax(t1, t2));
    }
    return near < far && near > 0.0 ? near : INFINITY;
}

static double off_by(const double *a, const double *b) {
    return sqrt((a[3] - b[3]) * (a[3] - b[3]) + (a[7] - b[7]) * (a[7] - b[7]) + (a[11] - b[11]) * (a[11] - b[11]));
}

#endif
