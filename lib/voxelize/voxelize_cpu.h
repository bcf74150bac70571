/* What the parts of voxelization on the CPU share: voxelize_cpu.c has the order of the steps, voxelize_cpu_cells.c
 * computes the cells of blocks of records, voxelize_cpu_number.c assigns the ids of voxels, voxelize_cpu_places.c and
 * voxelize_cpu_sums.c compute the features. */
#ifndef PC_CPU_VOXELIZE_H
#define PC_CPU_VOXELIZE_H

#include "simd.h"
#include "threads.h"
#include "voxelize_math.h"

/* Voxelization with a given variant; pc_cpu_voxelize takes the widest vectors of the machine. All variants give the
 * same bits. */
typedef struct pc_voxelize_form {
    pc_simd simd;
    int64_t part_rows; /* minimum records per thread, >= 1 */
    int parts;         /* number of parts of the records, 1 to 64; 0: by the load of the threads */
} pc_voxelize_form;

pcgpu_status pc_cpu_voxelize_as(pcgpu_context *context, const pc_voxelize_job *job, pcgpu_voxels *out,
                                const pc_voxelize_form *form);

/* Compilers map it to vectors of the machine. */
typedef float pc_float4 __attribute__((vector_size(16)));

/* Records are processed in blocks of this size: their data stays in L1. */
enum { PC_CELL_BLOCK = 512 };

/* The key of a cell: x in the lowest bits, then y, then z, each with the bits that the grid needs. They fit, since the
 * product of the cell counts is at most 2^62, and rounding three counts up to powers of two adds less than 3 bits. */
typedef struct pc_cell_layout {
    int y_shift, z_shift;
} pc_cell_layout;

/* The cells of up to PC_CELL_BLOCK records. */
typedef struct pc_cells {
    int32_t count;                 /* records in range */
    uint16_t place[PC_CELL_BLOCK]; /* count: indices of the records in the block, ascending */
    uint64_t key[PC_CELL_BLOCK];   /* by index in the block; undefined for other records */
    uint32_t hash[PC_CELL_BLOCK];
    int32_t inside[PC_CELL_BLOCK];
    float x[PC_CELL_BLOCK], y[PC_CELL_BLOCK], z[PC_CELL_BLOCK];
} pc_cells;

typedef struct pc_drops {
    int64_t non_finite, at_origin;
} pc_drops;

/* Finds the cells of n records from `row` on and adds to `drops`. */
typedef void pc_find_cells_fn(const pc_voxelize_job *job, const pc_cell_layout *layout, int64_t row, int32_t n,
                              pc_cells *cells, pc_drops *drops);

pc_find_cells_fn *pc_find_cells_form(pc_simd simd);
pc_cell_layout pc_cell_layout_of(const pc_grid *grid);

/* (batch, z, y, x) of a key. */
PC_INLINE void pc_key_coords(const pc_cell_layout *layout, uint64_t key, int32_t coords[4]) {
    coords[0] = 0;
    coords[1] = (int32_t)(key >> layout->z_shift);
    coords[2] = (int32_t)(key >> layout->y_shift & ((UINT64_C(1) << (layout->z_shift - layout->y_shift)) - 1));
    coords[3] = (int32_t)(key & ((UINT64_C(1) << layout->y_shift) - 1));
}

/* A hash that keeps neighbours together: the 4 x 4 cells of a tile in x and y map to the 16 slots of an aligned run,
 * which is one cache line of the table, in a permutation that depends on the tile, so that no pattern of cells
 * overloads the same slots. A scan mostly moves from a cell to a neighbouring one. */
PC_INLINE uint32_t pc_cell_hash(uint32_t x, uint32_t y, uint32_t z) {
    uint32_t tile = (x >> 2) * 0x9E3779B1u + (y >> 2) * 0x85EBCA77u + z * 0xC2B2AE3Du;
    tile = (tile ^ tile >> 16) * 0x7FEB352Du; /* the finalizer of Wellons' lowbias32 */
    tile = (tile ^ tile >> 15) * 0x846CA68Bu;
    tile ^= tile >> 16;
    return tile << 4 | (((x & 3u) | (y & 3u) << 2) ^ tile >> 28);
}

/* A voxel. */
typedef struct pc_cell_voxel {
    uint64_t key;
    int32_t first;  /* its first record */
    int32_t points; /* records in it */
} pc_cell_voxel;

/* Voxels in the order of their first records, with ids from 1, and their hash table. */
typedef struct pc_voxel_list {
    pc_cell_layout layout;
    pc_cell_voxel *voxels; /* [0] is not a voxel */
    uint32_t *table;       /* slots, a power of two, with a load factor of at most a half: the id of a voxel or 0 */
    size_t slots;
    int64_t found;
    pc_buffer voxel_block, table_block;
} pc_voxel_list;

enum { PC_LIST_STEP = 17 }; /* the probe step: to another line, and another slot in the line */

PC_INLINE uint32_t pc_hash_of_key(const pc_cell_layout *layout, uint64_t key) {
    int32_t coords[4];
    pc_key_coords(layout, key, coords);
    return pc_cell_hash((uint32_t)coords[3], (uint32_t)coords[2], (uint32_t)coords[1]);
}

/* Initializes an empty list, in its memory, with an estimated capacity for `expected` voxels. False when memory is
 * exhausted. */
bool pc_list_start(pc_voxel_list *list, const pc_cell_layout *layout, int64_t expected);
/* Grows the capacity for `more` voxels. */
bool pc_list_reserve(pc_voxel_list *list, size_t more);

/* Adds `points` records to the voxel with this key, or to a new voxel whose first record is `first`; returns its id.
 * The list has the capacity. */
PC_INLINE uint32_t pc_list_add(pc_voxel_list *list, uint64_t key, uint32_t hash, int32_t first, int32_t points) {
    const size_t mask = list->slots - 1;
    size_t at = hash & mask;
    uint32_t id = list->table[at];
    while ((id != 0) & (list->voxels[id].key != key)) { /* one branch: voxels[0] can be read */
        at = (at + PC_LIST_STEP) & mask;
        id = list->table[at];
    }
    if (id == 0) {
        id = (uint32_t)++list->found;
        list->table[at] = id;
        list->voxels[id] = (pc_cell_voxel){.key = key, .first = first, .points = points};
    } else {
        list->voxels[id].points += points;
    }
    return id;
}

enum { PC_VOXEL_PARTS = 64 };

typedef struct pc_voxel_scratch {
    struct pc_voxel_part {
        pc_voxel_list list;              /* the voxels of the part */
        pc_buffer map, before, to, hash; /* see pc_part_map; the partition of each voxel, its hash */
        pc_voxel_list partition;         /* the part of one thread */
        pc_buffer partition_voxel;       /* its ids among all voxels */
        pc_buffer sums;                  /* by local number */
    } part[PC_VOXEL_PARTS];
    int64_t new_ones[PC_VOXEL_PARTS][PC_VOXEL_PARTS]; /* by partition and part */
    pc_team *team;
    pc_buffer voxels, cursors, starts, order, sums;
} pc_voxel_scratch;

/* The voxels and their parts; the arrays are in the scratch memory. */
typedef struct pc_numbered {
    pc_cell_voxel *voxels; /* found: in the order of their first records, from 0 */
    int64_t found;
    pc_drops drops;
    int threads;                       /* that the cloud is worth */
    int parts;                         /* number of parts of the records */
    int64_t begin[PC_VOXEL_PARTS + 1]; /* parts + 1: their first records, ascending */
} pc_numbered;

/* Maps the voxels of a part to all voxels. */
typedef struct pc_part_map {
    const int32_t *voxel; /* by local id: the voxel */
    int32_t *before;      /* by local id: records of the voxel in the parts before this one */
} pc_part_map;

/* Writes the local id of each record's voxel, or -1, and fills `out`; false when memory is exhausted. */
bool pc_number_voxels(const pc_voxelize_job *job, const pc_voxelize_form *form, pc_voxel_scratch *scratch,
                      int32_t *numbers, pc_numbered *out);
/* Merges the voxels of several parts, whose first records are known, into all voxels. */
bool pc_merge_parts(pc_voxel_scratch *scratch, pc_numbered *out);
/* The map of one of several parts; call it once, from any thread. With one part, local ids are the ids of the
 * voxels. */
pc_part_map pc_map_part(pc_voxel_scratch *scratch, const pc_numbered *numbered, int part);

/* The state of a call. */
typedef struct pc_voxelizer {
    const pc_voxelize_job *job;
    pc_voxelize_form form;
    pc_cell_layout layout;
    pc_voxel_scratch *scratch;
    pc_numbered numbered;
    int32_t *cursors; /* count: points written so far, with one part */
    int64_t *starts;  /* count + 1: offsets of the voxels in `order`; NULL when no order is needed */
    int32_t *order;   /* kept: rows, voxel by voxel, in index order; then PC_ORDER_PADDING times row 0 */
} pc_voxelizer;

enum { PC_ORDER_PADDING = 16 }; /* allows prefetching beyond the end of the order */

/* Sets the cursors to 0; allocates `order` for the kept points and fills `starts`. False when memory is exhausted. */
bool pc_start_cursors(pc_voxelizer *v, const pcgpu_voxels *out);
bool pc_start_order(pc_voxelizer *v, const pcgpu_voxels *out);

/* Two algorithms for the features. By slots: every kept point is written to the padded features or to the order, and
 * then the features of each voxel are computed. By sums, for means: points are added in a stream. With max_points and
 * several parts, only the first algorithm has the points of a voxel in index order. Both replace local ids in
 * out->point_voxel by voxels, -1 where a record is not kept; false when memory is exhausted. */
bool pc_voxelize_by_places(pc_voxelizer *v, pcgpu_voxels *out);
bool pc_can_sum(const pc_voxelizer *v);
bool pc_voxelize_by_sums(pc_voxelizer *v, pcgpu_voxels *out);

/* Only the first step: writes the order of the records, or the padded features. */
bool pc_place_records(pc_voxelizer *v, pcgpu_voxels *out);

/* The voxels of a piece of a cloud, in the order of their first records, and their records: those of voxel i are
 * order[starts[i]] to order[starts[i + 1] - 1], ascending. */
typedef struct pc_voxel_groups {
    int64_t count;
    const pc_cell_voxel *voxels; /* count */
    const int64_t *starts;       /* count + 1 */
    const int32_t *order;
    pc_drops drops;
} pc_voxel_groups;

/* Finds them in job->data, whatever its features and limits; they are valid until the next call with the context.
 * Errors: MEMORY. */
pcgpu_status pc_group_records(pcgpu_context *context, const pc_voxelize_job *job, pc_voxel_groups *groups);

enum { PC_VOXEL_PIECES = 256 };

/* Voxels are processed in pieces, scheduled dynamically, since some take longer than others: piece i has the voxels
 * from pc_piece_begin(i) to before pc_piece_begin(i + 1). */
PC_INLINE int pc_pieces(const pc_voxelizer *v) {
    return v->numbered.threads == 1 ? 1 : PC_VOXEL_PIECES;
}

PC_INLINE int64_t pc_piece_begin(const pc_voxelizer *v, const pcgpu_voxels *out, int piece) {
    return out->count * piece / pc_pieces(v);
}

#endif
