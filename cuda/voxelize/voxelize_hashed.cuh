/* Voxelization with a limit of P points, or of means or single records of all points, in two to six kernels and
 * without a device-wide sort.
 *
 * insert: Every record finds or claims the slot of its cell in a hash table. The records of a cell are counted as they
 * arrive; the first PC_SLOT_ROWS are kept in the slot, those up to P beside it, later ones are `late`. The slot also
 * keeps the lowest record. Of very many records (voxelize_insert_many.cuh), those that are only to be counted are,
 * which notes beside the slots tell, and others wait until a warp has 32 of them.
 *
 * number: Voxels are numbered by their lowest records, in one pass with decoupled look-back (Merrill and Garland 2016)
 * over "is the lowest of its voxel", which shares out places for the late records on the way. What the slots have goes
 * to an array by number. Of many records, insert marks those that may be the lowest, and late ones, a bit each, and
 * only these are looked at again. Of very many (voxelize_number_many.cuh), it lists them.
 *
 * gather: Late records go to their places; of a cloud whose tiles all run at once, number does it.
 *
 * fill: The kept records of each voxel are sorted, and the features made of them; its slot is cleaned. Without a limit,
 * all records but the first PC_SLOT_ROWS are late, and what is made of them does not depend on their order
 * (voxelize_all.cuh).
 *
 * finish: In place of these three, for arrays and means of four columns of a single scan with a small P. A block fills
 * the voxels that begin at its own records, and has their records brought while it waits for the numbers: nothing is
 * written for another kernel to read. For that insert itself puts late records where they are found, into buckets of a
 * second hash table. With a large P the first tiles of a scan, where most pillars begin, would have ten times the work
 * of others.
 *
 * A scan with few cells, as pillars are, has a dense table, for means, arrays and pillar features, and two kernels.
 * dense_insert: A record is counted in its cell without being looked for, and kept beside it; records beyond P go into
 * buckets. Whoever is the first that came puts the cell into a list, and whoever is the lowest until then tells so in a
 * bit for each record, which it clears for the one that was: when all have come, the bits say where voxels begin, so
 * that nothing has to be numbered in order. dense_fill: Eight lanes fill a voxel of the list, whose number is how many
 * bits are set before its lowest record; other warps do crowded ones at the same time.
 *
 * Records arrive in any order, so any P of a voxel's are first; but the highest of these is a bound: a record above it
 * is not among the P lowest. From some number of records on, it is told in the slot, and records above it are
 * counted and dropped. As a GPU runs the blocks of a launch more or less in order, few others are late in a large
 * cloud.
 *
 * The table is clean between calls and so needs no time to be cleared. It takes 40 + 4 (P - PC_SLOT_ROWS) bytes a
 * slot, 8 more with notes; nothing grows with the volume of the grid. Of few records, it has room for a voxel of
 * each. Of many, whose voxels are far fewer as a rule, it begins small, so that memory grows with the voxels and the
 * device has the addresses of all of it at hand: a table of gigabytes takes a third more time. When insert finds no
 * free slot near a cell's home, it leaves its records out and says so; the other kernels run as for a cloud without
 * them, and the host, which reads that with the number of voxels, does the call again with a larger table. */
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
    PC_INSERTS = 8,      /* blocks of insert a multiprocessor, */
    PC_INSERT_MANYS = 6, /* and of insert_many */
    PC_NUMBER_THREADS = 512,
    PC_NUMBER_MANYS = 3,                  /* blocks of number_many and of gather a multiprocessor */
    PC_TILE_ROWS = 2 * PC_NUMBER_THREADS, /* records that a block numbers, */
    PC_MANY_WORDS = 16,                   /* or, where there are many, a warp of it, words of 32 records */
    PC_ALL_THREADS = 128,                 /* of fill_all, */
    PC_ALLS = 8,                          /* and its blocks a multiprocessor */
    PC_FILL_THREADS = 128,
    PC_FILLS = 8,            /* blocks of fill a multiprocessor */
    PC_FILL_ROWS = 1024,     /* kept records that a block of fill holds at once, of four columns: fewer of more */
    PC_FINISH_THREADS = 256, /* and records of a block of finish */
    PC_FINISHES = 4,
    PC_FINISH_GROUP = 32, /* blocks whose finds are added up */
    /* Kept records that a block of finish holds at once: what shared memory takes, the cache does not have, where as
     * many loads are on their way as there is room for. */
    PC_FINISH_ROWS = 768,
    PC_FEW_POINTS = 16,     /* of a voxel: with more, tiles have too different amounts of work */
    PC_DENSE_THREADS = 256, /* of dense_fill, */
    PC_DENSES = 4,          /* its blocks a multiprocessor, */
    PC_CROWD_BLOCKS = 32,   /* and of these, those that begin with crowded voxels */
    PC_SHARES = 16,         /* parts of the list of cells with records */
    PC_BEGIN_ROWS = 1024,   /* records whose beginnings are counted together */
    PC_APART = 8,           /* words from count to count, so that few are in the same sector, */
    PC_FAR_APART = 128,     /* or, where the sum is waited for, the same part of the cache */
    PC_BUCKET_ROWS = 16,
    PC_COLUMNS_AT_ONCE = 8, /* of records of other than four columns, in shared memory */
    PC_BUCKET_SLOTS = 22,  /* bits of a slot in a bucket's key, */
    PC_BUCKET_NUMBERS = 15 /* and of a number */
};

/* Clouds of fewer records are scans. Crowded voxels that a block of dense_fill keeps for all of its warps. Other
 * numbers in tests/kernels and tests/emulator, as those of voxelize_table.cuh. */
#ifndef PC_VOXELIZE_SMALL
#define PC_VOXELIZE_SMALL        500000
#define PC_VOXELIZE_LARGE_CROWDS 16
#endif

enum { PC_BEGINS = PC_VOXELIZE_SMALL / PC_BEGIN_ROWS + 1 };

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

/* A cell of a dense table; its records as they came are beside it. */
typedef struct pc_cell {
    uint32_t last;  /* records so far, - 1 */
    uint32_t first; /* the lowest */
} pc_cell;

/* Of a dense table: how many cells with records there are, in parts, and how many with more than P; and which records
 * begin a voxel, a bit for each, and how many of PC_BEGIN_ROWS do. */
typedef struct pc_beginnings {
    uint32_t found[PC_SHARES][PC_FAR_APART];
    uint32_t crowded[PC_FAR_APART];
    uint32_t count[PC_BEGINS][PC_APART];
    uint32_t bits[PC_BEGINS * PC_BEGIN_ROWS / 32];
} pc_beginnings;

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
    uint32_t full; /* not 0: there were records without a slot */
} pc_voxelize_counters;

/* What the kernels share; passed by value. Arrays in device memory. What all kernels want comes first.
 * It is no larger than 248 bytes: beyond 256, with what else a kernel is told, its start takes 0.5 us longer. */
typedef struct pc_hashed {
    uint32_t rows;
    int columns, kept; /* kept: P, or, where all are, PC_SLOT_ROWS */
    uint32_t mask;     /* slots - 1 */
    /* The table: */
    union {
        pc_slot *slots;
        pc_cell *cells; /* dense: for each cell of the grid */
    };
    union {
        uint32_t *more;      /* slots x (P - PC_SLOT_ROWS): further records as they came */
        uint32_t *cell_rows; /* dense: cells x (P up to a multiple of 4): records as they came */
    };
    uint2 *late; /* slots: dropped records, and where late ones begin in late_rows plus 1 */
    pc_voxelize_counters *counters;
    /* Of this call: */
    union {
        uint32_t *place; /* rows: slot, PC_LATE, PC_MAYBE; with marks only where one of the two is set */
        uint32_t *found; /* dense: cells with records, in PC_SHARES parts */
    };
    int32_t *point_voxel; /* of the result; may be NULL */
    union {
        uint32_t *late_rows; /* the late records, those of a voxel together */
        uint32_t *crowded;   /* dense: cells with more than P records */
    };
    union {
        struct {
            uint2 *marks;   /* where there are many records, of 32 each a bit a record: PC_MAYBE, PC_LATE; else NULL */
            uint32_t *rank; /* rows: of a late record among those of its voxel */
            unsigned long long *tiles; /* of number: what each block has found */
            pc_numbered *voxels;
        };
        struct { /* with finish: buckets of late records, found by slot and number */
            unsigned long long *bucket_keys;
            uint32_t *bucket_rows, bucket_mask;
            uint32_t calls; /* part of the keys: those of calls before are free; dense: only 0 are free */
            union {
                uint32_t *words;       /* what each block has found; insert cleans it */
                pc_beginnings *begins; /* dense: two in turn; dense_fill cleans that of the call before */
            };
        };
    };
    int turn;      /* which of the sums */
    uint32_t most; /* voxels in the result, */
    uint32_t room; /* or in all: of records, cells or slots, what is least */
    pcgpu_features kind;
    const float *data;
    /* The result; `means` may be NULL. */
    int32_t *coords, *counts, *selected;
    float *features, *means;
    bool all;                            /* no limit of points */
    bool skip_origin, aligned, finishes; /* aligned: a record is a float4; finishes: finish is the last kernel */
    float inverse[3];                    /* 1 / size, or NaN where that is not to be multiplied by */
    pc_grid grid;
    float skip[3];
} pc_hashed;

static_assert(sizeof(pc_hashed) <= 248, "see above");

/* Cells of the grid along an axis. */
__device__ static inline uint32_t pc_grid_along(const pc_hashed &s, int axis) {
    return (uint32_t)s.grid.cells[axis];
}

/* There may be more voxels than slots. Else there are fewer, at most two of three slots are in use, and a free one is
 * always found. */
__device__ static inline bool pc_may_be_full(const pc_hashed &s) {
    return s.room == s.mask + 1;
}

__device__ static inline uint32_t *pc_more_of(const pc_hashed &s, uint32_t slot) {
    return s.more + (size_t)slot * (size_t)max(s.kept - (int)PC_SLOT_ROWS, 0);
}

__device__ static inline pc_voxelize_sums *pc_sums_of(const pc_hashed &s) {
    return &s.counters->sums[s.turn][blockIdx.x % PC_SUMS];
}

/* A word for each block of finish, and one for PC_FINISH_GROUP of them. */
static inline __host__ __device__ uint32_t pc_finish_tiles(uint32_t rows) {
    return rows / PC_FINISH_THREADS + 1;
}

static inline __host__ __device__ uint32_t pc_words_of(uint32_t rows) {
    return pc_finish_tiles(rows) + pc_finish_tiles(rows) / PC_FINISH_GROUP + 1;
}

/* Cells that a part of the list has room for: 32 records after 32 are of the next part. */
static inline __host__ __device__ uint32_t pc_share_room(uint32_t rows) {
    return (rows / (32 * PC_SHARES) + 1) * 32;
}

/* Records beside a cell. */
static inline __host__ __device__ uint32_t pc_cell_room(int kept) {
    return ((uint32_t)kept + 3) / 4 * 4;
}

__device__ static inline pc_beginnings *pc_begins_of(const pc_hashed &s) {
    return &s.begins[s.calls % 2];
}

/* The key of the bucket of late records number * PC_BUCKET_ROWS and on of a voxel. */
__device__ static inline unsigned long long pc_bucket_key(const pc_hashed &s, uint32_t slot, uint32_t number) {
    return ((unsigned long long)s.calls << PC_BUCKET_SLOTS | slot) << PC_BUCKET_NUMBERS | number;
}

/* The same of a cell, where buckets are cleaned up after use: not 0. */
__device__ static inline unsigned long long pc_cell_bucket_key(uint32_t cell, uint32_t number) {
    return ((unsigned long long)cell + 1) << PC_BUCKET_NUMBERS | number / PC_BUCKET_ROWS;
}

__device__ static inline bool pc_bucket_in_use(const pc_hashed &s, unsigned long long key) {
    return key >> (PC_BUCKET_SLOTS + PC_BUCKET_NUMBERS) == s.calls;
}

__device__ static inline uint32_t pc_bucket_home(const pc_hashed &s, unsigned long long key) {
    return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) & s.bucket_mask;
}

/* Late record i of a voxel, in bucket `at`. */
__device__ static inline uint32_t *pc_bucket_row(const pc_hashed &s, uint32_t at, uint32_t i) {
    return s.bucket_rows + (size_t)at * PC_BUCKET_ROWS + i % PC_BUCKET_ROWS;
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

__device__ static inline void pc_clean_sums(const pc_hashed &s) {
    if (blockIdx.x == 0 && threadIdx.x < PC_SUMS) {
        s.counters->sums[1 - s.turn][threadIdx.x] = pc_voxelize_sums{0, 0, 0, 0, 0, 0};
    }
}

/* What other kernels and the next call want to find zero; by the last kernel. */
__device__ static inline void pc_clean(const pc_hashed &s) {
    const int64_t tiles = ((int64_t)s.rows + PC_TILE_ROWS - 1) / PC_TILE_ROWS, step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < tiles; i += step) {
        s.tiles[i] = 0;
    }
    pc_clean_sums(s);
}

#endif
