/* Poses, their updates and the 6x6 system of a step, shared by the back ends: float64 with + - * / sqrt only, so every
 * machine gets the same bits. */
#ifndef PC_ICP_POSE_H
#define PC_ICP_POSE_H

#include "icp_math.h"

#include <string.h>

/* ---- linear algebra --------------------------------------------------------------------------------------------- */

/* The 6x6 sum of j j^T among the sums of a step. */
PC_HD void pc_information(const double *sums, double matrix[36]) {
    int at = PC_ICP_JJ;
    for (int i = 0; i < 6; i++) {
        for (int j = i; j < 6; j++) {
            matrix[6 * i + j] = matrix[6 * j + i] = sums[at++];
        }
    }
}

/* A = L L^T with a lower triangular L, and 1 / its diagonal, since divisions are slow; false when A is not positive
 * definite to working precision. */
PC_HD bool pc_cholesky6(const double A[36], double L[36], double inverse[6]) {
    memset(L, 0, 36 * sizeof *L);
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = A[6 * i + j];
            for (int k = 0; k < j; k++) {
                sum -= L[6 * i + k] * L[6 * j + k];
            }
            if (i != j) {
                L[6 * i + j] = sum * inverse[j];
            } else if (sum > 1e-13 * A[7 * i]) { /* false for NaN too */
                L[7 * i] = sqrt(sum);
                inverse[i] = 1.0 / L[7 * i];
            } else {
                return false;
            }
        }
    }
    return true;
}

/* Solves A x = b for a symmetric positive definite 6x6 matrix (row-major) by A = L D L^T with ones on the diagonal of
 * L. As soon as a column is known, all that follow are reduced by it, and nothing branches before the end. False, with
 * x = 0, when A is not positive definite to working precision. */
PC_HD bool pc_solve6(const double A[36], const double b[6], double x[6]) {
    double LD[36], L[36], inverse[6], y[6];
    bool good = true;
    PC_UNROLL
    for (int i = 0; i < 6; i++) {
        y[i] = b[i];
        PC_UNROLL
        for (int j = 0; j <= i; j++) {
            LD[6 * i + j] = A[6 * i + j];
        }
    }
    PC_UNROLL
    for (int k = 0; k < 6; k++) {
        good = good & (LD[7 * k] > 1e-13 * A[7 * k]); /* false for NaN too */
        inverse[k] = 1.0 / LD[7 * k];
        PC_UNROLL
        for (int i = k + 1; i < 6; i++) {
            L[6 * i + k] = LD[6 * i + k] * inverse[k];
            y[i] -= L[6 * i + k] * y[k];
            PC_UNROLL
            for (int j = k + 1; j <= i; j++) {
                LD[6 * i + j] -= LD[6 * i + k] * L[6 * j + k];
            }
        }
    }
    PC_UNROLL
    for (int i = 5; i >= 0; i--) {
        double sum = y[i] * inverse[i];
        PC_UNROLL
        for (int k = i + 1; k < 6; k++) {
            sum -= L[6 * k + i] * x[k];
        }
        x[i] = sum;
    }
    PC_UNROLL
    for (int i = 0; i < 6; i++) {
        x[i] = good ? x[i] : 0.0;
    }
    return good;
}

/* Of a symmetric 3x3 matrix s with the rows s[0] s[1] s[2], s[3] s[4], s[5] from the diagonal on: its cofactors, which
 * are its inverse times the determinant; returns that. */
PC_HD double pc_cofactors3(const double s[6], double c[6]) {
    c[0] = s[3] * s[5] - s[4] * s[4];
    c[1] = s[2] * s[4] - s[1] * s[5];
    c[2] = s[1] * s[4] - s[2] * s[3];
    c[3] = s[0] * s[5] - s[2] * s[2];
    c[4] = s[1] * s[2] - s[0] * s[4];
    c[5] = s[0] * s[3] - s[1] * s[1];
    return (s[0] * c[0] + s[1] * c[1]) + s[2] * c[2];
}

/* Whether s, with these cofactors and determinant, is positive definite to working precision, by its leading minors:
 * each pivot of its elimination is compared with what stood there. */
PC_HD bool pc_is_definite3(const double s[6], const double c[6], double determinant, const double before[3]) {
    return (s[0] > 1e-13 * before[0]) & (c[5] > 1e-13 * s[0] * before[1]) & (determinant > 1e-13 * c[5] * before[2]);
}

PC_HD void pc_times3(const double s[6], const double v[3], double to[3]) {
    to[0] = (s[0] * v[0] + s[1] * v[1]) + s[2] * v[2];
    to[1] = (s[1] * v[0] + s[3] * v[1]) + s[4] * v[2];
    to[2] = (s[2] * v[0] + s[4] * v[1]) + s[5] * v[2];
}

PC_HD double pc_dot3(const double a[3], const double b[3]) {
    return (a[0] * b[0] + a[1] * b[1]) + a[2] * b[2];
}

/* As pc_solve6, for a matrix of good condition: by blocks of three rows, each inverted by its cofactors, so that there
 * are two divisions to wait for, one after the other, and not six. */
PC_HD bool pc_solve6_by_blocks(const double A[36], const double b[6], double x[6]) {
    /* [P Q; Q^T S], C = the cofactors of P, S' = S - Q^T P^-1 Q with the cofactors D */
    const double P[6] = {A[0], A[1], A[2], A[7], A[8], A[14]}, own[3] = {A[0], A[7], A[14]},
                 low[3] = {A[21], A[28], A[35]};
    double C[6], D[6], S[6] = {A[21], A[22], A[23], A[28], A[29], A[35]}, Q[3][3], CQ[3][3], Cb[3], rest[3], turned[3];
    const double determinant = pc_cofactors3(P, C), per = 1.0 / determinant;
    int at = 0;
    pc_times3(C, b, Cb);
    PC_UNROLL
    for (int k = 0; k < 3; k++) { /* columns of Q */
        PC_UNROLL
        for (int i = 0; i < 3; i++) {
            Q[k][i] = A[6 * i + 3 + k];
        }
        pc_times3(C, Q[k], CQ[k]);
        rest[k] = b[3 + k] - per * pc_dot3(Q[k], Cb);
    }
    PC_UNROLL
    for (int i = 0; i < 3; i++) {
        PC_UNROLL
        for (int k = i; k < 3; k++, at++) {
            S[at] -= per * pc_dot3(Q[i], CQ[k]);
        }
    }
    const double second = pc_cofactors3(S, D), per_second = 1.0 / second;
    /* Without a branch; not for NaN. */
    const bool good = (int)pc_is_definite3(P, C, determinant, own) & (int)pc_is_definite3(S, D, second, low);
    pc_times3(D, rest, turned);
    PC_UNROLL
    for (int k = 0; k < 3; k++) {
        x[3 + k] = good ? per_second * turned[k] : 0.0;
    }
    PC_UNROLL
    for (int i = 0; i < 3; i++) {
        const double moved = (CQ[0][i] * x[3] + CQ[1][i] * x[4]) + CQ[2][i] * x[5];
        x[i] = good ? per * (Cb[i] - moved) : 0.0;
    }
    return good;
}

/* The Gauss-Newton step from the sums of a pass, in units in which a turn moves points as far as a translation: scale
 * is 1 / gyration, or 1. `ridge`, relative to the mean of the diagonal, limits steps that the scene leaves open. */
PC_HD bool pc_solve_ridge(const double scale[6], double ridge, const double *sums, double update[6]) {
    double a[36], b[6];
    pc_information(sums, a);
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 6; j++) {
            a[6 * i + j] *= scale[i] * scale[j];
        }
        b[i] = -sums[PC_ICP_JR + i] * scale[i];
        update[i] = 0.0;
    }
    const double trace = ((a[0] + a[7]) + (a[14] + a[21])) + (a[28] + a[35]);
    if (!(trace > 0.0)) {
        return false;
    }
    for (int i = 0; i < 6; i++) {
        a[7 * i] += ridge / 6.0 * trace;
    }
    const bool solved = pc_solve6_by_blocks(a, b, update);
    for (int i = 0; i < 6; i++) {
        update[i] *= scale[i];
    }
    return solved;
}

/* ---- rotations as unit quaternions (w, x, y, z) ------------------------------------------------------------------ */

PC_HD void pc_quaternion_matrix(const double q[4], double R[9]) {
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

PC_HD void pc_quaternion_normalize(double q[4]) {
    double inverse = 1.0 / sqrt((q[0] * q[0] + q[1] * q[1]) + (q[2] * q[2] + q[3] * q[3]));
    for (int k = 0; k < 4; k++) {
        q[k] *= inverse;
    }
}

/* The turn by 4 atan(|w|/4) about w, which is |w| to third order: with b = w/4, d = (1 - b^2, 2 b) / (1 + b^2), whose
 * length is 1 and which needs neither a trigonometric function nor a root. */
PC_HD void pc_quaternion_turn(const double w[3], double d[4]) {
    const double b2 = 0.0625 * ((w[0] * w[0] + w[1] * w[1]) + w[2] * w[2]), per = 1.0 / (1.0 + b2);
    d[0] = (1.0 - b2) * per;
    for (int k = 0; k < 3; k++) {
        d[1 + k] = 0.5 * w[k] * per;
    }
}

/* q <- d q */
PC_HD void pc_quaternion_turned(const double d[4], double q[4]) {
    double r[4] = {
        d[0] * q[0] - d[1] * q[1] - d[2] * q[2] - d[3] * q[3],
        d[0] * q[1] + d[1] * q[0] + d[2] * q[3] - d[3] * q[2],
        d[0] * q[2] - d[1] * q[3] + d[2] * q[0] + d[3] * q[1],
        d[0] * q[3] + d[1] * q[2] - d[2] * q[1] + d[3] * q[0],
    };
    memcpy(q, r, sizeof r);
}

/* ---- poses ------------------------------------------------------------------------------------------------------ */

/* A rotation as a unit quaternion and a translation: target = R(q) source + t. */
typedef struct pc_pose {
    double q[4], t[3];
} pc_pose;

PC_HD double pc_square3(const double v[3]) {
    return (v[0] * v[0] + v[1] * v[1]) + v[2] * v[2];
}

PC_HD double pc_norm3(const double v[3]) {
    return sqrt(pc_square3(v));
}

/* The pose after a rotation about `center` (a rotation vector, by pc_quaternion_turn) and a translation. */
PC_HD pc_pose pc_pose_updated(const pc_pose *pose, const double center[3], const double update[6]) {
    pc_pose next = *pose;
    double d[4], turn[9], arm[3];
    pc_quaternion_turn(update, d);
    pc_quaternion_turned(d, next.q); /* of unit length but for rounding, which hundreds of steps do not make felt */
    pc_quaternion_matrix(d, turn);
    for (int k = 0; k < 3; k++) {
        arm[k] = pose->t[k] - center[k];
    }
    for (int k = 0; k < 3; k++) {
        const double *row = turn + 3 * k;
        next.t[k] = ((row[0] * arm[0] + row[1] * arm[1]) + row[2] * arm[2]) + (center[k] + update[3 + k]);
    }
    return next;
}

/* The motion from one pose to another, for points relative to `center`: p + turn p + shift. */
PC_HD void pc_pose_difference(const pc_pose *from, const pc_pose *to, const double center[3], double turn[9],
                              double shift[3]) {
    double Ra[9], Rb[9], arm[3];
    pc_quaternion_matrix(from->q, Ra);
    pc_quaternion_matrix(to->q, Rb);
    for (int k = 0; k < 3; k++) {
        arm[k] = center[k] - from->t[k];
    }
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) { /* R_to R_from^T */
            turn[3 * i + j] = (Rb[3 * i] * Ra[3 * j] + Rb[3 * i + 1] * Ra[3 * j + 1]) + Rb[3 * i + 2] * Ra[3 * j + 2];
        }
        const double *row = turn + 3 * i;
        shift[i] = ((row[0] * arm[0] + row[1] * arm[1]) + row[2] * arm[2]) + (to->t[i] - center[i]);
    }
    for (int k = 0; k < 3; k++) {
        turn[4 * k] -= 1.0;
    }
}

/* Whether they may differ by no more than the root of `radians2`, a cheap test that rejects most pairs: the squared
 * distance of unit quaternions is a quarter of the squared angle. */
PC_HD bool pc_pose_may_be_near(const pc_pose *a, const pc_pose *b, double radians2) {
    const double dot = (a->q[0] * b->q[0] + a->q[1] * b->q[1]) + (a->q[2] * b->q[2] + a->q[3] * b->q[3]);
    return !(2.0 - 2.0 * fabs(dot) > radians2 + 1e-12);
}

/* True if the translations at `center` differ by at most sqrt(metres2) and the angle is at most sqrt(radians2). */
PC_HD bool pc_pose_near(const pc_pose *a, const pc_pose *b, const double center[3], double metres2, double radians2) {
    double turn[9], shift[3], square = 0.0;
    if (!pc_pose_may_be_near(a, b, radians2)) {
        return false;
    }
    pc_pose_difference(a, b, center, turn, shift);
    for (int i = 0; i < 9; i++) {
        square += turn[i] * turn[i];
    }
    return pc_square3(shift) <= metres2 && 0.5 * square <= radians2;
}

#endif
