/* Small float64 linear algebra for registration, on the host: + - * / sqrt only, for the same bits everywhere. */
#ifndef PC_SOLVE_H
#define PC_SOLVE_H

#include "pose.h"

/* Eigenvalues of a symmetric 6x6 matrix in ascending order; row i of `vectors` is the unit eigenvector of values[i]. */
void pc_eigen6(const double A[36], double values[6], double vectors[36]);

/* The unit quaternion of a rotation matrix R, which is one to rounding errors. */
void pc_matrix_quaternion(const double R[9], double q[4]);

/* The unit quaternion that turns vectors a onto b best, by least squares (Horn 1987): the eigenvector of the largest
 * eigenvalue of a 4x4 matrix. S: the sum of a b^T over them, about their means; `sweeps` of Jacobi's method. */
void pc_align_rotation(const double S[9], int sweeps, double q[4]);

/* A pose from its 4x4 matrix, and back. */
pc_pose pc_matrix_pose(const double T[16]);
void pc_pose_matrix(const pc_pose *pose, double T[16]);

/* p -> R(q) p */
void pc_quaternion_rotate(const double q[4], const double p[3], double to[3]);
pc_pose pc_pose_inverse(const pc_pose *pose);

#endif
