/* Sorts the picks of all rounds into the order of farthest point sampling: the rank of a pick is the number of higher
 * picks. Rounds proceed from high to low with little overlap, so picks are compared in tiles of 128 consecutive
 * accepted picks. If the lowest pick of a tile is above the highest pick of another tile, the tile is counted as a
 * whole. The rounds store the lowest and the highest pick of each tile. */
#include "sample.cuh"

/* Writes the final picks of a warp up to the requested number and the next one, and updates the counts. */
__device__ static void write_ranked(const pc_cloud &c, bool there, word pick, int64_t rank) {
    const bool final = there && pick > c.end->open && rank <= c.wanted;
    const float squared = __uint_as_float((uint32_t)(pick >> 32));
    const bool valid = final && rank < c.wanted && !(sqrtf(squared) < c.min_distance);
    if (final) {
        c.indices[c.lead + rank] = (int32_t) ~(uint32_t)pick;
        c.squared[c.lead + rank] = squared;
    }
    const uint32_t finals = pc_warp_max(final ? (uint32_t)rank + 1 : 0);
    const uint32_t valids = pc_warp_max(valid ? (uint32_t)rank + 1 : 0);
    if (threadIdx.x % 32 == 0) {
        atomicMax(&c.end->final, finals);
        atomicMax(&c.end->valid, valids);
    }
}

/* One thread per pick of the block's tile. */
__global__ static void rank_kernel(const pc_cloud *clouds) {
    const pc_cloud &c = clouds[blockIdx.y];
    __shared__ unsigned long long above;
    __shared__ word others[PC_TILE];
    __shared__ int64_t mixed[PC_TILE];
    __shared__ int mixed_count;
    const int64_t picks = c.end->accepted, tiles = pc_tiles_of(picks);
    if (blockIdx.x == 0 && threadIdx.x == 0 && c.lead) {
        c.indices[0] = c.seeds[0]; /* picked before all rounds, at an infinite distance */
        c.squared[0] = HUGE_VALF;
    }
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
            if (t < tiles && c.tiles[t].least > c.tiles[tile].largest) {
                atomicAdd(&above, (unsigned long long)min((int64_t)PC_TILE, picks - t * PC_TILE));
            } else if (t < tiles && c.tiles[t].largest >= c.tiles[tile].least) {
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
        write_ranked(c, i < picks, mine, rank + (int64_t)above);
    }
}

pcgpu_status pc_sample_rank(pcgpu_context *context, const pc_cloud *device, int count, int64_t most_wanted) {
    /* Rounds accept slightly more picks than requested. The blocks loop over tiles beyond the grid. */
    int64_t tiles = (most_wanted + most_wanted / 4) / PC_TILE + 8;
    int64_t most = (int64_t)pc_cuda_of(context)->properties.multiProcessorCount * 16;
    dim3 grid((unsigned)(tiles < most ? tiles : most), (unsigned)count);
    PC_LAUNCH(context, rank_kernel, grid, PC_TILE, device);
    return PCGPU_OK;
}
