/* Odometry: the poses of a sequence of scans, and the errors of a trajectory. A part of pcgpu.h, which includes this
 * header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_ODOMETRY_H
#define PCGPU_ODOMETRY_H

/* ---- odometry ------------------------------------------------------------------------------------------------ */

/* What a scan is registered to. */
typedef enum pcgpu_reference {
    PCGPU_REFERENCE_PREVIOUS, /* the last scan that has a pose */
    PCGPU_REFERENCE_KEYFRAME, /* a keyframe, which is replaced when the sensor has moved far enough */
    PCGPU_REFERENCE_MODEL     /* a local map: the moments of all earlier scans in voxels around the sensor; NDT only */
} pcgpu_reference;

/* How the time of a point within its sweep is found, for a sensor that moves during a sweep. A sweep lasts until the
 * next one begins. The pose of a scan is the pose at the middle of its sweep; deskewing transforms the points to that
 * pose with the motion since the previous scan. */
typedef enum pcgpu_deskew {
    PCGPU_DESKEW_NONE,             /* no times: a static sensor, or scans that are deskewed already */
    PCGPU_DESKEW_TIME,             /* from a column: its smallest value is the start of the sweep, its largest the
                                      end; a scan whose points have one time is an error */
    PCGPU_DESKEW_COUNTERCLOCKWISE, /* from the azimuth: one revolution about z from x to y, which starts at the first
                                      point */
    PCGPU_DESKEW_CLOCKWISE,
    PCGPU_DESKEW_AUTO /* TIME with a time_column that is given, or where the first scan has one: a column with the name
                         of a time whose values vary, or any one whose values follow the azimuth through a revolution;
                         else NONE. A later scan without times stays as it is */
} pcgpu_deskew;

typedef struct pcgpu_odometry_params {
    size_t struct_size;                 /* set by pcgpu_odometry_params_init */
    pcgpu_register_params registration; /* of each step; init: the pose of the first scan, T_world_scan */
    pcgpu_reference reference;          /* default MODEL */
    double keyframe_distance;           /* metres: a scan farther from the keyframe becomes the next one; default 3 */
    double keyframe_angle;              /* radians, likewise; default 0.35 */
    double keyframe_fitness;            /* a scan with a lower fitness becomes the next one, too; default 0.6 */
    double model_range;   /* minimum extent of the local map from the sensor on each axis, metres; default 80 */
    int64_t model_points; /* a voxel of the local map takes no more than this number of points; default 200 */
    pcgpu_deskew deskew;  /* default AUTO */
    int time_column; /* of DESKEW_TIME and AUTO, counted from 0; default 0: that which AUTO finds; with TIME the first
                      * with the name of a time, such as gps_time, else 4 */
} pcgpu_odometry_params;

void pcgpu_odometry_params_init_sized(pcgpu_odometry_params *params, size_t struct_size);
#define pcgpu_odometry_params_init(params) pcgpu_odometry_params_init_sized(params, sizeof *(params))

enum { PCGPU_MOST_OPEN = 2 };

/* The result for one scan. */
typedef struct pcgpu_odometry_frame {
    bool good;                       /* it has a pose */
    bool relocalized;                /* recovered: it has a pose, and the scan before it has none */
    bool keyframe;                   /* it became the reference, or was merged into the local map */
    int attempts;                    /* number of registrations; 0 for the first scan */
    double T_world_frame[16];        /* of the scan, row-major; NaN when the scan is lost */
    pcgpu_registration registration; /* the last one. Its T_target_source is T_reference_frame, with MODEL
                                        T_world_frame. Zeroed, except for `run`, for the first scan */
    int open; /* directions of translation that the scene leaves open: the pose follows the prediction along these,
                 and the covariance has the square of what that may be off */
    double open_directions[3 * PCGPU_MOST_OPEN]; /* unit vectors in the world */
} pcgpu_odometry_frame;

typedef struct pcgpu_odometry pcgpu_odometry;

/* Begins a trajectory. The context must stay open until pcgpu_odometry_close, since each call uses it; between calls,
 * other operations may use it from the same thread. On CUDA, device memory keeps the points of up to three scans and
 * the voxels of the reference. *odometry is NULL on failure. Errors: ARGUMENT, MEMORY. */
pcgpu_status pcgpu_odometry_open(pcgpu_context *context, const pcgpu_odometry_params *params,
                                 pcgpu_odometry **odometry);
void pcgpu_odometry_close(pcgpu_odometry *odometry); /* accepts NULL */

/* The same for the poses of scans in an existing map: T_world_frame is in the coordinates of `map`, points of any
 * origin such as those of earlier scans at their poses, best one per voxel of 0.1 to 0.2 m. params->reference stays
 * MODEL. The map's points are made NDT cells once, of which those within model_range of the sensor are registered to;
 * no scan changes them, and the cloud is not kept. The voxel size AUTO comes from the map. The pose of the first scan
 * is found from registration.init, or, with registration.search ALWAYS, anywhere in the map; a scan that its motion
 * does not find is searched in the whole map, unless that is NEVER. The search assumes that z is vertical in map and
 * scans, within some degrees. In the result, `keyframe` is false and registration.score the agreement of scan and map.
 * On CUDA, device memory has all cells of the map. Errors: ARGUMENT (also a map of fewer than 10 usable points, or one
 * that spans more than 16,384 finest cells), MEMORY, DEVICE. */
pcgpu_status pcgpu_odometry_open_map(pcgpu_context *context, const pcgpu_odometry_params *params,
                                     const pcgpu_cloud *map, pcgpu_odometry **odometry);

/* The same for scans that extend the map. Where the map has points around three quarters of a scan it is registered to
 * the map alone. Elsewhere, and where that fails, it is registered to the map and to a local map of the points that
 * scans have added: the first one in each cell of voxel / 4 in which the map has none. A scan that its motion does not
 * find is tried from stored scans, too, before the map is searched. `keyframe` is true for a scan whose points were
 * added. The caller's map stays as it is: pcgpu_map_into extends it. Errors: as above. */
pcgpu_status pcgpu_odometry_open_into(pcgpu_context *context, const pcgpu_odometry_params *params,
                                      const pcgpu_cloud *map, pcgpu_odometry **odometry);

/* Gives the motion of the sensor from elsewhere, such as wheels, an IMU or GNSS that another program integrated:
 * `count` poses of the sensor (count x 16, row-major) in any world, at times in seconds, of which only the motion from
 * time to time counts; between two poses it has constant velocity. Where the times of the last scan with a pose and of
 * the next one are both within these, the prediction is that motion from the last pose. The arrays are copied, in
 * place of those of an earlier call; count 0 ends it. Errors: ARGUMENT (times that do not rise, a pose that is not
 * rigid), MEMORY. */
pcgpu_status pcgpu_odometry_guess(pcgpu_odometry *odometry, const double *times, const double *poses, int64_t count);

/* Adds the next scan, with its time in seconds from a common zero, and finds its pose. The first registration starts
 * from the prediction, by pcgpu_odometry_guess or at the constant velocity of the last two scans with a pose. If it
 * does not converge, the next one starts from the last pose. If that fails too, but the registration from the
 * prediction agrees with it except along directions that the scene leaves open, the pose follows the prediction along
 * these, in up to 10 scans in turn. Otherwise a coarse search tries up to 16 stored scans, which are at least
 * keyframe_distance or keyframe_angle from each other. A scan without a converged registration is lost: PCGPU_OK with
 * good = false. The next scan is searched in the same order. The first scan with enough points has the pose
 * params.registration.init. Times must increase; skip a missing scan. The cloud is not kept. The poses depend neither
 * on the number of threads nor on the back end. Errors: as in pcgpu_register, and ARGUMENT for a time that does not
 * increase or a missing column. After an error, the scan was not added. */
pcgpu_status pcgpu_odometry_add(pcgpu_odometry *odometry, const pcgpu_cloud *cloud, double time,
                                pcgpu_odometry_frame *frame);

/* *degrees becomes the angle in degrees for registration.beam_correction, by which all beams of the scanner are off in
 * elevation: from the first `count` scans of a drive, with their times in seconds, of which those up to 68 m are used,
 * and none when the sensor hardly moves. It is the median of up to 8 pairs of scans, 14 m apart, which see planes from
 * different distances; 0 with fewer than 4 pairs, when their mean deviation from it is more than 0.03 degree, or when
 * it is less than 0.05. An odometry with the `params`, which ends before the call does, has the poses of the scans.
 * Errors: as of pcgpu_odometry_open and pcgpu_odometry_add. */
pcgpu_status pcgpu_odometry_beams(pcgpu_context *context, const pcgpu_odometry_params *params, const pcgpu_cloud *scans,
                                  const double *times, int64_t count, double *degrees);

/* *params, which has been initialized, becomes the parameters with what the first scan has settled: deskew and
 * time_column, and of the registration the voxel size and what follows from it. */
void pcgpu_odometry_settled(const pcgpu_odometry *odometry, pcgpu_odometry_params *params);

/* The points of the last scan that has a pose, as they were registered: those that are usable, deskewed, x y z, in the
 * coordinates of the file. They belong to the odometry and last until its next call. Errors: ARGUMENT (no scan has a
 * pose), MEMORY. */
pcgpu_status pcgpu_odometry_points(pcgpu_odometry *odometry, const pcgpu_cloud **points);

/* The fraction of the motion to the last scan with a pose, from the one with a pose before it, that is in its sweep:
 * less than 1 when scans are missing between them, or when the points were taken in a part of the time from sweep to
 * sweep, by their times in seconds, milliseconds, microseconds or nanoseconds. 0 before the second such scan. */
double pcgpu_odometry_sweep(const pcgpu_odometry *odometry);

/* The points of a scan as odometry registers them, with all columns: without those nearer than min_range and those of
 * the vehicle that carries the sensor, which are where the scan `before` (NULL: none, the first scan) has returns near
 * the sensor, too; with the beam correction; deskewed, for the pose of the scan, with the motion T_before_scan from the
 * scan before it (NULL: none), of which a sweep has this fraction: 1 when sweeps follow each other and take the whole
 * time; pcgpu_odometry_sweep has it. The caller frees
 * the points. Adds to the counts of `run`. Errors: ARGUMENT (a missing column of times), MEMORY. */
pcgpu_status pcgpu_scan_points(pcgpu_context *context, const pcgpu_odometry_params *params, const pcgpu_cloud *scan,
                               const pcgpu_cloud *before, const double T_before_scan[16], double fraction,
                               pcgpu_cloud *points, pcgpu_run *run);

/* ---- errors of a trajectory ---------------------------------------------------------------------------------- */

enum { PCGPU_SEGMENTS = 12 };

/* Errors over segments of one length, as the KITTI benchmark defines them (Geiger et al. 2012). */
typedef struct pcgpu_segment_error {
    double length;      /* metres along the true path */
    int64_t count;      /* 0: the path is shorter */
    double translation; /* mean translation error divided by the length */
    double rotation;    /* mean, radians per metre */
} pcgpu_segment_error;

/* A mean or root mean square over no values is NaN. */
typedef struct pcgpu_evaluation {
    int64_t poses;               /* poses in both trajectories */
    int64_t missing;             /* poses in the truth that the estimate lacks */
    double length;               /* metres along the true path */
    double T_truth_estimate[16]; /* the rigid alignment of the positions (Umeyama 1991, without scale) */
    double ate_rmse;             /* absolute trajectory error: distances of the aligned positions, metres */
    double ate_mean, ate_median, ate_max;
    double rpe_translation, rpe_rotation; /* relative pose error from frame to frame, RMSE, metres and radians */
    int64_t rpe_count;
    double rpe_second_translation, rpe_second_rotation; /* the same over a second */
    int64_t rpe_second_count;
    pcgpu_segment_error segments[PCGPU_SEGMENTS]; /* 100, 200, ..., 800 m, then, for paths below 800 m, 5, 10, 20, 50 */
    double segment_translation, segment_rotation; /* means over all segments of 100 to 800 m */
    double short_translation, short_rotation;     /* means over all shorter segments */
} pcgpu_evaluation;

/* Compares `count` poses, 4x4 row-major each, T_world_frame, in the order of time. A pose with a NaN is missing.
 * `times`: seconds, for the errors over one second; NULL leaves these out. Errors: ARGUMENT (fewer than 2 common
 * poses), MEMORY. */
pcgpu_status pcgpu_trajectory_evaluate(pcgpu_context *context, const double *estimate, const double *truth,
                                       const double *times, int64_t count, pcgpu_evaluation *evaluation);
#endif
