/* The table of voxels on the host: its memory, which the context keeps from call to call, and its size. */
#ifndef PC_VOXELIZE_TABLE_CUH
#define PC_VOXELIZE_TABLE_CUH

#include "chain.cuh"
#include "voxelize_hash.cuh"

#include <stdlib.h>

/* Tests have smaller values, so that small clouds run every kernel. FUSED: small clouds of fewer records are faster
 * without the fused kernel. AHEAD: features up to this many bytes are allocated before the number of voxels is known.
 * CALLS: where the count of calls begins. */
#ifndef PC_VOXELIZE_SLOTS
#define PC_VOXELIZE_SLOTS (1 << 22)
#define PC_VOXELIZE_FUSED 65536
#define PC_VOXELIZE_AHEAD 1e9
#define PC_VOXELIZE_CALLS 0
#endif

enum {
    SMALL = PC_VOXELIZE_SMALL, /* clouds of fewer records are small */
    FIRST = PC_VOXELIZE_SLOTS, /* slots that the table starts with unless the cloud is small */
    GROWTH = 8                 /* factor from a table that was too small to the next one */
};

static_assert(6 * SMALL <= 1 << PC_BUCKET_SLOT_BITS && SMALL / PC_BUCKET_RECORDS < 1 << PC_BUCKET_INDEX_BITS,
              "the key of a bucket has bits for slot and index");
static_assert(FIRST >= 4 && (FIRST & (FIRST - 1)) == 0, "the number of slots is a power of two; four are a line");

/* Arrays of the table, as pc_voxelize_params has them. Those before ZEROS are clean when all bits are set, others when
 * none is. */
enum {
    SLOTS,
    EXTRA,
    CELLS,
    OCCUPIED,
    ZEROS,
    OVERFLOW_OF = ZEROS,
    TILES,
    COUNTERS,
    BUCKET_KEYS,
    BUCKET_RECORDS,
    TILE_COUNTS,
    CELL_RECORDS,
    CELL_BUCKETS,
    HEADS,
    TABLE_ARRAYS
};

/* The variants that have this table. */
enum { DIRECT, FUSED, REDUCE, HASH, KINDS };

/* Overflow records are in buckets. */
static bool has_buckets(int kind) {
    return kind == DIRECT || kind == FUSED;
}

/* Between calls SLOTS, EXTRA, CELLS, OCCUPIED, OVERFLOW_OF, TILES and CELL_BUCKETS are clean, COUNTERS and
 * HEADS but for what the next call clears, and no key of a bucket has a later epoch. */
typedef struct table {
    void *array[TABLE_ARRAYS];
    size_t size[TABLE_ARRAYS]; /* bytes */
    pc_chain graphs[KINDS];    /* the kernels of each variant for small clouds */
    uint32_t calls;            /* since the keys of buckets were cleared: the epoch */
    uint32_t direct_calls;     /* calls of variant direct */
    int parity;                /* of the last call's sums */
    bool in_use;               /* still set after a call that failed */
    uint64_t found;            /* voxels of the last cloud that was not small */
    uint64_t slots;            /* of the last call, */
    int tries;                 /* which took so many tables */
} table;

static void free_table(table *t) {
    for (int i = 0; i < TABLE_ARRAYS; i++) {
        cudaFree(t->array[i]);
    }
    for (int i = 0; i < KINDS; i++) {
        pc_chain_free(&t->graphs[i]);
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

/* Makes an array at least `bytes` long; the bytes are clean if the array is new or `dirty`. *fits = false: the device
 * has no memory for it. */
static pcgpu_status grow(pcgpu_context *context, table *t, int which, size_t bytes, bool dirty, bool *fits) {
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
    CUDA_TRY(context, cudaMemsetAsync(t->array[which], which < ZEROS ? 0xff : 0, bytes, pc_cuda_of(context)->stream));
    return PCGPU_OK;
}

/* Twice as many buckets as any cloud of so many records fills: one per voxel that has overflow records, and one per
 * PC_BUCKET_RECORDS of these. */
static uint64_t buckets_of(const pc_voxelize_job *job) {
    const uint64_t rows = (uint64_t)job->rows,
                   most = rows / (uint64_t)(job->max_points + 1) + rows / PC_BUCKET_RECORDS + 1;
    uint64_t buckets = 1024;
    while (buckets < 2 * most) {
        buckets *= 2;
    }
    return buckets;
}

/* DIRECT: a slot is a cell. again: after a table that was too small for the same call. */
static pcgpu_status prepare_table(pcgpu_context *context, const pc_voxelize_job *job, uint64_t slots, int kind,
                                  bool again, table *t, bool *fits) {
    const uint64_t buckets = has_buckets(kind) ? buckets_of(job) : 0;
    size_t bytes[TABLE_ARRAYS] = {};
    if (kind == DIRECT) {
        bytes[CELLS] = slots * sizeof(pc_cell);
        bytes[CELL_RECORDS] = slots * pc_cell_capacity((int)job->max_points) * sizeof(uint32_t);
        bytes[OCCUPIED] = PC_PARTITIONS * (size_t)pc_partition_capacity((uint32_t)job->rows) * sizeof(uint32_t);
        bytes[HEADS] = 2 * sizeof(pc_heads);
    } else {
        const int64_t extra = job->max_points > PC_SLOT_RECORDS ? job->max_points - PC_SLOT_RECORDS : 0;
        bytes[SLOTS] = slots * sizeof(pc_slot);
        bytes[EXTRA] = slots * (size_t)extra * sizeof(uint32_t);
        bytes[OVERFLOW_OF] = slots * sizeof(uint2);
        bytes[TILES] = (size_t)pc_blocks(job->rows, PC_TILE_ROWS) * sizeof(unsigned long long);
        bytes[TILE_COUNTS] = buckets ? pc_fused_words((uint32_t)job->rows) * sizeof(uint32_t) : 0;
    }
    bytes[COUNTERS] = sizeof(pc_voxelize_counters);
    bytes[kind == DIRECT ? CELL_BUCKETS : BUCKET_KEYS] = buckets * sizeof(unsigned long long);
    bytes[BUCKET_RECORDS] = buckets * PC_BUCKET_RECORDS * sizeof(uint32_t);
    *fits = true;
    for (int i = 0; i < TABLE_ARRAYS; i++) {
        PC_TRY(grow(context, t, i, bytes[i], again, fits));
    }
    if (!*fits) {
        free_table(t);
    }
    return PCGPU_OK;
}

/* Counts the call, so that the buckets of earlier ones are free. */
static pcgpu_status count_call(pcgpu_context *context, table *t) {
    if (++t->calls == 1u << (64 - PC_BUCKET_SLOT_BITS - PC_BUCKET_INDEX_BITS)) {
        CUDA_TRY(context, cudaMemsetAsync(t->array[BUCKET_KEYS], 0, t->size[BUCKET_KEYS], pc_cuda_of(context)->stream));
        t->calls = 1;
    }
    return PCGPU_OK;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------ */

/* Values of the features of so many voxels. */
static int64_t values_of(const pc_voxelize_job *job, int64_t voxels) {
    const int width = job->features == PCGPU_FEATURES_PILLAR ? (int)PC_PILLAR_COLUMNS : job->columns;
    return voxels * (pc_features_are_padded(job->features) ? job->max_points : 1) * width;
}

/* Whether features for `capacity` voxels are small enough to be allocated before the number of voxels is known. */
static bool fits_ahead(const pc_voxelize_job *job, int64_t capacity) {
    return (double)values_of(job, 1) * (double)pc_limited(capacity, job->max_voxels) * sizeof(float) <=
           PC_VOXELIZE_AHEAD;
}

/* Few records, and features that are allocated before the number of voxels is known. */
static bool is_small(const pc_voxelize_job *job) {
    return job->rows < SMALL && fits_ahead(job, pc_voxelize_most(job));
}

/* Upper limit of the number of voxels in a table of so many slots. */
static int64_t capacity_of(const pc_voxelize_job *job, uint64_t slots) {
    const int64_t most = pc_voxelize_most(job);
    return slots < (uint64_t)most ? (int64_t)slots : most;
}

/* Slots for any cloud: 1.5 times the voxels, and 6 times for small clouds, so that searches are short; 0 if a tag has
 * too few bits for them. */
static uint64_t enough_slots(const pc_voxelize_job *job) {
    const double most = (double)pc_voxelize_most(job);
    uint64_t slots = 1024;
    while ((double)slots < (most < SMALL ? 6.0 : 1.5) * most) {
        slots *= 2;
    }
    return slots < PC_NO_SLOT ? slots : 0;
}

/* Slots to start with. Except for small clouds these are fewer, but at least 4 times the voxels of the last such cloud:
 * successive clouds are alike. */
static uint64_t first_slots(const pc_voxelize_job *job, const table *t) {
    uint64_t slots = FIRST;
    while (slots < 4 * t->found) {
        slots *= 2;
    }
    return job->rows >= SMALL && slots < (uint64_t)pc_voxelize_most(job) ? slots : enough_slots(job);
}

/* And after a table of `slots` that was too small. */
static uint64_t more_slots(const pc_voxelize_job *job, uint64_t slots) {
    return GROWTH * slots < (uint64_t)pc_voxelize_most(job) ? GROWTH * slots : enough_slots(job);
}

#endif
