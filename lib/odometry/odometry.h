/* What the files of odometry share: odometry_track.c (the states of a sequence of scans or depth images), odometry.c
 * (from scan to pose), odometry_reference.c (what scans are registered to) and odometry_scan.c (points of a scan, the
 * sensor's motion in it). */
#ifndef PC_ODOMETRY_H
#define PC_ODOMETRY_H

#include "ndt_ops.h"
#include "pcgpu_odometry.h"
#include "register.h"
#include "ndt.h"

/* ---- motions ------------------------------------------------------------------------------------------------- */

/* A motion of constant velocity in the moving frame: turn (Cayley's, 2 tan(angle / 2) about its axis) and way in a unit
 * of time. */
typedef struct pc_twist {
    double turn[3], way[3];
} pc_twist;

pc_twist pc_twist_of(const double T[16]);
/* Where it leads in `time` units: 4x4. */
void pc_twist_after(const pc_twist *twist, double time, double T[16]);

/* T = where the sensor is at `time` when it goes on as from `before` to `last`. False, with T = last, where velocity says
 * nothing, since `time` is too many such steps ahead. */
bool pc_predict(const double before[16], double time_before, const double last[16], double time_last, double time,
                double T[16]);
/* Whether it is farther from `from` to `to` than so many metres or radians. */
bool pc_moved_beyond(const double from[16], const double to[16], double metres, double radians);

/* ---- the track ------------------------------------------------------------------------------------------------ */

/* Frames that are kept, no two of them near each other, for lost ones to be found by. */
enum { PC_KEPT = 16 };

/* The states of a sequence, whatever its frames are: a frame is found, recovered (the ones before it were lost) or
 * lost. */
typedef struct pc_track {
    double last[16], time_last;     /* of the last frame with a pose, when good > 0 */
    double before[16], time_before; /* of the one before, when good > 1 */
    double newest;                  /* time of the last frame */
    int64_t good;                   /* frames with a pose */
    int lost;                       /* frames without one since the last that has */
    double poses[PC_KEPT][16];      /* of the kept frames, by slot */
    int kept, oldest;               /* how many, and the slot of the first of them */
} pc_track;

/* A registration to try: of the present frame, from `start` in the world. */
typedef struct pc_attempt {
    double start[16];
    int kept;     /* slot of the kept frame to register to; -1: the reference */
    double score; /* times the least score */
} pc_attempt;

/* What differs between scans and depth images. */
typedef struct pc_track_ops {
    /* *T becomes the pose of the present frame in the world, of use when f->registration has converged. */
    pcgpu_status (*align)(void *owner, const pc_attempt *attempt, pcgpu_odometry_frame *f, double T[16]);
    bool (*nearer)(void *owner); /* takes a nearer reference for the present frame; false when there is none */
    int tries;                   /* how many kept frames one that is not found by its motion is tried against */
} pc_track_ops;

/* Finds the pose of the present frame; it has none when f->registration has not converged. */
pcgpu_status pc_track_find(pc_track *t, const pc_track_ops *ops, void *owner, double time, pcgpu_odometry_frame *f,
                           double T[16]);
/* Whether `time` is a time, and later than all before. */
bool pc_track_accepts_time(const pc_track *t, double time);
/* The pose at `time`; false when no motion is known, and it is the last one. */
bool pc_track_predict(const pc_track *t, double time, double T[16]);
/* What became of the present frame; a lost one has the pose NaN. */
void pc_track_found(pc_track *t, const double T[16], double time);
void pc_track_lost(pc_track *t, double time, double T[16]);
/* The slot in which the owner keeps a frame at T, in place of what was kept there; -1 when another one is that near. */
int pc_track_keep(pc_track *t, const double T[16], double metres, double radians);
/* ---- a scan -------------------------------------------------------------------------------------------------- */

typedef struct pc_odometry_scan {
    pc_point_set points; /* usable and settled, in `xyz` */
    float *xyz;          /* in `memory`, or that of a device */
    bool sent;           /* a device has the points as they are */
    double offset[3];    /* of the points, from home */
    double T[16], time;  /* its pose in the world, both with their origins at home */
    /* With deskewing, of each point as it was read, relative to cloud_offset, which is from home: */
    float *raw;   /* x[], y[], z[] */
    float *phase; /* -0.5 to 0.5 of a sweep */
    double cloud_offset[3];
    pc_buffer memory, raw_memory;
    pc_carrier carrier; /* the returns near its sensor */
} pc_odometry_scan;

/* The CPU's cells are those of this odometry during a call; other users of the context have others. */
void pc_odometry_exchange_cells(pcgpu_odometry *o);
/* How far a model of these voxels may reach: quanta are exact in float32 up to there. */
double pc_odometry_widest_model(const pcgpu_odometry_params *p);
/* Takes the usable points of a cloud. The first scan sets `home`, a place near the points in the coordinates of the
 * files. */
pcgpu_status pc_odometry_take(pcgpu_odometry *o, const pcgpu_cloud *cloud, pc_odometry_scan *scan, pcgpu_run *run);
/* Moves the points to the middle of the sweep; `motion` in a sweep, NULL: none. */
pcgpu_status pc_odometry_deskew(pcgpu_odometry *o, const pc_twist *motion, pc_odometry_scan *scan);
/* Sends the points to the device that keeps them, where there is one and it has not got them. */
pcgpu_status pc_odometry_send(pcgpu_odometry *o, pc_odometry_scan *scan);
void pc_odometry_scan_free(pc_odometry_scan *scan);
/* Whether the first scan failed on a device that AUTO chose: it keeps nothing of the sequence yet and is given up, and
 * the scan is to be added once more. */
bool pc_odometry_begins_on_cpu(pcgpu_odometry *o, pcgpu_status *status);

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

/* ---- what scans are registered to ---------------------------------------------------------------------------- */

/* Each way of registering a scan to what came before it is one of these. Status of functions that return none: OK. */
typedef struct pc_reference_kind {
    /* Registers `scan`, starting at the pose in the world that is predicted. *T becomes its pose, of use when the
     * result has converged. */
    pcgpu_status (*align)(pcgpu_odometry *o, pc_odometry_scan *scan, const double predicted[16],
                          pcgpu_registration *result, double T[16]);
    /* After a scan was not aligned: takes a nearer reference; false when there is none. NULL: never. */
    bool (*nearer)(pcgpu_odometry *o);
    /* `scan` is where the world begins; all that was is forgotten. */
    pcgpu_status (*begin)(pcgpu_odometry *o, pc_odometry_scan *scan);
    /* Whether `scan`, which has a pose by a registration of this fitness, becomes the reference. NULL: always. */
    bool (*joins)(const pcgpu_odometry *o, const pc_odometry_scan *scan, double fitness);
    /* `scan` has a pose and is the reference, or part of it, from now on. */
    pcgpu_status (*accept)(pcgpu_odometry *o, pc_odometry_scan *scan);
    bool only_cells; /* registers by cells only */
} pc_reference_kind;

/* By pcgpu_reference. */
extern const pc_reference_kind pc_reference_kinds[];

struct pcgpu_odometry {
    pcgpu_context *context;
    pcgpu_odometry_params params;                /* with what the first good scan has settled */
    pcgpu_register_params given;                 /* before that */
    double given_range;
    const pc_reference_kind *kind;
    const pc_backend *backend;                   /* NULL before the first scan */
    pcgpu_run run;                               /* as that of each scan begins */
    void *cpu_cells;                             /* the CPU's cells, which are the context's only during a call */
    pc_odometry_scan scans[PC_SCANS];            /* the one that is added, the last good one, the keyframe */
    pc_odometry_scan *present, *last, *keyframe; /* last NULL: no scan has a pose; keyframe may be the last */
    pc_track track;
    pc_kept_scan kept[PC_KEPT];                  /* by the track's slots */
    double min_score;                            /* of the present registration */
    double select_seconds;                       /* that taking the present scan took */
    pc_cells_held held;
    double home[3];            /* 0 but for coordinates far from their origin, in which motions are ill-conditioned */
    pc_twist begun, begun_now; /* that the first scan was moved by: as it was after the last scan, and is */
    bool begins_again;         /* the last scan failed after the first one had been moved by another */
    double model_anchor[3];    /* world coordinates of the middle of the model's box */
    double model_cells;        /* when it was last renewed */
    pc_buffer rows[2];         /* points by rows, for the methods of ICP */
};

#endif
