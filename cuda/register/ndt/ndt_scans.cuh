/* What a sequence keeps on the device: ndt_scans.cu (its points, its target, registration) and
 * ndt_model.cu (its model). */
#ifndef PC_REGISTER_CELLS_SCANS_CUH
#define PC_REGISTER_CELLS_SCANS_CUH

#include "ndt_fold.cuh"
#include "ndt_memory.cuh"

/* Points of a scan: pinned memory that the host fills, and what was sent of it. */
typedef struct pc_cells_place {
    pinned host;
    float *device; /* x[], y[], z[], n each */
    size_t bytes;  /* of that memory */
    int64_t n;
    bool sending; /* since the device was last waited for */
} pc_cells_place;

/* Memory of a model, one piece: 340 bytes a cell and 32 to 64 for the table. Grids as in pc_cells_fold. */
typedef struct pc_cells_room {
    char *memory;
    pc_cells_layer grid[PC_CELLS_GRIDS]; /* but for keys and moments: */
    uint64_t *keys[PC_CELLS_GRIDS][2];
    pc_cells_moments *moments[PC_CELLS_GRIDS][2];
    int now; /* which of the two; cells go to the other when they are laid anew */
    uint32_t capacity[PC_CELLS_GRIDS];
    int bits[PC_CELLS_GRIDS];
    uint4 *notes;
    size_t notes_half;
} pc_cells_room;

typedef struct pc_cells_scans {
    pc_cells_place place[PC_SCANS];
    pinned header, results; /* what a task is told, and what it says */
    char *device;           /* of the header */
    pc_arena cells, parts;  /* the target's cells; parts of the source */
    pc_cells_task task;     /* of the target, as it is on the device */
    pc_cells_target target; /* as it was given, and the place of its points, for a second time with more room */
    int target_place;
    double sparing; /* points to a cell that were enough so far */
    int resident;   /* blocks that run at the same time */
    bool pending;   /* copies or kernels may be under way that read what the host fills */
    bool on_model;  /* the target is the model; the task has its grids */
    pc_cells_room model;
    pinned fold, folded; /* what the kernel that adds to it is told, and says */
    char *fold_device;   /* what stays of the model from launch to launch, then its `fold` */
    int fold_resident;
} pc_cells_scans;

/* Waits for the device. */
pcgpu_status pc_cells_scans_wait(pcgpu_context *context, pc_cells_scans *s);
/* Lays out the cells of points that were sent, as the task of the state. */
pcgpu_status pc_cells_scans_lay(pcgpu_context *context, pc_cells_scans *s, int place, const pc_cells_target *target);
/* Sends what the task is told and gives where it is on the device; `step` as in ndt_jobs.cu. */
pcgpu_status pc_cells_scans_tell(pcgpu_context *context, pc_cells_scans *s, int step, header *out);
/* After cells did not fit: makes more room for those to come. */
pcgpu_status pc_cells_scans_widen(pcgpu_context *context, pc_cells_scans *s);

/* Releases the model. */
void pc_cells_scans_free_model(pc_cells_scans *s);

static inline const pc_cells_result *pc_cells_scans_result(const pc_cells_scans *s) {
    return (const pc_cells_result *)s->results.memory;
}

#endif
