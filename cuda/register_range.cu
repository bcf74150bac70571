/* Registration of scans through range images on CUDA: the maps of a frame (lib/icp_range.h says what they are).
 *
 * Four launches in a stream and no wait: each point leaves its key at its pixel, where the least one stays, whatever
 * the order; pixels of all levels fetch their points; planes of all levels, a thread a pixel, whose neighbours come
 * from the cache; and one block for the measure. */
#include "register_range.cuh"

#include <string.h>

enum { THREADS = PC_DEPTH_TILE_THREADS, L = PC_DEPTH_LANES, ROWS = PC_DEPTH_LOADS, MEASURES = PC_DEPTH_MEASURES };

/* A frame being made, as kernels take it. */
typedef struct pc_range_making {
    pc_range_points points; /* on the device */
    pc_depth_frame frame;
    unsigned long long *keys;            /* of each pixel of the finest level */
    float4 *pixels[PC_DEPTH_MAX_LEVELS]; /* points with their ranges, columns x rows each */
    double *tile_sums;                   /* MEASURES a tile of the finest level */
    pc_depth_extra *extra;
} pc_range_making;

/* ---- points ------------------------------------------------------------------------------------------------------ */

__global__ void __launch_bounds__(THREADS, PC_RESIDENT(THREADS, 4)) nearest_kernel(pc_range_making m) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i == 0) {
        m.extra->begun = pc_nanoseconds();
    }
    if (i < m.points.n) {
        float range;
        const pc_depth_level *level = &m.frame.level[0];
        const int32_t at = pc_range_pixel(level, m.points.x[i], m.points.y[i], m.points.z[i], &range);
        if (at != pc_depth_nowhere(level)) {
            atomicMin(&m.keys[at], (unsigned long long)pc_range_key(__float_as_uint(range), (int32_t)i));
        }
    }
}

/* The level and the tile in it of a block that does a tile of all levels; returns the level. */
__device__ static int find_tile(const pc_depth_frame *frame, int *tile) {
    int n = 0;
    while (*tile >= pc_depth_tiles(&frame->level[n], ROWS)) {
        *tile -= pc_depth_tiles(&frame->level[n], ROWS);
        n++;
    }
    return n;
}

/* The nearest of the pixels of the finest level that one becomes, from the left: halving them one by one gives the
 * same. */
__global__ void __launch_bounds__(THREADS, PC_RESIDENT(THREADS, 4)) points_kernel(pc_range_making m) {
    int tile = (int)blockIdx.x;
    const int n = find_tile(&m.frame, &tile);
    const pc_depth_level *level = &m.frame.level[n], *finest = &m.frame.level[0];
    const int across = level->columns / L;
    const int u = tile % across * L + (int)threadIdx.x % L, v = tile / across * ROWS + (int)threadIdx.x / L;
    unsigned long long least = PC_RANGE_NO_KEY;
    for (int k = 0; k < 1 << n; k++) {
        const unsigned long long key = m.keys[v * finest->columns + (u << n) + k];
        least = key >> 32 < least >> 32 ? key : least;
    }
    float4 pixel = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (least != PC_RANGE_NO_KEY) {
        const uint32_t i = (uint32_t)least;
        pixel = make_float4(m.points.x[i], m.points.y[i], m.points.z[i], __uint_as_float((uint32_t)(least >> 32)));
    }
    m.pixels[n][v * level->columns + u] = pixel;
}

/* ---- planes ------------------------------------------------------------------------------------------------------ */

__device__ static void tap(const float4 *pixels, const pc_depth_level *level, int u, int v, const pc_range_sight *sight,
                           float edge, pc_depth_moments *m) {
    if (v >= 0 && v < level->height) {
        const float4 p = pixels[v * level->columns + u];
        pc_range_tap(m, sight, p.x, p.y, p.z, p.w, edge);
    }
}

/* Sums of a tile by its first warp. own: points and, in w, the range of those with a plane. */
__device__ static void measure_tile(const float4 (*own)[L], double *to) {
    float sums[PC_ICP_SUMS];
#pragma unroll
    for (int k = 0; k < PC_ICP_SUMS; k++) {
        sums[k] = 0.0f;
    }
    const int lane = (int)threadIdx.x;
    for (int row = 0; row < ROWS; row++) {
        const float4 p = own[row][lane];
        pc_range_add_measure(p.w, p.x, p.y, p.z, sums, 1);
    }
    const double sum = pc_depth_add_lanes(sums);
    if (lane < MEASURES) {
        to[lane] = sum;
    }
}

__global__ void __launch_bounds__(THREADS, PC_RESIDENT(THREADS, 4)) planes_kernel(pc_range_making m) {
    __shared__ float4 own[ROWS][L];
    int tile = (int)blockIdx.x;
    const int n = find_tile(&m.frame, &tile);
    const pc_depth_level *level = &m.frame.level[n];
    const int across = level->columns / L, i = (int)threadIdx.x % L, j = (int)threadIdx.x / L;
    const int u = tile % across * L + i, v = tile / across * ROWS + j;
    const int left = u == 0 ? level->columns - 1 : u - 1, right = u == level->columns - 1 ? 0 : u + 1;
    const float4 *pixels = m.pixels[n], p = pixels[v * level->columns + u];
    const float edge = level->edge * p.w;
    float plane[PC_DEPTH_VALUES];
    pc_range_sight sight;
    pc_depth_moments moments = pc_range_moments();
    pc_range_sight_of(p.x, p.y, p.z, p.w, &sight);
    tap(pixels, level, left, v - 1, &sight, edge, &moments);
    tap(pixels, level, u, v - 1, &sight, edge, &moments);
    tap(pixels, level, right, v - 1, &sight, edge, &moments);
    tap(pixels, level, left, v, &sight, edge, &moments);
    tap(pixels, level, right, v, &sight, edge, &moments);
    tap(pixels, level, left, v + 1, &sight, edge, &moments);
    tap(pixels, level, u, v + 1, &sight, edge, &moments);
    tap(pixels, level, right, v + 1, &sight, edge, &moments);
    pc_range_plane_of(&moments, &sight, plane);
    float4 *to = (float4 *)(m.frame.maps + level->at);
    float4 *pixel = to + PC_RANGE_WORDS * (v * level->columns + u);
    pixel[0] = make_float4(plane[PC_DEPTH_NX], plane[PC_DEPTH_NY], plane[PC_DEPTH_NZ], plane[PC_DEPTH_Z]);
    pixel[1] = make_float4(p.x, p.y, p.z, 0.0f);
    if (tile == 0 && threadIdx.x < PC_RANGE_WORDS) {
        to[PC_RANGE_WORDS * pc_depth_nowhere(level) + (int)threadIdx.x] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    own[j][i] = make_float4(p.x, p.y, p.z, plane[PC_DEPTH_Z]);
    __syncthreads();
    if (n == 0 && threadIdx.x < L) {
        measure_tile(own, m.tile_sums + (size_t)tile * MEASURES);
    }
}

/* ---- a frame ----------------------------------------------------------------------------------------------------- */

/* Memory of what the maps are made from: keys, and the pixels of all levels. */
static pcgpu_status take_pixels(pcgpu_context *context, pc_depth_state *s, pc_range_making *m, size_t *key_bytes) {
    size_t pixels = 0;
    *key_bytes = (size_t)pc_depth_nowhere(&m->frame.level[0]) * sizeof *m->keys; /* whole tiles, so aligned */
    for (int l = 0; l < m->frame.levels; l++) {
        pixels += (size_t)pc_depth_nowhere(&m->frame.level[l]);
    }
    PC_TRY(pc_depth_grow(context, &s->depths, *key_bytes + pixels * sizeof(float4), false));
    m->keys = (unsigned long long *)s->depths.memory;
    float4 *at = (float4 *)(s->depths.memory + *key_bytes);
    for (int l = 0; l < m->frame.levels; l++) {
        m->pixels[l] = at;
        at += pc_depth_nowhere(&m->frame.level[l]);
    }
    return PCGPU_OK;
}

static pcgpu_status send_points(pcgpu_context *context, pc_depth_state *s, const pc_range_points *points,
                                pc_range_making *m) {
    const size_t bytes = (size_t)points->n * sizeof(float), each = pc_depth_round_up(bytes);
    m->points.n = points->n;
    if (points->n == 0) {
        return PCGPU_OK;
    }
    PC_TRY(pc_depth_grow(context, &s->given, 3 * each, false));
    char *at = s->given.memory;
    const pc_depth_part parts[3] = {
        {points->x, at, bytes}, {points->y, at + each, bytes}, {points->z, at + 2 * each, bytes}};
    m->points.x = (const float *)parts[0].to;
    m->points.y = (const float *)parts[1].to;
    m->points.z = (const float *)parts[2].to;
    return pc_depth_send(context, s, parts, 3);
}

static pcgpu_status launch(pcgpu_context *context, const pc_range_making *m, size_t key_bytes) {
    int tiles = 0;
    for (int l = 0; l < m->frame.levels; l++) {
        tiles += pc_depth_tiles(&m->frame.level[l], ROWS);
    }
    CUDA_TRY(context, cudaMemsetAsync(m->keys, 0xff, key_bytes, pc_cuda_of(context)->stream));
    PC_LAUNCH(context, nearest_kernel, pc_blocks(m->points.n > 0 ? m->points.n : 1, THREADS), THREADS, *m);
    PC_LAUNCH(context, points_kernel, (unsigned)tiles, THREADS, *m);
    PC_LAUNCH(context, planes_kernel, (unsigned)tiles, THREADS, *m);
    return pc_depth_measure_tiles(context, &m->frame, m->tile_sums, m->extra);
}

pcgpu_status pc_range_make_frame(pcgpu_context *context, pc_depth_state *s, const pc_range_points *points,
                                 pc_depth_frame *frame) {
    pc_range_making m;
    size_t key_bytes;
    uint16_t *image; /* a scan has none */
    memset(&m, 0, sizeof m);
    PC_TRY(pc_depth_take_maps(context, s, frame, &m.tile_sums, &image));
    m.extra = (pc_depth_extra *)frame->backend;
    m.frame = *frame;
    PC_TRY(take_pixels(context, s, &m, &key_bytes));
    PC_TRY(send_points(context, s, points, &m));
    return launch(context, &m, key_bytes);
}
