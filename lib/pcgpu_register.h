/* Registration: a part of pcgpu.h, which includes this header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_REGISTER_H
#define PCGPU_REGISTER_H

/* Registration, coarse to fine. PLANE and POINT are iterative closest point (Chen and Medioni 1992; Besl and McKay
 * 1992): each level halves the voxel size and the maximum correspondence distance of the level before; the last level
 * uses `voxel`, the first one `max_distance`. NDT, the default, is the normal distributions transform, distribution to
 * distribution: it compares the means of voxels, weighted by the covariance of the target's points; see NDT of
 * pcgpu-methods(7). Its finest voxels are twice as wide as `voxel`, each level halves the voxel size, and max_distance
 * is not used. GICP weights the distances by the covariances of both points, which are flat along their surfaces (Segal
 * et al. 2009), in the same levels as PLANE. PLANE and GICP use the normals of clouds with the columns nx ny nz (or
 * normal_x ...), and estimate the normals of other clouds. */
typedef enum pcgpu_register_method {
    PCGPU_REGISTER_PLANE,
    PCGPU_REGISTER_POINT,
    PCGPU_REGISTER_NDT,
    PCGPU_REGISTER_GICP
} pcgpu_register_method;

/* Initial transforms besides the given one, found by a search: from features in any rotation, and by height grids at
 * rotations about z; see STARTS of pcgpu-methods(7). */
typedef enum pcgpu_search {
    PCGPU_SEARCH_NEVER,
    PCGPU_SEARCH_ALWAYS, /* before the given initial transform */
    PCGPU_SEARCH_RESCUE  /* only after the registration from the given initial transform has not converged; the height
                            grids then at rotations of up to PCGPU_RESCUE_DEGREES from it */
} pcgpu_search;

enum { PCGPU_MAX_LEVELS = 8, PCGPU_RESCUE_DEGREES = 30 };

/* The value is derived from the points. */
#define PCGPU_AUTO                         (-1.0)

typedef struct pcgpu_register_params {
    size_t struct_size; /* set by pcgpu_register_params_init */
    pcgpu_register_method method;
    double init[16];            /* T_target_source to start from, row-major; default identity */
    pcgpu_search search;        /* default RESCUE; odometry has its own search and ignores it */
    double voxel;               /* voxel size of the finest level, metres; 0 = no downsampling, not for NDT; PCGPU_AUTO
                            (default): the power of two for which most points of the target lie in cells, two
                            voxels wide, whose points spread in two directions; in odometry, of the first scan */
    int levels;                 /* 1 to 8, NDT to 6; 0 (default) = 3, NDT 4 */
    double max_distance;        /* maximum correspondence distance at the coarsest level, metres; PCGPU_AUTO (default):
                            8 voxels */
    int max_iterations;         /* per level; twice as many at the last level of NDT */
    double translation_epsilon; /* metres: a level has converged when the translation and the rotation of an update are
                                   below their epsilons; PCGPU_AUTO (default): voxel / 2500 */
    double rotation_epsilon;    /* radians */
    double min_score;           /* 0 to 1: a result with a lower score has not converged */
    bool drop_origin;           /* default true */
    bool keep_carrier;          /* keep the returns of the vehicle that carries the sensor, which are near it in both
                                   scans; default false. See SCANS of pcgpu-methods(7) */
    double min_range;           /* metres, 0 to 1e6: points nearer to the sensor, which is the origin of their file, are
                                   dropped; 0 (default) = none */
    double beam_correction;     /* degrees, -10 to 10, added to the elevation of each point before all other steps;
                                   0 (default) = none, 0.205 for KITTI; see SCANS of pcgpu-methods(7) */
} pcgpu_register_params;

typedef struct pcgpu_registration {
    double T_target_source[16]; /* row-major */
    bool converged;
    char reason[160];                       /* why it stopped, a sentence */
    int starts;                             /* number of initial transforms; 1 without a search */
    double start[16];                       /* the initial transform of this result, as params->init */
    int iterations;                         /* over all levels */
    int levels;                             /* in effect */
    double voxel;                           /* in effect, metres */
    int level_iterations[PCGPU_MAX_LEVELS]; /* of each level, coarse to fine */
    int64_t source_points;                  /* used at the finest level */
    int64_t target_points;
    int64_t inliers;   /* source points with a correspondence at the last iteration; NDT: in a voxel of the target */
    double fitness;    /* inliers / source_points */
    double score;      /* 0 to 1. The consistency s of the surfaces is, for NDT, fitness x agreement; else fitness x
                           the mean weight of the matches (^ 1.5 for POINT), where a weight falls from 1 to 1/4 at
                           0.4 voxel from the target's surface; without normals, fitness. Where free_space is known, s
                           is divided by fitness or by overlap (0.15 at least), whichever is more, and multiplied by
                           sqrt(eigenvalues[0] / 0.03), at most 1, and 1 where degenerate; for NDT the root of it is
                           taken; and score is max(1 - free_space / 0.05, 0) times that. Else score is s */
    double free_space; /* fraction of the points in the free space of the other scan, among those that its sensor could
                           see; see CONVERGENCE CHECK of pcgpu-methods(7). -1: unknown, since a cloud was not seen from
                           its origin, or since the surfaces have no consistency */
    double overlap; /* fraction of the source's points that the target's sensor could see; -1: unknown, as free_space */
    double agreement;       /* NDT: the consistency score, 0 to 1, see NDT of pcgpu-methods(7); else 0 */
    double inlier_rmse;     /* metres, distances of corresponding points; NDT: of the means of the voxels */
    double plane_rmse;      /* metres, the same along the normals; POINT: 0 */
    double center[3];       /* centroid of the target's usable points, file coordinates */
    double information[36]; /* 6x6 sum of J^T J at the result (rotation, translation), about `center`;
                               NDT: robustly weighted */
    double covariance[36];  /* of the pose in the same coordinates, from the residuals; radians and metres */
    double eigenvalues[6];  /* of the information, normalized per point, in metres, ascending */
    bool degenerate;        /* the geometry leaves a direction unconstrained */
    char unconstrained[96]; /* that direction as text, or "" */
    pcgpu_run run;
} pcgpu_registration;

void pcgpu_register_params_init_sized(pcgpu_register_params *params, size_t struct_size);
#define pcgpu_register_params_init(params) pcgpu_register_params_init_sized(params, sizeof *(params))

/* Preprocesses a scan as a registration with these parameters does: a copy with the records that min_range keeps, and
 * with the beam_correction of positions and normals. z points up. Registrations and odometry of clouds do this
 * internally; a caller that writes a scan with its pose corrects the scan here. *run: the counts are added to
 * points_in, too_near and, with drop_origin, at_origin. Errors: MEMORY. */
pcgpu_status pcgpu_scan_correct(pcgpu_context *context, const pcgpu_cloud *scan, const pcgpu_register_params *params,
                                pcgpu_cloud *out, pcgpu_run *run);

/* Registers source onto target. A registration that does not converge returns PCGPU_OK with converged = false and the
 * reason; T_target_source is then the last estimate. Unless search is NEVER, a score below 1.2 min_score is confirmed
 * by a registration of the exchanged clouds. The transform maps file coordinates to file coordinates, including the
 * offsets. NDT keeps its memory in the context for the next call; pcgpu_close releases it. NDT uses every k-th source
 * point when there are more than 2^20. Errors: ARGUMENT, MEMORY, DEVICE. */
pcgpu_status pcgpu_register(pcgpu_context *context, const pcgpu_cloud *source, const pcgpu_cloud *target,
                            const pcgpu_register_params *params, pcgpu_registration *result);

/* Two clouds to register, which the caller owns. Several pairs may use the same cloud. */
typedef struct pcgpu_pair {
    const pcgpu_cloud *source, *target;
} pcgpu_pair;

/* Registers `count` pairs with one call. results: `count` structs; all or none are filled. Each equals the result of
 * pcgpu_register for its pair on that back end, except for the times and, in `run`, the threads and the reason. With
 * NDT on CUDA, up to 64 pairs, or as many as have 2^24 points in total, run concurrently, and the time of the stage
 * "iterate" is their common time. On the CPU, when there are at least as many pairs as threads, each thread registers
 * one pair at a time; each then needs the memory of a registration, which the context keeps for the next call. In other
 * cases the pairs run one after the other. An error of one pair is the error of the call; register the pairs one by one
 * to find it. Errors: as in pcgpu_register, and ARGUMENT for a count below 0 or above 2^30. */
pcgpu_status pcgpu_register_pairs(pcgpu_context *context, const pcgpu_pair *pairs, int count,
                                  const pcgpu_register_params *params, pcgpu_registration *results);

/* ---- sets of clouds ---------------------------------------------------------------------------------------------- */

/* A cloud of a set. */
typedef struct pcgpu_set_cloud {
    int group;                /* of clouds that fit each other. 0: the largest, of equal ones that of the first cloud */
    int links;                /* on which the pose rests; 0: the cloud fits no other, and is a group of its own */
    double T_group_cloud[16]; /* row-major: maps points of the cloud into the frame of the first cloud of its group */
    double center[3];         /* centroid of its usable points, file coordinates */
    double covariance[36];    /* of a motion about the centre, in the axes of the frame of the group: rotation (radians)
                                 before translation (metres), relative to the first cloud of the group, which has 0 */
} pcgpu_set_cloud;

/* A registration of two clouds that the poses rest on. */
typedef struct pcgpu_set_link {
    int source, target;         /* indices of the clouds */
    double T_target_source[16]; /* row-major, by registration */
    double score, overlap;      /* as in pcgpu_registration */
    double residual[2];         /* from the poses: radians, and metres at the source's centroid */
} pcgpu_set_link;

typedef struct pcgpu_set {
    int count, link_count;
    pcgpu_set_cloud *clouds; /* count, in their order */
    pcgpu_set_link *links;   /* link_count, by target, then source */
    int groups;              /* with those of one cloud */
    int placed;              /* clouds of group 0; 0 when no two clouds fit */
    int registered;          /* pairs of clouds */
    int refused;             /* of these: the registration converged, and contradicts others */
    pcgpu_run run;
} pcgpu_set;

/* Places clouds in one frame, in any order and position: features find which clouds may fit each other, these are
 * registered by `params`, whose init and search are not used, and a pose graph joins the registrations that converged
 * (Choi et al. 2015). Those that contradict others, by the free space of the scans or by cycles, are left out. See SETS
 * OF CLOUDS of pcgpu-methods(7). Clouds that fit no other are no error. The result depends neither on threads nor on
 * the back end. Memory: the clouds, and 1 MiB for each; time grows as the square of `count`. Free the set in any case.
 * Errors: ARGUMENT (less than 2 or more than PCGPU_SET_MOST clouds), MEMORY, DEVICE. */
enum { PCGPU_SET_MOST = 4096 };
pcgpu_status pcgpu_register_all(pcgpu_context *context, const pcgpu_cloud *const *clouds, int count,
                                const pcgpu_register_params *params, pcgpu_set *set);
void pcgpu_set_free(pcgpu_set *set); /* accepts a zeroed struct */
#endif
