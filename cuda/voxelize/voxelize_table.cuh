/* The table of voxels of voxelize_hashed.cuh on the host's side: its memory, which the context keeps from call to call,
 * and how large it has to be. */
#ifndef PC_VOXELIZE_TABLE_CUH
#define PC_VOXELIZE_TABLE_CUH

#include "chain.cuh"
#include "voxelize_hashed.cuh"

#include <stdlib.h>

/* tests/emulator has other numbers, so that small clouds take all ways. */
#ifndef PC_VOXELIZE_LARGE
#define PC_VOXELIZE_LARGE 16000000
#define PC_VOXELIZE_SLOTS (1 << 22)
#define PC_VOXELIZE_AHEAD 1e9
#define PC_VOXELIZE_CALLS 0
#endif

enum {
    SMALL = PC_VOXELIZE_SMALL, /* records, voxels */
    LARGE = PC_VOXELIZE_LARGE, /* records */
    FIRST = PC_VOXELIZE_SLOTS, /* slots to begin with where there are more records */
    GROWTH = 8                 /* times as many where these are too few */
};

static_assert(6 * SMALL <= 1 << PC_BUCKET_SLOTS && SMALL / PC_BUCKET_ROWS < 1 << PC_BUCKET_NUMBERS,
              "what the key of a bucket has room for");
static_assert(FIRST >= 4 && (FIRST & (FIRST - 1)) == 0, "slots, of which four are a line");

enum {
    SLOTS,
    MORE,
    LATE,
    NOTES,
    TILES,
    COUNTERS,
    BUCKET_KEYS,
    BUCKET_ROWS,
    WORDS,
    CELLS,
    CELL_ROWS,
    CELL_BUCKETS,
    FOUND,
    BEGINS,
    TABLE_ARRAYS
};

/* Of few records: of all of them, of a limit, of a small one, and of few cells. */
enum { CHAIN_ALL, CHAIN_LIMIT, CHAIN_FINISH, CHAIN_DENSE, CHAINS };

/* Between calls all bytes of SLOTS, MORE, NOTES, CELLS and FOUND are ~0, those of LATE, TILES and CELL_BUCKETS 0, and
 * of COUNTERS and BEGINS what the next call does not clean; no key of a bucket is of a later call. */
typedef struct table {
    void *array[TABLE_ARRAYS];
    size_t size[TABLE_ARRAYS]; /* bytes */
    pc_chain chains[CHAINS];
    uint32_t calls; /* since the buckets were clean */
    uint32_t dense; /* calls with a dense table */
    int turn;       /* which sums the last call had */
    bool in_use;    /* or left so by a failure */
    uint64_t found; /* voxels of the last cloud of many records */
    uint64_t slots; /* of the last call, */
    int tries;      /* which was done so many times until they were enough */
} table;

static void free_table(table *t) {
    for (int i = 0; i < TABLE_ARRAYS; i++) {
        cudaFree(t->array[i]);
    }
    for (int i = 0; i < CHAINS; i++) {
        pc_chain_free(&t->chains[i]);
    }
    memset(t, 0, sizeof *t);
}

/* The table of the context, clean. */
static pcgpu_status table_of(pcgpu_context *context, table **of) {
    table *t = (table *)pc_cuda_of(context)->voxels;
    if (!t) {
        t = (table *)calloc(1, sizeof *t);
        if (!t) {
            return pc_fail_memory(context, sizeof *t, "the table of voxels");
        }
        t->calls = PC_VOXELIZE_CALLS;
        pc_cuda_of(context)->voxels = t;
    }
    if (t->in_use) {
        free_table(t);
    }
    *of = t;
    return PCGPU_OK;
}

/* Makes an array of the table at least `bytes` long, all new bytes `clean`, or, with `dirty`, these first ones; *fits =
 * false when the device has not the memory. */
static pcgpu_status grow(pcgpu_context *context, table *t, int which, size_t bytes, int clean, bool dirty, bool *fits) {
    if (!*fits || bytes == 0 || (t->size[which] >= bytes && !dirty)) {
        return PCGPU_OK;
    }
    if (t->size[which] < bytes) {
        cudaFree(t->array[which]);
        t->array[which] = NULL;
        t->size[which] = 0;
        cudaError_t error = cudaMalloc(&t->array[which], bytes);
        if (error == cudaErrorMemoryAllocation) {
            cudaGetLastError();
            *fits = false;
            return PCGPU_OK;
        }
        CUDA_TRY(context, error);
        t->size[which] = bytes;
    }
    CUDA_TRY(context, cudaMemsetAsync(t->array[which], clean, bytes, pc_cuda_of(context)->stream));
    return PCGPU_OK;
}

/* Buckets for the late records of any cloud of so many: twice as many as there may be, which is one for each voxel with
 * late records and one for each PC_BUCKET_ROWS of them. */
static uint64_t buckets_of(int64_t rows, int64_t max_points) {
    const uint64_t most = (uint64_t)rows / (uint64_t)(max_points + 1) + (uint64_t)rows / PC_BUCKET_ROWS + 1;
    uint64_t buckets = 1024;
    while (buckets < 2 * most) {
        buckets *= 2;
    }
    return buckets;
}

/* What a dense table takes: a cell for each of the grid, whatever the cloud. */
static pcgpu_status prepare_cells(pcgpu_context *context, const pc_voxelize_job *job, uint64_t cells, table *t,
                                  bool *fits) {
    const size_t rows = cells * pc_cell_room((int)job->max_points),
                 found = PC_SHARES * (size_t)pc_share_room((uint32_t)job->rows);
    PC_TRY(grow(context, t, CELLS, cells * sizeof(pc_cell), 0xff, false, fits));
    PC_TRY(grow(context, t, CELL_ROWS, rows * sizeof(uint32_t), 0, false, fits));
    PC_TRY(grow(context, t, FOUND, found * sizeof(uint32_t), 0xff, false, fits));
    return grow(context, t, BEGINS, 2 * sizeof(pc_beginnings), 0, false, fits);
}

/* buckets: 0 where there are none. notes: there are some. dense: the slots are cells. again: after the same job with
 * fewer slots, which were too few. */
static pcgpu_status prepare_table(pcgpu_context *context, const pc_voxelize_job *job, uint64_t slots, uint64_t buckets,
                                  bool notes, bool dense, bool again, table *t, bool *fits) {
    const size_t beside = job->max_points > PC_SLOT_ROWS ? (size_t)(job->max_points - PC_SLOT_ROWS) : 0,
                 tiles = (size_t)(job->rows + PC_TILE_ROWS - 1) / PC_TILE_ROWS,
                 words = buckets && !dense ? pc_words_of((uint32_t)job->rows) : 0;
    *fits = true;
    if (dense) {
        PC_TRY(prepare_cells(context, job, slots, t, fits));
    } else {
        PC_TRY(grow(context, t, SLOTS, slots * sizeof(pc_slot), 0xff, again, fits));
        PC_TRY(grow(context, t, MORE, slots * beside * sizeof(uint32_t), 0xff, again, fits));
        PC_TRY(grow(context, t, LATE, slots * sizeof(uint2), 0, again, fits));
        PC_TRY(grow(context, t, NOTES, notes ? slots * sizeof(unsigned long long) : 0, 0xff, again, fits));
        PC_TRY(grow(context, t, TILES, tiles * sizeof(unsigned long long), 0, again, fits));
    }
    PC_TRY(grow(context, t, COUNTERS, sizeof(pc_voxelize_counters), 0, again, fits));
    PC_TRY(grow(context, t, dense ? CELL_BUCKETS : BUCKET_KEYS, buckets * sizeof(unsigned long long), 0, again, fits));
    PC_TRY(grow(context, t, WORDS, words * sizeof(uint32_t), 0, again, fits));
    PC_TRY(grow(context, t, BUCKET_ROWS, buckets * PC_BUCKET_ROWS * sizeof(uint32_t), 0, again, fits));
    if (!*fits) {
        free_table(t);
    }
    return PCGPU_OK;
}

/* Another call begins: the buckets of those before are free. */
static pcgpu_status count_call(pcgpu_context *context, table *t) {
    if (++t->calls == 1u << (64 - PC_BUCKET_SLOTS - PC_BUCKET_NUMBERS)) {
        CUDA_TRY(context, cudaMemsetAsync(t->array[BUCKET_KEYS], 0, t->size[BUCKET_KEYS], pc_cuda_of(context)->stream));
        t->calls = 1;
    }
    return PCGPU_OK;
}

static double cells_in(const pc_voxelize_job *job) {
    return (double)job->grid.cells[0] * (double)job->grid.cells[1] * (double)job->grid.cells[2];
}

/* Voxels that there may be. */
static int64_t most_voxels(const pc_voxelize_job *job, double cells) {
    return cells < (double)job->rows ? (int64_t)cells : job->rows;
}

/* The same with so many slots. */
static int64_t room_of(const pc_voxelize_job *job, double cells, uint64_t slots) {
    const int64_t most = most_voxels(job, cells);
    return slots < (uint64_t)most ? (int64_t)slots : most;
}

/* Those of so many voxels that are in the result. */
static int64_t result_of(const pc_voxelize_job *job, int64_t voxels) {
    return job->max_voxels && job->max_voxels < voxels ? job->max_voxels : voxels;
}

/* Slots that are enough for any cloud: at least half as many again as there may be voxels, and, where that is little,
 * so many that few are tried; 0 when a place cannot name as many. */
static uint64_t slots_of(const pc_voxelize_job *job, double cells) {
    const double most = (double)most_voxels(job, cells);
    uint64_t slots = 1024;
    while ((double)slots < (most < SMALL ? 6.0 : 1.5) * most) {
        slots *= 2;
    }
    return slots < PC_NO_SLOT ? slots : 0;
}

/* Slots to begin with, a power of two. Of many records, less than there may be voxels, as pc_may_be_full wants it, but
 * a few times what the last such cloud had: clouds that follow each other are alike. */
static uint64_t first_slots(const pc_voxelize_job *job, double cells, const table *t) {
    uint64_t slots = FIRST;
    while (slots < 4 * t->found) {
        slots *= 2;
    }
    return job->rows >= SMALL && slots < (uint64_t)most_voxels(job, cells) ? slots : slots_of(job, cells);
}

/* And after so many that were too few. */
static uint64_t more_slots(const pc_voxelize_job *job, double cells, uint64_t slots) {
    return GROWTH * slots < (uint64_t)most_voxels(job, cells) ? GROWTH * slots : slots_of(job, cells);
}

#endif
