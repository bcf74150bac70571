/* Ids of voxels, and places of their overflow records: scan and gather of voxelize_hash.cuh. */
#ifndef PC_VOXELIZE_SCAN_CUH
#define PC_VOXELIZE_SCAN_CUH

#include "voxelize_hash.cuh"

/* What a tile publishes: numbers of voxels and of overflow records, 31 bits each, and above them whether these are of
 * the tile alone or of all tiles up to it. 0: not published yet. */
#define VOXEL     (1ull << 31)
#define KNOWN_OWN (1ull << 62)
#define KNOWN_ALL (1ull << 63)

__device__ static uint32_t voxels_in(unsigned long long sum) {
    return (uint32_t)(sum >> 31 & 0x7fffffffu);
}

__device__ static uint32_t overflows_in(unsigned long long sum) {
    return (uint32_t)(sum & 0x7fffffffu);
}

/* The sum over all tiles before `tile`; all threads of the block call it. */
__device__ static unsigned long long look_back(const unsigned long long *tiles, int64_t tile) {
    __shared__ unsigned long long of_warp[PC_SCAN_THREADS / 32]; /* with KNOWN_ALL if it includes all tiles before */
    const int lane = (int)threadIdx.x % 32;
    unsigned long long sum = 0;
    for (int64_t last = tile - 1; last >= 0; last -= PC_SCAN_THREADS) {
        unsigned long long known = KNOWN_ALL; /* nothing is before the first tile */
        const int64_t at = last - (int64_t)threadIdx.x;
        if (at >= 0) {
            while ((known = pc_word_load(&tiles[at])) == 0) {
                pc_pause();
            }
        }
        __syncwarp();
        const uint32_t knowing = __ballot_sync(PC_ALL_LANES, (known & KNOWN_ALL) != 0);
        unsigned long long mine = knowing && lane > __ffs((int)knowing) - 1 ? 0 : known & ~(KNOWN_OWN | KNOWN_ALL);
        for (int step = 16; step > 0; step /= 2) {
            mine += __shfl_xor_sync(PC_ALL_LANES, mine, step);
        }
        if (lane == 0) {
            of_warp[threadIdx.x / 32] = mine | (knowing ? KNOWN_ALL : 0);
        }
        __syncthreads();
        bool all = false;
        for (int w = 0; w < PC_SCAN_THREADS / 32 && !all; w++) {
            sum += of_warp[w] & ~KNOWN_ALL;
            all = of_warp[w] & KNOWN_ALL;
        }
        __syncthreads();
        if (all) {
            break;
        }
    }
    return sum;
}

#define NOT_IN_RESULT 0xffffffffu /* overflow_begin of a voxel that max_voxels excludes */

/* The slot of a voxel, read at the voxel's lowest record. */
typedef struct slot_state {
    uint4 head, rows; /* head: records that were not dropped, key, first, cutoff */
} slot_state;

__device__ static slot_state load_slot(const pc_voxelize_params &s, uint32_t slot) {
    const uint4 *at = (const uint4 *)&s.slots[slot];
    return slot_state{at[0], at[1]};
}

__device__ static uint32_t overflow_of(const pc_voxelize_params &s, const uint4 &head) {
    return head.x > (uint32_t)s.kept ? head.x - (uint32_t)s.kept : 0;
}

/* Dropped records count. */
__device__ static uint32_t points_of(const pc_voxelize_params &s, const uint4 &head, uint32_t slot) {
    return head.x + (head.w != PC_NO_RECORD ? s.overflow[slot].x : 0);
}

/* Of a thread or of a block; at most the number of records. */
typedef struct block_sums {
    uint32_t in_range, under_limit, kept, largest;
} block_sums;

/* Adds a voxel with so many points, dropped ones included. */
__device__ static void count_voxel(const pc_voxelize_params &s, uint32_t id, uint32_t points, block_sums *sums) {
    sums->in_range += points;
    sums->largest = max(sums->largest, points);
    if (id < s.max_voxels) {
        sums->under_limit += points;
        sums->kept += s.unlimited ? points : min(points, (uint32_t)s.kept);
    }
}

/* Writes the voxel to the array ordered by id, and adds to the sums. */
__device__ static void store_voxel(const pc_voxelize_params &s, const slot_state &b, uint32_t slot, uint32_t id,
                                   uint32_t overflow_begin, block_sums *sums) {
    const uint32_t kept = min(b.head.x, (uint32_t)s.kept), overflow = overflow_of(s, b.head);
    uint4 *at = (uint4 *)&s.voxels[id];
    at[0] = make_uint4(kept, slot, overflow, overflow_begin);
    at[1] = b.rows;
    if (overflow) {
        pc_half_store(&s.overflow[slot].y, id < s.max_voxels ? overflow_begin + 1 : NOT_IN_RESULT);
    }
    count_voxel(s, id, points_of(s, b.head, slot), sums);
}

__device__ static block_sums warp_sums(const block_sums &mine) {
    return block_sums{pc_warp_add(mine.in_range), pc_warp_add(mine.under_limit), pc_warp_add(mine.kept),
                      pc_warp_max(mine.largest)};
}

__device__ static void add_sums(pc_voxelize_sums *to, const block_sums &mine) {
    atomicAdd(&to->in_range, (unsigned long long)mine.in_range);
    atomicAdd(&to->under_limit, (unsigned long long)mine.under_limit);
    atomicAdd(&to->kept, (unsigned long long)mine.kept);
    atomicMax(&to->largest, (unsigned long long)mine.largest);
}

/* By one warp, which does not wait for the block. */
__device__ static void add_warp_sums(pc_voxelize_sums *to, const block_sums &mine) {
    const block_sums sums = warp_sums(mine);
    if (threadIdx.x % 32 == 0 && sums.in_range) {
        add_sums(to, sums);
    }
}

template <int THREADS> __device__ static void add_block_sums(pc_voxelize_sums *to, block_sums mine) {
    __shared__ block_sums of_warp[THREADS / 32];
    mine = warp_sums(mine);
    if (threadIdx.x % 32 == 0) {
        of_warp[threadIdx.x / 32] = mine;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        mine = threadIdx.x < THREADS / 32 ? of_warp[threadIdx.x] : block_sums{0, 0, 0, 0};
        mine = warp_sums(mine);
        if (threadIdx.x == 0 && mine.in_range) {
            add_sums(to, mine);
        }
    }
}

/* Publishes the tile's total, and returns the prefix sum of the thread over all tiles. */
__device__ static unsigned long long tile_prefix(const pc_voxelize_params &s, unsigned long long mine) {
    const int64_t tile = blockIdx.x;
    unsigned long long all;
    const unsigned long long before = pc_block_scan<PC_SCAN_THREADS>(mine, &all);
    if (threadIdx.x == 0) {
        pc_word_store(&s.tiles[tile], (tile == 0 ? KNOWN_ALL : KNOWN_OWN) | all);
    }
    const unsigned long long of_others = look_back(s.tiles, tile);
    if (threadIdx.x == 0 && tile > 0) {
        pc_word_store(&s.tiles[tile], KNOWN_ALL | (of_others + all));
    }
    if (threadIdx.x == 0 && tile == (int64_t)gridDim.x - 1) {
        s.counters->found = voxels_in(of_others + all);
        s.counters->overflow = overflows_in(of_others + all);
    }
    return of_others + before;
}

/* Without flags, two records per thread, for clouds whose tiles run at the same time. An overflow record is copied to
 * its voxel's range as soon as the block of the voxel's lowest record, this one or an earlier one, has published where
 * the range begins. */
__global__ static void __launch_bounds__(PC_SCAN_THREADS) scan_kernel(const pc_voxelize_params s) {
    enum { RECORDS = PC_TILE_ROWS / PC_SCAN_THREADS };
    const int64_t first = ((int64_t)blockIdx.x * PC_SCAN_THREADS + threadIdx.x) * RECORDS;
    block_sums sums = {0, 0, 0, 0};
    uint32_t tag[RECORDS], rank[RECORDS];
    bool new_voxel[RECORDS];
    slot_state heads[RECORDS];
    unsigned long long mine = 0;
    pc_launch_next();
    pc_wait_for_last();
#pragma unroll
    for (int k = 0; k < RECORDS; k++) {
        tag[k] = first + k < (int64_t)s.rows ? s.tag[first + k] : PC_NO_SLOT;
    }
#pragma unroll
    for (int k = 0; k < RECORDS; k++) {
        rank[k] = tag[k] & PC_OVERFLOW ? s.rank[first + k] : 0;
        new_voxel[k] = false;
        if (tag[k] & PC_MAYBE_FIRST) {
            heads[k] = load_slot(s, PC_SLOT_OF(tag[k]));
            new_voxel[k] = heads[k].head.z == (uint32_t)(first + k);
        }
    }
#pragma unroll
    for (int k = 0; k < RECORDS; k++) {
        mine += new_voxel[k] ? VOXEL + overflow_of(s, heads[k].head) : 0;
    }
    unsigned long long next = tile_prefix(s, mine);
#pragma unroll
    for (int k = 0; k < RECORDS; k++) {
        if (new_voxel[k]) {
            store_voxel(s, heads[k], PC_SLOT_OF(tag[k]), voxels_in(next), overflows_in(next), &sums);
            next += VOXEL + overflow_of(s, heads[k].head);
        }
    }
    add_warp_sums(pc_sums_of(s), sums); /* the lanes below may wait for any other lane, and all have published */
#pragma unroll
    for (int k = 0; k < RECORDS; k++) {
        uint32_t at = NOT_IN_RESULT;
        if (tag[k] & PC_OVERFLOW) {
            while ((at = pc_half_load(&s.overflow[PC_SLOT_OF(tag[k])].y)) == 0) {
                pc_pause();
            }
        }
        if (at != NOT_IN_RESULT) {
            s.overflow_rows[at - 1 + rank[k]] = (uint32_t)(first + k);
        }
    }
}

/* ---- with flags ------------------------------------------------------------------------------------------------- */

/* Few records of a large cloud are flagged. A warp lists the flagged ones of `words_per_warp` words of 32 flags, and
 * reads these only. */
enum { SCAN_WARPS = PC_SCAN_THREADS / 32 };

/* Shared memory for the lists of a block, of 16-bit offsets from the first record of a warp's words. */
static size_t bytes_of_lists(uint32_t words_per_warp) {
    return (size_t)SCAN_WARPS * words_per_warp * 32 * sizeof(uint16_t);
}

static_assert(SCAN_WARPS * PC_FLAG_WORDS * 32 * sizeof(uint16_t) <= 47 << 10, "shared memory of a block on every GPU");

/* Lists in order the flagged records of `words_per_warp` words from `word` on, and returns how many there are; all
 * lanes of the warp call it. overflow: whether the flag is PC_OVERFLOW or PC_MAYBE_FIRST. */
__device__ static uint32_t list_flagged(const pc_voxelize_params &s, uint32_t word, uint32_t words_per_warp,
                                        bool overflow, uint16_t *list) {
    const uint32_t lane = threadIdx.x % 32, words = (s.rows + 31) / 32;
    uint32_t count = 0;
    for (uint32_t first = 0; first < words_per_warp; first += 32) {
        const uint32_t at = first + lane;
        const uint2 flags = at < words_per_warp && word + at < words ? s.flags[word + at] : make_uint2(0, 0);
        uint32_t flagged = overflow ? flags.y : flags.x;
        const uint32_t mine = (uint32_t)__popc(flagged), end = pc_warp_sum_up_to(mine);
        for (uint32_t to = count + end - mine; flagged; flagged &= flagged - 1) {
            list[to++] = (uint16_t)(at * 32 + (uint32_t)__ffs((int)flagged) - 1);
        }
        count += __shfl_sync(PC_ALL_LANES, end, 31);
    }
    __syncwarp();
    return count;
}

__device__ static uint32_t warp_of_launch(void) {
    return (blockIdx.x * PC_SCAN_THREADS + threadIdx.x) / 32;
}

/* Slots are read twice, to count and to assign ids, since registers cannot hold all of a warp. */
__global__ static void __launch_bounds__(PC_SCAN_THREADS, PC_RESIDENT(PC_SCAN_THREADS, PC_SCAN_BLOCKS))
    scan_flagged_kernel(const pc_voxelize_params s, uint32_t words_per_warp) {
    enum { COUNT_BATCH = 4, STORE_BATCH = 2 };
    extern __shared__ __align__(16) char memory[];
    const uint32_t lane = threadIdx.x % 32, below = (1u << lane) - 1, first = warp_of_launch() * words_per_warp * 32;
    uint16_t *list = (uint16_t *)memory + threadIdx.x / 32 * words_per_warp * 32;
    block_sums sums = {0, 0, 0, 0};
    unsigned long long mine = 0;
    pc_launch_next();
    pc_wait_for_last();
    const uint32_t count = list_flagged(s, first / 32, words_per_warp, false, list);
    uint32_t heads_listed = 0;
    for (uint32_t base = 0; base < count; base += 32 * COUNT_BATCH) {
        uint32_t record[COUNT_BATCH], slot[COUNT_BATCH];
        uint4 head[COUNT_BATCH];
#pragma unroll
        for (uint32_t k = 0; k < COUNT_BATCH; k++) {
            const uint32_t at = base + 32 * k + lane;
            record[k] = at < count ? first + list[at] : PC_NO_RECORD;
            slot[k] = at < count ? PC_SLOT_OF(s.tag[record[k]]) : 0;
        }
#pragma unroll
        for (uint32_t k = 0; k < COUNT_BATCH; k++) {
            head[k] = record[k] != PC_NO_RECORD ? *(const uint4 *)&s.slots[slot[k]] : make_uint4(0, 0, 0, 0);
        }
        __syncwarp();
#pragma unroll
        for (uint32_t k = 0; k < COUNT_BATCH; k++) {
            const bool is_head = record[k] != PC_NO_RECORD && head[k].z == record[k];
            const uint32_t those = __ballot_sync(PC_ALL_LANES, is_head);
            if (is_head) { /* not beyond what is read later */
                list[heads_listed + (uint32_t)__popc(those & below)] = (uint16_t)(record[k] - first);
                mine += VOXEL + overflow_of(s, head[k]);
            }
            heads_listed += (uint32_t)__popc(those);
        }
        __syncwarp();
    }
    const uint32_t overflows = pc_warp_add(overflows_in(mine));
    unsigned long long next = tile_prefix(s, lane == 0 ? heads_listed * VOXEL + overflows : 0);
    next = __shfl_sync(PC_ALL_LANES, next, 0);
    for (uint32_t base = 0; base < heads_listed; base += 32 * STORE_BATCH) {
        uint32_t slot[STORE_BATCH];
        slot_state b[STORE_BATCH];
#pragma unroll
        for (uint32_t k = 0; k < STORE_BATCH; k++) {
            const uint32_t at = base + 32 * k + lane;
            slot[k] = at < heads_listed ? PC_SLOT_OF(s.tag[first + list[at]]) : PC_NO_SLOT;
        }
#pragma unroll
        for (uint32_t k = 0; k < STORE_BATCH; k++) {
            if (slot[k] != PC_NO_SLOT) {
                b[k] = load_slot(s, slot[k]);
            }
        }
#pragma unroll
        for (uint32_t k = 0; k < STORE_BATCH; k++) {
            const uint32_t overflow = slot[k] != PC_NO_SLOT ? overflow_of(s, b[k].head) : 0;
            const uint32_t upto = pc_warp_sum_up_to(overflow);
            if (slot[k] != PC_NO_SLOT) {
                store_voxel(s, b[k], slot[k], voxels_in(next) + 32 * k + lane, overflows_in(next) + upto - overflow,
                            &sums);
            }
            next += __shfl_sync(PC_ALL_LANES, upto, 31); /* the sum fits into the lower 31 bits */
        }
        next += 32 * STORE_BATCH * VOXEL;
    }
    add_block_sums<PC_SCAN_THREADS>(pc_sums_of(s), sums);
}

/* Copies overflow records to the ranges of their voxels. */
__global__ static void __launch_bounds__(PC_SCAN_THREADS)
    gather_flagged_kernel(const pc_voxelize_params s, uint32_t words_per_warp) {
    enum { BATCH = 4 };
    extern __shared__ __align__(16) char memory[];
    uint16_t *list = (uint16_t *)memory + threadIdx.x / 32 * words_per_warp * 32;
    pc_launch_next();
    pc_wait_for_last();
    const uint32_t words = s.counters->overflow == 0 ? 0 : (s.rows + 31) / 32, lane = threadIdx.x % 32;
    for (uint32_t word = warp_of_launch() * words_per_warp; word < words;
         word += gridDim.x * SCAN_WARPS * words_per_warp) {
        const uint32_t count = list_flagged(s, word, words_per_warp, true, list);
        for (uint32_t base = 0; base < count; base += 32 * BATCH) {
            uint32_t record[BATCH], at[BATCH], rank[BATCH];
#pragma unroll
            for (uint32_t k = 0; k < BATCH; k++) {
                const uint32_t in_list = base + 32 * k + lane;
                record[k] = in_list < count ? word * 32 + list[in_list] : PC_NO_RECORD;
                at[k] = in_list < count ? PC_SLOT_OF(s.tag[record[k]]) : 0;
                rank[k] = in_list < count ? s.rank[record[k]] : 0;
            }
#pragma unroll
            for (uint32_t k = 0; k < BATCH; k++) {
                at[k] = record[k] != PC_NO_RECORD ? s.overflow[at[k]].y : NOT_IN_RESULT;
            }
#pragma unroll
            for (uint32_t k = 0; k < BATCH; k++) {
                if (at[k] != NOT_IN_RESULT) {
                    s.overflow_rows[at[k] - 1 + rank[k]] = record[k];
                }
            }
        }
        __syncwarp();
    }
}

#endif
