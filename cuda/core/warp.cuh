/* Shared by kernels of all operations: threads per multiprocessor, and warp collectives. */
#ifndef PC_WARP_CUH
#define PC_WARP_CUH

#include <cuda_runtime.h>
#include <stdint.h>

/* Blocks that a multiprocessor is to hold at the same time, as far as it holds as many threads at all: for
 * __launch_bounds__. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 800 || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1100)
#define PC_MULTIPROCESSOR_THREADS 2048
#elif __CUDA_ARCH__ == 750
#define PC_MULTIPROCESSOR_THREADS 1024
#else
#define PC_MULTIPROCESSOR_THREADS 1536
#endif
#define PC_RESIDENT(threads, blocks)                                                                                   \
    ((threads) * (blocks) <= PC_MULTIPROCESSOR_THREADS ? (blocks) : PC_MULTIPROCESSOR_THREADS / (threads))

/* All lanes call these: */
#define PC_ALL_LANES 0xffffffffu

__device__ static inline uint32_t pc_warp_max(uint32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(PC_ALL_LANES, value);
#else
    for (int step = 16; step > 0; step /= 2) {
        uint32_t other = __shfl_xor_sync(PC_ALL_LANES, value, step);
        value = other > value ? other : value;
    }
    return value;
#endif
}

__device__ static inline uint32_t pc_warp_add(uint32_t value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(PC_ALL_LANES, value);
#else
    for (int step = 16; step > 0; step /= 2) {
        value += __shfl_xor_sync(PC_ALL_LANES, value, step);
    }
    return value;
#endif
}

/* Inclusive scan: the sum over this lane and the lanes before it. */
template <typename Sum> __device__ static inline Sum pc_warp_sum_up_to(Sum value) {
    const int lane = (int)threadIdx.x % 32;
    for (int step = 1; step < 32; step *= 2) {
        const Sum other = __shfl_up_sync(PC_ALL_LANES, value, step);
        value += lane >= step ? other : 0;
    }
    return value;
}

/* Exclusive prefix sum over the threads of the block; *all = the total. */
template <int THREADS, typename Sum> __device__ static Sum pc_block_scan(Sum mine, Sum *all) {
    __shared__ Sum of_warp[THREADS / 32];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const Sum sum = pc_warp_sum_up_to(mine);
    if (lane == 31) {
        of_warp[warp] = sum;
    }
    __syncthreads();
    Sum before = 0, whole = 0;
    for (int w = 0; w < THREADS / 32; w++) {
        before += w < warp ? of_warp[w] : 0;
        whole += of_warp[w];
    }
    __syncthreads();
    *all = whole;
    return before + sum - mine;
}

#endif
