/* Volumes on CUDA.
 *
 * Idea: everything stays on the device. A frame is uploaded; one kernel walks the rays and puts the blocks that are
 * missing into the hash table; the host then learns how many there are, since it owns the memory: that is the one wait
 * of a frame before its end. New blocks are linked to their neighbours, blocks in sight listed, and their voxels
 * updated, each by one thread, so that no order matters. A view first gets, for tiles of 8 x 8 pixels, the depths
 * between which blocks have a surface, then a ray a pixel between them.
 *
 * Memory: 4.2 kB a block, 16 bytes a slot of the table, which is at most half full, and 4 bytes a pixel of a frame, 24
 * of a view. Arrays grow by half, by a copy. */
#include "cuda_volume.h"
#include "volume.cuh"

#include <stdlib.h>
#include <string.h>

enum { LEAST_SLOTS = 1 << 12, LEAST_BLOCKS = 1 << 9, UPDATING = 4096 };

typedef struct volume {
    pc_volume_slot *slots;
    uint64_t mask;
    uint64_t *keys;      /* as many as half the slots, and block 0 */
    int64_t count, room; /* blocks, without block 0; and as many as the arrays hold */
    volume_arrays arrays;
    /* Of one frame or view: */
    struct {
        void *memory;
        size_t bytes;
    } depth, inverse, list, counters, ranges, maps;
    /* Of pc_cuda_volume_blocks, in host memory: */
    pc_buffer host_keys, host_distances, host_weights, host_neighbours;
} volume;

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* *array = device memory for `to` items with the first `from` of what was there. */
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

/* Memory of one call, which only grows. */
template <typename B> static pcgpu_status take(pcgpu_context *context, B *buffer, size_t bytes) {
    if (bytes > buffer->bytes) {
        buffer->bytes = 0;
        PC_TRY(grow(context, &buffer->memory, 0, bytes + bytes / 4));
        buffer->bytes = bytes + bytes / 4;
    }
    return PCGPU_OK;
}

/* Arrays for blocks 0 to `blocks`. When one cannot grow, those that have are only larger than need be. */
static pcgpu_status grow_arrays(pcgpu_context *context, volume *v, int64_t blocks) {
    if (blocks <= v->room) {
        return PCGPU_OK;
    }
    const int64_t wide = blocks + blocks / 2, room = wide > LEAST_BLOCKS ? wide : (int64_t)LEAST_BLOCKS;
    const size_t from = v->room > 0 ? (size_t)v->count + 1 : 0, to = (size_t)room + 1;
    const size_t values = PC_VOLUME_VOXELS * sizeof(float), links = PC_VOLUME_NEIGHBOURS * sizeof(int32_t);
    PC_TRY(grow(context, (void **)&v->arrays.distances, from * values, to * values));
    PC_TRY(grow(context, (void **)&v->arrays.weights, from * values, to * values));
    PC_TRY(grow(context, (void **)&v->arrays.neighbours, from * links, to * links));
    PC_TRY(grow(context, (void **)&v->arrays.behind, from, to));
    PC_TRY(grow(context, (void **)&v->arrays.active, 0, to));
    v->room = room;
    return PCGPU_OK;
}

static volume_table table_of(const volume *v) {
    const volume_table table = {v->slots,
                                v->mask,
                                v->keys,
                                (uint32_t)v->count + 1,
                                (uint32_t)((v->mask + 1) / 2 - (uint64_t)v->count),
                                (uint32_t *)v->counters.memory};
    return table;
}

/* Fills the table anew with the blocks that there are: what a frame that failed had put into it is gone. */
static pcgpu_status refill(pcgpu_context *context, volume *v) {
    const uint64_t slots = v->mask + 1;
    PC_LAUNCH(context, volume_clear_kernel, pc_blocks((int64_t)slots, VOLUME_THREADS), VOLUME_THREADS, v->slots, slots);
    if (v->count > 0) {
        PC_LAUNCH(context, volume_fill_kernel, pc_blocks(v->count, VOLUME_THREADS), VOLUME_THREADS, table_of(v),
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
    PC_TRY(take(context, &v->counters, VOLUME_COUNTERS * sizeof(uint32_t)));
    PC_TRY(grow_table(context, v, LEAST_SLOTS));
    PC_TRY(grow_arrays(context, v, LEAST_BLOCKS));
    volume_table table = table_of(v);
    table.first = 0; /* block 0 has no values */
    PC_LAUNCH(context, volume_new_kernel, 1, VOLUME_THREADS, table, v->arrays);
    CUDA_TRY(context, cudaStreamSynchronize(pc_cuda_of(context)->stream));
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_volume_open(pcgpu_context *context, void **state) {
    volume *v = (volume *)calloc(1, sizeof *v);
    *state = v;
    return v ? make_empty(context, v) : pc_fail_memory(context, sizeof *v, "a volume");
}

extern "C" void pc_cuda_volume_close(pcgpu_context *context, void *state) {
    volume *v = (volume *)state;
    (void)context;
    if (v) {
        void *const device[] = {
            v->slots,           v->keys,          v->arrays.distances, v->arrays.weights, v->arrays.neighbours,
            v->arrays.behind,   v->arrays.active, v->depth.memory,     v->inverse.memory, v->list.memory,
            v->counters.memory, v->ranges.memory, v->maps.memory};
        for (size_t i = 0; i < sizeof device / sizeof device[0]; i++) {
            cudaFree(device[i]);
        }
        free(v->host_keys.memory);
        free(v->host_distances.memory);
        free(v->host_weights.memory);
        free(v->host_neighbours.memory);
        free(v);
    }
}

/* ---- fusion ----------------------------------------------------------------------------------------------------- */

/* Counts the blocks that the frame needs and puts them into the table, which grows until it holds them. */
static pcgpu_status find_new(pcgpu_context *context, volume *v, pc_volume_job *job,
                             uint32_t counters[VOLUME_COUNTERS]) {
    pc_volume_job on_device = *job;
    const dim3 grid(pc_blocks(job->view.width, VOLUME_THREADS), (unsigned)job->view.height);
    on_device.depth = (const uint16_t *)v->depth.memory;
    for (;;) {
        CUDA_TRY(context, cudaMemsetAsync(v->counters.memory, 0, VOLUME_COUNTERS * sizeof *counters,
                                          pc_cuda_of(context)->stream));
        PC_LAUNCH(context, volume_allocate_kernel, grid, VOLUME_THREADS, on_device, table_of(v),
                  (float *)v->inverse.memory);
        PC_TRY(pc_cuda_down(context, counters, v->counters.memory, VOLUME_COUNTERS * sizeof *counters));
        if (!counters[COUNT_FULL]) {
            return PCGPU_OK;
        }
        PC_TRY(grow_table(context, v, 4 * (v->mask + 1)));
    }
}

static pcgpu_status update(pcgpu_context *context, volume *v, pc_volume_job *job) {
    const pc_volume_frame frame = {job->view, (const float *)v->inverse.memory};
    uint32_t *list = (uint32_t *)v->list.memory, *counters = (uint32_t *)v->counters.memory, updated;
    if (v->count == 0) {
        job->updated_blocks = 0;
        return PCGPU_OK;
    }
    PC_LAUNCH(context, volume_seen_kernel, pc_blocks(v->count, VOLUME_THREADS), VOLUME_THREADS, job->view, v->keys,
              (uint32_t)v->count, list, counters);
    PC_LAUNCH(context, volume_update_kernel, (unsigned)(v->count < UPDATING ? v->count : (int64_t)UPDATING),
              VOLUME_THREADS, frame, v->keys, list, counters, v->arrays);
    PC_TRY(pc_cuda_down(context, &updated, counters + COUNT_UPDATED, sizeof updated));
    job->updated_blocks = updated;
    return PCGPU_OK;
}

/* Of a frame whose blocks are in the table. */
static pcgpu_status add_new(pcgpu_context *context, volume *v, const pc_volume_job *job, int64_t count) {
    if (v->count + count > job->max_blocks) {
        return pc_volume_full(context, v->count + count, job->max_blocks);
    }
    PC_TRY(grow_arrays(context, v, v->count + count));
    PC_TRY(take(context, &v->list, ((size_t)(v->count + count) + 1) * sizeof(uint32_t)));
    if (count > 0) {
        PC_LAUNCH(context, volume_new_kernel, (unsigned)count, VOLUME_THREADS, table_of(v), v->arrays);
    }
    v->count += count;
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_volume_integrate(pcgpu_context *context, void *state, pc_volume_job *job) {
    volume *v = (volume *)state;
    const size_t pixels = (size_t)job->view.width * (size_t)job->view.height;
    uint32_t counters[VOLUME_COUNTERS];
    CUDA_TRY(context, cudaSetDevice(pc_cuda_of(context)->index));
    PC_TRY(take(context, &v->depth, pixels * sizeof(uint16_t)));
    PC_TRY(take(context, &v->inverse, pixels * sizeof(float)));
    PC_TRY(pc_cuda_up(context, v->depth.memory, job->depth, pixels * sizeof(uint16_t)));
    pcgpu_status status = find_new(context, v, job, counters);
    status = status == PCGPU_OK ? add_new(context, v, job, counters[COUNT_NEW]) : status;
    if (status != PCGPU_OK) {
        refill(context, v); /* when that fails, too, the device is lost */
        return status;
    }
    PC_TRY(update(context, v, job));
    job->new_blocks = counters[COUNT_NEW];
    job->unreachable = counters[COUNT_UNREACHABLE];
    job->blocks = v->count;
    job->bytes = (int64_t)((size_t)(v->room + 1) * (PC_VOLUME_VOXELS * 8 + PC_VOLUME_NEIGHBOURS * 4 + 2) +
                           (v->mask + 1) * (sizeof *v->slots + sizeof *v->keys / 2));
    return PCGPU_OK;
}

/* ---- ray casting ------------------------------------------------------------------------------------------------ */

extern "C" pcgpu_status pc_cuda_volume_maps(pcgpu_context *context, void *state, const struct pc_volume_view *view,
                                            struct pc_maps *device) {
    volume *v = (volume *)state;
    const size_t values = 3 * (size_t)view->width * (size_t)view->height;
    const uint32_t across = pc_blocks(view->width, PC_VOLUME_TILE), down = pc_blocks(view->height, PC_VOLUME_TILE);
    CUDA_TRY(context, cudaSetDevice(pc_cuda_of(context)->index));
    PC_TRY(take(context, &v->ranges, 2 * (size_t)across * down * sizeof(uint32_t)));
    PC_TRY(take(context, &v->maps, 2 * values * sizeof(float)));
    uint32_t *ranges = (uint32_t *)v->ranges.memory;
    *device = pc_maps{view->width, view->height, (float *)v->maps.memory, (float *)v->maps.memory + values};
    PC_LAUNCH(context, volume_active_kernel, pc_blocks(v->count + 1, VOLUME_THREADS), VOLUME_THREADS, v->arrays,
              (uint32_t)v->count);
    PC_LAUNCH(context, volume_no_ranges_kernel, pc_blocks((int64_t)across * down, VOLUME_THREADS), VOLUME_THREADS,
              ranges, across * down);
    if (v->count > 0) {
        PC_LAUNCH(context, volume_ranges_kernel, pc_blocks(v->count * VOLUME_WARP, VOLUME_THREADS), VOLUME_THREADS,
                  *view, v->keys, v->arrays.active, (uint32_t)v->count, ranges);
    }
    const pc_volume_grid grid = {
        v->slots, v->mask, v->keys, v->arrays.distances, v->arrays.weights, v->arrays.active, v->arrays.neighbours};
    PC_LAUNCH(context, volume_cast_kernel, dim3((across + 1) / 2, down), VOLUME_THREADS, grid, *view, ranges,
              device->vertices, device->normals);
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_volume_raycast(pcgpu_context *context, void *state, const struct pc_volume_view *view,
                                               const struct pc_maps *maps) {
    const size_t bytes = 3 * (size_t)view->width * (size_t)view->height * sizeof(float);
    pc_maps device;
    PC_TRY(pc_cuda_volume_maps(context, state, view, &device));
    PC_TRY(pc_cuda_down(context, maps->vertices, device.vertices, bytes));
    return pc_cuda_down(context, maps->normals, device.normals, bytes);
}

/* ---- the whole volume ------------------------------------------------------------------------------------------- */

static pcgpu_status bring(pcgpu_context *context, pc_buffer *buffer, const void *device, size_t bytes) {
    void *host = pc_buffer_take(buffer, bytes, false);
    return host ? pc_cuda_down(context, host, device, bytes) : pc_fail_memory(context, bytes, "the blocks of a volume");
}

/* Its table is not there: who extracts a surface goes by neighbours. */
extern "C" pcgpu_status pc_cuda_volume_blocks(pcgpu_context *context, void *state, struct pc_volume_blocks *blocks) {
    volume *v = (volume *)state;
    const size_t n = (size_t)v->count + 1, values = n * PC_VOLUME_VOXELS * sizeof(float);
    CUDA_TRY(context, cudaSetDevice(pc_cuda_of(context)->index));
    PC_TRY(bring(context, &v->host_keys, v->keys, n * sizeof *v->keys));
    PC_TRY(bring(context, &v->host_distances, v->arrays.distances, values));
    PC_TRY(bring(context, &v->host_weights, v->arrays.weights, values));
    PC_TRY(bring(context, &v->host_neighbours, v->arrays.neighbours, n * PC_VOLUME_NEIGHBOURS * sizeof(int32_t)));
    memset(blocks, 0, sizeof *blocks);
    blocks->grid.keys = (const uint64_t *)v->host_keys.memory;
    blocks->grid.distances = (const float *)v->host_distances.memory;
    blocks->grid.weights = (const float *)v->host_weights.memory;
    blocks->grid.neighbours = (const int32_t *)v->host_neighbours.memory;
    blocks->count = v->count;
    return PCGPU_OK;
}
