/* Tables in JSON: a file that is one list of objects, such as those of nuScenes, read object by object in memory that
 * does not depend on its size. */
#ifndef JSON_TABLE_H
#define JSON_TABLE_H

#include "json_reader.h"

enum { JSON_LIST_MOST = 4 };

/* A member that is wanted of each object; the other members are skipped. */
typedef struct json_field {
    const char *key;
    int numbers;          /* 0: a string; 1: a number; more: a list of so many numbers, at most JSON_LIST_MOST */
    bool found;           /* what follows is set by json_table_next */
    char text[JSON_TEXT]; /* UTF-8 */
    double values[JSON_LIST_MOST];
} json_field;

/* Errors go to `why` as "FILE:LINE:COLUMN: what is wrong; what to do". */
bool json_table_open(json_reader *r, const char *path, reason *why);
/* Reads the next object: JSON_OBJECT, JSON_END or JSON_WRONG. A wanted member that it lacks, or that has another type,
 * is an error. */
json_event json_table_next(json_reader *r, json_field *fields, int count);
void json_table_close(json_reader *r);

#endif
