/* Sorts the points of clouds along the curve of sample_curve.cuh and builds their buckets: a single cloud of moderate
 * size in one launch (sample_sort.cu), other clouds by one CUB radix sort of all clouds. */
#include "cub.cuh"
#include "sample_curve.cuh"

enum { THREADS = 256 };

/* blockIdx.y: the cloud. The bounds must be zero. */
__global__ static void bounds_kernel(const pc_cloud *clouds) {
    const pc_cloud c = clouds[blockIdx.y];
    pc_bounds mine = {{0, 0, 0}, {0, 0, 0}};
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < c.n; i += (int64_t)gridDim.x * THREADS) {
        pc_bound(&mine, c.x[i], c.y[i], c.z[i]);
    }
    join_bounds(c.bounds, &mine);
}

__global__ static void key_kernel(const pc_cloud *clouds, int bits, uint32_t *keys, int32_t *indices) {
    const pc_cloud c = clouds[blockIdx.y];
    const cube q = bounding_cube(c);
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < c.n; i += (int64_t)gridDim.x * THREADS) {
        keys[c.first + i] = (uint32_t)blockIdx.y << (3 * bits) | curve_key(q, bits, c.x[i], c.y[i], c.z[i]);
        indices[c.first + i] = (int32_t)i;
    }
}

/* One warp per run. */
__global__ static void bucket_kernel(const pc_cloud *clouds, const int32_t *indices, int bucket_points) {
    const pc_cloud c = clouds[blockIdx.y];
    const cube q = bounding_cube(c);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *c.side = (float)q.side;
    }
    for (int64_t run = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / 32; run < c.runs;
         run += (int64_t)gridDim.x * (THREADS / 32)) {
        make_buckets(c, run, bucket_points, q.longest, indices);
    }
}

int pc_sample_key_bits(int64_t n) {
    int axis = 4; /* increased until there are 64 cells per point */
    while (axis < MOST_AXIS_BITS && (1ll << (3 * axis)) < 64 * n) {
        axis++;
    }
    return 3 * axis;
}

/* The scratch has two arrays of keys, two of indices, and the temporary storage of the sort. */
static size_t array_bytes(int64_t n) {
    return ((size_t)n * sizeof(uint32_t) + 255) / 256 * 256;
}

pcgpu_status pc_sample_order_scratch(pcgpu_context *context, int64_t n, size_t *bytes) {
    size_t sort = 0;
    uint32_t *keys = NULL;
    int32_t *indices = NULL;
    CUDA_TRY(context, cub::DeviceRadixSort::SortPairs(NULL, sort, keys, keys, indices, indices, (int)n));
    *bytes = 4 * array_bytes(n) + sort;
    if (n <= pc_sample_sort_most(context) && pc_sample_sort_scratch(n) > *bytes) {
        *bytes = pc_sample_sort_scratch(n);
    }
    return PCGPU_OK;
}

/* A counting sort by cells takes 25 us less for 120,000 points. But it permutes the points of a cell, which scanners
 * output in the order of neighbours, and the rounds then lose more time. */
pcgpu_status pc_sample_order(pcgpu_context *context, const pc_cloud *device, int64_t n, int64_t largest, int count,
                             int bucket_points, void *scratch, size_t scratch_bytes) {
    cudaStream_t stream = pc_cuda_of(context)->stream;
    char *at = (char *)scratch;
    uint32_t *keys[2] = {(uint32_t *)at, (uint32_t *)(at + array_bytes(n))};
    int32_t *indices[2] = {(int32_t *)(at + 2 * array_bytes(n)), (int32_t *)(at + 3 * array_bytes(n))};
    int bits = pc_sample_key_bits(largest), cloud_bits = 0;
    if (count == 1 && n <= pc_sample_sort_most(context)) {
        return pc_sample_sort(context, device, n, bits / 3, bucket_points, scratch);
    }
    size_t sort_bytes = scratch_bytes - 4 * array_bytes(n);
    while (1 << cloud_bits < count) {
        cloud_bits++;
    }
    /* As many blocks as are resident on the device, partitioned among the clouds. */
    int64_t most = (int64_t)pc_cuda_of(context)->properties.multiProcessorCount * 8;
    most = most > count ? most / count : 1;
    unsigned blocks = pc_blocks(largest, THREADS);
    dim3 grid(blocks < most ? blocks : (unsigned)most, (unsigned)count);
    PC_LAUNCH(context, bounds_kernel, grid, THREADS, device);
    PC_LAUNCH(context, key_kernel, grid, THREADS, device, bits / 3, keys[0], indices[0]);
    CUDA_TRY(context, cub::DeviceRadixSort::SortPairs(at + 4 * array_bytes(n), sort_bytes, keys[0], keys[1], indices[0],
                                                      indices[1], (int)n, 0, bits + cloud_bits, stream));
    PC_LAUNCH(context, bucket_kernel, grid, THREADS, device, indices[1], bucket_points);
    return PCGPU_OK;
}
