/* Launches of the kernels of the variants with a table. */
#ifndef PC_VOXELIZE_LAUNCH_CUH
#define PC_VOXELIZE_LAUNCH_CUH

#include "launch.cuh"
#include "voxelize_direct_emit.cuh"
#include "voxelize_emit.cuh"
#include "voxelize_fused.cuh"
#include "voxelize_reduce.cuh"
#include "voxelize_table.cuh"

typedef struct call {
    table *of;
    int kind;
    pc_voxelize_params params;
    const pcgpu_device_voxels *out; /* the caller's arrays, and the data is on the device; else NULL */
    pc_chain *graph;                /* NULL: kernels are launched one by one */
} call;

/* Launches the kernel, or sets node `node` of the graph. Every kernel but the first may start while the one before it
 * ends. */
template <typename... P, typename... A>
static pcgpu_status add_kernel(pcgpu_context *context, const call *c, int node, unsigned blocks, int threads,
                               size_t shared, void (*kernel)(P...), A... arguments) {
    const bool overlaps = node > 0 && pc_cuda_of(context)->properties.major >= 9;
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = pc_launch_config(context, blocks, threads, shared, &attribute);
    if (c->graph) {
        CUDA_TRY(context, pc_chain_set(c->graph, node, &config, overlaps, kernel, arguments...));
    } else {
        config.numAttrs = overlaps;
        CUDA_TRY(context, cudaLaunchKernelEx(&config, kernel, arguments...));
    }
    return PCGPU_OK;
}

/* Blocks for n items, at most so many per multiprocessor. */
static unsigned blocks_for(pcgpu_context *context, int64_t n, int threads, int per_multiprocessor) {
    const unsigned most = (unsigned)(per_multiprocessor * pc_cuda_of(context)->properties.multiProcessorCount),
                   blocks = pc_blocks(n, threads);
    return blocks < most ? blocks : most;
}

/* Nodes of a graph. */
enum { INSERT, SCAN, EMIT };

static pcgpu_status add_insert(pcgpu_context *context, const call *c) {
    const pc_voxelize_params *s = &c->params;
    return add_kernel(context, c, INSERT, blocks_for(context, s->rows, PC_INSERT_THREADS, PC_INSERT_BLOCKS),
                      PC_INSERT_THREADS, 0,
                      c->kind == DIRECT           ? direct_insert_kernel
                      : c->kind == FUSED          ? insert_kernel<true, true>
                      : s->rows < (uint32_t)SMALL ? insert_kernel<false, true>
                                                  : insert_kernel<false, false>,
                      *s);
}

/* Only small clouds have a graph, and their scan is one kernel. */
static pcgpu_status add_scan(pcgpu_context *context, const call *c) {
    const pc_voxelize_params *s = &c->params;
    if (s->flags) {
        const uint32_t words = PC_FLAG_WORDS;
        const int rows = PC_FLAG_WORDS * PC_SCAN_THREADS;
        PC_TRY(add_kernel(context, c, SCAN, pc_blocks(s->rows, rows), PC_SCAN_THREADS, bytes_of_lists(words),
                          scan_flagged_kernel, *s, words));
        return add_kernel(context, c, SCAN, blocks_for(context, s->rows, rows, PC_SCAN_BLOCKS), PC_SCAN_THREADS,
                          bytes_of_lists(words), gather_flagged_kernel, *s, words);
    }
    return add_kernel(context, c, SCAN, pc_blocks(s->rows, PC_TILE_ROWS), PC_SCAN_THREADS, 0, scan_kernel, *s);
}

/* Voxels that a block of emit has in shared memory at once: whole stripes. */
static int chunk_of(const pc_voxelize_params *s) {
    const int rows = s->columns <= 4 ? (int)PC_EMIT_RECORDS : PC_EMIT_RECORDS * 4 / s->columns,
              voxels = rows / s->kept / STRIPE * STRIPE;
    return voxels < STRIPE ? (int)STRIPE : voxels < PC_EMIT_THREADS ? voxels : (int)PC_EMIT_THREADS;
}

static pcgpu_status add_emit(pcgpu_context *context, const call *c) {
    const pc_voxelize_params *s = &c->params;
    const unsigned multiprocessors = (unsigned)pc_cuda_of(context)->properties.multiProcessorCount;
    if (c->kind == REDUCE) {
        return add_kernel(context, c, EMIT, PC_REDUCE_BLOCKS * multiprocessors, PC_REDUCE_THREADS, 0, reduce_kernel,
                          *s);
    }
    return add_kernel(context, c, EMIT, PC_EMIT_BLOCKS * multiprocessors, PC_EMIT_THREADS,
                      (size_t)(chunk_of(s) * s->kept * s->columns) * sizeof(float), emit_kernel, *s, chunk_of(s));
}

typedef void direct_emit(const pc_voxelize_params s, uint32_t overfull_blocks);

/* lanes: per voxel. */
template <bool PILLARS, bool ALIGNED> static direct_emit *direct_emit_of(int lanes) {
    return lanes == 4   ? direct_emit_kernel<4, PILLARS, ALIGNED>
           : lanes == 8 ? direct_emit_kernel<8, PILLARS, ALIGNED>
                        : direct_emit_kernel<16, PILLARS, ALIGNED>;
}

static pcgpu_status add_direct_emit(pcgpu_context *context, const call *c) {
    const pc_voxelize_params *s = &c->params;
    const int lanes = s->kept <= 4 * LANE_RECORDS ? 4 : s->kept <= 8 * LANE_RECORDS ? 8 : 16;
    const unsigned blocks = blocks_for(context, (int64_t)s->capacity * lanes + PC_OVERFULL_BLOCKS * PC_DIRECT_THREADS,
                                       PC_DIRECT_THREADS, PC_DIRECT_BLOCKS),
                   half = blocks / 2;
    return add_kernel(context, c, SCAN, blocks, PC_DIRECT_THREADS, 0,
                      s->kind == PCGPU_FEATURES_PILLAR
                          ? (s->aligned ? direct_emit_of<true, true>(lanes) : direct_emit_of<true, false>(lanes))
                      : s->aligned ? direct_emit_of<false, true>(lanes)
                                   : direct_emit_of<false, false>(lanes),
                      *s, PC_OVERFULL_BLOCKS < half ? (unsigned)PC_OVERFULL_BLOCKS : half);
}

static pcgpu_status add_kernels(pcgpu_context *context, const call *c) {
    PC_TRY(add_insert(context, c));
    if (c->kind == DIRECT) {
        return add_direct_emit(context, c);
    }
    if (c->kind == FUSED) {
        return add_kernel(context, c, SCAN, pc_blocks(c->params.rows, PC_FUSED_THREADS), PC_FUSED_THREADS, 0,
                          c->params.aligned ? fused_kernel<float4> : fused_kernel<float>, c->params);
    }
    PC_TRY(add_scan(context, c));
    return add_emit(context, c);
}

/* ---- arrays of the caller on the device -------------------------------------------------------------------------- */

/* What the last kernel of a call does: writes V, and clears memory. */
typedef struct ending {
    const pc_voxelize_counters *counters;
    uint32_t max_voxels;
    int32_t *count; /* NULL: only clears */
    uint4 *clear[2];
    size_t size[2]; /* in uint4 */
} ending;

__global__ static void end_kernel(const ending e) {
    const size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x, threads = (size_t)gridDim.x * blockDim.x;
    if (thread == 0 && e.count) {
        *e.count = (int32_t)min(e.counters->found, e.max_voxels);
    }
    for (int k = 0; k < 2; k++) {
        for (size_t i = thread; i < e.size[k]; i += threads) {
            e.clear[k][i] = make_uint4(0, 0, 0, 0);
        }
    }
}

static_assert(sizeof(pc_heads) % sizeof(uint4) == 0 && sizeof(pc_voxelize_sums) % sizeof(uint4) == 0,
              "cleared by uint4");

/* In a CUDA graph the number of a call is that of its capture, so what calls leave for the next one to clear is cleared
 * before each run, and after it for calls beside the graph. */
static pcgpu_status add_end(pcgpu_context *context, const call *c, bool clears, int32_t *count) {
    enum { THREADS = 256, BLOCKS = 64 };
    const table *t = c->of;
    ending e = {c->params.counters, c->params.max_voxels, count, {NULL, NULL}, {0, 0}};
    if (clears) {
        e.clear[0] = (uint4 *)t->array[COUNTERS];
        e.size[0] = sizeof c->params.counters->sums / sizeof(uint4);
    }
    if (clears && has_buckets(c->kind)) {
        const int cleared = c->kind == DIRECT ? HEADS : BUCKET_KEYS;
        e.clear[1] = (uint4 *)t->array[cleared];
        e.size[1] = t->size[cleared] / sizeof(uint4);
    }
    PC_LAUNCH(context, end_kernel, clears ? BLOCKS : 1, THREADS, e);
    return PCGPU_OK;
}

#endif
