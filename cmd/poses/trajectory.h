/* Trajectories in files. The format is known by the content. */
#ifndef TRAJECTORY_H
#define TRAJECTORY_H

#include "lines.h"
#include "options.h"

typedef struct trajectory {
    int64_t count;
    const char *format; /* in words: "KITTI", "TUM", ... */
    int numbers;   /* of each line: 7, 8, 12, 13, 16 or 17; 3 or 4 where a pose has several lines; 0 without lines */
    double *poses; /* count x 16, row-major; NaN for a missing pose */
    double
        *times; /* count, as in the file (trajectory_unit), NaN for a missing time; NULL when the lines have no times */
    int64_t *lines; /* count: the last line of each pose, from 1; its number where it is no file of lines */
} trajectory;

/* Reads a trajectory, in one format:
 *   - a pose per line: 16 numbers (row by row), 12 (KITTI), 13 (the same after a time), 8 (TUM, time first) or 7
 *     (the same without a time), or 17 (EuRoC: time, translation, quaternion w x y z, velocity, biases); a comment
 *     before them with names such as qw qx says that quaternions have w first;
 *   - four lines of four numbers per pose, which in a .log of Open3D follow a line of three whole numbers;
 *   - JSON, a PinholeCameraTrajectory of Open3D; its matrices map the world into the camera and are inverted;
 *   - a folder with a file NAME.pose.txt per pose, by name, as of 7-Scenes: each a 4x4 matrix.
 * A missing pose has "nan" (in .pose.txt also "inf" or "-1.#IND") for its numbers, or is "# lost TIME". Other lines
 * that begin with "#" and empty lines are skipped. On failure `why` begins with the name of the file, and the
 * trajectory is empty. */
bool trajectory_read(const char *path, trajectory *t, reason *why);
/* The same from an open file. */
bool trajectory_read_stream(FILE *stream, const char *name, trajectory *t, reason *why);
void trajectory_free(trajectory *t); /* accepts a zeroed struct */

/* Whether a text that begins with these bytes is a trajectory: its first pose is rigid. `format`: the cloud that the
 * file would be, NULL: none. Rows of numbers are also .xyz, and .bin has no signature; of any other format, the first
 * line names the columns of a pose, as in the .csv of EuRoC. */
bool trajectory_is(const char *head, size_t size, const pcgpu_format_info *format);

/* Seconds per unit of times since 1970: 1, or 1e-3, 1e-6, 1e-9 where they are too large for seconds (and so on). */
double trajectory_unit(const double *times, int64_t count);

/* ---- for the readers of single formats ---- */

/* Appends a pose. */
void trajectory_append(trajectory *t, const double T[16], double time, int64_t line);
/* trajectory_json.c: the rest of a file, after its first line was read. */
bool trajectory_from_json(line_file *f, trajectory *t);
/* trajectory_read of a file. */
bool trajectory_read_file(const char *path, trajectory *t, reason *why);

/* ---- times and calibrations: calibration.c ---- */

/* Reads a number per line, in increasing order; a name may follow, as in the depth.txt of TUM RGB-D. */
bool timestamps_read(const char *path, double **times, int64_t *count, reason *why);

/* Reads a trajectory and, unless `timestamps` is NULL, a time for each pose: *times, else NULL. Returns an exit
 * code. */
int trajectory_read_timed(const char *path, const char *timestamps, trajectory *t, double **times);

/* Reads T_truth_sensor from a KITTI calib.txt (its line "Tr:" or "Tr_velo_to_cam:") or from a file with a transform. */
bool calibration_read(const char *path, double T[16], reason *why);

enum { MOST_NUMBERS = 18 };
/* Splits a line into at most MOST_NUMBERS numbers; what stands for a missing number is NaN. Returns how many, or -1 for
 * another word. */
int split_numbers(char *line, double numbers[MOST_NUMBERS]);

#endif
