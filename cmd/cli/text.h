/* A stream into memory. Unlike that of open_memstream it is known when memory has run out: there, glibc sets no error.
 */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stdio.h>

/* It stays where it is while it is open. */
typedef struct text_stream {
    FILE *stream; /* NULL: not open */
    char *data;   /* what text_good or text_close found: a string, NULL while nothing was written */
    size_t size, capacity;
    bool failed;
} text_stream;

/* False when memory has run out; all below accept such a text. */
bool text_open(text_stream *t);
/* Whether all that was written is there. */
bool text_good(text_stream *t);
/* The same at the end. */
bool text_close(text_stream *t);
void text_free(text_stream *t);

#endif
