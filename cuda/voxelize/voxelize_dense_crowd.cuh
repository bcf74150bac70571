/* Of a dense table, voxels with more than P records: which of them they keep. A part of voxelize_dense_fill.cuh. */
#ifndef PC_VOXELIZE_DENSE_CROWD_CUH
#define PC_VOXELIZE_DENSE_CROWD_CUH

#include "voxelize_select.cuh"

enum { DENSE_WARPS = PC_DENSE_THREADS / 32 };

/* Late records of a cell, from number `from` on, in their buckets. */
typedef struct late_of_cell {
    const pc_hashed *s;
    uint32_t cell, from;
} late_of_cell;

/* As bring_late of voxelize_select.cuh, a lane a bucket, which is cleaned up. `first` is the first record of one. A
 * bucket that is looked for is on its way together with its key. */
template <int EACH>
__device__ static uint32_t bring_late(const late_of_cell &late, uint32_t first, uint32_t count, uint32_t *row) {
    static_assert(EACH == PC_BUCKET_ROWS, "records of a bucket");
    const pc_hashed &s = *late.s;
    const uint32_t i = first + PC_BUCKET_ROWS * (threadIdx.x % 32);
    uint4 four[PC_BUCKET_ROWS / 4] = {};
    if (i < count) {
        const unsigned long long key = pc_cell_bucket_key(late.cell, late.from + i);
        uint32_t at = pc_bucket_home(s, key);
        while (true) {
            const unsigned long long seen = s.bucket_keys[at];
#pragma unroll
            for (int k = 0; k < PC_BUCKET_ROWS / 4; k++) {
                four[k] = ((const uint4 *)(s.bucket_rows + (size_t)at * PC_BUCKET_ROWS))[k];
            }
            if (seen == key) {
                break;
            }
            at = (at + 1) & s.bucket_mask;
        }
        s.bucket_keys[at] = 0;
    }
    uint32_t least = PC_NO_ROW;
#pragma unroll
    for (uint32_t k = 0; k < PC_BUCKET_ROWS; k++) {
        const uint4 of = four[k / 4];
        row[k] = i + k >= count ? PC_NO_ROW : k % 4 == 0 ? of.x : k % 4 == 1 ? of.y : k % 4 == 2 ? of.z : of.w;
        least = min(least, row[k]);
    }
    return least;
}

/* Memory of a warp for these: */
typedef struct __align__(16) selection {
    uint32_t unsorted[PC_MOST_KEPT + 4], sorted[PC_MOST_KEPT];
}
selection;

/* The first P records of a cell that came; by a warp. */
__device__ static void take_first(const pc_hashed &s, uint32_t cell, uint32_t *rows) {
    for (int k = (int)threadIdx.x % 32; k < s.kept; k += 32) {
        rows[k] = s.cell_rows[cell * pc_cell_room(s.kept) + (uint32_t)k];
    }
}

/* The P lowest of a cell's records go to m->sorted, in order; `late`: how many it has beside the first P that came. By
 * a warp. */
__device__ static void select_by_warp(const pc_hashed &s, uint32_t cell, uint32_t late, selection *m) {
    const uint32_t lane = threadIdx.x % 32, p = (uint32_t)s.kept;
    take_first(s, cell, m->unsorted);
    if (p + late <= PC_MOST_KEPT) {
        uint32_t row[PC_BUCKET_ROWS];
        bring_late<PC_BUCKET_ROWS>(late_of_cell{&s, cell, 0}, 0, late, row);
#pragma unroll
        for (uint32_t k = 0; k < PC_BUCKET_ROWS; k++) {
            if (PC_BUCKET_ROWS * lane + k < late) {
                m->unsorted[p + PC_BUCKET_ROWS * lane + k] = row[k];
            }
        }
        __syncwarp();
        sort_rows(m->unsorted, (int)(p + late), (int)p, m->sorted);
    } else {
        __syncwarp();
        merge_late<PC_BUCKET_ROWS>(late_of_cell{&s, cell, 0}, late, m->unsorted, (int)p);
        sort_rows(m->unsorted, (int)p, (int)p, m->sorted);
    }
}

/* The same where there are very many, by the block, a warp a part of them; warp 0 may read m->sorted. rows: P a warp.
 */
__device__ static void select_by_block(const pc_hashed &s, uint32_t cell, uint32_t late, uint32_t *rows, selection *m) {
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, p = (uint32_t)s.kept,
                   buckets = (late + PC_BUCKET_ROWS - 1) / PC_BUCKET_ROWS,
                   begin = buckets * warp / DENSE_WARPS * PC_BUCKET_ROWS,
                   end = min(buckets * (warp + 1) / DENSE_WARPS * PC_BUCKET_ROWS, late);
    uint32_t *lowest = rows + warp * p;
    if (warp == 0) {
        take_first(s, cell, lowest);
    } else {
        for (uint32_t k = lane; k < p; k += 32) {
            lowest[k] = PC_NO_ROW - 1 - k; /* each part has P lower ones */
        }
    }
    __syncwarp();
    merge_late<PC_BUCKET_ROWS>(late_of_cell{&s, cell, begin}, end - begin, lowest, (int)p);
    __syncthreads();
    if (warp == 0) {
        merge_late<PC_BUCKET_ROWS>((const uint32_t *)rows + p, (DENSE_WARPS - 1) * p, rows, (int)p);
        for (uint32_t k = lane; k < p; k += 32) {
            m->unsorted[k] = rows[k];
        }
        __syncwarp();
        sort_rows(m->unsorted, (int)p, (int)p, m->sorted);
    }
}

#endif
