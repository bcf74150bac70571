/* The fused kernel of voxelize_hash.cuh: ids, overflow records and features in one kernel, for small clouds with a
 * small P. A block assigns the ids of the voxels whose lowest records are its own, and computes their features. Its
 * warps select and load records while one warp waits for the counts of the blocks before it. Insert has put overflow
 * records into buckets of a second hash table. */
#ifndef PC_VOXELIZE_FUSED_CUH
#define PC_VOXELIZE_FUSED_CUH

#include "voxelize_scan.cuh"
#include "voxelize_select.cuh"

enum {
    FUSED_WARPS = PC_FUSED_THREADS / 32,
    VOXEL_BATCH = 5,          /* voxels per warp and step if each has at most 32 records */
    GATHER_BATCH = 8,         /* overflow records that a thread loads together */
    FUSED_OVERFLOW_BATCH = 8, /* the same for a lane that selects: registers are few */
};

/* ---- ids -------------------------------------------------------------------------------------------------------- */

/* A block publishes its number of voxels, + 1, and adds it to a word of its group of PC_FUSED_GROUP blocks: number of
 * blocks added, and in the bits above it the sum. So a block reads the words of its own group and one word of every
 * other group: all blocks read at the same time, and loads of one address are serialized. */
__device__ static uint32_t *group_of(const pc_voxelize_params &s, int group) {
    return s.tile_counts + pc_fused_tiles(s.rows) + group;
}

__device__ static void publish_count(const pc_voxelize_params &s, uint32_t voxels) {
    const int tile = (int)blockIdx.x;
    pc_half_store(s.tile_counts + tile, voxels + 1);
    atomicAdd(group_of(s, tile / PC_FUSED_GROUP), voxels * 2 * PC_FUSED_GROUP + 1);
}

/* The number of voxels of all blocks before this one; by a warp. */
__device__ static uint32_t voxels_before(const pc_voxelize_params &s, uint32_t voxels) {
    const int tile = (int)blockIdx.x, lane = (int)threadIdx.x % 32;
    uint32_t sum = 0;
    for (int first = 0; first < tile / PC_FUSED_GROUP; first += 32) {
        uint32_t seen = PC_FUSED_GROUP;
        if (first + lane < tile / PC_FUSED_GROUP) {
            while ((seen = pc_half_load(group_of(s, first + lane))) % (2 * PC_FUSED_GROUP) < PC_FUSED_GROUP) {
                pc_pause();
            }
        }
        sum += seen / (2 * PC_FUSED_GROUP);
    }
    if (lane < tile % PC_FUSED_GROUP) {
        uint32_t seen;
        while ((seen = pc_half_load(s.tile_counts + (tile / PC_FUSED_GROUP * PC_FUSED_GROUP + lane))) == 0) {
            pc_pause();
        }
        sum += seen - 1;
    }
    __syncwarp();
    sum = pc_warp_add(sum);
    if (lane == 0 && blockIdx.x == gridDim.x - 1) {
        s.counters->found = sum + voxels;
    }
    return sum;
}

/* ---- kept records ----------------------------------------------------------------------------------------------- */

/* The voxel whose lowest record is i, or zeros. points: number of records, including dropped ones. */
__device__ static pc_voxel voxel_at(const pc_voxelize_params &s, uint32_t i, uint32_t *key, uint32_t *points) {
    pc_voxel of = {};
    const uint32_t tag = i < s.rows ? s.tag[i] : PC_NO_SLOT, slot = PC_SLOT_OF(tag);
    *key = *points = 0;
    if (tag & PC_MAYBE_FIRST) {
        slot_state b = load_slot(s, slot);
        pc_settle(b.rows.x); /* keeps this load next to that of the head */
        if (b.head.z == i) {
            of = pc_voxel{min(b.head.x, (uint32_t)s.kept),
                          slot,
                          overflow_of(s, b.head),
                          0,
                          {b.rows.x, b.rows.y, b.rows.z, b.rows.w}};
            *key = b.head.y;
            *points = points_of(s, b.head, slot);
        }
    }
    return of;
}

/* Voxels with more records than a slot has, by what selects their records: a lane per record if there are at most 32
 * and one bucket; a warp; or the block. */
enum { LANE_SIZED, WARP_SIZED, BLOCK_SIZED, SIZES };

/* The voxels that a block processes together, and their kept records, one voxel after the other; in shared memory. */
typedef struct fused_memory {
    float4 values[PC_FUSED_RECORDS]; /* columns of the kept records; scratch memory before that */
    uint32_t rows[PC_FUSED_RECORDS];
    uint8_t voxel_of[PC_FUSED_RECORDS];
    large_voxel of[PC_FUSED_THREADS];         /* by voxel; only those in of_size */
    uint8_t of_size[SIZES][PC_FUSED_THREADS]; /* voxels by size, of which there are `count` */
    int count[SIZES];
    int16_t kept[PC_FUSED_THREADS];
    uint16_t begin[PC_FUSED_THREADS]; /* first record of each voxel */
    uint32_t before;                  /* voxels of the blocks before this one */
    int records;
} fused_memory;

/* The bucket of overflow record i of a voxel. */
__device__ static uint32_t bucket_at(const pc_voxelize_params &s, uint32_t slot, uint32_t i) {
    const unsigned long long key = pc_bucket_key(s, slot, i / PC_BUCKET_RECORDS);
    uint32_t at = pc_bucket_home(s, key);
    while (s.bucket_keys[at] != key) {
        at = (at + 1) & s.bucket_mask;
    }
    return at;
}

/* Copies the records of the thread's voxel from its slot, or lists the voxel by its size. */
__device__ static void stage_voxel(const pc_voxelize_params &s, const pc_voxel &of, int voxel, int begin,
                                   fused_memory *m) {
    const int kept = (int)of.kept;
    uint32_t row[PC_SLOT_RECORDS] = {of.row[0], of.row[1], of.row[2], of.row[3]}; /* missing ones are ~0 */
    m->begin[voxel] = (uint16_t)begin;
    m->kept[voxel] = (int16_t)kept;
    if (kept > PC_SLOT_RECORDS || of.overflow) {
        const int size = (uint32_t)kept + of.overflow <= 32 && of.overflow <= PC_BUCKET_RECORDS ? LANE_SIZED
                         : of.overflow < BLOCK_OVERFLOW                                         ? WARP_SIZED
                                                                                                : BLOCK_SIZED;
        large_voxel l = {voxel, kept, of.slot, of.overflow, 0};
        if (size == LANE_SIZED && of.overflow) {
            l.overflow_begin = bucket_at(s, of.slot, 0) * PC_BUCKET_RECORDS;
        }
        m->of[voxel] = l;
        m->of_size[size][atomicAdd(&m->count[size], 1)] = (uint8_t)voxel;
    } else {
        order_four(row);
    }
#pragma unroll
    for (int k = 0; k < PC_SLOT_RECORDS; k++) {
        if (k < kept) {
            m->rows[begin + k] = row[k];
        }
    }
    for (int k = 0; k < kept; k++) {
        m->voxel_of[begin + k] = (uint8_t)voxel;
    }
    pc_clean_slot(s, of);
}

/* The kept records of VOXEL_BATCH LANE_SIZED voxels, `first` and every step-th on, a lane per record; by a warp.
 * `rows`: VOXEL_BATCH x 32 in shared memory. Loads without branches overlap. */
__device__ static void select_lane_sized(const pc_voxelize_params &s, fused_memory *m, int first, int step,
                                         uint32_t *rows) {
    const int lane = (int)threadIdx.x % 32, count = m->count[LANE_SIZED];
    uint32_t row[VOXEL_BATCH];
    int most = 0;
#pragma unroll
    for (int k = 0; k < VOXEL_BATCH; k++) {
        const int i = first + k * step;
        const large_voxel of = m->of[m->of_size[LANE_SIZED][min(i, count - 1)]];
        const int overflow = lane - of.kept;
        const uint32_t *beside = pc_extra_of(s, of.slot) + (lane - PC_SLOT_RECORDS),
                       *from = overflow < 0 ? beside : s.bucket_records + of.overflow_begin + overflow;
        const bool there = overflow < 0 ? lane >= PC_SLOT_RECORDS : overflow < (int)of.overflow;
        row[k] = PC_NO_RECORD;
        if (i < count && there) {
            row[k] = *from;
        }
        most = max(most, i < count ? of.kept + (int)of.overflow : 0);
    }
#pragma unroll
    for (int k = 0; k < VOXEL_BATCH; k++) {
        const int i = first + k * step;
        const large_voxel of = m->of[m->of_size[LANE_SIZED][min(i, count - 1)]];
        if (i < count && lane < min(of.kept, (int)PC_SLOT_RECORDS)) {
            row[k] = m->rows[m->begin[of.voxel] + lane];
        }
        if (i < count && lane >= PC_SLOT_RECORDS && lane < of.kept) { /* clean for the next call */
            pc_extra_of(s, of.slot)[lane - PC_SLOT_RECORDS] = PC_NO_RECORD;
        }
        rows[32 * k + lane] = row[k];
    }
    __syncwarp();
    int rank[VOXEL_BATCH] = {};
    count_lower(rows, most, row, rank);
#pragma unroll
    for (int k = 0; k < VOXEL_BATCH; k++) {
        if (row[k] != PC_NO_RECORD) {
            const int voxel = m->of_size[LANE_SIZED][first + k * step];
            if (rank[k] < m->kept[voxel]) {
                m->rows[m->begin[voxel] + rank[k]] = row[k];
            }
        }
    }
    __syncwarp();
}

/* Copies the overflow records of a voxel from buckets to overflow_rows, from `first` on, by threads `lane` of `lanes`.
 * Returns the voxel and the chunk as select_kept expects them. */
__device__ static large_voxel gather_overflow(const pc_voxelize_params &s, fused_memory *m, int voxel, uint32_t first,
                                              uint32_t lane, uint32_t lanes, chunk *c) {
    large_voxel of = m->of[voxel];
    of.overflow_begin = first;
    for (uint32_t i = lane; i < of.overflow; i += GATHER_BATCH * lanes) {
        unsigned long long seen[GATHER_BATCH];
        uint32_t row[GATHER_BATCH]; /* right if the bucket is at its home */
#pragma unroll
        for (uint32_t k = 0; k < GATHER_BATCH; k++) {
            const uint32_t index = min(i + k * lanes, of.overflow - 1),
                           at = pc_bucket_home(s, pc_bucket_key(s, of.slot, index / PC_BUCKET_RECORDS));
            seen[k] = s.bucket_keys[at];
            row[k] = *pc_bucket_row(s, at, index);
        }
#pragma unroll
        for (uint32_t k = 0; k < GATHER_BATCH; k++) {
            const uint32_t index = min(i + k * lanes, of.overflow - 1);
            if (seen[k] != pc_bucket_key(s, of.slot, index / PC_BUCKET_RECORDS)) {
                row[k] = *pc_bucket_row(s, bucket_at(s, of.slot, index), index);
            }
            s.overflow_rows[first + index] = row[k];
        }
    }
    *c = chunk{0, 0, 0, m->kept, m->rows + m->begin[voxel] - voxel * s.kept, NULL, NULL};
    return of;
}

/* The kept records of WARP_SIZED and BLOCK_SIZED voxels; by the block. */
__device__ static void select_others(const pc_voxelize_params &s, fused_memory *m, uint32_t *scratch) {
    __shared__ uint32_t begin;
    const int warp = (int)threadIdx.x / 32;
    chunk c;
    for (int i = warp; i < m->count[WARP_SIZED]; i += FUSED_WARPS) {
        const int voxel = m->of_size[WARP_SIZED][i], lane = (int)threadIdx.x % 32;
        uint32_t first = lane == 0 ? atomicAdd(&s.counters->overflow, m->of[voxel].overflow) : 0;
        first = __shfl_sync(PC_ALL_LANES, first, 0);
        const large_voxel of = gather_overflow(s, m, voxel, first, (uint32_t)lane, 32, &c);
        __syncwarp();
        select_kept<FUSED_OVERFLOW_BATCH>(s, c, of, scratch + warp * (PC_MAX_POINTS + 4));
    }
    for (int i = 0; i < m->count[BLOCK_SIZED]; i++) {
        const int voxel = m->of_size[BLOCK_SIZED][i];
        __syncthreads();
        if (threadIdx.x == 0) {
            begin = atomicAdd(&s.counters->overflow, m->of[voxel].overflow);
        }
        __syncthreads();
        const large_voxel of = gather_overflow(s, m, voxel, begin, threadIdx.x, PC_FUSED_THREADS, &c);
        __syncthreads();
        select_kept_by_block<FUSED_WARPS, FUSED_OVERFLOW_BATCH>(s, c, of, scratch);
    }
}

/* ---- features --------------------------------------------------------------------------------------------------- */

/* Value: float4, a whole record of four columns; or float, a column of a record of any number of columns. */
template <typename Value> __device__ static uint32_t values_per_record(const pc_voxelize_params &s) {
    return sizeof(Value) == sizeof(float4) ? 1 : (uint32_t)s.columns;
}

/* Kept records that fit into the shared memory of a block. */
template <typename Value> __device__ static int fused_records(const pc_voxelize_params &s) {
    const int columns = (int)(values_per_record<Value>(s) * sizeof(Value) / sizeof(float));
    return columns <= 4 ? (int)PC_FUSED_RECORDS : PC_FUSED_RECORDS * 4 / columns;
}

/* Loads the kept records into shared memory. */
template <typename Value> __device__ static void load_fused_records(const pc_voxelize_params &s, fused_memory *m) {
    enum { AT_A_TIME = 2 };
    const uint32_t width = values_per_record<Value>(s), factor = factor_of(width), all = (uint32_t)m->records * width;
    for (uint32_t first = threadIdx.x; first < all; first += AT_A_TIME * PC_FUSED_THREADS) {
        Value value[AT_A_TIME] = {};
#pragma unroll
        for (uint32_t k = 0; k < AT_A_TIME; k++) {
            const uint32_t i = first + k * PC_FUSED_THREADS, record = divide(i, width, factor);
            if (i < all) {
                value[k] = ((const Value *)s.data)[(size_t)m->rows[record] * width + (i - record * width)];
            }
        }
#pragma unroll
        for (uint32_t k = 0; k < AT_A_TIME; k++) {
            if (first + k * PC_FUSED_THREADS < all) {
                ((Value *)m->values)[first + k * PC_FUSED_THREADS] = value[k];
            }
        }
    }
}

/* Coordinates and count. The key gives the cell without divisions of floating-point numbers. */
__device__ static void write_cell(const pc_voxelize_params &s, uint32_t id, uint32_t key, int kept) {
    const uint32_t line = key / pc_grid_cells(s, 0), plane = line / pc_grid_cells(s, 1);
    ((int4 *)s.coords)[id] =
        make_int4(0, (int)plane, (int)(line - plane * pc_grid_cells(s, 1)), (int)(key - line * pc_grid_cells(s, 0)));
    s.counts[id] = kept;
}

/* point_voxel of the records of `voxels` voxels with ids from `first` on. */
__device__ static void write_point_voxels(const pc_voxelize_params &s, const fused_memory *m, uint32_t first,
                                          int voxels) {
    for (int i = (int)threadIdx.x; i < m->records; i += PC_FUSED_THREADS) {
        if (m->voxel_of[i] < voxels) {
            s.point_voxel[m->rows[i]] = (int32_t)(first + m->voxel_of[i]);
        }
    }
}

template <typename Value>
__device__ static void write_fused_means(const pc_voxelize_params &s, const fused_memory *m, uint32_t first,
                                         int voxels) {
    const int columns = (int)(values_per_record<Value>(s) * sizeof(Value) / sizeof(float));
    for (int i = (int)threadIdx.x; i < voxels * columns; i += PC_FUSED_THREADS) {
        const int v = i / columns, k = i % columns;
        const float *values = (const float *)m->values + m->begin[v] * columns;
        s.means[(size_t)first * columns + (size_t)i] = pc_voxel_mean(values, columns, NULL, m->kept[v], k, false);
    }
}

/* Records, and zeros up to P. */
template <typename Value>
__device__ static void write_records(const pc_voxelize_params &s, const fused_memory *m, uint32_t first, int voxels) {
    const uint32_t width = values_per_record<Value>(s), all = (uint32_t)s.kept * width, factor = factor_of(all);
#pragma unroll 2
    for (uint32_t i = threadIdx.x; i < (uint32_t)voxels * all; i += PC_FUSED_THREADS) {
        const uint32_t v = divide(i, all, factor), offset = i - v * all;
        Value value = {};
        if (offset < (uint32_t)m->kept[v] * width) {
            value = ((const Value *)m->values)[m->begin[v] * width + offset];
        }
        ((Value *)s.features)[(size_t)first * all + i] = value;
    }
}

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

/* A thread per record. The block processes as many voxels together as have at most fused_records kept records. */
template <typename Value>
__global__ static void __launch_bounds__(PC_FUSED_THREADS, PC_RESIDENT(PC_FUSED_THREADS, PC_FUSED_BLOCKS))
    fused_kernel(const pc_voxelize_params s) {
    __shared__ fused_memory m;
    uint32_t *scratch = (uint32_t *)m.values, key, points, all; /* voxels << 16 | their kept records */
    pc_wait_for_last();
    const pc_voxel mine = voxel_at(s, blockIdx.x * PC_FUSED_THREADS + threadIdx.x, &key, &points);
    const uint32_t before = pc_block_scan<PC_FUSED_THREADS>(mine.kept ? 1u << 16 | mine.kept : 0, &all);
    const int voxels = (int)(all >> 16), voxel = (int)(before >> 16), warp = (int)threadIdx.x / 32;
    if (threadIdx.x == 0) {
        publish_count(s, (uint32_t)voxels);
    }
    if (voxels == 0 && blockIdx.x == gridDim.x - 1 && warp == 0) {
        voxels_before(s, 0);
    }
    for (int done = 0, begin = 0; done < voxels;) {
        const int end = (int)((before & 0xffffu) + mine.kept) - begin;
        const bool here = mine.kept > 0 && voxel >= done && end <= fused_records<Value>(s);
        const int count = __syncthreads_count(here);
        if (threadIdx.x < SIZES) {
            m.count[threadIdx.x] = 0;
        }
        __syncthreads();
        if (here) {
            stage_voxel(s, mine, voxel - done, end - (int)mine.kept, &m);
        }
        if (here && voxel == done + count - 1) {
            m.records = end;
        }
        __syncthreads();
        if (warp > 0) {
            for (int i = warp - 1; i < m.count[LANE_SIZED]; i += VOXEL_BATCH * (FUSED_WARPS - 1)) {
                select_lane_sized(s, &m, i, FUSED_WARPS - 1, scratch + (warp - 1) * 32 * VOXEL_BATCH);
            }
        } else if (done == 0) {
            const uint32_t others = voxels_before(s, (uint32_t)voxels);
            if (threadIdx.x == 0) {
                m.before = others;
            }
        }
        if (m.count[WARP_SIZED] + m.count[BLOCK_SIZED] > 0) {
            __syncthreads();
            select_others(s, &m, scratch);
        }
        __syncthreads();
        load_fused_records<Value>(s, &m);
        __syncthreads();
        const uint32_t first = m.before + (uint32_t)done;
        const int in_result = first < s.max_voxels ? (int)min((uint32_t)count, s.max_voxels - first) : 0;
        if (here && voxel - done < in_result) {
            write_cell(s, m.before + (uint32_t)voxel, key, (int)mine.kept);
        }
        if (s.point_voxel) {
            write_point_voxels(s, &m, first, in_result);
        }
        if (s.means) {
            write_fused_means<Value>(s, &m, first, in_result);
        }
        if (s.kind == PCGPU_FEATURES_POINTS) {
            write_records<Value>(s, &m, first, in_result);
        }
        begin += m.records;
        done += count;
    }
    const bool in_result = voxels > 0 && m.before + (uint32_t)voxel < s.max_voxels;
    add_block_sums<PC_FUSED_THREADS>(pc_sums_of(s),
                                     block_sums{points, in_result ? points : 0, in_result ? mine.kept : 0, points});
    pc_clean_sums(s);
}

#endif
