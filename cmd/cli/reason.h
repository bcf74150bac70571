/* The sentence that explains why something was refused. */
#ifndef REASON_H
#define REASON_H

#include <stdbool.h>

typedef struct reason {
    char text[1024];
} reason;

/* Sets the sentence. Returns false, so that a check ends with `return refuse(why, ...)`. The arguments may point into
 * `why`. */
bool refuse(reason *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends to the sentence. Returns false, too. */
bool refuse_more(reason *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
