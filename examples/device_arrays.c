/* Sampling and voxels of a cloud that is in the memory of a GPU, on a stream of the program, also from a CUDA graph.
 *
 *     cc device_arrays.c $(pkg-config --cflags --libs pcgpu) -I/usr/local/cuda/include -L/usr/local/cuda/lib64 -lcudart
 *     ./a.out scan.bin
 *
 * Exit code 77: there is no GPU. */
#include <cuda_runtime_api.h>
#include <pcgpu/pcgpu.h>
#include <stdio.h>
#include <stdlib.h>

enum { PICKS = 1024, MAX_POINTS = 32, MAX_VOXELS = 16000 };

static void cuda(cudaError_t error) {
    if (error != cudaSuccess) {
        fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
        exit(1);
    }
}

static void pcgpu(pcgpu_context *context, pcgpu_status status) {
    if (status != PCGPU_OK) {
        fprintf(stderr, "pcgpu: %s\n", pcgpu_last_error(context));
        exit(status == PCGPU_ERROR_UNAVAILABLE ? 77 : 1);
    }
}

static void *allocate(size_t bytes) {
    void *memory = NULL;
    cuda(cudaMalloc(&memory, bytes));
    return memory;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "scan.bin";
    pcgpu_settings settings;
    pcgpu_context *context = NULL;
    pcgpu_settings_init(&settings);
    settings.device = PCGPU_DEVICE_CUDA;
    pcgpu(context, pcgpu_open(&settings, &context));

    /* A program of its own has its points in GPU memory already. */
    pcgpu_cloud cloud;
    pcgpu(context, pcgpu_read_file(context, path, NULL, &cloud));
    const size_t bytes = (size_t)cloud.rows * (size_t)cloud.columns * sizeof(float);
    float *points = allocate(bytes);
    cuda(cudaMemcpy(points, cloud.data, bytes, cudaMemcpyHostToDevice));
    cudaStream_t stream;
    cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    pcgpu_sample_params sample;
    pcgpu_sample_params_init(&sample);
    sample.count = PICKS;
    const pcgpu_clouds clouds = {.data = points, .stride = cloud.columns, .count = 1, .rows = cloud.rows};
    const pcgpu_device_picks picks = {.indices = allocate(PICKS * sizeof(int32_t)), .index_bytes = 4};

    pcgpu_voxelize_params voxelize;
    pcgpu_voxelize_params_init(&voxelize);
    const double range[6] = {0.0, -39.68, -3.0, 69.12, 39.68, 1.0}, size[3] = {0.16, 0.16, 4.0};
    for (int k = 0; k < 6; k++) {
        voxelize.range[k] = range[k];
        voxelize.size[k % 3] = size[k % 3];
    }
    voxelize.features = PCGPU_FEATURES_POINTS;
    voxelize.max_points = MAX_POINTS;
    voxelize.max_voxels = MAX_VOXELS;
    const pcgpu_device_voxels voxels = {
        .features = allocate(sizeof(float) * MAX_VOXELS * MAX_POINTS * (size_t)cloud.columns),
        .coords = allocate(sizeof(int32_t) * MAX_VOXELS * 4),
        .counts = allocate(sizeof(int32_t) * MAX_VOXELS),
        .count = allocate(sizeof(int32_t)),
    };

    /* The first pass allocates the memory of the context; the second one is captured, and then replayed. */
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        }
        pcgpu(context, pcgpu_sample_device(context, stream, &clouds, &sample, &picks));
        pcgpu(context, pcgpu_voxelize_device(context, stream, points, cloud.rows, cloud.columns, &voxelize, &voxels));
    }
    cuda(cudaStreamEndCapture(stream, &graph));
    cuda(cudaGraphInstantiateWithFlags(&replay, graph, 0));
    cuda(cudaGraphLaunch(replay, stream));

    int32_t second, count;
    cuda(cudaMemcpyAsync(&second, (int32_t *)picks.indices + 1, sizeof second, cudaMemcpyDeviceToHost, stream));
    cuda(cudaMemcpyAsync(&count, voxels.count, sizeof count, cudaMemcpyDeviceToHost, stream));
    cuda(cudaStreamSynchronize(stream));
    printf("%d picks, the second is record %d; %d voxels\n", PICKS, second, count);

    cuda(cudaGraphExecDestroy(replay));
    cuda(cudaGraphDestroy(graph));
    cuda(cudaStreamDestroy(stream));
    void *const arrays[] = {points, picks.indices, voxels.features, voxels.coords, voxels.counts, voxels.count};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        cuda(cudaFree(arrays[i]));
    }
    pcgpu_cloud_free(&cloud);
    pcgpu_close(context);
    return 0;
}
