/* Kernels of volumes. A thread is a pixel where blocks are looked for and where rays are cast, a voxel where a frame is
 * fused. Which thread comes first decides the numbers of new blocks and nothing else: no result shows them. */
#ifndef PC_VOLUME_CUH
#define PC_VOLUME_CUH

#include "common.cuh"
#include "ptx.cuh"
#include "tsdf_job.h"
#include "tsdf_ray.h"
#include "tsdf_ops.h"

enum { VOLUME_WARP = 32, VOLUME_THREADS = 128, VOLUME_COUNTERS = 4, VOLUME_FILLING = 1024 };

/* What kernels count. */
enum { COUNT_NEW, COUNT_UNREACHABLE, COUNT_UPDATED, COUNT_FULL };

/* ---- blocks that a frame needs ---------------------------------------------------------------------------------- */

/* The table while it grows: blocks are numbered from `first`, as many as there is room for. What follows is in the
 * stream before the host knows how many there are; with more than `most` of them it does nothing. */
typedef struct volume_table {
    pc_volume_slot *slots;
    uint64_t mask;
    uint64_t *keys;
    uint32_t first, room, most;
    uint32_t *counters;
} volume_table;

__device__ static inline uint32_t volume_new_blocks(const volume_table *table) {
    const uint32_t count = table->counters[COUNT_NEW];
    return table->counters[COUNT_FULL] || count > table->most ? 0 : count;
}

/* With those; 0 when nothing is to be done. */
__device__ static inline uint32_t volume_all_blocks(const volume_table *table) {
    const uint32_t count = table->counters[COUNT_NEW];
    return table->counters[COUNT_FULL] || count > table->most ? 0 : table->first - 1 + count;
}

/* A slot without a block holds PC_VOLUME_EMPTY; whoever exchanges that for a key numbers the block. More than there is
 * room for are counted no further than the table can hold them. */
__device__ static inline void volume_insert(const volume_table *table, uint64_t key) {
    uint64_t i = pc_hash64(key) & table->mask;
    for (uint64_t n = 0; n <= table->mask; n++, i = (i + 1) & table->mask) {
        uint64_t held = table->slots[i].key;
        if (held == PC_VOLUME_EMPTY) {
            held = atomicCAS((unsigned long long *)&table->slots[i].key, (unsigned long long)PC_VOLUME_EMPTY,
                             (unsigned long long)key);
            if (held == PC_VOLUME_EMPTY) {
                const uint32_t number = atomicAdd(&table->counters[COUNT_NEW], 1u);
                if (number < table->room) {
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

/* Puts the blocks that there are into a table that is empty. */
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

/* Also makes the image of inverse depths. A pixel that follows the one before it in the warp has nothing to add; all
 * lanes of a warp come to the exchange. */
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
    const pc_volume_segment way = pc_volume_segment_of(&job.view, ((float)u - job.view.cx) / job.view.fx,
                                                       ((float)v - job.view.cy) / job.view.fy, z);
    for (int k = 0; k < 3; k++) {
        begin[k] = pc_volume_block_of(way.a[k]);
        end[k] = pc_volume_block_of(way.b[k]);
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
    pc_volume_walk_begin(&job.view, &way, begin, end, &walk);
    do {
        volume_insert(&table, pc_volume_key(walk.block[0], walk.block[1], walk.block[2]));
    } while (pc_volume_walk_next(&walk));
}

/* ---- new blocks ------------------------------------------------------------------------------------------------- */

typedef struct volume_arrays {
    float *distances, *weights;
    int32_t *neighbours;
    uint8_t *behind, *active;
} volume_arrays;

/* It is empty. Threads 0 to 26 tell its neighbours, in both directions. */
__device__ static inline void volume_begin_block(const volume_table &table, const volume_arrays &arrays, uint32_t b) {
    const int thread = (int)threadIdx.x;
    for (int i = thread; i < PC_VOLUME_VOXELS; i += VOLUME_THREADS) {
        arrays.distances[(int64_t)b * PC_VOLUME_VOXELS + i] = pc_volume_nan();
        arrays.weights[(int64_t)b * PC_VOLUME_VOXELS + i] = 0.0f;
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
        if (other > 0 && other < (int32_t)table.first) { /* a new one does it itself */
            arrays.neighbours[(int64_t)other * PC_VOLUME_NEIGHBOURS + (PC_VOLUME_NEIGHBOURS - 1 - thread)] = (int32_t)b;
        }
    }
}

/* Block 0, which stands for blocks that do not exist. */
static __global__ void __launch_bounds__(VOLUME_THREADS)
    volume_none_kernel(const volume_table table, const volume_arrays arrays) {
    volume_begin_block(table, arrays, 0);
}

/* A block of threads a block, in turn. */
static __global__ void __launch_bounds__(VOLUME_THREADS)
    volume_new_kernel(const volume_table table, const volume_arrays arrays) {
    const uint32_t count = volume_new_blocks(&table);
    for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
        volume_begin_block(table, arrays, table.first + i);
    }
}

/* ---- fusion ----------------------------------------------------------------------------------------------------- */

/* A list of the blocks that the camera may see, in any order. */
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

/* Blocks of threads take blocks of the list in turn; a thread has four voxels, in every second slice. */
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
            if (weight != before || before > 0.0f) { /* it may have been seen */
                arrays.distances[at] = distance;
                arrays.weights[at] = weight;
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

/* What blocks may hold a surface; and tiles without one, as yet. Depths are not negative, so that their bits have their
 * order. */
static __global__ void __launch_bounds__(VOLUME_THREADS)
    volume_active_kernel(const volume_arrays arrays, uint32_t blocks, uint32_t *ranges, uint32_t tiles,
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
}

/* A warp a block, a lane a tile. */
static __global__ void __launch_bounds__(VOLUME_THREADS)
    volume_ranges_kernel(const pc_volume_view view, const uint64_t *keys, const uint8_t *active, uint32_t blocks,
                         uint32_t *ranges) {
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

/* A block of threads has two tiles beside each other, a warp 8 x 4 pixels. NORMALS: they are asked for. */
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
