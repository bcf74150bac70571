/* What explains a trajectory that does not fit: its scale, and the order of its quaternions. */
#include "evaluate.h"

#include <math.h>
#include <string.h>

/* Whether both have pose i. */
static bool both_have(const double *a, const double *b, int64_t i) {
    return a[16 * i] == a[16 * i] && b[16 * i] == b[16 * i];
}

/* The scale of the least squares of Umeyama (1991), whose rotation, here that of T_truth_estimate, does not depend on
 * it. */
double evaluate_scale(const double *estimate, const double *truth, int64_t count, const double T[16]) {
    double mean[6] = {0}, product = 0, square = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++) {
        for (int k = 0; k < 3 && both_have(estimate, truth, i); k++) {
            mean[k] += estimate[16 * i + 4 * k + 3];
            mean[3 + k] += truth[16 * i + 4 * k + 3];
            n += k == 0;
        }
    }
    for (int64_t i = 0; i < count; i++) {
        double x[3] = {0}, y[3] = {0};
        for (int k = 0; k < 3 && both_have(estimate, truth, i); k++) {
            x[k] = estimate[16 * i + 4 * k + 3] - mean[k] / (double)n;
            y[k] = truth[16 * i + 4 * k + 3] - mean[3 + k] / (double)n;
        }
        for (int k = 0; k < 3; k++) {
            product += y[k] * ((T[4 * k] * x[0] + T[4 * k + 1] * x[1]) + T[4 * k + 2] * x[2]);
            square += x[k] * x[k];
        }
    }
    return square > 0 && product > 0 ? product / square : 1;
}

/* The quaternion x y z w of a pose; reordered: those that its file has as w x y z. */
static void quaternion_of(const double *T, bool reordered, double q[4]) {
    static const int sign[4][3] = {{1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}, {1, 1, 1}};
    double square[4];
    int largest = 0;
    for (int i = 0; i < 4; i++) {
        square[i] = 1 + sign[i][0] * T[0] + sign[i][1] * T[5] + sign[i][2] * T[10];
        largest = square[i] > square[largest] ? i : largest;
    }
    const double v = 0.5 * sqrt(square[largest]), s = 0.25 / v;
    const double xy = T[1] + T[4], xz = T[2] + T[8], yz = T[6] + T[9], wx = T[9] - T[6], wy = T[2] - T[8],
                 wz = T[4] - T[1];
    const double all[4][4] = {{v, xy * s, xz * s, wx * s},
                              {xy * s, v, yz * s, wy * s},
                              {xz * s, yz * s, v, wz * s},
                              {wx * s, wy * s, wz * s, v}};
    for (int i = 0; i < 4; i++) {
        q[i] = all[largest][reordered ? (i + 1) % 4 : i];
    }
}

/* a^-1 b */
static void relative(const double a[4], const double b[4], double out[4]) {
    out[0] = a[3] * b[0] - a[0] * b[3] - a[1] * b[2] + a[2] * b[1];
    out[1] = a[3] * b[1] - a[1] * b[3] - a[2] * b[0] + a[0] * b[2];
    out[2] = a[3] * b[2] - a[2] * b[3] - a[0] * b[1] + a[1] * b[0];
    out[3] = a[3] * b[3] + a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

double evaluate_turn_error(const double *estimate, const double *truth, int64_t count, bool reordered) {
    double before[2][4], q[2][4], step[3][4], sum = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++) {
        if (!both_have(estimate, truth, i)) {
            continue;
        }
        quaternion_of(estimate + 16 * i, reordered, q[0]);
        quaternion_of(truth + 16 * i, false, q[1]);
        for (int k = 0; k < 2 && n > 0; k++) {
            relative(before[k], q[k], step[k]);
        }
        if (n++ > 0) {
            relative(step[0], step[1], step[2]);
            sum += 2 * atan2(sqrt(step[2][0] * step[2][0] + step[2][1] * step[2][1] + step[2][2] * step[2][2]),
                             fabs(step[2][3]));
        }
        memcpy(before, q, sizeof q);
    }
    return n > 1 ? sum / (double)(n - 1) : 0;
}
