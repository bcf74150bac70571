/* Numbers of voxels, and which records each keeps, in order: the first half of voxelize_finish.cuh. */
#ifndef PC_VOXELIZE_FINISH_SELECT_CUH
#define PC_VOXELIZE_FINISH_SELECT_CUH

#include "voxelize_number.cuh"
#include "voxelize_select.cuh"

enum {
    FINISH_WARPS = PC_FINISH_THREADS / 32,
    TOGETHER = 5,      /* voxels that a warp looks at together, if a lane has a record */
    BROUGHT = 8,       /* late records that a thread brings together */
    LATE_TOGETHER = 8, /* late records that a lane looks at together: registers are few */
};

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

/* A tile tells how many voxels begin in it, + 1, and adds to the sum of its group: tiles of it that have been added,
 * and above these voxels. So a block has to look at the tiles of its group and at other groups only: all look at the
 * same time, and those that look at the same address wait for each other. */
__device__ static uint32_t *tile_of(const pc_hashed &s, int tile) {
    return s.words + tile;
}

__device__ static uint32_t *group_of(const pc_hashed &s, int group) {
    return s.words + pc_finish_tiles(s.rows) + group;
}

/* By one thread. */
__device__ static void tell_voxels(const pc_hashed &s, uint32_t voxels) {
    const int tile = (int)blockIdx.x;
    pc_half_store(tile_of(s, tile), voxels + 1);
    atomicAdd(group_of(s, tile / PC_FINISH_GROUP), voxels * 2 * PC_FINISH_GROUP + 1);
}

/* How many voxels begin in the tiles before this one; by a warp. */
__device__ static uint32_t voxels_before(const pc_hashed &s, uint32_t voxels) {
    const int tile = (int)blockIdx.x, lane = (int)threadIdx.x % 32;
    uint32_t sum = 0;
    for (int first = 0; first < tile / PC_FINISH_GROUP; first += 32) {
        uint32_t seen = PC_FINISH_GROUP;
        if (first + lane < tile / PC_FINISH_GROUP) {
            while ((seen = pc_half_load(group_of(s, first + lane))) % (2 * PC_FINISH_GROUP) < PC_FINISH_GROUP) {
                pc_pause();
            }
        }
        sum += seen / (2 * PC_FINISH_GROUP);
    }
    if (lane < tile % PC_FINISH_GROUP) {
        uint32_t seen;
        while ((seen = pc_half_load(tile_of(s, tile / PC_FINISH_GROUP * PC_FINISH_GROUP + lane))) == 0) {
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

/* The voxel that record i begins, or one without records. key: of its cell; points: how many it has, dropped ones too.
 */
__device__ static pc_numbered voxel_at(const pc_hashed &s, uint32_t i, uint32_t *key, uint32_t *points) {
    pc_numbered of = {};
    const uint32_t place = i < s.rows ? s.place[i] : PC_NO_SLOT, slot = PC_SLOT_OF(place);
    *key = *points = 0;
    if (place & PC_MAYBE) {
        beginning b = begin_of(s, slot);
        pc_settle(b.rows.x); /* on its way together with the head */
        if (b.head.z == i) {
            of = pc_numbered{
                min(b.head.x, (uint32_t)s.kept), slot, late_of(s, b.head), 0, {b.rows.x, b.rows.y, b.rows.z, b.rows.w}};
            *key = b.head.y;
            *points = points_of(s, b.head, slot);
        }
    }
    return of;
}

/* Voxels with more records than a slot holds: those that have no more than a warp has lanes, late ones too, and these
 * in one bucket; those that have; and crowded ones. */
enum { SMALLER, LARGER, CROWDED, LARGE_KINDS };

/* Voxels that the block fills at once, and their kept records, one voxel after the other; in shared memory. */
typedef struct finish_memory {
    float4 values[PC_FINISH_ROWS]; /* before there are values, room for other things */
    uint32_t rows[PC_FINISH_ROWS];
    uint8_t voxel_of[PC_FINISH_ROWS];
    large of[PC_FINISH_THREADS];                      /* by voxel, those that are large */
    uint8_t large_of[LARGE_KINDS][PC_FINISH_THREADS]; /* count: these voxels by kind */
    int count[LARGE_KINDS];
    int16_t kept[PC_FINISH_THREADS];
    uint16_t begin[PC_FINISH_THREADS]; /* of each voxel, where its records begin */
    uint32_t before;                   /* voxels in the tiles before this one */
    int records;
} finish_memory;

/* The bucket that late record i of a voxel is in. */
__device__ static uint32_t bucket_at(const pc_hashed &s, uint32_t slot, uint32_t i) {
    const unsigned long long key = pc_bucket_key(s, slot, i / PC_BUCKET_ROWS);
    uint32_t at = pc_bucket_home(s, key);
    while (s.bucket_keys[at] != key) {
        at = (at + 1) & s.bucket_mask;
    }
    return at;
}

/* What the slot of the thread's voxel has goes to its place, and voxels with more records than that into a list. */
__device__ static void take_voxel(const pc_hashed &s, const pc_numbered &of, int voxel, int begin, finish_memory *m) {
    const int kept = (int)of.kept;
    uint32_t row[PC_SLOT_ROWS] = {of.row[0], of.row[1], of.row[2], of.row[3]}; /* those that are not there are ~0 */
    m->begin[voxel] = (uint16_t)begin;
    m->kept[voxel] = (int16_t)kept;
    if (kept > PC_SLOT_ROWS || of.late) {
        const int kind = (uint32_t)kept + of.late <= 32 && of.late <= PC_BUCKET_ROWS ? SMALLER
                         : of.late < CROWD                                           ? LARGER
                                                                                     : CROWDED;
        large l = {voxel, kept, of.slot, of.late, 0};
        if (kind == SMALLER && of.late) {
            l.late_first = bucket_at(s, of.slot, 0) * PC_BUCKET_ROWS;
        }
        m->of[voxel] = l;
        m->large_of[kind][atomicAdd(&m->count[kind], 1)] = (uint8_t)voxel;
    } else {
        order_four(row);
    }
#pragma unroll
    for (int k = 0; k < PC_SLOT_ROWS; k++) {
        if (k < kept) {
            m->rows[begin + k] = row[k];
        }
    }
    for (int k = 0; k < kept; k++) {
        m->voxel_of[begin + k] = (uint8_t)voxel;
    }
    pc_clean_slot(s, of);
}

/* The kept records of SMALLER voxels `first` and on, `step` apart, as many as TOGETHER, go to their places, in order, a
 * lane a record; by a warp. `rows`: of TOGETHER x 32. The loads are without branches, which would wait for each other.
 */
__device__ static void collect_smaller(const pc_hashed &s, finish_memory *m, int first, int step, uint32_t *rows) {
    const int lane = (int)threadIdx.x % 32, count = m->count[SMALLER];
    uint32_t row[TOGETHER];
    int most = 0;
#pragma unroll
    for (int k = 0; k < TOGETHER; k++) {
        const int i = first + k * step;
        const large of = m->of[m->large_of[SMALLER][min(i, count - 1)]];
        const int late = lane - of.kept;
        const uint32_t *beside = pc_more_of(s, of.slot) + (lane - PC_SLOT_ROWS),
                       *from = late < 0 ? beside : s.bucket_rows + of.late_first + late;
        const bool there = late < 0 ? lane >= PC_SLOT_ROWS : late < (int)of.late;
        row[k] = PC_NO_ROW;
        if (i < count && there) {
            row[k] = *from;
        }
        most = max(most, i < count ? of.kept + (int)of.late : 0);
    }
#pragma unroll
    for (int k = 0; k < TOGETHER; k++) {
        const int i = first + k * step;
        const large of = m->of[m->large_of[SMALLER][min(i, count - 1)]];
        if (i < count && lane < min(of.kept, (int)PC_SLOT_ROWS)) {
            row[k] = m->rows[m->begin[of.voxel] + lane];
        }
        if (i < count && lane >= PC_SLOT_ROWS && lane < of.kept) { /* as the next call wants it */
            pc_more_of(s, of.slot)[lane - PC_SLOT_ROWS] = PC_NO_ROW;
        }
        rows[32 * k + lane] = row[k];
    }
    __syncwarp();
    int rank[TOGETHER] = {};
    count_lower(rows, most, row, rank);
#pragma unroll
    for (int k = 0; k < TOGETHER; k++) {
        if (row[k] != PC_NO_ROW) {
            const int voxel = m->large_of[SMALLER][first + k * step];
            if (rank[k] < m->kept[voxel]) {
                m->rows[m->begin[voxel] + rank[k]] = row[k];
            }
        }
    }
    __syncwarp();
}

/* A voxel as fill has it: its late records in an array, by threads `lane` of `lanes` that have met, and its place in a
 * chunk. first: where there is room in late_rows. */
__device__ static large gather_late(const pc_hashed &s, finish_memory *m, int voxel, uint32_t first, uint32_t lane,
                                    uint32_t lanes, chunk *c) {
    large of = m->of[voxel];
    of.late_first = first;
    for (uint32_t i = lane; i < of.late; i += BROUGHT * lanes) {
        unsigned long long seen[BROUGHT];
        uint32_t row[BROUGHT]; /* if the bucket is where it is looked for first */
#pragma unroll
        for (uint32_t k = 0; k < BROUGHT; k++) {
            const uint32_t number = min(i + k * lanes, of.late - 1),
                           at = pc_bucket_home(s, pc_bucket_key(s, of.slot, number / PC_BUCKET_ROWS));
            seen[k] = s.bucket_keys[at];
            row[k] = *pc_bucket_row(s, at, number);
        }
#pragma unroll
        for (uint32_t k = 0; k < BROUGHT; k++) {
            const uint32_t number = min(i + k * lanes, of.late - 1);
            if (seen[k] != pc_bucket_key(s, of.slot, number / PC_BUCKET_ROWS)) {
                row[k] = *pc_bucket_row(s, bucket_at(s, of.slot, number), number);
            }
            s.late_rows[first + number] = row[k];
        }
    }
    *c = chunk{0, 0, 0, m->kept, m->rows + m->begin[voxel] - voxel * s.kept, NULL, NULL};
    return of;
}

/* The kept records of voxels with more records than lanes; by the block. */
__device__ static void collect_others(const pc_hashed &s, finish_memory *m, uint32_t *scratch) {
    __shared__ uint32_t room;
    const int warp = (int)threadIdx.x / 32;
    chunk c;
    for (int i = warp; i < m->count[LARGER]; i += FINISH_WARPS) {
        const int voxel = m->large_of[LARGER][i], lane = (int)threadIdx.x % 32;
        uint32_t first = lane == 0 ? atomicAdd(&s.counters->late, m->of[voxel].late) : 0;
        first = __shfl_sync(PC_ALL_LANES, first, 0);
        const large of = gather_late(s, m, voxel, first, (uint32_t)lane, 32, &c);
        __syncwarp();
        collect<LATE_TOGETHER>(s, c, of, scratch + warp * (PC_MOST_KEPT + 4));
    }
    for (int i = 0; i < m->count[CROWDED]; i++) {
        const int voxel = m->large_of[CROWDED][i];
        __syncthreads();
        if (threadIdx.x == 0) {
            room = atomicAdd(&s.counters->late, m->of[voxel].late);
        }
        __syncthreads();
        const large of = gather_late(s, m, voxel, room, threadIdx.x, PC_FINISH_THREADS, &c);
        __syncthreads();
        collect_crowded<FINISH_WARPS, LATE_TOGETHER>(s, c, of, scratch);
    }
}

#endif
