/* Pose graphs: the residual of an edge and its derivatives. */
#include "pose_graph.h"
#include "solve.h"

#include <string.h>

static void multiply(const double a[4], const double b[4], double out[4]) {
    double r[4];
    memcpy(r, b, sizeof r);
    pc_quaternion_turned(a, r);
    memcpy(out, r, sizeof r);
}

static void conjugate(const double q[4], double out[4]) {
    out[0] = q[0];
    for (int k = 1; k < 4; k++) {
        out[k] = -q[k];
    }
}

/* R^T v */
static void turn_back(const double R[9], const double v[3], double out[3]) {
    for (int k = 0; k < 3; k++) {
        out[k] = (R[k] * v[0] + R[3 + k] * v[1]) + R[6 + k] * v[2];
    }
}

void pc_edge_measure(const pc_pose *from, const pc_pose *to, const pc_pose *measured, const pcgpu_pose_edge *edge,
                     pc_edge_error *e) {
    double R[9], Z[9], back[4], away[3], there[3];
    pc_quaternion_matrix(from->q, R);
    pc_quaternion_matrix(measured->q, Z);
    conjugate(from->q, back);
    multiply(back, to->q, e->q);
    conjugate(measured->q, back);
    multiply(back, e->q, e->q);
    for (int k = 0; k < 3; k++) {
        away[k] = to->t[k] - from->t[k];
    }
    turn_back(R, away, there);
    for (int k = 0; k < 3; k++) {
        there[k] -= measured->t[k];
    }
    turn_back(Z, there, e->t);
    for (int k = 3; k >= 0; k--) {
        e->q[k] = e->q[0] < 0.0 ? -e->q[k] : e->q[k];
    }
    e->square = 4.0 * pc_square3(e->q + 1) / (edge->sigma[0] * edge->sigma[0]) +
                pc_square3(e->t) / (edge->sigma[1] * edge->sigma[1]);
    const double length = sqrt(e->square);
    e->weight = edge->kernel > 0.0 && length > edge->kernel ? edge->kernel / length : 1.0;
}

/* Huber's: e^2 within the kernel k, 2 k e - k^2 beyond. */
double pc_edge_cost(const pcgpu_pose_edge *edge, const pc_edge_error *e) {
    return e->weight < 1.0 ? 2.0 * edge->kernel * sqrt(e->square) - edge->kernel * edge->kernel : e->square;
}

static void skew(const double v[3], double S[9]) {
    const double s[9] = {0.0, -v[2], v[1], v[2], 0.0, -v[0], -v[1], v[0], 0.0};
    memcpy(S, s, sizeof s);
}

/* a b, or a b^T */
static void multiply3(const double a[9], const double b[9], bool transposed, double out[9]) {
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            const double *column = transposed ? b + 3 * k : b + k;
            const int next = transposed ? 1 : 3;
            out[3 * i + k] = (a[3 * i] * column[0] + a[3 * i + 1] * column[next]) + a[3 * i + 2] * column[2 * next];
        }
    }
}

/* The derivatives of the residual by both poses, rows and columns (rotation, translation). With v the vector part of E,
 * w its scalar, and a rotation d of `to`: w d + v x d; E is turned from the left by `from`, seen through the
 * measurement. */
void pc_edge_derive(const pc_edge_error *e, const pc_pose *measured, double of_from[36], double of_to[36]) {
    double E[9], Z[9], back[9], v[9], right[9], left[9], arm[9], moment[9], turned[9];
    pc_quaternion_matrix(e->q, E);
    pc_quaternion_matrix(measured->q, Z);
    skew(e->q + 1, v);
    for (int i = 0; i < 9; i++) {
        right[i] = (i % 4 == 0 ? e->q[0] : 0.0) + v[i];
        left[i] = v[i] - (i % 4 == 0 ? e->q[0] : 0.0);
        back[i] = Z[3 * (i % 3) + i / 3];
    }
    multiply3(left, Z, true, turned);
    skew(e->t, arm);
    multiply3(arm, Z, true, moment);
    skew(measured->t, arm);
    multiply3(back, arm, false, v);
    memset(of_from, 0, 36 * sizeof *of_from);
    memset(of_to, 0, 36 * sizeof *of_to);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            of_from[6 * i + k] = turned[3 * i + k];
            of_from[6 * (3 + i) + k] = moment[3 * i + k] + v[3 * i + k];
            of_from[6 * (3 + i) + 3 + k] = -back[3 * i + k];
            of_to[6 * i + k] = right[3 * i + k];
            of_to[6 * (3 + i) + 3 + k] = E[3 * i + k];
        }
    }
}

void pcgpu_pose_edge_residual(const double *poses, const pcgpu_pose_edge *edge, double residual[2]) {
    const pc_pose from = pc_matrix_pose(poses + 16 * edge->from), to = pc_matrix_pose(poses + 16 * edge->to),
                  measured = pc_matrix_pose(edge->T_from_to);
    pc_edge_error e;
    pc_edge_measure(&from, &to, &measured, edge, &e);
    residual[0] = 2.0 * pc_norm3(e.q + 1);
    residual[1] = pc_norm3(e.t);
}
