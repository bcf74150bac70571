/* Which records a voxel keeps, in order: the first half of fill, the last kernel of voxelize_hashed.cuh. */
#ifndef PC_VOXELIZE_SELECT_CUH
#define PC_VOXELIZE_SELECT_CUH

#include "voxelize_hashed.cuh"

enum {
    STRIPE = 2,          /* voxels that follow each other: crowded ones are neighbours, and better shared out */
    SMALL_ONES = 4,      /* voxels that a warp looks at together, if a lane has a record */
    AT_ONCE = 16,        /* late records that a lane looks at together, */
    FEW_AT_ONCE = 4,     /* or where there are few */
    CROWD = 32 * AT_ONCE /* late records of a voxel that the whole block looks at */
};

/* The block's share of the voxels, STRIPE of every STRIPE * blocks, or as much of it as it fills at once. Arrays in
 * shared memory. */
typedef struct chunk {
    uint32_t first, stride; /* numbers of the first voxel, and from stripe to stripe */
    int voxels;
    int16_t *kept;  /* of each voxel; -1 where it is not in the result */
    uint32_t *rows; /* the kept records, P a voxel */
    float *values;  /* their columns, 0 where there is none */
    float *means;   /* of x y z, 3 a voxel, where the features need them */
} chunk;

/* A voxel with more records than its slot holds. */
typedef struct large {
    int voxel, kept;
    uint32_t slot, late, late_first;
} large;

__device__ static uint32_t number_of(const chunk &c, int voxel) {
    return c.first + (uint32_t)(voxel / STRIPE) * c.stride + (uint32_t)(voxel % STRIPE);
}

/* value / divisor for value * divisor < 2^32, with factor = (2^32 - 1) / divisor + 1. */
__device__ static uint32_t divide(uint32_t value, uint32_t divisor, uint32_t factor) {
    return divisor == 1 ? value : __umulhi(value, factor);
}

__device__ static uint32_t factor_of(uint32_t divisor) {
    return 0xffffffffu / divisor + 1u;
}

/* ---- the kept records of a voxel -------------------------------------------------------------------------------- */

__device__ static void order(uint32_t *a, uint32_t *b) {
    const uint32_t low = min(*a, *b);
    *b = max(*a, *b);
    *a = low;
}

__device__ static void order_four(uint32_t row[PC_SLOT_ROWS]) {
    order(&row[0], &row[1]);
    order(&row[2], &row[3]);
    order(&row[0], &row[2]);
    order(&row[1], &row[3]);
    order(&row[1], &row[2]);
}

/* Sorts `count` different numbers, and puts the `keep` lowest to `sorted`; by a warp. The numbers up to a multiple of 4
 * are overwritten. */
__device__ static void sort_rows(uint32_t *numbers, int count, int keep, uint32_t *sorted) {
    enum { EACH = PC_MOST_KEPT / 32 };
    const int lane = (int)threadIdx.x % 32;
    uint32_t mine[EACH];
    int rank[EACH] = {0, 0};
    if (lane < 3) {
        numbers[count + lane] = PC_NO_ROW;
    }
    __syncwarp();
    for (int k = 0; k < EACH; k++) {
        mine[k] = lane + 32 * k < count ? numbers[lane + 32 * k] : PC_NO_ROW;
    }
    for (int i = 0; i < count; i += 4) {
        const uint4 other = *(const uint4 *)(numbers + i);
        for (int k = 0; k < EACH; k++) {
            rank[k] += (other.x < mine[k]) + (other.y < mine[k]) + (other.z < mine[k]) + (other.w < mine[k]);
        }
    }
    for (int k = 0; k < EACH; k++) {
        if (lane + 32 * k < count && rank[k] < keep) {
            sorted[rank[k]] = mine[k];
        }
    }
    __syncwarp();
}

/* Late records `first` and on, of `count`, EACH of which a lane looks at; returns the lowest. */
template <int EACH>
__device__ static uint32_t bring_late(const uint32_t *late, uint32_t first, uint32_t count, uint32_t *row) {
    uint32_t least = PC_NO_ROW;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const uint32_t i = first + 32 * (uint32_t)k + threadIdx.x % 32;
        row[k] = i < count ? late[i] : PC_NO_ROW;
        least = min(least, row[k]);
    }
    return least;
}

/* The p lowest of `count` late records and of the p `lowest` go there, in any order; by a warp. Late: where bring_late
 * finds them. */
template <int EACH, typename Late>
__device__ static void merge_late(const Late &late, uint32_t count, uint32_t *lowest, int p) {
    enum { KEPT = PC_MOST_KEPT / 32, ALL = KEPT + EACH };
    const int lane = (int)threadIdx.x % 32;
    uint32_t row[ALL], highest = 0;
#pragma unroll
    for (int k = 0; k < KEPT; k++) {
        highest = max(highest, lane + 32 * k < p ? lowest[lane + 32 * k] : 0);
    }
    highest = pc_warp_max(highest);
#pragma unroll 1
    for (uint32_t first = 0; first < count; first += 32 * EACH) {
        uint32_t least = bring_late<EACH>(late, first, count, row + KEPT);
        if (!__any_sync(PC_ALL_LANES, least < highest)) {
            continue;
        }
#pragma unroll
        for (int k = 0; k < KEPT; k++) {
            row[k] = lane + 32 * k < p ? lowest[lane + 32 * k] : PC_NO_ROW;
            least = min(least, row[k]);
        }
        least = ~pc_warp_max(~least);
        while (least < highest) { /* between them is the p-th, or as good: one that has p up to it */
            const uint32_t middle = least + (highest - least) / 2;
            uint32_t below = 0;
#pragma unroll
            for (int k = 0; k < ALL; k++) {
                below += row[k] <= middle;
            }
            below = pc_warp_add(below);
            highest = below >= (uint32_t)p ? middle : highest;
            if (below == (uint32_t)p) {
                break;
            }
            least = below > (uint32_t)p ? least : middle + 1;
        }
        __syncwarp(); /* `lowest` was read by other lanes */
        int place = 0;
#pragma unroll
        for (int k = 0; k < ALL; k++) {
            const uint32_t all = __ballot_sync(PC_ALL_LANES, row[k] <= highest);
            if (row[k] <= highest) {
                lowest[place + __popc(all & ((1u << lane) - 1))] = row[k];
            }
            place += __popc(all);
        }
        __syncwarp();
    }
}

/* The records that a voxel has kept as they came; cleans up beside the slot. */
__device__ static void fetch_rows(const pc_hashed &s, const chunk &c, const large &of, uint32_t *rows) {
    uint32_t *more = pc_more_of(s, of.slot);
    for (int k = (int)threadIdx.x % 32; k < of.kept; k += 32) {
        if (k < PC_SLOT_ROWS) {
            rows[k] = c.rows[of.voxel * s.kept + k];
        } else {
            rows[k] = more[k - PC_SLOT_ROWS];
            more[k - PC_SLOT_ROWS] = PC_NO_ROW;
        }
    }
    __syncwarp();
}

/* The kept records of a voxel, in order; a warp a voxel. MANY: late records that a lane looks at together. */
template <int MANY>
__device__ static void collect(const pc_hashed &s, const chunk &c, const large &of, uint32_t *rows) {
    fetch_rows(s, c, of, rows);
    if (c.kept[of.voxel] < 0) { /* it is only to be cleaned up */
        return;
    }
    if (of.late && of.kept + of.late <= PC_MOST_KEPT) {
        for (uint32_t k = threadIdx.x % 32; k < of.late; k += 32) {
            rows[of.kept + k] = s.late_rows[of.late_first + k];
        }
        __syncwarp();
        sort_rows(rows, of.kept + (int)of.late, of.kept, c.rows + of.voxel * s.kept);
        return;
    }
    if (of.late > 32 * FEW_AT_ONCE) {
        merge_late<MANY>(s.late_rows + of.late_first, of.late, rows, s.kept);
    } else if (of.late) {
        merge_late<FEW_AT_ONCE>(s.late_rows + of.late_first, of.late, rows, s.kept);
    }
    sort_rows(rows, of.kept, of.kept, c.rows + of.voxel * s.kept);
}

/* Adds to each rank how many of the first `most` rows of the same voxel are lower; `rows`: 32 a voxel. */
template <int VOXELS, typename Count>
__device__ static void count_lower(const uint32_t *rows, Count most, const uint32_t (&row)[VOXELS],
                                   int (&rank)[VOXELS]) {
    for (Count i = 0; i < most; i += 4) {
#pragma unroll
        for (int k = 0; k < VOXELS; k++) {
            const uint4 other = *(const uint4 *)(rows + 32 * k + i);
            rank[k] += (other.x < row[k]) + (other.y < row[k]) + (other.z < row[k]) + (other.w < row[k]);
        }
    }
}

/* The kept records of voxels `first` and on of a list, as many as SMALL_ONES, each with no more records than a warp has
 * lanes, late ones too; by a warp. `rows`: of SMALL_ONES x 32. As collect_smaller of finish. */
__device__ static void collect_together(const pc_hashed &s, const chunk &c, const large *list, int first, int count,
                                        uint32_t *rows) {
    const int lane = (int)threadIdx.x % 32, last = min(first + SMALL_ONES, count) - 1;
    uint32_t row[SMALL_ONES], most = 0;
    for (int i = first; i <= last; i++) {
        most = max(most, (uint32_t)list[i].kept + list[i].late);
    }
#pragma unroll
    for (int k = 0; k < SMALL_ONES; k++) { /* loads on their way together */
        const large of = list[min(first + k, last)];
        const int late = lane - of.kept;
        const uint32_t *beside = pc_more_of(s, of.slot) + (lane - PC_SLOT_ROWS),
                       *from = late < 0 ? beside : s.late_rows + of.late_first + late;
        row[k] = PC_NO_ROW;
        if (first + k <= last && (late < 0 ? lane >= PC_SLOT_ROWS : late < (int)of.late)) {
            row[k] = *from;
        }
    }
#pragma unroll
    for (int k = 0; k < SMALL_ONES; k++) {
        const large of = list[min(first + k, last)];
        if (first + k <= last && lane < min(of.kept, (int)PC_SLOT_ROWS)) {
            row[k] = c.rows[of.voxel * s.kept + lane];
        }
        if (first + k <= last && lane >= PC_SLOT_ROWS && lane < of.kept) { /* as the next call wants it */
            pc_more_of(s, of.slot)[lane - PC_SLOT_ROWS] = PC_NO_ROW;
        }
        rows[32 * k + lane] = row[k];
    }
    __syncwarp();
    int rank[SMALL_ONES] = {};
    count_lower(rows, most, row, rank);
#pragma unroll
    for (int k = 0; k < SMALL_ONES; k++) {
        const large of = list[min(first + k, last)];
        if (row[k] != PC_NO_ROW && rank[k] < of.kept) {
            c.rows[of.voxel * s.kept + rank[k]] = row[k];
        }
    }
    __syncwarp();
}

/* The same of a voxel with very many late ones, by the block: a warp a part of them. `rows`: P a warp. */
template <int WARPS, int MANY>
__device__ static void collect_crowded(const pc_hashed &s, const chunk &c, const large &of, uint32_t *rows) {
    const uint32_t warp = threadIdx.x / 32, p = (uint32_t)s.kept, *late = s.late_rows + of.late_first;
    uint32_t begin = (uint32_t)((uint64_t)of.late * warp / WARPS);
    const uint32_t end = (uint32_t)((uint64_t)of.late * (warp + 1) / WARPS);
    uint32_t *lowest = rows + warp * p;
    if (warp == 0) {
        fetch_rows(s, c, of, lowest);
    } else {
        for (uint32_t k = threadIdx.x % 32; k < p; k += 32) {
            lowest[k] = late[begin + k];
        }
        begin += p;
        __syncwarp();
    }
    merge_late<MANY>(late + begin, end - begin, lowest, s.kept);
    __syncthreads();
    if (warp == 0) {
        merge_late<MANY>(rows + p, (WARPS - 1) * p, rows, s.kept);
        sort_rows(rows, s.kept, s.kept, c.rows + of.voxel * s.kept);
    }
    __syncthreads();
}

__device__ static void read_voxel(const pc_hashed &s, uint32_t number, pc_numbered *to) {
    if (number < s.room) {
        *to = s.voxels[number];
    }
}

/* Takes what has been read of the chunk's voxels; a thread a voxel. Those with more records than a slot or a voxel
 * keeps are put into a list, crowded ones from its end. MANY: from the end also those that collect_together does not
 * take; and many are not in the result, and only cleaned up. */
template <bool MANY>
__device__ static void take_voxels(const pc_hashed &s, const chunk &c, uint32_t found, const pc_numbered &of,
                                   large *list, int count[2]) {
    const int v = (int)threadIdx.x, p = s.kept;
    const uint32_t number = number_of(c, v);
    if (v >= c.voxels || number >= found) {
        c.kept[v] = -1;
        return;
    }
    if (MANY && number >= s.most) {
        for (int k = PC_SLOT_ROWS; k < (int)of.kept; k++) {
            pc_more_of(s, of.slot)[k - PC_SLOT_ROWS] = PC_NO_ROW;
        }
        pc_clean_slot(s, of);
        c.kept[v] = -1;
        return;
    }
    uint32_t row[PC_SLOT_ROWS] = {of.row[0], of.row[1], of.row[2], of.row[3]}; /* those that are not there are ~0 */
    if (of.kept > PC_SLOT_ROWS || of.late) {
        const bool from_end = MANY ? of.kept + of.late > 32 : of.late >= CROWD && number < s.most;
        const int place = atomicAdd(&count[from_end], 1);
        list[from_end ? PC_FILL_THREADS - 1 - place : place] = large{v, (int)of.kept, of.slot, of.late, of.late_first};
    } else {
        order_four(row);
    }
    pc_clean_slot(s, of);
#pragma unroll
    for (int k = 0; k < PC_SLOT_ROWS; k++) {
        if (k < p) {
            c.rows[v * p + k] = row[k];
        }
    }
    c.kept[v] = -1;
    if (number < s.most) {
        c.kept[v] = (int16_t)of.kept;
        s.counts[number] = (int32_t)of.kept;
    }
}

#endif
