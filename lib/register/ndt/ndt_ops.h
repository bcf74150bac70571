/* What a back end does for registration by the normal distributions transform, of pairs and along a sequence. */
#ifndef PC_NDT_OPS_H
#define PC_NDT_OPS_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pc_cells_target; /* ndt_math.h */
struct pc_cells_measure;
struct pc_cells_model;
struct pc_cells_source;
struct pc_cells_pass;
struct pc_cells_step;
struct pc_cells_job; /* ndt_path.h */

enum { PC_SCANS = 3 }; /* places of a sequence: the one that is registered, the one before, a keyframe */

typedef struct pc_ndt_ops {
    /* Registration by cells, see ndt_math.h: target and source once, then passes, and after each as many sums as
     * wanted, PC_CELLS_SUMS values each. What is held is used again by the next one. */
    pcgpu_status (*target)(pcgpu_context *context, const struct pc_cells_target *target,
                           struct pc_cells_measure *measure);
    pcgpu_status (*source)(pcgpu_context *context, const struct pc_cells_source *source);
    pcgpu_status (*pass)(pcgpu_context *context, const struct pc_cells_pass *pass);
    pcgpu_status (*sum)(pcgpu_context *context, const struct pc_cells_step *step, double *sums);
    /* NULL where the host follows the path. Memory for the points of a cloud (PC_SCRATCH_TARGET, then
     * PC_SCRATCH_SOURCE), from which they are copied fastest, until it is asked for again. A target of a single pair
     * may be begun before its source is there. All of it for several pairs, on CUDA concurrently. */
    pcgpu_status (*memory)(pcgpu_context *context, int which, size_t bytes, void **memory);
    pcgpu_status (*begin)(pcgpu_context *context, const struct pc_cells_target *target);
    pcgpu_status (*register_jobs)(pcgpu_context *context, struct pc_cells_job *jobs, int count);
    /* NULL where sequences have a state of their own, see scans_model. Changes the model that is kept, and makes it the
     * target of what follows up to the next target; `measure`, of the last call, becomes that of the model. */
    pcgpu_status (*model)(pcgpu_context *context, const struct pc_cells_model *model, struct pc_cells_measure *measure);
    /* Registration by cells along a sequence, of which the device keeps what one scan leaves for the next; NULL where
     * the host follows the path. A sequence has a state of its own, with points at PC_SCANS places; closed also when
     * opening failed, and NULL is accepted. */
    pcgpu_status (*scans_open)(pcgpu_context *context, void **state);
    void (*scans_close)(pcgpu_context *context, void *state);
    /* Memory for the points of a place, from which they are sent fastest, until it is asked for again; nothing reads it
     * any more then. It is to be asked for each time that points are written. */
    pcgpu_status (*scans_memory)(pcgpu_context *context, void *state, int place, size_t bytes, void **memory);
    /* Takes n points of that memory. */
    pcgpu_status (*scans_send)(pcgpu_context *context, void *state, int place, int64_t n, const float *x,
                               const float *y, const float *z);
    /* Makes the points that a place has the target of what follows, and may still be at it afterwards; theirs of
     * `target` are not looked at. They must stay there as long. */
    pcgpu_status (*scans_target)(pcgpu_context *context, void *state, int place, const struct pc_cells_target *target);
    /* Adds them to the sequence's model, and makes that the target; as model. */
    pcgpu_status (*scans_model)(pcgpu_context *context, void *state, int place, const struct pc_cells_model *model,
                                struct pc_cells_measure *measure);
    /* Registers those of a place; the job's target is not looked at, nor are its points. */
    pcgpu_status (*scans_register)(pcgpu_context *context, void *state, int place, struct pc_cells_job *job);
} pc_ndt_ops;

extern const pc_ndt_ops pc_cpu_ndt_ops, pc_cuda_ndt_ops;

#ifdef __cplusplus
}
#endif
#endif
