/* Buckets of neighbouring points for farthest point sampling: the points of each cloud are sorted along a Hilbert curve
 * (Skilling, "Programming the Hilbert curve", AIP Conf. Proc. 707, 2004) through a grid over the cloud's bounding cube,
 * and every 32 that follow each other are a bucket. A bucket that is much longer than the buckets of an evenly filled
 * cube would be is parted, into spare buckets behind the others: a long one is looked at by too many picks. */
#include "sample.cuh"

#include <cub/device/device_radix_sort.cuh>

enum { THREADS = 256, MOST_AXIS_BITS = 10 };

/* A bucket may be this many times as long as the edge of a cube that holds the same share of the bounding cube. */
#define LONGEST 2.0

/* For a finite float: an integer that orders as the float does. */
__device__ static uint32_t ordered(float value) {
    uint32_t bits = __float_as_uint(value);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

__device__ static float from_ordered(uint32_t bits) {
    return __uint_as_float(bits >> 31 ? bits & 0x7fffffffu : ~bits);
}

/* blockIdx.y: the cloud. The bounds are zero before. */
__global__ static void bounds_kernel(const pc_cloud *clouds) {
    const pc_cloud c = clouds[blockIdx.y];
    __shared__ uint32_t shared[6];
    uint32_t most[6] = {0, 0, 0, 0, 0, 0};
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < c.n; i += (int64_t)gridDim.x * THREADS) {
        uint32_t position[3] = {ordered(c.x[i]), ordered(c.y[i]), ordered(c.z[i])};
        for (int k = 0; k < 3; k++) {
            most[k] = max(most[k], position[k]);
            most[3 + k] = max(most[3 + k], ~position[k]);
        }
    }
    if (threadIdx.x < 6) {
        shared[threadIdx.x] = 0;
    }
    __syncthreads();
    for (int k = 0; k < 6; k++) {
        uint32_t warp = pc_warp_max(most[k]);
        if (threadIdx.x % 32 == 0) {
            atomicMax(&shared[k], warp);
        }
    }
    __syncthreads();
    if (threadIdx.x < 6) {
        uint32_t *to = threadIdx.x < 3 ? &c.bounds->high[threadIdx.x] : &c.bounds->inverted_low[threadIdx.x - 3];
        atomicMax(to, shared[threadIdx.x]);
    }
}

/* The lowest corner and the longest side of the bounding box; float64, in which neither overflows. */
__device__ static double longest_side(const pc_bounds *bounds, double low[3]) {
    double side = 0.0;
    for (int k = 0; k < 3; k++) {
        low[k] = (double)from_ordered(~bounds->inverted_low[k]);
        side = max(side, (double)from_ordered(bounds->high[k]) - low[k]);
    }
    return side;
}

/* Moves bit i of a cell number to bit 3 i. */
__device__ static uint32_t spread(uint32_t v) {
    v = (v | v << 16) & 0x030000ffu;
    v = (v | v << 8) & 0x0300f00fu;
    v = (v | v << 4) & 0x030c30c3u;
    return (v | v << 2) & 0x09249249u;
}

/* The place along the curve of a cell with `bits` bits an axis. */
__device__ static uint32_t hilbert(uint32_t cell[3], int bits) {
    for (uint32_t q = 1u << (bits - 1); q > 1; q >>= 1) {
        for (int k = 0; k < 3; k++) {
            if (cell[k] & q) {
                cell[0] ^= q - 1;
            } else {
                uint32_t t = (cell[0] ^ cell[k]) & (q - 1);
                cell[0] ^= t;
                cell[k] ^= t;
            }
        }
    }
    cell[1] ^= cell[0];
    cell[2] ^= cell[1];
    uint32_t t = 0;
    for (uint32_t q = 1u << (bits - 1); q > 1; q >>= 1) {
        t ^= cell[2] & q ? q - 1 : 0;
    }
    return spread(cell[0] ^ t) << 2 | spread(cell[1] ^ t) << 1 | spread(cell[2] ^ t);
}

__global__ static void key_kernel(const pc_cloud *clouds, int bits, uint32_t *keys, int32_t *indices) {
    const pc_cloud c = clouds[blockIdx.y];
    double low[3], side = longest_side(c.bounds, low);
    double scale = side > 0.0 ? (double)((1 << bits) - 1) / side : 0.0;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < c.n; i += (int64_t)gridDim.x * THREADS) {
        uint32_t cell[3] = {(uint32_t)(((double)c.x[i] - low[0]) * scale),
                            (uint32_t)(((double)c.y[i] - low[1]) * scale),
                            (uint32_t)(((double)c.z[i] - low[2]) * scale)};
        keys[c.first + i] = (uint32_t)blockIdx.y << (3 * bits) | hilbert(cell, bits);
        indices[c.first + i] = (int32_t)i;
    }
}

typedef struct box {
    float low[3], high[3];
} box;

__device__ static void grow(box *b, const box *other) {
    for (int k = 0; k < 3; k++) {
        b->low[k] = fminf(b->low[k], other->low[k]);
        b->high[k] = fmaxf(b->high[k], other->high[k]);
    }
}

__device__ static void put_range(pc_range *to, const box *b, uint32_t begin, uint32_t count) {
    for (int k = 0; k < 3; k++) {
        to->low[k] = b->low[k];
        to->high[k] = b->high[k];
    }
    to->begin = begin;
    to->count = count;
}

/* The box of the lanes `from` to this one. */
__device__ static box prefix_box(const box *mine, int from) {
    int lane = threadIdx.x % 32;
    box b = *mine;
    for (int step = 1; step < 32; step *= 2) {
        box other;
        for (int k = 0; k < 3; k++) {
            other.low[k] = __shfl_up_sync(PC_ALL_LANES, b.low[k], step);
            other.high[k] = __shfl_up_sync(PC_ALL_LANES, b.high[k], step);
        }
        if (lane - step >= from) {
            grow(&b, &other);
        }
    }
    return b;
}

/* A warp's run of at most 32 points, one a lane, becomes a bucket, or several where it is too long. */
__device__ static void part_run(const pc_cloud &c, uint32_t run, uint32_t begin, int count, const box *mine,
                                float most) {
    int lane = threadIdx.x % 32, from = 0;
    uint32_t slot = run;
    while (from < count) {
        box b = prefix_box(mine, from);
        float side = fmaxf(fmaxf(b.high[0] - b.low[0], b.high[1] - b.low[1]), b.high[2] - b.low[2]);
        uint32_t beyond = __ballot_sync(PC_ALL_LANES, lane > from && lane < count && side > most);
        int end = beyond ? __ffs((int)beyond) - 1 : count;
        uint32_t next = 0;
        if (beyond) {
            next = lane == 0 ? atomicAdd(c.spared, 1u) : 0;
            next = __shfl_sync(PC_ALL_LANES, next, 0);
            end = next < c.spare ? end : count;
        }
        if (lane == end - 1) {
            put_range(&c.ranges[slot], &b, begin + (uint32_t)from, (uint32_t)(end - from));
        }
        from = end;
        slot = c.runs + next;
    }
}

/* A warp a run: brings its points together and makes its buckets. */
__global__ static void bucket_kernel(const pc_cloud *clouds, const int32_t *indices, int bucket_points) {
    const pc_cloud c = clouds[blockIdx.y];
    int lane = threadIdx.x % 32;
    double low[3], side = longest_side(c.bounds, low);
    float most = (float)(LONGEST * side / cbrt((double)c.runs));
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *c.side = (float)side;
    }
    for (int64_t run = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / 32; run < c.runs;
         run += (int64_t)gridDim.x * (THREADS / 32)) {
        int64_t begin = run * bucket_points;
        int count = (int)min((int64_t)bucket_points, c.n - begin);
        box mine = {{HUGE_VALF, HUGE_VALF, HUGE_VALF}, {-HUGE_VALF, -HUGE_VALF, -HUGE_VALF}};
        for (int i = lane; i < count; i += 32) {
            int32_t index = indices[c.first + begin + i];
            float x = c.x[index], y = c.y[index], z = c.z[index];
            box point = {{x, y, z}, {x, y, z}};
            grow(&mine, &point);
            c.sorted[begin + i] = make_float4(x, y, z, __int_as_float(index));
            if (c.nearest) {
                c.nearest[begin + i] = HUGE_VALF;
            }
        }
        if (bucket_points == PC_RUN) {
            part_run(c, (uint32_t)run, (uint32_t)begin, count, &mine, most);
        } else {
            box all = prefix_box(&mine, 0);
            if (lane == 31) {
                put_range(&c.ranges[run], &all, (uint32_t)begin, (uint32_t)count);
            }
        }
    }
}

int pc_sample_key_bits(int64_t n) {
    int axis = 4; /* so many that a cell of an evenly filled cube holds a sixty-fourth of a point */
    while (axis < MOST_AXIS_BITS && (1ll << (3 * axis)) < 64 * n) {
        axis++;
    }
    return 3 * axis;
}

/* Parts of the scratch: two arrays of keys, two of indices, what the sort needs. */
static size_t array_bytes(int64_t n) {
    return ((size_t)n * sizeof(uint32_t) + 255) / 256 * 256;
}

pcgpu_status pc_sample_order_scratch(pcgpu_context *context, int64_t n, size_t *bytes) {
    size_t sort = 0;
    uint32_t *keys = NULL;
    int32_t *indices = NULL;
    CUDA_TRY(context, cub::DeviceRadixSort::SortPairs(NULL, sort, keys, keys, indices, indices, (int)n));
    *bytes = 4 * array_bytes(n) + sort;
    return PCGPU_OK;
}

/* Counting the points of every cell instead takes 25 us less for 120,000 points, but mixes the points of a cell, which
 * scanners give in the order of neighbours: the rounds then take longer by more than that. */
pcgpu_status pc_sample_order(pcgpu_context *context, const pc_cloud *device, int64_t n, int64_t largest, int count,
                             int bucket_points, void *scratch, size_t scratch_bytes) {
    cudaStream_t stream = pc_cuda_of(context)->stream;
    char *at = (char *)scratch;
    uint32_t *keys[2] = {(uint32_t *)at, (uint32_t *)(at + array_bytes(n))};
    int32_t *indices[2] = {(int32_t *)(at + 2 * array_bytes(n)), (int32_t *)(at + 3 * array_bytes(n))};
    size_t sort_bytes = scratch_bytes - 4 * array_bytes(n);
    int bits = pc_sample_key_bits(largest), cloud_bits = 0;
    while (1 << cloud_bits < count) {
        cloud_bits++;
    }
    /* As many blocks as the device has room for, shared out among the clouds. */
    int64_t most = (int64_t)pc_cuda_of(context)->properties.multiProcessorCount * 8;
    most = most > count ? most / count : 1;
    unsigned blocks = pc_blocks(largest, THREADS);
    dim3 grid(blocks < most ? blocks : (unsigned)most, (unsigned)count);
    bounds_kernel<<<grid, THREADS, 0, stream>>>(device);
    CUDA_TRY(context, cudaGetLastError());
    key_kernel<<<grid, THREADS, 0, stream>>>(device, bits / 3, keys[0], indices[0]);
    CUDA_TRY(context, cudaGetLastError());
    CUDA_TRY(context, cub::DeviceRadixSort::SortPairs(at + 4 * array_bytes(n), sort_bytes, keys[0], keys[1], indices[0],
                                                      indices[1], (int)n, 0, bits + cloud_bits, stream));
    bucket_kernel<<<grid, THREADS, 0, stream>>>(device, indices[1], bucket_points);
    CUDA_TRY(context, cudaGetLastError());
    return PCGPU_OK;
}
