/* The numbers of voxels of a dense table, from the beginnings that dense_insert has told. A part of
 * voxelize_dense_fill.cuh. */
#ifndef PC_VOXELIZE_DENSE_NUMBER_CUH
#define PC_VOXELIZE_DENSE_NUMBER_CUH

#include "voxelize_number.cuh"

enum { COUNTS_EACH = (PC_BEGINS + PC_DENSE_THREADS - 1) / PC_DENSE_THREADS };

/* Of the counts of beginnings, those that a thread adds up. */
typedef struct some_counts {
    uint32_t count[COUNTS_EACH];
} some_counts;

__device__ static some_counts load_counts(const pc_hashed &s) {
    const uint32_t counts = (s.rows + PC_BEGIN_ROWS - 1) / PC_BEGIN_ROWS;
    some_counts c;
#pragma unroll
    for (uint32_t k = 0; k < COUNTS_EACH; k++) {
        const uint32_t i = threadIdx.x * COUNTS_EACH + k;
        c.count[k] = i < counts ? pc_begins_of(s)->count[i][0] : 0;
    }
    return c;
}

/* How many voxels begin before each PC_BEGIN_ROWS records; by all threads of the block. Returns how many in all. */
__device__ static uint32_t sum_counts(const some_counts &c, uint32_t *before) {
    uint32_t mine = 0, all;
#pragma unroll
    for (uint32_t k = 0; k < COUNTS_EACH; k++) {
        mine += c.count[k];
    }
    uint32_t sum = sum_before<PC_DENSE_THREADS>(mine, &all);
#pragma unroll
    for (uint32_t k = 0; k < COUNTS_EACH; k++) {
        const uint32_t i = threadIdx.x * COUNTS_EACH + k;
        if (i < PC_BEGINS) {
            before[i] = sum;
        }
        sum += c.count[k];
    }
    __syncthreads();
    return all;
}

/* The bits of the records that are counted together with record `first`, as LANES lanes share them; aligned, so that
 * they are loaded at once. */
template <int LANES> struct __align__(LANES > 8 ? 128 / LANES : 16) near_bits {
    enum { WORDS = PC_BEGIN_ROWS / 32 / LANES };
    uint32_t word[WORDS];
};

__device__ static uint32_t first_word(uint32_t first) {
    return first / PC_BEGIN_ROWS * (PC_BEGIN_ROWS / 32);
}

template <int LANES> __device__ static near_bits<LANES> load_bits(const pc_hashed &s, uint32_t first) {
    return ((const near_bits<LANES> *)(pc_begins_of(s)->bits + first_word(first)))[threadIdx.x % LANES];
}

/* The number of the voxel that begins at record `first`; by all lanes of the warp, LANES a voxel. */
template <int LANES>
__device__ static uint32_t number_at(const near_bits<LANES> &bits, const uint32_t *before, uint32_t first) {
    enum { WORDS = near_bits<LANES>::WORDS };
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t k = 0; k < WORDS; k++) {
        const uint32_t word = first_word(first) + threadIdx.x % LANES * WORDS + k;
        const uint32_t lower = word < first / 32 ? ~0u : word == first / 32 ? (1u << first % 32) - 1 : 0;
        sum += (uint32_t)__popc(bits.word[k] & lower);
    }
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) {
        sum += __shfl_xor_sync(PC_ALL_LANES, sum, step);
    }
    return before[first / PC_BEGIN_ROWS] + sum;
}

#endif
