/* Small float64 linear algebra; see solve.h. */
#include "solve.h"
#include "icp_math.h"
#include "transform.h"

#include <string.h>

/* Nothing beside the diagonal that float64 would still see in an eigenvalue, be it small. */
static bool is_diagonal(const double a[36]) {
    for (int p = 0; p < 5; p++) {
        for (int q = p + 1; q < 6; q++) {
            if (!(a[6 * p + q] * a[6 * p + q] <= 1e-34 * fabs(a[7 * p] * a[7 * q]))) {
                return false;
            }
        }
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
    for (int sweep = 0; sweep < 12 && !is_diagonal(a); sweep++) {
        pc_jacobi(6, 1, a, v);
    }
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
    pc_quaternion_normalize(q);
}

pc_pose pc_matrix_pose(const double T[16]) {
    double R[9];
    pc_pose pose;
    for (int i = 0; i < 9; i++) {
        R[i] = T[4 * (i / 3) + i % 3];
    }
    pc_matrix_quaternion(R, pose.q);
    for (int k = 0; k < 3; k++) {
        pose.t[k] = T[4 * k + 3];
    }
    return pose;
}

void pc_pose_matrix(const pc_pose *pose, double T[16]) {
    double R[9];
    pc_quaternion_matrix(pose->q, R);
    pc_transform_compose(R, pose->t, T);
}

void pc_quaternion_rotate(const double q[4], const double p[3], double to[3]) {
    double R[9];
    pc_quaternion_matrix(q, R);
    for (int k = 0; k < 3; k++) {
        to[k] = (R[3 * k] * p[0] + R[3 * k + 1] * p[1]) + R[3 * k + 2] * p[2];
    }
}

pc_pose pc_pose_inverse(const pc_pose *pose) {
    pc_pose inverse = {.q = {pose->q[0], -pose->q[1], -pose->q[2], -pose->q[3]}};
    double t[3];
    pc_quaternion_rotate(inverse.q, pose->t, t);
    for (int k = 0; k < 3; k++) {
        inverse.t[k] = 0.0 - t[k]; /* not -0 */
    }
    return inverse;
}

void pc_align_rotation(const double S[9], int sweeps, double q[4]) {
    double a[16] = {S[0] + S[4] + S[8], S[5] - S[7],        S[6] - S[2],         S[1] - S[3],
                    S[5] - S[7],        S[0] - S[4] - S[8], S[1] + S[3],         S[6] + S[2],
                    S[6] - S[2],        S[1] + S[3],        -S[0] + S[4] - S[8], S[5] + S[7],
                    S[1] - S[3],        S[6] + S[2],        S[5] + S[7],         -S[0] - S[4] + S[8]};
    double v[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    pc_jacobi(4, sweeps, a, v);
    int best = 0;
    for (int i = 1; i < 4; i++) {
        best = a[5 * i] > a[5 * best] ? i : best;
    }
    for (int i = 0; i < 4; i++) {
        q[i] = v[4 * i + best];
    }
}
