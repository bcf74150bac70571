/* Symmetric registration: source onto target, target onto source, and the motion halfway between the first and the
 * inverse of the second.
 *
 * Cells and normals are those of the target, so a registration in one direction alone favours it: the two answers
 * differ by a millimetre on scans of a car, by more where the scans are bent against each other. Each direction is a
 * registration of its own, from the start or its inverse, so the exchange of the clouds exchanges the two and inverts
 * the answer, to rounding. The result is also more accurate, since the errors of the two directions differ, and a large
 * inverse-consistency error reveals a wrong answer that one direction alone accepts.
 *
 * Halfway is on the screw motion M from one pose to the other: T = M^1/2 T_there. This mean does not depend on the
 * coordinates of either cloud, and its inverse is the mean of the inverses (Pennec and Arsigny 2013). That exchanged
 * inputs give the inverse is known from images as inverse consistency (Christensen and Johnson 2001). */
#include "register.h"
#include "solve.h"

#include <stdio.h>
#include <string.h>

/* Limits of the inverse-consistency error, in voxels and radians. */
#define APART_VOXELS  1.0
#define APART_RADIANS 0.0175

#define DEGREE 57.29577951308232

/* ---- poses ------------------------------------------------------------------------------------------------------- */

/* p -> R(q) p */
static void turned(const double q[4], const double p[3], double to[3]) {
    double R[9];
    pc_quaternion_matrix(q, R);
    for (int k = 0; k < 3; k++) {
        to[k] = (R[3 * k] * p[0] + R[3 * k + 1] * p[1]) + R[3 * k + 2] * p[2];
    }
}

static pc_pose inverse_of(const pc_pose *pose) {
    pc_pose inverse = {.q = {pose->q[0], -pose->q[1], -pose->q[2], -pose->q[3]}};
    double t[3];
    turned(inverse.q, pose->t, t);
    for (int k = 0; k < 3; k++) {
        inverse.t[k] = 0.0 - t[k]; /* not -0 */
    }
    return inverse;
}

/* M with b = M a. */
static pc_pose motion_between(const pc_pose *a, const pc_pose *b) {
    pc_pose motion = {.q = {a->q[0], -a->q[1], -a->q[2], -a->q[3]}};
    double t[3];
    pc_quaternion_turned(b->q, motion.q);
    if (motion.q[0] < 0.0) { /* the same rotation by the smaller angle */
        for (int k = 0; k < 4; k++) {
            motion.q[k] = -motion.q[k];
        }
    }
    turned(motion.q, a->t, t);
    for (int k = 0; k < 3; k++) {
        motion.t[k] = b->t[k] - t[k];
    }
    return motion;
}

/* H with H H = motion: (I + R) u = t for the translation u, and by Cayley's transform 2 (I + R)^-1 = I - [c]x with c
 * the tangent of half the angle of R times its axis. */
static pc_pose half_of(const pc_pose *motion) {
    pc_pose half = *motion;
    const double *t = motion->t;
    half.q[0] += 1.0; /* halves the angle: 1 and q are of one length */
    pc_quaternion_normalize(half.q);
    const double c[3] = {half.q[1] / half.q[0], half.q[2] / half.q[0], half.q[3] / half.q[0]};
    half.t[0] = 0.5 * (t[0] - (c[1] * t[2] - c[2] * t[1]));
    half.t[1] = 0.5 * (t[1] - (c[2] * t[0] - c[0] * t[2]));
    half.t[2] = 0.5 * (t[2] - (c[0] * t[1] - c[1] * t[0]));
    return half;
}

/* ---- forward and backward ---------------------------------------------------------------------------------------- */

void pc_register_inverse_start(const double init[16], double inverse[16]) {
    const pc_pose start = pc_matrix_pose(init), back = inverse_of(&start);
    pc_pose_matrix(&back, inverse);
}

double pc_register_apart_metres(const pcgpu_register_params *params) {
    const double max_correspondence = params->max_distance / (double)(1 << (pc_register_levels(params) - 1));
    return APART_VOXELS * (params->voxel > 0.0 ? params->voxel : 0.5 * max_correspondence);
}

void pc_register_meet_halfway(pcgpu_registration *there, const pcgpu_registration *back, double metres) {
    const pc_pose a = pc_matrix_pose(there->T_target_source), returned = pc_matrix_pose(back->T_target_source);
    const pc_pose b = inverse_of(&returned), motion = motion_between(&a, &b), half = half_of(&motion);
    double turn[9], shift[3];
    pc_pose_difference(&a, &b, there->center, turn, shift);
    there->symmetric = true;
    there->apart[0] = pc_norm3(shift);
    there->apart[1] = 2.0 * pc_angle(pc_norm3(motion.q + 1), motion.q[0]);
    const bool near = there->apart[0] <= metres && there->apart[1] <= APART_RADIANS;
    if (near) {
        pc_pose middle = a;
        pc_quaternion_turned(half.q, middle.q);
        turned(half.q, a.t, middle.t);
        for (int k = 0; k < 3; k++) {
            middle.t[k] += half.t[k];
        }
        pc_pose_matrix(&middle, there->T_target_source);
    }
    if (there->converged && !(near && back->converged)) {
        char *why = there->reason;
        const size_t size = sizeof there->reason;
        there->converged = false;
        if (back->converged) {
            snprintf(why, size,
                     "forward and backward registration disagree by %.3g m and %.3g degrees; give a better init",
                     there->apart[0], there->apart[1] * DEGREE);
        } else {
            snprintf(why, size, "source and target exchanged: %.*s", (int)sizeof back->reason - 30, back->reason);
        }
    }
}
