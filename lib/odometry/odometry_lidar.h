/* Shared by the files of odometry with a LiDAR: odometry_open.c (parameters), odometry_lidar.c (operations of a scan),
 * odometry_reference.c (references) and odometry_scan.c (points of a scan, motion during a sweep). */
#ifndef PC_ODOMETRY_LIDAR_H
#define PC_ODOMETRY_LIDAR_H

#include "ndt.h"
#include "ndt_ops.h"
#include "odometry.h"

/* ---- a scan ------------------------------------------------------------------------------------------------------ */

typedef struct pc_odometry_scan {
    pc_points points;   /* usable and settled, in `xyz` */
    float *xyz;         /* memory of the sequence */
    bool sent;          /* the sequence has the points as they are */
    double offset[3];   /* of the points, from home */
    double T[16], time; /* its pose in the world, both with their origins at home */
    /* With deskewing, of each point as it was read, relative to cloud_offset, which is from home: */
    pc_points raw; /* in raw_memory */
    float *phase;  /* -0.5 to 0.5 of a sweep */
    double spread; /* of the column of times, in its unit; 0: there is none */
    double cloud_offset[3];
    pc_buffer raw_memory;
    pc_carrier carrier; /* the returns near its sensor */
    pc_view *view;      /* what its sensor saw, of the points as they are; NULL until it is made */
} pc_odometry_scan;

/* The largest range of a local map with these voxels: fixed-point units are exact in float32 up to there. */
static inline double pc_odometry_widest_local_map(const pcgpu_odometry_params *p) {
    return 8000.0 * 2.0 * p->registration.voxel;
}
extern const pc_track_ops pc_lidar_ops;

/* Memory for the coordinates of so many points, of which nothing is kept. */
pcgpu_status pc_odometry_take_memory(pcgpu_odometry *o, pc_odometry_scan *scan, int64_t rows);
/* Takes the usable points of a cloud. The first scan sets `home`, a place near the points in the coordinates of the
 * files. */
pcgpu_status pc_odometry_take(pcgpu_odometry *o, const pcgpu_cloud *cloud, pc_odometry_scan *scan, pcgpu_run *run);
/* Moves the points to the middle of the sweep; `motion` in a sweep, NULL: none. */
pcgpu_status pc_odometry_deskew(pcgpu_odometry *o, const pc_twist *motion, pc_odometry_scan *scan);
/* The motion in the sweep of the present scan at the velocity of the last two; none where that is not known. */
pc_twist pc_odometry_usual_motion(const pcgpu_odometry *o);
/* Sends the points to the sequence unless it has them. */
pcgpu_status pc_odometry_send(pcgpu_odometry *o, pc_odometry_scan *scan);
void pc_odometry_scan_free(pc_odometry_scan *scan);
/* Whether the first scan failed on a device that AUTO chose. The device has no state of the sequence yet: it is given
 * up, and the scan is added once more. */
bool pc_odometry_begins_on_cpu(pcgpu_odometry *o, pcgpu_status *status);

/* The times of the points in their sweep, -0.5 to 0.5, and the motion of a sweep, for a caller that moves records. */
typedef struct pc_sweep {
    pc_twist motion;
    double once[3], twice[3]; /* see pc_twist_of */
} pc_sweep;
/* Deskewing and column of times, where they are those of the first scan. */
void pc_sweep_settle(const pcgpu_odometry_params *given, const pcgpu_cloud *first, pcgpu_odometry_params *settled);
pcgpu_status pc_sweep_check(pcgpu_context *context, const pcgpu_odometry_params *p, const pcgpu_cloud *cloud);
/* *spread: from the first to the last value of the column of times, 0 without one. False: all points have the same
 * time, or the column is missing, or azimuths do not follow a revolution, which is no sweep. */
bool pc_sweep_phases(const pcgpu_odometry_params *p, const pcgpu_cloud *cloud, const pc_points *points, float *phase,
                     double *spread);
/* The part of the time from sweep to sweep, `period` seconds, in which a sweep takes its points: 1 where that is not
 * known, since no unit from seconds to nanoseconds fits the spread. */
double pc_sweep_covered(double spread, double period);
/* Logs once the column of times and its unit; warns once when a sweep counts as whole because its times have no known
 * unit, and its points are in a part of a turn. since: seconds from the scan before. */
void pc_sweep_report(pcgpu_odometry *o, const pcgpu_cloud *cloud, const pc_points *points, double spread, double since);
pc_sweep pc_sweep_of(const pc_twist *motion);
void pc_sweep_move(const pc_sweep *sweep, const double offset[3], float phase, float row[3]);

/* A scan that is kept: records of x y z. */
typedef struct pc_kept_scan {
    int64_t n;
    double offset[3]; /* from home */
    pc_buffer memory;
} pc_kept_scan;
void pc_odometry_keep(const pc_odometry_scan *scan, pc_kept_scan *kept); /* without memory for it: none */
/* Both as clouds, whose memory stays where it is. */
pcgpu_status pc_odometry_as_cloud(pcgpu_odometry *o, int which, const pc_odometry_scan *scan, pcgpu_cloud *cloud);
pcgpu_cloud pc_odometry_kept_cloud(const pc_kept_scan *kept);

/* ---- what scans are registered to -------------------------------------------------------------------------------- */

/* A reference: what a scan is registered to. */
typedef struct pc_reference_kind {
    /* Registers `scan`, starting at the pose in the world that is predicted. *T becomes its pose, of use when the
     * result has converged. */
    pcgpu_status (*align)(pcgpu_odometry *o, pc_odometry_scan *scan, const double predicted[16],
                          pcgpu_registration *result, double T[16]);
    /* `scan` has a pose and is the reference, or part of it, from now on. first: the world begins with it, and all
     * earlier state is dropped. */
    pcgpu_status (*accept)(pcgpu_odometry *o, pc_odometry_scan *scan, bool first);
    bool only_ndt; /* registers by voxels only */
} pc_reference_kind;

/* By pcgpu_reference. */
extern const pc_reference_kind pc_reference_kinds[];

/* What scans are localized in (odometry_localize.c). */
typedef struct pc_odometry_map pc_odometry_map;

/* Registers a scan to another one; target NULL: to the local map, or the voxels of a map. */
pcgpu_status pc_odometry_align_by_ndt(pcgpu_odometry *o, const pcgpu_register_params *params, pc_odometry_scan *scan,
                                      pc_odometry_scan *target, pcgpu_registration *result);
/* Counts of the points of a scan as it was taken, in place of those of a registration of what was left. */
void pc_odometry_keep_counts(const pcgpu_run *taken, pcgpu_run *run);
/* Makes a scan with a pose the one that the next ones are registered to. */
void pc_odometry_make_keyframe(pcgpu_odometry *o, pc_odometry_scan *scan);
/* Merges a scan at T into the local map, whose box has its middle at `anchor`; `m` says how, and gets the points. */
pcgpu_status pc_odometry_merge(pcgpu_odometry *o, pc_odometry_scan *scan, const double T[16], const double anchor[3],
                               pc_ndt_merge *m, pc_ndt_measure *measure);
/* Lays the frame of a local map; returns half of its edge in widest voxels. */
double pc_odometry_lay_box(pcgpu_odometry *o);
/* The back end for all scans, from the points of a registration. */
pcgpu_status pc_odometry_choose(pcgpu_odometry *o, double points);

struct pcgpu_odometry {
    pcgpu_context *context;
    pcgpu_odometry_params params; /* with what the first good scan has settled */
    pcgpu_odometry_params given;  /* before that */
    const pc_reference_kind *kind;
    pc_odometry_map *map; /* NULL: the world begins with the first scan */
    bool extends, joins;  /* scans join the map; the one that is accepted does */
    void (*free_map)(pc_odometry_map *map);
    /* pc_register_work.look: the share of the map's points around the result that lie in the free space of the scan */
    pcgpu_status (*look_at_map)(pc_register_work *w, double *share);
    pc_track_ops ops;                 /* of the track */
    const pc_backend *backend;        /* NULL before the first scan */
    pcgpu_run run;                    /* as that of each scan begins */
    pcgpu_cloud points;               /* as the caller sees them: those of the last good scan */
    pc_odometry_scan scans[PC_SCANS]; /* the one that is added, the last good one, the keyframe */
    pc_odometry_scan *present, *last,
        *keyframe; /* last NULL: no scan has a pose; keyframe: may be the last; NULL with a model or map */
    pc_odometry_scan *keyframe_before; /* the keyframe after the last scan */
    pc_track track;
    pc_kept_scan kept[PC_KEPT]; /* by the track's slots */
    double min_score;           /* of the present registration */
    int max_iterations;         /* the same */
    bool near;                  /* the present registration is that of an attempt of this kind */
    double select_seconds;      /* for taking the present scan */
    pc_ndt_held held;
    double home[3]; /* 0 but for coordinates far from their origin, in which motions are ill-conditioned */
    pc_twist first_motion, first_motion_now; /* motion that deskewed the first scan: after the last scan, and now */
    bool restart_pending; /* the last scan failed after it had changed the deskewing of the first one */
    bool searching;       /* the present registrations are of a search, which deskews by `searched` */
    pc_twist searched;
    pc_twist change;      /* of the motion, per sweep: of the last good scan to the one before it */
    double fraction;      /* of the motion to the last good scan, in its sweep */
    bool reported;        /* the column of times */
    bool warned;          /* that the times of points have no known unit */
    double map_anchor[3]; /* world coordinates of the middle of the local map's box */
    double map_voxels;    /* when it was last renewed */
    pc_buffer rows[2];    /* points by rows, for the methods of ICP */
};

#endif
