/* Opening inputs. Opening a FIFO without a writer would block the run forever, without a message. */
#define _GNU_SOURCE /* fopencookie */
#include "files.h"
#include "heap.h"
#include "recordings.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRITER_SECONDS = 10, LOOKS_PER_SECOND = 20 };

/* Waits for a writer; whether there is one. *first: a byte that was read to find out, or EOF. */
static bool wait_for_writer(int fd, int *first) {
    for (int look = 0; look < WRITER_SECONDS * LOOKS_PER_SECOND; look++) {
        struct pollfd pipe = {.fd = fd, .events = POLLIN};
        unsigned char byte;
        if (poll(&pipe, 1, 1000 / LOOKS_PER_SECOND) > 0) {
            return true; /* the writer has written, or has closed the pipe */
        }
        ssize_t n = read(fd, &byte, 1);
        if (n == 1) {
            *first = byte;
        }
        if (n == 1 || (n < 0 && errno == EAGAIN)) {
            return true; /* the writer has the pipe open */
        }
    }
    return false;
}

static FILE *open_pipe(const char *path, reason *why) {
    int first = EOF, fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *stream = NULL;
    if (fd >= 0 && !wait_for_writer(fd, &first)) {
        refuse(why, "is a pipe (FIFO) that no process has opened for writing in %d s; start the writer first",
               WRITER_SECONDS);
    } else if (fd < 0 || fcntl(fd, F_SETFL, 0) < 0 || !(stream = fdopen(fd, "rb"))) {
        refuse(why, "%s; give a file that can be read", strerror(errno));
    } else if (first != EOF) {
        ungetc(first, stream);
    }
    if (!stream && fd >= 0) {
        close(fd);
    }
    return stream;
}

FILE *input_try(const char *path, reason *why) {
    double unused;
    return input_try_timed(path, &unused, why);
}

FILE *input_try_timed(const char *path, double *time, reason *why) {
    struct stat st;
    FILE *message;
    if (recording_stream(path, &message, time, why)) {
        return message;
    }
    if (strcmp(path, "-") == 0) {
        return stdin;
    }
    bool there = stat(path, &st) == 0;
    if (there && S_ISFIFO(st.st_mode)) {
        return open_pipe(path, why);
    }
    if (there && S_ISDIR(st.st_mode)) {
        refuse(why, "is a folder; give a file in it");
        return NULL;
    }
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        refuse(why, "%s; give a file that can be read", strerror(errno));
    } else {
        input_protect(path);
    }
    return stream;
}

FILE *input_open(const char *path) {
    reason why;
    FILE *stream = input_try(path, &why);
    if (!stream) {
        report_error(input_name(path), "%s", why.text);
    }
    return stream;
}

void input_close(FILE *stream) {
    if (stream && stream != stdin) {
        fclose(stream);
    }
}

/* ---- the first bytes of a stream that need not seek -------------------------------------------------------------- */

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
    struct stat st = {0}; /* of a cloud of a recording, which is no file */
    FILE *stream = input_open(path);
    *p = (peek){.stream = stream, .original = stream};
    if (!stream) {
        return false;
    }
    if (fileno(stream) >= 0 && fstat(fileno(stream), &st) != 0) { /* what the input is must not depend on it */
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
