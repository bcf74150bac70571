/* What the files of pcgpu odometry share: odometry_run.c (scan by scan), odometry_images.c (depth images and their
 * model) and odometry_map.c (the map of scans). */
#ifndef ODOMETRY_RUN_H
#define ODOMETRY_RUN_H

#include "evaluate.h"
#include "job.h"
#include "positions.h"
#include "trajectory.h"

/* The values of its own options. */
typedef struct odometry_values {
    pcgpu_odometry_params params; /* its `registration` is the one of the options */
    const char *map, *into, *changes, *temporary_folder, *guess, *prior;
    double prior_sigma, prior_antenna[3]; /* metres */
    const char *sequence;                 /* the folder of a sequence whose scans are the inputs; no option */
    transform_format trajectory_format;
    bool loops, keep_moving;
    double map_voxel;       /* or PCGPU_AUTO */
    double beam_correction; /* degrees, or PCGPU_AUTO until the first scans have been read */
    bool found_beams;       /* from the scans; no option */
} odometry_values;
OWN_VALUES(odometry)

/* The file of --map or --into, or NULL. */
static inline const char *odometry_map_of(const odometry_values *own) {
    return own->into ? own->into : own->map;
}

int odometry_run(session *session); /* the command */

/* ---- odometry_images.c ---- */

/* Whether all inputs are depth images, registered by projective association; and whether the reference is a volume. */
bool odometry_is_depth(const session *session);
bool odometry_has_model(const session *session);
/* Whether the model is an output. */
bool odometry_writes_model(const session *session);
/* Opens the odometry of depth images. init: the pose of the first image. */
pcgpu_status odometry_open_images(session *session, const double init[16], pcgpu_depth_odometry **odometry);
/* Writes the outputs of the job of the whole run: the model, or the map of scans. corrected: the poses when loops have
 * moved them, or NULL. `code` is the exit code of the scans. Returns an exit code. */
struct odometry_map;
int odometry_end_model(session *session, job *j, pcgpu_depth_odometry *odometry, struct odometry_map *map,
                       const double *corrected, int code);

/* ---- odometry_beams.c ---- */

/* The beam correction of scans, of the options and of `params`, when it is automatic. */
void odometry_find_beams(session *session, const double *times, pcgpu_odometry_params *params);

/* ---- odometry_loops.c ---- */

/* Opens the search for loops with the parameters of the odometry, or without --loops what corrects by positions. */
pcgpu_status odometry_open_loops(session *session, const pcgpu_register_params *registration, pcgpu_loops **loops);
/* Adds the last scan of the odometry, or without one the image, which has this pose. */
pcgpu_status odometry_add_loops(pcgpu_loops *loops, pcgpu_odometry *odometry, const pcgpu_depth *image, int index,
                                const double T[16]);
/* ---- odometry_prior.c ---- */

/* The positions of --prior. */
typedef struct odometry_prior {
    positions all;
    double origin[3]; /* the first one that is used, where they were geodetic */
    double interval;  /* seconds: the median from one to the next */
} odometry_prior;

/* Reads them; times, clock: of odometry_read_guess. Returns an exit code, after a message. */
int odometry_read_prior(const session *session, const double *times, bool clock, odometry_prior *prior);
/* Moves the poses of solved loops, `result`, into the frame of the positions, and reports this. poses: of the inputs,
 * before. Returns an exit code. */
int odometry_anchor(session *session, pcgpu_loops *loops, const odometry_prior *prior, const double *times,
                    const double *poses, const pcgpu_loops_result *result);
/* odometry_loops.c: solves the pose graph, reports the loops, and corrects the poses of the inputs, also by positions
 * when there are some; *moved: some pose has changed. Returns an exit code. */
int odometry_end_loops(session *session, pcgpu_loops *loops, const odometry_prior *prior, const double *times,
                       const char *name, double *poses, bool *moved);

/* ---- odometry_sequence.c ---- */

/* A single folder with a folder velodyne is a sequence of KITTI: its scans become the inputs, and its times.txt, poses
 * and calib.txt the options that are not given. */
void odometry_find_sequence(session *session);
/* The time of each input by --rate. In such a folder, where scans may be missing, its place is the number of its
 * name. */
void odometry_times_of_rate(const session *session, double *times);
/* Keeps the rows of a file (`each` values per row) that belong to the inputs: all, when there are as many; else those
 * of the numbers that are the names of the inputs, counted from 0. False when there are no such rows. */
bool odometry_pick_rows(const session *session, double *values, int each, int64_t *rows);

/* ---- odometry_prediction.c ---- */

/* Reads the motion of --guess and gives it to the odometry of scans, or to that of depth images. times: of the inputs;
 * clock: they are of --timestamps or a recording. Returns an exit code, after a message. */
int odometry_read_guess(const session *session, const double *times, bool clock, pcgpu_odometry *odometry,
                        pcgpu_depth_odometry *camera);

/* ---- odometry_map.c ---- */

/* Reads the map of --map or --into and opens the odometry in it. params: with the pose of the first scan; map: of the
 * scans, or NULL; with --into it extends that one. Returns an exit code, after a message. */
int odometry_open_map(session *session, const pcgpu_odometry_params *params, struct odometry_map *map,
                      pcgpu_odometry **odometry);

#endif
