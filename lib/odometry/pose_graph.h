/* Shared by the files of pose graphs: pose_graph.c (the system and its iterations), pose_graph_edge.c (residuals) and
 * pose_graph_factor.c (the sparse linear system). */
#ifndef PC_POSE_GRAPH_H
#define PC_POSE_GRAPH_H

#include "pcgpu_loops.h"
#include "pose.h"

/* ---- an edge ----------------------------------------------------------------------------------------------------- */

/* E, and the weight of its squared residual: 1 within the kernel. */
typedef struct pc_edge_error {
    double q[4], t[3]; /* q[0] >= 0 */
    double square;     /* of the residual in standard deviations */
    double weight;
} pc_edge_error;

void pc_edge_measure(const pc_pose *from, const pc_pose *to, const pc_pose *measured, const pcgpu_pose_edge *edge,
                     pc_edge_error *e);
/* Huber's: e^2 within the kernel k, 2 k e - k^2 beyond. */
double pc_edge_cost(const pcgpu_pose_edge *edge, const pc_edge_error *e);
/* The derivatives of the residual by both poses, rows and columns (rotation, translation). */
void pc_edge_derive(const pc_edge_error *e, const pc_pose *measured, double of_from[36], double of_to[36]);

/* ---- the linear system ------------------------------------------------------------------------------------------- */

/* A symmetric matrix of 6x6 blocks and its Cholesky factor, which takes its place. Columns are in the order of
 * elimination; column k has the block D[k] on the diagonal and below it the blocks B[start[k]] to B[start[k + 1] - 1]
 * in the rows `row`, ascending. */
typedef struct pc_block_matrix {
    int32_t n;
    int32_t *rank;  /* of a variable: its column */
    int64_t *start; /* n + 1 */
    int32_t *row;
    double (*D)[36], (*B)[36], (*inverse)[6];
} pc_block_matrix;

/* Orders n variables, of which each of `count` pairs is coupled, and allocates the blocks of the factor. False when
 * memory is short; free it in any case. */
bool pc_block_matrix_open(pc_block_matrix *m, int32_t n, const int32_t (*pairs)[2], int64_t count);
void pc_block_matrix_free(pc_block_matrix *m);
void pc_block_matrix_clear(pc_block_matrix *m);
/* Adds the block of variables a and b (row a, column b, row-major) and, with a != b, its transpose at b, a. */
void pc_block_matrix_add(pc_block_matrix *m, int32_t a, int32_t b, const double block[36]);
/* False when the matrix is not positive definite to working precision. */
bool pc_block_matrix_factor(pc_block_matrix *m);
/* x: by variables, 6 each; in the right side, out the solution. `work`: the same size. */
void pc_block_matrix_solve(const pc_block_matrix *m, double *x, double *work);

#endif
