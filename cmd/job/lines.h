/* Text files, line by line, with limits: a file that is not text, such as /dev/zero, may have no line ends and no
 * end. */
#ifndef LINES_H
#define LINES_H

#include "reason.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { LINE_LIMIT = 1 << 16, TEXT_LIMIT = 1 << 30 }; /* bytes per line, and per file */

/* Initialize it as {.name, .stream, .why} or by open_lines. */
typedef struct line_file {
    const char *name; /* for messages */
    FILE *stream;
    bool zero_ends; /* lines end with a zero byte */
    char *line;
    size_t length;       /* of the line without its end; the line may contain zero bytes */
    int64_t number, end; /* of the line: its number from 1; its end in bytes from the start of the file */
    bool failed;         /* reading failed; `why` has the error */
    reason *why;
} line_file;

/* Opens a file, or standard input for "-". False, with the error in `why`, when it cannot be read. */
bool open_lines(line_file *f, const char *path, reason *why);
/* False when reading had failed. */
bool close_lines(line_file *f);

/* Reads the next line without its end. False at the end of the file, and when reading fails. */
bool next_line(line_file *f);

/* A list with an entry per line; empty lines and comments (#) are passed over. */
typedef struct list_kind {
    const char *(*add)(void *list, char *line, int64_t number); /* without blanks at its ends; returns what is wrong */
    const char *remedy, *none; /* what to give for a wrong line; what a list without an entry says; NULL: it may be */
} list_kind;

bool read_list(const char *path, const list_kind *kind, void *list, reason *why);

/* Writes "FILE:LINE: WHAT" to `why`; returns false. */
bool line_wrong(const line_file *f, const char *what);

/* ---- lines "TIME NAME", as in the depth.txt of TUM RGB-D, and "TIME NAME TIME NAME", as in its associations ---- */

/* The largest difference in time of what belongs together: an image and its pose, a depth and a colour image. */
#define TIMED_NEAR 0.02

enum { TIMED_NAME = 4096 }; /* names in such lines are shorter */

/* Splits such a line; of two entries, that with "depth" in its name is taken, or that without for a colour image, else
 * the first. False for other lines, and for a name that does not fit. */
bool timed_line(const char *line, bool depth, double *time, char *name, size_t size);

/* The time that is the name of an image, as of TUM RGB-D: 1305031102.160407.png; NaN for other names. */
double time_of_name(const char *path);

#endif
