/* The CUDA back end's table, its devices, its errors and its memory. */
#include "common.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

pcgpu_status pc_cuda_fail(pcgpu_context *context, cudaError_t error, const char *call, const char *file, int line) {
    cudaGetLastError(); /* a failed launch or allocation must not be reported again by the next call */
    const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    if (error == cudaErrorMemoryAllocation) {
        return pc_fail(context, PCGPU_ERROR_MEMORY,
                       "the GPU's memory is exhausted (%s, %s:%d); use a smaller input or --cpu", call, base, line);
    }
    return pc_fail(context, PCGPU_ERROR_DEVICE, "CUDA failed: %s (%s, %s:%d); try --cpu", cudaGetErrorString(error),
                   call, base, line);
}

/* ---- devices ------------------------------------------------------------------------------------------------- */

static void explain(cudaError_t error, int count, char *why, size_t size) {
    if (!why || size == 0) {
        return;
    }
    if (error == cudaErrorInsufficientDriver) {
        snprintf(why, size,
                 "no NVIDIA driver, or one too old (CUDA %d needs driver 580 or later); install it or use --cpu",
                 CUDART_VERSION / 1000);
    } else if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
        snprintf(why, size, "no CUDA device; use --cpu");
    } else if (error != cudaSuccess) {
        snprintf(why, size, "%s; use --cpu", cudaGetErrorString(error));
    } else {
        why[0] = '\0';
    }
}

static int list_devices(pcgpu_device_info *devices, int capacity, char *why, size_t why_size, int *driver) {
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) {
        cudaGetLastError();
        count = 0;
    }
    explain(error, count, why, why_size);
    if (driver) {
        *driver = 0;
        cudaDriverGetVersion(driver);
    }
    for (int i = 0; i < count && i < capacity; i++) {
        struct cudaDeviceProp p;
        if (cudaGetDeviceProperties(&p, i) != cudaSuccess) {
            memset(&p, 0, sizeof p);
        }
        snprintf(devices[i].name, sizeof devices[i].name, "%.63s", p.name);
        devices[i].major = p.major;
        devices[i].minor = p.minor;
        devices[i].multiprocessors = p.multiProcessorCount;
        devices[i].memory = p.totalGlobalMem;
    }
    return count;
}

static pcgpu_status start_device(pcgpu_context *context, pc_cuda *cuda) {
    CUDA_TRY(context, cudaSetDevice(cuda->index));
    CUDA_TRY(context, cudaGetDeviceProperties(&cuda->properties, cuda->index));
    const int major = cuda->properties.major, minor = cuda->properties.minor;
    if (10 * major + minor < 75) { /* there are no kernels for it */
        return pc_fail(context, PCGPU_ERROR_UNAVAILABLE,
                       "%.63s has compute capability %d.%d, and 7.5 or higher is needed; use --cpu",
                       cuda->properties.name, major, minor);
    }
    CUDA_TRY(context, cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking));
    return PCGPU_OK;
}

pcgpu_status pc_cuda_start(pcgpu_context *context) {
    int count = 0;
    int index = context->settings.cuda_index;
    if (context->cuda) {
        CUDA_TRY(context, cudaSetDevice(index));
        return PCGPU_OK;
    }
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        char why[192];
        cudaGetLastError();
        explain(error, count, why, sizeof why);
        return pc_fail(context, PCGPU_ERROR_UNAVAILABLE, "CUDA is not usable: %s", why);
    }
    if (index < 0 || index >= count) {
        return pc_fail(context, PCGPU_ERROR_UNAVAILABLE, "CUDA device %d does not exist; this machine has 0 to %d",
                       index, count - 1);
    }
    pc_cuda *cuda = (pc_cuda *)calloc(1, sizeof *cuda);
    if (!cuda) {
        return pc_fail_memory(context, sizeof *cuda, "the CUDA back end");
    }
    cuda->index = index;
    pcgpu_status status = start_device(context, cuda);
    if (status != PCGPU_OK) {
        free(cuda);
        return PCGPU_ERROR_UNAVAILABLE;
    }
    context->cuda = cuda;
    snprintf(context->cuda_name, sizeof context->cuda_name, "%.63s", cuda->properties.name);
    return PCGPU_OK;
}

static void stop_device(pcgpu_context *context) {
    pc_cuda *cuda = pc_cuda_of(context);
    if (cuda) {
        pc_cuda_icp_end(context);
        pc_voxelize_end(context);
        pc_cuda_ndt_free(context);
        pc_cuda_depth_end(context);
        pc_cuda_scan_end(context);
        pc_arena_free(&cuda->arena);
        pc_arena_free(&cuda->icp_arena);
        pc_arena_free(&cuda->filter_arena);
        cudaStreamDestroy(cuda->stream);
        free(cuda->sample_plan);
        free(cuda);
        context->cuda = NULL;
    }
}

#define CUDA_OPS(NAME) &pc_cuda_##NAME##_ops,
const pc_backend pc_backend_cuda = {"cuda",        PC_CUDA_ARCHITECTURES, list_devices,
                                    pc_cuda_start, stop_device,           PC_FEATURES(CUDA_OPS)};

cudaError_t pc_cub_device(int *device) {
    static thread_local int known = -1;
    const cudaError_t error = cudaGetDevice(device);
    if (error == cudaSuccess || known < 0) {
        known = error == cudaSuccess ? *device : known;
        return error;
    }
    *device = known;
    return cudaSuccess;
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

static const size_t alignment = 256, smallest_block = 1 << 20;

void pc_arena_free(pc_arena *arena) {
    for (int i = 0; i < arena->blocks; i++) {
        cudaFree(arena->block[i]);
    }
    memset(arena, 0, sizeof *arena);
}

static pcgpu_status add_block(pcgpu_context *context, pc_arena *arena, size_t bytes) {
    if (arena->blocks == PC_ARENA_BLOCKS) {
        return pc_fail(context, PCGPU_ERROR_MEMORY, "the device arena has no block left");
    }
    void *block = NULL;
    CUDA_TRY(context, cudaMalloc(&block, bytes));
    arena->block[arena->blocks] = (char *)block;
    arena->size[arena->blocks++] = bytes;
    arena->used = 0;
    return PCGPU_OK;
}

pcgpu_status pc_arena_reset(pcgpu_context *context, pc_arena *arena) {
    return pc_arena_fit(context, arena, 0);
}

pcgpu_status pc_arena_fit(pcgpu_context *context, pc_arena *arena, size_t bytes) {
    const size_t wanted = (bytes + alignment - 1) / alignment * alignment;
    size_t total = 0;
    CUDA_TRY(context, cudaSetDevice(pc_cuda_of(context)->index));
    for (int i = 0; i < arena->blocks; i++) {
        total += arena->size[i];
    }
    if (arena->blocks > 1 || total < wanted) {
        pc_arena_free(arena);
        PC_TRY(add_block(context, arena, total > wanted ? total : wanted));
    }
    arena->used = 0;
    return PCGPU_OK;
}

pcgpu_status pc_arena_take(pcgpu_context *context, pc_arena *arena, size_t bytes, void **pointer) {
    size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    rounded = rounded ? rounded : alignment;
    int last = arena->blocks - 1;
    if (last < 0 || rounded > arena->size[last] - arena->used) {
        PC_TRY(add_block(context, arena, rounded > smallest_block ? rounded : smallest_block));
        last = arena->blocks - 1;
    }
    *pointer = arena->block[last] + arena->used;
    arena->used += rounded;
    return PCGPU_OK;
}

pcgpu_status pc_cuda_up(pcgpu_context *context, void *device, const void *host, size_t bytes) {
    CUDA_TRY(context, cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, pc_cuda_of(context)->stream));
    return PCGPU_OK;
}

pcgpu_status pc_cuda_check_memory(pcgpu_context *context, const void *memory, const char *what) {
    const int device = pc_cuda_of(context)->index;
    cudaPointerAttributes a = {};
    const cudaError_t error = memory ? cudaPointerGetAttributes(&a, memory) : cudaSuccess;
    const bool there = a.type == cudaMemoryTypeManaged || (a.type == cudaMemoryTypeDevice && a.device == device);
    if (error != cudaSuccess) {
        cudaGetLastError();
    }
    return !memory || (error == cudaSuccess && there)
               ? PCGPU_OK
               : pc_fail(
                     context, PCGPU_ERROR_ARGUMENT,
                     "the memory of %s is not that of CUDA device %d; copy it there, or open a context for its device",
                     what, device);
}

/* The driver copies 8 MB into new memory in 6.5 ms, page by page, and into memory that has its pages in 0.8 ms, on an
 * H200. Linux 5.14 makes pages of all of it at once; on others, and for memory that has them, nothing changes. */
static void make_pages(void *host, size_t bytes) {
#ifdef MADV_POPULATE_WRITE
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), begin = ((size_t)host + page - 1) / page * page,
                 end = ((size_t)host + bytes) / page * page;
    if (end > begin + 16 * page) {
        madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
    }
#endif
}

pcgpu_status pc_cuda_down(pcgpu_context *context, void *host, const void *device, size_t bytes) {
    make_pages(host, bytes);
    CUDA_TRY(context, cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, pc_cuda_of(context)->stream));
    CUDA_TRY(context, cudaStreamSynchronize(pc_cuda_of(context)->stream));
    return PCGPU_OK;
}
