/* Volumes on CUDA.
 *
 * Idea: all data stays on the device. A frame is uploaded, unless its maps were computed there. One kernel walks the
 * rays and inserts the missing blocks into the hash table. New blocks are linked to their neighbours, visible blocks
 * are listed, and their voxels are updated, each by one thread, so that no order matters. The host reads the number of
 * new blocks, since it allocates the memory, while the device continues with them. Where memory was insufficient, the
 * device has done nothing, and is launched again after an allocation. For a view, the first kernel computes, for tiles
 * of 8 x 8 pixels, the range of depths with surface blocks; then one ray per pixel is cast in this range.
 *
 * Memory: 4.2 kB per block, 16 bytes per slot of the table, whose load factor is at most a half, and 4 bytes per pixel
 * of a frame, 24 of a view; with colours 4.1 kB more per block and 3 bytes per pixel. Arrays grow by half, with a
 * copy. */
#include "tsdf.cuh"

#include <stdlib.h>
#include <string.h>

enum { LEAST_SLOTS = 1 << 12, LEAST_BLOCKS = 1 << 9, UPDATING = 4096 };

typedef struct volume {
    pc_volume_slot *slots;
    uint64_t mask;
    uint64_t *keys;          /* half as many as slots, and block 0 */
    bool color;              /* voxels have colours */
    int64_t count, capacity; /* number of blocks without block 0; capacity of the arrays */
    volume_arrays arrays;
    uint32_t *list;        /* the blocks that a frame updates */
    uint32_t *host_counts; /* counters in pinned host memory */
    cudaEvent_t counted;   /* recorded after the copy of the counters */
    /* Buffers of one frame or view: */
    struct {
        void *memory;
        size_t bytes;
    } depth, color_image, inverse, counters, rows, ranges, maps;
    /* Results of pc_cuda_volume_blocks, in host memory: */
    pc_buffer host_keys, host_distances, host_weights, host_neighbours, host_colors;
} volume;

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* Reallocates *array in device memory for `to` items, and copies the first `from` items. */
static pcgpu_status grow(pcgpu_context *context, void **array, size_t from, size_t to) {
    void *more = NULL;
    CUDA_TRY(context, cudaMalloc(&more, to));
    if (from > 0) {
        cudaError_t error = cudaMemcpyAsync(more, *array, from, cudaMemcpyDeviceToDevice, pc_cuda_of(context)->stream);
        if (error != cudaSuccess) {
            cudaFree(more);
            return pc_cuda_fail(context, error, "cudaMemcpyAsync", __FILE__, __LINE__);
        }
        CUDA_TRY(context, cudaStreamSynchronize(pc_cuda_of(context)->stream));
    }
    cudaFree(*array);
    *array = more;
    return PCGPU_OK;
}

/* A buffer of one call, which only grows. */
template <typename B> static pcgpu_status take(pcgpu_context *context, B *buffer, size_t bytes) {
    if (bytes > buffer->bytes) {
        buffer->bytes = 0;
        PC_TRY(grow(context, &buffer->memory, 0, bytes + bytes / 4));
        buffer->bytes = bytes + bytes / 4;
    }
    return PCGPU_OK;
}

/* Grows the arrays for blocks 0 to `blocks`. When one fails, the others are only larger than necessary. */
static pcgpu_status grow_arrays(pcgpu_context *context, volume *v, int64_t blocks) {
    if (blocks <= v->capacity) {
        return PCGPU_OK;
    }
    const int64_t wide = blocks + blocks / 2, capacity = wide > LEAST_BLOCKS ? wide : (int64_t)LEAST_BLOCKS;
    const size_t from = v->capacity > 0 ? (size_t)v->count + 1 : 0, to = (size_t)capacity + 1;
    const size_t values = PC_VOLUME_VOXELS * sizeof(float), links = PC_VOLUME_NEIGHBOURS * sizeof(int32_t);
    PC_TRY(grow(context, (void **)&v->arrays.distances, from * values, to * values));
    PC_TRY(grow(context, (void **)&v->arrays.weights, from * values, to * values));
    PC_TRY(grow(context, (void **)&v->arrays.neighbours, from * links, to * links));
    if (v->color) {
        const size_t colors = PC_VOLUME_VOXELS * PC_VOLUME_COLORS * sizeof *v->arrays.colors;
        PC_TRY(grow(context, (void **)&v->arrays.colors, from * colors, to * colors));
    }
    PC_TRY(grow(context, (void **)&v->arrays.behind, from, to));
    PC_TRY(grow(context, (void **)&v->arrays.active, 0, to));
    PC_TRY(grow(context, (void **)&v->list, 0, to * sizeof *v->list));
    v->capacity = capacity;
    return PCGPU_OK;
}

/* most: maximum number of new blocks. */
static volume_table table_of(const volume *v, int64_t most) {
    const volume_table table = {v->slots,
                                v->mask,
                                v->keys,
                                (uint32_t)v->count + 1,
                                (uint32_t)((v->mask + 1) / 2 - (uint64_t)v->count),
                                (uint32_t)(most > 0 ? most : 0),
                                (uint32_t *)v->counters.memory};
    return table;
}

/* Rebuilds the table from the existing blocks, without the entries of a failed frame. */
static pcgpu_status refill(pcgpu_context *context, volume *v) {
    const uint64_t slots = v->mask + 1;
    PC_LAUNCH(context, volume_clear_kernel, pc_blocks((int64_t)slots, VOLUME_THREADS), VOLUME_THREADS, v->slots, slots);
    if (v->count > 0) {
        PC_LAUNCH(context, volume_fill_kernel, pc_blocks(v->count, VOLUME_THREADS), VOLUME_THREADS, table_of(v, 0),
                  (uint32_t)v->count);
    }
    return PCGPU_OK;
}

static pcgpu_status grow_table(pcgpu_context *context, volume *v, uint64_t slots) {
    pc_volume_slot *table = NULL;
    CUDA_TRY(context, cudaMalloc((void **)&table, slots * sizeof *table));
    pcgpu_status status = grow(context, (void **)&v->keys, v->slots ? ((size_t)v->count + 1) * sizeof *v->keys : 0,
                               (slots / 2 + 1) * sizeof *v->keys);
    if (status != PCGPU_OK) {
        cudaFree(table);
        return status;
    }
    cudaFree(v->slots);
    v->slots = table;
    v->mask = slots - 1;
    return refill(context, v);
}

/* ---- opening and closing ---------------------------------------------------------------------------------------- */

static pcgpu_status make_empty(pcgpu_context *context, volume *v) {
    CUDA_TRY(context, cudaSetDevice(pc_cuda_of(context)->index));
    CUDA_TRY(context, cudaMallocHost((void **)&v->host_counts, VOLUME_COUNTERS * sizeof *v->host_counts));
    CUDA_TRY(context, cudaEventCreateWithFlags(&v->counted, cudaEventDisableTiming));
    PC_TRY(take(context, &v->counters, VOLUME_COUNTERS * sizeof(uint32_t) + sizeof(unsigned long long)));
    PC_TRY(grow_table(context, v, LEAST_SLOTS));
    PC_TRY(grow_arrays(context, v, LEAST_BLOCKS));
    PC_LAUNCH(context, volume_none_kernel, 1, VOLUME_THREADS, table_of(v, 0), v->arrays);
    CUDA_TRY(context, cudaStreamSynchronize(pc_cuda_of(context)->stream));
    return PCGPU_OK;
}

static pcgpu_status pc_cuda_volume_open(pcgpu_context *context, bool color, void **state) {
    volume *v = (volume *)calloc(1, sizeof *v);
    *state = v;
    if (!v) {
        return pc_fail_memory(context, sizeof *v, "a volume");
    }
    v->color = color;
    return make_empty(context, v);
}

static void pc_cuda_volume_close(pcgpu_context *context, void *state) {
    volume *v = (volume *)state;
    if (v) {
        cudaSetDevice(pc_cuda_of(context)->index);
        cudaStreamSynchronize(pc_cuda_of(context)->stream); /* the last frame may still be running */
        void *const device[] = {v->slots,
                                v->keys,
                                v->arrays.distances,
                                v->arrays.weights,
                                v->arrays.neighbours,
                                v->arrays.behind,
                                v->arrays.active,
                                v->depth.memory,
                                v->inverse.memory,
                                v->list,
                                v->counters.memory,
                                v->rows.memory,
                                v->ranges.memory,
                                v->maps.memory,
                                v->arrays.colors,
                                v->color_image.memory};
        for (size_t i = 0; i < sizeof device / sizeof device[0]; i++) {
            cudaFree(device[i]);
        }
        cudaFreeHost(v->host_counts);
        if (v->counted) {
            cudaEventDestroy(v->counted);
        }
        free(v->host_keys.memory);
        free(v->host_distances.memory);
        free(v->host_weights.memory);
        free(v->host_neighbours.memory);
        free(v->host_colors.memory);
        free(v);
    }
}

/* ---- fusion ----------------------------------------------------------------------------------------------------- */

/* Inserts the blocks that the frame needs into the table, and counts the new ones. */
static pcgpu_status find_new(pcgpu_context *context, volume *v, const pc_volume_job *job, const uint16_t *depth) {
    const size_t bytes = VOLUME_COUNTERS * sizeof(uint32_t);
    const dim3 grid(pc_blocks(job->view.width, VOLUME_THREADS), (unsigned)job->view.height);
    const cudaStream_t stream = pc_cuda_of(context)->stream;
    pc_volume_job on_device = *job;
    on_device.depth = depth;
    CUDA_TRY(context, cudaMemsetAsync(v->counters.memory, 0, bytes, stream));
    PC_LAUNCH(context, volume_allocate_kernel, grid, VOLUME_THREADS, on_device, table_of(v, 0),
              (float *)v->inverse.memory);
    CUDA_TRY(context, cudaMemcpyAsync(v->host_counts, v->counters.memory, bytes, cudaMemcpyDeviceToHost, stream));
    CUDA_TRY(context, cudaEventRecord(v->counted, stream));
    return PCGPU_OK;
}

/* Initializes the new blocks and updates all blocks that the camera may see; does nothing when more than `most` are
 * new. */
static pcgpu_status update(pcgpu_context *context, volume *v, const pc_volume_job *job, int64_t most) {
    const uint8_t *color = job->color ? (const uint8_t *)v->color_image.memory : NULL;
    const pc_volume_frame frame = {job->view, (const float *)v->inverse.memory, color};
    const volume_table table = table_of(v, most);
    const int64_t blocks = v->count + most;
    if (blocks < 1) {
        return PCGPU_OK;
    }
    if (most > 0) {
        PC_LAUNCH(context, volume_new_kernel, (unsigned)(most < VOLUME_FILLING ? most : (int64_t)VOLUME_FILLING),
                  VOLUME_THREADS, table, v->arrays);
    }
    PC_LAUNCH(context, volume_seen_kernel, pc_blocks(blocks, VOLUME_THREADS), VOLUME_THREADS, job->view, table,
              v->list);
    const unsigned grid = (unsigned)(blocks < UPDATING ? blocks : (int64_t)UPDATING);
    if (color) {
        PC_LAUNCH(context, volume_update_kernel<true>, grid, VOLUME_THREADS, frame, v->keys, v->list, table.counters,
                  v->arrays);
    } else {
        PC_LAUNCH(context, volume_update_kernel<false>, grid, VOLUME_THREADS, frame, v->keys, v->list, table.counters,
                  v->arrays);
    }
    return PCGPU_OK;
}

/* The host waits only for the number of new blocks. */
static pcgpu_status fuse(pcgpu_context *context, volume *v, const pc_volume_job *job, const uint16_t *depth) {
    const int64_t allowed = job->max_blocks - v->count, capacity = v->capacity - v->count;
    const int64_t most = capacity < allowed ? capacity : allowed;
    for (;;) {
        PC_TRY(find_new(context, v, job, depth));
        PC_TRY(update(context, v, job, most));
        CUDA_TRY(context, cudaEventSynchronize(v->counted));
        if (!v->host_counts[COUNT_FULL]) {
            break;
        }
        PC_TRY(grow_table(context, v, 4 * (v->mask + 1)));
    }
    const int64_t count = v->host_counts[COUNT_NEW];
    if (count > allowed) {
        return pc_volume_full(context, v->count + count, job->max_blocks);
    }
    if (count > most) {
        PC_TRY(grow_arrays(context, v, v->count + count));
        PC_TRY(update(context, v, job, count));
    }
    v->count += count;
    return PCGPU_OK;
}

/* The image on the device: that of its maps, or a transfer; and the colours. */
static pcgpu_status take_depth(pcgpu_context *context, volume *v, const pc_volume_job *job, const uint16_t **depth) {
    const size_t bytes = (size_t)job->view.width * (size_t)job->view.height * sizeof **depth;
    *depth = job->frame ? job->frame->image : NULL;
    if (!*depth) {
        PC_TRY(take(context, &v->depth, bytes));
        PC_TRY(pc_cuda_up(context, v->depth.memory, job->depth, bytes));
        *depth = (const uint16_t *)v->depth.memory;
    }
    if (job->color) {
        const size_t colors = 3 * (size_t)job->view.width * (size_t)job->view.height;
        PC_TRY(take(context, &v->color_image, colors));
        PC_TRY(pc_cuda_up(context, v->color_image.memory, job->color, colors));
    }
    return PCGPU_OK;
}

static pcgpu_status pc_cuda_volume_integrate(pcgpu_context *context, void *state, pc_volume_job *job) {
    volume *v = (volume *)state;
    const uint16_t *depth = NULL;
    CUDA_TRY(context, cudaSetDevice(pc_cuda_of(context)->index));
    PC_TRY(take(context, &v->inverse, (size_t)job->view.width * (size_t)job->view.height * sizeof(float)));
    PC_TRY(take_depth(context, v, job, &depth));
    pcgpu_status status = fuse(context, v, job, depth);
    if (status != PCGPU_OK) {
        refill(context, v); /* if this fails, too, the device is unusable */
        return status;
    }
    job->new_blocks = v->host_counts[COUNT_NEW];
    job->unreachable = v->host_counts[COUNT_UNREACHABLE];
    job->updated_blocks = 0;
    if (job->counts_updated) {
        PC_TRY(pc_cuda_down(context, v->host_counts, v->counters.memory, VOLUME_COUNTERS * sizeof *v->host_counts));
        job->updated_blocks = v->host_counts[COUNT_UPDATED];
    }
    job->blocks = v->count;
    job->bytes =
        (int64_t)((size_t)(v->capacity + 1) * (PC_VOLUME_VOXELS * (v->color ? 16 : 8) + PC_VOLUME_NEIGHBOURS * 4 + 6) +
                  (v->mask + 1) * (sizeof *v->slots + sizeof *v->keys / 2));
    return PCGPU_OK;
}

/* ---- ray casting ------------------------------------------------------------------------------------------------ */

static pcgpu_status cast(pcgpu_context *context, volume *v, const pc_volume_view *view, bool normals, pc_maps *device) {
    const size_t values = 3 * (size_t)view->width * (size_t)view->height;
    const uint32_t across = pc_blocks(view->width, PC_VOLUME_TILE), down = pc_blocks(view->height, PC_VOLUME_TILE);
    CUDA_TRY(context, cudaSetDevice(pc_cuda_of(context)->index));
    PC_TRY(take(context, &v->rows, PC_VOLUME_ROWS * sizeof(uint64_t)));
    PC_TRY(take(context, &v->ranges, 2 * (size_t)across * down * sizeof(uint32_t)));
    PC_TRY(take(context, &v->maps, 2 * values * sizeof(float)));
    uint64_t *rows = (uint64_t *)v->rows.memory;
    uint32_t *ranges = (uint32_t *)v->ranges.memory;
    unsigned long long *begun = (unsigned long long *)((uint32_t *)v->counters.memory + VOLUME_COUNTERS);
    const int64_t tiles = (int64_t)across * down, least = PC_VOLUME_ROWS;
    const int64_t larger = tiles > least ? tiles : least, most = v->count + 1 > larger ? v->count + 1 : larger;
    *device = pc_maps{view->width, view->height, (float *)v->maps.memory,
                      normals ? (float *)v->maps.memory + values : NULL, begun};
    PC_LAUNCH(context, volume_active_kernel, pc_blocks(most, VOLUME_THREADS), VOLUME_THREADS, v->arrays,
              (uint32_t)v->count, ranges, (uint32_t)tiles, rows, begun);
    if (v->count > 0) {
        PC_LAUNCH(context, volume_ranges_kernel, pc_blocks(v->count * VOLUME_WARP, VOLUME_THREADS), VOLUME_THREADS,
                  *view, v->keys, v->arrays.active, (uint32_t)v->count, ranges, rows);
    }
    const pc_volume_grid grid = {v->slots, v->mask,          v->keys, v->arrays.distances, v->arrays.weights,
                                 NULL,     v->arrays.active, rows,    v->arrays.neighbours};
    const dim3 blocks((across + 1) / 2, down);
    if (normals) {
        PC_LAUNCH(context, volume_cast_kernel<true>, blocks, VOLUME_THREADS, grid, *view, ranges, device->vertices,
                  device->normals);
    } else {
        PC_LAUNCH(context, volume_cast_kernel<false>, blocks, VOLUME_THREADS, grid, *view, ranges, device->vertices,
                  device->normals);
    }
    return PCGPU_OK;
}

static pcgpu_status pc_cuda_volume_raycast(pcgpu_context *context, void *state, const struct pc_volume_view *view,
                                           const struct pc_maps *maps) {
    const size_t bytes = 3 * (size_t)view->width * (size_t)view->height * sizeof(float);
    pc_maps device;
    PC_TRY(cast(context, (volume *)state, view, true, &device));
    PC_TRY(pc_cuda_down(context, maps->vertices, device.vertices, bytes));
    return pc_cuda_down(context, maps->normals, device.normals, bytes);
}

static pcgpu_status pc_cuda_volume_maps(pcgpu_context *context, void *state, const struct pc_volume_view *view,
                                        struct pc_maps *maps) {
    return cast(context, (volume *)state, view, false, maps);
}

/* ---- the whole volume ------------------------------------------------------------------------------------------- */

static pcgpu_status bring(pcgpu_context *context, pc_buffer *buffer, const void *device, size_t bytes) {
    void *host = pc_buffer_take(buffer, bytes, false);
    return host ? pc_cuda_down(context, host, device, bytes) : pc_fail_memory(context, bytes, "the blocks of a volume");
}

/* Without the table, since surface extraction uses the neighbours. */
static pcgpu_status pc_cuda_volume_blocks(pcgpu_context *context, void *state, struct pc_volume_blocks *blocks) {
    volume *v = (volume *)state;
    const size_t n = (size_t)v->count + 1, values = n * PC_VOLUME_VOXELS * sizeof(float);
    CUDA_TRY(context, cudaSetDevice(pc_cuda_of(context)->index));
    PC_TRY(bring(context, &v->host_keys, v->keys, n * sizeof *v->keys));
    PC_TRY(bring(context, &v->host_distances, v->arrays.distances, values));
    PC_TRY(bring(context, &v->host_weights, v->arrays.weights, values));
    PC_TRY(bring(context, &v->host_neighbours, v->arrays.neighbours, n * PC_VOLUME_NEIGHBOURS * sizeof(int32_t)));
    if (v->color) {
        PC_TRY(bring(context, &v->host_colors, v->arrays.colors,
                     n * PC_VOLUME_VOXELS * PC_VOLUME_COLORS * sizeof *v->arrays.colors));
    }
    memset(blocks, 0, sizeof *blocks);
    blocks->grid.keys = (const uint64_t *)v->host_keys.memory;
    blocks->grid.distances = (const float *)v->host_distances.memory;
    blocks->grid.weights = (const float *)v->host_weights.memory;
    blocks->grid.colors = (const uint16_t *)v->host_colors.memory;
    blocks->grid.neighbours = (const int32_t *)v->host_neighbours.memory;
    blocks->count = v->count;
    return PCGPU_OK;
}

const pc_tsdf_ops pc_cuda_tsdf_ops = {pc_cuda_volume_open,    pc_cuda_volume_close, pc_cuda_volume_integrate,
                                      pc_cuda_volume_raycast, pc_cuda_volume_maps,  pc_cuda_volume_blocks};
