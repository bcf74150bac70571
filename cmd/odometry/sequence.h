/* What the files of sequences share: sequence.c (from scan to scan) and sequence_output.c (the trajectory as it grows). */
#ifndef SEQUENCE_H
#define SEQUENCE_H

#include "job.h"
#include "trajectory.h"

int sequence_run(session *session); /* the command */

/* ---- sequence_depth.c ---- */

/* Whether all inputs of a sequence are depth images that are registered as such; and whether to a volume. */
bool sequence_is_depth(const session *session);
bool sequence_has_model(const session *session);
/* Their odometry. init: the pose of the first. */
pcgpu_status sequence_open_depth(session *session, const double init[16], pcgpu_depth_odometry **odometry);
/* Opens the outputs of the model where some are wanted; writes them. Exit codes; `code` is that of the images. */
int sequence_begin_model(session *session, job *j, bool *wanted);
int sequence_end_model(session *session, job *j, pcgpu_depth_odometry *odometry, int code);

/* ---- sequence_output.c ---- */

/* A trajectory that is written line by line. A file is NAME.partial until it is complete, and stays there when the run
 * ends early, so that another one can go on. It is locked while a run writes it, and has lines of its own
 * (TRAJECTORY_STATE), by which it is known and which the trajectory does not get. */
typedef struct sequence_output {
    const char *path;
    char *partial; /* NULL: written directly, to standard output, a device or a pipe */
    FILE *stream;
    bool replaces;
    transform_format format;
    text_stream kept; /* the sentence for a run that a signal ends */
} sequence_output;

/* Opens it; with --resume *before receives the poses that are there, up to the last good one, and what follows is
 * written after them. False after saying why. */
bool sequence_output_open(const session *session, sequence_output *output, trajectory *before);
/* T NULL: no pose. The line is in the file, whatever happens next; false after saying why it is not. */
bool sequence_output_add(sequence_output *output, const double *T, double time, double reference_time);
/* Writes the trajectory and removes the partial file, or, when the run has not come to its end, keeps what is there and
 * says so; one without a pose is removed. False after saying why. */
bool sequence_output_close(sequence_output *output, bool complete, bool some);

#endif
