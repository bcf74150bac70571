/* Operations of a back end for the normal distributions transform (NDT), of pairs and along a sequence. */
#ifndef PC_NDT_OPS_H
#define PC_NDT_OPS_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pc_ndt_target; /* ndt_math.h */
struct pc_ndt_measure;
struct pc_ndt_merge;
struct pc_ndt_job; /* ndt_optimizer.h */

enum { PC_NDT_SOURCE, PC_NDT_TARGET, PC_NDT_CLOUDS }; /* the clouds of a pair */
enum { PC_SCANS = 3 }; /* scans of a sequence: the one that is registered, the one before, a keyframe */

/* Work that needs nothing of a device, for a back end to call while it waits for one. It may be called more than once,
 * or not at all. function NULL: there is none. */
typedef struct pc_host_work {
    void (*function)(void *state);
    void *state;
} pc_host_work;

static inline void pc_host_work_do(pc_host_work work) {
    if (work.function) {
        work.function(work.state);
    }
}

typedef struct pc_ndt_ops {
    /* ---- pairs ---- */
    bool concurrent_jobs; /* register_jobs works on several jobs at the same time */
    /* Memory for the points of clouds, PC_NDT_TARGET and then PC_NDT_SOURCE, from which the back end reads them
     * fastest, until it is asked for again. */
    pcgpu_status (*memory)(pcgpu_context *context, int which, size_t bytes, void **memory);
    /* The points of the target of a single pair are there; those of its source are still being selected. */
    pcgpu_status (*begin)(pcgpu_context *context, const struct pc_ndt_target *target);
    /* Runs the optimizers of jobs to their ends; `beside` may be called meanwhile. */
    pcgpu_status (*register_jobs)(pcgpu_context *context, struct pc_ndt_job *jobs, int count, pc_host_work beside);

    /* ---- a sequence ----
     * It has a state of its own, with points of PC_SCANS scans. Closed also when opening failed; NULL is accepted. */
    pcgpu_status (*sequence_open)(pcgpu_context *context, void **sequence);
    void (*sequence_close)(pcgpu_context *context, void *sequence);
    /* Memory for the points of a scan until it is asked for again; nothing reads it any more then. It is asked for each
     * time that points are written. */
    pcgpu_status (*sequence_memory)(pcgpu_context *context, void *sequence, int scan, size_t bytes, void **memory);
    /* Takes n points of that memory. */
    pcgpu_status (*sequence_send)(pcgpu_context *context, void *sequence, int scan, int64_t n, const float *x,
                                  const float *y, const float *z);
    /* Makes the points of a scan the target of the following registrations; those of `target` are not read. The back
     * end may build the voxels later: the points stay in place until then, and errors may surface in a registration. */
    pcgpu_status (*sequence_target)(pcgpu_context *context, void *sequence, int scan,
                                    const struct pc_ndt_target *target);
    /* Merges a scan into the sequence's local map, which becomes the target; `measure`, of the last call, becomes that
     * of the map. */
    pcgpu_status (*sequence_merge)(pcgpu_context *context, void *sequence, int scan, const struct pc_ndt_merge *merge,
                                   struct pc_ndt_measure *measure);
    /* Keeps a copy of all voxels of the local map, from which boxes are cut. */
    pcgpu_status (*sequence_keep)(pcgpu_context *context, void *sequence);
    /* Makes the kept voxels of a box the sequence's local map, which becomes the target, in their order. Of `merge`,
     * the scan (but for its points) describes the box, which begins `move` widest voxels after that of the kept ones.
     * The centre and the radii of gyration of `measure` are given. */
    pcgpu_status (*sequence_cut)(pcgpu_context *context, void *sequence, const struct pc_ndt_merge *merge,
                                 struct pc_ndt_measure *measure);
    /* Registers a scan; the job's target is not read, nor are its points. The target of its optimizer is given when it
     * is the local map, and computed otherwise. */
    pcgpu_status (*sequence_register)(pcgpu_context *context, void *sequence, int scan, struct pc_ndt_job *job,
                                      pc_host_work beside);
} pc_ndt_ops;

#ifdef __cplusplus
}
#endif
#endif
