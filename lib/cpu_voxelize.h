/* What the parts of voxelization on the CPU share: cpu_voxelize.c has the order of the steps and the features,
 * cpu_voxelize_cells.c finds the cells of records, many at a time, cpu_voxelize_number.c numbers the voxels, and
 * cpu_voxelize_sums.c sums them up. */
#ifndef PC_CPU_VOXELIZE_H
#define PC_CPU_VOXELIZE_H

#include "cpu_simd.h"
#include "voxel.h"

/* Records are taken so many at a time: what is known of them stays in L1. */
enum { PC_CELL_BLOCK = 512 };

/* A cell as one number: x in the lowest bits, then y, then z, as many bits as the grid needs. They fit, since the
 * product of the cell counts is at most 2^62 and rounding three of them up to powers of two adds less than 3 bits. */
typedef struct pc_cell_layout {
    int y_shift, z_shift;
} pc_cell_layout;

/* The cells of up to PC_CELL_BLOCK records. */
typedef struct pc_cells {
    int32_t count;                 /* records in range */
    uint16_t place[PC_CELL_BLOCK]; /* count: which records of the block these are, ascending */
    uint64_t key[PC_CELL_BLOCK];   /* by place; undefined for the others */
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

/* A hash that keeps neighbours together: the 4 x 4 cells of a tile in x and y take the 16 places of an aligned run,
 * which is one cache line of the table, in an order of the tile's own, so that no pattern of cells crowds the same
 * places. A scan goes from a cell to its neighbour most of the time. */
PC_INLINE uint32_t pc_cell_hash(uint32_t x, uint32_t y, uint32_t z) {
    uint32_t tile = (x >> 2) * 0x9E3779B1u + (y >> 2) * 0x85EBCA77u + z * 0xC2B2AE3Du;
    tile = (tile ^ tile >> 16) * 0x7FEB352Du; /* the finalizer of Wellons' lowbias32 */
    tile = (tile ^ tile >> 15) * 0x846CA68Bu;
    tile ^= tile >> 16;
    return tile << 4 | (((x & 3u) | (y & 3u) << 2) ^ tile >> 28);
}

/* A voxel that was found. */
typedef struct pc_cell_voxel {
    uint64_t key;
    int32_t first;  /* its first record */
    int32_t points; /* records in it */
} pc_cell_voxel;

/* Memory that is kept from one call to the next: getting pages from the system takes longer than voxelizing a scan. */
typedef struct pc_block {
    void *memory;
    size_t bytes;
} pc_block;

/* block->memory has at least `bytes` afterwards, what was there with `keep`, else anything; false when memory is short.
 */
bool pc_block_reserve(pc_block *block, size_t bytes, bool keep);

/* Voxels in the order in which they were met, numbered from 1, and the hash table that finds them. */
typedef struct pc_voxel_list {
    pc_cell_layout layout;
    pc_cell_voxel *voxels; /* [0] is not a voxel */
    uint32_t *table;       /* slots, a power of two, at most half of them taken: the number of a voxel or 0 */
    size_t slots;
    int64_t found;
    pc_block voxel_block, table_block;
} pc_voxel_list;

enum { PC_VOXEL_PARTS = 64 };

typedef struct pc_voxel_scratch {
    struct pc_voxel_part {
        pc_voxel_list list;       /* what numbering the part found */
        pc_block map, before, to; /* see pc_numbered and merging */
        pc_voxel_list share;      /* what the thread merges */
        pc_block share_voxel;
    } part[PC_VOXEL_PARTS];
    pc_block voxels, cursors, starts, order, sums;
} pc_voxel_scratch;

/* What numbering found; the arrays are in the scratch memory. */
typedef struct pc_numbered {
    pc_cell_voxel *voxels; /* found: in the order of their first records, from 0 */
    int64_t found;
    pc_drops drops;
    int parts;         /* the records were numbered in so many parts, equal but for the last */
    int64_t part_rows; /* records a part */
} pc_numbered;

/* Where the voxels of a part are among all. */
typedef struct pc_part_map {
    const int32_t *voxel; /* by local number: the voxel */
    int32_t *before;      /* by local number: records of the voxel in the parts before this one */
} pc_part_map;

/* Writes the local number of each record's voxel, or -1, and fills `out`; false when memory is short. */
bool pc_number_voxels(const pc_voxelize_job *job, pc_simd simd, int threads, pc_voxel_scratch *scratch,
                      int32_t *numbers, pc_numbered *out);
/* The map of one of several parts, to be asked for once, by any thread. With one part local numbers are the voxels'. */
pc_part_map pc_map_part(pc_voxel_scratch *scratch, const pc_numbered *numbered, int part);

/* Adds all records, in index order, to the sums of the first `count` voxels, `columns` each, which start as zeroes:
 * with max_points float32, of the first points; without float64, NaN where a sum would not be exact. voxels[] becomes
 * -1 for records that are not kept. `cursors`, zeroes, count the points of a voxel with max_points. */
void pc_add_records(const pc_voxelize_job *job, pc_simd simd, int64_t count, int32_t *voxels, int32_t *cursors,
                    void *sums);

#endif
