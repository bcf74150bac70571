/* Rigid transforms in files. */
#ifndef TRANSFORM_FILE_H
#define TRANSFORM_FILE_H

#include "options.h"

/* Reads a 4x4 matrix (16 numbers), a KITTI line (12), a TUM line (7, or 8 with a time first: x y z qx qy qz qw).
 * Numbers are separated by blanks or commas; "#" begins a comment. The result is row-major and rigid. On failure `why`
 * is a sentence without the file's name. */
bool transform_read(FILE *stream, double T[16], reason *why);

/* The same from a file, called `name` in messages; path NULL: T is unchanged. False after an error message. */
bool transform_read_file(const char *path, const char *name, double T[16]);

/* The same from 16, 12, 8 or 7 numbers. */
bool transform_from_numbers(const double *numbers, int n, double T[16], reason *why);

/* Of a unit quaternion x y z w and a translation. */
void transform_from_rotation(const double q[4], const double t[3], double T[16]);

/* Writes numbers that read back exactly. The time of TUM is 0. */
void transform_write(FILE *stream, const double T[16], transform_format format);
/* The same in one line; T NULL: "nan" for each number. */
void transform_write_line(FILE *stream, const double *T, transform_format format);
/* Writes a line of a trajectory. T NULL, for a missing pose: "nan" for each number, in TUM format "# lost TIME". */
void transform_write_pose(FILE *stream, const double *T, double time, transform_format format);

#endif
