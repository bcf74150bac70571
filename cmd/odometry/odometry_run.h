/* What the files of pcgpu odometry share: odometry_run.c (scan by scan), odometry_images.c (depth images and their
 * model) and odometry_trajectory.c (the file of the trajectory). */
#ifndef ODOMETRY_RUN_H
#define ODOMETRY_RUN_H

#include "job.h"
#include "trajectory.h"

int odometry_run(session *session); /* the command */

/* ---- odometry_images.c ---- */

/* Whether all inputs are depth images, registered by projective association; and whether the reference is a volume. */
bool odometry_is_depth(const session *session);
bool odometry_has_model(const session *session);
/* Opens the odometry of depth images. init: the pose of the first image. */
pcgpu_status odometry_open_images(session *session, const double init[16], pcgpu_depth_odometry **odometry);
/* Opens the outputs of the model; *wanted: there are some. Returns an exit code. */
int odometry_begin_model(session *session, job *j, bool *wanted);
/* Writes the outputs of the model. `code` is the exit code of the images. Returns an exit code. */
int odometry_end_model(session *session, job *j, pcgpu_depth_odometry *odometry, int code);

/* ---- odometry_trajectory.c ---- */

/* A trajectory that is written line by line. A file has the name NAME.partial until it is complete. An interrupted run
 * leaves this partial file, so that another run can resume. A run locks its partial file. The partial file has lines
 * that the trajectory does not have (TRAJECTORY_STATE); they identify it and hold the state of the odometry. */
typedef struct trajectory_output {
    const char *path;
    const char *name; /* of the output, for messages */
    char *partial;    /* NULL: written directly, to standard output, a device or a pipe */
    FILE *stream;
    bool replaces;
    transform_format format;
    text_stream kept; /* the sentence for a run that a signal ends */
} trajectory_output;

/* Opens the trajectory. With --resume *before receives its poses, up to the last good one, and new poses are appended.
 * Returns false after an error message. */
bool trajectory_output_open(const session *session, trajectory_output *output, trajectory *before);
/* Appends a line and flushes it. T NULL: no pose. Returns false after an error message. */
bool trajectory_output_add(trajectory_output *output, const double *T, double time, double reference_time);
/* Writes the trajectory and removes the partial file. When the run is not complete, it keeps a partial file with poses,
 * and a message says so. Returns false after an error message. */
bool trajectory_output_close(trajectory_output *output, bool complete, bool some);

#endif
