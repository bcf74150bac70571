/* The order and the buckets of one cloud in one launch, for clouds of up to one point per thread of the device: a
 * least-significant-digit radix sort with digits of 8 bits. Each block has a tile of the points; a pass has two grid
 * barriers. For such sizes a sort for throughput is dominated by latency: its launches take three times as long.
 *
 * A pass: every block publishes the digit counts of its tile; every block sums the counts of all blocks, which gives
 * its offsets; every thread writes its key and index there. */
#include "launch.cuh"
#include "sample_curve.cuh"

#include <cooperative_groups.h>

enum {
    TILE = 1024, /* points per block, one per thread */
    WARPS = TILE / 32,
    DIGIT_BITS = 8,
    DIGITS = 1 << DIGIT_BITS,
    LEAST_TILE = 256,  /* minimum points per block */
    MOST_BLOCKS = 128, /* limit of add_up */
    PARTS = 4,
    NO_DIGIT = DIGITS /* of threads without a point */
};

typedef struct sorting {
    uint16_t of_warp[WARPS][DIGITS];     /* counts, then offsets of each warp within the block */
    uint16_t of_part[PARTS][DIGITS];     /* the same for a quarter of the warps */
    uint32_t all[PARTS][DIGITS / 2];     /* counts of a quarter of the blocks, two digits per word */
    uint32_t earlier[PARTS][DIGITS / 2]; /* counts of the blocks before this one */
    uint32_t begin[DIGITS];              /* offsets of this block's points */
    uint32_t warp_sums[DIGITS / 32];
} sorting;

/* A key and the index of its point. */
typedef uint2 item;

/* ---- a pass ----------------------------------------------------------------------------------------------------- */

/* The rank of this thread's point among those of its warp with the same digit; counts the digits of the warp. */
__device__ static uint32_t rank_in_warp(sorting *s, uint32_t digit) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    ((uint4 *)s->of_warp[warp])[lane] = make_uint4(0, 0, 0, 0); /* 512 bytes */
    const uint32_t same = __match_any_sync(PC_ALL_LANES, digit), before = same & ((1u << lane) - 1);
    __syncwarp();
    if (digit != NO_DIGIT && before == 0) {
        s->of_warp[warp][digit] = (uint16_t)__popc(same);
    }
    return (uint32_t)__popc(before);
}

/* Converts the counts of the warps into offsets within the block, and writes the counts of the block. */
__device__ static void count_block(sorting *s, uint16_t *counts) {
    enum { EACH = WARPS / PARTS };
    const int part = threadIdx.x / DIGITS, digit = threadIdx.x % DIGITS;
    uint16_t count[EACH];
    uint32_t sum = 0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        count[k] = s->of_warp[part * EACH + k][digit];
        sum += count[k];
    }
    s->of_part[part][digit] = (uint16_t)sum;
    __syncthreads();
    uint32_t slot = 0;
    for (int p = 0; p < part; p++) {
        slot += s->of_part[p][digit];
    }
    if (part == PARTS - 1) {
        counts[digit] = (uint16_t)(slot + sum);
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        s->of_warp[part * EACH + k][digit] = (uint16_t)slot;
        slot += count[k];
    }
}

/* Sums words of two 16-bit counts over the lanes with a stride of 4. */
__device__ static uint32_t sum_of_lanes(uint32_t counts) {
    for (int step = 4; step < 32; step *= 2) {
        counts += __shfl_xor_sync(PC_ALL_LANES, counts, step);
    }
    return counts;
}

/* Sums the counts of all blocks, and of the blocks before this one. Lane 4 k + m of a warp reads eight digits of every
 * eighth block, from the k-th on. A quarter of the blocks has at most 32,768 points, so that 16 bits hold each sum. */
__device__ static void add_up(sorting *s, const uint16_t *counts) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, part = warp / (WARPS / PARTS);
    const int word = (warp % (WARPS / PARTS) * 4 + lane % 4) * 4; /* the first of four, of two digits each */
    const int blocks = (int)gridDim.x, mine = (int)blockIdx.x;
    uint32_t all[4] = {0, 0, 0, 0}, earlier[4] = {0, 0, 0, 0};
#pragma unroll
    for (int k = 0; k < MOST_BLOCKS / PARTS / 8; k++) {
        const int from = part * (MOST_BLOCKS / PARTS) + k * 8 + lane / 4;
        if (from < blocks) {
            const uint4 of = __ldcg((const uint4 *)((const uint32_t *)counts + (size_t)from * (DIGITS / 2) + word));
            const uint32_t counted[4] = {of.x, of.y, of.z, of.w};
            for (int i = 0; i < 4; i++) {
                all[i] += counted[i];
                earlier[i] += from < mine ? counted[i] : 0;
            }
        }
    }
    for (int i = 0; i < 4; i++) {
        all[i] = sum_of_lanes(all[i]);
        earlier[i] = sum_of_lanes(earlier[i]);
        if (lane < 4) {
            s->all[part][word + i] = all[i];
            s->earlier[part][word + i] = earlier[i];
        }
    }
    __syncthreads();
}

/* The offset of the block's points of each digit: behind all points with lower digits, and the points with this digit
 * in earlier blocks. */
__device__ static void find_begin(sorting *s) {
    const int digit = threadIdx.x, lane = digit % 32, shift = digit % 2 * 16;
    uint32_t own = 0, earlier = 0, upto = 0;
    if (digit < DIGITS) {
        for (int p = 0; p < PARTS; p++) {
            own += s->all[p][digit / 2] >> shift & 0xffffu;
            earlier += s->earlier[p][digit / 2] >> shift & 0xffffu;
        }
        upto = pc_warp_sum_up_to(own);
        if (lane == 31) {
            s->warp_sums[digit / 32] = upto;
        }
    }
    __syncthreads();
    if (digit < DIGITS) {
        for (int w = 0; w < digit / 32; w++) {
            upto += s->warp_sums[w];
        }
        s->begin[digit] = upto - own + earlier;
    }
    __syncthreads();
}

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

/* `tile` points per block. items: two arrays of n; counts: DIGITS per block. */
__global__ static void __launch_bounds__(TILE, 1)
    sort_kernel(const pc_cloud *cloud, int tile, int bits, int bucket_points, item *items, uint16_t *counts) {
    __shared__ __align__(16) sorting s;
    const pc_cloud c = *cloud;
    cooperative_groups::grid_group all = cooperative_groups::this_grid();
    const int64_t i = (int64_t)blockIdx.x * tile + threadIdx.x;
    const bool there = (int)threadIdx.x < tile && i < c.n;
    float x = 0.0f, y = 0.0f, z = 0.0f;
    pc_bounds bounds = {{0, 0, 0}, {0, 0, 0}};
    if (there) {
        x = c.x[i];
        y = c.y[i];
        z = c.z[i];
        pc_bound(&bounds, x, y, z);
    }
    join_bounds(c.bounds, &bounds);
    all.sync();
    const cube q = bounding_cube(c);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *c.side = (float)q.side;
    }
    item mine = make_uint2(there ? curve_key(q, bits, x, y, z) : 0, (uint32_t)i);
    for (int shift = 0; shift < 3 * bits; shift += DIGIT_BITS) {
        const bool last = shift + DIGIT_BITS >= 3 * bits;
        const uint32_t digit = there ? mine.x >> shift & (DIGITS - 1) : (uint32_t)NO_DIGIT;
        const uint32_t rank = rank_in_warp(&s, digit);
        count_block(&s, counts + (size_t)blockIdx.x * DIGITS);
        all.sync();
        if (last && there) {
            x = c.x[mine.y];
            y = c.y[mine.y];
            z = c.z[mine.y];
        }
        add_up(&s, counts);
        find_begin(&s);
        if (there) {
            const uint32_t slot = s.begin[digit] + s.of_warp[threadIdx.x / 32][digit] + rank;
            if (last) {
                c.sorted[slot] = make_float4(x, y, z, __uint_as_float(mine.y));
            } else {
                items[slot] = mine;
            }
        }
        all.sync();
        if (!last && there) {
            mine = __ldcg(&items[i]);
        }
        items += shift / DIGIT_BITS % 2 ? -c.n : c.n; /* the other array */
    }
    for (int64_t run = ((int64_t)blockIdx.x * TILE + threadIdx.x) / 32; run < c.runs;
         run += (int64_t)gridDim.x * WARPS) {
        make_buckets(c, run, bucket_points, q.longest, NULL);
    }
}

int64_t pc_sample_sort_most(pcgpu_context *context) {
    const struct cudaDeviceProp *p = &pc_cuda_of(context)->properties;
    int blocks = p->multiProcessorCount < MOST_BLOCKS ? p->multiProcessorCount : MOST_BLOCKS;
    return p->cooperativeLaunch ? (int64_t)blocks * TILE : 0;
}

/* The items come first, then the counts. */
static size_t items_bytes(int64_t n) {
    return (2 * (size_t)n * sizeof(item) + 255) / 256 * 256;
}

size_t pc_sample_sort_scratch(int64_t n) {
    return items_bytes(n) + (size_t)MOST_BLOCKS * DIGITS * sizeof(uint16_t);
}

pcgpu_status pc_sample_sort(pcgpu_context *context, const pc_cloud *device, int64_t n, int bits, int bucket_points,
                            void *scratch) {
    int64_t blocks = (n + LEAST_TILE - 1) / LEAST_TILE, most = pc_sample_sort_most(context) / TILE;
    blocks = blocks < most ? blocks : most;
    int tile = (int)((n + blocks - 1) / blocks);
    item *items = (item *)scratch;
    uint16_t *counts = (uint16_t *)((char *)scratch + items_bytes(n));
    return pc_launch_cooperative(context, (unsigned)blocks, TILE, sort_kernel, device, tile, bits, bucket_points, items,
                                 counts);
}
