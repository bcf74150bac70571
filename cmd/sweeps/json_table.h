/* Tables in JSON: a file that is one list of objects, such as those of nuScenes, read object by object in memory that
 * does not depend on its size. */
#ifndef JSON_TABLE_H
#define JSON_TABLE_H

#include "reason.h"

#include <stdint.h>
#include <stdio.h>

enum { JSON_TEXT = 512, JSON_LIST = 4, JSON_DEPTH = 64, JSON_BUFFER = 1 << 16 };

/* A member that is wanted of each object; the other members are skipped. */
typedef struct json_member {
    const char *key;
    int numbers;          /* 0: a string; 1: a number; more: a list of so many numbers, at most JSON_LIST */
    bool found;           /* what follows is set by json_table_next */
    char text[JSON_TEXT]; /* UTF-8 */
    double values[JSON_LIST];
} json_member;

typedef struct json_table {
    FILE *stream;
    const char *path;
    reason *why;
    int64_t line, column; /* of the next byte, from 1 */
    bool begun;
    size_t at, size;
    unsigned char buffer[JSON_BUFFER];
} json_table;

typedef enum json_result { JSON_FAILED, JSON_OBJECT, JSON_END } json_result;

/* Errors go to `why` as "FILE:LINE:COLUMN: what is wrong; what to do". */
bool json_table_open(json_table *r, const char *path, reason *why);
/* Reads the next object. A wanted member that it lacks, or that has another type, is an error. */
json_result json_table_next(json_table *r, json_member *members, int count);
void json_table_close(json_table *r);

#endif
