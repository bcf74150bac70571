/* Copies between the host and the device. The driver copies pageable memory by one thread. Large arrays go through two
 * pinned chunks here: the threads of the context fill or empty one while the device copies the other. */
#include "common.cuh"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHUNK = 4 << 20, LARGE = 2 * CHUNK, PIECE = 1 << 18 };

/* A part of a chunk for each thread. */
typedef struct copying {
    char *to;
    const char *from;
} copying;

static void copy_piece(void *state, int64_t begin, int64_t end) {
    const copying *c = (const copying *)state;
    memcpy(c->to + begin, c->from + begin, (size_t)(end - begin));
}

static void copy_by_threads(pcgpu_context *context, void *to, const void *from, size_t bytes) {
    copying c = {(char *)to, (const char *)from};
    pc_run_ranges(context, (int64_t)bytes, PIECE, copy_piece, &c);
}

/* Whether the chunks pay, which are there then. */
static bool takes_chunks(pcgpu_context *context, const void *host, size_t bytes) {
    pc_cuda *cuda = pc_cuda_of(context);
    cudaPointerAttributes a = {};
    if (bytes < LARGE || context->threads < 2 || cudaPointerGetAttributes(&a, host) != cudaSuccess ||
        a.type == cudaMemoryTypeHost) {
        cudaGetLastError();
        return false;
    }
    for (int i = 0; i < 2; i++) {
        if (!cuda->chunk_free[i] &&
            cudaEventCreateWithFlags(&cuda->chunk_free[i], cudaEventDisableTiming) != cudaSuccess) {
            cudaGetLastError();
            return false;
        }
    }
    return cuda->chunks.memory || pc_take_pinned(context, &cuda->chunks, 2 * (size_t)CHUNK) == PCGPU_OK;
}

void pc_cuda_copies_end(pcgpu_context *context) {
    pc_cuda *cuda = pc_cuda_of(context);
    cudaFreeHost(cuda->chunks.memory);
    for (int i = 0; i < 2; i++) {
        if (cuda->chunk_free[i]) {
            cudaEventDestroy(cuda->chunk_free[i]);
        }
    }
}

/* Bytes of the chunk that begins at `at`. */
static size_t chunk_at(size_t at, size_t bytes) {
    return bytes - at < CHUNK ? bytes - at : (size_t)CHUNK;
}

static pcgpu_status up_by_chunks(pcgpu_context *context, char *device, const char *host, size_t bytes) {
    pc_cuda *cuda = pc_cuda_of(context);
    for (size_t at = 0, i = 0; at < bytes; at += CHUNK, i ^= 1) {
        char *chunk = cuda->chunks.memory + i * CHUNK;
        CUDA_TRY(context, cudaEventSynchronize(cuda->chunk_free[i]));
        copy_by_threads(context, chunk, host + at, chunk_at(at, bytes));
        CUDA_TRY(context,
                 cudaMemcpyAsync(device + at, chunk, chunk_at(at, bytes), cudaMemcpyHostToDevice, cuda->stream));
        CUDA_TRY(context, cudaEventRecord(cuda->chunk_free[i], cuda->stream));
    }
    return PCGPU_OK;
}

static pcgpu_status down_by_chunks(pcgpu_context *context, char *host, const char *device, size_t bytes) {
    pc_cuda *cuda = pc_cuda_of(context);
    for (size_t at = 0, i = 0; at < bytes + CHUNK; at += CHUNK, i ^= 1) {
        if (at < bytes) {
            CUDA_TRY(context, cudaEventSynchronize(cuda->chunk_free[i]));
            CUDA_TRY(context, cudaMemcpyAsync(cuda->chunks.memory + i * CHUNK, device + at, chunk_at(at, bytes),
                                              cudaMemcpyDeviceToHost, cuda->stream));
            CUDA_TRY(context, cudaEventRecord(cuda->chunk_free[i], cuda->stream));
        }
        if (at >= CHUNK) { /* the one before it */
            CUDA_TRY(context, cudaEventSynchronize(cuda->chunk_free[i ^ 1]));
            copy_by_threads(context, host + at - CHUNK, cuda->chunks.memory + (i ^ 1) * CHUNK,
                            chunk_at(at - CHUNK, bytes));
        }
    }
    return PCGPU_OK;
}

pcgpu_status pc_cuda_up(pcgpu_context *context, void *device, const void *host, size_t bytes) {
    if (takes_chunks(context, host, bytes)) {
        return up_by_chunks(context, (char *)device, (const char *)host, bytes);
    }
    CUDA_TRY(context, cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, pc_cuda_of(context)->stream));
    return PCGPU_OK;
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
    if (takes_chunks(context, host, bytes)) {
        return down_by_chunks(context, (char *)host, (const char *)device, bytes);
    }
    make_pages(host, bytes);
    CUDA_TRY(context, cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, pc_cuda_of(context)->stream));
    CUDA_TRY(context, cudaStreamSynchronize(pc_cuda_of(context)->stream));
    return PCGPU_OK;
}
