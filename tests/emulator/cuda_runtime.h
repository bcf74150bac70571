/* CUDA on the CPU, as much of it as the kernels of cuda/ use: what they include instead of NVIDIA's header when they
 * are compiled as plain C++. See emulator.cpp. */
#ifndef EMULATED_CUDA_RUNTIME_H
#define EMULATED_CUDA_RUNTIME_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <functional>

#define __CUDA_ARCH__  900
#define CUDART_VERSION 13000

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __grid_constant__
#define __noinline__ __attribute__((noinline))
#define __shared__   thread_local /* a block is an operating system thread */
#define __align__(n) __attribute__((aligned(n)))

/* ---- types ------------------------------------------------------------------------------------------------------ */

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned of_x = 1, unsigned of_y = 1, unsigned of_z = 1) : x(of_x), y(of_y), z(of_z) {
    }
};

struct alignas(8) uint2 {
    uint32_t x, y;
};

struct alignas(8) float2 {
    float x, y;
};

static inline float2 make_float2(float x, float y) {
    return float2{x, y};
}

struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};

struct alignas(16) float4 {
    float x, y, z, w;
};

static inline uint2 make_uint2(uint32_t x, uint32_t y) {
    return uint2{x, y};
}

static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
    return uint4{x, y, z, w};
}

struct alignas(16) int4 {
    int32_t x, y, z, w;
};

static inline int4 make_int4(int32_t x, int32_t y, int32_t z, int32_t w) {
    return int4{x, y, z, w};
}

static inline float4 make_float4(float x, float y, float z, float w) {
    return float4{x, y, z, w};
}

/* ---- threads of a block ----------------------------------------------------------------------------------------- */

/* Not thread_local, which asks at each use whether the variable has been initialized. */
extern __thread uint3 threadIdx, blockIdx;
extern __thread dim3 blockDim, gridDim;

/* What the lanes of a warp have given when they met. */
typedef struct emulated_lanes {
    uint64_t value[32];
    uint32_t present; /* lanes that have not ended */
    uint32_t nonzero; /* lanes whose value is not 0 */
    int lane;         /* that asks */
} emulated_lanes;

/* Waits for all lanes of the warp; valid until the next call of the lane. Masks are not looked at: all lanes meet. */
const emulated_lanes *emulated_exchange(uint64_t value);
/* Waits for all threads of the block and returns the sum of their values. */
int emulated_syncthreads(int value);

static inline void __syncthreads(void) {
    emulated_syncthreads(0);
}

static inline int __syncthreads_count(int predicate) {
    return emulated_syncthreads(predicate != 0);
}

static inline void __syncwarp(void) {
    emulated_exchange(0);
}

template <typename T> static inline uint64_t emulated_bits(T value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

template <typename T> static inline T emulated_value(uint64_t bits) {
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A bit for each lane whose value is this one. */
static inline uint32_t emulated_equal(const emulated_lanes *lanes, uint64_t value) {
    uint32_t equal = 0;
    for (int i = 0; i < 32; i++) {
        equal |= (uint32_t)(lanes->value[i] == value) << i;
    }
    return equal & lanes->present;
}

static inline uint32_t __ballot_sync(uint32_t, int predicate) {
    return emulated_exchange(predicate != 0)->nonzero;
}

static inline int __any_sync(uint32_t mask, int predicate) {
    return __ballot_sync(mask, predicate) != 0;
}

static inline uint32_t __match_any_sync(uint32_t, uint32_t value) {
    return emulated_equal(emulated_exchange(value), value);
}

/* The value of lane `from`, the lane's own beyond the warp. */
template <typename T> static inline T emulated_take(const emulated_lanes *lanes, int from, T own) {
    return from < 0 || from > 31 ? own : emulated_value<T>(lanes->value[from]);
}

template <typename T> static inline T __shfl_sync(uint32_t, T value, int from) {
    return emulated_take(emulated_exchange(emulated_bits(value)), from & 31, value);
}

template <typename T> static inline T __shfl_up_sync(uint32_t, T value, int by) {
    const emulated_lanes *lanes = emulated_exchange(emulated_bits(value));
    return emulated_take(lanes, lanes->lane - by, value);
}

template <typename T> static inline T __shfl_xor_sync(uint32_t, T value, int by) {
    const emulated_lanes *lanes = emulated_exchange(emulated_bits(value));
    return emulated_take(lanes, lanes->lane ^ by, value);
}

static inline uint32_t __reduce_max_sync(uint32_t, uint32_t value) {
    const emulated_lanes *lanes = emulated_exchange(value);
    for (int i = 0; i < 32; i++) {
        value = (lanes->present >> i & 1) && lanes->value[i] > value ? (uint32_t)lanes->value[i] : value;
    }
    return value;
}

static inline uint32_t __reduce_add_sync(uint32_t, uint32_t value) {
    const emulated_lanes *lanes = emulated_exchange(value);
    value = 0;
    for (int i = 0; i < 32; i++) {
        value += lanes->present >> i & 1 ? (uint32_t)lanes->value[i] : 0;
    }
    return value;
}

static inline void __trap(void) {
    abort();
}

/* ---- arithmetic and memory -------------------------------------------------------------------------------------- */

static inline uint32_t __float_as_uint(float value) {
    return (uint32_t)emulated_bits(value);
}

static inline float __uint_as_float(uint32_t bits) {
    return emulated_value<float>(bits);
}

static inline long long __double_as_longlong(double value) {
    long long bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
static inline double __longlong_as_double(long long bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
static inline float __int_as_float(int32_t bits) {
    return emulated_value<float>((uint32_t)bits);
}

static inline int __popc(uint32_t value) {
    return __builtin_popcount(value);
}

static inline int __popcll(uint64_t value) {
    return __builtin_popcountll(value);
}

static inline int __clz(int value) {
    return value ? __builtin_clz((unsigned)value) : 32;
}

static inline int __ffs(int value) {
    return __builtin_ffs(value);
}

template <typename T> static inline T __ldcg(const T *from) {
    return *from;
}

static inline uint32_t __umulhi(uint32_t a, uint32_t b) {
    return (uint32_t)((uint64_t)a * b >> 32);
}

template <typename A, typename B> static inline auto min(A a, B b) -> decltype(a + b) {
    typedef decltype(a + b) type;
    return (type)a < (type)b ? (type)a : (type)b;
}

template <typename A, typename B> static inline auto max(A a, B b) -> decltype(a + b) {
    typedef decltype(a + b) type;
    return (type)a > (type)b ? (type)a : (type)b;
}

template <typename T, typename V> static inline T atomicAdd(T *to, V value) {
    return __atomic_fetch_add(to, (T)value, __ATOMIC_SEQ_CST);
}

static inline float atomicAdd(float *to, float value) {
    float old, sum;
    __atomic_load(to, &old, __ATOMIC_SEQ_CST);
    do {
        sum = old + value;
    } while (!__atomic_compare_exchange(to, &old, &sum, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return old;
}

template <typename T, typename V> static inline T atomicOr(T *to, V value) {
    return __atomic_fetch_or(to, (T)value, __ATOMIC_SEQ_CST);
}

template <typename T, typename C, typename V> static inline T atomicCAS(T *to, C compare, V value) {
    T old = (T)compare;
    __atomic_compare_exchange_n(to, &old, (T)value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return old;
}

template <typename T, typename V> static inline T atomicMax(T *to, V value) {
    T old = __atomic_load_n(to, __ATOMIC_SEQ_CST);
    while (old < (T)value &&
           !__atomic_compare_exchange_n(to, &old, (T)value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return old;
}

template <typename T, typename V> static inline T atomicMin(T *to, V value) {
    T old = __atomic_load_n(to, __ATOMIC_SEQ_CST);
    while ((T)value < old &&
           !__atomic_compare_exchange_n(to, &old, (T)value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return old;
}

/* ---- the runtime: one small device ------------------------------------------------------------------------------ */

enum {
    EMULATED_MULTIPROCESSORS = 6, /* blocks that run at the same time */
    EMULATED_SHARED = 232448,     /* bytes, as sm_90 has */
};

typedef enum cudaError {
    cudaSuccess,
    cudaErrorMemoryAllocation,
    cudaErrorInsufficientDriver,
    cudaErrorNoDevice,
    cudaErrorLaunchFailure
} cudaError_t;

typedef void *cudaStream_t;
typedef double *cudaEvent_t; /* milliseconds */

enum { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum { cudaStreamNonBlocking };
enum { cudaEventDisableTiming };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize, cudaFuncAttributeNonPortableClusterSizeAllowed };

struct cudaDeviceProp {
    char name[256];
    int major, minor, multiProcessorCount, cooperativeLaunch;
    size_t totalGlobalMem, sharedMemPerBlockOptin;
};

typedef enum cudaLaunchAttributeID {
    cudaLaunchAttributeClusterDimension,
    cudaLaunchAttributeCooperative,
    cudaLaunchAttributeProgrammaticStreamSerialization
} cudaLaunchAttributeID;

struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    struct {
        uint3 clusterDim;
        int cooperative, programmaticStreamSerializationAllowed;
    } val;
};

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    int numAttrs;
};

/* Counts calls of the runtime. CUDA_FAIL_AT=N: call N, counted from 0, fails, and with CUDA_FAIL_MANY=M those after it
 * up to M of them; CUDA_FAIL_WITH=memory: as an allocation does, else as a lost device. CUDA_FAIL_COUNT: their number,
 * on standard error at the end. */
cudaError_t emulated_call(void);

typedef struct emulated_shape {
    dim3 grid, threads;
    unsigned together; /* blocks that run at a time, and may wait for each other */
    size_t shared;     /* bytes of dynamic shared memory */
} emulated_shape;

/* Runs a kernel to its end. */
void emulated_launch(const emulated_shape *shape, const std::function<void()> &kernel);

#define PC_START(kernel, grid, threads, stream, ...)                                                                   \
    do {                                                                                                               \
        const emulated_shape shape_ = {(grid), (threads), 1, 0};                                                       \
        emulated_launch(&shape_, [&] { kernel(__VA_ARGS__); });                                                        \
        (void)(stream);                                                                                                \
    } while (0)

template <typename... P, typename... A>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...), A... arguments) {
    unsigned together = EMULATED_MULTIPROCESSORS;
    for (int i = 0; i < config->numAttrs; i++) {
        together = config->attrs[i].id == cudaLaunchAttributeClusterDimension ? config->attrs[i].val.clusterDim.x
                   : config->attrs[i].id == cudaLaunchAttributeCooperative    ? config->gridDim.x * config->gridDim.y
                                                                              : together;
    }
    const emulated_shape shape = {config->gridDim, config->blockDim, together, config->dynamicSmemBytes};
    emulated_launch(&shape, [=] { kernel(arguments...); });
    return emulated_call();
}

/* cuda/core/chain.cuh's, for which graphs forget what types arguments have. */
enum { PC_CHAIN_KERNELS = 4 };
struct pc_chain {
    std::function<void()> *kernel[PC_CHAIN_KERNELS];
};

static inline void pc_chain_free(pc_chain *chain) {
    for (int i = 0; i < PC_CHAIN_KERNELS; i++) {
        delete chain->kernel[i];
        chain->kernel[i] = NULL;
    }
}

template <typename... P, typename... A>
static inline cudaError_t pc_chain_set(pc_chain *chain, int i, const cudaLaunchConfig_t *config, bool,
                                       void (*kernel)(P...), A... arguments) {
    delete chain->kernel[i];
    chain->kernel[i] =
        new std::function<void()>([=, shape = emulated_shape{config->gridDim, config->blockDim,
                                                             EMULATED_MULTIPROCESSORS, config->dynamicSmemBytes}] {
            emulated_launch(&shape, [=] { kernel(arguments...); });
        });
    return emulated_call();
}

static inline cudaError_t pc_chain_launch(pc_chain *chain, cudaStream_t) {
    for (int i = 0; i < PC_CHAIN_KERNELS && chain->kernel[i]; i++) {
        (*chain->kernel[i])();
    }
    return emulated_call();
}

struct cudaFuncAttributes {
    size_t sharedSizeBytes;
};
template <typename K> static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, K) {
    attributes->sharedSizeBytes = 0;
    return emulated_call();
}
template <typename K> static inline cudaError_t cudaFuncSetAttribute(K, int, int) {
    return emulated_call();
}

template <typename K>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, K, int, size_t) {
    *blocks = 1;
    return emulated_call();
}

template <typename K>
static inline cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, K, const cudaLaunchConfig_t *config) {
    *clusters = config->attrs[0].val.clusterDim.x <= EMULATED_MULTIPROCESSORS;
    return emulated_call();
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
/* All memory is that of the current device. */
typedef enum cudaMemoryType { cudaMemoryTypeHost = 1, cudaMemoryTypeDevice, cudaMemoryTypeManaged } cudaMemoryType;
typedef struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
} cudaPointerAttributes;
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *memory);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

static inline cudaError_t cudaDeviceSynchronize(void) {
    return cudaSuccess;
}

typedef enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone } cudaStreamCaptureStatus;

static inline cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *status) {
    *status = cudaStreamCaptureStatusNone;
    return emulated_call();
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);

static inline cudaError_t cudaFree(void *memory) {
    free(memory);
    return cudaSuccess;
}

static inline cudaError_t cudaMallocHost(void **memory, size_t bytes) {
    return cudaMalloc(memory, bytes);
}

static inline cudaError_t cudaFreeHost(void *memory) {
    return cudaFree(memory);
}

static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int, cudaStream_t) {
    memcpy(to, from, bytes);
    return emulated_call();
}

static inline cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t) {
    memset(to, value, bytes);
    return emulated_call();
}

static inline cudaError_t cudaEventCreate(cudaEvent_t *event) {
    const cudaError_t error = emulated_call();
    *event = error == cudaSuccess ? (double *)malloc(sizeof(double)) : NULL;
    return error;
}

static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, int) {
    return cudaEventCreate(event);
}

static inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, int) {
    return emulated_call();
}

static inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
    free(event);
    return cudaSuccess;
}

static inline cudaError_t cudaEventSynchronize(cudaEvent_t) {
    return emulated_call();
}

static inline cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    *milliseconds = (float)(*end - *begin);
    return emulated_call();
}

static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, int) {
    *stream = NULL;
    return emulated_call();
}

static inline cudaError_t cudaStreamDestroy(cudaStream_t) {
    return cudaSuccess;
}

static inline cudaError_t cudaGetLastError(void) {
    return emulated_call();
}

static inline const char *cudaGetErrorString(cudaError_t) {
    return "an error of the emulator";
}

static inline cudaError_t cudaDriverGetVersion(int *version) {
    *version = CUDART_VERSION;
    return emulated_call();
}

#endif
