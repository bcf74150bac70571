/* See plain.h. */
#include "plain.h"

#include "common.cuh"

#include <math.h>

enum { THREADS = 512 };

__device__ static float squared_to(const float *p, float x, float y, float z) {
    const float dx = p[0] - x, dy = p[1] - y, dz = p[2] - z;
    return (dx * dx + dy * dy) + dz * dz;
}

__global__ static void ball_query_kernel(int n, int m, float radius, int k, const float *queries, const float *points,
                                         int *indices) {
    const float *of = points + (size_t)blockIdx.x * n * 3, limit = radius * radius;
    for (int j = (int)threadIdx.x; j < m; j += THREADS) {
        const size_t query = (size_t)blockIdx.x * m + j;
        const float *q = queries + query * 3;
        int *to = indices + query * k;
        for (int l = 0; l < k; l++) {
            to[l] = 0;
        }
        for (int i = 0, found = 0; i < n && found < k; i++) {
            if (squared_to(of + 3 * (size_t)i, q[0], q[1], q[2]) < limit) {
                for (int l = 0; found == 0 && l < k; l++) {
                    to[l] = i;
                }
                to[found++] = i;
            }
        }
    }
}

__global__ static void three_nn_kernel(int n, int m, const float *queries, const float *points, float *distances,
                                       int *indices) {
    const float *of = points + (size_t)blockIdx.x * m * 3;
    for (int j = (int)threadIdx.x; j < n; j += THREADS) {
        const size_t query = (size_t)blockIdx.x * n + j;
        const float *q = queries + query * 3;
        float best[3] = {INFINITY, INFINITY, INFINITY};
        int at[3] = {0, 0, 0};
        for (int i = 0; i < m; i++) {
            const float d = squared_to(of + 3 * (size_t)i, q[0], q[1], q[2]);
            if (d < best[0]) {
                best[2] = best[1], at[2] = at[1];
                best[1] = best[0], at[1] = at[0];
                best[0] = d, at[0] = i;
            } else if (d < best[1]) {
                best[2] = best[1], at[2] = at[1];
                best[1] = d, at[1] = i;
            } else if (d < best[2]) {
                best[2] = d, at[2] = i;
            }
        }
        for (int l = 0; l < 3; l++) {
            distances[query * 3 + l] = sqrtf(best[l]);
            indices[query * 3 + l] = at[l];
        }
    }
}

extern "C" void plain_ball_query(void *stream, int b, int n, int m, float radius, int k, const float *queries,
                                 const float *points, int *indices) {
    PC_START(ball_query_kernel, b, THREADS, (cudaStream_t)stream, n, m, radius, k, queries, points, indices);
}

extern "C" void plain_three_nn(void *stream, int b, int n, int m, const float *queries, const float *points,
                               float *distances, int *indices) {
    PC_START(three_nn_kernel, b, THREADS, (cudaStream_t)stream, n, m, queries, points, distances, indices);
}
