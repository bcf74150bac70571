/* Launches with an attribute, and kernels whose blocks wait for each other. */
#ifndef PC_LAUNCH_CUH
#define PC_LAUNCH_CUH

#include "common.cuh"

/* A launch on the context's stream; `attribute` must outlive it. */
static inline cudaLaunchConfig_t pc_launch_config(pcgpu_context *context, unsigned blocks, int threads, size_t shared,
                                                  cudaLaunchAttribute *attribute) {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = shared;
    config.stream = pc_cuda_of(context)->stream;
    config.attrs = attribute;
    config.numAttrs = 1;
    return config;
}

static inline cudaLaunchAttribute pc_cooperative(void) {
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    return attribute;
}

/* Launches a kernel whose blocks wait for each other. */
template <typename... P, typename... A>
static inline pcgpu_status pc_launch_cooperative(pcgpu_context *context, unsigned blocks, int threads,
                                                 void (*kernel)(P...), const A &...arguments) {
    cudaLaunchAttribute attribute = pc_cooperative();
    const cudaLaunchConfig_t config = pc_launch_config(context, blocks, threads, 0, &attribute);
    CUDA_TRY(context, cudaLaunchKernelEx(&config, kernel, arguments...));
    return PCGPU_OK;
}

/* *blocks: how many of such a kernel run at the same time; 1 where none may wait. */
template <typename... P>
static inline pcgpu_status pc_resident_blocks(pcgpu_context *context, void (*kernel)(P...), int threads, int *blocks) {
    const struct cudaDeviceProp *p = &pc_cuda_of(context)->properties;
    int per_multiprocessor = 0;
    CUDA_TRY(context, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, threads, 0));
    *blocks = p->cooperativeLaunch ? per_multiprocessor * p->multiProcessorCount : 1;
    return PCGPU_OK;
}

#endif
