/* Small float64 linear algebra for registration, on the host: + - * / sqrt only, so every machine gets the same bits.
 */
#ifndef PC_SOLVE_H
#define PC_SOLVE_H

#include <stdbool.h>

/* Solves A x = b for a symmetric positive definite 6x6 matrix (row-major) by Cholesky's method. False, with x = 0, when
 * A is not positive definite to working precision. */
bool pc_solve6(const double A[36], const double b[6], double x[6]);

/* A = L L^T with a lower triangular L; false when A is not positive definite to working precision. */
bool pc_cholesky6(const double A[36], double L[36]);

/* Eigenvalues of a symmetric 6x6 matrix in ascending order; row i of `vectors` is the unit eigenvector of values[i]. */
void pc_eigen6(const double A[36], double values[6], double vectors[36]);

/* Rotations as unit quaternions (w, x, y, z). */
void pc_quaternion_matrix(const double q[4], double R[9]);
/* R: a rotation matrix to rounding errors. */
void pc_matrix_quaternion(const double R[9], double q[4]);
/* q <- d q, where d = (1, w/2) normalized: the turn by 2 atan(|w|/2) about w, which is |w| to third order and needs no
 * trigonometric function. */
void pc_quaternion_turn(double q[4], const double w[3]);

#endif
