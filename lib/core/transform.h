/* Rigid transforms: 4 x 4 matrices, row by row, in float64. */
#ifndef PC_TRANSFORM_H
#define PC_TRANSFORM_H

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const double pc_identity[16];

/* out = a b and out = T^-1; out may be one of the arguments. */
void pc_transform_multiply(const double a[16], const double b[16], double out[16]);
void pc_transform_invert(const double T[16], double out[16]);
/* out = a^-1 b: the pose b in the frame of the pose a; out may be one of the arguments. */
void pc_transform_between(const double a[16], const double b[16], double out[16]);

/* T = (R, t). */
void pc_transform_compose(const double R[9], const double t[3], double T[16]);
/* Metres of the translation. */
static inline double pc_transform_length(const double T[16]) {
    return sqrt((T[3] * T[3] + T[7] * T[7]) + T[11] * T[11]);
}

/* out = T p; out is another array. */
static inline void pc_transform_apply(const double T[16], const double p[3], double out[3]) {
    for (int k = 0; k < 3; k++) {
        out[k] = ((T[4 * k] * p[0] + T[4 * k + 1] * p[1]) + T[4 * k + 2] * p[2]) + T[4 * k + 3];
    }
}

#ifdef __cplusplus
}
#endif
#endif
