/* What the files of registration by cells on the CPU share: ndt_cpu_grid.c has the cells and the table that finds
 * them, ndt_cpu_target.c makes those of the target, ndt_cpu_model.c those of a model, ndt_cpu_finish.c their means
 * and weights, ndt_cpu.c adds the source to them and sums over them. The arithmetic is in ndt_math.h. */
#ifndef PC_CPU_CELLS_H
#define PC_CPU_CELLS_H

#include "simd.h"
#include "ndt_math.h"
#include "ndt_ops.h"

enum { PC_CELLS_POINTS_AT_A_TIME = 128 }; /* their coordinates, sums and ends of runs stay in L1 */

/* Which memory of a grid. */
enum {
    PC_CELLS_SLOTS,
    PC_CELLS_KEYS,
    PC_CELLS_MOMENTS,
    PC_CELLS_BLOCKS,
    PC_CELLS_SOURCE,
    PC_CELLS_STALE,
    PC_CELLS_TOUCHED,
    PC_CELLS_MEMORIES
};

/* Cells in the order of their first point and a table that finds them: open addressing, a slot holding the number of a
 * cell or 0. Cell 0 is no cell: points that find none are added to it, since a branch would be mispredicted too often.
 */
typedef struct pc_cells_grid {
    int shift;                 /* bits of a coordinate within a cell */
    int32_t half;              /* added to coordinates: half a cell in the second grid, else 0 */
    int32_t count, capacity;   /* cell 0 counts */
    int bits;                  /* of a slot's number */
    uint32_t *slots;           /* 2^bits */
    uint64_t *keys;            /* capacity */
    pc_cells_moments *moments; /* capacity */
    pc_cells_block *blocks;    /* for PC_CELLS_CHUNK cells at a time */
    uint32_t *source;          /* points, sums of x, y and z of each cell, for each thread one after the other */
    uint8_t *touched;          /* of a model: 1 for each block that a pass has added to, for each thread; else NULL */
    size_t touched_blocks;     /* and how they were laid out */
    int touched_team;
    uint8_t *stale;            /* of a model: 1 for each block whose moments have changed */
    pc_buffer memory[PC_CELLS_MEMORIES];
} pc_cells_grid;

typedef struct pc_cells_state {
    pc_simd simd;
    int64_t set_points[PC_SETS];
    const float *set[PC_SETS][3]; /* x, y, z: in `sets`, or the caller's where a part is all */
    pc_buffer sets;
    pc_cells_grid level[PC_CELLS_MAX_LEVELS];
    pc_cells_grid shifted; /* the second grid of level 0 */
    pc_cells_grid *model;  /* the same of a model: its levels, then its second grid; NULL without one */
    bool on_model;         /* passes are over the model */
    pc_cells_grid *part;   /* 2 x (parts - 1): grids of the points after the first part, for both grids */
    pc_buffer part_memory;
    int parts_made;
    pc_cells_grid *grids[2]; /* of the last pass */
    int grid_count;
    pc_buffer chunks; /* their sums */
} pc_cells_state;

PC_INLINE uint32_t pc_cells_slot(const pc_cells_grid *g, uint64_t key) {
    return (uint32_t)(key * 0x9E3779B97F4A7C15ull >> (64 - g->bits));
}

/* Number of the cell with this key, or 0; at: its first slot. The condition is one number, so that finding no cell is
 * as well predicted as finding one. */
PC_INLINE uint32_t pc_cells_find_from(const pc_cells_grid *g, uint64_t key, uint32_t at) {
    uint32_t mask = (1u << g->bits) - 1, cell = g->slots[at];
    while (__builtin_expect(((g->keys[cell] ^ key) & (0 - (uint64_t)(cell != 0))) != 0, 0)) {
        at = (at + 1) & mask;
        cell = g->slots[at];
    }
    return cell;
}

PC_INLINE uint32_t pc_cells_find(const pc_cells_grid *g, uint64_t key) {
    return pc_cells_find_from(g, key, pc_cells_slot(g, key));
}

/* Ends of runs of consecutive points in one cell; returns how many. Marks are computed for all points at once and
 * gathered without a branch, which would be mispredicted at nearly every end. */
PC_INLINE int pc_cells_runs(const int32_t *ux, const int32_t *uy, const int32_t *uz, int n, int32_t half, int shift,
                            int32_t *ends) {
    int32_t marks[PC_CELLS_POINTS_AT_A_TIME];
    const uint32_t h = (uint32_t)half;
    for (int i = 1; i < n; i++) {
        uint32_t x = ((uint32_t)ux[i] + h) ^ ((uint32_t)ux[i - 1] + h);
        uint32_t y = ((uint32_t)uy[i] + h) ^ ((uint32_t)uy[i - 1] + h);
        uint32_t z = ((uint32_t)uz[i] + h) ^ ((uint32_t)uz[i - 1] + h);
        marks[i] = (x | y | z) >> shift != 0;
    }
    int count = 0;
    for (int i = 1; i < n; i++) {
        ends[count] = i;
        count += marks[i];
    }
    ends[count++] = n;
    return count;
}

PC_INLINE void pc_cells_quantize_all(const pc_cells_map *map, const float *restrict x, const float *restrict y,
                                     const float *restrict z, int n, int32_t *restrict ux, int32_t *restrict uy,
                                     int32_t *restrict uz) {
    for (int i = 0; i < n; i++) {
        int32_t u[3];
        pc_cells_quantize(map, x[i], y[i], z[i], u);
        ux[i] = u[0];
        uy[i] = u[1];
        uz[i] = u[2];
    }
}

/* ndt_cpu_grid.c: room for `cells` of them; false when memory is short, and the grid is as it was. One that has room
 * can be made empty. An empty one that may get to some cells without growing. */
bool pc_cells_reserve(pc_cells_grid *g, int64_t cells);
void pc_cells_empty_grid(pc_cells_grid *g, int shift, int32_t half);
bool pc_cells_begin_grid(pc_cells_grid *g, int shift, int32_t half, int64_t cells);
void pc_cells_free_grid(pc_cells_grid *g);
/* Fills the table anew, from the keys. */
void pc_cells_place_all(pc_cells_grid *g);
/* A new cell; 0 when memory is short. */
uint32_t pc_cells_append(pc_cells_grid *g, uint64_t key);

/* The number of a cell, which is new when there is none; 0 when memory is short. */
PC_INLINE uint32_t pc_cells_take(pc_cells_grid *g, uint64_t key) {
    uint32_t cell = pc_cells_find(g, key);
    return cell ? cell : pc_cells_append(g, key);
}

/* ndt_cpu_target.c */
/* Adds moments whose corner lies (dx, dy, dz) quanta from that of `to`. */
void pc_cells_add_moments(pc_cells_moments *to, const pc_cells_moments *m, int64_t dx, int64_t dy, int64_t dz);
/* The finest cells of both grids of a scan, then the wider ones. False when memory is short. */
bool pc_cells_add_target(pcgpu_context *context, pc_cells_state *s, const pc_cells_target *t);
bool pc_cells_merge_levels(pc_cells_state *s, int levels);
/* Centroid and number of cells from a finest grid; levers from its blocks. */
void pc_cells_find_center(const pc_cells_grid *g, const pc_cells_target *t, pc_cells_measure *measure);
void pc_cells_find_levers(const pc_cells_grid *g, pc_cells_measure *measure);
/* The context's state, NULL when memory is short. */
pc_cells_state *pc_cells_state_of(pcgpu_context *context);
/* ndt_cpu_model.c */
void pc_cells_free_model(pc_cells_state *s);

/* Memory for the blocks of `cells` cells, with what was in it when `keep`; false when it is short. */
bool pc_cells_reserve_blocks(pc_cells_grid *g, int64_t cells, bool keep);
/* Fills g->blocks, on the caller's thread alone where there is no context; false when memory is short. */
bool pc_cells_finish_grid(pcgpu_context *context, const pc_cells_state *s, const pc_cells_target *t,
                          const double center[3], pc_cells_grid *g);
/* Fills the stale ones, for which there is memory. */
void pc_cells_finish_stale(pcgpu_context *context, const pc_cells_state *s, const pc_cells_target *t,
                           const double center[3], pc_cells_grid *g);

/* Of pc_cpu_ndt_ops. */
pcgpu_status pc_cpu_cells_target(pcgpu_context *context, const struct pc_cells_target *target,
                                 struct pc_cells_measure *measure);
pcgpu_status pc_cpu_cells_pass(pcgpu_context *context, const struct pc_cells_pass *pass);
pcgpu_status pc_cpu_cells_source(pcgpu_context *context, const struct pc_cells_source *source);
pcgpu_status pc_cpu_cells_sum(pcgpu_context *context, const struct pc_cells_step *step, double *sums);
pcgpu_status pc_cpu_cells_model(pcgpu_context *context, const struct pc_cells_model *model,
                                struct pc_cells_measure *measure);

#endif
