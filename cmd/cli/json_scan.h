/* The numbers of a JSON text: each member whose value is a number or an array of numbers, in the order of the text. */
#ifndef JSON_SCAN_H
#define JSON_SCAN_H

#include "reason.h"

#include <stddef.h>

enum { JSON_NUMBERS = 16, JSON_KEY = 32 };

typedef struct json_member {
    char key[JSON_KEY]; /* cut to fit; control characters as in the text */
    int count;          /* of the numbers; those after JSON_NUMBERS are counted and not kept */
    double numbers[JSON_NUMBERS];
} json_member;

typedef struct json_scan {
    const char *begin, *p, *end;
    int depth;
} json_scan;

typedef enum json_event { JSON_MEMBER, JSON_END, JSON_WRONG } json_event;

/* A text of `size` bytes, with a NUL after them. */
json_scan json_scan_begin(const char *text, size_t size);
/* The next member. Strings, objects and arrays of other values are passed over. JSON_WRONG: `why` has the line. */
json_event json_scan_next(json_scan *scan, json_member *member, reason *why);

#endif
