/* Poses of a registration: updates, differences, and cycles that an iteration falls into. */
#include "register.h"
#include "solve.h"

#include <string.h>

double pc_norm3(const double v[3]) {
    return sqrt((v[0] * v[0] + v[1] * v[1]) + v[2] * v[2]);
}

pc_pose pc_pose_updated(const pc_pose *pose, const double center[3], const double update[6]) {
    pc_pose next = *pose;
    double identity[4] = {1, 0, 0, 0}, turn[9], arm[3];
    pc_quaternion_turn(next.q, update);
    pc_quaternion_turn(identity, update);
    pc_quaternion_matrix(identity, turn);
    for (int k = 0; k < 3; k++) {
        arm[k] = pose->t[k] - center[k];
    }
    for (int k = 0; k < 3; k++) {
        const double *row = turn + 3 * k;
        next.t[k] = ((row[0] * arm[0] + row[1] * arm[1]) + row[2] * arm[2]) + (center[k] + update[3 + k]);
    }
    return next;
}

void pc_pose_difference(const pc_pose *from, const pc_pose *to, const double center[3], double turn[9],
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

bool pc_pose_near(const pc_pose *a, const pc_pose *b, const double center[3], double metres, double radians) {
    double turn[9], shift[3], square = 0.0;
    pc_pose_difference(a, b, center, turn, shift);
    for (int i = 0; i < 9; i++) {
        square += turn[i] * turn[i];
    }
    return pc_norm3(shift) <= metres && sqrt(0.5 * square) <= radians;
}

void pc_pose_remember(pc_pose_history *history, const pc_pose *pose, double cost) {
    history->poses[history->steps % PC_POSE_HISTORY] = *pose;
    history->costs[history->steps % PC_POSE_HISTORY] = cost;
    history->steps++;
}

bool pc_pose_ends_in_cycle(pc_pose *pose, const double center[3], double metres, double radians,
                           const pc_pose_history *h) {
    for (int age = 2; age <= PC_POSE_HISTORY && age <= h->steps; age++) {
        if (pc_pose_near(&h->poses[(h->steps - age) % PC_POSE_HISTORY], pose, center, metres, radians)) {
            int best = h->steps - age;
            for (int i = best + 1; i < h->steps; i++) {
                best = h->costs[i % PC_POSE_HISTORY] < h->costs[best % PC_POSE_HISTORY] ? i : best;
            }
            *pose = h->poses[best % PC_POSE_HISTORY];
            return true;
        }
    }
    return false;
}
