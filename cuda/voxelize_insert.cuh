/* The first kernel of voxelize_hashed.cuh. */
#ifndef PC_VOXELIZE_INSERT_CUH
#define PC_VOXELIZE_INSERT_CUH

#include "voxelize_hashed.cuh"

/* The key of record i's cell, or PC_NO_KEY. */
__device__ static uint32_t key_of(const pc_hashed &s, uint32_t i) {
    bool finite = true, skipped = false;
    uint32_t key = PC_NO_KEY;
    if (i < s.rows) {
        float p[3];
        if (s.aligned) {
            const float4 record = ((const float4 *)s.data)[i];
            p[0] = record.x, p[1] = record.y, p[2] = record.z;
        } else {
            const float *record = s.data + (size_t)i * (size_t)s.columns;
            p[0] = record[0], p[1] = record[1], p[2] = record[2];
        }
        finite = pc_is_finite3(p[0], p[1], p[2]);
        skipped = pc_is_skipped(s.skip_origin, s.skip, p);
        const int64_t cell = pc_record_key(&s.grid, s.skip_origin, s.skip, p);
        key = cell < 0 ? PC_NO_KEY : (uint32_t)cell;
    }
    const uint32_t not_finite = __ballot_sync(PC_LANES, !finite), at_origin = __ballot_sync(PC_LANES, skipped);
    if (threadIdx.x % 32 == 0 && not_finite) {
        atomicAdd(&s.counters->sums.non_finite, (unsigned long long)__popc(not_finite));
    }
    if (threadIdx.x % 32 == 0 && at_origin) {
        atomicAdd(&s.counters->sums.at_origin, (unsigned long long)__popc(at_origin));
    }
    return key;
}

/* Four cells that follow each other in x share a line of the cache. */
__device__ static uint32_t home_of(uint32_t key, uint32_t mask) {
    uint32_t line = (key >> 2) * 0x9e3779b1u;
    return ((line ^ line >> 15) << 2 | (key & 3u)) & mask;
}

typedef struct arrival {
    uint32_t slot, bound;
    uint32_t rank;  /* records of the cell that came before */
    bool may_begin; /* no lower record of the cell had come */
} arrival;

/* Counts `count` records of a cell, i the lowest of them. */
__device__ static arrival arrive(const pc_hashed &s, uint32_t key, uint32_t i, uint32_t count) {
    arrival a = {home_of(key, s.mask), PC_NO_ROW, 0, true};
    for (;; a.slot = (a.slot + 1) & s.mask) {
        pc_slot *slot = &s.slots[a.slot];
        const uint4 seen = pc_note_load((const uint4 *)slot); /* count, key, first, bound */
        uint32_t there = seen.y, first = seen.z;
        if (there == PC_NO_KEY) {
            const unsigned long long free = ~0ull, mine = (unsigned long long)key << 32 | count,
                                     old = atomicCAS(&slot->counted, free, mine);
            if (old == free) {
                atomicMin(&slot->first, i);
                return a;
            }
            there = (uint32_t)(old >> 32);
            first = PC_NO_ROW;
        }
        if (there == key) {
            a.rank = (uint32_t)atomicAdd(&slot->counted, (unsigned long long)count);
            a.bound = seen.y == key ? seen.w : PC_NO_ROW;
            a.may_begin = i < first;
            if (a.may_begin) {
                atomicMin(&slot->first, i);
            }
            return a;
        }
    }
}

/* When the P first records that came are all written, the highest of them bounds the P lowest. */
__device__ static void tell_bound(const pc_hashed &s, uint32_t slot) {
    const uint32_t *more = pc_more_of(s, slot);
    uint32_t highest = 0;
    for (int k = 0; k < s.kept; k++) {
        highest = max(highest, __ldcg(k < PC_SLOT_ROWS ? &s.slots[slot].row[k] : &more[k - PC_SLOT_ROWS]));
    }
    if (highest != PC_NO_ROW) {
        atomicMin(&s.slots[slot].bound, highest);
    }
}

/* A thread a record; the lanes of a warp whose records share a cell act together. */
__global__ static void __launch_bounds__(PC_VOXELIZE_THREADS) insert_kernel(const pc_hashed s) {
    enum { TELLING = 8 }; /* times P records after which the bound is told: where there are few, it is not worth it */
    const int lane = (int)threadIdx.x % 32;
    const uint32_t i = blockIdx.x * PC_VOXELIZE_THREADS + threadIdx.x, below = (1u << lane) - 1, p = (uint32_t)s.kept;
    pc_launch_next();
    const uint32_t key = key_of(s, i), group = __match_any_sync(PC_LANES, key);
    const int leader = __ffs((int)group) - 1;
    const bool in_range = key != PC_NO_KEY;
    arrival a = {PC_NO_SLOT, PC_NO_ROW, 0, false};
    if (in_range && lane == leader) {
        a = arrive(s, key, i, (uint32_t)__popc(group));
    }
    __syncwarp();
    const uint32_t slot = __shfl_sync(PC_LANES, a.slot, leader), bound = __shfl_sync(PC_LANES, a.bound, leader),
                   rank = __shfl_sync(PC_LANES, a.rank, leader) + (uint32_t)__popc(group & below);
    if (in_range && rank < p) {
        *(rank < PC_SLOT_ROWS ? &s.slots[slot].row[rank] : &pc_more_of(s, slot)[rank - PC_SLOT_ROWS]) = i;
    }
    const bool late = in_range && rank >= p && i < bound;
    const uint32_t lates = __ballot_sync(PC_LANES, late) & group;
    if (__any_sync(PC_LANES, late)) {
        const int first_late = late ? __ffs((int)lates) - 1 : lane;
        uint32_t before = 0;
        if (late && lane == first_late) {
            before = atomicAdd(&s.late[slot], (uint32_t)__popc(lates));
            if (bound == PC_NO_ROW && rank >= TELLING * p) {
                tell_bound(s, slot);
            }
        }
        __syncwarp();
        before = __shfl_sync(PC_LANES, before, first_late);
        if (late) {
            s.rank[i] = before + (uint32_t)__popc(lates & below);
        }
    }
    if (i < s.rows) {
        s.place[i] = in_range ? slot | (late ? PC_LATE : 0) | (a.may_begin ? PC_MAYBE : 0) : PC_NO_SLOT;
        if (s.point_voxel) {
            s.point_voxel[i] = -1;
        }
    }
}

#endif
