/* The voxels of a file that is read in pieces: see voxelize_pieces.c. */
#ifndef PC_VOXELIZE_TABLE_H
#define PC_VOXELIZE_TABLE_H

#include "voxelize_ops.h"
#include "voxelize_sum.h"

/* What the values behind a voxel are. */
typedef enum pc_table_kind {
    PC_TABLE_EXACT,  /* float64 sums, which are exact, or are continued in fixed point */
    PC_TABLE_SUMS,   /* float32 sums of the first max_points points */
    PC_TABLE_FIRST,  /* the first record */
    PC_TABLE_NEAREST /* pc_near: the record nearest to the mean, in a second pass */
} pc_table_kind;

/* A voxel of the table; its values follow. */
typedef struct pc_table_voxel {
    int64_t key; /* of its cell */
    int32_t points;
    int32_t extra; /* FIRST: the record; EXACT: 1 + the index of its sums in fixed point, 0: none */
} pc_table_voxel;

/* Its values while the nearest record is looked for; the record follows. */
typedef struct pc_near {
    float mean[3], least; /* least: the squared distance of the nearest record so far */
    int32_t seen, record; /* points that were met; the nearest record */
} pc_near;

typedef struct pc_voxel_table {
    pcgpu_context *context;
    const pc_voxelize_job *job;
    pc_table_kind kind;
    size_t size;         /* bytes of a voxel with its values */
    int64_t count, most; /* voxels, and how many the memory holds */
    size_t memory;
    unsigned char *voxels;
    uint32_t *slots;     /* 1 + the index of a voxel, or 0; at most 7 of 10 are used */
    size_t slot_count;   /* a power of 2 */
    pc_exact_sum *exact; /* `columns` for each voxel that needs them */
    int64_t exact_count, exact_capacity;
} pc_voxel_table;

static inline pc_table_voxel *pc_table_voxel_at(const pc_voxel_table *t, int64_t i) {
    return (pc_table_voxel *)(void *)(t->voxels + (size_t)i * t->size);
}

/* Opens a table for job, kind and memory, which are set; `more`: bytes per voxel that the caller needs besides. Errors:
 * MEMORY. */
pcgpu_status pc_table_open(pc_voxel_table *table, int64_t rows, size_t more);
void pc_table_close(pc_voxel_table *table);
/* Adds the records of a piece, the first of which is `record`; counts dropped ones in `run`. Errors: MEMORY. */
pcgpu_status pc_table_add_piece(pc_voxel_table *table, const pcgpu_cloud *piece, int64_t record, pcgpu_run *run);
/* The mean of column k of a voxel of sums. */
float pc_table_mean(const pc_voxel_table *table, const pc_table_voxel *voxel, int k);
/* Turns sums into means, so that the pieces can be added again for the nearest records. */
void pc_table_seek_nearest(pc_voxel_table *table);

/* The kept points of a voxel. */
static inline int64_t pc_table_kept(const pc_voxel_table *t, const pc_table_voxel *voxel) {
    const int64_t most = t->job->max_points;
    return most && most < voxel->points ? most : voxel->points;
}

#endif
