/* reciprocal: pc_reciprocal (lib/core/geometry.h) on a GPU is a division's result for every x that it is for, 2^-100 to
 * 2^100, by the GPU's own IEEE division, and that is the host's for every fraction at four scales. Exit code 77 without
 * a device. */
#include "geometry.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 256, FRACTIONS = 1 << 23, BIAS = 127, REACH = 100 };

__device__ static float number_of(int exponent, uint32_t fraction) {
    return __uint_as_float((uint32_t)(exponent + BIAS) << 23 | fraction);
}

/* One fraction at every scale. */
__global__ void compare(unsigned long long *differ) {
    const uint32_t fraction = blockIdx.x * THREADS + threadIdx.x;
    for (int exponent = -REACH; exponent < REACH; exponent++) {
        const float x = number_of(exponent, fraction);
        if (__float_as_uint(pc_reciprocal(x)) != __float_as_uint(__fdiv_rn(1.0f, x))) {
            atomicAdd(differ, 1ull);
        }
    }
    if (fraction == 0) {
        const float x = number_of(REACH, 0);
        if (__float_as_uint(pc_reciprocal(x)) != __float_as_uint(__fdiv_rn(1.0f, x))) {
            atomicAdd(differ, 1ull);
        }
    }
}

__global__ void list(int exponent, float *to) {
    const uint32_t fraction = blockIdx.x * THREADS + threadIdx.x;
    to[fraction] = pc_reciprocal(number_of(exponent, fraction));
}

static long long differ_from_host(int exponent, const float *got) {
    long long count = 0;
    for (uint32_t fraction = 0; fraction < FRACTIONS; fraction++) {
        const uint32_t bits = (uint32_t)(exponent + BIAS) << 23 | fraction;
        float x;
        memcpy(&x, &bits, sizeof x);
        const float wanted = 1.0f / x;
        count += memcmp(&got[fraction], &wanted, sizeof wanted) != 0;
    }
    return count;
}

int main(void) {
    unsigned long long *counted = NULL, differ = 0;
    float *device = NULL, *host = (float *)malloc(FRACTIONS * sizeof *host);
    int devices = 0;
    long long checks = (long long)FRACTIONS * 2 * REACH + 1, failed;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("no CUDA device\n");
        free(host);
        return 77;
    }
    if (!host || cudaMalloc((void **)&counted, sizeof *counted) != cudaSuccess ||
        cudaMalloc((void **)&device, FRACTIONS * sizeof *device) != cudaSuccess ||
        cudaMemset(counted, 0, sizeof *counted) != cudaSuccess) {
        printf("no memory\n");
        return 1;
    }
    compare<<<FRACTIONS / THREADS, THREADS>>>(counted);
    if (cudaMemcpy(&differ, counted, sizeof differ, cudaMemcpyDeviceToHost) != cudaSuccess) {
        printf("%s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    failed = (long long)differ;
    const int scales[] = {-REACH, -1, 0, REACH - 1};
    for (int i = 0; i < 4; i++) {
        list<<<FRACTIONS / THREADS, THREADS>>>(scales[i], device);
        if (cudaMemcpy(host, device, FRACTIONS * sizeof *host, cudaMemcpyDeviceToHost) != cudaSuccess) {
            printf("%s\n", cudaGetErrorString(cudaGetLastError()));
            return 1;
        }
        failed += differ_from_host(scales[i], host);
        checks += FRACTIONS;
    }
    cudaFree(counted);
    cudaFree(device);
    free(host);
    printf("%lld checks, %lld failed\n", checks, failed);
    return failed ? 1 : 0;
}
