/* Trajectories in files: one pose per line. */
#ifndef TRAJECTORY_H
#define TRAJECTORY_H

#include "options.h"

typedef struct trajectory {
    int64_t count;
    int numbers;   /* of each line: 8, 12 or 16; 0 without lines */
    double *poses; /* count x 16, row-major; NaN for a missing pose */
    double *times; /* count, seconds, NaN for a missing time; NULL when the lines have no times */
    int64_t *ends; /* count: bytes from the start of the file to the end of each line */
    double reference_time; /* of the state of the last pose, else NaN */
} trajectory;

/* The prefix of the lines of a partial file that the trajectory does not have: the first line, and one before each pose
 * with its state: the time of the scan, the reference_time (pcgpu_odometry_frame), and the upper three rows of the pose
 * with all digits. */
#define TRAJECTORY_STATE "#pcgpu "

/* Reads the lines of a trajectory: 16 numbers (row by row), 12 (KITTI) or 8 (TUM, time first), in one format. A line of
 * a missing pose has "nan" for each number, or is "# lost TIME". Other lines that begin with "#" and empty lines are
 * skipped. `unfinished`: a last line without its end, which an interrupted run may leave, is dropped. On failure `why`
 * begins with the name of the file, and the trajectory is empty. */
bool trajectory_read(const char *path, bool unfinished, trajectory *t, reason *why);
/* Reads a partial file with its states. */
bool trajectory_read_unfinished(FILE *stream, const char *name, trajectory *t, reason *why);
void trajectory_free(trajectory *t); /* accepts a zeroed struct */

/* Reads one number per line, in increasing order. */
bool timestamps_read(const char *path, double **times, int64_t *count, reason *why);

/* Reads T_truth_sensor from a KITTI calib.txt (its line "Tr:" or "Tr_velo_to_cam:") or from a file with a transform. */
bool calibration_read(const char *path, double T[16], reason *why);

#endif
