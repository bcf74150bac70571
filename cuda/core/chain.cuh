/* Kernels that follow each other and are launched together, as a graph: the device starts them sooner than one by one
 * from a stream. Each may start while the one before it ends, as ptx.cuh has it. tests/emulator has its own. */
#ifndef PC_CHAIN_CUH
#define PC_CHAIN_CUH

#include <cuda_runtime.h>

#ifdef __CUDACC__

enum { PC_CHAIN_KERNELS = 4 };

/* Zeros: nothing yet. */
typedef struct pc_chain {
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaGraphNode_t node[PC_CHAIN_KERNELS];
} pc_chain;

static inline void pc_chain_free(pc_chain *chain) {
    if (chain->ready) {
        cudaGraphExecDestroy(chain->ready);
    }
    if (chain->graph) {
        cudaGraphDestroy(chain->graph);
    }
    *chain = pc_chain{};
}

/* Kernel i comes after kernel i - 1. */
static inline cudaError_t pc_chain_link(pc_chain *chain, int i, bool overlap) {
#if CUDART_VERSION >= 12030
    cudaGraphEdgeData edge = {};
    if (overlap) {
        edge.from_port = cudaGraphKernelNodePortProgrammatic;
        edge.type = cudaGraphDependencyTypeProgrammatic;
    }
#if CUDART_VERSION >= 13000
    return cudaGraphAddDependencies(chain->graph, &chain->node[i - 1], &chain->node[i], &edge, 1);
#else
    return cudaGraphAddDependencies_v2(chain->graph, &chain->node[i - 1], &chain->node[i], &edge, 1);
#endif
#else
    (void)overlap;
    return cudaGraphAddDependencies(chain->graph, &chain->node[i - 1], &chain->node[i], 1);
#endif
}

/* Makes a kernel with these arguments the i-th of the chain, for the first time in order, later with other arguments.
 * overlap: it may start while the one before it ends; from sm_90. */
template <typename... P, typename... A>
static inline cudaError_t pc_chain_set(pc_chain *chain, int i, const cudaLaunchConfig_t *config, bool overlap,
                                       void (*kernel)(P...), A... arguments) {
    void *list[] = {(void *)&arguments...};
    cudaKernelNodeParams params = {};
    params.func = (void *)kernel;
    params.gridDim = config->gridDim;
    params.blockDim = config->blockDim;
    params.sharedMemBytes = (unsigned)config->dynamicSmemBytes;
    params.kernelParams = list;
    if (chain->ready) {
        return cudaGraphExecKernelNodeSetParams(chain->ready, chain->node[i], &params);
    }
    cudaError_t error = chain->graph ? cudaSuccess : cudaGraphCreate(&chain->graph, 0);
    error = error == cudaSuccess ? cudaGraphAddKernelNode(&chain->node[i], chain->graph, NULL, 0, &params) : error;
    return error == cudaSuccess && i > 0 ? pc_chain_link(chain, i, overlap) : error;
}

/* What has been set stays set. */
static inline cudaError_t pc_chain_launch(pc_chain *chain, cudaStream_t stream) {
    const cudaError_t error = chain->ready ? cudaSuccess : cudaGraphInstantiate(&chain->ready, chain->graph, 0);
    return error == cudaSuccess ? cudaGraphLaunch(chain->ready, stream) : error;
}

#endif

#endif
