/* Pose graphs, and loops of a sequence: a part of pcgpu.h, which includes this header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_LOOPS_H
#define PCGPU_LOOPS_H

/* ---- pose graphs --------------------------------------------------------------------------------------------- */

/* A measured motion between two poses of a graph. Its residual is that of E = T_from_to^-1 T_world_from^-1 T_world_to:
 * 2 sin(angle / 2) along the axis of the rotation of E, and the translation of E. */
typedef struct pcgpu_pose_edge {
    int64_t from, to;     /* indices of the poses; not the same */
    double T_from_to[16]; /* row-major: maps points of frame `to` into frame `from` */
    double sigma[2]; /* standard deviations of the rotation, radians, and of the translation, metres, on each axis */
    double kernel;   /* Huber: a residual of more standard deviations counts linearly; 0 = none */
} pcgpu_pose_edge;

typedef struct pcgpu_pose_graph_result {
    int iterations;
    bool converged;      /* false: max_iterations were not enough; the poses are the last estimate */
    int64_t components;  /* of the graph; the first pose of each keeps its value */
    double initial_cost; /* sum over edges of the squared residuals in standard deviations, by their kernels */
    double final_cost;
} pcgpu_pose_graph_result;

/* Moves poses so that they agree with the edges (Lu and Milios 1997; Gauss-Newton steps with Levenberg's damping,
 * Kuemmerle et al. 2011). poses: count x 16, T_world_frame, row-major; in and out. Poses without edges keep their
 * bytes. Several edges may join the same two poses. The result does not depend on threads, runs or machines. Memory is
 * about 0.5 KiB per pose and edge, more where loops interleave. Errors: ARGUMENT (a pose that an edge uses or an edge
 * that is not a rigid transform, an index out of range, a sigma that is not positive), MEMORY. After an error the poses
 * are unchanged. */
pcgpu_status pcgpu_pose_graph_solve(pcgpu_context *context, double *poses, int64_t count, const pcgpu_pose_edge *edges,
                                    int64_t edge_count, int max_iterations, pcgpu_pose_graph_result *result);

/* The covariance of each pose, count x 36: of a motion in the frame of the pose, rotation (radians) before translation
 * (metres), relative to the first pose of its component, which has zeros, as have poses without edges. It is
 * the inverse of the system of the edges at these poses, by their sigmas and kernels. Time grows as the square of the
 * number of poses. Errors: as pcgpu_pose_graph_solve. */
pcgpu_status pcgpu_pose_graph_covariances(pcgpu_context *context, const double *poses, int64_t count,
                                          const pcgpu_pose_edge *edges, int64_t edge_count, double *covariances);

/* The lengths of both parts of an edge's residual: radians and metres. */
void pcgpu_pose_edge_residual(const double *poses, const pcgpu_pose_edge *edge, double residual[2]);

/* ---- loops of a sequence ------------------------------------------------------------------------------------- */

typedef struct pcgpu_loops_params {
    size_t struct_size;                 /* set by pcgpu_loops_params_init */
    pcgpu_register_params registration; /* of two places: by method NDT; init and search are not used. voxel
                                           PCGPU_AUTO: from the first frame, as in odometry */
    double place_distance;              /* metres travelled from place to place; PCGPU_AUTO (default): 40 voxels */
    double drift; /* most error of the odometry as a fraction of the path; default 0.02. A loop that contradicts
                     the odometry by more is refused */
    bool search;  /* default true; false: no places are kept and there are no loops, for pcgpu_loops_anchor alone */
} pcgpu_loops_params;

void pcgpu_loops_params_init_sized(pcgpu_loops_params *params, size_t struct_size);
#define pcgpu_loops_params_init(params)       pcgpu_loops_params_init_sized(params, sizeof *(params))

/* Two frames of which the later one, `to`, saw again what the earlier one saw. */
typedef struct pcgpu_loop {
    int64_t from, to;     /* ids of the frames */
    double T_from_to[16]; /* by registration */
    double score;         /* of the registration */
    double path;          /* metres travelled between the frames */
    double before[2];     /* how far the odometry was off: radians, metres */
    double residual[2];   /* of the edge in the solved pose graph */
} pcgpu_loop;

/* All arrays belong to the pcgpu_loops. */
typedef struct pcgpu_loops_result {
    int64_t frames;
    const int64_t *ids;
    const double *poses; /* frames x 16: T_world_frame. Without a loop, the bytes that were added */
    int64_t count;
    const pcgpu_loop *loops; /* by `to` */
    int64_t places;
    int64_t tried;   /* pairs of places that were registered */
    int64_t refused; /* pairs of places that fit, against the odometry or the other loops */
    int64_t bytes;   /* memory of all places */
    pcgpu_pose_graph_result graph;
} pcgpu_loops_result;

/* Finds places that a sequence sees again, and corrects its poses. See LOOPS of pcgpu-methods(7).
 *
 * While the odometry runs, each frame with a pose is added with its points as they were registered (see
 * pcgpu_odometry_points). Every place_distance metres the points of the frames between are kept as a place: one for
 * each cell of half a voxel, up to 240 voxels from the sensor, and 2^14 points of the frame in the middle; 6 bytes a
 * point, on a street 10 to 30 KB per metre (voxels of 0.5, 0.25 m). Each place is compared with earlier ones when it is
 * complete.
 *
 * The result depends neither on the number of threads nor on the back end. The context must stay open until
 * pcgpu_loops_close. Errors: ARGUMENT, MEMORY, DEVICE. */
typedef struct pcgpu_loops pcgpu_loops;
pcgpu_status pcgpu_loops_open(pcgpu_context *context, const pcgpu_loops_params *params, pcgpu_loops **loops);
/* cloud: x y z first, in the frame of the sensor, which is its origin; not kept. id: the caller's. */
pcgpu_status pcgpu_loops_add(pcgpu_loops *loops, const pcgpu_cloud *cloud, int64_t id, const double T_world_frame[16]);

/* The same for the images of a depth camera. */
typedef struct pcgpu_depth_loops_params {
    size_t struct_size;                       /* set by pcgpu_depth_loops_params_init */
    pcgpu_register_depth_params registration; /* of two images, in both directions; init is not used; default
                                                 of level_iterations: 10, 20, 40 */
    double place_distance; /* metres: an image farther from the last place becomes the next one; default 0.1 */
    double place_angle;    /* radians, likewise; default 0.1 */
    double drift;          /* as above, of a path in which a radian counts as a metre; default 0.05 */
} pcgpu_depth_loops_params;

void pcgpu_depth_loops_params_init_sized(pcgpu_depth_loops_params *params, size_t struct_size);
#define pcgpu_depth_loops_params_init(params) pcgpu_depth_loops_params_init_sized(params, sizeof *(params))

/* A place is one image, kept with 320 x 240 to 639 x 479 pixels, or fewer where the images have fewer: 150 KB for
 * images of 640 x 480 pixels. Each place is compared with earlier ones when it is added, and registered to up to four.
 * In the result, the path of a loop has a metre for each radian, and poses keep their bytes also when the loops are not
 * more accurate than the odometry. The camera is copied; all images have the size of the first one. Errors: ARGUMENT,
 * MEMORY, DEVICE. */
pcgpu_status pcgpu_loops_open_depth(pcgpu_context *context, const pcgpu_camera *camera,
                                    const pcgpu_depth_loops_params *params, pcgpu_loops **loops);
/* depth: not kept. id: the caller's. ARGUMENT also for loops of scans, as has pcgpu_loops_add for those of images. */
pcgpu_status pcgpu_loops_add_depth(pcgpu_loops *loops, const pcgpu_depth *depth, int64_t id,
                                   const double T_world_frame[16]);

/* After the last frame. */
pcgpu_status pcgpu_loops_solve(pcgpu_loops *loops, pcgpu_loops_result *result);
void pcgpu_loops_close(pcgpu_loops *loops); /* accepts NULL */

/* ---- positions from elsewhere -------------------------------------------------------------------------------- */

/* A measured position of a frame, such as GNSS has. */
typedef struct pcgpu_position {
    int64_t id;   /* of the frame */
    double at[3]; /* metres, in a world whose z axis points up */
    double sigma; /* standard deviation on each axis, metres */
} pcgpu_position;

typedef struct pcgpu_anchor_result {
    double T_prior_world[16]; /* the rigid alignment that the solution started from */
    bool line;                /* the path hardly leaves a line: rotation about it is such that the z axis points up */
    int64_t outliers;         /* positions whose weight is less than a tenth */
    double rms;               /* metres: distances of the other positions from the path */
    pcgpu_pose_graph_result graph; /* of the last round */
} pcgpu_anchor_result;

/* After pcgpu_loops_solve, for scans: moves the poses of its result into the world of `count` >= 3 positions, which are
 * in the order of their frames, and corrects them by these: a pose graph of the odometry, the loops and, for each
 * position, the residual of the point `antenna` (NULL: 0 0 0) in the frame of the sensor, by the kernel of Geman and
 * McClure (1985) with 3 sigma. It starts from the alignment of least distances (Horn 1987, reweighted), in which the z
 * axis of the odometry points up within 0.1 rad, which decides where the path leaves a rotation open, and with sigmas
 * as large as this is off, which then narrow (graduated: Yang et al. 2020). The result does not depend on threads.
 * Errors: ARGUMENT (fewer than 3 positions; one of an id without a frame, or out of order, that is not finite or
 * without a sigma above 0; positions that extend by less than sigma; loops of images), MEMORY. After an error the poses
 * are unchanged. */
pcgpu_status pcgpu_loops_anchor(pcgpu_loops *loops, const pcgpu_position *positions, int64_t count,
                                const double antenna[3], pcgpu_anchor_result *result);
#endif
