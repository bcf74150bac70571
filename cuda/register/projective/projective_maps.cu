/* Registration of depth frames on CUDA: the maps of a frame (lib/register/projective/projective_math.h says what they
 * are).
 *
 * Three launches in a stream and no wait: depths of the finest level and of those above from one another, in shared
 * memory as far as a tile reaches; planes of all levels, one tile per block with its margin in shared memory; and one
 * block for the measure. */
#include "projective_maps.h"
#include "projective.cuh"

enum {
    THREADS = PC_DEPTH_TILE_THREADS,
    L = PC_DEPTH_LANES,
    ROWS = PC_DEPTH_LOADS,
    MARGIN = PC_DEPTH_MARGIN,
    TILE_LEVELS = 4, /* a tile of 32 x 8 pixels can be halved three times */
    MEASURES = PC_DEPTH_MEASURES
};

/* ---- depths ------------------------------------------------------------------------------------------------------ */

__device__ static float filtered(const pc_depth_image *image, int u, int v) {
    const int center = image->data[v * image->width + u], R = PC_DEPTH_BILATERAL;
    float sum = 0.0f, weights = 0.0f;
    for (int y = max(v - R, 0); y <= v + R && y < image->height; y++) {
        for (int x = max(u - R, 0); x <= u + R && x < image->width; x++) {
            const int d = image->data[y * image->width + x];
            if (d >= image->low && d <= image->high) {
                const int place = (y - v + R) * PC_DEPTH_BILATERAL_SIDE + (x - u + R);
                const float w = pc_depth_bilateral_weight(image, place, center, d);
                sum += w * (float)d;
                weights += w;
            }
        }
    }
    return sum / weights;
}

__device__ static float first_depth(const pc_depth_image *image, int u, int v) {
    if (u >= image->width || v >= image->height) {
        return 0.0f;
    }
    const uint16_t d = image->data[v * image->width + u];
    const float z = pc_depth_metres(d, image->low, image->high, image->scale);
    return z > 0.0f && image->range_size > 0 ? filtered(image, u, v) / image->scale : z;
}

__device__ static float given_depth(const pc_maps *maps, int u, int v) {
    const bool inside = u < maps->width && v < maps->height;
    return inside ? pc_depth_given(maps->vertices + 3 * ((size_t)v * (size_t)maps->width + (size_t)u)) : 0.0f;
}

/* Sums of a tile by its first warp: z, PC_DEPTH_VALUES apart or whatever `stride` is, row by row. */
__device__ static void measure_tile(const pc_depth_level *level, int tile_column, int tile_row, const float *z,
                                    double *to) {
    float sums[PC_ICP_SUMS];
#pragma unroll
    for (int k = 0; k < PC_ICP_SUMS; k++) {
        sums[k] = 0.0f;
    }
    const int lane = (int)threadIdx.x;
    const float x = ((float)(tile_column * L + lane) - level->cx) * level->per_fx;
    for (int row = 0; row < ROWS; row++) {
        const float y = ((float)(tile_row * ROWS + row) - level->cy) * level->per_fy;
        pc_depth_add_measure(x, y, z[row * L + lane], sums, 1);
    }
    const double sum = pc_depth_add_lanes(sums);
    if (lane < MEASURES) {
        to[lane] = sum;
    }
}

/* Depths of a tile of the finest level, and what follows from them of the levels above. */
__global__ void __launch_bounds__(THREADS, PC_RESIDENT(THREADS, 4)) depths_kernel(pc_depth_making m) {
    __shared__ float z[TILE_LEVELS][ROWS][L];
    const pc_depth_level *level = &m.frame.level[0];
    const int across = level->columns / L, tile_column = (int)blockIdx.x % across, tile_row = (int)blockIdx.x / across;
    const int i = (int)threadIdx.x % L, j = (int)threadIdx.x / L, u = tile_column * L + i, v = tile_row * ROWS + j;
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        m.extra->begun = m.image.maps.begun ? *m.image.maps.begun : pc_nanoseconds();
    }
    const float own = m.image.data ? first_depth(&m.image, u, v) : given_depth(&m.image.maps, u, v);
    z[0][j][i] = own;
    if (u < level->width && v < level->height) {
        m.depths[0][v * level->width + u] = own;
    }
    __syncthreads();
    for (int n = 1; n < TILE_LEVELS && n < m.frame.levels; n++) {
        const pc_depth_level *to = &m.frame.level[n];
        const int width = L >> n, height = ROWS >> n;
        if (i < width && j < height) {
            const int at_u = tile_column * width + i, at_v = tile_row * height + j;
            const float(*from)[L] = z[n - 1];
            const float half = pc_depth_halve(from[2 * j][2 * i], from[2 * j][2 * i + 1], from[2 * j + 1][2 * i],
                                              from[2 * j + 1][2 * i + 1], m.frame.level[n - 1].edge);
            z[n][j][i] = half;
            if (at_u < to->width && at_v < to->height) {
                m.depths[n][at_v * to->width + at_u] = half;
            }
        }
        __syncthreads();
    }
}

/* A level that tiles do not reach, from the one below. */
__global__ void __launch_bounds__(THREADS, PC_RESIDENT(THREADS, 4)) halve_kernel(pc_depth_making m, int n) {
    const pc_depth_level *to = &m.frame.level[n], *from = &m.frame.level[n - 1];
    const int at = (int)(blockIdx.x * THREADS + threadIdx.x);
    if (at < to->width * to->height) {
        const float *above = m.depths[n - 1] + 2 * (at / to->width) * from->width + 2 * (at % to->width);
        m.depths[n][at] = pc_depth_halve(above[0], above[1], above[from->width], above[from->width + 1], from->edge);
    }
}

/* ---- planes ------------------------------------------------------------------------------------------------------ */

typedef struct pc_depth_window {
    float z[ROWS + 2 * MARGIN][L + 2 * MARGIN], inverse[ROWS + 2 * MARGIN][L + 2 * MARGIN];
} pc_depth_window;

__device__ static void load_window(const pc_depth_level *level, const float *depths, int tile_column, int tile_row,
                                   pc_depth_window *w) {
    const int wide = L + 2 * MARGIN, high = ROWS + 2 * MARGIN;
    for (int k = (int)threadIdx.x; k < wide * high; k += THREADS) {
        const int i = k % wide, j = k / wide;
        const int u = tile_column * L + i - MARGIN, v = tile_row * ROWS + j - MARGIN;
        const bool inside = u >= 0 && v >= 0 && u < level->width && v < level->height;
        const float z = inside ? depths[v * level->width + u] : 0.0f;
        w->z[j][i] = z;
        w->inverse[j][i] = 1.0f / (z > 0.0f ? z : 1.0f);
    }
}

/* STEP: pixels to a step of the window. */
template <int STEP>
__device__ static float4 fit(const pc_depth_level *level, const pc_depth_window *w, int i, int j, float x, float y) {
    const float z = w->z[j + MARGIN][i + MARGIN], inverse = w->inverse[j + MARGIN][i + MARGIN];
    const float edge = level->edge * z;
    pc_depth_moments m = {0, 0, 0, 0, 0, 0, 0, 0, 0};
#pragma unroll
    for (int b = -PC_DEPTH_TAPS; b <= PC_DEPTH_TAPS; b++) {
        pc_depth_row row = {0, 0, 0, 0, 0};
#pragma unroll
        for (int a = -PC_DEPTH_TAPS; a <= PC_DEPTH_TAPS; a++) {
            pc_depth_tap(&row, (float)a, w->z[j + MARGIN + b * STEP][i + MARGIN + a * STEP],
                         w->inverse[j + MARGIN + b * STEP][i + MARGIN + a * STEP], z, inverse, edge);
        }
        pc_depth_add_row(&m, (float)b, &row);
    }
    float plane[PC_DEPTH_VALUES];
    pc_depth_plane_of(&m, level, x, y, z, inverse, plane);
    return make_float4(plane[0], plane[1], plane[2], plane[3]);
}

/* All levels, tile by tile. */
__global__ void __launch_bounds__(THREADS, PC_RESIDENT(THREADS, 4)) planes_kernel(pc_depth_making m) {
    __shared__ pc_depth_window window;
    __shared__ float own[ROWS][L];
    int n = 0, tile = (int)blockIdx.x;
    while (tile >= pc_depth_tiles(&m.frame.level[n], ROWS)) {
        tile -= pc_depth_tiles(&m.frame.level[n], ROWS);
        n++;
    }
    const pc_depth_level *level = &m.frame.level[n];
    const int across = level->columns / L, tile_column = tile % across, tile_row = tile / across;
    const int i = (int)threadIdx.x % L, j = (int)threadIdx.x / L, u = tile_column * L + i, v = tile_row * ROWS + j;
    load_window(level, m.depths[n], tile_column, tile_row, &window);
    __syncthreads();
    const float x = ((float)u - level->cx) * level->per_fx, y = ((float)v - level->cy) * level->per_fy;
    const float4 plane = n == 0 ? fit<PC_DEPTH_STRIDE>(level, &window, i, j, x, y) : fit<1>(level, &window, i, j, x, y);
    float4 *pixels = (float4 *)(m.frame.maps + level->at);
    pixels[v * level->columns + u] = plane;
    if (n == 0) {
        own[j][i] = plane.w;
        __syncthreads();
        if (threadIdx.x < L) {
            measure_tile(level, tile_column, tile_row, &own[0][0], m.tile_sums + (size_t)tile * MEASURES);
        }
    }
}

/* Adds up the tiles, by one block: a warp a part, a lane a sum. And the pixels that are none behind each level. */
__global__ void __launch_bounds__(PC_DEPTH_PARTS * 32, 1) measure_kernel(pc_depth_making m) {
    __shared__ double parts[PC_DEPTH_PARTS][PC_ICP_SUMS];
    const pc_depth_level *level = &m.frame.level[0];
    const int part = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, tiles = pc_depth_tiles(level, ROWS);
    double sum = 0.0;
    for (int g = part; g < pc_depth_groups(level, ROWS) && lane < MEASURES; g += PC_DEPTH_PARTS) {
        double group = 0.0;
        const double *from = m.tile_sums + (size_t)g * PC_DEPTH_GROUP * MEASURES + lane;
#pragma unroll
        for (int i = 0; i < PC_DEPTH_GROUP; i++) {
            group += g * PC_DEPTH_GROUP + i < tiles ? from[i * MEASURES] : 0.0;
        }
        sum += group;
    }
    parts[part][lane] = sum;
    if ((int)threadIdx.x < m.frame.levels) {
        const pc_depth_level *own = &m.frame.level[threadIdx.x];
        ((float4 *)(m.frame.maps + own->at))[pc_depth_nowhere(own)] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        double sums[PC_ICP_SUMS];
        for (int k = 0; k < MEASURES; k++) {
            sums[k] = 0.0;
            for (int p = 0; p < PC_DEPTH_PARTS; p++) {
                sums[k] += parts[p][k];
            }
        }
        pc_depth_measure_of(sums, &m.extra->measure);
        m.extra->measure.seconds = 1e-9 * (double)(pc_nanoseconds() - m.extra->begun);
    }
}

pcgpu_status pc_depth_measure_tiles(pcgpu_context *context, const pc_depth_frame *frame, const double *tile_sums,
                                    pc_depth_extra *extra) {
    pc_depth_making m;
    memset(&m, 0, sizeof m);
    m.frame.level[0] = frame->level[0]; /* and no levels, whose pixels are not the kernel's */
    m.tile_sums = (double *)tile_sums;
    m.extra = extra;
    PC_LAUNCH(context, measure_kernel, 1, PC_DEPTH_PARTS * 32, m);
    return PCGPU_OK;
}

/* ---- launching ----------------------------------------------------------------------------------------------------
 */

pcgpu_status pc_depth_make_maps(pcgpu_context *context, const pc_depth_making *m) {
    const pc_depth_frame *frame = &m->frame;
    int tiles = 0;
    PC_LAUNCH(context, depths_kernel, (unsigned)pc_depth_tiles(&frame->level[0], ROWS), THREADS, *m);
    for (int n = TILE_LEVELS; n < frame->levels; n++) {
        const int64_t pixels = (int64_t)frame->level[n].width * frame->level[n].height;
        PC_LAUNCH(context, halve_kernel, pc_blocks(pixels, THREADS), THREADS, *m, n);
    }
    for (int n = 0; n < frame->levels; n++) {
        tiles += pc_depth_tiles(&frame->level[n], ROWS);
    }
    PC_LAUNCH(context, planes_kernel, (unsigned)tiles, THREADS, *m);
    PC_LAUNCH(context, measure_kernel, 1, PC_DEPTH_PARTS * 32, *m);
    return PCGPU_OK;
}
