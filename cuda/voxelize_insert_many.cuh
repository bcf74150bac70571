/* insert of voxelize_hashed.cuh for clouds of very many records: the device has work enough to hide most of its
 * waiting, so that the number of instructions counts. */
#ifndef PC_VOXELIZE_INSERT_MANY_CUH
#define PC_VOXELIZE_INSERT_MANY_CUH

#include "voxelize_insert.cuh"

/* The grid as insert_many wants it. */
typedef struct pc_cells {
    float most[3];     /* the highest coordinate that has a cell */
    float half[3];     /* see many_key */
    uint32_t along[2]; /* cells in x, y */
    uint32_t bias;
} pc_cells;

#define MANY_WHOLE 12582912.0f /* 1.5 x 2^23: a sum with what is below 2^22 is a whole number */

/* The bits of numbers in order as integers in order, and these as bits. */
static int32_t in_order(int32_t bits) {
    return bits ^ (bits >> 31 & INT32_MAX);
}

/* The highest number in the range of an axis that has a cell: the cell's number never falls as the coordinate rises. */
static float highest_with_cell(const pc_grid *grid, int axis) {
    int32_t bits[2]; /* of one that has, and of one that has none */
    memcpy(&bits[0], &grid->min[axis], sizeof bits[0]);
    memcpy(&bits[1], &grid->max[axis], sizeof bits[1]);
    float highest = grid->min[axis];
    for (int64_t low = in_order(bits[0]), high = in_order(bits[1]); high - low > 1;) {
        const int64_t middle = low + (high - low) / 2;
        const int32_t of_middle = in_order((int32_t)middle);
        float value;
        memcpy(&value, &of_middle, sizeof value);
        const bool has = pc_axis_cell(grid, axis, value) >= 0;
        *(has ? &low : &high) = middle;
        highest = has ? value : highest;
    }
    return highest;
}

/* The product with 1 / size is within 2^-22.4 of the quotient after its rounding, relatively, and so is the whole
 * number below it the same unless another is nearer than 2^-22 times the number of cells. Where that is a half, as of
 * an axis with a million cells, no coordinate is decided. */
static pc_cells cells_of(const pc_grid *grid) {
    pc_cells c;
    uint32_t whole;
    const float shift = MANY_WHOLE;
    memcpy(&whole, &shift, sizeof whole);
    for (int k = 0; k < 3; k++) {
        c.most[k] = highest_with_cell(grid, k);
        c.half[k] = 0.5f - grid->cells[k] * 0x1p-22f;
    }
    c.along[0] = (uint32_t)grid->cells[0];
    c.along[1] = (uint32_t)grid->cells[1];
    c.bias = (whole * c.along[1] + whole) * c.along[0] + whole;
    return c;
}

/* The key of the cell of a point in the range. */
__device__ static uint32_t many_key(const pc_hashed &s, const pc_cells &c, const position &at) {
    uint32_t cell[3]; /* plus what MANY_WHOLE is as an integer */
    bool decided = true;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const float quotient = (at.p[k] - s.grid.min[k]) * s.inverse[k], shifted = __fadd_rd(quotient, MANY_WHOLE),
                    beyond = quotient - (shifted - MANY_WHOLE);
        cell[k] = __float_as_uint(shifted);
        decided = decided && fabsf(beyond - 0.5f) < c.half[k];
    }
    if (!decided) {
#pragma unroll 1
        for (int k = 0; k < 3; k++) {
            cell[k] = (uint32_t)pc_axis_cell(&s.grid, k, at.p[k]) + __float_as_uint(MANY_WHOLE);
        }
    }
    return (cell[2] * c.along[1] + cell[1]) * c.along[0] + cell[0] - c.bias;
}

__device__ static bool in_cells(const pc_hashed &s, const pc_cells &c, const position &at) {
    bool inside = true;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        inside = inside && at.p[k] >= s.grid.min[k] && at.p[k] <= c.most[k];
    }
    return inside;
}

/* Records that wait until there are enough of them for a warp: which, and the key of the cell. */
typedef uint2 waiting;

/* What keep_record does, of records here and there. */
__device__ static void keep_waiting(const pc_hashed &s, uint32_t i, bool there, uint32_t group, const arrival &a) {
    const int lane = (int)threadIdx.x % 32, leader = __ffs((int)group) - 1;
    const uint32_t below = (1u << lane) - 1, p = (uint32_t)s.kept, slot = __shfl_sync(PC_ALL_LANES, a.slot, leader),
                   rank = __shfl_sync(PC_ALL_LANES, a.rank, leader) + (uint32_t)__popc(group & below);
    const bool late = there && rank >= p && rank < DROPPED;
    keep_row(s, i, there, slot, rank);
    if (late) {
        s.rank[i] = rank - p;
        atomicOr(&s.marks[i / 32].y, 1u << i % 32);
    }
    if (a.may_begin) {
        atomicOr(&s.marks[i / 32].x, 1u << i % 32);
    }
    if (late || a.may_begin) {
        s.place[i] = slot | (late ? PC_LATE : 0) | (a.may_begin ? PC_MAYBE : 0);
    }
    tell_bounds(s, slot, late && lane == leader && a.bound == PC_NO_ROW && tells<true>(rank, group, p) && !s.all);
}

/* Inserts `count` waiting records, the lowest first, at most one a lane. */
__device__ static void insert_waiting(const pc_hashed &s, const waiting *of, int count) {
    const int lane = (int)threadIdx.x % 32;
    const waiting mine = lane < count ? of[lane] : make_uint2(0, PC_NO_KEY);
    const uint32_t group = __match_any_sync(PC_ALL_LANES, mine.y);
    arrival a = {PC_NO_SLOT, PC_NO_ROW, DROPPED, false};
    if (lane < count && lane == __ffs((int)group) - 1) {
        a = arrive<false>(s, mine.y, mine.x, (uint32_t)__popc(group));
    }
    __syncwarp();
    keep_waiting(s, mine.x, lane < count, group, a);
}

/* As insert_kernel. Soon most records are above the bounds of their voxels, and their slots where they are looked for
 * first: these have only to be counted. What is more to do for others would take a warp as long as for all 32, so few
 * of them wait until they are 32. */
__global__ static void __launch_bounds__(PC_INSERT_THREADS, PC_RESIDENT(PC_INSERT_THREADS, PC_INSERT_MANYS))
    insert_many_kernel(const pc_hashed s, const pc_cells c) {
    enum { WARPS = PC_INSERT_THREADS / 32, FEW = 8 };
    __shared__ waiting queues[WARPS][32 + FEW];
    const uint32_t step = gridDim.x * PC_INSERT_THREADS, below = (1u << threadIdx.x % 32) - 1;
    uint32_t i = blockIdx.x * PC_INSERT_THREADS + threadIdx.x;
    waiting *queue = queues[threadIdx.x / 32];
    int queued = 0;
    pc_launch_next();
    position at = next_position_of(s, i);
    for (; i - threadIdx.x % 32 < s.rows; i += step) {
        const position next = next_position_of(s, i + step);
        bool in_range = i < s.rows && in_cells(s, c, at);
        if (s.skip_origin) {
            const bool skipped = i < s.rows && pc_is_skipped(true, s.skip, at.p);
            add_lanes(&pc_sums_of(s)->at_origin, __ballot_sync(PC_ALL_LANES, skipped));
            in_range = in_range && !skipped;
        }
        if (__any_sync(PC_ALL_LANES, !in_range)) {
            const bool not_finite = i < s.rows && !pc_is_finite3(at.p[0], at.p[1], at.p[2]);
            add_lanes(&pc_sums_of(s)->non_finite, __ballot_sync(PC_ALL_LANES, not_finite));
        }
        const uint32_t key = in_range ? many_key(s, c, at) : PC_NO_KEY, group = __match_any_sync(PC_ALL_LANES, key),
                       home = home_of(key, s.mask);
        const bool leads = in_range && (group & below) == 0;
        uint4 seen = make_uint4(0, PC_NO_KEY, 0, PC_NO_ROW);
        if (leads) {
            seen = pc_note_load((const uint4 *)&s.slots[home]);
        }
        const bool drops = leads && seen.y == key && i > seen.w;
        if (drops) {
            atomicAdd(&s.late[home].x, (uint32_t)__popc(group));
        }
        const uint32_t dropped = __ballot_sync(PC_ALL_LANES, drops);
        const bool stays = in_range && !(group & dropped);
        const uint32_t left = __ballot_sync(PC_ALL_LANES, stays);
        if (__popc(left) > FEW) {
            arrival a = {PC_NO_SLOT, PC_NO_ROW, DROPPED, false};
            if (leads && !drops) {
                a = arrive<false>(s, key, i, (uint32_t)__popc(group));
            }
            __syncwarp();
            keep_record<false, true>(s, i, in_range, group, a);
        } else {
            if (threadIdx.x % 32 == 0) { /* those that wait set their bits later */
                s.marks[i / 32] = make_uint2(0, 0);
            }
            if (i < s.rows) {
                s.point_voxel[i] = -1;
            }
            if (stays) {
                queue[queued + __popc(left & below)] = make_uint2(i, key);
            }
            queued += __popc(left);
            __syncwarp();
            if (queued >= 32) {
                insert_waiting(s, queue, 32);
                queued -= 32;
                const waiting later = queue[32 + min((int)threadIdx.x % 32, (int)FEW - 1)];
                __syncwarp();
                if ((int)threadIdx.x % 32 < queued) {
                    queue[threadIdx.x % 32] = later;
                }
            }
        }
        at = next;
    }
    __syncwarp();
    if (queued > 0) {
        insert_waiting(s, queue, queued);
    }
}

#endif
