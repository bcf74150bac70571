/* Insertion, scan and gather for very large clouds with max_points. Their cost is traffic between the two partitions of
 * the L2 cache. Soon most records are above the cutoffs of their voxels and only have to be counted. For that one word
 * is read, key and cutoff, from a separate array that stays in the cache. Other records wait in a queue until a warp
 * has 32 of them. The scan uses lists of these, since heads are too unevenly distributed for a fixed number of words
 * per warp. */
#ifndef PC_VOXELIZE_LARGE_CUH
#define PC_VOXELIZE_LARGE_CUH

#include "voxelize_insert.cuh"
#include "voxelize_scan.cuh"

/* SIDE x SIDE cells of a layer are a block: their slots are adjacent, and their cutoffs share a cache line. */
enum { SIDE = 4, BLOCK_CELLS = SIDE * SIDE };

/* ---- the grid, on the host -------------------------------------------------------------------------------------- */

/* The highest coordinate that is in a cell. The cell's index never falls as the coordinate rises, so bisection finds
 * it. */
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

/* difference / size in three operations: the product with 1 / size, and a correction by the remainder (Markstein 1990).
 */
static inline __host__ __device__ float large_quotient(float difference, float size, float inverse) {
    const float quotient = difference * inverse;
    return fmaf(fmaf(-size, quotient, difference), inverse, quotient);
}

/* Whether large_quotient is in the same cell as the quotient, always. Both are within a unit in the last place of the
 * exact value, so only differences next to a multiple of the size can be in different cells, and these are tried. */
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
            if ((large_quotient(difference, size, inverse) < cell) != (difference / size < cell)) {
                return false;
            }
        }
    }
    return true;
}

/* Returns false if the short computation of keys does not fit this grid, or a table of that many slots. */
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
    return blocks * BLOCK_CELLS < (double)PC_NO_KEY && slots > BLOCK_CELLS;
}

/* ---- cells ------------------------------------------------------------------------------------------------------ */

/* The key of a point's cell, or PC_NO_KEY. It numbers the cells by blocks, unlike point_key. */
__device__ static uint32_t large_key(const pc_cells &c, bool there, const position &at) {
    uint32_t cell[3]; /* plus PC_ROUNDER's bits */
    bool inside = there;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const float difference = at.p[k] - c.min[k];
        inside = inside && __float_as_uint(difference) <= c.far[k]; /* false below 0 and for NaN */
        cell[k] = __float_as_uint(__fadd_rd(large_quotient(difference, c.size[k], c.inverse[k]), PC_ROUNDER));
    }
    const uint32_t block = (cell[2] * c.along[1] + cell[1] / SIDE) * c.along[0] + cell[0] / SIDE - c.bias;
    return inside ? block * BLOCK_CELLS + cell[1] % SIDE * SIDE + cell[0] % SIDE : PC_NO_KEY;
}

__device__ static uint32_t large_home(const pc_cells &c, uint32_t key) {
    const uint32_t slot = key / BLOCK_CELLS * 0x9e3779b1u >> c.shift;
    return slot / BLOCK_CELLS * BLOCK_CELLS + key % BLOCK_CELLS;
}

/* ---- records that are not only counted -------------------------------------------------------------------------- */

/* Such a record: its index and key. */
typedef uint2 pending;

/* Publishes the highest of the first P records, if all are written, as the cutoff; by one lane. */
__device__ static void publish_cutoff(const pc_voxelize_params &s, const pc_cells &c, uint32_t slot, uint32_t key) {
    const uint32_t *extra = pc_extra_of(s, slot);
    uint32_t highest = 0;
#pragma unroll 4
    for (int k = 0; k < s.kept; k++) {
        highest = max(highest, __ldcg(k < PC_SLOT_RECORDS ? &s.slots[slot].row[k] : &extra[k - PC_SLOT_RECORDS]));
    }
    if (highest != PC_NO_RECORD) {
        atomicMin(&s.slots[slot].cutoff, highest);
        atomicMin(&c.cutoffs[slot], (unsigned long long)key << 32 | highest);
    }
}

/* Reserves an entry of a list for each of `those` lanes, after the `taken` ones; all lanes of the warp call it. */
__device__ static uint32_t reserve_entries(uint32_t those, uint32_t *taken) {
    const uint32_t lane = threadIdx.x % 32;
    uint32_t at = 0;
    if (lane == 0 && those) {
        at = atomicAdd(taken, (uint32_t)__popc(those));
    }
    return __shfl_sync(PC_ALL_LANES, at, 0) + (uint32_t)__popc(those & ((1u << lane) - 1));
}

/* Appends the flagged records to the list of the block; all lanes of the warp call it. */
__device__ static void list_records(const pc_voxelize_params &s, const pc_lists &l, uint32_t i, uint32_t tag,
                                    uint32_t overflow_rank, uint32_t *listed) {
    const uint32_t those = __ballot_sync(PC_ALL_LANES, tag & (PC_OVERFLOW | PC_MAYBE_FIRST));
    if (those == 0) {
        return;
    }
    const uint32_t at = blockIdx.x * l.capacity + reserve_entries(those, listed);
    if (tag & (PC_OVERFLOW | PC_MAYBE_FIRST)) {
        l.record[at] = i;
        s.tag[at] = tag;
        s.rank[at] = overflow_rank;
    }
}

/* Inserts a record per lane. The cutoff is published by the group that completes the first P records or, if these are
 * not all written then, by one of the groups that follow. */
__device__ static void insert_pending(const pc_voxelize_params &s, const pc_cells &c, const pc_lists &l, bool there,
                                      const pending &mine, uint32_t *listed) {
    enum { AGAIN = 8 };
    const uint32_t i = mine.x, key = there ? mine.y : PC_NO_KEY, group = __match_any_sync(PC_ALL_LANES, key),
                   p = (uint32_t)s.kept, count = (uint32_t)__popc(group);
    const int lane = (int)threadIdx.x % 32, leader = __ffs((int)group) - 1;
    insertion a = {PC_NO_SLOT, PC_NO_RECORD, DROPPED, false};
    if (there && lane == leader) {
        a = insert_group<false, BLOCK_CELLS>(s, key, large_home(c, key), i, count);
    }
    __syncwarp();
    const uint32_t slot = __shfl_sync(PC_ALL_LANES, a.slot, leader),
                   rank = __shfl_sync(PC_ALL_LANES, a.rank, leader) + (uint32_t)__popc(group & ((1u << lane) - 1));
    const bool overflow = there && rank >= p && rank < DROPPED;
    store_kept(s, i, there, slot, rank);
    list_records(s, l, i, slot | (overflow ? PC_OVERFLOW : 0) | (a.maybe_first ? PC_MAYBE_FIRST : 0), rank - p, listed);
    __syncwarp();
    if (a.rank < DROPPED && a.cutoff == PC_NO_RECORD && a.rank + count >= p &&
        (a.rank < p || (a.rank - p) / AGAIN != (a.rank - p + count) / AGAIN)) {
        publish_cutoff(s, c, slot, key);
    }
}

/* ---- insert ----------------------------------------------------------------------------------------------------- */

template <bool ALIGNED> __device__ static position large_position(const pc_voxelize_params &s, uint32_t i) {
    const float *record = s.data + (ALIGNED ? 4 : (size_t)s.columns) * (size_t)min(i, s.rows - 1);
    if (ALIGNED) {
        const float2 first = *(const float2 *)record;
        return position{{first.x, first.y, record[2]}};
    }
    return position{{record[0], record[1], record[2]}};
}

/* Counts records that are not finite or at a skipped origin; returns the key, or PC_NO_KEY for the latter. All lanes
 * call it. */
__device__ static uint32_t count_dropped(const pc_voxelize_params &s, bool there, const position &at, uint32_t key) {
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

/* As insert_kernel. A record is only counted if its cell is in its home slot and the cutoff there is below it. The rest
 * of the work takes a warp as long for one record as for 32, so up to FEW of them are queued. */
template <bool ALIGNED>
__global__ static void __launch_bounds__(PC_INSERT_THREADS, PC_RESIDENT(PC_INSERT_THREADS, PC_INSERT_LARGE_BLOCKS))
    insert_large_kernel(const pc_voxelize_params s, const pc_cells c, const pc_lists l) {
    enum { WARPS = PC_INSERT_THREADS / 32, FEW = 8 };
    __shared__ pending queues[WARPS][32 + FEW];
    __shared__ uint32_t listed;
    const uint32_t step = gridDim.x * PC_INSERT_THREADS, lane = threadIdx.x % 32, below = (1u << lane) - 1;
    pending *queue = queues[threadIdx.x / 32];
    int queued = 0;
    pc_launch_next();
    if (threadIdx.x == 0) {
        listed = 0;
    }
    __syncthreads();
    uint32_t base = blockIdx.x * PC_INSERT_THREADS;
    position at = large_position<ALIGNED>(s, base + threadIdx.x);
    for (; base < s.rows; base += step) {
        const uint32_t i = base + threadIdx.x;
        const bool there = i < s.rows;
        const uint32_t key = count_dropped(s, there, at, large_key(c, there, at)), home = large_home(c, key);
        const unsigned long long cutoff = pc_word_load(&c.cutoffs[home]);
        at = large_position<ALIGNED>(s, i + step);
        const bool inside = key != PC_NO_KEY, drops = inside && (uint32_t)(cutoff >> 32) == key && i > (uint32_t)cutoff,
                   stays = inside && !drops;
        const uint32_t left = __ballot_sync(PC_ALL_LANES, stays), group = __match_any_sync(PC_ALL_LANES, key),
                       dropped = __ballot_sync(PC_ALL_LANES, drops) & group;
        if (drops && (dropped & below) == 0) {
            atomicAdd(&s.overflow[home].x, (uint32_t)__popc(dropped));
        }
        if (there) {
            s.point_voxel[i] = -1;
        }
        if (__popc(left) > FEW) {
            insert_pending(s, c, l, stays, make_uint2(i, key), &listed);
        } else if (left) {
            if (stays) {
                queue[queued + __popc(left & below)] = make_uint2(i, key);
            }
            queued += __popc(left);
            __syncwarp();
            if (queued >= 32) {
                insert_pending(s, c, l, true, queue[lane], &listed);
                queued -= 32;
                const pending later = queue[32 + min(lane, (uint32_t)FEW - 1)];
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
        insert_pending(s, c, l, (int)lane < queued, queue[min((int)lane, queued - 1)], &listed);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        l.count[blockIdx.x] = listed;
    }
}

/* ---- scan and gather: a block per list -------------------------------------------------------------------------- */

enum {
    LIST_THREADS = 1024,
    HEAD_WORDS = 16, /* of pc_lists.heads, per thread */
    TILE_WORDS = HEAD_WORDS * PC_SCAN_THREADS
};

/* Sets the bits of segment heads, and lists where these are in the block's list: overflow_rows is free until gather. */
__global__ static void __launch_bounds__(LIST_THREADS) flag_heads_kernel(const pc_voxelize_params s, const pc_lists l) {
    __shared__ uint32_t heads_listed;
    if (threadIdx.x == 0) {
        heads_listed = 0;
    }
    __syncthreads();
    pc_launch_next();
    pc_wait_for_last();
    const uint32_t first = blockIdx.x * l.capacity, end = first + l.count[blockIdx.x];
    for (uint32_t base = first; base < end; base += LIST_THREADS) {
        const uint32_t at = base + threadIdx.x, tag = at < end ? s.tag[at] : 0;
        bool is_head = false;
        if (tag & PC_MAYBE_FIRST) {
            const uint32_t record = l.record[at];
            is_head = s.slots[PC_SLOT_OF(tag)].first == record;
            if (is_head) {
                atomicOr(&l.heads[record / 32], 1u << record % 32);
            }
        }
        const uint32_t to = first + reserve_entries(__ballot_sync(PC_ALL_LANES, is_head), &heads_listed);
        if (is_head) {
            s.overflow_rows[to] = at;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        l.heads_listed[blockIdx.x] = heads_listed;
    }
}

/* Counts the segment heads before each word. */
__global__ static void __launch_bounds__(PC_SCAN_THREADS)
    scan_heads_kernel(const pc_voxelize_params s, const pc_lists l) {
    enum { FOUR = 4, TIMES = HEAD_WORDS / FOUR };
    const uint32_t first = (blockIdx.x * PC_SCAN_THREADS + threadIdx.x) * HEAD_WORDS;
    uint4 words[TIMES];
    uint32_t count = 0;
    pc_launch_next();
    pc_wait_for_last();
#pragma unroll
    for (int k = 0; k < TIMES; k++) {
        words[k] = ((const uint4 *)(l.heads + first))[k];
        words[k] = make_uint4(__popc(words[k].x), __popc(words[k].y), __popc(words[k].z), __popc(words[k].w));
        count += words[k].x + words[k].y + words[k].z + words[k].w;
    }
    uint32_t before = voxels_in(tile_prefix(s, count * VOXEL));
#pragma unroll
    for (int k = 0; k < TIMES; k++) {
        const uint4 upto = {before, before + words[k].x, before + words[k].x + words[k].y,
                            before + words[k].x + words[k].y + words[k].z};
        ((uint4 *)(l.before + first))[k] = upto;
        before = upto.w + words[k].w;
    }
}

/* Writes the voxels. The order of their overflow ranges does not matter, so each block reserves them in one addition.
 */
__global__ static void __launch_bounds__(LIST_THREADS)
    assign_listed_kernel(const pc_voxelize_params s, const pc_cells c, const pc_lists l) {
    __shared__ uint32_t taken;
    block_sums sums = {0, 0, 0, 0};
    pc_launch_next();
    pc_wait_for_last();
    const uint32_t first = blockIdx.x * l.capacity, end = first + l.heads_listed[blockIdx.x];
    for (uint32_t base = first; base < end; base += LIST_THREADS) {
        const bool there = base + threadIdx.x < end;
        const uint32_t at = there ? s.overflow_rows[base + threadIdx.x] : 0, slot = there ? PC_SLOT_OF(s.tag[at]) : 0;
        slot_state b = {};
        uint32_t id = 0, overflow = 0, all;
        if (there) {
            const uint32_t record = l.record[at], word = l.heads[record / 32];
            b = load_slot(s, slot);
            id = l.before[record / 32] + (uint32_t)__popc(word & ((1u << record % 32) - 1));
            overflow = overflow_of(s, b.head);
        }
        const uint32_t before = block_scan<LIST_THREADS>(overflow, &all);
        if (threadIdx.x == 0 && all > 0) {
            taken = atomicAdd(&s.counters->overflow, all);
        }
        __syncthreads();
        if (there) {
            store_voxel(s, b, slot, id, overflow > 0 ? taken + before : 0, &sums);
            /* Cleared here, since emit clears this pair only if there are overflow records. */
            if (b.head.w != PC_NO_RECORD) {
                c.cutoffs[slot] = ~0ull;
                s.overflow[slot].x = 0;
            }
        }
    }
    add_block_sums<LIST_THREADS>(pc_sums_of(s), sums);
}

/* Copies overflow records to the ranges of their voxels. */
__global__ static void __launch_bounds__(LIST_THREADS)
    gather_listed_kernel(const pc_voxelize_params s, const pc_lists l) {
    pc_launch_next();
    pc_wait_for_last();
    const uint32_t first = blockIdx.x * l.capacity, end = first + l.count[blockIdx.x];
#pragma unroll 4
    for (uint32_t at = first + threadIdx.x; at < end; at += LIST_THREADS) {
        const uint32_t tag = s.tag[at];
        const uint32_t to = tag & PC_OVERFLOW ? s.overflow[PC_SLOT_OF(tag)].y : NOT_IN_RESULT;
        if (to != NOT_IN_RESULT) {
            s.overflow_rows[to - 1 + s.rank[at]] = l.record[at];
        }
    }
}

#endif
