/* The second and third kernel of voxelize_hashed.cuh. */
#ifndef PC_VOXELIZE_NUMBER_CUH
#define PC_VOXELIZE_NUMBER_CUH

#include "voxelize_hashed.cuh"

/* What tiles count: voxels that begin and late records of these, 31 bits each. Above them, what is known of a tile:
 * nothing, what it has, or what it and all before it have. */
#define VOXEL (1ull << 31)
#define OWN   (1ull << 62)
#define ALL   (1ull << 63)

__device__ static uint32_t voxels_of(unsigned long long sum) {
    return (uint32_t)(sum >> 31 & 0x7fffffffu);
}

__device__ static uint32_t lates_of(unsigned long long sum) {
    return (uint32_t)(sum & 0x7fffffffu);
}

/* The sum of the values of all threads of the block before this one; *all = of all. */
__device__ static unsigned long long sum_before(unsigned long long mine, unsigned long long *all) {
    __shared__ unsigned long long of_warp[PC_VOXELIZE_THREADS / 32];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    unsigned long long sum = mine;
    for (int step = 1; step < 32; step *= 2) {
        const unsigned long long other = __shfl_up_sync(PC_LANES, sum, step);
        sum += lane >= step ? other : 0;
    }
    if (lane == 31) {
        of_warp[warp] = sum;
    }
    __syncthreads();
    unsigned long long before = 0, whole = 0;
    for (int w = 0; w < PC_VOXELIZE_THREADS / 32; w++) {
        before += w < warp ? of_warp[w] : 0;
        whole += of_warp[w];
    }
    __syncthreads();
    *all = whole;
    return before + sum - mine;
}

/* What the tiles before `tile` have; by all threads of the block. */
__device__ static unsigned long long look_back(const unsigned long long *tiles, int64_t tile) {
    __shared__ int nearest;
    unsigned long long sum = 0;
    for (int64_t last = tile - 1; last >= 0; last -= PC_VOXELIZE_THREADS) {
        unsigned long long known = ALL; /* before the first one there is nothing */
        const int64_t at = last - (int64_t)threadIdx.x;
        if (threadIdx.x == 0) {
            nearest = PC_VOXELIZE_THREADS;
        }
        if (at >= 0) {
            while ((known = pc_word_load(&tiles[at])) == 0) {
                pc_pause();
            }
        }
        __syncthreads();
        if (known & ALL) {
            atomicMin(&nearest, (int)threadIdx.x);
        }
        __syncthreads();
        unsigned long long whole;
        sum_before((int)threadIdx.x <= nearest ? known & ~(OWN | ALL) : 0, &whole);
        sum += whole;
        if (nearest < PC_VOXELIZE_THREADS) {
            break;
        }
        __syncthreads();
    }
    return sum;
}

/* Four records a thread. */
__global__ static void __launch_bounds__(PC_VOXELIZE_THREADS) number_kernel(const pc_hashed s) {
    const int64_t tile = blockIdx.x, begin = tile * PC_TILE_ROWS + (int64_t)threadIdx.x * 4;
    uint32_t place[4], lates[4] = {0, 0, 0, 0};
    bool begins[4];
    unsigned long long mine = 0, all;
    pc_launch_next();
    pc_wait_for_last();
    if (begin + 4 <= (int64_t)s.rows) {
        const uint4 four = *(const uint4 *)(s.place + begin);
        place[0] = four.x, place[1] = four.y, place[2] = four.z, place[3] = four.w;
    } else {
        for (int k = 0; k < 4; k++) {
            place[k] = begin + k < (int64_t)s.rows ? s.place[begin + k] : 0;
        }
    }
    for (int k = 0; k < 4; k++) {
        begins[k] = false;
        if (place[k] & PC_MAYBE) {
            const uint32_t slot = PC_SLOT_OF(place[k]);
            const uint4 head = *(const uint4 *)&s.slots[slot]; /* count, key, first, bound */
            begins[k] = head.z == (uint32_t)(begin + k);
            lates[k] = begins[k] && head.x > (uint32_t)s.kept ? s.late[slot] : 0;
        }
        mine += (begins[k] ? VOXEL : 0) + lates[k];
    }
    unsigned long long before = sum_before(mine, &all);
    if (threadIdx.x == 0) {
        pc_word_store(&s.tiles[tile], (tile == 0 ? ALL : OWN) | all);
    }
    const unsigned long long of_others = look_back(s.tiles, tile);
    if (threadIdx.x == 0 && tile > 0) {
        pc_word_store(&s.tiles[tile], ALL | (of_others + all));
    }
    if (threadIdx.x == 0 && tile == (int64_t)gridDim.x - 1) {
        s.counters->found = voxels_of(of_others + all);
        s.counters->late = lates_of(of_others + all);
    }
    before += of_others;
    for (int k = 0; k < 4; k++) {
        if (begins[k]) {
            s.slot_of[voxels_of(before)] = PC_SLOT_OF(place[k]);
            if (lates[k]) {
                s.late_first[PC_SLOT_OF(place[k])] = lates_of(before);
            }
            before += VOXEL + lates[k];
        }
    }
}

__global__ static void __launch_bounds__(PC_VOXELIZE_THREADS) gather_kernel(const pc_hashed s) {
    pc_launch_next();
    pc_wait_for_last();
    if (s.counters->late == 0) {
        return;
    }
    const int64_t stride = (int64_t)gridDim.x * PC_VOXELIZE_THREADS;
    for (int64_t i = (int64_t)blockIdx.x * PC_VOXELIZE_THREADS + threadIdx.x; i < (int64_t)s.rows; i += stride) {
        const uint32_t place = s.place[i];
        if (place & PC_LATE) {
            s.late_rows[s.late_first[PC_SLOT_OF(place)] + s.rank[i]] = (uint32_t)i;
        }
    }
}

#endif
