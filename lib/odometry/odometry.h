/* Shared by odometry of scans and of depth images: the sensor's motion, and the state machine of a sequence, which is
 * in odometry_track.c; odometry_lidar.c and odometry_depth.c have the operations of each kind. */
#ifndef PC_ODOMETRY_H
#define PC_ODOMETRY_H

#include "pcgpu_odometry.h"
#include "register.h"

/* ---- motions ----------------------------------------------------------------------------------------------------- */

/* A motion of constant velocity in the moving frame: rotation (Cayley's, 2 tan(angle / 2) about its axis) and
 * translation per unit of time. */
typedef struct pc_twist {
    double rotation[3], translation[3];
} pc_twist;

pc_twist pc_twist_of(const double T[16]);
/* The transform after `time` units. */
void pc_twist_after(const pc_twist *twist, double time, double T[16]);

/* Extrapolates the motion from `before` to `last` to `time`. False, with T = last, when `time` is too many such steps
 * ahead. */
bool pc_predict(const double before[16], double time_before, const double last[16], double time_last, double time,
                double T[16]);
/* Whether the motion from `from` to `to` exceeds so many metres or radians. */
bool pc_moved_beyond(const double from[16], const double to[16], double metres, double radians);

/* A motion from elsewhere: poses of the sensor in any world, by time. */
typedef struct pc_motion {
    int64_t count;
    double *times, *poses; /* count, count x 16 */
} pc_motion;

/* Replaces the motion by a copy. Errors: ARGUMENT (times that do not rise, a pose that is not rigid), MEMORY. */
pcgpu_status pc_motion_set(pcgpu_context *context, pc_motion *m, const double *times, const double *poses,
                           int64_t count);
void pc_motion_free(pc_motion *m);
/* step = the pose at `to` in the frame of that at `from`; false where a time is before the first pose or behind the
 * last. */
bool pc_motion_between(const pc_motion *m, double from, double to, double step[16]);

/* ---- the track --------------------------------------------------------------------------------------------------- */

/* Kept frames, no two of them near each other, to which lost frames are registered. */
enum { PC_KEPT = 16 };

typedef struct pc_track_ops pc_track_ops;

/* The states of a sequence, whatever its frames are: a frame is found, recovered (the ones before it were lost) or
 * lost. Poses are those of the owner's world, whose origin may be near the frames. */
typedef struct pc_track {
    pcgpu_context *context;
    const pc_track_ops *ops;
    void *owner;
    double init[16];                          /* pose of the first frame, in the world of the caller */
    double keyframe_distance, keyframe_angle; /* how far apart kept frames are */
    double last[16], time_last;               /* of the last frame with a pose, when good > 0 */
    double before[16], time_before;           /* of the one before, when good > 1 */
    double newest;                            /* time of the last frame */
    double elapsed, periods;            /* seconds between frames with a pose, and periods of the sensor in them */
    int64_t good;                       /* frames with a pose */
    int lost;                           /* frames without one since the last that has */
    int followed;                       /* frames up to the last one whose poses follow the prediction */
    double score;                       /* of the frames so far, the newer the more; 0: of none */
    double doubtful[16], time_doubtful; /* a pose since the last that the motion did not support, when is_doubtful */
    bool is_doubtful;
    double poses[PC_KEPT][16]; /* of the kept frames, by slot */
    int kept, oldest;          /* how many, and the slot of the first of them */
    double near;               /* metres that a prediction may be off besides a tenth of the step; 0: any */
    pc_motion motion;          /* from elsewhere; the owner frees it */
    double clear_score;        /* from which on a result counts wherever it is */
} pc_track;

/* A registration to try: of the present frame, from `start` in the world. */
typedef struct pc_attempt {
    double start[16];
    int kept;     /* slot of the kept frame to register to; -1: the reference */
    double score; /* times the least score */
    int rounds;   /* the most of a level, where that is less than the parameters allow; 0: those */
    bool near; /* at the finest level alone, and the prediction counts: the result is valid when it is near `start` */
} pc_attempt;

/* Operations of scans and of depth images. The owner has the present frame from `take` on. */
struct pc_track_ops {
    const char *frame, *points; /* names of a frame and of its points in messages */
    int tries;                  /* how many kept frames a frame is registered to that its motion does not find */
    pcgpu_status (*take)(void *owner, const void *data, double time, pcgpu_run *run);
    int64_t (*count)(void *owner, pcgpu_run *run); /* of the first frame */
    /* *T becomes the pose of the present frame in the world, valid when f->registration has converged. */
    pcgpu_status (*align)(void *owner, const pc_attempt *attempt, pcgpu_odometry_frame *f, double T[16]);
    bool (*nearer)(void *owner); /* takes a nearer reference for the present frame; false when there is none */
    /* From a pose in the owner's world to that in the caller's. */
    void (*to_caller)(const void *owner, const double T[16], double T_world_frame[16]);
    void (*from_caller)(const void *owner, const double T_world_frame[16], double T[16]);
    /* Whether the present frame, with this pose in the caller's world, joins the reference. */
    bool (*joins)(const void *owner, const double T_world_frame[16], double fitness);
    /* The present frame has this pose and becomes the last one. *T becomes its pose in the owner's world. */
    pcgpu_status (*accept)(void *owner, const double T_world_frame[16], bool joins, double T[16]);
    void (*keep)(void *owner, int slot); /* keeps the last frame in the slot */
    bool known;    /* the world is known before the first frame, which is found in it like the others */
    bool anywhere; /* the first frame may be anywhere in it */
    /* Registers the present frame anywhere in a known world; *T as of `align`. */
    pcgpu_status (*search)(void *owner, pcgpu_odometry_frame *f, double T[16]);
    void (*end)(void *owner, pcgpu_status status);
};

/* Checks the parameters of keyframes. */
pcgpu_status pc_keyframe_check(pcgpu_context *context, double distance, double angle, double fitness);

/* Adds a frame to the sequence: see pcgpu_odometry_add. */
pcgpu_status pc_track_add(pc_track *t, const void *data, double time, pcgpu_odometry_frame *f);

/* The pose at `time`; false when no motion is known, and it is the last one. */
bool pc_track_predict(const pc_track *t, double time, double T[16]);

/* ---- what the motion supports (odometry_support.c) --------------------------------------------------------------- */

/* The periods of the sensor in so many seconds, a whole number: times jitter, and frames may be missing. */
double pc_track_periods(const pc_track *t, double since);
/* Counts the time since the last frame with a pose. */
void pc_track_count_periods(pc_track *t, double since);

/* Where the present frame may be, the likeliest first. */
enum { PC_GUESSES = 3 };
typedef struct pc_guesses {
    int count; /* 0: no motion is known */
    struct pc_guess {
        double T[16];
        double periods;         /* since the frame with a pose that it follows from */
        double metres, radians; /* and the motion */
    } guess[PC_GUESSES];
} pc_guesses;

void pc_track_guess(const pc_track *t, double time, pc_guesses *guesses);
/* Whether a result is near one of these. */
bool pc_is_near_guess(const pc_track *t, const pc_guesses *guesses, const double T[16], const pcgpu_registration *r);
/* Whether a result may fit elsewhere just as well: the scene hardly constrains a direction, along which the result is
 * far from each guess, and the surfaces do not agree well enough for an exception. */
bool pc_is_ambiguous(const pc_track *t, const pc_guesses *guesses, const double T[16], const pcgpu_registration *r);
/* The direction in the world that a registration with the result T_world_frame says least about. */
void pc_weakest_direction(const pcgpu_registration *r, const double T_world_frame[16], double direction[3]);
/* Replaces what a result says along directions that the scene leaves open by the guess, and lists these in the frame;
 * none where it leaves none open, or where the rest of the result is far from the guess. */
void pc_follow_guess(const pc_track *t, const struct pc_guess *guess, pcgpu_odometry_frame *f, double T[16]);
/* Adds to the covariance what a direction that the scene hardly constrains may be off. */
void pc_widen_covariance(const pc_track *t, pcgpu_registration *r);

#endif
