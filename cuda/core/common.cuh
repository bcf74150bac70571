/* Shared by all .cu files: error checks, the device arena, the state of the back end. */
#ifndef PC_COMMON_CUH
#define PC_COMMON_CUH

#include "backend.h"
#include "error.h"

#include <cuda_runtime.h>

/* Runs one CUDA call; on failure records call, place and text in `context` and leaves with its status. */
#define CUDA_TRY(context, call)                                                                                        \
    do {                                                                                                               \
        cudaError_t cuda_try_error_ = (call);                                                                          \
        if (cuda_try_error_ != cudaSuccess) {                                                                          \
            return pc_cuda_fail(context, cuda_try_error_, #call, __FILE__, __LINE__);                                  \
        }                                                                                                              \
    } while (0)

/* Launches a kernel on the context's stream. tests/emulator, which compiles kernels for the CPU, defines PC_START
 * itself. */
#ifdef __CUDACC__
#define PC_START(kernel, grid, threads, stream, ...) kernel<<<(grid), (threads), 0, (stream)>>>(__VA_ARGS__)
#endif
#define PC_LAUNCH(context, kernel, grid, threads, ...)                                                                 \
    do {                                                                                                               \
        PC_START(kernel, grid, threads, pc_cuda_of(context)->stream, __VA_ARGS__);                                     \
        CUDA_TRY(context, cudaGetLastError());                                                                         \
    } while (0)

/* cudaErrorMemoryAllocation becomes PCGPU_ERROR_MEMORY, everything else PCGPU_ERROR_DEVICE. */
pcgpu_status pc_cuda_fail(pcgpu_context *context, cudaError_t error, const char *call, const char *file, int line);
/* `start` of the back end. */
pcgpu_status pc_cuda_start(pcgpu_context *context);

/* cudaGetDevice for CUB; where it fails, the device that it gave this thread before. */
cudaError_t pc_cub_device(int *device);

/* Device memory that is reused between calls. An operation resets the arena, then takes what it needs; blocks that were
 * needed beyond the largest one are merged into a single larger block at the next reset, so that repeated calls of one
 * size allocate nothing. Everything taken is valid until the next reset. */
enum { PC_ARENA_BLOCKS = 32 };

typedef struct pc_arena {
    char *block[PC_ARENA_BLOCKS];
    size_t size[PC_ARENA_BLOCKS];
    int blocks;
    size_t used; /* of the last block */
} pc_arena;

typedef struct pc_cuda {
    int index;
    cudaStream_t stream;
    struct cudaDeviceProp properties;
    pc_arena arena;        /* one operation */
    pc_arena icp_arena;    /* a registration, from icp_target to icp_end */
    pc_arena filter_arena; /* a filter, around its search */
    void *icp;             /* state of a registration in progress, else NULL */
    void *sample_plan;     /* of the last clouds that were sampled, or NULL */
    void *voxels;          /* the table of voxels, kept for the next call, or NULL */
    void *ndt;             /* memory of registrations by ndt, kept between calls, or NULL */
    void *depth;           /* memory of projective registrations, kept between calls, or NULL */
    void *scans;           /* memory of scans that are prepared, kept between calls, or NULL */
} pc_cuda;

static inline pc_cuda *pc_cuda_of(pcgpu_context *context) {
    return (pc_cuda *)context->cuda;
}

pcgpu_status pc_arena_reset(pcgpu_context *context, pc_arena *arena);
/* Resets the arena to one block of at least so many bytes. So a call that takes no more allocates nothing. */
pcgpu_status pc_arena_fit(pcgpu_context *context, pc_arena *arena, size_t bytes);
/* *pointer = `bytes` of device memory, aligned to 256, not initialized. */
pcgpu_status pc_arena_take(pcgpu_context *context, pc_arena *arena, size_t bytes, void **pointer);
void pc_arena_free(pc_arena *arena);

/* Parts of one block of memory, each aligned to 256; without a base only their size is found. */
typedef struct pc_carving {
    char *base;
    size_t used;
} pc_carving;

static inline void *pc_carve(pc_carving *c, size_t bytes) {
    void *at = c->base ? c->base + c->used : NULL;
    c->used += (bytes + 255) / 256 * 256;
    return at;
}

/* Resets the arena to one block for what was measured; then the parts can be carved. */
static inline pcgpu_status pc_carve_block(pcgpu_context *context, pc_arena *arena, pc_carving *c) {
    PC_TRY(pc_arena_fit(context, arena, c->used));
    PC_TRY(pc_arena_take(context, arena, c->used, (void **)&c->base));
    c->used = 0;
    return PCGPU_OK;
}

/* The context works on `stream`; returns the stream of before. */
static inline void *pc_cuda_exchange_stream(pcgpu_context *context, void *stream) {
    const cudaStream_t before = pc_cuda_of(context)->stream;
    pc_cuda_of(context)->stream = (cudaStream_t)stream;
    return before;
}

/* Memory of the host that the device reads and writes; it only grows. */
typedef struct pc_pinned {
    char *memory;
    size_t bytes;
} pc_pinned;

static inline pcgpu_status pc_take_pinned(pcgpu_context *context, pc_pinned *p, size_t bytes) {
    if (bytes > p->bytes) {
        const size_t size = bytes + bytes / 4;
        cudaFreeHost(p->memory);
        *p = pc_pinned{NULL, 0};
        CUDA_TRY(context, cudaMallocHost((void **)&p->memory, size));
        p->bytes = size;
    }
    return PCGPU_OK;
}

/* Copies to or from the device on the context's stream; _down waits for it. */
pcgpu_status pc_cuda_up(pcgpu_context *context, void *device, const void *host, size_t bytes);
pcgpu_status pc_cuda_down(pcgpu_context *context, void *host, const void *device, size_t bytes);
/* ARGUMENT when the memory, if it is not NULL, is not that of the context's device; `what` is in the message. */
pcgpu_status pc_cuda_check_memory(pcgpu_context *context, const void *memory, const char *what);

/* Blocks of `threads` that cover n items, one item per thread, at most 2^31-1 blocks. */
static inline unsigned pc_blocks(int64_t n, int threads) {
    return (unsigned)((n + threads - 1) / threads);
}

/* ---- what features keep in the device's state, released with it ---- */
extern "C" {
void pc_voxelize_end(pcgpu_context *context);
void pc_cuda_icp_end(pcgpu_context *context);
void pc_cuda_ndt_free(pcgpu_context *context);
void pc_cuda_depth_end(pcgpu_context *context);
void pc_cuda_scan_end(pcgpu_context *context);
}

#endif
