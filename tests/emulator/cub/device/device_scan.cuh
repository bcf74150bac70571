/* See cuda_runtime.h. */
#ifndef EMULATED_DEVICE_SCAN_CUH
#define EMULATED_DEVICE_SCAN_CUH

#include <cuda_runtime.h>

namespace cub {
struct DeviceScan {
    template <typename I, typename O, typename N>
    static cudaError_t InclusiveSum(void *scratch, size_t &bytes, I in, O out, N n, cudaStream_t = NULL) {
        bytes = 1;
        for (N i = 0; scratch && i < n; i++) {
            out[i] = i ? out[i - 1] + in[i] : in[i];
        }
        return cudaSuccess;
    }
};
} // namespace cub

#endif
