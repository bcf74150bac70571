/* See device_memory.h. */
#include "device_memory.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

static void must(cudaError_t error, const char *call) {
    if (error != cudaSuccess) {
        printf("%s: %s\n", call, cudaGetErrorString(error));
        exit(1);
    }
}
#define MUST(call) must(call, #call)

extern "C" void *device_stream_open(void) {
    cudaStream_t stream;
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return (void *)stream;
}

extern "C" void device_stream_close(void *stream) {
    MUST(cudaStreamDestroy((cudaStream_t)stream));
}

extern "C" void device_stream_wait(void *stream) {
    MUST(cudaStreamSynchronize((cudaStream_t)stream));
}

extern "C" void *device_take(size_t bytes) {
    void *memory = NULL;
    MUST(cudaMalloc(&memory, bytes ? bytes : 1));
    return memory;
}

extern "C" void device_drop(void *memory) {
    MUST(cudaFree(memory));
}

extern "C" void device_up(void *device, const void *host, size_t bytes) {
    MUST(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, NULL));
    MUST(cudaStreamSynchronize(NULL));
}

extern "C" void device_down(void *host, const void *device, size_t bytes) {
    MUST(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, NULL));
    MUST(cudaStreamSynchronize(NULL));
}

extern "C" void device_fill(void *device, int byte, size_t bytes) {
    MUST(cudaMemsetAsync(device, byte, bytes, NULL));
    MUST(cudaStreamSynchronize(NULL));
}

#ifdef __CUDACC__
extern "C" float device_repeat(void *stream, int times, void (*work)(void *state), void *state) {
    cudaStream_t s = (cudaStream_t)stream;
    cudaGraph_t graph;
    cudaGraphExec_t made;
    cudaEvent_t begin, end;
    float took = 0.0f;
    MUST(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    work(state);
    MUST(cudaStreamEndCapture(s, &graph));
    MUST(cudaGraphInstantiate(&made, graph, 0));
    MUST(cudaEventCreate(&begin));
    MUST(cudaEventCreate(&end));
    MUST(cudaGraphLaunch(made, s));
    MUST(cudaEventRecord(begin, s));
    for (int i = 1; i < times; i++) {
        MUST(cudaGraphLaunch(made, s));
    }
    MUST(cudaEventRecord(end, s));
    MUST(cudaEventSynchronize(end));
    MUST(cudaEventElapsedTime(&took, begin, end));
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    MUST(cudaGraphExecDestroy(made));
    MUST(cudaGraphDestroy(graph));
    return times > 1 ? took / (float)(times - 1) : 0.0f;
}
#else
extern "C" float device_repeat(void *stream, int times, void (*work)(void *state), void *state) {
    (void)stream;
    for (int i = 0; i < times; i++) {
        work(state);
    }
    return 0.0f;
}
#endif
