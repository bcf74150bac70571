/* Which records a voxel keeps: the P lowest, in order. Shared by the kernels that emit features. */
#ifndef PC_VOXELIZE_SELECT_CUH
#define PC_VOXELIZE_SELECT_CUH

#include "voxelize_hash.cuh"

enum {
    STRIPE = 2, /* consecutive voxels per block: overfull voxels are often neighbours, and several blocks share them */
    OVERFLOW_BATCH = 16,                 /* overflow records that a lane loads together */
    SMALL_OVERFLOW_BATCH = 4,            /* the same for few */
    BLOCK_OVERFLOW = 32 * OVERFLOW_BATCH /* overflow records of a voxel for which the whole block is used */
};

/* The voxels that a block emits together: STRIPE consecutive ones of every `stride`. Arrays are in shared memory. */
typedef struct chunk {
    uint32_t first, stride; /* ids: of the first voxel; between stripes */
    int voxels;
    int16_t *kept;  /* per voxel; -1 if it is not in the result */
    uint32_t *rows; /* kept records, P per voxel */
    float *values;  /* their columns, then zeros */
    float *means;   /* of x y z, 3 per voxel, if the features need them */
} chunk;

/* A voxel with more records than a slot has. */
typedef struct large_voxel {
    int voxel, kept;
    uint32_t slot, overflow, overflow_begin;
} large_voxel;

__device__ static uint32_t id_of(const chunk &c, int voxel) {
    return c.first + (uint32_t)(voxel / STRIPE) * c.stride + (uint32_t)(voxel % STRIPE);
}

/* value / divisor if value * divisor < 2^32; factor: factor_of(divisor). */
__device__ static uint32_t divide(uint32_t value, uint32_t divisor, uint32_t factor) {
    return divisor == 1 ? value : __umulhi(value, factor);
}

__device__ static uint32_t factor_of(uint32_t divisor) {
    return 0xffffffffu / divisor + 1u;
}

/* ---- the lowest records ----------------------------------------------------------------------------------------- */

__device__ static void order(uint32_t *a, uint32_t *b) {
    const uint32_t low = min(*a, *b);
    *b = max(*a, *b);
    *a = low;
}

__device__ static void order_four(uint32_t row[PC_SLOT_RECORDS]) {
    order(&row[0], &row[1]);
    order(&row[2], &row[3]);
    order(&row[0], &row[2]);
    order(&row[1], &row[3]);
    order(&row[1], &row[2]);
}

/* Writes the `keep` lowest of `count` different values to `sorted`, in order; by a warp. Overwrites `values` up to a
 * multiple of 4. */
__device__ static void sort_rows(uint32_t *values, int count, int keep, uint32_t *sorted) {
    enum { EACH = PC_MAX_POINTS / 32 };
    const int lane = (int)threadIdx.x % 32;
    uint32_t mine[EACH];
    int rank[EACH] = {0, 0};
    if (lane < 3) {
        values[count + lane] = PC_NO_RECORD;
    }
    __syncwarp();
    for (int k = 0; k < EACH; k++) {
        mine[k] = lane + 32 * k < count ? values[lane + 32 * k] : PC_NO_RECORD;
    }
    for (int i = 0; i < count; i += 4) {
        const uint4 other = *(const uint4 *)(values + i);
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

/* Loads EACH overflow records per lane, from the first-th of `count` on; returns the lowest of the lane. */
template <int EACH>
__device__ static uint32_t load_overflow(const uint32_t *overflow, uint32_t first, uint32_t count, uint32_t *row) {
    uint32_t least = PC_NO_RECORD;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const uint32_t i = first + 32 * (uint32_t)k + threadIdx.x % 32;
        row[k] = i < count ? overflow[i] : PC_NO_RECORD;
        least = min(least, row[k]);
    }
    return least;
}

/* Leaves the p lowest of `lowest` and of `count` overflow records in `lowest`, in any order; by a warp. The p-th lowest
 * is found by bisection. Overflow: the type of the source, which has an overload of load_overflow. */
template <int EACH, typename Overflow>
__device__ static void merge_overflow(const Overflow &overflow, uint32_t count, uint32_t *lowest, int p) {
    enum { KEPT = PC_MAX_POINTS / 32, ALL = KEPT + EACH };
    const int lane = (int)threadIdx.x % 32;
    uint32_t row[ALL], highest = 0;
#pragma unroll
    for (int k = 0; k < KEPT; k++) {
        highest = max(highest, lane + 32 * k < p ? lowest[lane + 32 * k] : 0);
    }
    highest = pc_warp_max(highest);
#pragma unroll 1
    for (uint32_t first = 0; first < count; first += 32 * EACH) {
        uint32_t least = load_overflow<EACH>(overflow, first, count, row + KEPT);
        if (!__any_sync(PC_ALL_LANES, least < highest)) {
            continue;
        }
#pragma unroll
        for (int k = 0; k < KEPT; k++) {
            row[k] = lane + 32 * k < p ? lowest[lane + 32 * k] : PC_NO_RECORD;
            least = min(least, row[k]);
        }
        least = ~pc_warp_max(~least);
        while (least < highest) { /* the p-th lowest is in [least, highest]; a value with p records up to it will do */
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
        __syncwarp(); /* other lanes have read `lowest` */
        int offset = 0;
#pragma unroll
        for (int k = 0; k < ALL; k++) {
            const uint32_t all = __ballot_sync(PC_ALL_LANES, row[k] <= highest);
            if (row[k] <= highest) {
                lowest[offset + __popc(all & ((1u << lane) - 1))] = row[k];
            }
            offset += __popc(all);
        }
        __syncwarp();
    }
}

/* Copies all of `count` overflow records; by a warp. */
template <int EACH> __device__ static void copy_overflow(const uint32_t *overflow, uint32_t count, uint32_t *to) {
    for (uint32_t k = threadIdx.x % 32; k < count; k += 32) {
        to[k] = overflow[k];
    }
}

/* The lowest of `kept` records in `rows` and of `count` overflow records, in order; by a warp. BATCH, FEW: overflow
 * records that a lane loads together, and if they are few. */
template <int BATCH, int FEW, typename Overflow>
__device__ static void select_by_warp(const Overflow &overflow, uint32_t count, int kept, uint32_t *rows,
                                      uint32_t *sorted) {
    if (count && (uint32_t)kept + count <= PC_MAX_POINTS) {
        copy_overflow<BATCH>(overflow, count, rows + kept);
        __syncwarp();
        sort_rows(rows, kept + (int)count, kept, sorted);
        return;
    }
    if (count > 32 * FEW) {
        merge_overflow<BATCH>(overflow, count, rows, kept);
    } else if (count) {
        merge_overflow<FEW>(overflow, count, rows, kept);
    }
    sort_rows(rows, kept, kept, sorted);
}

/* Sets the p records of `lowest` before others are merged into it, and returns how many overflow records they are: the
 * first ones, since records arrive nearly in order and most later ones are then skipped; by a warp. */
__device__ static uint32_t begin_lowest(const uint32_t *overflow, uint32_t p, uint32_t *lowest) {
    for (uint32_t k = threadIdx.x % 32; k < p; k += 32) {
        lowest[k] = overflow[k];
    }
    return p;
}

/* Overflow records that are read only in batches: values above all records. */
template <typename Overflow> __device__ static uint32_t begin_lowest(const Overflow &, uint32_t p, uint32_t *lowest) {
    for (uint32_t k = threadIdx.x % 32; k < p; k += 32) {
        lowest[k] = PC_NO_RECORD - 1 - k;
    }
    return 0;
}

/* The same for many overflow records, at least p per warp, by the block: each warp finds the p lowest of a part. rows:
 * p per warp; those of warp 0 are the kept records, which it has loaded. Only warp 0 may read `sorted` without a
 * barrier. */
template <int WARPS, int BATCH, typename Overflow>
__device__ static void select_by_block(const Overflow &overflow, uint32_t count, int p, uint32_t *rows,
                                       uint32_t *sorted) {
    const uint32_t warp = threadIdx.x / 32, batches = (count + BATCH - 1) / BATCH,
                   end = min(batches * (warp + 1) / WARPS * BATCH, count);
    uint32_t begin = batches * warp / WARPS * BATCH, *lowest = rows + warp * (uint32_t)p;
    begin += warp > 0 ? begin_lowest(overflow + begin, (uint32_t)p, lowest) : 0;
    __syncwarp();
    merge_overflow<BATCH>(overflow + begin, end - begin, lowest, p);
    __syncthreads();
    if (warp == 0) {
        merge_overflow<BATCH>((const uint32_t *)rows + p, (uint32_t)((WARPS - 1) * p), rows, p);
        sort_rows(rows, p, p, sorted);
    }
}

/* Loads the records kept on arrival, and clears `extra`. */
__device__ static void load_kept(const pc_voxelize_params &s, const chunk &c, const large_voxel &of, uint32_t *rows) {
    uint32_t *extra = pc_extra_of(s, of.slot);
    for (int k = (int)threadIdx.x % 32; k < of.kept; k += 32) {
        if (k < PC_SLOT_RECORDS) {
            rows[k] = c.rows[of.voxel * s.kept + k];
        } else {
            rows[k] = extra[k - PC_SLOT_RECORDS];
            extra[k - PC_SLOT_RECORDS] = PC_NO_RECORD;
        }
    }
    __syncwarp();
}

/* The kept records of a voxel, in order; by a warp. */
template <int BATCH>
__device__ static void select_kept(const pc_voxelize_params &s, const chunk &c, const large_voxel &of, uint32_t *rows) {
    load_kept(s, c, of, rows);
    if (c.kept[of.voxel] >= 0) { /* others are not in the result: only cleared */
        select_by_warp<BATCH, SMALL_OVERFLOW_BATCH>((const uint32_t *)s.overflow_rows + of.overflow_begin, of.overflow,
                                                    of.kept, rows, c.rows + of.voxel * s.kept);
    }
}

/* The same by the block. rows: P per warp. */
template <int WARPS, int BATCH>
__device__ static void select_kept_by_block(const pc_voxelize_params &s, const chunk &c, const large_voxel &of,
                                            uint32_t *rows) {
    if (threadIdx.x < 32) {
        load_kept(s, c, of, rows);
    }
    select_by_block<WARPS, BATCH>((const uint32_t *)s.overflow_rows + of.overflow_begin, of.overflow, s.kept, rows,
                                  c.rows + of.voxel * s.kept);
    __syncthreads();
}

/* Adds to each rank the number of lower records among the first `most` of its voxel; `rows` has 32 per voxel. */
template <int VOXELS>
__device__ static void count_lower(const uint32_t *rows, int most, const uint32_t (&row)[VOXELS], int (&rank)[VOXELS]) {
    for (int i = 0; i < most; i += 4) {
#pragma unroll
        for (int k = 0; k < VOXELS; k++) {
            const uint4 other = *(const uint4 *)(rows + 32 * k + i);
            rank[k] += (other.x < row[k]) + (other.y < row[k]) + (other.z < row[k]) + (other.w < row[k]);
        }
    }
}

__device__ static void load_voxel(const pc_voxelize_params &s, uint32_t id, pc_voxel *to) {
    if (id < s.capacity) {
        *to = s.voxels[id];
    }
}

/* Copies the voxels that have been loaded to the chunk; a thread per voxel. Voxels with more records than a slot has
 * are listed for select_kept, those for the whole block from the list's end. */
__device__ static void list_voxels(const pc_voxelize_params &s, const chunk &c, uint32_t found, const pc_voxel &of,
                                   large_voxel *list, int count[2]) {
    const int v = (int)threadIdx.x, p = s.kept;
    const uint32_t id = id_of(c, v);
    if (v >= c.voxels || id >= found) {
        c.kept[v] = -1;
        return;
    }
    uint32_t row[PC_SLOT_RECORDS] = {of.row[0], of.row[1], of.row[2], of.row[3]}; /* missing ones are ~0 */
    if (of.kept > PC_SLOT_RECORDS || of.overflow) {
        const bool from_end = of.overflow >= BLOCK_OVERFLOW && id < s.max_voxels;
        const int offset = atomicAdd(&count[from_end], 1);
        list[from_end ? PC_EMIT_THREADS - 1 - offset : offset] =
            large_voxel{v, (int)of.kept, of.slot, of.overflow, of.overflow_begin};
    } else {
        order_four(row);
    }
    pc_clean_slot(s, of);
#pragma unroll
    for (int k = 0; k < PC_SLOT_RECORDS; k++) {
        if (k < p) {
            c.rows[v * p + k] = row[k];
        }
    }
    c.kept[v] = -1;
    if (id < s.max_voxels) {
        c.kept[v] = (int16_t)of.kept;
        s.counts[id] = (int32_t)of.kept;
    }
}

#endif
