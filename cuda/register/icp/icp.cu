/* One level of a registration on CUDA.
 *
 * Idea: the target (points grouped by cell, table of cells, normals) and the source stay in the device arena for the
 * whole level; an iteration sends a pose as kernel arguments and brings 256 bytes back. One thread a source point does
 * what icp_step.h says and keeps its 32 sums in registers; a warp is a chunk of the reduction tree, and one small
 * launch a level of the tree adds groups of 32 chunks. The tree is that of the CPU, addition for addition, so the bits
 * are the same.
 *
 * Memory: 16 bytes a target point, 32 to 64 a cell, 12 for its normal; 12 bytes a source point and 8 for its share of
 * the sums; by pairs 12 for its normal and, to estimate that, what a target point takes. */
#include "common.cuh"
#include "icp_step.h"
#include "icp_ops.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 128, WARP = 32 };
static_assert((int)PC_ICP_GROUP == (int)WARP && (int)PC_ICP_SUMS == (int)WARP, "a warp is a chunk, a lane is a sum");

typedef struct level {
    pc_icp_grid grid; /* its arrays are on the device */
    float *normals;   /* 3 a target point, or NULL */
    int64_t n;
    float *x, *y, *z;
    float *source_normals; /* 3 a point, or NULL */
    double *sums[2];       /* the chunks, and the groups of chunks; then in turns */
} level;

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* Of a source to the places that its points had before they were grouped. */
static __global__ void __launch_bounds__(THREADS)
    normals_kernel(const pc_icp_grid grid, float radius, bool scatter, float *normals) {
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < grid.n) {
        pc_icp_point p = grid.points[i];
        float normal[3];
        pc_icp_normal(&grid, p.x, p.y, p.z, radius, normal);
        float *to = normals + 3 * (scatter ? (int64_t)p.index : i);
        to[0] = normal[0];
        to[1] = normal[1];
        to[2] = normal[2];
    }
}

/* Sums of one chunk a warp. Both lanes of an exchange add the same two numbers, so that after five of them every lane
 * holds the sum that halving leaves in the first one; lane k then stores sum k. */
template <bool PAIRS>
static __global__ void __launch_bounds__(THREADS) chunks_kernel(const level v, const pc_icp_step step, double *chunks) {
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    int lane = threadIdx.x % WARP;
    double sums[PC_ICP_SUMS];
#pragma unroll
    for (int k = 0; k < PC_ICP_SUMS; k++) {
        sums[k] = 0.0;
    }
    if (PAIRS && i < v.n) {
        const float *n = v.source_normals + 3 * i;
        pc_icp_add_paired_point(&v.grid, v.normals, &step, v.x[i], v.y[i], v.z[i], n[0], n[1], n[2], sums);
    } else if (i < v.n) {
        pc_icp_add_point(&v.grid, v.normals, &step, v.x[i], v.y[i], v.z[i], sums);
    }
    double mine = 0.0;
#pragma unroll
    for (int k = 0; k < PC_ICP_SUMS; k++) {
#pragma unroll
        for (int s = WARP / 2; s >= 1; s /= 2) {
            sums[k] += __shfl_xor_sync(0xffffffffu, sums[k], s);
        }
        mine = lane == k ? sums[k] : mine;
    }
    if (i - lane < v.n) { /* the warp's first point exists, so the chunk does */
        chunks[i] = mine; /* chunk i / 32, sum lane */
    }
}

/* Adds groups of 32 rows of PC_ICP_SUMS sums: one warp a group, one lane a sum. */
static __global__ void __launch_bounds__(THREADS) groups_kernel(const double *rows, int64_t count, double *groups) {
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    int64_t first = i / WARP * PC_ICP_GROUP;
    int lane = threadIdx.x % WARP;
    if (first >= count) {
        return;
    }
    double v[PC_ICP_GROUP];
#pragma unroll
    for (int j = 0; j < PC_ICP_GROUP; j++) {
        v[j] = first + j < count ? rows[(first + j) * PC_ICP_SUMS + lane] : 0.0;
    }
#pragma unroll
    for (int h = PC_ICP_GROUP / 2; h >= 1; h /= 2) {
#pragma unroll
        for (int j = 0; j < PC_ICP_GROUP / 2; j++) { /* a constant bound, so that v stays in registers */
            if (j < h) {
                v[j] += v[j + h];
            }
        }
    }
    groups[i] = v[0];
}

/* ---- the operations ---------------------------------------------------------------------------------------------- */

/* *device = a copy of `bytes` of host memory in the registration's arena. */
static pcgpu_status upload(pcgpu_context *context, const void *host, size_t bytes, void **device) {
    PC_TRY(pc_arena_take(context, &pc_cuda_of(context)->icp_arena, bytes, device));
    return pc_cuda_up(context, *device, host, bytes);
}

extern "C" void pc_cuda_icp_end(pcgpu_context *context) {
    pc_cuda *cuda = pc_cuda_of(context);
    if (cuda) {
        free(cuda->icp);
        cuda->icp = NULL;
    }
}

/* *device = the grid with its arrays on the device. */
static pcgpu_status upload_grid(pcgpu_context *context, const pc_icp_grid *grid, pc_icp_grid *device) {
    void *points, *slots;
    PC_TRY(upload(context, grid->points, (size_t)grid->n * sizeof(pc_icp_point), &points));
    PC_TRY(upload(context, grid->slots, (size_t)(grid->mask + 1) * sizeof(pc_icp_slot), &slots));
    *device = *grid;
    device->points = (const pc_icp_point *)points;
    device->slots = (const pc_icp_slot *)slots;
    return PCGPU_OK;
}

/* *normals = 3 values a point of a grid on the device, estimated. */
static pcgpu_status estimate_normals(pcgpu_context *context, const pc_icp_grid *grid, float radius, bool scatter,
                                     float **normals) {
    void *memory;
    PC_TRY(pc_arena_take(context, &pc_cuda_of(context)->icp_arena, 3 * (size_t)grid->n * sizeof(float), &memory));
    *normals = (float *)memory;
    PC_LAUNCH(context, normals_kernel, pc_blocks(grid->n, THREADS), THREADS, *grid, radius, scatter, *normals);
    return PCGPU_OK;
}

/* The same, copied. */
static pcgpu_status upload_normals(pcgpu_context *context, int64_t n, const float *given, float **normals) {
    void *memory;
    PC_TRY(upload(context, given, 3 * (size_t)n * sizeof(float), &memory));
    *normals = (float *)memory;
    return PCGPU_OK;
}

static pcgpu_status pc_cuda_icp_target(pcgpu_context *context, const struct pc_icp_target *target) {
    pc_cuda *cuda = pc_cuda_of(context);
    pc_cuda_icp_end(context);
    PC_TRY(pc_arena_reset(context, &cuda->icp_arena));
    level *v = (level *)calloc(1, sizeof *v);
    cuda->icp = v;
    if (!v) {
        return pc_fail_memory(context, sizeof *v, "the registration");
    }
    PC_TRY(upload_grid(context, &target->grid, &v->grid));
    if (target->normals) {
        PC_TRY(upload_normals(context, v->grid.n, target->normals, &v->normals));
    } else if (v->grid.n > 0 && target->normal_radius > 0.0f) {
        PC_TRY(estimate_normals(context, &v->grid, target->normal_radius, false, &v->normals));
    }
    return PCGPU_OK;
}

static int64_t groups_of(int64_t count) {
    return (count + PC_ICP_GROUP - 1) / PC_ICP_GROUP;
}

static pcgpu_status pc_cuda_icp_source(pcgpu_context *context, const struct pc_icp_source *source) {
    level *v = (level *)pc_cuda_of(context)->icp;
    pc_arena *arena = &pc_cuda_of(context)->icp_arena;
    const int64_t n = source->n;
    const float *host[3] = {source->x, source->y, source->z};
    void *device[3], *sums[2];
    for (int k = 0; k < 3; k++) {
        PC_TRY(upload(context, host[k], (size_t)n * sizeof(float), &device[k]));
    }
    v->source_normals = NULL;
    if (source->normals) {
        PC_TRY(upload_normals(context, n, source->normals, &v->source_normals));
    } else if (n > 0 && source->normal_radius > 0.0f) {
        pc_icp_grid grid;
        PC_TRY(upload_grid(context, source->grid, &grid));
        PC_TRY(estimate_normals(context, &grid, source->normal_radius, true, &v->source_normals));
    }
    size_t chunks = (size_t)groups_of(n);
    size_t row = PC_ICP_SUMS * sizeof(double);
    PC_TRY(pc_arena_take(context, arena, chunks * row, &sums[0]));
    PC_TRY(pc_arena_take(context, arena, (size_t)groups_of((int64_t)chunks) * row, &sums[1]));
    v->n = n;
    v->x = (float *)device[0];
    v->y = (float *)device[1];
    v->z = (float *)device[2];
    v->sums[0] = (double *)sums[0];
    v->sums[1] = (double *)sums[1];
    return PCGPU_OK;
}

static pcgpu_status pc_cuda_icp_step(pcgpu_context *context, const struct pc_icp_step *step, double *sums) {
    pc_cuda *cuda = pc_cuda_of(context);
    const level *v = (const level *)cuda->icp;
    double *from = v->sums[0], *to = v->sums[1];
    if (v->n == 0) {
        memset(sums, 0, PC_ICP_SUMS * sizeof *sums);
        return PCGPU_OK;
    }
    if (step->rows == PC_ICP_ROWS_PAIR) {
        PC_LAUNCH(context, chunks_kernel<true>, pc_blocks(v->n, THREADS), THREADS, *v, *step, from);
    } else {
        PC_LAUNCH(context, chunks_kernel<false>, pc_blocks(v->n, THREADS), THREADS, *v, *step, from);
    }
    for (int64_t left = groups_of(v->n); left > 1; left = groups_of(left)) {
        PC_LAUNCH(context, groups_kernel, pc_blocks(groups_of(left) * WARP, THREADS), THREADS, from, left, to);
        double *other = from;
        from = to;
        to = other;
    }
    return pc_cuda_down(context, sums, from, PC_ICP_SUMS * sizeof *sums);
}

const pc_icp_ops pc_cuda_icp_ops = {pc_cuda_icp_target, pc_cuda_icp_source, pc_cuda_icp_step, pc_cuda_icp_end};
