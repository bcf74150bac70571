/* Small float64 linear algebra; see solve.h. */
#include "solve.h"
#include "icp.h"

#include <string.h>

bool pc_cholesky6(const double A[36], double L[36]) {
    memset(L, 0, 36 * sizeof *L);
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = A[6 * i + j];
            for (int k = 0; k < j; k++) {
                sum -= L[6 * i + k] * L[6 * j + k];
            }
            if (i != j) {
                L[6 * i + j] = sum / L[6 * j + j];
            } else if (sum > 1e-13 * A[7 * i]) { /* false for NaN too */
                L[7 * i] = sqrt(sum);
            } else {
                return false;
            }
        }
    }
    return true;
}

bool pc_solve6(const double A[36], const double b[6], double x[6]) {
    double L[36], y[6];
    memset(x, 0, 6 * sizeof *x);
    if (!pc_cholesky6(A, L)) {
        return false;
    }
    for (int i = 0; i < 6; i++) {
        double sum = b[i];
        for (int k = 0; k < i; k++) {
            sum -= L[6 * i + k] * y[k];
        }
        y[i] = sum / L[7 * i];
    }
    for (int i = 5; i >= 0; i--) {
        double sum = y[i];
        for (int k = i + 1; k < 6; k++) {
            sum -= L[6 * k + i] * x[k];
        }
        x[i] = sum / L[7 * i];
    }
    return true;
}

void pc_eigen6(const double A[36], double values[6], double vectors[36]) {
    double a[36], v[36] = {0};
    int order[6];
    memcpy(a, A, sizeof a);
    for (int i = 0; i < 6; i++) {
        v[7 * i] = 1.0;
    }
    pc_jacobi(6, 12, a, v);
    for (int i = 0; i < 6; i++) { /* insertion sort; equal values keep their order */
        int j = i;
        for (; j > 0 && a[7 * order[j - 1]] > a[7 * i]; j--) {
            order[j] = order[j - 1];
        }
        order[j] = i;
    }
    for (int i = 0; i < 6; i++) {
        values[i] = a[7 * order[i]];
        for (int k = 0; k < 6; k++) {
            vectors[6 * i + k] = v[6 * k + order[i]];
        }
    }
}

void pc_quaternion_matrix(const double q[4], double R[9]) {
    double w = q[0], x = q[1], y = q[2], z = q[3];
    R[0] = 1.0 - 2.0 * (y * y + z * z);
    R[1] = 2.0 * (x * y - w * z);
    R[2] = 2.0 * (x * z + w * y);
    R[3] = 2.0 * (x * y + w * z);
    R[4] = 1.0 - 2.0 * (x * x + z * z);
    R[5] = 2.0 * (y * z - w * x);
    R[6] = 2.0 * (x * z - w * y);
    R[7] = 2.0 * (y * z + w * x);
    R[8] = 1.0 - 2.0 * (x * x + y * y);
}

static void normalize(double q[4]) {
    double length = sqrt((q[0] * q[0] + q[1] * q[1]) + (q[2] * q[2] + q[3] * q[3]));
    for (int k = 0; k < 4; k++) {
        q[k] /= length;
    }
}

/* Shepperd 1978: divides by the largest component, so that no precision is lost near half turns. */
void pc_matrix_quaternion(const double R[9], double q[4]) {
    double trace = R[0] + R[4] + R[8];
    int largest = 0;
    for (int k = 0; k < 3; k++) {
        if (R[4 * k] > (largest == 0 ? trace : R[4 * (largest - 1)])) {
            largest = k + 1;
        }
    }
    if (largest == 0) {
        q[0] = 1.0 + trace;
        q[1] = R[7] - R[5];
        q[2] = R[2] - R[6];
        q[3] = R[3] - R[1];
    } else {
        int i = largest - 1, j = (i + 1) % 3, k = (i + 2) % 3;
        q[0] = R[3 * k + j] - R[3 * j + k];
        q[1 + i] = 1.0 + R[4 * i] - R[4 * j] - R[4 * k];
        q[1 + j] = R[3 * i + j] + R[3 * j + i];
        q[1 + k] = R[3 * i + k] + R[3 * k + i];
    }
    normalize(q);
}

void pc_quaternion_turn(double q[4], const double w[3]) {
    double x = 0.5 * w[0], y = 0.5 * w[1], z = 0.5 * w[2];
    double r[4] = {
        q[0] - x * q[1] - y * q[2] - z * q[3],
        q[1] + x * q[0] + y * q[3] - z * q[2],
        q[2] - x * q[3] + y * q[0] + z * q[1],
        q[3] + x * q[2] - y * q[1] + z * q[0],
    };
    normalize(r);
    memcpy(q, r, sizeof r);
}
