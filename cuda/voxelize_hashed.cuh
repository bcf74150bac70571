/* Voxelization with a limit of P points, or of means or single records of all points, in three or four kernels and
 * without a device-wide sort.
 *
 * insert: Every record finds or claims the slot of its cell in a hash table. The records of a cell are counted as they
 * arrive; the first PC_SLOT_ROWS are kept in the slot, those up to P beside it, later ones are `late`. The slot also
 * keeps the lowest record.
 *
 * number: Voxels are numbered by their lowest records, in one pass with decoupled look-back (Merrill and Garland 2016)
 * over "is the lowest of its voxel", which shares out places for the late records on the way. What the slots have goes
 * to an array by number.
 *
 * gather: Late records go to their places; of a cloud whose tiles all run at once, number does it.
 *
 * fill: The kept records of each voxel are sorted, and the features made of them; its slot is cleaned. Without a limit,
 * all records but the first PC_SLOT_ROWS are late, and what is made of them does not depend on their order
 * (voxelize_all.cuh).
 *
 * Records arrive in any order, so any P of a voxel's are first; but the highest of these is a bound: a record above it
 * is not among the P lowest. From some number of records on, it is told in the slot, and records above it are
 * counted and dropped. As a GPU runs the blocks of a launch more or less in order, few others are late in a large
 * cloud.
 *
 * The table is clean between calls and so needs no time to be cleared. It takes 40 + 4 (P - PC_SLOT_ROWS) bytes a slot,
 * of which only what the voxels use is touched; nothing grows with the volume of the grid. */
#ifndef PC_VOXELIZE_HASHED_CUH
#define PC_VOXELIZE_HASHED_CUH

#include "ptx.cuh"
#include "voxelize.cuh"
#include "warp.cuh"

enum {
    PC_MOST_KEPT = 64, /* points of a voxel */
    PC_MOST_COLUMNS = 16,
    PC_SLOT_ROWS = 4,
    PC_INSERT_THREADS = 256,
    PC_INSERTS = 8, /* blocks of insert a multiprocessor */
    PC_NUMBER_THREADS = 512,
    PC_TILE_ROWS = 2 * PC_NUMBER_THREADS,  /* records that a block numbers, */
    PC_MANY_ROWS = 16 * PC_NUMBER_THREADS, /* or where there are many */
    PC_ALL_THREADS = 128,                  /* of fill_all */
    PC_FILL_THREADS = 128,
    PC_FILLS = 8,        /* blocks of fill a multiprocessor */
    PC_FILL_ROWS = 1024, /* kept records that a block of fill holds at once, of four columns: fewer of more */
};

#define PC_NO_KEY         0xffffffffu
#define PC_NO_ROW         0xffffffffu /* and no bound: a clean slot is all ones */
#define PC_NO_SLOT        0x3fffffffu
#define PC_LATE           0x40000000u
#define PC_MAYBE          0x80000000u /* may be the lowest record of its voxel */
#define PC_SLOT_OF(place) ((place)&PC_NO_SLOT)

typedef struct __align__(32) pc_slot {
    unsigned long long counted; /* key << 32 | records so far that were not dropped */
    uint32_t first;             /* the lowest record */
    uint32_t bound;             /* no kept record is above it */
    uint32_t row[PC_SLOT_ROWS]; /* records as they came */
}
pc_slot;

/* A voxel by number. */
typedef struct __align__(32) pc_numbered {
    uint32_t kept, slot;
    uint32_t late, late_first; /* how many, and where they begin in late_rows */
    uint32_t row[PC_SLOT_ROWS];
}
pc_numbered;

/* Sums over records and voxels; integers, so the order of the atomic additions does not matter. */
typedef struct pc_voxelize_sums {
    unsigned long long non_finite, at_origin, in_range, under_limit, kept, largest;
} pc_voxelize_sums;

enum { PC_SUMS = 16 /* sets: blocks that add to the same address wait for each other */ };

typedef struct pc_voxelize_counters {
    pc_voxelize_sums sums[2][PC_SUMS]; /* of this call and of the last one in turn; fill clears those of the last */
    uint32_t found, late;
} pc_voxelize_counters;

/* What the kernels share; passed by value. Arrays in device memory. */
typedef struct pc_hashed {
    pc_grid grid;
    float inverse[3];          /* 1 / size, or NaN where that is not to be multiplied by */
    uint32_t cells_of[3];      /* grid.cells */
    bool skip_origin, aligned; /* aligned: a record is a float4 */
    float skip[3];
    uint32_t rows;
    int columns, kept; /* kept: P, or, where all are, PC_SLOT_ROWS */
    bool all;          /* no limit of points */
    uint32_t most;     /* voxels in the result, */
    uint32_t room;     /* or in all */
    pcgpu_features kind;
    const float *data;
    /* The table: */
    uint32_t mask; /* slots - 1 */
    pc_slot *slots;
    uint32_t *more;            /* slots x (P - PC_SLOT_ROWS): further records as they came */
    uint2 *late;               /* slots: dropped records, and where late ones begin in late_rows plus 1 */
    unsigned long long *tiles; /* of number: what each block has found */
    pc_voxelize_counters *counters;
    int turn; /* which of the sums */
    /* Of this call: */
    uint32_t *place;     /* rows: slot, PC_LATE, PC_MAYBE; with marks only where one of the two is set */
    uint32_t *rank;      /* rows: of a late record among those of its voxel */
    uint2 *marks;        /* where there are many records, of 32 each a bit a record: PC_MAYBE, PC_LATE; else NULL */
    uint32_t *late_rows; /* the late records, those of a voxel together */
    pc_numbered *voxels;
    /* The result; `means` and `point_voxel` may be NULL. */
    int32_t *point_voxel, *coords, *counts, *selected;
    float *features, *means;
} pc_hashed;

__device__ static inline uint32_t *pc_more_of(const pc_hashed &s, uint32_t slot) {
    return s.more + (size_t)slot * (size_t)max(s.kept - (int)PC_SLOT_ROWS, 0);
}

__device__ static inline pc_voxelize_sums *pc_sums_of(const pc_hashed &s) {
    return &s.counters->sums[s.turn][blockIdx.x % PC_SUMS];
}

/* The slot of a voxel as the next call wants it, and what belongs to it. */
__device__ static inline void pc_clean_slot(const pc_hashed &s, const pc_numbered &of) {
    uint4 *slot = (uint4 *)&s.slots[of.slot];
    slot[0] = slot[1] = make_uint4(~0u, ~0u, ~0u, ~0u);
    if (of.late) {
        s.late[of.slot] = make_uint2(0, 0);
    }
}

/* Of a voxel with a record at p. */
__device__ static inline void pc_write_coords(const pc_hashed &s, uint32_t number, const float *p) {
    int32_t coords[4];
    pc_voxel_coords(&s.grid, p, coords);
    ((int4 *)s.coords)[number] = make_int4(coords[0], coords[1], coords[2], coords[3]);
}

/* What other kernels and the next call want to find zero; by the last kernel. */
__device__ static inline void pc_clean(const pc_hashed &s) {
    const int64_t tiles = ((int64_t)s.rows + PC_TILE_ROWS - 1) / PC_TILE_ROWS, step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < tiles; i += step) {
        s.tiles[i] = 0;
    }
    if (blockIdx.x == 0 && threadIdx.x < PC_SUMS) {
        s.counters->sums[1 - s.turn][threadIdx.x] = pc_voxelize_sums{0, 0, 0, 0, 0, 0};
    }
}

#endif
