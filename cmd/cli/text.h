/* A stream into memory. Unlike open_memstream of glibc, which sets no error, it reports when memory is exhausted. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stdio.h>

/* An open stream must not move in memory. */
typedef struct text_stream {
    FILE *stream; /* NULL: not open */
    char *data;   /* a string after text_good or text_close; NULL while nothing was written */
    size_t size, capacity;
    bool failed;
} text_stream;

/* False when memory is exhausted; the functions below accept such a stream. */
bool text_open(text_stream *t);
/* Flushes the stream; whether `data` is complete. */
bool text_good(text_stream *t);
/* The same, and closes the stream. */
bool text_close(text_stream *t);
void text_free(text_stream *t);

#endif
