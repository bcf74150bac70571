/* The voxels of a file that is read in pieces: see voxelize_pieces.c. */
#ifndef PC_VOXELIZE_TABLE_H
#define PC_VOXELIZE_TABLE_H

#include "voxelize_cpu.h"

/* What the values of a voxel are. */
typedef enum pc_table_kind {
    PC_TABLE_EXACT,  /* float64 sums, which are exact, or are continued in fixed point */
    PC_TABLE_FIRST,  /* the first record */
    PC_TABLE_NEAREST /* pc_near: the record nearest to the mean, in a second pass */
} pc_table_kind;

typedef struct pc_table_voxel {
    int64_t key;    /* of its cell */
    int64_t points; /* found so far */
    int64_t exact;  /* 1 + the index of its sums in fixed point, 0: none */
} pc_table_voxel;

/* The values while the nearest record is looked for; the record follows. */
typedef struct pc_near {
    float mean[3], least; /* least: the squared distance of the nearest record so far */
    bool seen;            /* there is one */
} pc_near;

/* The voxels with ids from `base` on, in the order of their first records, as many as the memory holds. */
typedef struct pc_voxel_table {
    pcgpu_context *context;
    const pc_voxelize_job *job;
    pc_table_kind kind;
    size_t memory;
    size_t width; /* bytes of the values of a voxel */
    int64_t base, count;
    int64_t most; /* voxels that the memory holds */
    pc_table_voxel *voxels;
    unsigned char *values;
    uint32_t *slots;     /* 1 + the index of a voxel, or 0; at most 7 of 10 are used */
    size_t slot_count;   /* a power of 2 */
    pc_exact_sum *exact; /* `columns` for each voxel that needs them */
    int64_t exact_count, exact_capacity;
    uint8_t *pending; /* a bit per record: the first record, in its piece, of a voxel that is not in the table yet */
    bool again;       /* a pass for the pending ones */
    int64_t left;     /* pending ones after this pass */
    int32_t *point_voxel;     /* the voxel of each record, -1 without one, or NULL */
    pc_buffer found, inexact; /* by voxel of the piece: 1 + its index, or 0; whether a float64 sum is not exact */
} pc_voxel_table;

static inline void *pc_table_values(const pc_voxel_table *t, int64_t i) {
    return t->values + (size_t)i * t->width;
}

/* Opens a table for context, job, kind and memory, which are set; `rows`: records of the file; `arrays`: its
 * voxels also become coords and counts. Errors: MEMORY. */
pcgpu_status pc_table_open(pc_voxel_table *table, int64_t rows, bool arrays);
void pc_table_close(pc_voxel_table *table);
/* Empties the table for the pending voxels, whose ids follow. */
void pc_table_next(pc_voxel_table *table);
/* Adds the records of a piece, the first of which is `record`. Errors: MEMORY. */
pcgpu_status pc_table_add_piece(pc_voxel_table *table, const pc_voxel_groups *piece, const float *data, int64_t record);
/* Turns sums into means, so that the pieces can be added again for the nearest records. */
void pc_table_seek_nearest(pc_voxel_table *table);
/* Turns the values into rows of features. */
void pc_table_finish(pc_voxel_table *table);

/* ---- voxelize_table_values.c ------------------------------------------------------------------------------------- */

/* Adds records to the values of voxel i, whose number of points is that before. False, and no change, when float64 sums
 * are not exact. */
bool pc_table_add_records(const pc_voxel_table *table, int64_t i, const int32_t *rows, int64_t count,
                          const float *data);
/* Continues the sums of voxel i in fixed point, with such records. Errors: MEMORY. */
pcgpu_status pc_table_add_inexact(pc_voxel_table *table, int64_t i, const int32_t *rows, int64_t count,
                                  const float *data);
/* The mean of column k of a voxel of sums. */
float pc_table_mean(const pc_voxel_table *table, int64_t i, int k);
/* "more memory is needed" */
pcgpu_status pc_table_fail_small(const pc_voxel_table *table);

#endif
