/* The first kernel of voxelize_hashed.cuh. */
#ifndef PC_VOXELIZE_INSERT_CUH
#define PC_VOXELIZE_INSERT_CUH

#include "voxelize_hashed.cuh"

typedef struct position {
    float p[3];
} position;

/* Of record i, if there is one. */
__device__ static position position_of(const pc_hashed &s, uint32_t i) {
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

/* The same, to be on its way while other things are done. So the column after the three is not loaded with them: its
 * register, which nobody reads, would be given to another value, and that would wait for the load. */
__device__ static position next_position_of(const pc_hashed &s, uint32_t i) {
    if (i >= s.rows || !s.aligned) {
        return position_of(s, i);
    }
    const float *record = s.data + 4 * (size_t)i;
    const float2 first = *(const float2 *)record;
    return position{{first.x, first.y, record[2]}};
}

/* The key of a point's cell as pc_point_key has it, or PC_NO_KEY, without divisions but where they are needed. The
 * product with 1 / size is within 2^-23 of the quotient, relatively, before that is rounded, by 2^-24 at most: where
 * the nearest whole number is farther than 2^-21, which rounding does not step over, both are on the same side of it.
 */
__device__ static uint32_t point_key(const pc_hashed &s, const float *p) {
    uint32_t cell[3];
    bool in_range = true, decided = true;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const float quotient = (p[k] - s.grid.min[k]) * s.inverse[k], shifted = quotient + PC_ROUNDER,
                    beyond = quotient - (shifted - PC_ROUNDER);
        cell[k] = __float_as_uint(shifted) - __float_as_uint(PC_ROUNDER) - (beyond < 0.0f);
        in_range = in_range && p[k] >= s.grid.min[k] && p[k] < s.grid.max[k];
        decided = decided && fabsf(beyond) > quotient * 0x1p-21f && quotient < 0x1p22f;
    }
    if (in_range && !decided) {
#pragma unroll 1
        for (int k = 0; k < 3; k++) {
            cell[k] = (uint32_t)pc_axis_cell(&s.grid, k, p[k]);
        }
    }
    in_range =
        in_range && cell[0] < pc_grid_along(s, 0) && cell[1] < pc_grid_along(s, 1) && cell[2] < pc_grid_along(s, 2);
    return in_range ? (cell[2] * pc_grid_along(s, 1) + cell[1]) * pc_grid_along(s, 0) + cell[0] : PC_NO_KEY;
}

/* Counts lanes; by a warp. */
__device__ static void add_lanes(unsigned long long *to, uint32_t lanes) {
    if (threadIdx.x % 32 == 0 && lanes) {
        atomicAdd(to, (unsigned long long)__popc(lanes));
    }
}

/* The key of record i's cell, or PC_NO_KEY. */
__device__ static uint32_t key_of(const pc_hashed &s, uint32_t i, const position &at) {
    const bool there = i < s.rows, finite = pc_is_finite3(at.p[0], at.p[1], at.p[2]),
               skipped = pc_is_skipped(s.skip_origin, s.skip, at.p);
    const uint32_t not_finite = __ballot_sync(PC_ALL_LANES, there && !finite),
                   at_origin = __ballot_sync(PC_ALL_LANES, there && skipped);
    add_lanes(&pc_sums_of(s)->non_finite, not_finite);
    add_lanes(&pc_sums_of(s)->at_origin, at_origin);
    return there && !skipped ? point_key(s, at.p) : PC_NO_KEY;
}

enum { NEAR_IN_X = 4 /* cells that follow each other share a line of the cache */ };

__device__ static uint32_t home_of(uint32_t key, uint32_t mask) {
    uint32_t line = (key >> 2) * 0x9e3779b1u;
    return ((line ^ line >> 15) << 2 | (key & 3u)) & mask;
}

#define DROPPED 0x80000000u

typedef struct arrival {
    uint32_t slot, bound;
    uint32_t rank;  /* records of the cell that came before, but for those that were DROPPED, as these may be */
    bool may_begin; /* no lower record of the cell had come */
} arrival;

/* Whether to look no further in a table that may be too small, with `tried` slots in use by other cells, 0 for all of
 * the place. The host is told then; once it has been, others give up at their next look here. */
__device__ static bool gives_up(const pc_hashed &s, uint32_t tried) {
    enum { MOST = 128 /* slots: with half of them in use, hardly a cell is farther from its home */ };
    if (tried == 0 || tried >= MOST) {
        pc_half_store(&s.counters->full, 1);
        return true;
    }
    return pc_half_load(&s.counters->full) != 0;
}

/* Counts `count` records of a cell, i the lowest of them. Looks through the slots of its place in a line, then through
 * those of the next place. Where the table is too small, there may be no slot: the records are as if they were not in
 * the cloud. FEW: not so; the table is never too small. */
template <bool FEW, int NEAR>
__device__ static arrival arrive(const pc_hashed &s, uint32_t key, uint32_t home, uint32_t i, uint32_t count) {
    enum { LOOK = 8 };
    uint32_t at = home;
    while (true) {
        uint4 seen = pc_note_load((const uint4 *)&s.slots[at]); /* count, key, lowest record, bound */
        pc_slot *slot = &s.slots[at];
        if (seen.y == PC_NO_KEY) {
            const unsigned long long free = ~0ull, mine = (unsigned long long)key << 32 | count,
                                     old = atomicCAS(&slot->counted, free, mine);
            if (old == free) {
                atomicMin(&slot->first, i);
                return arrival{at, PC_NO_ROW, 0, true};
            }
            seen = make_uint4(0, (uint32_t)(old >> 32), PC_NO_ROW, PC_NO_ROW);
        }
        if (seen.y == key && i > seen.w) { /* there are P below */
            atomicAdd(&s.late[at].x, count);
            return arrival{at, seen.w, DROPPED, false};
        }
        if (seen.y == key) {
            const uint32_t rank = (uint32_t)atomicAdd(&slot->counted, (unsigned long long)count);
            if (i < seen.z) {
                atomicMin(&slot->first, i);
            }
            return arrival{at, seen.w, rank, i < seen.z};
        }
        at = (at + NEAR) & s.mask;
        const uint32_t tried = ((at - home) & s.mask) / NEAR;
        if (!FEW && tried % LOOK == 0 && pc_may_be_full(s) && gives_up(s, tried)) {
            return arrival{PC_NO_SLOT, PC_NO_ROW, DROPPED, false};
        }
        if (at == home) {
            home = at = (home + 1) & s.mask;
        }
    }
}

/* For each lane that wants to tell of its slot: when the P first records that came are all written, the highest of them
 * bounds the P lowest. By a warp. */
__device__ static void tell_bounds(const pc_hashed &s, uint32_t slot, bool wants) {
    const int lane = (int)threadIdx.x % 32;
    for (uint32_t left = __ballot_sync(PC_ALL_LANES, wants); left; left &= left - 1) {
        const int teller = __ffs((int)left) - 1;
        const uint32_t of = __shfl_sync(PC_ALL_LANES, slot, teller), *more = pc_more_of(s, of);
        uint32_t highest = 0;
        for (int k = lane; k < s.kept; k += 32) {
            highest = max(highest, __ldcg(k < PC_SLOT_ROWS ? &s.slots[of].row[k] : &more[k - PC_SLOT_ROWS]));
        }
        highest = pc_warp_max(highest);
        if (lane == teller && highest != PC_NO_ROW) {
            atomicMin(&s.slots[of].bound, highest);
        }
    }
}

/* Late record i, `number` of its voxel: finds or claims its bucket. */
__device__ static void keep_late(const pc_hashed &s, uint32_t slot, uint32_t number, uint32_t i) {
    const unsigned long long key = pc_bucket_key(s, slot, number / PC_BUCKET_ROWS);
    uint32_t at = pc_bucket_home(s, key);
    while (true) {
        unsigned long long seen = pc_word_load(&s.bucket_keys[at]);
        if (seen != key && !pc_bucket_in_use(s, seen)) {
            const unsigned long long old = atomicCAS(&s.bucket_keys[at], seen, key);
            seen = old == seen ? key : old;
        }
        if (seen == key) {
            *pc_bucket_row(s, at, number) = i;
            return;
        }
        if (pc_bucket_in_use(s, seen)) {
            at = (at + 1) & s.bucket_mask;
        }
    }
}

/* Record i, if it is there, and one of the first P that came. */
__device__ static void keep_row(const pc_hashed &s, uint32_t i, bool there, uint32_t slot, uint32_t rank) {
    if (there && rank < (uint32_t)s.kept) {
        *(rank < PC_SLOT_ROWS ? &s.slots[slot].row[rank] : &pc_more_of(s, slot)[rank - PC_SLOT_ROWS]) = i;
    }
}

/* Where there are few records, bounds are not worth it sooner. */
__device__ static bool tells(uint32_t rank, uint32_t p) {
    enum { TIMES = 4 /* P */ };
    return rank >= TIMES * p;
}

/* What a warp does with 32 records whose cells have been found or claimed by the leader of each group of equal cells.
 * BUCKETS: late records are put into buckets. */
template <bool BUCKETS>
__device__ static void keep_record(const pc_hashed &s, uint32_t i, bool in_range, uint32_t group, const arrival &a) {
    const int lane = (int)threadIdx.x % 32, leader = __ffs((int)group) - 1;
    const uint32_t below = (1u << lane) - 1, p = (uint32_t)s.kept, slot = __shfl_sync(PC_ALL_LANES, a.slot, leader),
                   rank = __shfl_sync(PC_ALL_LANES, a.rank, leader) + (uint32_t)__popc(group & below);
    const bool late = in_range && rank >= p && rank < DROPPED;
    keep_row(s, i, in_range, slot, rank);
    if (BUCKETS && late) {
        keep_late(s, slot, rank - p, i);
    } else if (late) {
        s.rank[i] = rank - p;
    }
    const bool marks = !BUCKETS && s.marks;
    if (marks) {
        const uint32_t maybe = __ballot_sync(PC_ALL_LANES, a.may_begin), lates = __ballot_sync(PC_ALL_LANES, late);
        if (lane == 0) {
            s.marks[i / 32] = make_uint2(maybe, lates);
        }
    }
    if (i < s.rows) {
        if (!marks || late || a.may_begin) {
            s.place[i] = in_range ? slot | (late ? PC_LATE : 0) | (a.may_begin ? PC_MAYBE : 0) : PC_NO_SLOT;
        }
        if (s.point_voxel) {
            s.point_voxel[i] = -1;
        }
    }
    tell_bounds(s, slot, late && lane == leader && a.bound == PC_NO_ROW && tells(rank, p) && !s.all);
}

/* As finish wants to find it. */
__device__ static void clean_words(const pc_hashed &s) {
    const uint32_t words = pc_words_of(s.rows), step = gridDim.x * PC_INSERT_THREADS;
    for (uint32_t i = blockIdx.x * PC_INSERT_THREADS + threadIdx.x; i < words; i += step) {
        s.words[i] = 0;
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        s.counters->late = 0;
    }
}

/* A thread a record, and the next one on its way; the lanes of a warp whose records share a cell act together. FEW:
 * most threads have no other record. */
template <bool BUCKETS, bool FEW>
__global__ static void __launch_bounds__(PC_INSERT_THREADS, PC_RESIDENT(PC_INSERT_THREADS, PC_INSERTS))
    insert_kernel(const pc_hashed s) {
    const uint32_t step = gridDim.x * PC_INSERT_THREADS;
    uint32_t i = blockIdx.x * PC_INSERT_THREADS + threadIdx.x;
    pc_launch_next();
    if (BUCKETS) {
        clean_words(s);
    }
    position at = position_of(s, i);
    for (; i - threadIdx.x % 32 < s.rows; i += step) {
        const position next = FEW ? position_of(s, i + step) : next_position_of(s, i + step);
        const uint32_t key = key_of(s, i, at), group = __match_any_sync(PC_ALL_LANES, key);
        arrival a = {PC_NO_SLOT, PC_NO_ROW, 0, false};
        if (key != PC_NO_KEY && (int)threadIdx.x % 32 == __ffs((int)group) - 1) {
            a = arrive<FEW, NEAR_IN_X>(s, key, home_of(key, s.mask), i, (uint32_t)__popc(group));
        }
        __syncwarp();
        keep_record<BUCKETS>(s, i, key != PC_NO_KEY, group, a);
        at = next;
    }
}

#endif
