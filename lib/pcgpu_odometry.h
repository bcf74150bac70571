/* Odometry: the poses of a sequence of scans, and how good a trajectory is. A part of pcgpu.h, which includes this header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_ODOMETRY_H
#define PCGPU_ODOMETRY_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- odometry ------------------------------------------------------------------------------------------------ */

/* What a scan is registered to. */
typedef enum pcgpu_reference {
    PCGPU_REFERENCE_PREVIOUS, /* the scan before it that has a pose */
    PCGPU_REFERENCE_KEYFRAME, /* a scan that stays until the sensor has moved on */
    PCGPU_REFERENCE_MODEL /* all scans before it, as cells of their moments in a box that moves with the sensor; NDT
                             only */
} pcgpu_reference;

/* Where in its sweep a point was taken, for a sensor that moves meanwhile. A sweep lasts as long as it is to the next
 * one. The pose of a scan is that of the middle of its sweep, and points are moved to where the sensor would have seen
 * them from there, by the motion since the scan before. */
typedef enum pcgpu_deskew {
    PCGPU_DESKEW_NONE,             /* all points at once: a sensor that stands, or scans that are corrected already */
    PCGPU_DESKEW_TIME,             /* from a column: its least value is the beginning, its largest the end */
    PCGPU_DESKEW_COUNTERCLOCKWISE, /* from the azimuth: one turn about z from x to y, beginning at the first point */
    PCGPU_DESKEW_CLOCKWISE
} pcgpu_deskew;

typedef struct pcgpu_odometry_params {
    pcgpu_register_params registration; /* of each step; init: the pose of the first scan, T_world_scan */
    pcgpu_reference reference;          /* default MODEL */
    double keyframe_distance;           /* metres from a keyframe, after which there is a new one; default 3 */
    double keyframe_angle;              /* radians; default 0.35 */
    double keyframe_fitness;            /* the same when a lower share of points meets the keyframe's; default 0.6 */
    double model_range;   /* metres from the sensor on each axis that the model reaches at least; default 80 */
    int64_t model_points; /* a cell of the model with so many points takes no more; default 200 */
    pcgpu_deskew deskew;  /* default NONE */
    int time_column;      /* of DESKEW_TIME, counted from 0; default 4 */
} pcgpu_odometry_params;

void pcgpu_odometry_params_init(pcgpu_odometry_params *params);

/* What became of one scan. */
typedef struct pcgpu_odometry_frame {
    bool good;                       /* it has a pose */
    bool relocalized;                /* recovered: it has one, and scans before it had none */
    bool keyframe;                   /* it is the reference, or a part of it, from now on */
    int attempts;                    /* registrations that were tried; 0 for the first scan */
    double reference_time;           /* of the scan that is the last to have become, or joined, the reference; NaN when
                                        none has a pose */
    double T_world_frame[16];        /* of the scan, row-major; NaN when it is lost */
    pcgpu_registration registration; /* the last one; its T_target_source is T_reference_frame, of the model
                                        T_world_frame. Zeroed, but for `run`, for the first scan */
} pcgpu_odometry_frame;

typedef struct pcgpu_odometry pcgpu_odometry;

/* Begins a trajectory. The context stays open until it is closed and is used by each call; other operations may use it
 * in between, from the same thread. On CUDA the points of up to three scans and the cells of what is registered to stay
 * in the device's memory. *odometry is NULL on failure. Errors: ARGUMENT, MEMORY. */
pcgpu_status pcgpu_odometry_open(pcgpu_context *context, const pcgpu_odometry_params *params,
                                 pcgpu_odometry **odometry);
void pcgpu_odometry_close(pcgpu_odometry *odometry); /* accepts NULL */

/* Adds the next scan, taken `time` seconds after some common zero, and finds its pose: from the constant velocity of
 * the last two scans with a pose, and when that does not lead to a registration that converges, from the last pose,
 * and then by a coarse search among some of up to 16 scans that are kept, a keyframe's distance or angle apart. A scan
 * that still has none is lost: PCGPU_OK with good = false, and the next is looked for in the same order. The first scan with enough points is where the world begins, at params.registration.init. Times must rise; a
 * scan that is missing is simply not added. The cloud is not kept. The poses do not depend on the number of threads,
 * nor on the back end. Errors: those of pcgpu_register, and ARGUMENT for a time that does not rise or a column that is
 * not there. After an error the scan counts as not added. */
pcgpu_status pcgpu_odometry_add(pcgpu_odometry *odometry, const pcgpu_cloud *cloud, double time,
                                pcgpu_odometry_frame *frame);

/* Adds a scan whose pose is known and was found good, such as one of a run that ended early, without registering it.
 * keyframe: it is the one that has the last reference_time; MODEL and PREVIOUS take every scan. When all good scans of
 * a trajectory are added by this, in their order and with the times they had, what follows has the bytes that it would
 * have had. */
pcgpu_status pcgpu_odometry_add_known(pcgpu_odometry *odometry, const pcgpu_cloud *cloud, double time,
                                      const double T_world_frame[16], bool keyframe);

/* ---- how good a trajectory is -------------------------------------------------------------------------------- */

enum { PCGPU_SEGMENTS = 12 };

/* Errors over pieces of one length, as the KITTI benchmark defines them (Geiger et al. 2012). */
typedef struct pcgpu_segment_error {
    double length;      /* metres along the true path */
    int64_t count;      /* 0: the path is shorter */
    double translation; /* mean of the error of the motion over its length */
    double rotation;    /* mean, radians a metre */
} pcgpu_segment_error;

/* Of root mean squares and means over nothing: NaN. */
typedef struct pcgpu_evaluation {
    int64_t poses;               /* that both trajectories have */
    int64_t missing;             /* that the truth has and the estimate has not */
    double length;               /* metres along the true path */
    double T_truth_estimate[16]; /* the rigid motion that brings the positions together best (Umeyama 1991, no scale) */
    double ate_rmse;             /* absolute trajectory error: distance of the positions after it, metres */
    double ate_mean, ate_median, ate_max;
    double rpe_translation, rpe_rotation; /* relative pose error from frame to frame, RMSE, metres and radians */
    int64_t rpe_count;
    double rpe_second_translation, rpe_second_rotation; /* the same over a second */
    int64_t rpe_second_count;
    pcgpu_segment_error segments[PCGPU_SEGMENTS]; /* 100, 200, ..., 800 m, then, for paths below 800 m, 5, 10, 20, 50 */
    double segment_translation, segment_rotation; /* means over all pieces of 100 to 800 m */
    double short_translation, short_rotation;     /* and over all shorter ones */
} pcgpu_evaluation;

/* Compares `count` poses, 4x4 row-major each, T_world_frame, in the order of time; a pose with a NaN is missing.
 * `times`: seconds, for what is told a second; NULL: that is not told. Errors: ARGUMENT (fewer than 2 poses in common),
 * MEMORY. */
pcgpu_status pcgpu_trajectory_evaluate(pcgpu_context *context, const double *estimate, const double *truth,
                                       const double *times, int64_t count, pcgpu_evaluation *evaluation);

#ifdef __cplusplus
}
#endif
#endif
