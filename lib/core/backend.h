/* What a back end is: tables of operations on plain arrays. The files of a feature check parameters, drop unusable points
 * and share all logic that needs no parallel hardware; a back end only computes. And the context, with its errors, log,
 * memory and threads. */
#ifndef PC_BACKEND_H
#define PC_BACKEND_H

#include "threads.h"
#include "geometry.h"
#include "pcgpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A back end: a table of operations for each feature, which is declared beside it (sample_ops.h, voxelize_ops.h, ...). */
typedef struct pc_backend {
    const char *name; /* "cpu", "cuda" */
    const struct pc_sample_ops *sample;
    const struct pc_voxelize_ops *voxelize;
    const struct pc_icp_ops *icp;
    const struct pc_ndt_ops *ndt;
    const struct pc_projective_ops *projective;
    const struct pc_tsdf_ops *tsdf;
} pc_backend;

extern const pc_backend pc_backend_cpu;

/* Releases what the CPU back end keeps in a context. */
void pc_cpu_stop(pcgpu_context *context);
/* What it keeps of each feature. */
void pc_cpu_voxelize_end(pcgpu_context *context);
void pc_cpu_icp_end(pcgpu_context *context);
void pc_cpu_cells_free(pcgpu_context *context);
void pc_cpu_depth_end(pcgpu_context *context);

/* ---- the CUDA side: cuda/core/backend.cu, or cuda/stub.c in a CPU-only build -------------------------------------- */

const pc_backend *pc_backend_cuda(void); /* NULL in a CPU-only build */
const char *pc_cuda_architectures(void);
int pc_cuda_devices(pcgpu_device_info *devices, int capacity, char *why, size_t why_size, int *driver);
/* Starts the device context->settings.cuda_index and fills context->cuda and context->cuda_name. */
pcgpu_status pc_cuda_start(pcgpu_context *context);
void pc_cuda_stop(pcgpu_context *context);

/* ---- memory that is kept -------------------------------------------------------------------------------------- */

/* Memory that only grows and is used again: a fresh page costs more than the work on it. */
typedef struct pc_buffer {
    void *memory;
    size_t bytes;
} pc_buffer;

/* At least this much, with what was in it when `keep`; NULL when memory is short. */
void *pc_buffer_take(pc_buffer *buffer, size_t bytes, bool keep);

enum { PC_SCRATCH_SOURCE, PC_SCRATCH_TARGET, PC_SCRATCHES };

/* ---- context --------------------------------------------------------------------------------------------------- */

struct pcgpu_context {
    pcgpu_settings settings;
    char error[1024];
    int threads; /* resolved, >= 1 */
    int worked;  /* threads that the operation under way puts to work, where the CPU back end knows better */
    char cpu_name[64];
    char cuda_name[64];
    char cuda_why_not[256]; /* why CUDA cannot be used, once that is known */
    bool cuda_failed;
    void *cuda;                      /* state of the CUDA back end once started, else NULL */
    void *cpu_icp;                   /* state of a CPU registration in progress, else NULL */
    pc_buffer scratch[PC_SCRATCHES]; /* of an operation, kept for the next one */
    pc_team *team;                   /* see pc_context_team, or NULL: not yet */
    bool refusal_reported;           /* that the system refuses threads */
    void *cpu_voxels;                /* memory of the CPU's voxelization, reused, or NULL */
    void *cpu_cells;                 /* memory of CPU registrations by cells, kept for the next one, or NULL */
    void *cpu_depth;                 /* memory of CPU registrations of depth frames, or NULL */
    pcgpu_context **helpers;         /* of `threads` registrations at once, each on a thread, or NULL; NULL in it: not yet */
    int simd_limit;                  /* for tests: the widest vectors to use as a pc_simd, plus 1; 0 = the machine's */
};

/* Its threads that share the parts of a step (lib/core/threads.h), for one call at a time; NULL when memory is short. */
pc_team *pc_context_team(pcgpu_context *context);
/* Does parts, or ranges of `chunk` of n items, on these threads; on the caller's alone without a context. A part of a
 * step has a context of one thread, or none, for steps of its own. */
void pc_run_parts(pcgpu_context *context, int parts, pc_team_fn *function, void *state);
void pc_run_ranges(pcgpu_context *context, int64_t n, int64_t chunk, pc_range_fn *function, void *state);

/* Records the sentence for pcgpu_last_error and returns `status`. */
pcgpu_status pc_fail(pcgpu_context *context, pcgpu_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "out of memory; N bytes were needed for WHAT". */
pcgpu_status pc_fail_memory(pcgpu_context *context, uint64_t bytes, const char *what);
void pc_log(pcgpu_context *context, pcgpu_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void pc_clear_error(pcgpu_context *context);

/* Chooses the back end for one operation. cpu_seconds and cuda_seconds estimate the operation alone, on one CPU thread
 * and on a started device; AUTO takes CUDA when that plus the start-up that is still to be paid is less than the CPU's
 * time. Fills backend, device, reason and threads of `run`. */
pcgpu_status pc_choose_backend(pcgpu_context *context, double cpu_seconds, double cuda_seconds, pcgpu_run *run,
                               const pc_backend **backend);

/* After an operation on this back end: whether it failed on a device that AUTO chose. The device is not chosen any more
 * then, which a warning says, and the operation is to be chosen a back end for and done once more. */
bool pc_goes_to_cpu(pcgpu_context *context, const pc_backend *backend, pcgpu_status status);

/* Monotonic seconds; pc_stage appends a stage that began at `begin` and returns the time now. */
double pc_now(void);
double pc_stage(pcgpu_run *run, const char *name, double begin);

/* The usable points of a cloud as separate arrays: finite, and not at the origin of the file when drop_origin. */
typedef struct pc_points {
    int64_t n;
    float *x, *y, *z; /* n each */
    int32_t *rows;    /* n: the record of each point, or NULL when every record is usable */
    float *memory;
} pc_points;

/* Fills `points` and counts points_in, non_finite and at_origin in `run` (added to what is there). */
pcgpu_status pc_points_select(pcgpu_context *context, const pcgpu_cloud *cloud, bool drop_origin, pc_points *points,
                              pcgpu_run *run);
void pc_points_free(pc_points *points);

/* First of the three adjacent columns nx ny nz or normal_x normal_y normal_z, or -1. */
int pc_normal_column(const pcgpu_cloud *cloud);

/* A new cloud with the columns, types and offset of another; its values are the caller's to fill. */
pcgpu_status pc_cloud_create_like(pcgpu_context *context, const pcgpu_cloud *model, int64_t rows, pcgpu_cloud *out);

#ifdef __cplusplus
}
#endif
#endif
