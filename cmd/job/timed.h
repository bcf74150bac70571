/* Lines "TIME NAME" of lists, as the depth.txt of TUM RGB-D, and "TIME NAME TIME NAME", as its associations. */
#ifndef TIMED_H
#define TIMED_H

#include <stdbool.h>
#include <stddef.h>

/* Splits such a line; of two entries, the one with "depth" in its name is taken, else the first. False for other lines, and for
 * a name that does not fit. */
bool timed_line(const char *line, double *time, char *name, size_t size);

#endif
