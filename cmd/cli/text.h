/* A stream into memory, by heap_take: open_memstream of glibc sets no error when memory is exhausted. */
#ifndef TEXT_H
#define TEXT_H

#include <stdio.h>

/* An open stream must not move in memory. */
typedef struct text_stream {
    FILE *stream; /* NULL: not open */
    char *data;   /* a string, complete after text_flush or text_close; NULL while nothing was written */
    size_t size, capacity;
} text_stream;

void text_open(text_stream *t);
/* These accept a stream that is not open. */
void text_flush(text_stream *t);
void text_close(text_stream *t);
void text_free(text_stream *t);

#endif
