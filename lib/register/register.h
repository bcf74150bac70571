/* Shared by the files of a registration: register.c (checks, levels), register_pairs.c (several pairs), icp.c
 * (downsampling and iterations of a level of ICP), register_search.c (starts without a guess), register_starts.c
 * (registration from them), register_scan.c (corrections of scans), ndt.c (method ndt), register_solve.c (normal
 * equations). */
#ifndef PC_REGISTER_H
#define PC_REGISTER_H

#include "backend.h"
#include "ndt_math.h"
#include "pose.h"
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

/* Points relative to the sensor that saw them, and what it saw through (register_view.c). */
typedef struct pc_view pc_view;
typedef struct pc_seen {
    int64_t n;
    const float *x, *y, *z;
    int64_t stride;   /* from point to point */
    double offset[3]; /* of the points from the sensor */
    pc_view **view;   /* of the points as they are, with the voxel size of the registration; NULL until it is made */
} pc_seen;

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

/* Checks parameters. */
pcgpu_status pc_register_check(pcgpu_context *context, const pcgpu_register_params *params);

/* Whether T is rigid and within float64's precision; `what` begins the sentence that says why not. */
pcgpu_status pc_register_check_pose(pcgpu_context *context, const char *what, const double T[16]);

/* The levels in effect. */
int pc_register_levels(const pcgpu_register_params *params);

/* The back end for so many pairs, which have so many points together. */
pcgpu_status pc_register_choose(pcgpu_context *context, const pcgpu_register_params *params, double points, int pairs,
                                pcgpu_run *run, const pc_backend **backend);

/* The k-th smallest of n values, which change their order (Hoare 1961). */
float pc_select_value(float *values, int n, int k);
/* The parameters in effect: PCGPU_AUTO in `params` is resolved from the spacing of the target's points. Errors: MEMORY.
 */
pcgpu_status pc_register_settle(pcgpu_context *context, const pcgpu_register_params *params, const pcgpu_cloud *target,
                                pcgpu_register_params *settled);
/* The cell edge in metres that fits the spacing of a cloud's points (register_scale.c), a power of two, 0 when none
 * fits; and the number of levels. Errors: MEMORY. */
pcgpu_status pc_register_spacing(pcgpu_context *context, const pcgpu_cloud *cloud, bool drop_origin, double *edge,
                                 int *levels);

/* Begins a registration on the back end that was chosen, which `run` names; closing it fills the result, or clears it
 * when `status` is an error, releases everything and returns `status`. */
void pc_register_open(pc_register_work *w, pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                      const pcgpu_register_params *params, const pcgpu_cloud *source, const pcgpu_cloud *target,
                      pcgpu_registration *result);
pcgpu_status pc_register_close(pc_register_work *w, pcgpu_status status);
/* The clouds as their sensors saw them, borrowed until the registration is closed; opening does this with its clouds.
 */
void pc_register_see(pc_register_work *w, const pcgpu_cloud *source, const pcgpu_cloud *target);

/* Starts without a guess (register_search.c): at most PC_STARTS, best first, rotated about z by -`degrees` to
 * `degrees`. Errors: MEMORY. */
enum { PC_STARTS = 6 };
typedef struct pc_start {
    double T[16]; /* T_target_source */
    int32_t score;
    int turn; /* about z, in steps of the search */
} pc_start;
pcgpu_status pc_search_starts(pcgpu_context *context, const pcgpu_register_params *params, double degrees,
                              const pcgpu_cloud *source, const pcgpu_cloud *target, pc_start starts[PC_STARTS],
                              int *count);
/* The rotation about z by so many steps of the search: by products alone, since libraries differ in sines. */
enum { PC_SEARCH_TURNS = 180 };
void pc_search_rotation(int turn, double R[9]);
/* The same for objects in any rotation, without a vertical (register_global.c); `turn` is 0. */
pcgpu_status pc_search_global(pcgpu_context *context, const pcgpu_register_params *params, const pcgpu_cloud *source,
                              const pcgpu_cloud *target, pc_start starts[PC_STARTS], int *count);
/* Whether a search comes before the given start. */
static inline bool pc_searches_first(const pcgpu_register_params *params) {
    return params->search == PCGPU_SEARCH_ALWAYS || params->search == PCGPU_SEARCH_GLOBAL;
}
/* How far from its start a result can be, metres at the target's centroid: two voxels of the coarsest level, or its
 * maximum correspondence distance. */
double pc_register_reach(const pc_register_work *w);
/* One sigma of the translation, metres; and whether that of a result of ndt is too much for a pair. */
double pc_translation_sigma(const pcgpu_registration *r);
bool pc_is_uncertain(const pcgpu_registration *r);
/* The angle between their turns, 0 to 180. */
double pc_start_degrees(const pc_start *a, const pc_start *b);

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
/* When params->search is RESCUE and the result has not converged: replaces it by a better one from the starts of a
 * search. */
pc_register_fn pc_register_rescue;
/* Of scans, with the search that the parameters ask for (register.c). */
pc_register_fn pc_register_pair;

/* Pairs, each by its parameters, on the back end that was chosen: ndt on CUDA in groups, on the CPU one pair per
 * thread, otherwise by `one` in turn (register_set.c). */
pcgpu_status pc_register_set(pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                             const pcgpu_register_params *params, const pcgpu_pair *pairs, int count,
                             pc_register_fn *one, pcgpu_registration *results);

/* Adds the time since `begin` to a stage and returns the time now. */
static inline double pc_register_stage_end(pc_register_work *w, pc_register_stage which, double begin) {
    const double now = pc_now();
    w->seconds[which] += now - begin;
    return now;
}

/* The returns near the sensor of one scan (register_carrier.c). Points of another scan at the same places belong to the
 * carrier, such as the roof of a car. All zero: none. */
enum { PC_CARRIER_SIDE = 32 };
typedef struct pc_carrier {
    float radius;                                     /* metres from the sensor; 0 = there are none */
    uint32_t bits[PC_CARRIER_SIDE * PC_CARRIER_SIDE]; /* by x and y, a bit for each z: a return is near */
} pc_carrier;
void pc_carrier_find(pcgpu_context *context, const pcgpu_register_params *params, const pcgpu_cloud *cloud,
                     pc_carrier *carrier);
/* Whether a record lies where it has a return within a part (1 or 2: all or half) of its radius. */
bool pc_carrier_has(const pc_carrier *carrier, int part, const double offset[3], const float *record);

/* A cloud as it is registered (register_scan.c): itself, or a copy after min_range and beam_correction of the
 * parameters, whose points left out are counted in `run`. Release it in any case. */
typedef struct pc_scan {
    const pcgpu_cloud *cloud;
    pcgpu_cloud own;
} pc_scan;
pcgpu_status pc_scan_take(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_register_params *params,
                          pc_scan *scan, pcgpu_run *run);
/* Leaves out the returns that `carrier` has, or those within half of its radius, unless they are more of the scan than
 * a vehicle returns. */
pcgpu_status pc_scan_leave_out(pcgpu_context *context, const pc_carrier *carrier, pc_scan *scan, pcgpu_run *run);
void pc_scan_release(pc_scan *scan);
/* Both scans of a pair without the returns of the carrier. Release both in any case. */
pcgpu_status pc_scan_take_pair(pcgpu_context *context, const pcgpu_pair *pair, const pcgpu_register_params *params,
                               pc_scan *source, pc_scan *target, pcgpu_run *run);

/* A score is 0 where so many of the points lie in the free space of the other scan. Right results have up to 0.01. */
#define PC_MOST_FREE 0.05

/* What the sensors of scans saw (register_view.c): made in parallel where it is not there yet, without memory not at
 * all; and dropped, when the points change. */
void pc_view_make(pcgpu_context *context, pc_seen *seen, int count, double voxel);
void pc_view_drop(pc_view **view);
/* The share of the points of source and target that lie in the free space of the other one, of those that its sensor
 * could see; -1 where that is not known. Makes views that are not there. T: T_target_source. Errors: MEMORY. */
pcgpu_status pc_view_compare(pcgpu_context *context, pc_seen seen[2], const double T[16], double voxel, double *share);
/* The same for up to PC_VIEW_ASKED points of a map, x y z in the frame of the scan: of those that its sensor could
 * see. */
enum { PC_VIEW_ASKED = 1 << 11 };
pcgpu_status pc_view_free(pcgpu_context *context, pc_seen *scan, const float *xyz, int n, double voxel, double *share);
/* Work of the host that needs no result of the registration, for a back end to call while a device iterates: makes the
 * views of a pc_register_work. */
void pc_register_look(void *work);

/* Fills what the result says of the last pose of ICP, measured with all weights 1; and when the transform is there, for
 * each method, free space, score, and whether it converged with the reason (register_verdict.c). */
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
 * nuScenes scans are above 0.009. */
#define PC_DEGENERATE_PLANE 1e-2
#define PC_DEGENERATE_MIXED 3e-2
#define PC_DEGENERATE_NDT   3e-3
#define PC_DEGENERATE_DEPTH 3e-3

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
