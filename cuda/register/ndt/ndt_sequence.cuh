/* What a sequence keeps on the device: ndt_sequence.cu (its points, its target, registration) and
 * ndt_local_map.cu (its local map). */
#ifndef PC_NDT_SEQUENCE_CUH
#define PC_NDT_SEQUENCE_CUH

#include "ndt_merge.cuh"
#include "ndt_memory.cuh"

/* Points of a scan: pinned memory that the host fills, and what was sent of it. */
typedef struct pc_ndt_place {
    pc_pinned host;
    float *device; /* x[], y[], z[], n each */
    size_t bytes;  /* of that memory */
    int64_t n;
    bool sending; /* since the device was last waited for */
} pc_ndt_place;

/* Memory of a local map, one piece: 340 bytes a voxel and 32 to 64 for the table. Grids as in pc_ndt_merge_task. */
typedef struct pc_ndt_local_map_memory {
    char *memory;
    pc_ndt_layer grid[PC_NDT_GRIDS]; /* but for keys and moments: */
    uint64_t *keys[PC_NDT_GRIDS][2];
    pc_ndt_moments *moments[PC_NDT_GRIDS][2];
    int now; /* which of the two; a rebuild writes the voxels to the other */
    uint32_t capacity[PC_NDT_GRIDS];
    int bits[PC_NDT_GRIDS];
    uint4 *mailbox;
    size_t mailbox_half;
} pc_ndt_local_map_memory;

/* Voxels of which local maps are cut, one piece; grids as above. */
typedef struct pc_ndt_kept_voxels {
    char *memory;
    pc_ndt_count *count; /* of pc_ndt_persistent */
    uint64_t *keys[PC_NDT_GRIDS];
    pc_ndt_moments *moments[PC_NDT_GRIDS];
    uint32_t voxels[PC_NDT_GRIDS]; /* with voxel 0 */
} pc_ndt_kept_voxels;

typedef struct pc_ndt_sequence {
    pc_ndt_place place[PC_SCANS];
    pc_pinned header, results; /* parameters and result of a task */
    char *device;              /* of the header */
    pc_arena voxels, parts;    /* the target's voxels; parts of the source */
    pc_ndt_task task;          /* of the target, as it is on the device */
    pc_ndt_target target;      /* as it was given, and the scan of its points, to repeat it with a larger capacity */
    int target_place;
    double points_per_voxel; /* points to a voxel that were enough so far */
    int resident;            /* blocks that run at the same time */
    bool pending;            /* copies or kernels may still read what the host writes */
    bool on_local_map;       /* the target is the local map; the task has its grids */
    pc_ndt_local_map_memory local_map;
    pc_ndt_kept_voxels kept;
    pc_pinned merge, merged; /* parameters and result of the merge kernel */
    char *merge_device;      /* what stays of the local map from launch to launch, then its `merge` */
    int merge_resident;
} pc_ndt_sequence;

/* Waits for the device. */
pcgpu_status pc_ndt_sequence_wait(pcgpu_context *context, pc_ndt_sequence *s);
/* Lays out the voxels of points that were sent, as the task of the state. */
pcgpu_status pc_ndt_sequence_lay(pcgpu_context *context, pc_ndt_sequence *s, int place, const pc_ndt_target *target);
/* Sends the parameters of the task; `out` gets their device addresses. `step` as in ndt_jobs.cu. */
pcgpu_status pc_ndt_sequence_upload(pcgpu_context *context, pc_ndt_sequence *s, int step, header *out);
/* After voxels did not fit: raises the capacity of the next targets. */
pcgpu_status pc_ndt_sequence_widen(pcgpu_context *context, pc_ndt_sequence *s);

/* Releases the local map. */
void pc_ndt_sequence_free_local_map(pc_ndt_sequence *s);

static inline const pc_ndt_result *pc_ndt_sequence_result(const pc_ndt_sequence *s) {
    return (const pc_ndt_result *)s->results.memory;
}

#endif
