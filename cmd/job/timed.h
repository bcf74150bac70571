/* Lines "TIME NAME" of lists, as the depth.txt of TUM RGB-D, and "TIME NAME TIME NAME", as its associations. */
#ifndef TIMED_H
#define TIMED_H

#include <stdbool.h>
#include <stddef.h>

/* The largest difference in time of what belongs together: an image and its pose, a depth and a colour image. */
#define TIMED_NEAR 0.02

enum { TIMED_NAME = 4096 }; /* names in such lines are shorter */

/* Splits such a line; of two entries, that with "depth" in its name is taken, or that without for a colour image, else
 * the first. False for other lines, and for a name that does not fit. */
bool timed_line(const char *line, bool depth, double *time, char *name, size_t size);

/* The time that is the name of an image, as of TUM RGB-D: 1305031102.160407.png; NaN for other names. */
double time_of_name(const char *path);

#endif
