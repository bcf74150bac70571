/* The kernel of PointNet2 (furthest_point_sampling) that OpenPCDet, MMCV and others took over, with its costs: one
 * block of up to 1,024 threads a cloud, points as x y z records and distances in global memory; a pick passes over all
 * points, threads take them in turn, and a tree in shared memory finds the farthest.
 *
 * Of columns it is that of torch_cluster, with more threads. It differs where the original does not define an answer:
 * ties go to the lowest index, a point that has been picked is not picked again, and two buffers in turn keep a fast
 * thread from overwriting what a slow one has not read. */
#include "sample_one_block.h"

#include <cuda_runtime.h>

#include <stdlib.h>

enum { MOST_THREADS = 1024 };

/* COLUMNS: 3, or 0 for any number. */
template <int COLUMNS>
__global__ static void one_block_kernel(int n, int any, int picks, const float *points, float *nearest, int *indices,
                                        float *squared) {
    const int columns = COLUMNS ? COLUMNS : any;
    __shared__ float found[2][MOST_THREADS];
    __shared__ int found_at[2][MOST_THREADS];
    int thread = (int)threadIdx.x, stride = (int)blockDim.x, pick = 0;
    points += (size_t)blockIdx.x * n * columns;
    nearest += (size_t)blockIdx.x * n;
    indices += (size_t)blockIdx.x * picks;
    squared += (size_t)blockIdx.x * picks;
    for (int k = thread; k < n; k += stride) {
        nearest[k] = HUGE_VALF;
    }
    if (thread == 0) {
        indices[0] = 0;
        squared[0] = HUGE_VALF;
    }
    for (int j = 1; j < picks; j++) {
        const float *at = points + (size_t)pick * columns;
        float best = -1.0f, *distances = found[j % 2];
        int best_at = 0, *places = found_at[j % 2];
        for (int k = thread; k < n; k += stride) {
            float sum = 0.0f;
            for (int c = 0; c < columns; c++) {
                const float e = points[(size_t)k * columns + c] - at[c];
                sum += e * e;
            }
            float d = k == pick ? -1.0f : fminf(sum, nearest[k]);
            nearest[k] = d;
            best_at = d > best ? k : best_at;
            best = d > best ? d : best;
        }
        distances[thread] = best;
        places[thread] = best_at;
        __syncthreads();
        for (int half = stride / 2; half > 0; half /= 2) {
            if (thread < half) {
                float other = distances[thread + half];
                int other_at = places[thread + half];
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
            squared[j] = distances[0];
        }
    }
}

/* What a call holds on the device and on the host. */
typedef struct one_block {
    float *packed; /* host: x y z of all points */
    float *points, *nearest, *squared;
    int *indices;
    cudaEvent_t begin, end;
} one_block;

#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        cudaError_t error = (call);                                                                                    \
        if (error != cudaSuccess) {                                                                                    \
            return cudaGetErrorString(error);                                                                          \
        }                                                                                                              \
    } while (0)

static const char *prepare(one_block *s, const pc_sample_job *jobs, int clouds, int64_t picks) {
    size_t columns = jobs[0].dimensions ? (size_t)jobs[0].dimensions : 3;
    size_t n = (size_t)jobs[0].n, all = n * (size_t)clouds, picked = (size_t)picks * (size_t)clouds;
    s->packed = (float *)malloc(all * columns * sizeof(float));
    if (!s->packed) {
        return "out of memory";
    }
    for (int c = 0; c < clouds; c++) {
        for (size_t i = 0; i < n; i++) {
            float *p = s->packed + ((size_t)c * n + i) * columns;
            for (size_t k = 0; k < columns; k++) {
                p[k] = k == 0 ? jobs[c].x[i] : k == 1 ? jobs[c].y[i] : k == 2 ? jobs[c].z[i] : jobs[c].x[k * n + i];
            }
        }
    }
    TRY(cudaMalloc((void **)&s->points, all * columns * sizeof(float)));
    TRY(cudaMalloc((void **)&s->nearest, all * sizeof(float)));
    TRY(cudaMalloc((void **)&s->indices, picked * sizeof(int)));
    TRY(cudaMalloc((void **)&s->squared, picked * sizeof(float)));
    TRY(cudaEventCreate(&s->begin));
    TRY(cudaEventCreate(&s->end));
    TRY(cudaMemcpy(s->points, s->packed, all * columns * sizeof(float), cudaMemcpyHostToDevice));
    return NULL;
}

/* As in the libraries: the power of two up to n, 1,024 at most. */
static int threads_for(int64_t n) {
    int threads = 1;
    while (threads * 2 <= n && threads < MOST_THREADS) {
        threads *= 2;
    }
    return threads;
}

static const char *repeat(const one_block *s, const pc_sample_job *jobs, int clouds, int64_t picks, int repeats,
                          float *milliseconds, int32_t *indices, float *squared) {
    size_t bytes = (size_t)picks * (size_t)clouds * 4;
    for (int i = 0; i < repeats; i++) {
        TRY(cudaEventRecord(s->begin, 0));
        auto *kernel = jobs[0].dimensions ? one_block_kernel<0> : one_block_kernel<3>;
        kernel<<<clouds, threads_for(jobs[0].n)>>>((int)jobs[0].n, jobs[0].dimensions, (int)picks, s->points,
                                                   s->nearest, s->indices, s->squared);
        TRY(cudaGetLastError());
        TRY(cudaEventRecord(s->end, 0));
        TRY(cudaEventSynchronize(s->end));
        TRY(cudaEventElapsedTime(&milliseconds[i], s->begin, s->end));
    }
    TRY(cudaMemcpy(indices, s->indices, bytes, cudaMemcpyDeviceToHost));
    TRY(cudaMemcpy(squared, s->squared, bytes, cudaMemcpyDeviceToHost));
    return NULL;
}

extern "C" const char *one_block_sample(const pc_sample_job *jobs, int clouds, int64_t picks, int repeats,
                                        float *milliseconds, int32_t *indices, float *squared) {
    one_block s = {NULL, NULL, NULL, NULL, NULL, NULL, NULL};
    const char *wrong = prepare(&s, jobs, clouds, picks);
    if (!wrong) {
        wrong = repeat(&s, jobs, clouds, picks, repeats, milliseconds, indices, squared);
    }
    if (s.begin) {
        cudaEventDestroy(s.begin);
    }
    if (s.end) {
        cudaEventDestroy(s.end);
    }
    cudaFree(s.squared);
    cudaFree(s.indices);
    cudaFree(s.nearest);
    cudaFree(s.points);
    free(s.packed);
    return wrong;
}
