/* Variants `direct`, `fused`, `reduce` and `hash` of voxelization, in two or three kernels and without a sort of all
 * records. The first P records of a voxel by index are kept (P = max_points); without a limit all are, and reduced to
 * means or single records.
 *
 * insert: Every record finds or claims the slot of its cell in a hash table. Records are counted as they arrive: the
 * first PC_SLOT_RECORDS are stored in the slot, those up to P in `extra`, later ones are overflow records. The slot
 * also has the minimum index of its records.
 *
 * scan: A voxel's id is the rank of its lowest record among the lowest records of all voxels: a prefix sum in one pass
 * with decoupled look-back (Merrill and Garland 2016) over "is the lowest record of its voxel". The same pass assigns
 * ranges of an array to the overflow records of each voxel, and copies the slots to an array that is ordered by id. If
 * the cloud is not small (PC_VOXELIZE_SMALL), insert sets flags for the few records that can be lowest or are overflow,
 * a bit each, and only flagged records are read again.
 *
 * gather: Overflow records are copied to the ranges of their voxels. For small clouds the scan kernel does this.
 *
 * emit (voxelize_emit.cuh): The kept records of each voxel are sorted, features are computed, slots are cleared.
 *
 * `reduce`: Without a limit the kernel of voxelize_reduce.cuh takes the place of emit.
 *
 * `fused`: A kernel (voxelize_fused.cuh) replaces scan and emit for small clouds (PC_VOXELIZE_SMALL) with a small P,
 * unless they are very small, so that nothing is written for another kernel to read.
 *
 * `direct` (voxelize_direct.cuh) is for grids of few cells, such as pillars: the key of a cell is its index in an array
 * with an entry per cell. Segment heads, a bit per record, are updated while records arrive, so that two kernels
 * suffice.
 *
 * Cutoff index: records arrive in any order, but the highest of any P records of a voxel is an upper limit for its P
 * lowest. Once it is published in the slot, records above it are counted and dropped. A GPU runs the blocks of a launch
 * more or less in order, so that a large cloud has few overflow records.
 *
 * Memory: 40 + 4 (P - PC_SLOT_RECORDS) bytes per slot; nothing grows with the volume of the grid. The table is left
 * clean by each call, so that no call has to clear it. Small clouds get a slot for each possible voxel. The table of
 * other clouds starts small, since they have far fewer voxels than records and a table of gigabytes takes a third more
 * time. If insert finds no free slot close to a cell's home, it drops the records and sets `full`; the host reads this
 * flag with the number of voxels and repeats the call with a larger table. */
#ifndef PC_VOXELIZE_HASH_CUH
#define PC_VOXELIZE_HASH_CUH

#include "ptx.cuh"
#include "voxelize.cuh"
#include "warp.cuh"

/* Names in _BLOCKS are blocks per multiprocessor. */
enum {
    PC_SLOT_RECORDS = 4,
    PC_INSERT_THREADS = 256,
    PC_INSERT_BLOCKS = 8,
    PC_SCAN_THREADS = 512,
    PC_SCAN_BLOCKS = 3,                 /* with flags */
    PC_TILE_ROWS = 2 * PC_SCAN_THREADS, /* records per block of the scan */
    PC_FLAG_WORDS = 16,                 /* with flags: words of 32 records per warp */
    PC_REDUCE_THREADS = 128,
    PC_REDUCE_BLOCKS = 8,
    PC_EMIT_THREADS = 128,
    PC_EMIT_BLOCKS = 8,
    PC_EMIT_RECORDS = 1024, /* kept records of four columns in the shared memory of a block */
    PC_FUSED_THREADS = 256, /* and records per block */
    PC_FUSED_BLOCKS = 4,
    PC_FUSED_GROUP = 32,      /* blocks whose counts are added up */
    PC_FUSED_RECORDS = 768,   /* kept records in shared memory; the rest of it is L1 cache, for loads in flight */
    PC_FUSED_MAX_POINTS = 16, /* P: a larger one gives the first tiles, where most voxels begin, ten times the work */
    PC_DIRECT_THREADS = 256,
    PC_DIRECT_BLOCKS = 4,
    PC_OVERFULL_BLOCKS = 32, /* blocks of a launch that begin with overfull voxels: those with more than P records */
    PC_PARTITIONS = 16,      /* of the list of occupied cells */
    PC_HEAD_RECORDS = 1024,  /* records that share a count of segment heads */
    PC_COUNT_STRIDE = 8,     /* words between counts: each has its own sector of the cache */
    PC_ATOMIC_STRIDE = 128,  /* and where the sum is waited for, its own slice */
    PC_BUCKET_RECORDS = 16,
    PC_COLUMN_BATCH = 8,       /* columns of a record in shared memory, unless there are four */
    PC_BUCKET_SLOT_BITS = 22,  /* of the key of a bucket */
    PC_BUCKET_INDEX_BITS = 15, /* likewise */
    PC_SUM_SETS = 16           /* of sums over records: atomic additions to one address are serialized */
};

/* Clouds of fewer records are small. LARGE_OVERFULL: overfull voxels that a block of direct_emit sets aside for all of
 * its warps. Tests have smaller values here and in voxelize_table.cuh, so that small clouds run every kernel. */
#ifndef PC_VOXELIZE_SMALL
#define PC_VOXELIZE_SMALL          500000
#define PC_VOXELIZE_LARGE_OVERFULL 16
#endif

enum { PC_HEAD_COUNTS = PC_VOXELIZE_SMALL / PC_HEAD_RECORDS + 1 };

#define PC_NO_KEY       0xffffffffu
#define PC_NO_RECORD    0xffffffffu /* also "no cutoff": a clean slot is all ones */
#define PC_NO_SLOT      0x3fffffffu
#define PC_OVERFLOW     0x40000000u
#define PC_MAYBE_FIRST  0x80000000u /* can be the lowest record of its voxel */
#define PC_SLOT_OF(tag) ((tag)&PC_NO_SLOT)

typedef struct __align__(32) pc_slot {
    unsigned long long key_count;  /* key << 32 | number of records that were not dropped */
    uint32_t first;                /* the lowest record */
    uint32_t cutoff;               /* no kept record is above it */
    uint32_t row[PC_SLOT_RECORDS]; /* in order of arrival */
}
pc_slot;

/* direct: a cell of the grid. Its records are in `cell_records`, in order of arrival. */
typedef struct pc_cell {
    uint32_t last;  /* number of records, - 1 */
    uint32_t first; /* the lowest record */
} pc_cell;

/* direct: lengths of the lists of occupied and of overfull cells; segment heads, which are the lowest records of
 * voxels, a bit per record, and their number in every PC_HEAD_RECORDS records. */
typedef struct pc_heads {
    uint32_t occupied[PC_PARTITIONS][PC_ATOMIC_STRIDE];
    uint32_t overfull[PC_ATOMIC_STRIDE];
    uint32_t count[PC_HEAD_COUNTS][PC_COUNT_STRIDE];
    uint32_t bits[PC_HEAD_COUNTS * PC_HEAD_RECORDS / 32];
} pc_heads;

/* A voxel, in the array that is ordered by id. */
typedef struct __align__(32) pc_voxel {
    uint32_t kept, slot;
    uint32_t overflow, overflow_begin; /* overflow records: how many, and the first one in overflow_rows */
    uint32_t row[PC_SLOT_RECORDS];
}
pc_voxel;

/* Sums over records and voxels; integers, so the order of the atomic additions does not matter. */
typedef struct pc_voxelize_sums {
    unsigned long long non_finite, at_origin, in_range, under_limit, kept, largest;
} pc_voxelize_sums;

typedef struct pc_voxelize_counters {
    pc_voxelize_sums sums[2][PC_SUM_SETS]; /* alternate: a call clears those of the call before it */
    uint32_t found, overflow;
    uint32_t full; /* not 0: there were records without a slot */
} pc_voxelize_counters;

/* Parameters of all kernels, passed by value; arrays are in device memory. What every kernel reads comes first. Beyond
 * 256 bytes of parameters a kernel starts 0.5 us later, so this struct has at most 248. */
typedef struct pc_voxelize_params {
    uint32_t rows;
    int columns, kept; /* kept: P, or PC_SLOT_RECORDS without a limit */
    uint32_t mask;     /* slots - 1 */
    /* Kept from call to call: */
    union {
        pc_slot *slots;
        pc_cell *cells; /* direct: one per cell of the grid */
    };
    union {
        uint32_t *extra;        /* slots x (P - PC_SLOT_RECORDS): kept records that are not in the slots */
        uint32_t *cell_records; /* direct: cells x (P, up to a multiple of 4) */
    };
    uint2 *overflow; /* slots: number of dropped records; offset of the overflow records in overflow_rows, + 1 */
    pc_voxelize_counters *counters;
    /* Of this call: */
    union {
        uint32_t *tag;      /* rows: slot, PC_OVERFLOW, PC_MAYBE_FIRST; with flags only for flagged records */
        uint32_t *occupied; /* direct: occupied cells, in PC_PARTITIONS lists */
    };
    int32_t *point_voxel; /* of the result; may be NULL */
    union {
        uint32_t *overflow_rows; /* overflow records, those of a voxel together */
        uint32_t *overfull;      /* direct: cells with more than P records */
    };
    union {
        struct {
            uint2 *flags;              /* a bit per record: PC_MAYBE_FIRST, PC_OVERFLOW; NULL for small clouds */
            uint32_t *rank;            /* rows: of an overflow record among those of its voxel */
            unsigned long long *tiles; /* scan: counts that each block publishes */
            pc_voxel *voxels;
        };
        struct { /* fused and direct: overflow records are in buckets, found by slot and index */
            unsigned long long *bucket_keys;
            uint32_t *bucket_records, bucket_mask;
            uint32_t epoch; /* fused: part of the keys, so that buckets of earlier calls are free; direct: call count */
            union {
                uint32_t *tile_counts; /* fused: counts that each block publishes; insert clears them */
                pc_heads *heads;       /* direct: two, which alternate; direct_emit clears that of the call before */
            };
        };
    };
    int parity;          /* which set of sums this call has */
    uint32_t max_voxels; /* in the result */
    uint32_t capacity;   /* upper limit of all voxels: the least of records, cells and slots */
    pcgpu_features kind;
    const float *data;
    /* The result; `means` may be NULL. */
    int32_t *coords, *counts, *selected;
    float *features, *means;
    bool unlimited;            /* no max_points */
    bool skip_origin, aligned; /* aligned: a record is a float4 */
    float inverse[3];          /* 1 / size, or NaN where it would not be accurate */
    pc_grid grid;
    float skip[3];
} pc_voxelize_params;

static_assert(sizeof(pc_voxelize_params) <= 248, "parameters that delay the start of a kernel");

/* Cells of the grid along an axis. */
__device__ static inline uint32_t pc_grid_cells(const pc_voxelize_params &s, int axis) {
    return (uint32_t)s.grid.cells[axis];
}

__device__ static inline uint32_t *pc_extra_of(const pc_voxelize_params &s, uint32_t slot) {
    return s.extra + (size_t)slot * (size_t)max(s.kept - (int)PC_SLOT_RECORDS, 0);
}

__device__ static inline pc_voxelize_sums *pc_sums_of(const pc_voxelize_params &s) {
    return &s.counters->sums[s.parity][blockIdx.x % PC_SUM_SETS];
}

/* fused: a word for each block, and then one for every PC_FUSED_GROUP blocks. */
static inline __host__ __device__ uint32_t pc_fused_tiles(uint32_t rows) {
    return rows / PC_FUSED_THREADS + 1;
}

static inline __host__ __device__ uint32_t pc_fused_words(uint32_t rows) {
    return pc_fused_tiles(rows) + pc_fused_tiles(rows) / PC_FUSED_GROUP + 1;
}

/* direct: capacity of a list of occupied cells; the lists take 32 records each in turn. */
static inline __host__ __device__ uint32_t pc_partition_capacity(uint32_t rows) {
    return (rows / (32 * PC_PARTITIONS) + 1) * 32;
}

/* direct: capacity of a cell in cell_records. */
static inline __host__ __device__ uint32_t pc_cell_capacity(int kept) {
    return ((uint32_t)kept + 3) / 4 * 4;
}

__device__ static inline pc_heads *pc_heads_of(const pc_voxelize_params &s) {
    return &s.heads[s.epoch % 2];
}

/* ---- buckets of overflow records -------------------------------------------------------------------------------- */

/* Bucket `index` of a slot. */
__device__ static inline unsigned long long pc_bucket_key(const pc_voxelize_params &s, uint32_t slot, uint32_t index) {
    return ((unsigned long long)s.epoch << PC_BUCKET_SLOT_BITS | slot) << PC_BUCKET_INDEX_BITS | index;
}

/* direct: the bucket of overflow record `index` of a cell. Buckets are cleared after use, and 0 is no key. */
__device__ static inline unsigned long long pc_cell_bucket_key(uint32_t cell, uint32_t index) {
    return ((unsigned long long)cell + 1) << PC_BUCKET_INDEX_BITS | index / PC_BUCKET_RECORDS;
}

__device__ static inline bool pc_bucket_in_use(const pc_voxelize_params &s, unsigned long long key) {
    return key >> (PC_BUCKET_SLOT_BITS + PC_BUCKET_INDEX_BITS) == s.epoch;
}

__device__ static inline uint32_t pc_bucket_home(const pc_voxelize_params &s, unsigned long long key) {
    return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) & s.bucket_mask;
}

/* Overflow record i of a voxel, in bucket `at`. */
__device__ static inline uint32_t *pc_bucket_row(const pc_voxelize_params &s, uint32_t at, uint32_t i) {
    return s.bucket_records + (size_t)at * PC_BUCKET_RECORDS + i % PC_BUCKET_RECORDS;
}

/* ---- cleaning up, and coordinates ------------------------------------------------------------------------------- */

__device__ static inline void pc_clean_slot(const pc_voxelize_params &s, const pc_voxel &of) {
    uint4 *slot = (uint4 *)&s.slots[of.slot];
    slot[0] = slot[1] = make_uint4(~0u, ~0u, ~0u, ~0u);
    if (of.overflow) {
        s.overflow[of.slot] = make_uint2(0, 0);
    }
}

__device__ static inline void pc_clean_sums(const pc_voxelize_params &s) {
    if (blockIdx.x == 0 && threadIdx.x < PC_SUM_SETS) {
        s.counters->sums[1 - s.parity][threadIdx.x] = pc_voxelize_sums{0, 0, 0, 0, 0, 0};
    }
}

/* By the last kernel. */
__device__ static inline void pc_clean(const pc_voxelize_params &s) {
    const int64_t tiles = ((int64_t)s.rows + PC_TILE_ROWS - 1) / PC_TILE_ROWS, step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < tiles; i += step) {
        s.tiles[i] = 0;
    }
    pc_clean_sums(s);
}

/* The coordinates of a voxel with a record at p. */
__device__ static inline void pc_write_coords(const pc_voxelize_params &s, uint32_t id, const float *p) {
    int32_t coords[4];
    pc_voxel_coords(&s.grid, p, coords);
    ((int4 *)s.coords)[id] = make_int4(coords[0], coords[1], coords[2], coords[3]);
}

#endif
