/* The second and third kernel of voxelize_hashed.cuh. */
#ifndef PC_VOXELIZE_NUMBER_CUH
#define PC_VOXELIZE_NUMBER_CUH

#include "voxelize_hashed.cuh"

/* What tiles count: voxels that begin and late records of these, 31 bits each. Above them, what is known of a tile:
 * nothing, what it has, or what it and all before it have. */
#define VOXEL     (1ull << 31)
#define KNOWN_OWN (1ull << 62)
#define KNOWN_ALL (1ull << 63)

__device__ static uint32_t voxels_of(unsigned long long sum) {
    return (uint32_t)(sum >> 31 & 0x7fffffffu);
}

__device__ static uint32_t lates_of(unsigned long long sum) {
    return (uint32_t)(sum & 0x7fffffffu);
}

/* The sum of the values of all threads of the block before this one; *all = of all. */
template <int THREADS, typename Sum> __device__ static Sum sum_before(Sum mine, Sum *all) {
    __shared__ Sum of_warp[THREADS / 32];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const Sum sum = pc_warp_sum_up_to(mine);
    if (lane == 31) {
        of_warp[warp] = sum;
    }
    __syncthreads();
    Sum before = 0, whole = 0;
    for (int w = 0; w < THREADS / 32; w++) {
        before += w < warp ? of_warp[w] : 0;
        whole += of_warp[w];
    }
    __syncthreads();
    *all = whole;
    return before + sum - mine;
}

/* What the tiles before `tile` have; by all threads of the block. */
__device__ static unsigned long long look_back(const unsigned long long *tiles, int64_t tile) {
    __shared__ unsigned long long of_warp[PC_NUMBER_THREADS / 32]; /* with KNOWN_ALL when it knows of all before, too */
    const int lane = (int)threadIdx.x % 32;
    unsigned long long sum = 0;
    for (int64_t last = tile - 1; last >= 0; last -= PC_NUMBER_THREADS) {
        unsigned long long known = KNOWN_ALL; /* before the first one there is nothing */
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
        for (int w = 0; w < PC_NUMBER_THREADS / 32 && !all; w++) {
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

#define NOT_WANTED 0xffffffffu /* where the late records of a voxel begin that is not in the result */

/* A voxel that begins at a record. */
typedef struct beginning {
    uint4 head, rows; /* of the slot: records that were not dropped, key, first, bound */
} beginning;

__device__ static beginning begin_of(const pc_hashed &s, uint32_t slot) {
    const uint4 *at = (const uint4 *)&s.slots[slot];
    return beginning{at[0], at[1]};
}

__device__ static uint32_t late_of(const pc_hashed &s, const uint4 &head) {
    return head.x > (uint32_t)s.kept ? head.x - (uint32_t)s.kept : 0;
}

/* All records of a voxel, dropped ones too. */
__device__ static uint32_t points_of(const pc_hashed &s, const uint4 &head, uint32_t slot) {
    return head.x + (head.w != PC_NO_ROW ? s.late[slot].x : 0);
}

/* What a thread or a block adds to the sums: no more than there are records. */
typedef struct block_sums {
    uint32_t in_range, under_limit, kept, largest;
} block_sums;

/* What its slot has goes to an array by number, and what it counts is added up. */
__device__ static void set_down(const pc_hashed &s, const beginning &b, uint32_t slot, uint32_t number,
                                uint32_t late_first, block_sums *sums) {
    const uint32_t kept = min(b.head.x, (uint32_t)s.kept), late = late_of(s, b.head);
    const uint32_t points = points_of(s, b.head, slot);
    uint4 *at = (uint4 *)&s.voxels[number];
    at[0] = make_uint4(kept, slot, late, late_first);
    at[1] = b.rows;
    if (late) {
        pc_half_store(&s.late[slot].y, number < s.most ? late_first + 1 : NOT_WANTED);
    }
    sums->in_range += points;
    sums->largest = max(sums->largest, points);
    if (number < s.most) {
        sums->under_limit += points;
        sums->kept += s.all ? points : kept;
    }
}

__device__ static void add_sums(pc_voxelize_sums *to, const block_sums &mine) {
    atomicAdd(&to->in_range, (unsigned long long)mine.in_range);
    atomicAdd(&to->under_limit, (unsigned long long)mine.under_limit);
    atomicAdd(&to->kept, (unsigned long long)mine.kept);
    atomicMax(&to->largest, (unsigned long long)mine.largest);
}

__device__ static block_sums of_all_lanes(const block_sums &mine) {
    return block_sums{pc_warp_add(mine.in_range), pc_warp_add(mine.under_limit), pc_warp_add(mine.kept),
                      pc_warp_max(mine.largest)};
}

template <int THREADS> __device__ static void add_up(pc_voxelize_sums *to, block_sums mine) {
    __shared__ block_sums of_warp[THREADS / 32];
    mine = of_all_lanes(mine);
    if (threadIdx.x % 32 == 0) {
        of_warp[threadIdx.x / 32] = mine;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        mine = threadIdx.x < THREADS / 32 ? of_warp[threadIdx.x] : block_sums{0, 0, 0, 0};
        mine = of_all_lanes(mine);
        if (threadIdx.x == 0 && mine.in_range) {
            add_sums(to, mine);
        }
    }
}

/* Tells the other tiles what this one has, and returns what is before its thread. */
__device__ static unsigned long long place_among_all(const pc_hashed &s, unsigned long long mine) {
    const int64_t tile = blockIdx.x;
    unsigned long long all;
    const unsigned long long before = sum_before<PC_NUMBER_THREADS>(mine, &all);
    if (threadIdx.x == 0) {
        pc_word_store(&s.tiles[tile], (tile == 0 ? KNOWN_ALL : KNOWN_OWN) | all);
    }
    const unsigned long long of_others = look_back(s.tiles, tile);
    if (threadIdx.x == 0 && tile > 0) {
        pc_word_store(&s.tiles[tile], KNOWN_ALL | (of_others + all));
    }
    if (threadIdx.x == 0 && tile == (int64_t)gridDim.x - 1) {
        s.counters->found = voxels_of(of_others + all);
        s.counters->late = lates_of(of_others + all);
    }
    return of_others + before;
}

/* The same by a warp, without waiting for the block. */
__device__ static void add_up_warp(pc_voxelize_sums *to, const block_sums &mine) {
    const block_sums sums = of_all_lanes(mine);
    if (threadIdx.x % 32 == 0 && sums.in_range) {
        add_sums(to, sums);
    }
}

/* Two records a thread, for clouds whose tiles all run at once: as little waiting as can be. Late records are put where
 * the others of their voxels are as soon as the block of the voxel's lowest record, this one or one before it, has told
 * where that is. */
__global__ static void __launch_bounds__(PC_NUMBER_THREADS) number_kernel(const pc_hashed s) {
    enum { RECORDS = PC_TILE_ROWS / PC_NUMBER_THREADS };
    const int64_t first = ((int64_t)blockIdx.x * PC_NUMBER_THREADS + threadIdx.x) * RECORDS;
    block_sums sums = {0, 0, 0, 0};
    uint32_t place[RECORDS], rank[RECORDS];
    bool new_voxel[RECORDS];
    beginning begins[RECORDS];
    unsigned long long mine = 0;
    pc_launch_next();
    pc_wait_for_last();
#pragma unroll
    for (int k = 0; k < RECORDS; k++) {
        place[k] = first + k < (int64_t)s.rows ? s.place[first + k] : PC_NO_SLOT;
    }
#pragma unroll
    for (int k = 0; k < RECORDS; k++) {
        rank[k] = place[k] & PC_LATE ? s.rank[first + k] : 0;
        new_voxel[k] = false;
        if (place[k] & PC_MAYBE) {
            begins[k] = begin_of(s, PC_SLOT_OF(place[k]));
            new_voxel[k] = begins[k].head.z == (uint32_t)(first + k);
        }
    }
#pragma unroll
    for (int k = 0; k < RECORDS; k++) {
        mine += new_voxel[k] ? VOXEL + late_of(s, begins[k].head) : 0;
    }
    unsigned long long next = place_among_all(s, mine);
#pragma unroll
    for (int k = 0; k < RECORDS; k++) {
        if (new_voxel[k]) {
            set_down(s, begins[k], PC_SLOT_OF(place[k]), voxels_of(next), lates_of(next), &sums);
            next += VOXEL + late_of(s, begins[k].head);
        }
    }
    add_up_warp(pc_sums_of(s), sums); /* and all that other lanes wait for below is told */
#pragma unroll
    for (int k = 0; k < RECORDS; k++) {
        uint32_t at = NOT_WANTED;
        if (place[k] & PC_LATE) {
            while ((at = pc_half_load(&s.late[PC_SLOT_OF(place[k])].y)) == 0) {
                pc_pause();
            }
        }
        if (at != NOT_WANTED) {
            s.late_rows[at - 1 + rank[k]] = (uint32_t)(first + k);
        }
    }
}

/* ---- many records ----------------------------------------------------------------------------------------------- */

/* Of many records few are marked, as a rule. A warp makes a list of those of `share` words of marks, of 32 records
 * each, and looks at the records of the list. */
enum { NUMBER_WARPS = PC_NUMBER_THREADS / 32 };

/* What the lists of a block take of shared memory: a number after the first record of the warp's words is 16 bits. */
static size_t bytes_of_lists(uint32_t share) {
    return (size_t)NUMBER_WARPS * share * 32 * sizeof(uint16_t);
}

static_assert(NUMBER_WARPS * PC_MANY_WORDS * 32 * sizeof(uint16_t) <= 47 << 10, "what a block may have everywhere");

/* Makes the list of what is marked in words `word` and on, in order, and returns how many that are; by a warp. `late`:
 * which of the marks. */
__device__ static uint32_t list_marked(const pc_hashed &s, uint32_t word, uint32_t share, bool late, uint16_t *list) {
    const uint32_t lane = threadIdx.x % 32, words = (s.rows + 31) / 32;
    uint32_t count = 0;
    for (uint32_t first = 0; first < share; first += 32) {
        const uint32_t at = first + lane;
        const uint2 marks = at < share && word + at < words ? s.marks[word + at] : make_uint2(0, 0);
        uint32_t marked = late ? marks.y : marks.x;
        const uint32_t mine = (uint32_t)__popc(marked), end = pc_warp_sum_up_to(mine);
        for (uint32_t to = count + end - mine; marked; marked &= marked - 1) {
            list[to++] = (uint16_t)(at * 32 + (uint32_t)__ffs((int)marked) - 1);
        }
        count += __shfl_sync(PC_ALL_LANES, end, 31);
    }
    __syncwarp();
    return count;
}

/* The words of a warp begin with the warp's number in the launch times their number. */
__device__ static uint32_t warp_of_launch(void) {
    return (blockIdx.x * PC_NUMBER_THREADS + threadIdx.x) / 32;
}

/* Of those that are marked the slots are read; what begins is read again when it is numbered. */
__global__ static void __launch_bounds__(PC_NUMBER_THREADS, PC_RESIDENT(PC_NUMBER_THREADS, PC_NUMBER_MANYS))
    number_many_kernel(const pc_hashed s, uint32_t share) {
    enum { FOUR = 4, TWO = 2 };
    extern __shared__ __align__(16) char memory[];
    const uint32_t lane = threadIdx.x % 32, below = (1u << lane) - 1, first = warp_of_launch() * share * 32;
    uint16_t *list = (uint16_t *)memory + threadIdx.x / 32 * share * 32;
    block_sums sums = {0, 0, 0, 0};
    unsigned long long mine = 0;
    pc_launch_next();
    pc_wait_for_last();
    const uint32_t count = list_marked(s, first / 32, share, false, list);
    uint32_t begun = 0;
    for (uint32_t base = 0; base < count; base += 32 * FOUR) {
        uint32_t record[FOUR], slot[FOUR];
        uint4 head[FOUR];
#pragma unroll
        for (uint32_t k = 0; k < FOUR; k++) {
            const uint32_t at = base + 32 * k + lane;
            record[k] = at < count ? first + list[at] : PC_NO_ROW;
            slot[k] = at < count ? PC_SLOT_OF(s.place[record[k]]) : 0;
        }
#pragma unroll
        for (uint32_t k = 0; k < FOUR; k++) {
            head[k] = record[k] != PC_NO_ROW ? *(const uint4 *)&s.slots[slot[k]] : make_uint4(0, 0, 0, 0);
        }
        __syncwarp();
#pragma unroll
        for (uint32_t k = 0; k < FOUR; k++) {
            const bool begins = record[k] != PC_NO_ROW && head[k].z == record[k];
            const uint32_t those = __ballot_sync(PC_ALL_LANES, begins);
            if (begins) { /* before what is still to be read */
                list[begun + (uint32_t)__popc(those & below)] = (uint16_t)(record[k] - first);
                mine += VOXEL + late_of(s, head[k]);
            }
            begun += (uint32_t)__popc(those);
        }
        __syncwarp();
    }
    const uint32_t lates = pc_warp_add(lates_of(mine));
    unsigned long long next = place_among_all(s, lane == 0 ? begun * VOXEL + lates : 0);
    next = __shfl_sync(PC_ALL_LANES, next, 0);
    for (uint32_t base = 0; base < begun; base += 32 * TWO) {
        uint32_t slot[TWO];
        beginning b[TWO];
#pragma unroll
        for (uint32_t k = 0; k < TWO; k++) {
            const uint32_t at = base + 32 * k + lane;
            slot[k] = at < begun ? PC_SLOT_OF(s.place[first + list[at]]) : PC_NO_SLOT;
        }
#pragma unroll
        for (uint32_t k = 0; k < TWO; k++) {
            if (slot[k] != PC_NO_SLOT) {
                b[k] = begin_of(s, slot[k]);
            }
        }
#pragma unroll
        for (uint32_t k = 0; k < TWO; k++) {
            const uint32_t late = slot[k] != PC_NO_SLOT ? late_of(s, b[k].head) : 0;
            const uint32_t upto = pc_warp_sum_up_to(late);
            if (slot[k] != PC_NO_SLOT) {
                set_down(s, b[k], slot[k], voxels_of(next) + 32 * k + lane, lates_of(next) + upto - late, &sums);
            }
            next += __shfl_sync(PC_ALL_LANES, upto, 31); /* no more than 31 bits in all */
        }
        next += 32 * TWO * VOXEL;
    }
    add_up<PC_NUMBER_THREADS>(pc_sums_of(s), sums);
}

/* After number_many: puts late records where the others of their voxels are. */
__global__ static void __launch_bounds__(PC_NUMBER_THREADS) gather_kernel(const pc_hashed s, uint32_t share) {
    enum { FOUR = 4 };
    extern __shared__ __align__(16) char memory[];
    uint16_t *list = (uint16_t *)memory + threadIdx.x / 32 * share * 32;
    pc_launch_next();
    pc_wait_for_last();
    const uint32_t words = s.counters->late == 0 ? 0 : (s.rows + 31) / 32, lane = threadIdx.x % 32;
    for (uint32_t word = warp_of_launch() * share; word < words; word += gridDim.x * NUMBER_WARPS * share) {
        const uint32_t count = list_marked(s, word, share, true, list);
        for (uint32_t base = 0; base < count; base += 32 * FOUR) {
            uint32_t record[FOUR], at[FOUR], rank[FOUR];
#pragma unroll
            for (uint32_t k = 0; k < FOUR; k++) {
                const uint32_t in_list = base + 32 * k + lane;
                record[k] = in_list < count ? word * 32 + list[in_list] : PC_NO_ROW;
                at[k] = in_list < count ? PC_SLOT_OF(s.place[record[k]]) : 0;
                rank[k] = in_list < count ? s.rank[record[k]] : 0;
            }
#pragma unroll
            for (uint32_t k = 0; k < FOUR; k++) {
                at[k] = record[k] != PC_NO_ROW ? s.late[at[k]].y : NOT_WANTED;
            }
#pragma unroll
            for (uint32_t k = 0; k < FOUR; k++) {
                if (at[k] != NOT_WANTED) {
                    s.late_rows[at[k] - 1 + rank[k]] = record[k];
                }
            }
        }
        __syncwarp();
    }
}

#endif
