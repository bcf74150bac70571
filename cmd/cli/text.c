/* A stream into memory. */
#define _GNU_SOURCE /* fopencookie */
#include "text.h"
#include "heap.h"

#include <stdlib.h>
#include <string.h>

static ssize_t append(void *cookie, const char *bytes, size_t n) {
    text_stream *t = cookie;
    if (t->capacity - t->size <= n) {
        t->capacity = 2 * (t->size + n + 1);
        t->data = heap_take(t->data, t->capacity);
    }
    memcpy(t->data + t->size, bytes, n);
    t->size += n;
    t->data[t->size] = '\0';
    return (ssize_t)n;
}

void text_open(text_stream *t) {
    *t = (text_stream){0};
    t->stream = heap_or_end(fopencookie(t, "w", (cookie_io_functions_t){.write = append}));
}

void text_flush(text_stream *t) {
    if (t->stream) {
        fflush(t->stream);
    }
}

void text_close(text_stream *t) {
    if (t->stream) {
        fclose(t->stream);
        t->stream = NULL;
    }
}

void text_free(text_stream *t) {
    text_close(t);
    free(t->data);
    *t = (text_stream){0};
}
