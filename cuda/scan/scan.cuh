/* The kernels of scan.cu; blockIdx.y is the scan of the group. */
#ifndef PC_SCAN_CUH
#define PC_SCAN_CUH

#include "common.cuh"
#include "scan_math.h"

enum {
    THREADS = 256,
    ITEMS = 8,
    CHUNK = THREADS * ITEMS,
    WARP = 32,
    CARRIER_WORDS = PC_CARRIER_SIDE * PC_CARRIER_SIDE
};

/* What is found of a scan. Bounds are integers in the order of their floats, of the low ones the complement, so that
 * all begin with 0. */
typedef struct scan_found {
    unsigned long long whole, half; /* records that stay without all, or the near half, of the carrier */
    unsigned long long kept, points, non_finite, at_origin;
    uint32_t bounds[2][3];
} scan_found;

/* A scan as kernels get it. */
typedef struct scan_task {
    const float *data;
    int64_t rows;
    int columns, other;
    float origin[3], radius;
    double offset[3];
    uint32_t *bits; /* of its carrier: as of pc_carrier */
    scan_found *found;
    uint32_t *counts;   /* by chunks of records: those that are kept, and those that are usable */
    int32_t *kept_rows; /* the records that are kept, where some are not */
    float *points;      /* x of the usable ones, then y, then z */
    float *samples[2];  /* of the cloud, and of what is selected */
} scan_task;

/* Boxes whose cells are counted, and for which scan. */
typedef struct scan_counting {
    const scan_task *task;
    const pc_spacing_boxes *boxes;
    pc_spacing_cell *cells;
} scan_counting;

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

__device__ static int part_of(const scan_task *t) {
    return t->other < 0 ? 0 : pc_carrier_part(t->rows, (int64_t)t->found->whole, (int64_t)t->found->half);
}

/* Copies samples: of the records, at first, or of what was selected. */
__global__ static void __launch_bounds__(THREADS) sample_kernel(const scan_task *tasks, int selected) {
    const scan_task *t = tasks + blockIdx.y;
    const int first = selected ? PC_SAMPLE_VIEW : PC_SAMPLE_EXTENT, end = selected ? PC_SAMPLINGS : PC_SAMPLE_VIEW;
    const int slot = (int)(blockIdx.x * THREADS + threadIdx.x), part = selected ? part_of(t) : 0;
    if (!selected && slot == 0) {
        const scan_found nothing = {0, 0, 0, 0, 0, 0, {{0, 0, 0}, {0, 0, 0}}};
        *t->found = nothing;
    }
    for (int which = first; which < end; which++) {
        const int64_t i = slot - pc_sampling_begin(which);
        if (i < 0 || i >= pc_sampling_room(which)) {
            continue;
        }
        const int64_t n = selected ? (int64_t)t->found->points : 0;
        const int64_t rows = which == PC_SAMPLE_POINTS ? n : selected ? (int64_t)t->found->kept : t->rows;
        if (i >= pc_sampling_count(which, rows)) {
            continue;
        }
        int64_t row = pc_sampling_row(which, rows, i);
        if (row >= rows) {
            continue;
        }
        row = part ? (which == PC_SAMPLE_POINTS ? row : t->kept_rows[row]) : row;
        for (int k = 0; k < 3; k++) {
            t->samples[selected][3 * slot + k] =
                which == PC_SAMPLE_POINTS ? t->points[k * n + row] : t->data[row * t->columns + k];
        }
    }
}

/* Marks the near returns of a scan, as of pc_carrier: their cells and those next to them. */
__global__ static void __launch_bounds__(THREADS) mark_kernel(const scan_task *tasks) {
    const scan_task *t = tasks + blockIdx.y;
    const int64_t end = (int64_t)(blockIdx.x + 1) * CHUNK < t->rows ? (int64_t)(blockIdx.x + 1) * CHUNK : t->rows;
    for (int64_t i = (int64_t)blockIdx.x * CHUNK + threadIdx.x; t->other >= 0 && i < end; i += THREADS) {
        int c[3];
        if (!pc_carrier_cell(t->radius, t->offset, t->data + i * t->columns, c)) {
            continue;
        }
        const uint32_t here = 1u << c[2], column = here | here << 1 | here >> 1;
        for (int j = 0; j < 9; j++) {
            const int x = c[0] - 1 + j % 3, y = c[1] - 1 + j / 3;
            uint32_t *bits = &t->bits[y * PC_CARRIER_SIDE + x];
            if (x >= 0 && x < PC_CARRIER_SIDE && y >= 0 && y < PC_CARRIER_SIDE &&
                (*(volatile uint32_t *)bits & column) != column) {
                atomicOr(bits, column);
            }
        }
    }
}

/* Whether a record is left out with a part of the carrier of the other scan. */
__device__ static bool is_left_out(const scan_task *tasks, const scan_task *t, int part, const float *record) {
    int c[3];
    const scan_task *other = tasks + t->other;
    return pc_carrier_cell(other->radius, t->offset, record, c) && pc_carrier_is_within(part, c) &&
           (other->bits[c[1] * PC_CARRIER_SIDE + c[0]] >> c[2] & 1u);
}

/* How many records stay for each part of the carrier. */
__global__ static void __launch_bounds__(THREADS) stay_kernel(const scan_task *tasks) {
    const scan_task *t = tasks + blockIdx.y;
    int whole = 0, half = 0;
    for (int item = 0; item < ITEMS && t->other >= 0; item++) {
        const int64_t i = (int64_t)blockIdx.x * CHUNK + item * THREADS + threadIdx.x;
        const float *record = t->data + (i < t->rows ? i : 0) * t->columns;
        whole += __syncthreads_count(i < t->rows && !is_left_out(tasks, t, 1, record));
        half += __syncthreads_count(i < t->rows && !is_left_out(tasks, t, 2, record));
    }
    if (threadIdx.x == 0 && whole + half > 0) {
        atomicAdd(&t->found->whole, (unsigned long long)whole);
        atomicAdd(&t->found->half, (unsigned long long)half);
    }
}

/* What a record is: bit 0: kept, 1: usable, 2: kept and not finite, 3: kept and at the origin. */
__device__ static int kind_of(const scan_task *tasks, const scan_task *t, int part, int64_t i) {
    const float *p = t->data + i * t->columns;
    if (part && is_left_out(tasks, t, part, p)) {
        return 0;
    }
    const int finite = pc_is_finite3(p[0], p[1], p[2]), usable = pc_is_usable(t->origin, p);
    return 1 | usable << 1 | !finite << 2 | (finite & !usable) << 3;
}

/* Counts the kept and the usable records of chunks. */
__global__ static void __launch_bounds__(THREADS) count_kernel(const scan_task *tasks) {
    const scan_task *t = tasks + blockIdx.y;
    const int part = part_of(t);
    int count[4] = {0, 0, 0, 0};
    if ((int64_t)blockIdx.x * CHUNK >= t->rows) {
        return;
    }
    for (int item = 0; item < ITEMS; item++) {
        const int64_t i = (int64_t)blockIdx.x * CHUNK + item * THREADS + threadIdx.x;
        const int kind = i < t->rows ? kind_of(tasks, t, part, i) : 0;
        for (int k = 0; k < 4; k++) {
            count[k] += __syncthreads_count(kind >> k & 1);
        }
    }
    if (threadIdx.x == 0) {
        t->counts[2 * blockIdx.x] = (uint32_t)count[0];
        t->counts[2 * blockIdx.x + 1] = (uint32_t)count[1];
        atomicAdd(&t->found->kept, (unsigned long long)count[0]);
        atomicAdd(&t->found->points, (unsigned long long)count[1]);
        atomicAdd(&t->found->non_finite, (unsigned long long)count[2]);
        atomicAdd(&t->found->at_origin, (unsigned long long)count[3]);
    }
}

/* The kept and the usable records before a chunk. */
__device__ static void sum_before(const scan_task *t, uint64_t before[2]) {
    __shared__ unsigned long long sums[2];
    unsigned long long own[2] = {0, 0};
    if (threadIdx.x < 2) {
        sums[threadIdx.x] = 0;
    }
    for (unsigned chunk = threadIdx.x; chunk < blockIdx.x; chunk += THREADS) {
        own[0] += t->counts[2 * chunk];
        own[1] += t->counts[2 * chunk + 1];
    }
    __syncthreads();
    for (int k = 0; k < 2; k++) {
        if (own[k]) {
            atomicAdd(&sums[k], own[k]);
        }
    }
    __syncthreads();
    before[0] = sums[0];
    before[1] = sums[1];
}

/* Writes the kept records and the usable points of chunks, in their order, and the bounds of the points. */
__global__ static void __launch_bounds__(THREADS) scatter_kernel(const scan_task *tasks) {
    __shared__ uint32_t warps[2][THREADS / WARP];
    __shared__ uint32_t bounds[2][3];
    const scan_task *t = tasks + blockIdx.y;
    const int part = part_of(t), lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
    const int64_t n = (int64_t)t->found->points;
    uint64_t at[2];
    uint32_t own[2][3] = {{0, 0, 0}, {0, 0, 0}};
    if ((int64_t)blockIdx.x * CHUNK >= t->rows) {
        return;
    }
    if (threadIdx.x < 6) {
        bounds[threadIdx.x / 3][threadIdx.x % 3] = 0;
    }
    sum_before(t, at);
    for (int item = 0; item < ITEMS; item++) {
        const int64_t i = (int64_t)blockIdx.x * CHUNK + item * THREADS + threadIdx.x;
        const int kind = i < t->rows ? kind_of(tasks, t, part, i) : 0;
        const uint32_t kept = __ballot_sync(0xffffffffu, kind & 1), usable = __ballot_sync(0xffffffffu, kind & 2);
        if (lane == 0) {
            warps[0][warp] = (uint32_t)__popc(kept);
            warps[1][warp] = (uint32_t)__popc(usable);
        }
        __syncthreads();
        const uint32_t below = (1u << lane) - 1;
        uint64_t place[2] = {at[0] + (uint32_t)__popc(kept & below), at[1] + (uint32_t)__popc(usable & below)};
        for (int w = 0; w < THREADS / WARP; w++) {
            for (int k = 0; k < 2; k++) {
                place[k] += w < warp ? warps[k][w] : 0;
                at[k] += warps[k][w];
            }
        }
        if (part && (kind & 1)) {
            t->kept_rows[place[0]] = (int32_t)i;
        }
        if (kind & 2) {
            for (int k = 0; k < 3; k++) {
                const float value = t->data[i * t->columns + k];
                const uint32_t order = (uint32_t)pc_in_order(pc_float_bits(value)) ^ UINT32_C(0x80000000);
                t->points[k * n + (int64_t)place[1]] = value;
                own[0][k] = ~order > own[0][k] ? ~order : own[0][k];
                own[1][k] = order > own[1][k] ? order : own[1][k];
            }
        }
        __syncthreads();
    }
    for (int k = 0; k < 6; k++) {
        atomicMax(&bounds[k / 3][k % 3], own[k / 3][k % 3]);
    }
    __syncthreads();
    if (threadIdx.x < 6) {
        atomicMax(&t->found->bounds[threadIdx.x / 3][threadIdx.x % 3], bounds[threadIdx.x / 3][threadIdx.x % 3]);
    }
}

/* Adds the points of a scan to the cells of its boxes. */
__global__ static void __launch_bounds__(THREADS) cells_kernel(const scan_counting *counting) {
    const scan_counting *c = counting + blockIdx.y;
    const scan_task *t = c->task;
    const pc_spacing_boxes *boxes = c->boxes;
    const int64_t end = (int64_t)(blockIdx.x + 1) * CHUNK < t->rows ? (int64_t)(blockIdx.x + 1) * CHUNK : t->rows;
    for (int64_t i = (int64_t)blockIdx.x * CHUNK + threadIdx.x; i < end; i += THREADS) {
        const float *p = t->data + i * t->columns;
        float place[3];
        int32_t cell[3];
        for (int k = 0; k < 3; k++) {
            place[k] = pc_spacing_place(p[k], boxes->middle[k], boxes->per_edge);
            cell[k] = pc_spacing_floor(place[k]);
        }
        const int box = pc_spacing_find(boxes, cell, pc_spacing_entry(cell[0], cell[1], cell[2]));
        if (box >= 0 && pc_is_usable(boxes->origin, p)) {
            uint32_t add[PC_SPACING_SUMS];
            pc_spacing_cell *to = c->cells + box * PC_SPACING_CELLS + pc_spacing_add(place, cell, add);
            for (int k = 0; k < PC_SPACING_SUMS; k++) {
                atomicAdd((unsigned long long *)&to->sum[k], (unsigned long long)add[k]);
            }
        }
    }
}

/* ---- the state --------------------------------------------------------------------------------------------------- */

#endif
