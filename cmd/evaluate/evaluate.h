/* Trajectories against the truth. */
#ifndef EVALUATE_H
#define EVALUATE_H

#include "job.h"
#include "trajectory.h"

/* Reads the truth of --ground-truth and --calibration. False after an error message. */
bool evaluate_read_truth(const session *session, trajectory *truth);
/* The errors of each pose. Those of a pose that is missing are NaN. */
typedef struct pose_errors {
    pcgpu_evaluation all;
    int64_t count;
    double *path;    /* metres along the true path; ascending */
    double *metres;  /* the distance to the true position after the alignment of `all` */
    double *degrees; /* of the rotation since the first pose that both have */
} pose_errors;

/* Compares `estimate`, from the file `name`, with the truth. Prints the table to `table`, unless NULL, and adds an
 * object to --json. `times`: of the estimates; NULL: `estimate` has times, or --rate determines them. `errors`, unless
 * NULL, receives those of each pose, for pose_errors_free. Returns an exit code. */
int evaluate_print(session *session, const char *name, const trajectory *estimate, const double *times,
                   const trajectory *truth, FILE *table, pose_errors *errors);

/* evaluate_table.c; scale 0: none was looked for. */
void evaluate_print_table(FILE *out, const pcgpu_evaluation *e, double scale);
void evaluate_print_json(const session *s, const char *name, const pcgpu_evaluation *e, double scale);

/* evaluate_align.c: the scale of the estimate, of which T is the rigid alignment; and the mean error in radians of the
 * rotations from pose to pose, `reordered` as if the quaternions of the estimate were w x y z in its file. */
double evaluate_scale(const double *estimate, const double *truth, int64_t count, const double T[16]);
double evaluate_turn_error(const double *estimate, const double *truth, int64_t count, bool reordered);

/* evaluate_plot.c: the errors of `count` poses, of which errors->all is set. */
void pose_errors_fill(pose_errors *errors, const double *estimate, const double *truth, int64_t count);
void pose_errors_free(pose_errors *errors); /* accepts a zeroed struct */
/* Writes the charts of --plot. Returns an exit code and prints errors. */
int evaluate_plot(const session *session, FILE *stream, const pose_errors *errors);

#endif
