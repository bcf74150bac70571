/* What the files of a registration share: register.c (checks, verdict), register_level.c (downsampling, iterations of a
 * level of ICP), register_cells.c (registration by cells), register_pose.c and register_solve.c (what the sums of a
 * step mean). */
#ifndef PC_REGISTER_H
#define PC_REGISTER_H

#include "backend.h"
#include "icp_cells.h"

/* ---- a registration in progress -------------------------------------------------------------------------------- */

enum { PC_REGISTER_MIN_POINTS = 10 };

typedef enum pc_register_stage {
    PC_STAGE_SELECT,
    PC_STAGE_DOWNSAMPLE,
    PC_STAGE_INDEX,
    PC_STAGE_NORMALS,
    PC_STAGE_ITERATE,
    PC_REGISTER_STAGES
} pc_register_stage;

/* A rotation as a unit quaternion and a translation: target = R(q) source + t. */
typedef struct pc_pose {
    double q[4], t[3];
} pc_pose;

double pc_norm3(const double v[3]);

/* The pose after a rotation about `center` (a rotation vector, by pc_quaternion_turn) and a translation. */
pc_pose pc_pose_updated(const pc_pose *pose, const double center[3], const double update[6]);

/* The motion from one pose to another, for points relative to `center`: p + turn p + shift. */
void pc_pose_difference(const pc_pose *from, const pc_pose *to, const double center[3], double turn[9],
                        double shift[3]);

/* Whether they differ by no more than this at the centre. */
bool pc_pose_near(const pc_pose *a, const pc_pose *b, const double center[3], double metres, double radians);

/* The last poses of an iteration with what they cost. */
enum { PC_POSE_HISTORY = 8 };
typedef struct pc_pose_history {
    pc_pose poses[PC_POSE_HISTORY];
    double costs[PC_POSE_HISTORY];
    int steps;
} pc_pose_history;

void pc_pose_remember(pc_pose_history *history, const pc_pose *pose, double cost);

/* An iteration can flip between a few poses for ever, since points change their partners. When `pose` comes back to one
 * before the last, takes the best pose of the cycle. */
bool pc_pose_ends_in_cycle(pc_pose *pose, const double center[3], double metres, double radians,
                           const pc_pose_history *history);

/* Points as rows of x, y, z. */
typedef struct pc_rows {
    int64_t n;
    float *xyz;
} pc_rows;

typedef struct pc_register_work {
    pcgpu_context *context;
    const pcgpu_register_params *params;
    const pc_backend *backend;
    pcgpu_registration *result;
    pc_rows source, target;             /* all usable points, offsets not counted */
    pc_rows level_source, level_target; /* the same, downsampled for the level */
    float *split;                       /* level_source as x[], y[], z[] */
    pc_icp_grid grid;                   /* of level_target */
    double offset_source[3], offset_target[3];
    double center[3];     /* the target's centroid */
    double lever[3];      /* rms distance of the target's points from axes through it */
    double spacing, gate; /* of the level, metres */
    pc_pose pose;         /* the estimate, offsets not counted */
    int levels;           /* in effect */
    bool normals;         /* the level's target has normals */
    bool converged;       /* the level's iterations */
    bool stopped;         /* result->reason says why; no further level can help */
    double seconds[PC_REGISTER_STAGES];
} pc_register_work;

/* Adds the time since `begin` to a stage and returns the time now. */
double pc_register_stage_end(pc_register_work *w, pc_register_stage which, double begin);

/* Prepares and iterates level `l` of params->levels; sets pose, converged and, when nothing can be done, stopped. */
pcgpu_status pc_register_level(pc_register_work *w, int l);

/* One pass over the level's source at the present pose; all weights are 1 unless `robust`. */
pcgpu_status pc_register_step(pc_register_work *w, pc_icp_rows kind, bool robust, double *sums);

/* Registers by cells (register_cells.c): pose and what the result says, but for the transform and the verdict. Sets
 * source and target points, center and lever. */
pcgpu_status pc_register_cells(pc_register_work *w, const pcgpu_cloud *source, const pcgpu_cloud *target);

/* The pose to start from, and the transform of the result, for the offsets of the clouds. */
void pc_register_import_pose(pc_register_work *w);
void pc_register_export_pose(pc_register_work *w);

/* ---- the sums of a step ------------------------------------------------------------------------------------------ */

/* Directions with a smaller eigenvalue are not constrained by the scene. The eigenvalues are of the information divided
 * by the number of equations, with a rotation about an axis in metres at the rms distance of the points from it: 1
 * would be every normal along that direction. Planes, corridors and spheres with 2 cm of noise stay below 0.0003,
 * streets and the KITTI scans are above 0.1. Scenes with few planes are judged with the points that have no normal
 * counting in all directions (PC_ICP_ROWS_MIXED), which is more lenient. Cells, whose normals are averages with the noise
 * taken off: planes, corridors and spheres with 2 to 4 cm of noise stay below 0.0017, halves of KITTI and nuScenes scans
 * are above 0.009. */
#define PC_DEGENERATE_PLANE 1e-2
#define PC_DEGENERATE_MIXED 3e-2
#define PC_DEGENERATE_CELLS 3e-3

typedef struct pc_conditioning {
    double values[6];   /* ascending */
    double vectors[36]; /* by rows: rotation (times lever), translation */
    int unconstrained;  /* how many values are below the limit */
} pc_conditioning;

/* The 6x6 sum of j j^T. */
void pc_information(const double *sums, double matrix[36]);
void pc_conditioning_of(const double *sums, const double lever[3], double limit, pc_conditioning *c);

/* Of the pose: variance of one equation times the inverse of the information; all zero when that has none. */
void pc_covariance_of(const double information[36], double variance, double covariance[36]);

/* The update (rotation about the step's centre, then translation) that solves the normal equations in the constrained
 * directions and is zero in the others. False when there is none. */
bool pc_solve_step(const double *sums, const double lever[3], double update[6]);

/* The unconstrained directions in words: "translation along x, rotation about z". */
void pc_describe_unconstrained(const pc_conditioning *c, char *text, size_t size);

#endif
