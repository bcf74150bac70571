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
    Sum sum = mine;
    for (int step = 1; step < 32; step *= 2) {
        const Sum other = __shfl_up_sync(PC_ALL_LANES, sum, step);
        sum += lane >= step ? other : 0;
    }
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

/* Many records a thread, for others. Of those that are marked the slots are read, four at a time; what begins is read
 * again when it is numbered. */
__global__ static void __launch_bounds__(PC_NUMBER_THREADS, PC_RESIDENT(PC_NUMBER_THREADS, 4))
    number_many_kernel(const pc_hashed s) {
    enum { RECORDS = PC_MANY_ROWS / PC_NUMBER_THREADS, FOUR = 4, NONE = -1 };
    const int64_t first = ((int64_t)blockIdx.x * PC_NUMBER_THREADS + threadIdx.x) * RECORDS;
    block_sums sums = {0, 0, 0, 0};
    uint32_t begins = 0; /* a bit a record */
    unsigned long long mine = 0;
    pc_launch_next();
    pc_wait_for_last();
    uint32_t marked = first < (int64_t)s.rows ? s.marks[first / 32].x >> first % 32 & ((1u << RECORDS) - 1) : 0;
    while (marked) {
        int record[FOUR];
        uint32_t place[FOUR];
#pragma unroll
        for (int k = 0; k < FOUR; k++) {
            record[k] = marked ? __ffs((int)marked) - 1 : NONE;
            place[k] = marked ? s.place[first + record[k]] : 0;
            marked &= marked - 1;
        }
#pragma unroll
        for (int k = 0; k < FOUR; k++) {
            if (record[k] != NONE) {
                const uint4 head = *(const uint4 *)&s.slots[PC_SLOT_OF(place[k])];
                if (head.z == (uint32_t)(first + record[k])) {
                    begins |= 1u << record[k];
                    mine += VOXEL + late_of(s, head);
                }
            }
        }
    }
    unsigned long long next = place_among_all(s, mine);
    for (; begins; begins &= begins - 1) {
        const uint32_t slot = PC_SLOT_OF(s.place[first + __ffs((int)begins) - 1]);
        const beginning b = begin_of(s, slot);
        set_down(s, b, slot, voxels_of(next), lates_of(next), &sums);
        next += VOXEL + late_of(s, b.head);
    }
    add_up<PC_NUMBER_THREADS>(pc_sums_of(s), sums);
}

/* After number_many: puts late records where the others of their voxels are. */
__global__ static void __launch_bounds__(PC_NUMBER_THREADS) gather_kernel(const pc_hashed s) {
    pc_launch_next();
    pc_wait_for_last();
    const uint32_t count = s.counters->late == 0 ? 0 : s.rows, step = gridDim.x * PC_NUMBER_THREADS;
#pragma unroll 4
    for (uint32_t i = blockIdx.x * PC_NUMBER_THREADS + threadIdx.x; i < count; i += step) {
        if (s.marks[i / 32].y >> i % 32 & 1u) {
            const uint32_t at = s.late[PC_SLOT_OF(s.place[i])].y;
            if (at != NOT_WANTED) {
                s.late_rows[at - 1 + s.rank[i]] = i;
            }
        }
    }
}

#endif
