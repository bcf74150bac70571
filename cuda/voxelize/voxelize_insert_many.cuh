/* insert of voxelize_hashed.cuh for clouds of very many records. What it costs is traffic between the two halves of the
 * L2 cache, first of all: what few records need must not be asked for by all. */
#ifndef PC_VOXELIZE_INSERT_MANY_CUH
#define PC_VOXELIZE_INSERT_MANY_CUH

#include "voxelize_insert.cuh"

/* Blocks of SIDE x SIDE cells of a layer share a line of the notes, and their slots follow each other. */
enum { SIDE = 4, NEAR_IN_BLOCK = SIDE * SIDE };

/* The grid as insert_many wants it, and the notes. */
typedef struct pc_cells {
    float min[3];    /* -0 for 0, so that no difference is -0 */
    uint32_t far[3]; /* the greatest difference from min that has a cell, its bits */
    float size[3], inverse[3];
    uint32_t along[2]; /* blocks in x, y */
    uint32_t bias;
    int shift; /* of a product that tells the home of a block */
    /* slots: key << 32 | bound, or ~0: what most records need of a slot, and close together */
    unsigned long long *notes;
} pc_cells;

/* What insert_many leaves for others: the records that are late or may be the lowest of their voxels. A block of it
 * makes a list: beside `record` s.place says what it is and has its slot, s.rank that of a late one. Of those that
 * begin a voxel there is a bit each. */
typedef struct pc_lists {
    uint32_t *count, *begun, room; /* of a list, and of those of it that begin a voxel */
    uint32_t *record;
    uint32_t *begins; /* words of 32 records */
    uint32_t *before; /* words: voxels that begin before them */
} pc_lists;

/* ---- the grid, by the host -------------------------------------------------------------------------------------- */

/* The highest number in the range of an axis that has a cell: the cell's number never falls as the coordinate rises. */
static float highest_with_cell(const pc_grid *grid, int axis) {
    float highest = grid->min[axis];
    for (int64_t low = pc_in_order(pc_float_bits(grid->min[axis])), high = pc_in_order(pc_float_bits(grid->max[axis]));
         high - low > 1;) {
        const int64_t middle = low + (high - low) / 2;
        const float value = pc_bits_float(pc_in_order((int32_t)middle));
        const bool has = pc_axis_cell(grid, axis, value) >= 0;
        *(has ? &low : &high) = middle;
        highest = has ? value : highest;
    }
    return highest;
}

/* difference / size: the product with 1 / size, and to it what is left of the difference, divided in the same way
 * (Markstein 1990). */
static inline __host__ __device__ float many_quotient(float difference, float size, float inverse) {
    const float quotient = difference * inverse;
    return fmaf(fmaf(-size, quotient, difference), inverse, quotient);
}

/* Whether many_quotient is below a whole number where the quotient is. Both are within a unit in the last place of the
 * exact one, so only differences next to a multiple of the size can be on two sides of it, and these are tried. */
static bool divides(const pc_grid *grid, int axis) {
    enum { NEXT = 4, MOST_CELLS = 1 << 16 };
    const float size = grid->size[axis], inverse = 1.0f / size;
    if (!(size > 0x1p-30f && size < 0x1p30f && grid->cells[axis] <= MOST_CELLS)) {
        return false;
    }
    for (float cell = 1.0f; cell <= grid->cells[axis]; cell++) {
        const int32_t edge = pc_float_bits(cell * size);
        for (int32_t bits = edge - NEXT; bits <= edge + NEXT; bits++) {
            const float difference = pc_bits_float(bits);
            if ((many_quotient(difference, size, inverse) < cell) != (difference / size < cell)) {
                return false;
            }
        }
    }
    return true;
}

/* false: the cells of this grid cannot be found so, in a table of that many slots. */
static bool cells_of(const pc_grid *grid, uint64_t slots, pc_cells *c) {
    const uint32_t whole = (uint32_t)pc_float_bits(PC_ROUNDER);
    double blocks = grid->cells[2];
    for (int k = 0; k < 3; k++) {
        const float most = highest_with_cell(grid, k), far = most - grid->min[k];
        if (!divides(grid, k) || !(nextafterf(most, INFINITY) - grid->min[k] > far)) {
            return false;
        }
        c->min[k] = grid->min[k] == 0.0f ? -0.0f : grid->min[k];
        c->far[k] = (uint32_t)pc_float_bits(far);
        c->size[k] = grid->size[k];
        c->inverse[k] = 1.0f / grid->size[k];
    }
    for (int k = 0; k < 2; k++) {
        c->along[k] = ((uint32_t)grid->cells[k] + SIDE - 1) / SIDE;
        blocks *= c->along[k];
    }
    c->bias = (whole * c->along[1] + whole / SIDE) * c->along[0] + whole / SIDE;
    c->shift = 32;
    for (uint64_t rest = slots; rest > 1; rest /= 2) {
        c->shift--;
    }
    return blocks * NEAR_IN_BLOCK < (double)PC_NO_KEY && slots > NEAR_IN_BLOCK;
}

/* ---- cells ------------------------------------------------------------------------------------------------------ */

/* The key of a point's cell, which is not the one that point_key gives, or PC_NO_KEY. */
__device__ static uint32_t many_key(const pc_cells &c, bool there, const position &at) {
    uint32_t cell[3]; /* plus what PC_ROUNDER is as an integer */
    bool inside = there;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const float difference = at.p[k] - c.min[k];
        inside = inside && __float_as_uint(difference) <= c.far[k]; /* of no number below 0, and not of NaN */
        cell[k] = __float_as_uint(__fadd_rd(many_quotient(difference, c.size[k], c.inverse[k]), PC_ROUNDER));
    }
    const uint32_t block = (cell[2] * c.along[1] + cell[1] / SIDE) * c.along[0] + cell[0] / SIDE - c.bias;
    return inside ? block * NEAR_IN_BLOCK + cell[1] % SIDE * SIDE + cell[0] % SIDE : PC_NO_KEY;
}

__device__ static uint32_t many_home(const pc_cells &c, uint32_t key) {
    const uint32_t place = key / NEAR_IN_BLOCK * 0x9e3779b1u >> c.shift;
    return place / NEAR_IN_BLOCK * NEAR_IN_BLOCK + key % NEAR_IN_BLOCK;
}

/* ---- records that do more than be counted ----------------------------------------------------------------------- */

/* Such a record: which, and the key of its cell. */
typedef uint2 waiting;

/* When the P first records that came are all written, the highest of them bounds the P lowest; a lane a slot. */
__device__ static void note_bound(const pc_hashed &s, const pc_cells &c, uint32_t slot, uint32_t key) {
    const uint32_t *more = pc_more_of(s, slot);
    uint32_t highest = 0;
#pragma unroll 4
    for (int k = 0; k < s.kept; k++) {
        highest = max(highest, __ldcg(k < PC_SLOT_ROWS ? &s.slots[slot].row[k] : &more[k - PC_SLOT_ROWS]));
    }
    if (highest != PC_NO_ROW) {
        atomicMin(&s.slots[slot].bound, highest);
        atomicMin(&c.notes[slot], (unsigned long long)key << 32 | highest);
    }
}

/* Places after the `taken` of a list of the block, in shared memory, one for each of `those` lanes; by a warp. */
__device__ static uint32_t take_places(uint32_t those, uint32_t *taken) {
    const uint32_t lane = threadIdx.x % 32;
    uint32_t at = 0;
    if (lane == 0 && those) {
        at = atomicAdd(taken, (uint32_t)__popc(those));
    }
    return __shfl_sync(PC_ALL_LANES, at, 0) + (uint32_t)__popc(those & ((1u << lane) - 1));
}

/* Puts those that are marked so into the list of the block; by a warp. `listed`: how many there are. */
__device__ static void list_records(const pc_hashed &s, const pc_lists &l, uint32_t i, uint32_t place,
                                    uint32_t late_rank, uint32_t *listed) {
    const uint32_t those = __ballot_sync(PC_ALL_LANES, place & (PC_LATE | PC_MAYBE));
    if (those == 0) {
        return;
    }
    const uint32_t at = blockIdx.x * l.room + take_places(those, listed);
    if (place & (PC_LATE | PC_MAYBE)) {
        l.record[at] = i;
        s.place[at] = place;
        s.rank[at] = late_rank;
    }
}

/* Inserts a record a lane; lanes with the same key are a group. A bound is noted by those who bring the records to P,
 * or if not all have been written then, by others that follow. */
__device__ static void insert_few(const pc_hashed &s, const pc_cells &c, const pc_lists &l, bool there,
                                  const waiting &mine, uint32_t *listed) {
    enum { AGAIN = 8 };
    const uint32_t i = mine.x, key = there ? mine.y : PC_NO_KEY, group = __match_any_sync(PC_ALL_LANES, key),
                   p = (uint32_t)s.kept, count = (uint32_t)__popc(group);
    const int lane = (int)threadIdx.x % 32, leader = __ffs((int)group) - 1;
    arrival a = {PC_NO_SLOT, PC_NO_ROW, DROPPED, false};
    if (there && lane == leader) {
        a = arrive<false, NEAR_IN_BLOCK>(s, key, many_home(c, key), i, count);
    }
    __syncwarp();
    const uint32_t slot = __shfl_sync(PC_ALL_LANES, a.slot, leader),
                   rank = __shfl_sync(PC_ALL_LANES, a.rank, leader) + (uint32_t)__popc(group & ((1u << lane) - 1));
    const bool late = there && rank >= p && rank < DROPPED;
    keep_row(s, i, there, slot, rank);
    list_records(s, l, i, slot | (late ? PC_LATE : 0) | (a.may_begin ? PC_MAYBE : 0), rank - p, listed);
    __syncwarp();
    if (a.rank < DROPPED && a.bound == PC_NO_ROW && a.rank + count >= p &&
        (a.rank < p || (a.rank - p) / AGAIN != (a.rank - p + count) / AGAIN)) {
        note_bound(s, c, slot, key);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

template <bool ALIGNED> __device__ static position many_position(const pc_hashed &s, uint32_t i) {
    const float *record = s.data + (ALIGNED ? 4 : (size_t)s.columns) * (size_t)min(i, s.rows - 1);
    if (ALIGNED) {
        const float2 first = *(const float2 *)record;
        return position{{first.x, first.y, record[2]}};
    }
    return position{{record[0], record[1], record[2]}};
}

/* The key of record i's cell, or PC_NO_KEY; by a warp. */
__device__ static uint32_t count_out(const pc_hashed &s, bool there, const position &at, uint32_t key) {
    if (s.skip_origin) {
        const bool skipped = there && pc_is_skipped(true, s.skip, at.p);
        add_lanes(&pc_sums_of(s)->at_origin, __ballot_sync(PC_ALL_LANES, skipped));
        key = skipped ? PC_NO_KEY : key;
    }
    if (__any_sync(PC_ALL_LANES, key == PC_NO_KEY)) {
        const bool not_finite = there && !pc_is_finite3(at.p[0], at.p[1], at.p[2]);
        add_lanes(&pc_sums_of(s)->non_finite, __ballot_sync(PC_ALL_LANES, not_finite));
    }
    return key;
}

/* As insert_kernel, of a cloud with a limit of points. Soon most records are above the bounds of their voxels: the
 * notes tell so where their cells are at home, and these have only to be counted. What is more to do for others would
 * take a warp as long as for all 32, so few of them wait until they are 32. */
template <bool ALIGNED>
__global__ static void __launch_bounds__(PC_INSERT_THREADS, PC_RESIDENT(PC_INSERT_THREADS, PC_INSERT_MANYS))
    insert_many_kernel(const pc_hashed s, const pc_cells c, const pc_lists l) {
    enum { WARPS = PC_INSERT_THREADS / 32, FEW = 8 };
    __shared__ waiting queues[WARPS][32 + FEW];
    __shared__ uint32_t listed;
    const uint32_t step = gridDim.x * PC_INSERT_THREADS, lane = threadIdx.x % 32, below = (1u << lane) - 1;
    waiting *queue = queues[threadIdx.x / 32];
    int queued = 0;
    pc_launch_next();
    if (threadIdx.x == 0) {
        listed = 0;
    }
    __syncthreads();
    uint32_t base = blockIdx.x * PC_INSERT_THREADS;
    position at = many_position<ALIGNED>(s, base + threadIdx.x);
    for (; base < s.rows; base += step) {
        const uint32_t i = base + threadIdx.x;
        const bool there = i < s.rows;
        const uint32_t key = count_out(s, there, at, many_key(c, there, at)), home = many_home(c, key);
        const unsigned long long note = pc_word_load(&c.notes[home]);
        at = many_position<ALIGNED>(s, i + step);
        const bool inside = key != PC_NO_KEY, drops = inside && (uint32_t)(note >> 32) == key && i > (uint32_t)note,
                   stays = inside && !drops;
        const uint32_t left = __ballot_sync(PC_ALL_LANES, stays), group = __match_any_sync(PC_ALL_LANES, key),
                       dropped = __ballot_sync(PC_ALL_LANES, drops) & group;
        if (drops && (dropped & below) == 0) {
            atomicAdd(&s.late[home].x, (uint32_t)__popc(dropped));
        }
        if (there) {
            s.point_voxel[i] = -1;
        }
        if (__popc(left) > FEW) {
            insert_few(s, c, l, stays, make_uint2(i, key), &listed);
        } else if (left) {
            if (stays) {
                queue[queued + __popc(left & below)] = make_uint2(i, key);
            }
            queued += __popc(left);
            __syncwarp();
            if (queued >= 32) {
                insert_few(s, c, l, true, queue[lane], &listed);
                queued -= 32;
                const waiting later = queue[32 + min(lane, (uint32_t)FEW - 1)];
                __syncwarp();
                if ((int)lane < queued) {
                    queue[lane] = later;
                }
                __syncwarp();
            }
        }
    }
    __syncwarp();
    if (queued > 0) {
        insert_few(s, c, l, (int)lane < queued, queue[min((int)lane, queued - 1)], &listed);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        l.count[blockIdx.x] = listed;
    }
}

#endif
