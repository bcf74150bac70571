/* Products and inverses of rigid transforms, in other code than the library's. */
#ifndef TRANSFORM_TEST_H
#define TRANSFORM_TEST_H

#include <string.h>

static void multiply(const double *a, const double *b, double *out) {
    double r[16] = {0};
    for (int i = 0; i < 16; i++) {
        for (int k = 0; k < 4; k++) {
            r[i] += a[i / 4 * 4 + k] * b[4 * k + i % 4];
        }
    }
    memcpy(out, r, sizeof r);
}

static void invert(const double *T, double *out) {
    double r[16] = {T[0], T[4], T[8], 0, T[1], T[5], T[9], 0, T[2], T[6], T[10], 0, 0, 0, 0, 1};
    for (int i = 0; i < 3; i++) {
        r[4 * i + 3] = -(r[4 * i] * T[3] + r[4 * i + 1] * T[7] + r[4 * i + 2] * T[11]);
    }
    memcpy(out, r, sizeof r);
}

#endif
