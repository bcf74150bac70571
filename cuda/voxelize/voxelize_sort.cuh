/* Variant `sort` of voxelization: for any job. The result does not depend on the order in which threads run.
 *
 *   insert      every record finds or claims the slot of its cell in a hash table; the slot keeps its lowest record
 *   assign ids  a voxel's id is a prefix sum over "is the first record of its voxel"
 *   sort        a stable radix sort by voxel id puts the records of a voxel side by side, in index order
 *   features    a sum runs over the records of a voxel in that order, one thread per value
 *
 * Memory is 48 to 80 bytes per record beside the records and the result; nothing grows with the volume of the grid. */
#ifndef PC_VOXELIZE_SORT_CUH
#define PC_VOXELIZE_SORT_CUH

#include "voxelize.cuh"

#define THREADS 256
#define NO_SLOT 0xffffffffu
#define FREE    0xffffffffffffffffull

/* Records that are in no range; integers, so the order of the atomic additions does not matter. */
typedef struct drops {
    unsigned long long non_finite, at_origin;
} drops;

/* What the kernels share; passed by value. */
typedef struct voxel_state {
    pc_grid grid;
    bool skip_origin;
    float skip[3];
    int64_t rows, columns;
    const float *data;
    uint64_t mask;                /* size of the table - 1 */
    unsigned long long *keys;     /* table: key of each slot */
    uint32_t *lowest;             /* table: lowest record, later the id of the voxel */
    uint32_t *slot;               /* rows: slot of each record or NO_SLOT */
    int32_t *rank;                /* rows: voxels that begin at this record or before it */
    uint32_t *voxel, *voxel_next; /* rows: voxel of each record, `found` when out of range; sorted */
    int32_t *order, *order_next;  /* rows: records, sorted by voxel */
    int64_t *starts;              /* found + 1: offsets in `order` */
    int64_t found, count, max_points;
    int32_t *point_voxel, *coords, *counts, *selected;
    float *features, *means;
    int64_t capacity;
    bool wide;
    drops *dropped;
} voxel_state;

/* Sums over all voxels; integers, so the order of the atomic additions does not matter. */
typedef struct totals {
    unsigned long long kept, largest, largest_kept;
} totals;

__device__ static int64_t thread_index(void) {
    return (int64_t)blockIdx.x * THREADS + threadIdx.x;
}

/* ---- ids ------------------------------------------------------------------------------------------------------- */

__global__ static void insert_kernel(voxel_state s) {
    int64_t i = thread_index();
    if (i >= s.rows) {
        return;
    }
    const float *p = s.data + i * s.columns;
    int64_t key = pc_record_key(&s.grid, s.skip_origin, s.skip, p);
    if (key < 0) {
        if (!pc_is_finite3(p[0], p[1], p[2])) {
            atomicAdd(&s.dropped->non_finite, 1ull);
        } else if (pc_is_skipped(s.skip_origin, s.skip, p)) {
            atomicAdd(&s.dropped->at_origin, 1ull);
        }
        s.slot[i] = NO_SLOT;
        return;
    }
    uint64_t at = pc_hash64((uint64_t)key) & s.mask;
    while (true) {
        unsigned long long there = atomicCAS(&s.keys[at], FREE, (unsigned long long)key);
        if (there == FREE || there == (unsigned long long)key) {
            break;
        }
        at = (at + 1) & s.mask;
    }
    s.slot[i] = (uint32_t)at;
    atomicMin(&s.lowest[at], (uint32_t)i);
}

__global__ static void mark_first_kernel(voxel_state s) {
    int64_t i = thread_index();
    if (i < s.rows) {
        uint32_t slot = s.slot[i];
        s.rank[i] = slot != NO_SLOT && s.lowest[slot] == (uint32_t)i;
    }
}

/* After the prefix sum: the first record of a voxel replaces the lowest record by the id. */
__global__ static void id_kernel(voxel_state s) {
    int64_t i = thread_index();
    if (i < s.rows && s.rank[i] != (i > 0 ? s.rank[i - 1] : 0)) {
        s.lowest[s.slot[i]] = (uint32_t)(s.rank[i] - 1);
    }
}

__global__ static void assign_kernel(voxel_state s) {
    int64_t i = thread_index();
    if (i < s.rows) {
        s.voxel[i] = s.slot[i] == NO_SLOT ? (uint32_t)s.found : s.lowest[s.slot[i]];
        s.order[i] = (int32_t)i;
    }
}

/* ---- the records of each voxel --------------------------------------------------------------------------------- */

/* Every id 0..found-1 occurs in the sorted array; starts[found] is the number of records in range. */
__global__ static void starts_kernel(voxel_state s) {
    int64_t i = thread_index();
    if (i >= s.rows) {
        return;
    }
    uint32_t voxel = s.voxel[i];
    if (i == 0 || s.voxel[i - 1] != voxel) {
        s.starts[voxel] = i;
    }
    if (i == s.rows - 1 && voxel != (uint32_t)s.found) {
        s.starts[s.found] = s.rows;
    }
}

__device__ static int64_t kept_of(const voxel_state *s, int64_t points) {
    return s->max_points && s->max_points < points ? s->max_points : points;
}

__global__ static void totals_kernel(voxel_state s, totals *sums) {
    int64_t v = thread_index();
    unsigned long long points = v < s.found ? (unsigned long long)(s.starts[v + 1] - s.starts[v]) : 0;
    unsigned long long kept = v < s.count ? (unsigned long long)kept_of(&s, (int64_t)points) : 0;
    unsigned long long largest = points, largest_kept = kept;
    for (int step = 16; step > 0; step /= 2) {
        unsigned long long other = __shfl_xor_sync(0xffffffffu, largest, step);
        largest = other > largest ? other : largest;
        other = __shfl_xor_sync(0xffffffffu, largest_kept, step);
        largest_kept = other > largest_kept ? other : largest_kept;
        kept += __shfl_xor_sync(0xffffffffu, kept, step);
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&sums->kept, kept);
        atomicMax(&sums->largest, largest);
        atomicMax(&sums->largest_kept, largest_kept);
    }
}

__global__ static void point_voxel_kernel(voxel_state s) {
    int64_t i = thread_index();
    if (i < s.rows) {
        int64_t voxel = s.voxel[i];
        bool kept = voxel < s.count && (!s.max_points || i - s.starts[voxel] < s.max_points);
        s.point_voxel[s.order[i]] = kept ? (int32_t)voxel : -1;
    }
}

__global__ static void describe_kernel(voxel_state s) {
    int64_t v = thread_index();
    if (v < s.count) {
        s.counts[v] = (int32_t)kept_of(&s, s.starts[v + 1] - s.starts[v]);
        pc_voxel_coords(&s.grid, s.data + s.order[s.starts[v]] * s.columns, s.coords + 4 * v);
    }
}

/* ---- features -------------------------------------------------------------------------------------------------- */

/* Means of the first `width` columns, one thread per value. */
__global__ static void means_kernel(voxel_state s, float *means, int width) {
    int64_t i = thread_index();
    if (i < s.count * width) {
        int64_t v = i / width;
        means[i] = pc_voxel_mean(s.data, (int)s.columns, s.order + s.starts[v], s.counts[v], (int)(i % width), s.wide);
    }
}

__global__ static void select_kernel(voxel_state s, bool nearest) {
    int64_t v = thread_index();
    if (v < s.count) {
        const int32_t *rows = s.order + s.starts[v];
        s.selected[v] =
            nearest ? pc_voxel_nearest(s.data, (int)s.columns, rows, s.counts[v], s.means + 3 * v) : rows[0];
    }
}

__global__ static void gather_kernel(voxel_state s) {
    int64_t i = thread_index();
    if (i < s.count * s.columns) {
        s.features[i] = s.data[s.selected[i / s.columns] * s.columns + i % s.columns];
    }
}

/* One thread per value; the host may use several launches, `from` is the first value of this one. */
__global__ static void points_kernel(voxel_state s, int64_t from) {
    int64_t i = from + thread_index();
    if (i < s.count * s.capacity * s.columns) {
        int64_t row = i / s.columns, v = row / s.capacity, offset = row % s.capacity;
        s.features[i] = offset < s.counts[v] ? s.data[s.order[s.starts[v] + offset] * s.columns + i % s.columns] : 0.0f;
    }
}

/* One thread per point of a pillar. */
__global__ static void pillar_kernel(voxel_state s, int64_t from) {
    int64_t i = from + thread_index();
    if (i >= s.count * s.capacity) {
        return;
    }
    int64_t v = i / s.capacity, offset = i % s.capacity;
    float row[PC_PILLAR_COLUMNS] = {0.0f};
    if (offset < s.counts[v]) {
        const float *p = s.data + s.order[s.starts[v] + offset] * s.columns;
        pc_pillar_row(&s.grid, p, (int)s.columns, s.means + 3 * v, s.coords + 4 * v, row);
    }
    for (int k = 0; k < PC_PILLAR_COLUMNS; k++) {
        s.features[i * PC_PILLAR_COLUMNS + k] = row[k];
    }
}

#endif
