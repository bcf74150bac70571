/* Trajectories in files: one pose a line. */
#ifndef TRAJECTORY_H
#define TRAJECTORY_H

#include "options.h"

typedef struct trajectory {
    int64_t count;
    int numbers;   /* of each line: 8, 12 or 16; 0 without lines */
    double *poses; /* count x 16, row-major; NaN where there is none */
    double *times; /* count, seconds, NaN where there is none; NULL when the lines have none */
    int64_t *ends; /* count: bytes from the beginning of the file to the end of each line */
    double reference_time; /* as the last pose's state has it, else NaN */
} trajectory;

/* Lines of a trajectory that is not finished begin with this where they are not for its readers: the first line, and
 * one before each pose with what a line of the trajectory does not have: the time of the scan, that of the reference
 * then (pcgpu_odometry_frame), and the upper three rows of the pose, exactly. */
#define TRAJECTORY_STATE "#pcgpu "

/* Reads the lines of a trajectory: 16 numbers (row by row), 12 (KITTI) or 8 (TUM, time first), all lines alike; "nan"
 * for each number, or "# lost TIME", where there is no pose. Other lines that begin with "#" and empty ones are
 * skipped. A last line without its end, as an interrupted run may leave it, is dropped when `unfinished`. On failure
 * `why` is a sentence that begins with the name of the file, and the trajectory is empty. */
bool trajectory_read(const char *path, bool unfinished, trajectory *t, char *why, size_t why_size);
/* One that is not finished, with its states. */
bool trajectory_read_unfinished(FILE *stream, const char *name, trajectory *t, char *why, size_t why_size);
void trajectory_free(trajectory *t); /* accepts a zeroed struct */

/* One number a line, rising. */
bool timestamps_read(const char *path, double **times, int64_t *count, char *why, size_t why_size);

/* T_truth_sensor from a KITTI calib.txt (its line "Tr:" or "Tr_velo_to_cam:") or a transform alone. */
bool calibration_read(const char *path, double T[16], char *why, size_t why_size);

#endif
