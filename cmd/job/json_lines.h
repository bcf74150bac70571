/* The lines of a --json file of an earlier run: those of inputs that are skipped now, and those of other shards, are
 * kept. */
#ifndef JSON_LINES_H
#define JSON_LINES_H

#include "reason.h"

#include <stddef.h>

typedef struct json_line {
    char *text;         /* with its end */
    const char *inputs; /* the value of "inputs", in `text` */
    size_t length;
    int order; /* of equal inputs the last line counts */
} json_line;

typedef struct json_lines {
    json_line *items; /* by inputs */
    int count;
    bool others; /* a file had other lines, too */
} json_lines;

/* Adds the lines of a command; none of a file that is not there. False without memory. */
bool json_lines_read(const char *path, const char *command, json_lines *lines);
/* The line of these inputs, written as in JSON, or NULL. */
const char *json_lines_find(const json_lines *lines, const char *inputs, size_t length);
void json_lines_free(json_lines *lines);

#endif
