/* The fused kernel of voxelize_hash.cuh: ids, overflow records and features in one kernel, for small clouds with a
 * small P. A block assigns the ids of the voxels whose lowest records are its own, and computes their features. Its
 * warps select and load records while one warp waits for the counts of the blocks before it. Insert has put overflow
 * records into buckets of a second hash table. */
#ifndef PC_VOXELIZE_FUSED_CUH
#define PC_VOXELIZE_FUSED_CUH

#include "voxelize_scan.cuh"
#include "voxelize_staged.cuh"

enum {
    FUSED_WARPS = PC_FUSED_THREADS / 32,
    LOAD_BATCH = 2,  /* values of kept records that a thread loads together */
    VOXEL_BATCH = 5, /* voxels per warp and step if each has at most 32 records */
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

/* Clears the first bucket of a voxel, and returns which it is. */
__device__ static uint32_t clear_bucket(const pc_voxelize_params &s, uint32_t slot) {
    const unsigned long long key = pc_bucket_key(slot);
    uint32_t at = pc_bucket_home(s, key);
    while (s.bucket_keys[at] != key) {
        at = (at + 1) & s.bucket_mask;
    }
    s.bucket_keys[at] = 0;
    return at;
}

/* Stages the thread's voxel, and lists it by its size if it has more records than a slot has. */
__device__ static void stage_or_list(const pc_voxelize_params &s, const pc_voxel &of, int voxel, int begin,
                                     fused_memory *m) {
    const int kept = (int)of.kept;
    if (stage_voxel(s, of, voxel, kept, begin, m)) {
        const int size = (uint32_t)kept + of.overflow <= 32 && of.overflow <= PC_BUCKET_RECORDS ? LANE_SIZED
                         : of.overflow < BLOCK_OVERFLOW                                         ? WARP_SIZED
                                                                                                : BLOCK_SIZED;
        large_voxel l = {voxel, kept, of.slot, of.overflow, 0};
        if (size == LANE_SIZED && of.overflow) {
            l.overflow_begin = clear_bucket(s, of.slot) * PC_BUCKET_RECORDS;
        }
        m->of[voxel] = l;
        m->of_size[size][atomicAdd(&m->count[size], 1)] = (uint8_t)voxel;
    }
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

/* The kept records of WARP_SIZED and BLOCK_SIZED voxels; by the block. */
__device__ static void select_others(const pc_voxelize_params &s, fused_memory *m, uint32_t *scratch) {
    const int warp = (int)threadIdx.x / 32;
    for (int i = warp; i < m->count[WARP_SIZED]; i += FUSED_WARPS) {
        const large_voxel of = m->of[m->of_size[WARP_SIZED][i]];
        select_kept<PC_BUCKET_RECORDS, PC_BUCKET_RECORDS>(
            s, of, in_buckets(s, of.slot), true, m->rows + m->begin[of.voxel], scratch + warp * (PC_MAX_POINTS + 4));
    }
    for (int i = 0; i < m->count[BLOCK_SIZED]; i++) {
        const large_voxel of = m->of[m->of_size[BLOCK_SIZED][i]];
        __syncthreads();
        select_kept_by_block<FUSED_WARPS, PC_BUCKET_RECORDS>(s, of, in_buckets(s, of.slot),
                                                             m->rows + m->begin[of.voxel], scratch);
    }
}

/* ---- features --------------------------------------------------------------------------------------------------- */

/* Kept records that fit into the shared memory of a block. */
template <typename Value> __device__ static int fused_records(const pc_voxelize_params &s) {
    const int columns = (int)(values_per_record<Value>(s) * sizeof(Value) / sizeof(float));
    return columns <= 4 ? (int)PC_FUSED_RECORDS : PC_FUSED_RECORDS * 4 / columns;
}

/* Coordinates and count. The key gives the cell without divisions of floating-point numbers. */
__device__ static void write_cell(const pc_voxelize_params &s, uint32_t id, uint32_t key, int kept) {
    const uint32_t line = key / pc_grid_cells(s, 0), plane = line / pc_grid_cells(s, 1);
    ((int4 *)s.coords)[id] =
        make_int4(0, (int)plane, (int)(line - plane * pc_grid_cells(s, 1)), (int)(key - line * pc_grid_cells(s, 0)));
    s.counts[id] = kept;
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
            stage_or_list(s, mine, voxel - done, end - (int)mine.kept, &m);
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
        load_records<Value, PC_FUSED_THREADS, LOAD_BATCH>(s, m, (float *)m.values);
        __syncthreads();
        const uint32_t first = m.before + (uint32_t)done;
        const int in_result = first < s.max_voxels ? (int)min((uint32_t)count, s.max_voxels - first) : 0;
        if (here && voxel - done < in_result) {
            write_cell(s, m.before + (uint32_t)voxel, key, (int)mine.kept);
        }
        write_staged<Value, PC_FUSED_THREADS>(s, m, (const float *)m.values, in_result, consecutive{first});
        begin += m.records;
        done += count;
    }
    const bool in_result = voxels > 0 && m.before + (uint32_t)voxel < s.max_voxels;
    add_block_sums<PC_FUSED_THREADS>(pc_sums_of(s),
                                     block_sums{points, in_result ? points : 0, in_result ? mine.kept : 0, points});
    pc_clean_sums(s);
}

#endif
