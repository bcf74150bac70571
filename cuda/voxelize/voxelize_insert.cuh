/* Insertion of records into the hash table (voxelize_hash.cuh). */
#ifndef PC_VOXELIZE_INSERT_CUH
#define PC_VOXELIZE_INSERT_CUH

#include "voxelize_hash.cuh"

typedef struct position {
    float p[3];
} position;

/* Zeros if there is no record i. */
__device__ static position position_of(const pc_voxelize_params &s, uint32_t i) {
    position at = {{0.0f, 0.0f, 0.0f}};
    if (i < s.rows && s.aligned) {
        const float4 record = ((const float4 *)s.data)[i];
        at = position{{record.x, record.y, record.z}};
    } else if (i < s.rows) {
        const float *record = s.data + (size_t)i * (size_t)s.columns;
        at = position{{record[0], record[1], record[2]}};
    }
    return at;
}

/* The same, to be loaded ahead. Only three columns are loaded: the register of a fourth, which nothing reads, would be
 * reused, and that would wait for the load. */
__device__ static position next_position_of(const pc_voxelize_params &s, uint32_t i) {
    if (i >= s.rows || !s.aligned) {
        return position_of(s, i);
    }
    const float *record = s.data + 4 * (size_t)i;
    const float2 first = *(const float2 *)record;
    return position{{first.x, first.y, record[2]}};
}

/* The key of a point's cell as pc_point_key has it, or PC_NO_KEY, with divisions only where they decide. The product
 * with 1 / size is within 2^-23 of the exact quotient, relatively, and the quotient is rounded by 2^-24 at most, where
 * neither is below the normal numbers. So if the nearest integer is farther than 2^-21, relatively, product and
 * quotient are on the same side of it. */
__device__ static uint32_t point_key(const pc_voxelize_params &s, const float *p) {
    uint32_t cell[3];
    bool in_range = true, decided = true;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const float quotient = (p[k] - s.grid.min[k]) * s.inverse[k], shifted = quotient + PC_ROUNDER,
                    beyond = quotient - (shifted - PC_ROUNDER);
        cell[k] = __float_as_uint(shifted) - __float_as_uint(PC_ROUNDER) - (beyond < 0.0f);
        in_range = in_range && !(quotient <= -1.0f) && p[k] <= s.grid.max[k];
        decided = decided && fabsf(beyond) > fabsf(quotient) * 0x1p-21f + 0x1p-100f && quotient < 0x1p22f;
    }
    if (in_range && !decided) {
#pragma unroll 1
        for (int k = 0; k < 3; k++) {
            cell[k] = (uint32_t)pc_axis_cell(&s.grid, k, p[k]);
        }
    }
    in_range =
        in_range && cell[0] < pc_grid_cells(s, 0) && cell[1] < pc_grid_cells(s, 1) && cell[2] < pc_grid_cells(s, 2);
    return in_range ? (cell[2] * pc_grid_cells(s, 1) + cell[1]) * pc_grid_cells(s, 0) + cell[0] : PC_NO_KEY;
}

/* Adds the number of lanes; all lanes call it. */
__device__ static void add_lanes(unsigned long long *to, uint32_t lanes) {
    if (threadIdx.x % 32 == 0 && lanes) {
        atomicAdd(to, (unsigned long long)__popc(lanes));
    }
}

/* The key of record i's cell, or PC_NO_KEY; counts records that are not finite or at a skipped origin. */
__device__ static uint32_t key_of(const pc_voxelize_params &s, uint32_t i, const position &at) {
    const bool there = i < s.rows, finite = pc_is_finite3(at.p[0], at.p[1], at.p[2]),
               skipped = pc_is_skipped(s.skip_origin, s.skip, at.p);
    const uint32_t not_finite = __ballot_sync(PC_ALL_LANES, there && !finite),
                   at_origin = __ballot_sync(PC_ALL_LANES, there && skipped);
    add_lanes(&pc_sums_of(s)->non_finite, not_finite);
    add_lanes(&pc_sums_of(s)->at_origin, at_origin);
    return there && !skipped ? point_key(s, at.p) : PC_NO_KEY;
}

enum { LINE_CELLS = 4 /* consecutive cells share a cache line */ };

__device__ static uint32_t home_of(uint32_t key, uint32_t mask) {
    uint32_t line = (key >> 2) * 0x9e3779b1u;
    return ((line ^ line >> 15) << 2 | (key & 3u)) & mask;
}

#define DROPPED 0x80000000u

typedef struct insertion {
    uint32_t slot, cutoff;
    uint32_t rank; /* records of the cell that arrived before. DROPPED: this one is above the cutoff, or has no slot */
    bool maybe_first; /* no lower record of the cell had arrived */
} insertion;

/* Whether to end the search in a table that may be too small, after `tried` slots of other cells; 0 is a full turn. The
 * first thread that ends its search sets `full`, and then the others end theirs. Not called if there cannot be more
 * voxels than slots: then a third of the slots is free. */
__device__ static bool table_is_full(const pc_voxelize_params &s, uint32_t tried) {
    enum { MOST = 128 /* slots: while half of the table is free, hardly any cell is farther from its home */ };
    if (tried == 0 || tried >= MOST) {
        pc_half_store(&s.counters->full, 1);
        return true;
    }
    return pc_half_load(&s.counters->full) != 0;
}

/* Counts `count` records of a cell, of which i is the lowest. The search steps through the lines of the table at the
 * home's offset in its line, then at the next offset. Without a slot the records are dropped. FEW: there are more slots
 * than voxels, so that the search always finds one. */
template <bool FEW>
__device__ static insertion insert_group(const pc_voxelize_params &s, uint32_t key, uint32_t home, uint32_t i,
                                         uint32_t count) {
    enum { LOOK = 8 };
    uint32_t at = home;
    while (true) {
        uint4 seen = pc_note_load((const uint4 *)&s.slots[at]); /* key_count, first, cutoff */
        pc_slot *slot = &s.slots[at];
        if (seen.y == PC_NO_KEY) {
            const unsigned long long free = ~0ull, mine = (unsigned long long)key << 32 | count,
                                     old = atomicCAS(&slot->key_count, free, mine);
            if (old == free) {
                atomicMin(&slot->first, i);
                return insertion{at, PC_NO_RECORD, 0, true};
            }
            seen = make_uint4(0, (uint32_t)(old >> 32), PC_NO_RECORD, PC_NO_RECORD);
        }
        if (seen.y == key && i > seen.w) { /* above the cutoff */
            atomicAdd(&s.overflow[at].x, count);
            return insertion{at, seen.w, DROPPED, false};
        }
        if (seen.y == key) {
            const uint32_t rank = (uint32_t)atomicAdd(&slot->key_count, (unsigned long long)count);
            if (i < seen.z) {
                atomicMin(&slot->first, i);
            }
            return insertion{at, seen.w, rank, i < seen.z};
        }
        at = (at + LINE_CELLS) & s.mask;
        const uint32_t tried = ((at - home) & s.mask) / LINE_CELLS;
        if (!FEW && tried % LOOK == 0 && s.capacity == s.mask + 1 && table_is_full(s, tried)) {
            return insertion{PC_NO_SLOT, PC_NO_RECORD, DROPPED, false};
        }
        if (at == home) {
            home = at = (home + 1) & s.mask;
        }
    }
}

/* For each lane with `publishes`: publishes the highest of the first P records of its slot, if all are written, as the
 * cutoff; all lanes call it. */
__device__ static void publish_cutoffs(const pc_voxelize_params &s, uint32_t slot, bool publishes) {
    const int lane = (int)threadIdx.x % 32;
    for (uint32_t left = __ballot_sync(PC_ALL_LANES, publishes); left; left &= left - 1) {
        const int lane_of_slot = __ffs((int)left) - 1;
        const uint32_t of = __shfl_sync(PC_ALL_LANES, slot, lane_of_slot), *extra = pc_extra_of(s, of);
        uint32_t highest = 0;
        for (int k = lane; k < s.kept; k += 32) {
            highest = max(highest, __ldcg(k < PC_SLOT_RECORDS ? &s.slots[of].row[k] : &extra[k - PC_SLOT_RECORDS]));
        }
        highest = pc_warp_max(highest);
        if (lane == lane_of_slot && highest != PC_NO_RECORD) {
            atomicMin(&s.slots[of].cutoff, highest);
        }
    }
}

/* Finds or claims the bucket of overflow record i, which is the index-th of its voxel. */
__device__ static void store_overflow(const pc_voxelize_params &s, uint32_t slot, uint32_t index, uint32_t i) {
    const unsigned long long key = pc_bucket_key(s, slot, index / PC_BUCKET_RECORDS);
    uint32_t at = pc_bucket_home(s, key);
    while (true) {
        unsigned long long seen = pc_word_load(&s.bucket_keys[at]);
        if (seen != key && !pc_bucket_in_use(s, seen)) {
            const unsigned long long old = atomicCAS(&s.bucket_keys[at], seen, key);
            seen = old == seen ? key : old;
        }
        if (seen == key) {
            *pc_bucket_row(s, at, index) = i;
            return;
        }
        if (pc_bucket_in_use(s, seen)) {
            at = (at + 1) & s.bucket_mask;
        }
    }
}

/* Stores record i if it is one of the first P. */
__device__ static void store_kept(const pc_voxelize_params &s, uint32_t i, bool there, uint32_t slot, uint32_t rank) {
    if (there && rank < (uint32_t)s.kept) {
        *(rank < PC_SLOT_RECORDS ? &s.slots[slot].row[rank] : &pc_extra_of(s, slot)[rank - PC_SLOT_RECORDS]) = i;
    }
}

/* With few records per voxel a cutoff costs more than it saves. */
__device__ static bool cutoff_pays(uint32_t rank, uint32_t p) {
    enum { TIMES = 4 };
    return rank >= TIMES * p;
}

/* Stores 32 records after insert_group, which the lowest lane of each group of equal cells has called. BUCKETS:
 * overflow records go to buckets. */
template <bool BUCKETS>
__device__ static void store_records(const pc_voxelize_params &s, uint32_t i, bool in_range, uint32_t group,
                                     const insertion &a) {
    const int lane = (int)threadIdx.x % 32, leader = __ffs((int)group) - 1;
    const uint32_t below = (1u << lane) - 1, p = (uint32_t)s.kept, slot = __shfl_sync(PC_ALL_LANES, a.slot, leader),
                   rank = __shfl_sync(PC_ALL_LANES, a.rank, leader) + (uint32_t)__popc(group & below);
    const bool overflow = in_range && rank >= p && rank < DROPPED;
    store_kept(s, i, in_range, slot, rank);
    if (BUCKETS && overflow) {
        store_overflow(s, slot, rank - p, i);
    } else if (overflow) {
        s.rank[i] = rank - p;
    }
    const bool has_flags = !BUCKETS && s.flags;
    if (has_flags) {
        const uint32_t maybe = __ballot_sync(PC_ALL_LANES, a.maybe_first),
                       overflows = __ballot_sync(PC_ALL_LANES, overflow);
        if (lane == 0) {
            s.flags[i / 32] = make_uint2(maybe, overflows);
        }
    }
    if (i < s.rows) {
        if (!has_flags || overflow || a.maybe_first) {
            s.tag[i] =
                in_range ? slot | (overflow ? PC_OVERFLOW : 0) | (a.maybe_first ? PC_MAYBE_FIRST : 0) : PC_NO_SLOT;
        }
        if (s.point_voxel) {
            s.point_voxel[i] = -1;
        }
    }
    publish_cutoffs(s, slot,
                    overflow && lane == leader && a.cutoff == PC_NO_RECORD && cutoff_pays(rank, p) && !s.unlimited);
}

/* As the fused kernel expects them. */
__device__ static void clean_tile_counts(const pc_voxelize_params &s) {
    const uint32_t words = pc_fused_words(s.rows), step = gridDim.x * PC_INSERT_THREADS;
    for (uint32_t i = blockIdx.x * PC_INSERT_THREADS + threadIdx.x; i < words; i += step) {
        s.tile_counts[i] = 0;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        s.counters->overflow = 0;
    }
}

/* A thread per record, and the next record is loaded ahead. Lanes with records of the same cell access its slot once.
 * FEW: most threads have one record. */
template <bool BUCKETS, bool FEW>
__global__ static void __launch_bounds__(PC_INSERT_THREADS, PC_RESIDENT(PC_INSERT_THREADS, PC_INSERT_BLOCKS))
    insert_kernel(const pc_voxelize_params s) {
    const uint32_t step = gridDim.x * PC_INSERT_THREADS;
    uint32_t i = blockIdx.x * PC_INSERT_THREADS + threadIdx.x;
    pc_launch_next();
    if (BUCKETS) {
        clean_tile_counts(s);
    }
    position at = position_of(s, i);
    for (; i - threadIdx.x % 32 < s.rows; i += step) {
        const position next = FEW ? position_of(s, i + step) : next_position_of(s, i + step);
        const uint32_t key = key_of(s, i, at), group = __match_any_sync(PC_ALL_LANES, key);
        insertion a = {PC_NO_SLOT, PC_NO_RECORD, 0, false};
        if (key != PC_NO_KEY && (int)threadIdx.x % 32 == __ffs((int)group) - 1) {
            a = insert_group<FEW>(s, key, home_of(key, s.mask), i, (uint32_t)__popc(group));
        }
        __syncwarp();
        store_records<BUCKETS>(s, i, key != PC_NO_KEY, group, a);
        at = next;
    }
}

#endif
