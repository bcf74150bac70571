/* Kernels of volumes. There is one thread per pixel for the search of blocks and for ray casting, and one per voxel for
 * the integration. The order of the threads only determines the ids of new blocks, which no result depends on. */
#ifndef PC_VOLUME_CUH
#define PC_VOLUME_CUH

#include "common.cuh"
#include "ptx.cuh"
#include "tsdf_color.h"
#include "tsdf_job.h"
#include "tsdf_ray.h"
#include "tsdf_ops.h"

enum { VOLUME_WARP = 32, VOLUME_THREADS = 128, VOLUME_COUNTERS = 4, VOLUME_FILLING = 1024 };

/* The counters of the kernels. */
enum { COUNT_NEW, COUNT_UNREACHABLE, COUNT_UPDATED, COUNT_FULL };

/* ---- blocks that a frame needs ---------------------------------------------------------------------------------- */

/* The table during the insertion: new blocks get ids from `first`, up to the capacity. Later kernels are in the stream
 * before the host knows the number of new blocks; they do nothing when there are more than `most`. */
typedef struct volume_table {
    pc_volume_slot *slots;
    uint64_t mask;
    uint64_t *keys;
    uint32_t first, capacity, most;
    uint32_t *counters;
} volume_table;

__device__ static inline uint32_t volume_new_blocks(const volume_table *table) {
    const uint32_t count = table->counters[COUNT_NEW];
    return table->counters[COUNT_FULL] || count > table->most ? 0 : count;
}

/* The number of blocks including the new ones; 0 when the kernels do nothing. */
__device__ static inline uint32_t volume_all_blocks(const volume_table *table) {
    const uint32_t count = table->counters[COUNT_NEW];
    return table->counters[COUNT_FULL] || count > table->most ? 0 : table->first - 1 + count;
}

/* An empty slot holds PC_VOLUME_EMPTY; the thread that exchanges it for a key assigns the id. Blocks beyond the
 * capacity are counted only as far as the table can hold them. */
__device__ static inline void volume_insert(const volume_table *table, uint64_t key) {
    uint64_t i = pc_hash64(key) & table->mask;
    for (uint64_t n = 0; n <= table->mask; n++, i = (i + 1) & table->mask) {
        uint64_t held = table->slots[i].key;
        if (held == PC_VOLUME_EMPTY) {
            held = atomicCAS((unsigned long long *)&table->slots[i].key, (unsigned long long)PC_VOLUME_EMPTY,
                             (unsigned long long)key);
            if (held == PC_VOLUME_EMPTY) {
                const uint32_t number = atomicAdd(&table->counters[COUNT_NEW], 1u);
                if (number < table->capacity) {
                    table->slots[i].block = table->first + number;
                    table->keys[table->first + number] = key;
                } else {
                    table->counters[COUNT_FULL] = 1;
                }
                return;
            }
        }
        if (held == key) {
            return;
        }
    }
    table->counters[COUNT_FULL] = 1;
}

static __global__ void __launch_bounds__(VOLUME_THREADS) volume_clear_kernel(pc_volume_slot *slots, uint64_t count) {
    const uint64_t i = (uint64_t)blockIdx.x * VOLUME_THREADS + threadIdx.x;
    if (i < count) {
        slots[i].key = PC_VOLUME_EMPTY;
        slots[i].block = 0;
    }
}

/* Inserts the existing blocks into an empty table. */
static __global__ void __launch_bounds__(VOLUME_THREADS) volume_fill_kernel(const volume_table table, uint32_t blocks) {
    const uint32_t b = blockIdx.x * VOLUME_THREADS + threadIdx.x + 1;
    if (b > blocks) {
        return;
    }
    const uint64_t key = table.keys[b];
    uint64_t i = pc_hash64(key) & table.mask;
    while (atomicCAS((unsigned long long *)&table.slots[i].key, (unsigned long long)PC_VOLUME_EMPTY,
                     (unsigned long long)key) != PC_VOLUME_EMPTY) {
        i = (i + 1) & table.mask;
    }
    table.slots[i].block = b;
}

/* Also computes the image of inverse depths. A pixel that needs the same blocks as its predecessor in the warp inserts
 * none. All lanes of a warp take part in the shuffle. */
static __global__ void __launch_bounds__(VOLUME_THREADS)
    volume_allocate_kernel(const pc_volume_job job, const volume_table table, float *inverse) {
    const int32_t u = (int32_t)(blockIdx.x * VOLUME_THREADS + threadIdx.x), v = (int32_t)blockIdx.y;
    const int lane = threadIdx.x % VOLUME_WARP;
    const bool inside = u < job.view.width;
    const uint16_t d = inside ? job.depth[(int64_t)v * job.view.width + u] : 0;
    const float z = pc_volume_metres(&job, d);
    bool walks = z > 0.0f, same = lane > 0;
    int32_t begin[3], end[3];
    if (inside) {
        inverse[(int64_t)v * job.view.width + u] = pc_volume_inverse(&job, d);
    }
    const pc_volume_segment march = pc_volume_segment_of(&job.view, ((float)u - job.view.cx) / job.view.fx,
                                                         ((float)v - job.view.cy) / job.view.fy, z);
    for (int k = 0; k < 3; k++) {
        begin[k] = pc_volume_block_of(march.a[k]);
        end[k] = pc_volume_block_of(march.b[k]);
    }
    if (walks && !pc_volume_reaches(&job.view, begin, end)) {
        atomicAdd(&table.counters[COUNT_UNREACHABLE], 1u);
        walks = false;
    }
    same = __shfl_up_sync(0xffffffffu, (int)walks, 1) && same;
    for (int k = 0; k < 3; k++) {
        same = __shfl_up_sync(0xffffffffu, begin[k], 1) == begin[k] && same;
        same = __shfl_up_sync(0xffffffffu, end[k], 1) == end[k] && same;
    }
    if (!walks || (same && pc_volume_follows(u, begin, end)) || table.counters[COUNT_FULL]) {
        return;
    }
    pc_volume_walk walk;
    pc_volume_walk_begin(&job.view, &march, begin, end, &walk);
    do {
        volume_insert(&table, pc_volume_key(walk.block[0], walk.block[1], walk.block[2]));
    } while (pc_volume_walk_next(&walk));
}

/* ---- new blocks ------------------------------------------------------------------------------------------------- */

typedef struct volume_arrays {
    float *distances, *weights;
    int32_t *neighbours;
    uint8_t *behind, *active;
    uint16_t *colors; /* PC_VOLUME_COLORS per voxel; NULL: none */
} volume_arrays;

/* Initializes a block as empty. Threads 0 to 26 link its neighbours, in both directions. */
__device__ static inline void volume_begin_block(const volume_table &table, const volume_arrays &arrays, uint32_t b) {
    const int thread = (int)threadIdx.x;
    for (int i = thread; i < PC_VOLUME_VOXELS; i += VOLUME_THREADS) {
        arrays.distances[(int64_t)b * PC_VOLUME_VOXELS + i] = pc_volume_nan();
        arrays.weights[(int64_t)b * PC_VOLUME_VOXELS + i] = 0.0f;
        for (int k = 0; arrays.colors && k < PC_VOLUME_COLORS; k++) {
            arrays.colors[PC_VOLUME_COLORS * ((int64_t)b * PC_VOLUME_VOXELS + i) + k] = 0;
        }
    }
    if (thread == 0) {
        arrays.behind[b] = 0;
    }
    if (thread < PC_VOLUME_NEIGHBOURS) {
        int32_t at[3];
        int32_t other = 0;
        if (b > 0) {
            pc_volume_unpack(table.keys[b], at);
            other = pc_volume_neighbour(table.slots, table.mask, at, thread);
        }
        arrays.neighbours[(int64_t)b * PC_VOLUME_NEIGHBOURS + thread] = other;
        if (other > 0 && other < (int32_t)table.first) { /* a new one links itself */
            arrays.neighbours[(int64_t)other * PC_VOLUME_NEIGHBOURS + (PC_VOLUME_NEIGHBOURS - 1 - thread)] = (int32_t)b;
        }
    }
}

/* Block 0, which represents missing blocks. */
static __global__ void __launch_bounds__(VOLUME_THREADS)
    volume_none_kernel(const volume_table table, const volume_arrays arrays) {
    volume_begin_block(table, arrays, 0);
}

/* Each block of threads processes one block after another. */
static __global__ void __launch_bounds__(VOLUME_THREADS)
    volume_new_kernel(const volume_table table, const volume_arrays arrays) {
    const uint32_t count = volume_new_blocks(&table);
    for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
        volume_begin_block(table, arrays, table.first + i);
    }
}

/* ---- fusion ----------------------------------------------------------------------------------------------------- */

/* Lists the blocks that the camera may see, in any order. */
static __global__ void __launch_bounds__(VOLUME_THREADS)
    volume_seen_kernel(const pc_volume_view view, const volume_table table, uint32_t *list) {
    const uint32_t b = blockIdx.x * VOLUME_THREADS + threadIdx.x + 1;
    if (b > volume_all_blocks(&table)) {
        return;
    }
    int32_t block[3];
    pc_volume_extent extent;
    pc_volume_unpack(table.keys[b], block);
    if (pc_volume_seen(&view, block, &extent)) {
        list[atomicAdd(&table.counters[COUNT_UPDATED], 1u)] = b;
    }
}

/* COLOR: the frame has an image of colours. Blocks of threads process the list in a grid-stride loop; a thread has four
 * voxels, in every second slice. */
template <bool COLOR>
static __global__ void __launch_bounds__(VOLUME_THREADS)
    volume_update_kernel(const pc_volume_frame frame, const uint64_t *keys, const uint32_t *list,
                         const uint32_t *counters, const volume_arrays arrays) {
    const uint32_t count = counters[COUNT_UPDATED];
    const float *T = frame.view.to_camera;
    const int thread = (int)threadIdx.x;
    const float x = (float)(thread % 8), y = (float)(thread / 8 % 8);
    for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
        const uint32_t b = list[i];
        int32_t block[3];
        float corner[3], p[3];
        int behind = 0;
        pc_volume_unpack(keys[b], block);
        pc_volume_corner(&frame.view, block, corner);
        for (int n = thread; n < PC_VOLUME_VOXELS; n += VOLUME_THREADS) {
            const float z = (float)(n / 64);
            const int64_t at = (int64_t)b * PC_VOLUME_VOXELS + n;
            float distance = arrays.distances[at], weight = arrays.weights[at];
            for (int k = 0; k < 3; k++) {
                p[k] = ((corner[k] + T[4 * k + 2] * z) + T[4 * k + 1] * y) + T[4 * k] * x;
            }
            const float before = weight;
            pc_volume_update(&frame, p[0], p[1], p[2], &distance, &weight);
            if (weight != before || before > 0.0f) { /* the voxel may have been seen */
                arrays.distances[at] = distance;
                arrays.weights[at] = weight;
            }
            if (COLOR) {
                pc_volume_paint(&frame, p[0], p[1], p[2], distance, arrays.colors + PC_VOLUME_COLORS * at);
            }
            behind |= distance < 0.0f;
        }
        behind = __syncthreads_count(behind);
        if (thread == 0) {
            arrays.behind[b] = behind > 0;
        }
    }
}

/* ---- ray casting ------------------------------------------------------------------------------------------------ */

/* Computes which blocks may have a surface, and clears the ranges of the tiles and the bits of blocks. Depths are
 * nonnegative, so their bits sort as integers. */
static __global__ void __launch_bounds__(VOLUME_THREADS)
    volume_active_kernel(const volume_arrays arrays, uint32_t blocks, uint32_t *ranges, uint32_t tiles, uint64_t *rows,
                         unsigned long long *begun) {
    const uint32_t i = blockIdx.x * VOLUME_THREADS + threadIdx.x;
    if (i == 0) {
        *begun = pc_nanoseconds();
    }
    if (i <= blocks) {
        arrays.active[i] = i > 0 ? pc_volume_is_active(arrays.neighbours, arrays.behind, i) : 0;
    }
    if (i < tiles) {
        ranges[2 * i] = __float_as_uint(INFINITY);
        ranges[2 * i + 1] = 0;
    }
    if (i < PC_VOLUME_ROWS) {
        rows[i] = 0;
    }
}

/* One warp per block, one lane per tile. */
static __global__ void __launch_bounds__(VOLUME_THREADS)
    volume_ranges_kernel(const pc_volume_view view, const uint64_t *keys, const uint8_t *active, uint32_t blocks,
                         uint32_t *ranges, uint64_t *rows) {
    const uint32_t b = (blockIdx.x * VOLUME_THREADS + threadIdx.x) / VOLUME_WARP + 1;
    const int32_t lane = threadIdx.x % VOLUME_WARP;
    if (b > blocks || !active[b]) {
        return;
    }
    int32_t block[3];
    pc_volume_extent e;
    pc_volume_unpack(keys[b], block);
    if (!pc_volume_seen(&view, block, &e)) {
        return;
    }
    if (lane == 0) {
        atomicOr((unsigned long long *)&rows[pc_volume_row_of(block[1], block[2])], 1ull << ((uint32_t)block[0] & 63));
    }
    const int32_t left = e.u[0] / PC_VOLUME_TILE, top = e.v[0] / PC_VOLUME_TILE;
    const int32_t across = e.u[1] / PC_VOLUME_TILE - left + 1, down = e.v[1] / PC_VOLUME_TILE - top + 1;
    const int32_t row = (view.width + PC_VOLUME_TILE - 1) / PC_VOLUME_TILE;
    const uint32_t begin = __float_as_uint(pc_volume_begin(&view, e.z[0])), end = __float_as_uint(e.z[1]);
    for (int32_t i = lane; i < across * down; i += VOLUME_WARP) {
        uint32_t *range = ranges + 2 * (int64_t)((top + i / across) * row + left + i % across);
        if (begin < range[0]) {
            atomicMin(&range[0], begin);
        }
        if (end > range[1]) {
            atomicMax(&range[1], end);
        }
    }
}

/* A block of threads has two adjacent tiles, a warp 8 x 4 pixels. NORMALS: also computes normals. */
template <bool NORMALS>
static __global__ void __launch_bounds__(VOLUME_THREADS)
    volume_cast_kernel(const pc_volume_grid grid, const pc_volume_view view, const uint32_t *ranges, float *vertices,
                       float *normals) {
    const int32_t thread = (int32_t)threadIdx.x, tile = 2 * (int32_t)blockIdx.x + thread / 64;
    const int32_t u = tile * PC_VOLUME_TILE + thread % 8, v = (int32_t)blockIdx.y * PC_VOLUME_TILE + thread / 8 % 8;
    if (u >= view.width || v >= view.height) {
        return;
    }
    const int32_t row = (view.width + PC_VOLUME_TILE - 1) / PC_VOLUME_TILE;
    const uint32_t *bits = ranges + 2 * (int64_t)((int32_t)blockIdx.y * row + tile);
    const float range[2] = {__uint_as_float(bits[0]), __uint_as_float(bits[1])};
    const int64_t at = 3 * ((int64_t)v * view.width + u);
    float vertex[3], normal[3];
    pc_volume_look(&grid, &view, u, v, range, vertex, NORMALS ? normal : NULL);
    for (int k = 0; k < 3; k++) {
        vertices[at + k] = vertex[k];
        if (NORMALS) {
            normals[at + k] = normal[k];
        }
    }
}

#endif
