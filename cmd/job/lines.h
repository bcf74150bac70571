/* Text files, line by line, and bounded: what is no text, such as /dev/zero, may have no line and no end. */
#ifndef LINES_H
#define LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { LINE_LIMIT = 1 << 16, TEXT_LIMIT = 1 << 30 }; /* bytes of a line, and of all of them */

/* Begins as {.name, .stream, .why, .why_size} or by open_lines. */
typedef struct line_file {
    const char *name; /* for messages */
    FILE *stream;
    char *line;
    size_t length;       /* of the line without its end; it may have zero bytes */
    int64_t number, end; /* of the line: from 1; bytes up to its end */
    bool failed;         /* it could not be read; `why` says so */
    char *why;
    size_t why_size;
} line_file;

/* Opens a file, or standard input for "-". False, with a sentence in `why`, when it cannot be read. */
bool open_lines(line_file *f, const char *path, char *why, size_t why_size);
/* False when reading had failed. */
bool close_lines(line_file *f);

/* The next line without its end; *whole: it has one. False at the end of the file, and when reading fails. */
bool next_line(line_file *f, bool *whole);

/* Writes "FILE:LINE: WHAT" to `why`; returns false. */
bool line_wrong(const line_file *f, const char *what);

#endif
