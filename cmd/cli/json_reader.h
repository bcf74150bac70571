/* A pull reader of JSON (RFC 8259), of a text or of a file in memory that does not depend on its size. It also takes
 * NaN, Infinity, and a comma before a closing bracket. */
#ifndef JSON_READER_H
#define JSON_READER_H

#include "reason.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_TEXT = 512, JSON_DEPTH = 64, JSON_NUMBERS = 16 };

typedef enum json_event {
    JSON_WRONG, /* `why` has the place, what is wrong and what to do */
    JSON_END,
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_LIST,
    JSON_LIST_END,
    JSON_KEY, /* of a member; its value is the next event */
    JSON_STRING,
    JSON_NUMBER,
    JSON_WORD /* true, false, null, NaN or Infinity */
} json_event;

typedef struct json_reader {
    const char *bytes;  /* a text, or what was read of the stream before */
    size_t size, at;    /* of it; the offset behind `next` */
    FILE *stream;       /* NULL: none */
    const char *name;   /* of the file, for errors; NULL: they have the line alone */
    const char *remedy; /* which ends them */
    reason *why;
    int next;                         /* the next byte, or EOF */
    int64_t line, column;             /* of it, from 1 */
    int64_t event_line, event_column; /* where the event begins */
    char closing[JSON_DEPTH];         /* the brackets that are open */
    int depth;
    enum { JSON_AT_FIRST, JSON_AT_VALUE, JSON_AFTER_VALUE } state;
    char text[JSON_TEXT]; /* of a key or a string: UTF-8, cut to fit */
    size_t length;        /* of it in bytes, uncut */
    double number;
} json_reader;

/* Set bytes and size or the stream, name, remedy and why before. */
void json_begin(json_reader *r);
json_event json_next(json_reader *r);
/* Reads an event of this kind; another one is an error: "WHAT is expected here". */
bool json_expect(json_reader *r, json_event event, const char *what);
/* Passes over a value, such as that of the key that was read. */
bool json_skip(json_reader *r);
/* An error where the last event begins; nothing is read after it. Returns false. */
bool json_wrong(json_reader *r, const char *what);

/* A member whose value is a number, or a list of numbers, nested or not. */
typedef struct json_member {
    char key[JSON_TEXT];
    int count; /* of the numbers; those after JSON_NUMBERS are counted and not kept */
    double numbers[JSON_NUMBERS];
} json_member;

/* Reads up to the next such member, at any depth: JSON_KEY, JSON_END or JSON_WRONG. */
json_event json_next_member(json_reader *r, json_member *m);

#endif
