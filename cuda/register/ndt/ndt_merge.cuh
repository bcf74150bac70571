/* Parameters of the kernel that merges a scan into the local map of a sequence (ndt_merge.cu). ndt_local_map.cu has the
 * memory. */
#ifndef PC_NDT_MERGE_CUH
#define PC_NDT_MERGE_CUH

#include "ndt.cuh"

/* A grid of the local map. Voxels that are rehashed move to other memory. */
typedef struct pc_ndt_merge_grid {
    pc_ndt_layer at; /* as it is afterwards, for `capacity` voxels; `slot_of` is not used */
    uint32_t capacity;
    int bits;             /* of its table */
    int64_t most;         /* points, at which a voxel takes no more */
    int64_t by[3];        /* voxels that the box moves by */
    const uint64_t *keys; /* where they were before */
    const pc_ndt_moments *moments;
} pc_ndt_merge_grid;

/* What did not fit. */
typedef enum pc_ndt_lacking { PC_NDT_ALL_FIT, PC_NDT_SCAN_LACKS, PC_NDT_LOCAL_MAP_LACKS } pc_ndt_lacking;

/* Result of the kernel, in host memory. */
typedef struct pc_ndt_merge_result {
    pc_ndt_lacking lacking; /* the scan: nothing was changed; the local map: it was rebuilt, but nothing was added */
    uint32_t voxels[PC_NDT_GRIDS]; /* that there are, or would be, with voxel 0; by grids of the local map */
    pc_ndt_measure measure;        /* centre and radii of gyration when it was renewed */
} pc_ndt_merge_result;

/* Grids 0 to levels - 1, then the shifted one of level 0 at `levels`. */
typedef struct pc_ndt_merge_task {
    pc_ndt_merge_grid grid[PC_NDT_GRIDS];
    uint32_t forget, rebuild, renew; /* flags; rebuild: all voxels get new ids */
    uint32_t all;                    /* all voxels get new means and weights, not only those that change */
    double center[3];                /* of the motions, unless it is renewed */
    float limit[3];                  /* of the box */
    pc_ndt_persistent *persistent;   /* of the local map */
    pc_ndt_merge_result *result;
} pc_ndt_merge_task;

/* Blocks that run at the same time. */
pcgpu_status pc_ndt_merge_resident(pcgpu_context *context, int *blocks);
/* Builds the voxels of a scan's task and merges them into the local map; both are in device memory, like the
 * counter. */
pcgpu_status pc_ndt_merge_launch(pcgpu_context *context, const pc_ndt_task *scan, const pc_ndt_merge_task *merge,
                                 int blocks, uint32_t *counter);

#endif
