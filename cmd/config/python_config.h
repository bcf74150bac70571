/* Configurations written in Python: the literals that a file assigns to names. No code is run: what is not a literal is
 * a node of its own, which is an error only where its value is needed. Literals are numbers, strings, True, False,
 * None, lists, tuples, dict(NAME=...) and {'NAME': ...}, and names that were assigned before. */
#ifndef PYTHON_CONFIG_H
#define PYTHON_CONFIG_H

#include "reason.h"

enum { PYTHON_SIZE = 256 << 10, PYTHON_NODES = 1 << 16, PYTHON_NAMES = 1000 }; /* limits of a file */

typedef enum python_kind {
    PYTHON_CODE, /* no literal */
    PYTHON_NONE,
    PYTHON_BOOLEAN, /* text: "True" or "False" */
    PYTHON_NUMBER,  /* text as C reads it, with its sign */
    PYTHON_STRING,
    PYTHON_LIST, /* or a tuple */
    PYTHON_DICT
} python_kind;

typedef struct python_node {
    python_kind kind;
    int line, column; /* from 1 */
    const char *text;
    struct python_item *items; /* of a list or dict, in order */
} python_node;

typedef struct python_item {
    const char *key; /* of a dict */
    const python_node *value;
    struct python_item *next;
} python_item;

typedef struct python_file python_file;

/* Reads a file; NULL with "FILE:LINE:COLUMN: what is wrong; what to do" in `why`. */
python_file *python_open(const char *path, reason *why);
void python_close(python_file *file); /* accepts NULL */
const char *python_path(const python_file *file);

/* The last value of a name, or NULL. */
const python_node *python_value(const python_file *file, const char *name);
/* The value of a key; of a repeated key the last one; NULL: none, or no dict. */
const python_node *python_key(const python_node *dict, const char *key);

/* Writes "FILE:LINE:COLUMN: TEXT" to `why`. Returns false. */
bool python_wrong(const python_file *file, const python_node *node, reason *why, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
