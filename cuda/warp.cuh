/* What the lanes of a warp do together; by all of them. */
#ifndef PC_WARP_CUH
#define PC_WARP_CUH

#include <cuda_runtime.h>
#include <stdint.h>

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

#endif
