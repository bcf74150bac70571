/* See plain.h. */
#include "plain.h"

#include "common.cuh"

enum { THREADS = 1024 };

/* COLUMNS: 3, or 0 for any number. */
template <int COLUMNS>
__global__ static void one_block_kernel(int n, int any, int picks, const float *points, float *nearest, int *indices) {
    __shared__ float found[2][THREADS]; /* in turns, so that a fast thread does not overwrite what a slow one reads */
    __shared__ int found_at[2][THREADS];
    const int columns = COLUMNS ? COLUMNS : any, thread = (int)threadIdx.x;
    int pick = 0;
    points += (size_t)blockIdx.x * n * columns;
    nearest += (size_t)blockIdx.x * n;
    indices += (size_t)blockIdx.x * picks;
    for (int k = thread; k < n; k += THREADS) {
        nearest[k] = INFINITY;
    }
    if (thread == 0) {
        indices[0] = 0;
    }
    for (int j = 1; j < picks; j++) {
        const float *at = points + (size_t)pick * columns;
        float best = -1.0f, *distances = found[j % 2];
        int best_at = 0, *places = found_at[j % 2];
        for (int k = thread; k < n; k += THREADS) {
            float sum = 0.0f;
            for (int c = 0; c < columns; c++) {
                const float e = points[(size_t)k * columns + c] - at[c];
                sum += e * e;
            }
            const float d = k == pick ? -1.0f : fminf(sum, nearest[k]);
            nearest[k] = d;
            best_at = d > best ? k : best_at;
            best = d > best ? d : best;
        }
        distances[thread] = best;
        places[thread] = best_at;
        __syncthreads();
        for (int half = THREADS / 2; half > 0; half /= 2) {
            if (thread < half) {
                const float other = distances[thread + half];
                const int other_at = places[thread + half];
                if (other > distances[thread] || (other == distances[thread] && other_at < places[thread])) {
                    distances[thread] = other;
                    places[thread] = other_at;
                }
            }
            __syncthreads();
        }
        pick = places[0];
        if (thread == 0) {
            indices[j] = pick;
        }
    }
}

extern "C" void plain_sample(void *stream, int b, int n, int columns, int m, const float *points, float *nearest,
                             int *indices) {
    if (columns == 3) {
        PC_START(one_block_kernel<3>, b, THREADS, (cudaStream_t)stream, n, 3, m, points, nearest, indices);
    } else {
        PC_START(one_block_kernel<0>, b, THREADS, (cudaStream_t)stream, n, columns, m, points, nearest, indices);
    }
}
