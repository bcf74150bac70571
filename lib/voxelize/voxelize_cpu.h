/* What the parts of voxelization on the CPU share: voxelize_cpu.c has the order of the steps,
 * voxelize_cpu_cells.c finds the cells of records, many at a time, voxelize_cpu_number.c numbers the voxels,
 * voxelize_cpu_places.c and voxelize_cpu_sums.c make the features. */
#ifndef PC_CPU_VOXELIZE_H
#define PC_CPU_VOXELIZE_H

#include "simd.h"
#include "threads.h"
#include "voxelize_math.h"

/* Voxelization in a chosen form; pc_cpu_voxelize takes the widest vectors of the machine. Every form gives the same
 * bits. */
typedef struct pc_voxelize_form {
    pc_simd simd;
    int64_t part_rows; /* fewest records that are worth one more thread, >= 1 */
    int parts;         /* the records are numbered in so many parts, 1 to 64; 0: as threads have time */
} pc_voxelize_form;

pcgpu_status pc_cpu_voxelize_as(pcgpu_context *context, const pc_voxelize_job *job, pcgpu_voxels *out,
                                const pc_voxelize_form *form);

/* Compilers make vectors of the machine from it. */
typedef float pc_float4 __attribute__((vector_size(16)));

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

/* block->memory has at least `bytes` afterwards, with `keep` what was there before; false when memory is short. */
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

enum { PC_LIST_STEP = 17 }; /* from a taken place to the next to try: another line, another place in it */

PC_INLINE uint32_t pc_hash_of_key(const pc_cell_layout *layout, uint64_t key) {
    int32_t coords[4];
    pc_key_coords(layout, key, coords);
    return pc_cell_hash((uint32_t)coords[3], (uint32_t)coords[2], (uint32_t)coords[1]);
}

/* Makes an empty list with room for a guess at `expected` voxels, in the memory that it has. False when memory is
 * short. */
bool pc_list_start(pc_voxel_list *list, const pc_cell_layout *layout, int64_t expected);
/* Makes room for `more` voxels. */
bool pc_list_reserve(pc_voxel_list *list, size_t more);

/* Counts `points` more records of the voxel with this key, or a new voxel whose first record is `first`; gives its
 * number. There is room. */
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
        pc_voxel_list list;             /* what numbering the part found */
        pc_block map, before, to, hash; /* see pc_part_map; the share of each voxel, its hash */
        pc_voxel_list share;            /* what one thread merges */
        pc_block share_voxel;           /* its numbers among all voxels */
        pc_block sums;                  /* by local number */
    } part[PC_VOXEL_PARTS];
    pc_team *team;
    pc_block voxels, cursors, starts, order, sums;
} pc_voxel_scratch;

/* What numbering found; the arrays are in the scratch memory. */
typedef struct pc_numbered {
    pc_cell_voxel *voxels; /* found: in the order of their first records, from 0 */
    int64_t found;
    pc_drops drops;
    int threads;                       /* that the cloud is worth */
    int parts;                         /* that the records were numbered in */
    int64_t begin[PC_VOXEL_PARTS + 1]; /* parts + 1: their first records, ascending */
} pc_numbered;

/* Where the voxels of a part are among all. */
typedef struct pc_part_map {
    const int32_t *voxel; /* by local number: the voxel */
    int32_t *before;      /* by local number: records of the voxel in the parts before this one */
} pc_part_map;

/* Writes the local number of each record's voxel, or -1, and fills `out`; false when memory is short. */
bool pc_number_voxels(const pc_voxelize_job *job, const pc_voxelize_form *form, pc_voxel_scratch *scratch,
                      int32_t *numbers, pc_numbered *out);
/* Of voxels numbered in several parts, whose first records are known: the voxels of all. */
bool pc_merge_parts(pc_voxel_scratch *scratch, pc_numbered *out);
/* The map of one of several parts, to be asked for once, by any thread. With one part local numbers are the voxels'. */
pc_part_map pc_map_part(pc_voxel_scratch *scratch, const pc_numbered *numbered, int part);

/* One call under way. */
typedef struct pc_voxelizer {
    const pc_voxelize_job *job;
    pc_voxelize_form form;
    pc_cell_layout layout;
    pc_voxel_scratch *scratch;
    pc_numbered numbered;
    int32_t *cursors; /* count: points placed so far, when there is one part */
    int64_t *starts;  /* count + 1: where the points of a voxel begin in `order`; NULL when no order is needed */
    int32_t *order;   /* kept: rows, voxel by voxel, in index order; then PC_ORDER_PADDING times row 0 */
} pc_voxelizer;

enum { PC_ORDER_PADDING = 16 }; /* what follows in the order can be read ahead */

/* Starts the cursors at 0; `starts` and the memory of `order` for the points kept. False when memory is short. */
bool pc_start_cursors(pc_voxelizer *v, const pcgpu_voxels *out);
bool pc_start_order(pc_voxelizer *v, const pcgpu_voxels *out);

/* Two ways to the features. By places: every kept point goes into the padded features or into the order, and then each
 * voxel is finished. By sums, for means: points are added up as they go by. With max_points and several parts only the
 * first way has the points of a voxel in index order. Both turn out->point_voxel from local numbers into voxels, -1
 * where a record is not kept; false when memory is short. */
bool pc_voxelize_by_places(pc_voxelizer *v, pcgpu_voxels *out);
bool pc_can_sum(const pc_voxelizer *v);
bool pc_voxelize_by_sums(pc_voxelizer *v, pcgpu_voxels *out);

enum { PC_VOXEL_PIECES = 256 };

/* Voxels are finished in pieces, which threads take as they come, since some take longer than others: piece i is the
 * voxels from pc_piece_begin(i) to before pc_piece_begin(i + 1). */
PC_INLINE int pc_pieces(const pc_voxelizer *v) {
    return v->numbered.threads == 1 ? 1 : PC_VOXEL_PIECES;
}

PC_INLINE int64_t pc_piece_begin(const pc_voxelizer *v, const pcgpu_voxels *out, int piece) {
    return out->count * piece / pc_pieces(v);
}

#endif
