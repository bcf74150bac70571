/* Shared by the files of method ndt on the CPU: ndt_cpu_grid.c (voxels and their hash table), ndt_cpu_target.c (voxels
 * of the target), ndt_cpu_local_map.c (voxels of a local map), ndt_cpu_finish.c (means and weights of voxels),
 * ndt_cpu.c (source points in voxels, sums over voxels) and ndt_cpu_ops.c (operations of the back end). The arithmetic
 * is in ndt_math.h. */
#ifndef PC_NDT_CPU_H
#define PC_NDT_CPU_H

#include "simd.h"
#include "ndt_math.h"
#include "ndt_ops.h"

enum { PC_NDT_POINTS_AT_A_TIME = 128 }; /* their coordinates, sums and ends of runs stay in L1 */

/* Which memory of a grid. */
enum {
    PC_NDT_MEMORY_SLOTS,
    PC_NDT_MEMORY_KEYS,
    PC_NDT_MEMORY_MOMENTS,
    PC_NDT_MEMORY_BLOCKS,
    PC_NDT_MEMORY_SOURCE,
    PC_NDT_MEMORY_STALE,
    PC_NDT_MEMORY_TOUCHED,
    PC_NDT_MEMORIES
};

/* Voxels in the order of their first point and a table that finds them: open addressing, a slot holding the number of a
 * voxel or 0. Voxel 0 is a dummy for points without a voxel, since a branch would be mispredicted too often. */
typedef struct pc_ndt_grid {
    int shift;               /* bits of a coordinate within a voxel */
    int32_t half;            /* added to coordinates: half a voxel in the second grid, else 0 */
    int32_t count, capacity; /* voxel 0 counts */
    int bits;                /* of a slot's number */
    uint32_t *slots;         /* 2^bits */
    uint64_t *keys;          /* capacity */
    pc_ndt_moments *moments; /* capacity */
    pc_ndt_block *blocks;    /* for PC_NDT_CHUNK voxels at a time */
    uint32_t *source;        /* points, sums of x, y and z of each voxel, for each thread one after the other */
    uint8_t *touched;        /* 1 for each block that a pass has added to, for each thread; others are zero */
    size_t source_blocks;    /* and how they are laid out: blocks of each of so many threads */
    int source_threads;
    uint16_t *stale; /* of a local map: of each block the lanes whose moments have changed, as bits */
    pc_buffer memory[PC_NDT_MEMORIES];
} pc_ndt_grid;

typedef struct pc_ndt_state {
    pc_simd simd;
    int64_t set_points[PC_SETS];
    const float *set[PC_SETS][3]; /* x, y, z: in `sets`, or the caller's where a part is all */
    pc_buffer sets;
    pc_ndt_grid level[PC_NDT_MAX_LEVELS];
    pc_ndt_grid shifted;    /* the second grid of level 0 */
    pc_ndt_grid *local_map; /* the same of a local map: its levels, then its second grid; NULL without one */
    pc_ndt_grid *kept;      /* the same grids, of which local maps are cut: keys and moments alone; NULL without */
    bool on_local_map;      /* passes are over the local map */
    pc_ndt_grid *part;      /* 2 x (parts - 1): grids of the points after the first part, for both grids */
    pc_buffer part_memory;
    int parts_made;
    pc_ndt_grid *grids[2]; /* of the last pass */
    int grid_count;
    int apart;        /* threads whose sums of this pass are not joined yet */
    pc_buffer chunks; /* their sums */
    pc_buffer points[PC_NDT_CLOUDS];
} pc_ndt_state;

/* Points of a scan of a sequence, in `memory`. */
typedef struct pc_ndt_cpu_scan {
    pc_buffer memory;
    int64_t n;
    const float *x, *y, *z;
} pc_ndt_cpu_scan;

typedef struct pc_ndt_cpu_sequence {
    pc_ndt_state voxels;
    pc_ndt_cpu_scan scan[PC_SCANS];
    pc_ndt_target target; /* when `pending`: its voxels are not made yet */
    bool pending;
    pc_ndt_measure measure; /* of the target, when it is a scan */
} pc_ndt_cpu_sequence;

PC_INLINE uint32_t pc_ndt_slot(const pc_ndt_grid *g, uint64_t key) {
    return (uint32_t)(key * 0x9E3779B97F4A7C15ull >> (64 - g->bits));
}

/* Number of the voxel with this key, or 0; at: its first slot. The condition is branch-free, so a miss is predicted as
 * well as a hit. */
PC_INLINE uint32_t pc_ndt_find_from(const pc_ndt_grid *g, uint64_t key, uint32_t at) {
    uint32_t mask = (1u << g->bits) - 1, voxel = g->slots[at];
    while (__builtin_expect(((g->keys[voxel] ^ key) & (0 - (uint64_t)(voxel != 0))) != 0, 0)) {
        at = (at + 1) & mask;
        voxel = g->slots[at];
    }
    return voxel;
}

PC_INLINE uint32_t pc_ndt_find(const pc_ndt_grid *g, uint64_t key) {
    return pc_ndt_find_from(g, key, pc_ndt_slot(g, key));
}

/* Ends of runs of consecutive points in one voxel; returns how many. Flags are computed for all points at once and
 * compacted without a branch, which would be mispredicted at nearly every end. */
PC_INLINE int pc_ndt_runs(const int32_t *ux, const int32_t *uy, const int32_t *uz, int n, int32_t half, int shift,
                          int32_t *ends) {
    int32_t marks[PC_NDT_POINTS_AT_A_TIME];
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

PC_INLINE void pc_ndt_quantize_all(const pc_ndt_map *map, const float *restrict x, const float *restrict y,
                                   const float *restrict z, int n, int32_t *restrict ux, int32_t *restrict uy,
                                   int32_t *restrict uz) {
    for (int i = 0; i < n; i++) {
        int32_t u[3];
        pc_ndt_quantize(map, x[i], y[i], z[i], u);
        ux[i] = u[0];
        uy[i] = u[1];
        uz[i] = u[2];
    }
}

/* ndt_cpu_grid.c. pc_ndt_reserve: capacity for `voxels` voxels; when memory is short it returns false and the grid is
 * unchanged. pc_ndt_empty_grid: empties a grid that has a capacity. pc_ndt_begin_grid: an empty one with a capacity. */
bool pc_ndt_reserve(pc_ndt_grid *g, int64_t voxels);
void pc_ndt_empty_grid(pc_ndt_grid *g, int shift, int32_t half);
bool pc_ndt_begin_grid(pc_ndt_grid *g, int shift, int32_t half, int64_t voxels);
void pc_ndt_free_grid(pc_ndt_grid *g);
/* Rebuilds the table from the keys. */
void pc_ndt_place_all(pc_ndt_grid *g);
/* A new voxel; 0 when memory is short. */
uint32_t pc_ndt_append(pc_ndt_grid *g, uint64_t key);

/* The number of a voxel, which is new when there is none; 0 when memory is short. */
PC_INLINE uint32_t pc_ndt_take(pc_ndt_grid *g, uint64_t key) {
    uint32_t voxel = pc_ndt_find(g, key);
    return voxel ? voxel : pc_ndt_append(g, key);
}

/* ndt_cpu_target.c */
/* Adds moments whose corner lies (dx, dy, dz) fixed-point units from that of `to`. */
void pc_ndt_add_moments(pc_ndt_moments *to, const pc_ndt_moments *m, int64_t dx, int64_t dy, int64_t dz);
/* The finest voxels of both grids of a scan, then the wider ones. False when memory is short. */
bool pc_ndt_add_target(pcgpu_context *context, pc_ndt_state *s, const pc_ndt_target *t);
bool pc_ndt_merge_levels(pc_ndt_state *s, int levels);
/* Centroid and number of voxels from a finest grid; radii of gyration from its blocks. */
void pc_ndt_find_center(const pc_ndt_grid *g, const pc_ndt_target *t, pc_ndt_measure *measure);
void pc_ndt_find_gyration(const pc_ndt_grid *g, pc_ndt_measure *measure);
/* ndt_cpu_local_map.c: frees the kept voxels, too. */
void pc_ndt_free_local_map(pc_ndt_state *s);

/* Memory for the blocks of `voxels` voxels, with what was in it when `keep`; false when it is short. */
bool pc_ndt_reserve_blocks(pc_ndt_grid *g, int64_t voxels, bool keep);
/* Fills g->blocks; wider: the grid of the parents, finished, or NULL. False when memory is short. */
bool pc_ndt_finish_grid(pcgpu_context *context, const pc_ndt_state *s, const pc_ndt_target *t, const double center[3],
                        pc_ndt_grid *g, const pc_ndt_grid *wider);
/* Fills the stale lanes, for which there is memory. */
void pc_ndt_finish_stale(pcgpu_context *context, const pc_ndt_state *s, const pc_ndt_target *t, const double center[3],
                         pc_ndt_grid *g, const pc_ndt_grid *wider);

/* ndt_cpu_ops.c: the context's state, NULL when memory is short. */
pc_ndt_state *pc_ndt_state_of(pcgpu_context *context);

/* Steps of a registration on a state: the target's voxels, the source, then passes, each followed by any number of
 * sums. Memory is reused by the next registration. */
pcgpu_status pc_ndt_make_target(pcgpu_context *context, pc_ndt_state *s, const pc_ndt_target *target,
                                pc_ndt_measure *measure);
pcgpu_status pc_ndt_take_source(pcgpu_context *context, pc_ndt_state *s, const pc_ndt_source *source);
pcgpu_status pc_ndt_add_pass(pcgpu_context *context, pc_ndt_state *s, const pc_ndt_pass *pass);
pcgpu_status pc_ndt_sum(pcgpu_context *context, pc_ndt_state *s, const pc_ndt_step *step, double *sums);
/* Merges a scan into the map of the state, which becomes the target. */
pcgpu_status pc_ndt_merge_scan(pcgpu_context *context, pc_ndt_state *s, const pc_ndt_merge *merge,
                               pc_ndt_measure *measure);
/* Keeps the voxels of the map; cuts a map from those that are kept (ndt_ops.h: sequence_cut). */
void pc_ndt_keep(pc_ndt_state *s);
pcgpu_status pc_ndt_cut(pcgpu_context *context, pc_ndt_state *s, const pc_ndt_merge *merge, pc_ndt_measure *measure);

#endif
