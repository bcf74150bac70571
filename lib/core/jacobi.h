/* Eigenvectors of a symmetric matrix by Jacobi's method, the same on both back ends. */
#ifndef PC_JACOBI_H
#define PC_JACOBI_H

#include "geometry.h"

/* Unrolls a loop on the device, where an array stays in registers only if every index is a constant. */
#ifdef __CUDA_ARCH__
#define PC_UNROLL _Pragma("unroll")
#else
#define PC_UNROLL
#endif

/* One rotation of Jacobi's method on a symmetric n x n matrix `a`, whose eigenvectors become the columns of `v`. */
PC_HD void pc_jacobi_rotate(int n, double *a, double *v, int p, int q) {
    double apq = a[p * n + q];
    if (apq == 0.0) {
        return;
    }
    double theta = (a[q * n + q] - a[p * n + p]) / (2.0 * apq);
    double t = (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
    double c = 1.0 / sqrt(t * t + 1.0);
    double s = t * c;
    PC_UNROLL
    for (int k = 0; k < n; k++) {
        double kp = a[k * n + p], kq = a[k * n + q];
        a[k * n + p] = c * kp - s * kq;
        a[k * n + q] = s * kp + c * kq;
    }
    PC_UNROLL
    for (int k = 0; k < n; k++) {
        double pk = a[p * n + k], qk = a[q * n + k];
        a[p * n + k] = c * pk - s * qk;
        a[q * n + k] = s * pk + c * qk;
    }
    PC_UNROLL
    for (int k = 0; k < n; k++) {
        double kp = v[k * n + p], kq = v[k * n + q];
        v[k * n + p] = c * kp - s * kq;
        v[k * n + q] = s * kp + c * kq;
    }
}

/* Diagonalizes `a` in a fixed number of sweeps, cyclic by rows; `v` starts as the identity. */
PC_HD void pc_jacobi(int n, int sweeps, double *a, double *v) {
    for (int sweep = 0; sweep < sweeps; sweep++) {
        PC_UNROLL
        for (int p = 0; p < n - 1; p++) {
            PC_UNROLL
            for (int q = p + 1; q < n; q++) {
                pc_jacobi_rotate(n, a, v, p, q);
            }
        }
    }
}

#endif
