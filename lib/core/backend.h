/* What a back end is: a table of operations on plain arrays. The files of an operation (sample*.c, voxelize*.c,
 * register*.c, odometry*.c, volume*.c) check parameters, drop unusable points and share all logic that needs no parallel
 * hardware; a back end only computes. And the context, with its errors, log, memory and threads. */
#ifndef PC_BACKEND_H
#define PC_BACKEND_H

#include "threads.h"
#include "geometry.h"
#include "pcgpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- operations: host pointers in, host pointers out --------------------------------------------------------- */

/* Farthest point sampling of one cloud of n >= 1 finite points. Without seeds it picks `start` (0 <= start < n) first,
 * at distance +inf. Seeds are distinct points that count as picked already; they are not written, and `start` is not
 * used. Then farthest points, the lowest place on ties, until `count` are picked (1..n, with seeds 0..n - seed_count)
 * or the next one's squared distance is below the least distance (compared after sqrtf with `min_distance`). */
typedef struct pc_sample_job {
    int64_t n;
    float *x, *y, *z;
    bool disposable; /* nobody needs x, y and z afterwards: the back end may overwrite them */
    int64_t start, count;
    int64_t seed_count;   /* 0 = none */
    const int32_t *seeds; /* seed_count */
    float min_distance;   /* 0 = none */
    int32_t *indices;     /* count, caller's */
    float *squared;       /* count, caller's */
    int64_t picked;       /* out */
    float rest; /* out: squared distance of the pick that would have come next, 0 when every point is picked */
} pc_sample_job;

/* Voxelization of `rows` row-major records. skip_origin drops records at exactly (0,0,0). Non-finite coordinates are
 * out of every range. The outputs below are malloc'd by the back end; on failure it frees what it had and leaves NULL.
 */
typedef struct pc_voxelize_job {
    int64_t rows;
    int columns;
    const float *data;
    pc_grid grid;
    int64_t max_points, max_voxels; /* 0 = none */
    pcgpu_features features;
    bool skip_origin;
    float skip[3]; /* the record that counts as the origin: -offset, normally 0 0 0 */
} pc_voxelize_job;

/* One registration at a time per context: for each level icp_target, then icp_source, then icp_step as often as wanted;
 * icp_end at last, also after a failure. The arrays given stay the caller's and valid until the next icp_target or
 * icp_end. All points are finite float32 in a frame that lib/register/register.c chooses. */
struct pc_icp_target; /* lib/register/icp/icp_step.h */
struct pc_icp_source;
struct pc_icp_step;
struct pc_cells_target; /* lib/register/ndt/ndt_math.h */
struct pc_cells_measure;
struct pc_cells_model;
struct pc_cells_source;
struct pc_cells_pass;
struct pc_cells_step;
struct pc_cells_job;   /* lib/register/ndt/ndt_path.h */
struct pc_depth_image; /* lib/register/projective/projective_math.h */
struct pc_depth_frame;
struct pc_depth_path; /* lib/register/projective/projective_path.h */

/* Volumes: each has a state of its own. See lib/fuse/tsdf_math.h. */
struct pc_volume_job; /* lib/fuse/tsdf_job.h */
struct pc_volume_view;
struct pc_volume_blocks;
struct pc_maps; /* lib/register/projective/projective_math.h */

typedef struct pc_backend {
    const char *name; /* "cpu", "cuda" */
    /* Runs all jobs, on CUDA concurrently. */
    pcgpu_status (*sample)(pcgpu_context *context, pc_sample_job *jobs, int count);
    /* Fills count, capacity, columns, features, coords, counts, point_voxel, selected, in_range, kept, over_points,
     * over_voxels, voxels_found, largest, run.non_finite and run.at_origin; leaves the rest of `out` alone. */
    pcgpu_status (*voxelize)(pcgpu_context *context, const pc_voxelize_job *job, pcgpu_voxels *out);
    /* Takes the target of a level: uploads its grid, takes or estimates one normal a point. See lib/register/icp/icp_step.h. */
    pcgpu_status (*icp_target)(pcgpu_context *context, const struct pc_icp_target *target);
    /* Takes the source of a level, and its normals likewise where they are needed. */
    pcgpu_status (*icp_source)(pcgpu_context *context, const struct pc_icp_source *source);
    /* One iteration: transforms, matches and sums; `sums` has PC_ICP_SUMS values. */
    pcgpu_status (*icp_step)(pcgpu_context *context, const struct pc_icp_step *step, double *sums);
    /* Releases what the registration holds. */
    void (*icp_end)(pcgpu_context *context);
    /* Registration by cells, see lib/register/ndt/ndt_math.h. cells_target and cells_source
     * once, then passes, and after each as many sums as wanted, PC_CELLS_SUMS values each. What is held is used again
     * by the next one. */
    pcgpu_status (*cells_target)(pcgpu_context *context, const struct pc_cells_target *target,
                                 struct pc_cells_measure *measure);
    pcgpu_status (*cells_source)(pcgpu_context *context, const struct pc_cells_source *source);
    pcgpu_status (*cells_pass)(pcgpu_context *context, const struct pc_cells_pass *pass);
    pcgpu_status (*cells_sum)(pcgpu_context *context, const struct pc_cells_step *step, double *sums);
    /* NULL where the host follows the path. Memory for the points of a cloud (PC_SCRATCH_TARGET, then
     * PC_SCRATCH_SOURCE), from which they are copied fastest, until it is asked for again. A target of a single pair
     * may be begun before its source is there. All of it for several pairs, on CUDA concurrently. */
    pcgpu_status (*cells_memory)(pcgpu_context *context, int which, size_t bytes, void **memory);
    pcgpu_status (*cells_begin)(pcgpu_context *context, const struct pc_cells_target *target);
    pcgpu_status (*cells_register)(pcgpu_context *context, struct pc_cells_job *jobs, int count);
    /* Registration of depth frames, see lib/register/projective/projective_math.h. Makes the maps of a frame whose levels are laid out; releases
     * them; and follows a path from its start to its end, which fills what is not given. */
    pcgpu_status (*depth_frame)(pcgpu_context *context, const struct pc_depth_image *image,
                                struct pc_depth_frame *frame);
    void (*depth_free)(pcgpu_context *context, struct pc_depth_frame *frame);
    pcgpu_status (*depth_register)(pcgpu_context *context, struct pc_depth_frame *source, struct pc_depth_frame *target,
                                   struct pc_depth_path *path);
    /* An empty volume; closed also when opening failed, and NULL is accepted. */
    pcgpu_status (*volume_open)(pcgpu_context *context, void **state);
    void (*volume_close)(pcgpu_context *context, void *state);
    /* Fuses a frame, all of it or, on failure, nothing. A device may still be at it afterwards. */
    pcgpu_status (*volume_integrate)(pcgpu_context *context, void *state, struct pc_volume_job *job);
    /* Vertices and normals of every pixel into arrays in host memory. */
    pcgpu_status (*volume_raycast)(pcgpu_context *context, void *state, const struct pc_volume_view *view,
                                   const struct pc_maps *maps);
    /* The vertices alone, into memory of the back end, which is the state's until its next call, for depth_frame. A
     * device may still be at it afterwards; what follows in the context comes after it. */
    pcgpu_status (*volume_maps)(pcgpu_context *context, void *state, const struct pc_volume_view *view,
                                struct pc_maps *maps);
    /* The whole volume in host memory; the arrays stay the state's, until the next call with it. */
    pcgpu_status (*volume_blocks)(pcgpu_context *context, void *state, struct pc_volume_blocks *blocks);
    /* NULL where sequences have a state of their own, see scans_model. Changes the model that is kept, and makes it the
     * target of what follows up to the next cells_target; `measure`, of the last call, becomes that of the model. */
    pcgpu_status (*cells_model)(pcgpu_context *context, const struct pc_cells_model *model,
                                struct pc_cells_measure *measure);
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
    /* Adds them to the sequence's model, and makes that the target; as cells_model. */
    pcgpu_status (*scans_model)(pcgpu_context *context, void *state, int place, const struct pc_cells_model *model,
                                struct pc_cells_measure *measure);
    /* Registers those of a place; the job's target is not looked at, nor are its points. */
    pcgpu_status (*scans_register)(pcgpu_context *context, void *state, int place, struct pc_cells_job *job);
} pc_backend;

enum { PC_SCANS = 3 }; /* the one that is registered, the one before, a keyframe */

extern const pc_backend pc_backend_cpu;

/* Releases what the CPU back end keeps in a context. */
void pc_cpu_stop(pcgpu_context *context);
/* Releases the cells of registrations alone. */
void pc_cpu_release_cells(pcgpu_context *context);

/* What the CPU back end expects to take for these clouds on one thread, in seconds, for AUTO. Work that only one of the
 * `threads` can do counts as often, since AUTO divides by them. */
double pc_cpu_sample_seconds(const pc_sample_job *jobs, int count, int threads);

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
