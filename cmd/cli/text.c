/* A stream into memory. */
#define _GNU_SOURCE /* fopencookie */
#include "text.h"

#include <stdlib.h>
#include <string.h>

static ssize_t append(void *cookie, const char *bytes, size_t n) {
    text_stream *t = cookie;
    if (t->capacity - t->size <= n) {
        const size_t capacity = 2 * (t->size + n + 1);
        char *data = realloc(t->data, capacity);
        if (!data) {
            t->failed = true;
            return 0;
        }
        t->data = data;
        t->capacity = capacity;
    }
    memcpy(t->data + t->size, bytes, n);
    t->size += n;
    t->data[t->size] = '\0';
    return (ssize_t)n;
}

bool text_open(text_stream *t) {
    *t = (text_stream){0};
    t->stream = fopencookie(t, "w", (cookie_io_functions_t){.write = append});
    t->failed = !t->stream;
    return t->stream;
}

bool text_good(text_stream *t) {
    t->failed = t->failed || !t->stream || fflush(t->stream) != 0;
    return !t->failed;
}

bool text_close(text_stream *t) {
    const bool good = text_good(t);
    if (t->stream) {
        fclose(t->stream);
        t->stream = NULL;
    }
    return good;
}

void text_free(text_stream *t) {
    text_close(t);
    free(t->data);
    *t = (text_stream){0};
}
