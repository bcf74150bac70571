/* The model of a sequence, as the kernel that folds a scan into it sees it: ndt_fold.cu; its memory is that
 * of ndt_model.cu. */
#ifndef PC_REGISTER_CELLS_FOLD_CUH
#define PC_REGISTER_CELLS_FOLD_CUH

#include "ndt.cuh"

/* A grid of the model. Cells that are laid anew come from other memory than they go to. */
typedef struct pc_cells_folded {
    pc_cells_layer at; /* as it is afterwards, for `capacity` cells; `slot_of` is not used */
    uint32_t capacity;
    int bits;             /* of its table */
    int64_t most;         /* points, at which a cell takes no more */
    int64_t by[3];        /* cells that the box moves by */
    const uint64_t *keys; /* where they were before */
    const pc_cells_moments *moments;
} pc_cells_folded;

/* What did not fit. */
typedef enum pc_cells_lacking { PC_CELLS_ALL_FIT, PC_CELLS_SCAN_LACKS, PC_CELLS_MODEL_LACKS } pc_cells_lacking;

/* What the kernel says, in memory of the host. */
typedef struct pc_cells_fold_result {
    pc_cells_lacking lacking;       /* the scan: nothing was changed; the model: it was laid anew, but nothing added */
    uint32_t cells[PC_CELLS_GRIDS]; /* that there are, or would be, with cell 0; by grids of the model */
    pc_cells_measure measure;       /* centre and levers when it was renewed */
} pc_cells_fold_result;

/* Grids 0 to levels - 1, then the shifted one of level 0 at `levels`. */
typedef struct pc_cells_fold {
    pc_cells_folded grid[PC_CELLS_GRIDS];
    uint32_t forget, anew, renew; /* flags; anew: all cells are laid anew */
    double center[3];             /* of the motions, unless it is renewed */
    float limit[3];               /* of the box */
    pc_cells_told *told;          /* of the model */
    pc_cells_fold_result *result;
} pc_cells_fold;

/* Blocks that run at the same time. */
pcgpu_status pc_cells_fold_resident(pcgpu_context *context, int *blocks);
/* Makes the cells of a scan's task and adds them to the model; both in device memory, as is the counter. */
pcgpu_status pc_cells_fold_launch(pcgpu_context *context, const pc_cells_task *scan, const pc_cells_fold *fold,
                                  int blocks, uint32_t *counter);

#endif
