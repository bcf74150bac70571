/* The brute-force kernels of PointNet++ (Qi et al. 2017), as its implementations have them: a block per cloud, a thread
 * per query, which compares all points. What the search is measured beside. Arrays on the device, x y z each. */
#ifndef PLAIN_NEIGHBORS_H
#define PLAIN_NEIGHBORS_H

#ifdef __cplusplus
extern "C" {
#endif

/* b clouds of n points and m queries; indices: b x m x k, padded with the first neighbour, 0 without one. */
void plain_ball_query(void *stream, int b, int n, int m, float radius, int k, const float *queries, const float *points,
                      int *indices);
/* b clouds of n queries and m points; the three nearest. */
void plain_three_nn(void *stream, int b, int n, int m, const float *queries, const float *points, float *distances,
                    int *indices);

#ifdef __cplusplus
}
#endif
#endif
