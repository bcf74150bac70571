/* A volume of the CPU back end. */
#ifndef PC_CPU_VOLUME_H
#define PC_CPU_VOLUME_H

#include "simd.h"
#include "tsdf_job.h"
#include "tsdf_ops.h"

/* Keys of missing blocks, found by one thread; a key may be in several lists, or twice in one list. */
typedef struct pc_volume_list {
    pc_buffer keys;
    int64_t count;
    int64_t unreachable; /* pixels */
    bool failed;         /* memory was exhausted */
} pc_volume_list;

typedef struct pc_cpu_volume {
    pc_volume_slot *slots;
    uint64_t mask;
    int64_t count; /* number of blocks; ids start at 1, and block 0 has no values */
    bool color;    /* voxels have colours */
    /* Of each block, block 0 included: */
    pc_buffer keys, distances, weights, neighbours, colors;
    pc_buffer behind; /* uint8_t: it has a voxel behind a surface */
    /* Of one call: */
    uint64_t rows[PC_VOLUME_ROWS];
    pc_buffer inverse, lists, wanted, active, ranges, maps;
} pc_cpu_volume;

/* The view of a volume for reading. */
pc_volume_grid pc_cpu_volume_grid(const pc_cpu_volume *volume);

/* tsdf_cpu_blocks.c: allocates the blocks that a frame needs; all of them or, on failure, none. */
pcgpu_status pc_cpu_volume_allocate(pcgpu_context *context, pc_cpu_volume *volume, pc_volume_job *job);

/* tsdf_cpu_rays.c: casts the rays of a tile, whose blocks with surfaces lie between the two depths, with vectors of a
 * given width. */
typedef void pc_volume_cast_fn(const pc_volume_grid *grid, const pc_volume_view *view, int32_t left, int32_t top,
                               const float range[2], const pc_maps *maps);
pc_volume_cast_fn *pc_cpu_volume_cast(pc_simd simd);

/* Of pc_cpu_tsdf_ops. */
pcgpu_status pc_cpu_volume_open(pcgpu_context *context, bool color, void **state);
void pc_cpu_volume_close(pcgpu_context *context, void *state);
pcgpu_status pc_cpu_volume_blocks(pcgpu_context *context, void *state, struct pc_volume_blocks *blocks);

#endif
