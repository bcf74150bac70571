/* Launches of the kernels of voxelize_hashed.cuh. */
#ifndef PC_VOXELIZE_LAUNCH_CUH
#define PC_VOXELIZE_LAUNCH_CUH

#include "voxelize_all.cuh"
#include "voxelize_dense_fill.cuh"
#include "voxelize_dense_insert.cuh"
#include "voxelize_fill.cuh"
#include "voxelize_finish.cuh"
#include "voxelize_number_many.cuh"
#include "voxelize_table.cuh"

/* A call: what the kernels are told, and of few records their chain. */
typedef struct call {
    table *of;
    pc_hashed told;
    bool dense; /* the table has each cell of the grid */
    bool many;  /* insert_many does it, with: */
    pc_cells cells;
    pc_lists lists;
    pc_chain *chain;
} call;

static cudaLaunchConfig_t configuration(pcgpu_context *context, unsigned blocks, int threads,
                                        cudaLaunchAttribute *attribute) {
    cudaLaunchConfig_t config = {};
    attribute->id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute->val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(blocks);
    config.blockDim = dim3((unsigned)threads);
    config.stream = pc_cuda_of(context)->stream;
    config.attrs = attribute;
    return config;
}

/* Launches kernel `number` of the call, or puts it into the chain. Each but the first may start while the one before it
 * ends. */
template <typename... P, typename... A>
static pcgpu_status add_kernel(pcgpu_context *context, const call *c, int number, cudaLaunchConfig_t *config,
                               void (*kernel)(P...), A... arguments) {
    const bool overlaps = number > 0 && pc_cuda_of(context)->properties.major >= 9;
    if (c->chain) {
        CUDA_TRY(context, pc_chain_set(c->chain, number, config, overlaps, kernel, arguments...));
    } else {
        config->numAttrs = overlaps;
        CUDA_TRY(context, cudaLaunchKernelEx(config, kernel, arguments...));
    }
    return PCGPU_OK;
}

static unsigned at_most(unsigned blocks, unsigned most) {
    return blocks < most ? blocks : most;
}

enum { INSERT, NUMBER, FINISH = NUMBER, FILL, GATHER = FILL, FILL_MANY };

/* Of pc_lists.begins: whole tiles. */
static int64_t words_of_lists(int64_t rows) {
    return (int64_t)pc_blocks(rows, 32 * TILE_WORDS) * TILE_WORDS;
}

/* Blocks of insert. */
static unsigned inserts_of(pcgpu_context *context, int64_t rows, bool many) {
    const unsigned multiprocessors = (unsigned)pc_cuda_of(context)->properties.multiProcessorCount;
    return at_most(pc_blocks(rows, PC_INSERT_THREADS), (many ? PC_INSERT_MANYS : PC_INSERTS) * multiprocessors);
}

static pcgpu_status add_insert(pcgpu_context *context, const call *c) {
    const pc_hashed *s = &c->told;
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t insert =
        configuration(context, inserts_of(context, s->rows, c->many), PC_INSERT_THREADS, &attribute);
    if (c->many) {
        CUDA_TRY(context, cudaMemsetAsync(c->lists.begins, 0, (size_t)words_of_lists(s->rows) * sizeof(uint32_t),
                                          insert.stream));
        return add_kernel(context, c, INSERT, &insert,
                          s->aligned ? insert_many_kernel<true> : insert_many_kernel<false>, *s, c->cells, c->lists);
    }
    return add_kernel(context, c, INSERT, &insert,
                      c->dense                    ? dense_insert_kernel
                      : s->finishes               ? insert_kernel<true, true>
                      : s->rows < (uint32_t)SMALL ? insert_kernel<false, true>
                                                  : insert_kernel<false, false>,
                      *s);
}

static pcgpu_status add_number_many(pcgpu_context *context, const call *c) {
    const pc_hashed *s = &c->told;
    const uint32_t share = PC_MANY_WORDS;
    const unsigned blocks = pc_blocks(s->rows, (int64_t)share * PC_NUMBER_THREADS),
                   multiprocessors = (unsigned)pc_cuda_of(context)->properties.multiProcessorCount;
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t number = configuration(context, blocks, PC_NUMBER_THREADS, &attribute),
                       gather = configuration(context, at_most(blocks, PC_NUMBER_MANYS * multiprocessors),
                                              PC_NUMBER_THREADS, &attribute);
    number.dynamicSmemBytes = gather.dynamicSmemBytes = bytes_of_lists(share);
    PC_TRY(add_kernel(context, c, NUMBER, &number, number_many_kernel, *s, share));
    return add_kernel(context, c, GATHER, &gather, gather_kernel, *s, share);
}

static pcgpu_status add_number_lists(pcgpu_context *context, const call *c) {
    const pc_hashed *s = &c->told;
    const pc_lists *l = &c->lists;
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t list = configuration(context, inserts_of(context, s->rows, true), LIST_THREADS, &attribute),
                       tile =
                           configuration(context, pc_blocks(s->rows, 32 * TILE_WORDS), PC_NUMBER_THREADS, &attribute);
    PC_TRY(add_kernel(context, c, NUMBER, &list, begin_kernel, *s, *l));
    PC_TRY(add_kernel(context, c, NUMBER, &tile, rank_kernel, *s, *l));
    PC_TRY(add_kernel(context, c, NUMBER, &list, number_lists_kernel, *s, c->cells, *l));
    return add_kernel(context, c, GATHER, &list, gather_lists_kernel, *s, *l);
}

static pcgpu_status add_number(pcgpu_context *context, const call *c) {
    const pc_hashed *s = &c->told;
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t number = configuration(context, pc_blocks(s->rows, PC_TILE_ROWS), PC_NUMBER_THREADS, &attribute);
    if (c->many) {
        return add_number_lists(context, c);
    }
    return s->marks ? add_number_many(context, c) : add_kernel(context, c, NUMBER, &number, number_kernel, *s);
}

/* Voxels that a block of fill holds at once: whole stripes. */
static int chunk_of(const pc_hashed *s) {
    const int rows = s->columns <= 4 ? (int)PC_FILL_ROWS : PC_FILL_ROWS * 4 / s->columns,
              voxels = rows / s->kept / STRIPE * STRIPE;
    return voxels < STRIPE ? (int)STRIPE : voxels < PC_FILL_THREADS ? voxels : (int)PC_FILL_THREADS;
}

static pcgpu_status add_fill(pcgpu_context *context, const call *c) {
    const pc_hashed *s = &c->told;
    const int number = c->many || s->marks ? FILL_MANY : FILL;
    const unsigned multiprocessors = (unsigned)pc_cuda_of(context)->properties.multiProcessorCount,
                   blocks = (s->all ? PC_ALLS : PC_FILLS) * multiprocessors;
    cudaLaunchAttribute attribute = {};
    if (s->all) {
        cudaLaunchConfig_t config = configuration(context, blocks, PC_ALL_THREADS, &attribute);
        return add_kernel(context, c, number, &config, fill_all_kernel, *s);
    }
    cudaLaunchConfig_t config = configuration(context, blocks, PC_FILL_THREADS, &attribute);
    config.dynamicSmemBytes = (size_t)(chunk_of(s) * s->kept * s->columns) * sizeof(float);
    return add_kernel(context, c, number, &config, c->many ? fill_many_kernel : fill_kernel, *s, chunk_of(s));
}

static pcgpu_status add_finish(pcgpu_context *context, const call *c) {
    const pc_hashed *s = &c->told;
    const unsigned blocks = pc_blocks(s->rows, PC_FINISH_THREADS);
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = configuration(context, blocks, PC_FINISH_THREADS, &attribute);
    return add_kernel(context, c, FINISH, &config, finish_kernel, *s);
}

typedef void dense_fill(const pc_hashed s, uint32_t crowd_blocks);

/* lanes: of a voxel. */
template <bool PILLARS, bool FOUR> static dense_fill *dense_fill_of(int lanes) {
    return lanes == 4   ? dense_fill_kernel<4, PILLARS, FOUR>
           : lanes == 8 ? dense_fill_kernel<8, PILLARS, FOUR>
                        : dense_fill_kernel<16, PILLARS, FOUR>;
}

static pcgpu_status add_dense_fill(pcgpu_context *context, const call *c) {
    const pc_hashed *s = &c->told;
    const int lanes = s->kept <= 4 * DENSE_EACH ? 4 : s->kept <= 8 * DENSE_EACH ? 8 : 16;
    const unsigned multiprocessors = (unsigned)pc_cuda_of(context)->properties.multiProcessorCount,
                   needed = pc_blocks((int64_t)s->room * lanes, PC_DENSE_THREADS),
                   blocks = at_most(PC_CROWD_BLOCKS + needed, PC_DENSES * multiprocessors);
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = configuration(context, blocks, PC_DENSE_THREADS, &attribute);
    return add_kernel(context, c, FINISH, &config,
                      s->kind == PCGPU_FEATURES_PILLAR
                          ? (s->aligned ? dense_fill_of<true, true>(lanes) : dense_fill_of<true, false>(lanes))
                      : s->aligned ? dense_fill_of<false, true>(lanes)
                                   : dense_fill_of<false, false>(lanes),
                      *s, at_most(PC_CROWD_BLOCKS, blocks / 2));
}

static pcgpu_status add_kernels(pcgpu_context *context, const call *c) {
    PC_TRY(add_insert(context, c));
    if (c->dense) {
        return add_dense_fill(context, c);
    }
    if (c->told.finishes) {
        return add_finish(context, c);
    }
    PC_TRY(add_number(context, c));
    return add_fill(context, c);
}

#endif
