/* Rigid transforms. */
#include "transform.h"

#include <string.h>

const double pc_identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};

void pc_transform_multiply(const double a[16], const double b[16], double out[16]) {
    double T[16] = {[15] = 1.0};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++) {
            T[4 * i + k] =
                ((a[4 * i] * b[k] + a[4 * i + 1] * b[4 + k]) + a[4 * i + 2] * b[8 + k]) + (k == 3 ? a[4 * i + 3] : 0.0);
        }
    }
    memcpy(out, T, sizeof T);
}

void pc_transform_invert(const double T[16], double out[16]) {
    double inverse[16] = {[15] = 1.0};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            inverse[4 * i + k] = T[4 * k + i];
        }
        inverse[4 * i + 3] = -((T[i] * T[3] + T[4 + i] * T[7]) + T[8 + i] * T[11]);
    }
    memcpy(out, inverse, sizeof inverse);
}

void pc_transform_compose(const double R[9], const double t[3], double T[16]) {
    for (int k = 0; k < 3; k++) {
        memcpy(T + 4 * k, R + 3 * k, 3 * sizeof *T);
        T[4 * k + 3] = t[k];
    }
    T[12] = T[13] = T[14] = 0.0;
    T[15] = 1.0;
}

void pc_transform_between(const double a[16], const double b[16], double out[16]) {
    double inverse[16];
    pc_transform_invert(a, inverse);
    pc_transform_multiply(inverse, b, out);
}
