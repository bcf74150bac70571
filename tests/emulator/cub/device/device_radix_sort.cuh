/* See cuda_runtime.h. */
#ifndef EMULATED_DEVICE_RADIX_SORT_CUH
#define EMULATED_DEVICE_RADIX_SORT_CUH

#include <cuda_runtime.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace cub {
template <typename T> struct DoubleBuffer {
    T *buffers[2];
    int selector = 0;

    DoubleBuffer(T *current, T *alternate) : buffers{current, alternate} {
    }
    T *Current() {
        return buffers[selector];
    }
    T *Alternate() {
        return buffers[1 - selector];
    }
};

struct DeviceRadixSort {
    template <typename K, typename V, typename N>
    static cudaError_t SortPairs(void *scratch, size_t &bytes, const K *keys, K *keys_out, const V *values,
                                 V *values_out, N n, int begin = 0, int end = sizeof(K) * 8, cudaStream_t = NULL) {
        if (!scratch) {
            bytes = 1;
            return cudaSuccess;
        }
        const K mask = end - begin < (int)sizeof(K) * 8 ? (K)(((K)1 << (end - begin)) - 1) : (K) ~(K)0;
        std::vector<size_t> order((size_t)n);
        std::iota(order.begin(), order.end(), (size_t)0);
        std::stable_sort(order.begin(), order.end(),
                         [&](size_t a, size_t b) { return (keys[a] >> begin & mask) < (keys[b] >> begin & mask); });
        for (size_t i = 0; i < (size_t)n; i++) {
            keys_out[i] = keys[order[i]];
            values_out[i] = values[order[i]];
        }
        return cudaSuccess;
    }

    template <typename K, typename V, typename N>
    static cudaError_t SortPairs(void *scratch, size_t &bytes, DoubleBuffer<K> &keys, DoubleBuffer<V> &values, N n,
                                 int begin = 0, int end = sizeof(K) * 8, cudaStream_t stream = NULL) {
        cudaError_t error = SortPairs(scratch, bytes, keys.Current(), keys.Alternate(), values.Current(),
                                      values.Alternate(), n, begin, end, stream);
        keys.selector ^= scratch != NULL;
        values.selector ^= scratch != NULL;
        return error;
    }
};
} // namespace cub

#endif
