/* Shared by the files of a registration: register.c (checks, levels), register_pairs.c (several pairs), icp.c
 * (downsampling and iterations of a level of ICP), register_search.c (starts without a guess), register_starts.c
 * (registration from them), ndt.c (method ndt), register_solve.c (normal equations). lib/scan has what a scan is. */
#ifndef PC_REGISTER_H
#define PC_REGISTER_H

#include "backend.h"
#include "ndt_math.h"
#include "pose.h"
#include "scan.h"
#include "transform.h"
#include "icp_step.h"

/* ---- a registration in progress ---------------------------------------------------------------------------------- */

enum { PC_REGISTER_MIN_POINTS = 10, PC_NDT_LEVELS = 4 /* its own */ };

typedef enum pc_register_stage {
    PC_STAGE_SELECT,
    PC_STAGE_DOWNSAMPLE,
    PC_STAGE_INDEX,
    PC_STAGE_NORMALS,
    PC_STAGE_ITERATE,
    PC_REGISTER_STAGES
} pc_register_stage;

/* Points as rows of x, y, z. */
typedef struct pc_rows {
    int64_t n;
    float *xyz;
    float *normals; /* likewise, of unit length or zero; NULL where they are not given */
} pc_rows;

typedef struct pc_register_work pc_register_work;
struct pc_register_work {
    pcgpu_context *context;
    const pcgpu_register_params *params;
    const pc_backend *backend;
    pcgpu_registration *result;
    pc_rows source, target;             /* all usable points, offsets not counted */
    pc_rows level_source, level_target; /* the same, downsampled for the level */
    float *split;                       /* level_source as x[], y[], z[] */
    float *grouped;                     /* level_target's normals in the order of its grid */
    pc_icp_grid grid;                   /* of level_target */
    pc_icp_grid source_grid;            /* of level_source, where its normals are estimated */
    double offset_source[3], offset_target[3];
    double center[3];                   /* the target's centroid */
    double gyration[3];                 /* rms distance of the target's points from axes through it */
    double spacing, max_correspondence; /* of the level, metres */
    pc_pose pose, start;                /* the estimate and the initial one, offsets not counted */
    int levels;                         /* in effect */
    bool near;         /* method ndt at the finest level alone, and a result near the start is likely */
    bool in_sequence;  /* other scans say how the sensor moves, where these two leave it uncertain */
    bool normals;      /* the level's target has normals */
    bool converged;    /* the level's iterations */
    bool stopped;      /* result->reason says why; no further level can help */
    pc_seen seen[2];   /* source and target as their sensors saw them; no points where that is not known */
    pc_view *views[2]; /* of clouds whose owner keeps none */
    /* In place of comparing both: what the result says of free space, when the target is not a scan. NULL else. */
    pcgpu_status (*look)(pc_register_work *w, double *share);
    void *look_state;
    double seen_from_target[16]; /* from the frame of the target to that of the sensor that saw seen[1] */
    double seconds[PC_REGISTER_STAGES];
};

/* Checks parameters, and the number of pairs. */
pcgpu_status pc_register_check_count(pcgpu_context *context, int count);
pcgpu_status pc_register_check(pcgpu_context *context, const pcgpu_register_params *params);

/* Whether T is rigid and within float64's precision; `what` begins the sentence that says why not. */
pcgpu_status pc_register_check_pose(pcgpu_context *context, const char *what, const double T[16]);

/* The levels in effect. */
int pc_register_levels(const pcgpu_register_params *params);

/* The back end for so many pairs, which have so many points together. */
pcgpu_status pc_register_choose(pcgpu_context *context, const pcgpu_register_params *params, double points, int pairs,
                                pcgpu_run *run, const pc_backend **backend);

/* The parameters in effect: PCGPU_AUTO in `params` is resolved from the spacing of the target, which is a scan after
 * its corrections; the second function makes them. Errors: MEMORY. */
pcgpu_status pc_register_settle(pcgpu_context *context, const pcgpu_register_params *params, const pcgpu_cloud *target,
                                pcgpu_register_params *settled);
pcgpu_status pc_register_settle_scan(pcgpu_context *context, const pcgpu_register_params *params,
                                     const pcgpu_cloud *target, pcgpu_register_params *settled);
/* The same, of a target whose spacing is known where the voxel size is to be chosen. */
void pc_register_settle_by(const pcgpu_register_params *params, const pc_sampled *target, double edge, double extent,
                           pcgpu_register_params *settled);
/* Begins a registration on the back end that was chosen, which `run` names; closing it fills the result, or clears it
 * when `status` is an error, releases everything and returns `status`. */
void pc_register_open(pc_register_work *w, pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                      const pcgpu_register_params *params, pcgpu_registration *result);
pcgpu_status pc_register_close(pc_register_work *w, pcgpu_status status);
/* The clouds as what their sensors saw, borrowed; `views` are made when they are needed: drop them. */
pc_seen pc_register_seen(const pcgpu_cloud *cloud, pc_view **view);
void pc_register_see(const pcgpu_cloud *source, const pcgpu_cloud *target, pc_seen seen[2], pc_view *views[2]);
/* Takes the offsets of the clouds, and the clouds as what their sensors saw, borrowed until the registration ends. */
void pc_register_attach_clouds(pc_register_work *w, const pcgpu_cloud *source, const pcgpu_cloud *target);

/* Starts without a guess, best first: T_target_source with scores that compare within one search. */
enum { PC_STARTS = 6 };
typedef struct pc_start {
    double T[16];
    int32_t score;
    int levels; /* of method ndt that reach from here to the result; 0: all */
} pc_start;
/* Parameters of a registration from this start alone. */
void pc_register_begin_at(pcgpu_register_params *params, const pc_start *start);
typedef pcgpu_status pc_search_fn(pcgpu_context *context, const pcgpu_register_params *params, double degrees,
                                  const pcgpu_cloud *source, const pcgpu_cloud *target, pc_start starts[PC_STARTS],
                                  int *count);
/* By height grids, rotated about z by -`degrees` to `degrees` (register_search.c). Errors: MEMORY. */
pc_search_fn pc_search_starts;
/* Whether the points of both clouds surround their origins, as scans of spinning sensors do. */
bool pc_surround_origins(const pcgpu_cloud *source, const pcgpu_cloud *target, bool drop_origin);

/* How far from its start a result can be, metres at the target's centroid: two voxels of the coarsest level, or its
 * maximum correspondence distance. */
double pc_register_reach(const pc_register_work *w);
/* One sigma of the translation, metres; and whether that of a result of ndt is too much for a pair. */
double pc_translation_sigma(const pcgpu_registration *r);
bool pc_is_uncertain(const pcgpu_registration *r);
/* Whether the score of a result that has converged is hardly enough: it is to be confirmed. */
bool pc_register_is_doubtful(const pcgpu_register_params *params, const pcgpu_registration *result);
/* Whether pc_register_rescue does anything for the result from params->init. */
bool pc_register_needs_search(const pcgpu_register_params *params, const pcgpu_registration *result);
/* A registration from its beginning to its end. */
typedef pcgpu_status pc_register_fn(pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                                    const pcgpu_register_params *params, const pcgpu_cloud *source,
                                    const pcgpu_cloud *target, pcgpu_registration *result);
/* Of clouds as they are, from params->init (register_once.c). */
pc_register_fn pc_register_once;
/* Of scans: `clouds` registers what the corrections of the parameters leave of them (register_scan.c). */
pcgpu_status pc_register_scans(pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                               const pcgpu_register_params *params, const pcgpu_cloud *source,
                               const pcgpu_cloud *target, pc_register_fn *clouds, pcgpu_registration *result);
/* Of clouds, from the starts of a search (register_starts.c). */
pc_register_fn pc_register_search;
/* When the result from params->init needs it: confirms a doubtful one, and replaces one that has not converged by a
 * better one from the starts of a search. */
pc_register_fn pc_register_rescue;
/* Of scans, with the search that the parameters ask for (register.c). */
pc_register_fn pc_register_pair;

/* Pairs, each by its parameters, on the back end that was chosen: ndt on CUDA in groups, on the CPU one pair per
 * thread, otherwise by `one` in turn (register_set.c). device: NULL, or clouds in the memory of a device, for which
 * `params` is filled a group at a time (register_device.c). */
struct pc_device_pairs;
pcgpu_status pc_register_set(pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                             const pcgpu_register_params *params, struct pc_device_pairs *device,
                             const pcgpu_pair *pairs, int count, pc_register_fn *one, pcgpu_registration *results);

/* Adds the time since `begin` to a stage and returns the time now. */
static inline double pc_register_stage_end(pc_register_work *w, pc_register_stage which, double begin) {
    const double now = pc_now();
    w->seconds[which] += now - begin;
    return now;
}

/* A score is 0 where so many of the points lie in the free space of the other scan. Right results have up to 0.01. */
#define PC_MOST_FREE 0.05
/* The same, before the registration. Starts of right results have up to 0.08, of wrong ones mostly 0.05 to 0.4. */
#define PC_MOST_FREE_AT_START 0.1

/* Fills what the result says of the last pose of ICP, measured with all weights 1; and when the transform is there, for
 * each method, free space, score, and whether it converged with the reason (register_convergence.c). */
pcgpu_status pc_register_evaluate(pc_register_work *w);
pcgpu_status pc_register_check_convergence(pc_register_work *w);

/* The pose to start from, and the transform of the result, for the offsets of the clouds. */
void pc_register_import_pose(pc_register_work *w);
void pc_register_export_pose(pc_register_work *w);

/* ---- the sums of a step ------------------------------------------------------------------------------------------ */

/* Directions with a smaller eigenvalue are not constrained by the scene. The eigenvalues are of the information divided
 * by the number of equations, with a rotation about an axis in metres at the rms distance of the points from it: 1
 * would be every normal along that direction. Planes, corridors and spheres with 2 cm of noise stay below 0.0003,
 * streets and the KITTI scans are above 0.1. Scenes with few planes are judged with the points that have no normal
 * counting in all directions (PC_ICP_ROWS_MIXED), which is more lenient. Cells, whose normals are averages with the
 * noise taken off: planes, corridors and spheres with 2 to 4 cm of noise stay below 0.0017, halves of KITTI and
 * nuScenes scans are above 0.009. Depth frames are in the scale of the pixels with the weights of their noise: planes
 * with the white noise of a Kinect stay below 0.0002, with smooth noise below 0.005, most of which projective.c takes
 * off; nearly all right pairs have more than 0.005. */
#define PC_DEGENERATE_PLANE 1e-2
#define PC_DEGENERATE_MIXED 3e-2
#define PC_DEGENERATE_NDT   3e-3
#define PC_DEGENERATE_DEPTH 4e-3

/* The least eigenvalue from which on a scene constrains cells well: 0.05 and more in streets; on bare roads, where a
 * scan fits at several places, 0.004 to 0.02. */
#define PC_WELL_CONSTRAINED 0.03

typedef struct pc_conditioning {
    double values[6];   /* ascending */
    double vectors[36]; /* by rows: rotation (times the radius of gyration), translation */
    int unconstrained;  /* how many values are below the limit */
} pc_conditioning;

void pc_conditioning_of(const double *sums, const double gyration[3], double limit, pc_conditioning *c);

/* Covariance of the pose: variance of one equation times the inverse of the information; all zero when that is
 * singular. */
void pc_covariance_of(const double information[36], double variance, double covariance[36]);

/* The update (rotation about the step's centre, then translation) that solves the normal equations in the constrained
 * directions and is zero in the others. False when there is none. */
bool pc_solve_step(const double *sums, const double gyration[3], double update[6]);

/* The unconstrained directions in words: "translation along x, rotation about z". */
void pc_describe_unconstrained(const pc_conditioning *c, char *text, size_t size);

#endif
