/* The rounds of farthest point sampling: one persistent kernel from the first pick to the last; see sample.cuh. */
#include "launch.cuh"
#include "sample_cluster.cuh"
#include "sample_grid.cuh"
#include "sample_listing.cuh"

/* ---- shared memory ---------------------------------------------------------------------------------------------- */

/* The layout of a block's shared memory, as offsets. The buckets of a family are contiguous, and so are their points:
 * point i of bucket b is at b * PC_RUN + i. */
typedef struct layout {
    size_t points, nearest, buckets, families, fresh, group, hits, near, queue, own, chosen, round, bytes;
} layout;

__host__ __device__ static size_t after(size_t *used, size_t bytes) {
    size_t at = *used;
    *used += (bytes + 15) / 16 * 16;
    return at;
}

__host__ __device__ static layout lay_out(const pc_rounds_shape &shape, bool cluster) {
    size_t buckets = (size_t)shape.buckets, families = shape.chunk_log ? buckets / PC_FAMILY + PARTED : 0, used = 0;
    size_t held = shape.stored ? 0 : buckets * PC_RUN;
    layout l;
    l.points = after(&used, held * sizeof(float4));
    l.nearest = after(&used, held * sizeof(float));
    l.buckets = after(&used, buckets * sizeof(pc_bucket));
    l.families = after(&used, families * sizeof(family));
    l.fresh = after(&used, (size_t)shape.fresh * sizeof(float4));
    l.group = after(&used, pc_exchange_bytes(shape, cluster));
    l.hits = after(&used, families * HITS * sizeof(uint16_t));
    l.near = after(&used, families ? buckets * sizeof(uint32_t) : 0);
    l.queue = after(&used, families ? buckets * sizeof(uint32_t) : 0);
    l.own = after(&used, buckets * sizeof(uint16_t));
    l.chosen = after(&used, (size_t)shape.messages * sizeof(uint16_t));
    l.round = after(&used, sizeof(pc_round));
    l.bytes = used;
    return l;
}

/* ---- a round ---------------------------------------------------------------------------------------------------- */

/* Clears the results of renew, after all threads have used them. */
__device__ static void clear_own(pc_round *round) {
    round->own_count = 0;
    round->own_top = 0;
    round->overflow = false;
}

/* Clears the results of test. */
__device__ static void clear_others(pc_round *round) {
    round->blocked = 0;
    round->listed = 0;
    round->open = 0;
    round->cut = 0;
    round->next = 0;
}

/* The key of the point that sampling picks next, or a higher key when that point is not listed. A bucket beyond the
 * capacity of the list is in `cut`. The same for all threads. */
template <typename GROUP> __device__ static word highest_open(const GROUP &group, pc_round *round) {
    group.find_open(round);
    __syncthreads();
    word listed = (word)round->open << 32 | (round->next ? round->next : ~0u);
    return max(listed, round->cut);
}

/* Whether the requested number of accepted picks is above every open point. The picks before `passed` are, which is
 * updated. `open` is the highest open point of the last round; it only decreases, so few picks must be tested. All
 * threads get the same result. */
template <typename GROUP>
__device__ static bool enough(const GROUP &group, pc_round *round, const pc_cloud &c, int64_t accepted, word *open,
                              int64_t *passed) {
    enum { AT_ONCE = 4 };
    if (accepted < c.wanted) {
        return false;
    }
    *open = min(*open, highest_open(group, round));
    int64_t above = *passed;
    bool all = true;
    for (int64_t first = above; first < accepted; first += AT_ONCE * PC_ROUND_THREADS) {
        bool mine[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k++) {
            int64_t i = first + k * PC_ROUND_THREADS + threadIdx.x;
            mine[k] = i < accepted && __ldcg(&c.accepted[i]) > *open;
        }
        for (int k = 0; k < AT_ONCE; k++) {
            int many = __syncthreads_count(mine[k]);
            all = all && many == PC_ROUND_THREADS;
            above += many;
            *passed += all ? PC_ROUND_THREADS : 0;
        }
    }
    return above >= c.wanted;
}

/* Sets the threshold of the next round: a fraction of the largest value, adapted so that about `target` buckets are
 * above it. With many equal values this is not effective. When the buckets then exceed the list, every block may
 * publish only its partition of the list: the highest buckets of each block are listed, and the buckets that wait are
 * below them. */
__device__ static void aim(pc_round *round, const pc_rounds_shape &shape) {
    if (shape.list && round->listed > (uint32_t)shape.list) {
        round->limit = max(shape.list / shape.workers, 1);
    } else if (round->cut == 0) {
        round->limit = shape.messages;
    }
    float by = sqrtf(shape.target / fmaxf((float)round->listed, 1.0f));
    float depth = fminf(fmaxf(round->depth * fminf(fmaxf(by, 0.6f), 1.25f), 0.02f), 0.5f);
    round->depth = depth;
    round->threshold = max(__float_as_uint((1.0f - depth) * __uint_as_float(round->open)), 1u);
}

/* Copies the next seeds to `fresh`; returns how many. */
__device__ static int take_seeds(const pc_cloud &c, int64_t first, float4 *fresh, int capacity) {
    int count = (int)min((int64_t)capacity, c.seed_count - first);
    for (int i = (int)threadIdx.x; i < count; i += PC_ROUND_THREADS) {
        int32_t seed = c.seeds[first + i];
        fresh[i] = make_float4(c.x[seed], c.y[seed], c.z[seed], 0.0f);
    }
    __syncthreads();
    return count;
}

/* The accepted buckets among the block's published ones, one bit each; for one warp. */
__device__ static word accepted_mask(const pc_block &block, int count) {
    const pc_round *round = block.round;
    word mask = 0;
    for (int first = 0; first < count; first += 32) {
        int i = first + (int)threadIdx.x % 32;
        bool good = i < count && !(round->blocked >> i & 1);
        if (good && round->cut) {
            good = ((word)__float_as_uint(round->at[i].w) << 32 | round->inverted[i]) >= round->cut;
        }
        mask |= (word)__ballot_sync(PC_ALL_LANES, good) << first;
    }
    return mask;
}

/* Computes the tiles for the ranking, in one block: one warp per tile. */
__device__ static void bound_tiles(const pc_cloud &c, int64_t accepted) {
    const int lane = (int)threadIdx.x % 32;
    for (int64_t t = (int)threadIdx.x / 32; t < pc_tiles_of(accepted); t += PC_ROUND_WARPS) {
        pc_tile of = {~0ull, 0};
#pragma unroll
        for (int k = 0; k < PC_TILE; k += 32) {
            const int64_t i = t * PC_TILE + k + lane;
            if (i < accepted) {
                const word pick = __ldcg(&c.accepted[i]);
                of.least = min(of.least, pick);
                of.largest = max(of.largest, pick);
            }
        }
        for (int step = 16; step > 0; step /= 2) {
            of.least = min(of.least, __shfl_xor_sync(PC_ALL_LANES, of.least, step));
            of.largest = max(of.largest, __shfl_xor_sync(PC_ALL_LANES, of.largest, step));
        }
        if (lane == 0) {
            c.tiles[t] = of;
        }
    }
}

template <typename GROUP, bool STORED>
__device__ static void sample_cloud(const pc_cloud &c, const pc_rounds_shape &shape, char *memory) {
    const layout l = lay_out(shape, GROUP::CLUSTER);
    const int rank = (int)(blockIdx.x % (unsigned)shape.blocks), buckets = rank < shape.workers ? shape.buckets : 0;
    __shared__ uint32_t queued, family_count;
    pc_round *const mine = (pc_round *)(memory + l.round);
    const refreshing r = {(pc_bucket *)(memory + l.buckets),
                          (family *)(memory + l.families),
                          &family_count,
                          (float4 *)(memory + l.fresh),
                          (uint16_t *)(memory + l.hits),
                          (uint32_t *)(memory + l.near),
                          (uint32_t *)(memory + l.queue),
                          &queued};
    const pc_block block = {r.buckets, (uint16_t *)(memory + l.own), mine, rank};
    const block_points<STORED> points = {STORED ? c.sorted : (float4 *)(memory + l.points),
                                         STORED ? c.nearest : (float *)(memory + l.nearest),
                                         c.ranges,
                                         buckets,
                                         shape.chunk_log,
                                         rank,
                                         shape.workers};
    GROUP group;
    group.start(c, shape, memory + l.group);
    if (threadIdx.x == 0) {
        queued = 0;
        family_count = (uint32_t)(buckets / PC_FAMILY);
        mine->fresh = 0;
        mine->depth = 0.35f;
        mine->threshold = INFINITE;
        mine->limit = shape.messages;
        clear_own(mine);
        clear_others(mine);
    }
    load_buckets(c, points, r.buckets);
    __syncthreads();
    if (shape.chunk_log) {
        find_families(r, buckets / PC_FAMILY, *c.side * LONGEST_FAMILY / cbrtf((float)c.runs / PC_FAMILY));
        __syncthreads();
    }
    int64_t seeds = take_seeds(c, 0, r.fresh, shape.fresh), accepted = 0, passed = 0;
    word open = ~0ull; /* no open point is higher */
    int round = 0, idle = 0, added = (int)seeds;
    bool stop = false;
    while (true) {
        renew(r, points, block, added, mine->threshold);
        if (seeds < c.seed_count) {
            added = take_seeds(c, seeds, r.fresh, shape.fresh);
            seeds += added;
            if (threadIdx.x == 0) {
                clear_own(mine);
            }
            __syncthreads();
            continue;
        }
        int count = (int)mine->own_count;
        if (count > mine->limit) {
            count = mine->limit;
            keep_highest(block, (uint16_t *)(memory + l.chosen), count);
            bound_published(points, block, count, mine->threshold);
        } else if (STORED || shape.chunk_log) {
            bound_published(points, block, count, mine->threshold);
        }
        if (threadIdx.x == 0) {
            mine->fresh = 0;
        }
        group.publish(block, count, round);
        group.test(block, count, round);
        if (group.decides(rank)) {
            stop = mine->open == 0 || sqrtf(__uint_as_float(mine->open)) < c.min_distance || idle > 1 ||
                   enough(group, mine, c, accepted, &open, &passed);
        }
        group.accept(block, threadIdx.x < 32 ? accepted_mask(block, count) : 0, stop, round);
        if (stop) {
            break;
        }
        if (threadIdx.x == 0) {
            clear_own(mine);
            aim(mine, shape);
        }
        added = group.gather(block, c, accepted, round, r.fresh);
        if (added < 0) {
            break;
        }
        if (threadIdx.x == 0) {
            clear_others(mine);
        }
        /* Two consecutive rounds without a pick are impossible: the threshold of the second is below the highest
         * point. */
        idle = added == 0 ? idle + 1 : 0;
        accepted += added;
        round++;
    }
    if (group.decides(rank) && rank == shape.workers % shape.blocks) {
        bound_tiles(c, accepted);
        if (threadIdx.x == 0) {
            c.end->accepted = accepted;
            c.end->open = min(open, (word)mine->open << 32 | ~0u);
            c.end->stuck = idle > 1;
        }
    }
    group.end();
}

/* Copies the cloud of this block to shared memory, which saves registers. */
__device__ static void load_cloud(const pc_cloud *clouds, const pc_rounds_shape &shape, pc_cloud *c) {
    if (threadIdx.x == 0) {
        *c = clouds[blockIdx.x / (unsigned)shape.blocks];
    }
    __syncthreads();
}

template <bool STORED>
__global__ void __launch_bounds__(PC_GRID_THREADS, 1) grid_kernel(const pc_cloud *clouds, const pc_rounds_shape shape) {
    extern __shared__ __align__(16) char memory[];
    __shared__ pc_cloud c;
    load_cloud(clouds, shape, &c);
    sample_cloud<pc_grid_group, STORED>(c, shape, memory);
}

__global__ void __launch_bounds__(PC_CLUSTER_THREADS, 1)
    cluster_kernel(const pc_cloud *clouds, const pc_rounds_shape shape) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ __align__(16) char memory[];
    __shared__ pc_cloud c;
    load_cloud(clouds, shape, &c);
    sample_cloud<pc_cluster_group, false>(c, shape, memory);
#else
    (void)clouds;
    (void)shape;
    __trap(); /* pc_sample_rounds_resident reports no clusters */
#endif
}

/* ---- launching -------------------------------------------------------------------------------------------------- */

typedef void rounds_kernel(const pc_cloud *, const pc_rounds_shape);

static rounds_kernel *kernel_of(const pc_rounds_shape *shape, bool cluster) {
    return cluster ? cluster_kernel : shape->stored ? grid_kernel<true> : grid_kernel<false>;
}

size_t pc_sample_rounds_bytes(const pc_rounds_shape *shape, bool cluster) {
    return lay_out(*shape, cluster).bytes;
}

size_t pc_sample_rounds_most(pcgpu_context *context) {
    enum { VARIABLES = 256 }; /* the cloud and two counters */
    static_assert(sizeof(pc_cloud) + 2 * sizeof(uint32_t) <= VARIABLES, "shared variables of the kernels");
    return pc_cuda_of(context)->properties.sharedMemPerBlockOptin - VARIABLES;
}

static cudaLaunchConfig_t configuration(pcgpu_context *context, const pc_rounds_shape *shape, int clouds, bool cluster,
                                        cudaLaunchAttribute *attribute) {
    *attribute = pc_cooperative();
    if (cluster) {
        attribute->id = cudaLaunchAttributeClusterDimension;
        attribute->val.clusterDim = {(unsigned)shape->blocks, 1, 1};
    }
    return pc_launch_config(context, (unsigned)(clouds * shape->blocks), shape->threads,
                            pc_sample_rounds_bytes(shape, cluster), attribute);
}

/* Permits the kernel all of the shared memory and any cluster size. The limits are those of the process, and another
 * thread with a context of its own may be about to launch a shape that needs more than this one. */
static pcgpu_status permit(pcgpu_context *context, const pc_rounds_shape *shape, bool cluster) {
    const void *kernel = (const void *)kernel_of(shape, cluster);
    cudaFuncAttributes attributes;
    CUDA_TRY(context, cudaFuncGetAttributes(&attributes, kernel));
    const size_t most = pc_cuda_of(context)->properties.sharedMemPerBlockOptin - attributes.sharedSizeBytes;
    CUDA_TRY(context, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)most));
    if (cluster) {
        CUDA_TRY(context, cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    }
    return PCGPU_OK;
}

pcgpu_status pc_sample_rounds_resident(pcgpu_context *context, const pc_rounds_shape *shape, bool cluster,
                                       int *resident) {
    const struct cudaDeviceProp *p = &pc_cuda_of(context)->properties;
    *resident = 0;
    if (pc_sample_rounds_bytes(shape, cluster) > pc_sample_rounds_most(context) || (cluster && p->major < 9)) {
        return PCGPU_OK;
    }
    PC_TRY(permit(context, shape, cluster));
    if (cluster) {
        cudaLaunchAttribute attribute;
        const cudaLaunchConfig_t config = configuration(context, shape, 1, true, &attribute);
        if (cudaOccupancyMaxActiveClusters(resident, cluster_kernel, &config) != cudaSuccess) {
            cudaGetLastError(); /* a cluster size that the device does not support */
            *resident = 0;
        }
        return PCGPU_OK;
    }
    int per_multiprocessor = 0;
    CUDA_TRY(context,
             cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel_of(shape, false), shape->threads,
                                                           pc_sample_rounds_bytes(shape, false)));
    *resident = per_multiprocessor * p->multiProcessorCount;
    return PCGPU_OK;
}

pcgpu_status pc_sample_rounds(pcgpu_context *context, const pc_cloud *device, int count, const pc_rounds_shape *shape,
                              bool cluster) {
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config = configuration(context, shape, count, cluster, &attribute);
    CUDA_TRY(context, cudaLaunchKernelEx(&config, kernel_of(shape, cluster), device, *shape));
    return PCGPU_OK;
}
