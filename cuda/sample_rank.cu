/* The picks of all rounds, brought into the order of farthest point sampling: the rank of a pick is the number of picks
 * that are higher. Rounds go from high to low with little overlap, so picks are compared in tiles of 128 that were
 * accepted together; a tile whose lowest pick is above the other tile's highest counts as a whole. */
#include "sample.cuh"

#define LEAST(tiles, t)   (tiles)[2 * (t)]
#define LARGEST(tiles, t) (tiles)[2 * (t) + 1]

__device__ static int64_t tile_count(int64_t picks) {
    return (picks + PC_TILE - 1) / PC_TILE;
}

__device__ static word shuffled(word value, int step) {
    return __shfl_xor_sync(PC_ALL_LANES, value, step);
}

/* The least and the largest pick of each tile; a warp a tile. And the start, which is picked before all rounds, at an
 * infinite distance. */
__global__ static void tile_kernel(const pc_cloud *clouds) {
    const pc_cloud &c = clouds[blockIdx.y];
    int64_t picks = c.end->accepted;
    int lane = threadIdx.x % 32;
    if (blockIdx.x == 0 && threadIdx.x == 0 && c.lead) {
        c.indices[0] = c.seeds[0];
        c.squared[0] = HUGE_VALF;
    }
    for (int64_t t = ((int64_t)blockIdx.x * PC_TILE + threadIdx.x) / 32; t < tile_count(picks);
         t += (int64_t)gridDim.x * (PC_TILE / 32)) {
        word least = ~0ull, largest = 0;
        for (int64_t i = t * PC_TILE + lane; i < picks && i < (t + 1) * PC_TILE; i += 32) {
            word mine = c.accepted[i];
            least = min(least, mine);
            largest = max(largest, mine);
        }
        for (int step = 16; step > 0; step /= 2) {
            least = min(least, shuffled(least, step));
            largest = max(largest, shuffled(largest, step));
        }
        if (lane == 0) {
            LEAST(c.tiles, t) = least;
            LARGEST(c.tiles, t) = largest;
        }
    }
}

/* Writes a pick of this rank, if it was asked for or is the one after, and notes how many are final and valid. */
__device__ static void place(const pc_cloud &c, word pick, int64_t rank) {
    uint32_t bits = (uint32_t)(pick >> 32);
    if (pick <= c.end->open || rank > c.wanted) {
        return;
    }
    c.indices[c.lead + rank] = (int32_t) ~(uint32_t)pick;
    c.squared[c.lead + rank] = __uint_as_float(bits);
    atomicMax((unsigned long long *)&c.end->final, (unsigned long long)rank + 1);
    if (rank < c.wanted && !(sqrtf(__uint_as_float(bits)) < c.min_distance)) {
        atomicMax((unsigned long long *)&c.end->valid, (unsigned long long)rank + 1);
    }
}

/* A thread a pick of the block's tile. */
__global__ static void rank_kernel(const pc_cloud *clouds) {
    const pc_cloud &c = clouds[blockIdx.y];
    __shared__ unsigned long long above;
    __shared__ word others[PC_TILE];
    __shared__ int64_t mixed[PC_TILE];
    __shared__ int mixed_count;
    const int64_t picks = c.end->accepted, tiles = tile_count(picks);
    for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        int64_t i = tile * PC_TILE + threadIdx.x;
        word mine = i < picks ? c.accepted[i] : ~0ull;
        int64_t rank = 0;
        __syncthreads();
        if (threadIdx.x == 0) {
            above = 0;
        }
        for (int64_t first = 0; first < tiles; first += PC_TILE) {
            __syncthreads();
            if (threadIdx.x == 0) {
                mixed_count = 0;
            }
            __syncthreads();
            int64_t t = first + threadIdx.x;
            if (t < tiles && LEAST(c.tiles, t) > LARGEST(c.tiles, tile)) {
                atomicAdd(&above, (unsigned long long)min((int64_t)PC_TILE, picks - t * PC_TILE));
            } else if (t < tiles && LARGEST(c.tiles, t) >= LEAST(c.tiles, tile)) {
                mixed[atomicAdd(&mixed_count, 1)] = t;
            }
            __syncthreads();
            const int many = mixed_count;
            for (int m = 0; m < many; m++) {
                int64_t j = mixed[m] * PC_TILE + threadIdx.x;
                others[threadIdx.x] = j < picks ? c.accepted[j] : 0;
                __syncthreads();
                for (int k = 0; k < PC_TILE; k++) {
                    rank += others[k] > mine;
                }
                __syncthreads();
            }
        }
        if (i < picks) {
            place(c, mine, rank + (int64_t)above);
        }
    }
}

pcgpu_status pc_sample_rank(pcgpu_context *context, const pc_cloud *device, int count, int64_t most_wanted) {
    cudaStream_t stream = pc_cuda_of(context)->stream;
    /* Rounds accept somewhat more than was asked for; what is beyond, the blocks come to in their loops. */
    int64_t tiles = (most_wanted + most_wanted / 4) / PC_TILE + 8;
    int64_t most = (int64_t)pc_cuda_of(context)->properties.multiProcessorCount * 16;
    dim3 grid((unsigned)(tiles < most ? tiles : most), (unsigned)count);
    tile_kernel<<<grid, PC_TILE, 0, stream>>>(device);
    CUDA_TRY(context, cudaGetLastError());
    rank_kernel<<<grid, PC_TILE, 0, stream>>>(device);
    CUDA_TRY(context, cudaGetLastError());
    return PCGPU_OK;
}
