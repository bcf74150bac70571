/* Variant `direct` of voxelization: MEAN, POINTS and PILLAR features with max_points, for small clouds on a grid that
 * has no more cells than a hash table would have slots. The key of a cell is its index, so no slot has to be found, and
 * the two kernels need no scan in between. A cell takes 8 + 4 P bytes.
 *
 * direct_insert: A record increments the count of its cell and is stored with the cell; records beyond P go to buckets.
 * The first record that claims a cell appends it to the list of occupied cells. A record that lowers the cell's minimum
 * index sets its own bit and clears its predecessor's; after the launch the bits are final segment heads.
 *
 * direct_emit (voxelize_direct_emit.cuh): A few lanes share a voxel, whose id is the number of bits set before its
 * lowest record. Some blocks begin with overfull cells, those with more than P records. */
#ifndef PC_VOXELIZE_DIRECT_CUH
#define PC_VOXELIZE_DIRECT_CUH

#include "voxelize_insert.cuh"
#include "voxelize_scan.cuh"
#include "voxelize_select.cuh"

/* What the leader of a group of records of one cell gets from its atomic operations. */
typedef struct cell_insertion {
    uint32_t before; /* records of the cell that arrived before */
    uint32_t above;  /* the lowest record until then if this group has a lower one, else 0 */
} cell_insertion;

/* The list of occupied cells is in partitions, so that few warps increment the same length. A warp reserves an entry
 * for each of `those` lanes; lane 0 returns the first. i: a record of the warp. */
__device__ static uint32_t partition_of(uint32_t i) {
    return i / 32 % PC_PARTITIONS;
}

__device__ static uint32_t reserve_cells(const pc_voxelize_params &s, uint32_t i, uint32_t those) {
    return those && threadIdx.x % 32 == 0
               ? atomicAdd(&pc_heads_of(s)->occupied[partition_of(i)][0], (uint32_t)__popc(those))
               : 0;
}

__device__ static void store_cells(const pc_voxelize_params &s, uint32_t i, uint32_t those, uint32_t first,
                                   uint32_t cell) {
    const uint32_t lane = threadIdx.x % 32;
    first = __shfl_sync(PC_ALL_LANES, first, 0);
    if (those >> lane & 1) {
        s.occupied[partition_of(i) * pc_partition_capacity(s.rows) + first +
                   (uint32_t)__popc(those & ((1u << lane) - 1))] = cell;
    }
}

/* Finds or claims the bucket of overflow record i, which is the index-th of its cell. */
__device__ static void store_cell_overflow(const pc_voxelize_params &s, uint32_t cell, uint32_t index, uint32_t i) {
    const unsigned long long key = pc_cell_bucket_key(cell, index);
    for (uint32_t at = pc_bucket_home(s, key);; at = (at + 1) & s.bucket_mask) {
        const unsigned long long old = atomicCAS(&s.bucket_keys[at], 0ull, key);
        if (old == 0 || old == key) {
            *pc_bucket_row(s, at, index) = i;
            return;
        }
    }
}

/* Each lane with a record i below `above`, the lowest record of its cell until then, sets its own bit and clears that
 * of `above`, and updates the counts. These are additions, so the result does not depend on their order. All lanes call
 * it. */
__device__ static void flag_heads(const pc_voxelize_params &s, uint32_t i, uint32_t above) {
    pc_heads *heads = pc_heads_of(s);
    const uint32_t those = __ballot_sync(PC_ALL_LANES, i < above);
    if (those && threadIdx.x % 32 == 0) {
        atomicAdd(&heads->bits[i / 32], those);
        atomicAdd(&heads->count[i / PC_HEAD_RECORDS][0], (uint32_t)__popc(those));
    }
    if (i < above && above != PC_NO_RECORD) {
        atomicAdd(&heads->bits[above / 32], 0u - (1u << above % 32));
        atomicAdd(&heads->count[above / PC_HEAD_RECORDS][0], 0u - 1u);
    }
}

/* A thread per record; lanes with records of the same cell access it once. */
__global__ static void __launch_bounds__(PC_INSERT_THREADS, PC_RESIDENT(PC_INSERT_THREADS, PC_INSERT_BLOCKS))
    direct_insert_kernel(const pc_voxelize_params s) {
    const uint32_t lane = threadIdx.x % 32, p = (uint32_t)s.kept;
    pc_launch_next();
    for (uint32_t i = blockIdx.x * PC_INSERT_THREADS + threadIdx.x; i - lane < s.rows;
         i += gridDim.x * PC_INSERT_THREADS) {
        const position at = position_of(s, i);
        const uint32_t cell = key_of(s, i, at), group = __match_any_sync(PC_ALL_LANES, cell),
                       leader = __ffs((int)group) - 1;
        const bool in_range = cell != PC_NO_KEY, leads = in_range && lane == leader;
        cell_insertion a = {0, 0};
        if (leads) {
            a.before = atomicAdd(&s.cells[cell].last, (uint32_t)__popc(group)) + 1;
            a.above = atomicMin(&s.cells[cell].first, i);
        }
        __syncwarp();
        const uint32_t new_cells = __ballot_sync(PC_ALL_LANES, leads && a.before == 0),
                       offset = reserve_cells(s, i, new_cells);
        const uint32_t rank =
            __shfl_sync(PC_ALL_LANES, a.before, (int)leader) + (uint32_t)__popc(group & ((1u << lane) - 1));
        if (in_range && rank < p) {
            s.cell_records[cell * pc_cell_capacity(s.kept) + rank] = i;
        } else if (in_range) {
            store_cell_overflow(s, cell, rank - p, i);
        }
        if (in_range && rank == p) {
            s.overfull[atomicAdd(&pc_heads_of(s)->overfull[0], 1)] = cell;
        }
        flag_heads(s, i, a.above);
        __syncwarp();
        store_cells(s, i, new_cells, offset, cell);
        if (i < s.rows) {
            s.point_voxel[i] = -1;
        }
    }
}

/* ---- ids -------------------------------------------------------------------------------------------------------- */

enum { COUNTS_EACH = (PC_HEAD_COUNTS + PC_DIRECT_THREADS - 1) / PC_DIRECT_THREADS };

/* The counts of segment heads that a thread adds up. */
typedef struct some_counts {
    uint32_t count[COUNTS_EACH];
} some_counts;

__device__ static some_counts load_counts(const pc_voxelize_params &s) {
    const uint32_t counts = (s.rows + PC_HEAD_RECORDS - 1) / PC_HEAD_RECORDS;
    some_counts c;
#pragma unroll
    for (uint32_t k = 0; k < COUNTS_EACH; k++) {
        const uint32_t i = threadIdx.x * COUNTS_EACH + k;
        c.count[k] = i < counts ? pc_heads_of(s)->count[i][0] : 0;
    }
    return c;
}

/* before[i]: the number of segment heads before the i-th PC_HEAD_RECORDS records. Returns their total; all threads of
 * the block call it. */
__device__ static uint32_t sum_counts(const some_counts &c, uint32_t *before) {
    uint32_t mine = 0, all;
#pragma unroll
    for (uint32_t k = 0; k < COUNTS_EACH; k++) {
        mine += c.count[k];
    }
    uint32_t sum = pc_block_scan<PC_DIRECT_THREADS>(mine, &all);
#pragma unroll
    for (uint32_t k = 0; k < COUNTS_EACH; k++) {
        const uint32_t i = threadIdx.x * COUNTS_EACH + k;
        if (i < PC_HEAD_COUNTS) {
            before[i] = sum;
        }
        sum += c.count[k];
    }
    __syncthreads();
    return all;
}

/* The bits of the PC_HEAD_RECORDS records around record `first`, divided among LANES lanes; aligned for one load. */
template <int LANES> struct __align__(LANES > 8 ? 128 / LANES : 16) near_bits {
    enum { TILE_COUNTS = PC_HEAD_RECORDS / 32 / LANES };
    uint32_t word[TILE_COUNTS];
};

__device__ static uint32_t first_word(uint32_t first) {
    return first / PC_HEAD_RECORDS * (PC_HEAD_RECORDS / 32);
}

template <int LANES> __device__ static near_bits<LANES> load_bits(const pc_voxelize_params &s, uint32_t first) {
    return ((const near_bits<LANES> *)(pc_heads_of(s)->bits + first_word(first)))[threadIdx.x % LANES];
}

/* The id of the voxel whose lowest record is `first`; all lanes of the warp call it, LANES per voxel. */
template <int LANES>
__device__ static uint32_t id_at(const near_bits<LANES> &bits, const uint32_t *before, uint32_t first) {
    enum { TILE_COUNTS = near_bits<LANES>::TILE_COUNTS };
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t k = 0; k < TILE_COUNTS; k++) {
        const uint32_t word = first_word(first) + threadIdx.x % LANES * TILE_COUNTS + k;
        const uint32_t lower = word < first / 32 ? ~0u : word == first / 32 ? (1u << first % 32) - 1 : 0;
        sum += (uint32_t)__popc(bits.word[k] & lower);
    }
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2) {
        sum += __shfl_xor_sync(PC_ALL_LANES, sum, step);
    }
    return before[first / PC_HEAD_RECORDS] + sum;
}

/* ---- overfull cells --------------------------------------------------------------------------------------------- */

enum { DIRECT_WARPS = PC_DIRECT_THREADS / 32 };

/* Overflow records of a cell, from the from-th on, in their buckets. */
typedef struct cell_overflow {
    const pc_voxelize_params *s;
    uint32_t cell, from;

    __device__ cell_overflow operator+(uint32_t more) const {
        return cell_overflow{s, cell, from + more};
    }
} cell_overflow;

/* As load_overflow of voxelize_select.cuh, a bucket per lane, which is cleared. The records of a bucket are loaded
 * together with its key. */
template <int EACH>
__device__ static uint32_t load_overflow(const cell_overflow &overflow, uint32_t first, uint32_t count, uint32_t *row) {
    static_assert(EACH == PC_BUCKET_RECORDS, "records of a bucket");
    const pc_voxelize_params &s = *overflow.s;
    const uint32_t i = first + PC_BUCKET_RECORDS * (threadIdx.x % 32);
    uint4 four[PC_BUCKET_RECORDS / 4] = {};
    if (i < count) {
        const unsigned long long key = pc_cell_bucket_key(overflow.cell, overflow.from + i);
        uint32_t at = pc_bucket_home(s, key);
        while (true) {
            const unsigned long long seen = s.bucket_keys[at];
#pragma unroll
            for (int k = 0; k < PC_BUCKET_RECORDS / 4; k++) {
                four[k] = ((const uint4 *)(s.bucket_records + (size_t)at * PC_BUCKET_RECORDS))[k];
            }
            if (seen == key) {
                break;
            }
            at = (at + 1) & s.bucket_mask;
        }
        s.bucket_keys[at] = 0;
    }
    uint32_t least = PC_NO_RECORD;
#pragma unroll
    for (uint32_t k = 0; k < PC_BUCKET_RECORDS; k++) {
        const uint4 of = four[k / 4];
        row[k] = i + k >= count ? PC_NO_RECORD : k % 4 == 0 ? of.x : k % 4 == 1 ? of.y : k % 4 == 2 ? of.z : of.w;
        least = min(least, row[k]);
    }
    return least;
}

/* The same to memory, at most a bucket per lane. */
template <int EACH> __device__ static void copy_overflow(const cell_overflow &overflow, uint32_t count, uint32_t *to) {
    const uint32_t first = EACH * (threadIdx.x % 32);
    uint32_t row[EACH];
    load_overflow<EACH>(overflow, 0, count, row);
#pragma unroll
    for (uint32_t k = 0; k < EACH; k++) {
        if (first + k < count) {
            to[first + k] = row[k];
        }
    }
}

typedef struct __align__(16) selection {
    uint32_t unsorted[PC_MAX_POINTS + 4], sorted[PC_MAX_POINTS];
}
selection;

/* The first P records that arrived. */
__device__ static void load_first(const pc_voxelize_params &s, uint32_t cell, uint32_t *rows) {
    for (int k = (int)threadIdx.x % 32; k < s.kept; k += 32) {
        rows[k] = s.cell_records[cell * pc_cell_capacity(s.kept) + (uint32_t)k];
    }
    __syncwarp();
}

#endif
