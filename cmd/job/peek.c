/* The first bytes of a stream that need not seek. */
#define _GNU_SOURCE /* fopencookie */
#include "peek.h"
#include "files.h"
#include "heap.h"
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The bytes of the head, then those of the stream. */
static ssize_t read_on(void *cookie, char *out, size_t n) {
    peek *p = cookie;
    const size_t left = p->size - p->used;
    if (left == 0) {
        n = fread(out, 1, n, p->original);
        return n == 0 && ferror(p->original) ? -1 : (ssize_t)n;
    }
    n = n < left ? n : left;
    memcpy(out, p->head + p->used, n);
    p->used += n;
    return (ssize_t)n;
}

bool peek_open(peek *p, const char *path) {
    struct stat st;
    FILE *stream = input_open(path);
    *p = (peek){.stream = stream, .original = stream};
    if (!stream) {
        return false;
    }
    if (fstat(fileno(stream), &st) != 0) { /* what the input is must not depend on it */
        report_error(input_name(path), "%s", strerror(errno));
        input_close(stream);
        return false;
    }
    p->head = heap_zeroed(PEEK_HEAD + 1, 1);
    if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) {
        return true;
    }
    const long begin = ftell(stream);
    p->size = fread(p->head, 1, PEEK_HEAD, stream);
    if (begin < 0 || fseek(stream, begin, SEEK_SET) != 0) {
        p->stream = heap_or_end(fopencookie(p, "r", (cookie_io_functions_t){.read = read_on}));
    }
    return true;
}

void peek_close(peek *p) {
    if (p->stream != p->original) {
        fclose(p->stream);
    }
    input_close(p->original);
    free(p->head);
}

bool peek_is_text(const peek *p) {
    return p->size > 0 && !memchr(p->head, '\0', p->size);
}
