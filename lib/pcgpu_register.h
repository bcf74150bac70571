/* Registration: a part of pcgpu.h, which includes this header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_REGISTER_H
#define PCGPU_REGISTER_H

#ifdef __cplusplus
extern "C" {
#endif

/* Registration, coarse to fine. PLANE and POINT are iterative closest point (Chen and Medioni 1992; Besl and McKay
 * 1992): each level halves the voxel and the gate of the one before; the last uses `voxel`, the first `max_distance`.
 * NDT compares means in cubic cells, weighted by the covariance of the target's points there; see NDT of
 * pcgpu-methods(7). Its finest cells are twice as wide as `voxel`, each level halves the edge of the one before, and
 * max_distance is not used. The default. GICP weights the distances by the covariances of both points, which are flat
 * along their surfaces (Segal et al. 2009), in levels as PLANE. PLANE and GICP take the normals of clouds with the
 * columns nx ny nz (or normal_x ...), and estimate those of others. */
typedef enum pcgpu_register_method {
    PCGPU_REGISTER_PLANE,
    PCGPU_REGISTER_POINT,
    PCGPU_REGISTER_NDT,
    PCGPU_REGISTER_GICP
} pcgpu_register_method;

/* Weights of residuals at the finest level, see KERNELS of pcgpu-methods(7). AUTO: CAUCHY for PLANE and GICP, NONE for
 * POINT; NDT has its own and takes no other. */
typedef enum pcgpu_kernel {
    PCGPU_KERNEL_AUTO,
    PCGPU_KERNEL_NONE,
    PCGPU_KERNEL_HUBER,
    PCGPU_KERNEL_CAUCHY,
    PCGPU_KERNEL_TUKEY,
    PCGPU_KERNEL_GEMAN
} pcgpu_kernel;

/* Starts besides the given one, which a coarse search finds; see STARTS of pcgpu-methods(7). */
typedef enum pcgpu_search {
    PCGPU_SEARCH_NEVER,
    PCGPU_SEARCH_ALWAYS, /* at any rotation about z, before the given start */
    PCGPU_SEARCH_RESCUE  /* when the registration from the given start has not converged; at rotations about z of up to
                            PCGPU_RESCUE_DEGREES from it */
} pcgpu_search;

enum { PCGPU_MAX_LEVELS = 8, PCGPU_RESCUE_DEGREES = 30 };

/* A parameter that follows from the points. */
#define PCGPU_AUTO (-1.0)

typedef struct pcgpu_register_params {
    pcgpu_register_method method;
    double init[16];            /* T_target_source to start from, row-major; default identity */
    pcgpu_search search;        /* default RESCUE; a sequence has its own ways and takes it as NEVER */
    double voxel;               /* voxel size of the finest level, metres; 0 = no downsampling, not for NDT; PCGPU_AUTO
                                   (default): a power of two at which most points of the target lie in cells, two voxels
                                   wide, whose points spread over two directions. With `symmetric` the larger of both
                                   clouds', in a sequence that of the first scan */
    int levels;                 /* 1 to 8, NDT to 6; 0 (default) = 3, NDT 4 */
    double max_distance;        /* maximum correspondence distance at the coarsest level, metres; PCGPU_AUTO (default):
                                   8 voxels */
    pcgpu_kernel kernel;
    double kernel_scale;        /* metres; 0 (default) = the kernel's own */
    int max_iterations;         /* a level */
    double translation_epsilon; /* metres: a level ends when an update is smaller in both; PCGPU_AUTO (default):
                                   voxel / 2500 */
    double rotation_epsilon;    /* radians */
    double min_score;           /* 0 to 1: a result with a lower score is not a success */
    bool drop_origin;           /* default true */
    double min_range;       /* metres, 0 to 1e6: points nearer to the sensor, the origin of their file, are left out;
                               0 (default) = none */
    double beam_correction; /* degrees, -10 to 10, that the elevation of each point is raised by before anything else;
                               0 (default) = none, 0.205 for KITTI; see SCANS of pcgpu-methods(7) */
    bool symmetric;             /* register both ways and take the motion halfway; default false. Not for odometry */
} pcgpu_register_params;

typedef struct pcgpu_registration {
    double T_target_source[16]; /* row-major */
    bool converged;
    char reason[160];                       /* why it stopped, a sentence */
    bool symmetric;                         /* registered both ways */
    double apart[2];                        /* then: how far apart they end, metres at `center` and radians; else 0 */
    int starts;                             /* tried; 1 without a search */
    double start[16];                       /* the one that led here, as params->init */
    int iterations;                         /* over all levels */
    int levels;                             /* in effect */
    double voxel;                           /* in effect, metres */
    int level_iterations[PCGPU_MAX_LEVELS]; /* of each level, coarse to fine */
    int64_t source_points;                  /* used at the finest level */
    int64_t target_points;
    int64_t inliers;    /* source points with a correspondence at the last iteration; NDT: in a cell of the target */
    double fitness;     /* inliers / source_points */
    double score;       /* 0 to 1. How well the surfaces agree, s: NDT: fitness x agreement; else fitness x the mean
                           weight of the matches ^ 1.5, a weight falling from 1 to 1/4 at 0.4 voxel from the target's
                           surface; without normals: fitness. Where free_space is known: (1 - free_space / 0.05), at
                           least 0, times s, of NDT times sqrt(s) (eigenvalues[0] / 0.03) ^ 0.25, of which the
                           power is at most 1, and 1 where degenerate; else s */
    double free_space;  /* share of the points that lie in the free space of the other scan, of those that its sensor could
                           see, see VERDICT of pcgpu-methods(7); -1: not known, since a cloud was not seen from its origin
                           or the surfaces do not agree at all */
    double agreement;   /* NDT: 0 to 1, see NDT of pcgpu-methods(7); else 0 */
    double inlier_rmse; /* metres, distances of corresponding points; NDT: of the means of the cells */
    double plane_rmse;  /* metres, the same along the normals; POINT: 0 */
    double center[3];   /* centroid of the target's usable points, file coordinates */
    double information[36]; /* 6x6 sum of J^T J at the result (rotation, translation), about `center`;
                               NDT: robustly weighted */
    double covariance[36];  /* of the pose in the same coordinates, from the residuals; radians and metres */
    double eigenvalues[6];  /* of the information, normalized to one point and metres, ascending */
    bool degenerate;        /* a direction is unconstrained */
    char unconstrained[96]; /* that direction in words, or "" */
    pcgpu_run run;
} pcgpu_registration;

void pcgpu_register_params_init(pcgpu_register_params *params);

/* A scan as a registration with these parameters takes it: a copy with the records that min_range keeps and with the
 * beam_correction of the positions, and of the normals where it has them. z points up. Registrations and odometry of
 * clouds do this by themselves; a scan that is written with its pose is corrected here. *run: what is left out is added to points_in, too_near and, for drop_origin, at_origin. Errors: MEMORY. */
pcgpu_status pcgpu_scan_correct(pcgpu_context *context, const pcgpu_cloud *scan, const pcgpu_register_params *params,
                                pcgpu_cloud *out, pcgpu_run *run);

/* Registers source onto target. A registration that fails to converge is PCGPU_OK with converged = false and the
 * reason; T_target_source is then the last estimate. The transform maps file coordinates to file coordinates, offsets
 * included. NDT keeps its memory in the context for the next call; pcgpu_close releases it. Of more than 2^20 source
 * points it takes one of so many. Errors: ARGUMENT, MEMORY, DEVICE.
 *
 * SYMMETRIC registers the target onto the source, too, from the inverse of the start, and answers with the motion
 * halfway: the exchange of both clouds inverts it, to rounding. It has converged when both ways have and end within a
 * voxel and a degree of each other; farther apart, the transform is that of the source onto the target. All other
 * members of the result are those of the source onto the target, at its own pose. Twice the work; on CUDA by NDT, and
 * with two threads, both ways are under way at the same time, each with the memory of a registration. */
pcgpu_status pcgpu_register(pcgpu_context *context, const pcgpu_cloud *source, const pcgpu_cloud *target,
                            const pcgpu_register_params *params, pcgpu_registration *result);

/* Two clouds to register, borrowed. Several pairs may have clouds in common. */
typedef struct pcgpu_pair {
    const pcgpu_cloud *source, *target;
} pcgpu_pair;

/* Registers `count` pairs with one call. results: `count` structs, all or none are filled; each equals what
 * pcgpu_register gives for its pair on that back end, but for the times and, in `run`, the threads and the reason. By
 * NDT on CUDA up to 64 pairs, or as many as have 2^24 points together, are on the device at the same time, and the
 * seconds of the stage "iterate" are those of all of them. On the CPU each thread takes a pair at a time where there
 * are as many pairs as threads; each then needs the memory of a registration, which the context
 * keeps for the next call. Otherwise one pair follows the other. An
 * error of one pair is that of the call; try each alone then. Errors: those of pcgpu_register, and ARGUMENT for a count
 * below 0 or above 2^30. */
pcgpu_status pcgpu_register_pairs(pcgpu_context *context, const pcgpu_pair *pairs, int count,
                                  const pcgpu_register_params *params, pcgpu_registration *results);

#ifdef __cplusplus
}
#endif
#endif
