/* What an input is, is known by its first bytes, also where the stream does not seek. */
#ifndef PEEK_H
#define PEEK_H

#include <stdbool.h>
#include <stdio.h>

enum { PEEK_HEAD = 1 << 14 };

/* The first bytes of an input, whose stream is read from its begin afterwards. A device, which may have no end, has no
 * first bytes. */
typedef struct peek {
    FILE *stream;   /* to be read */
    FILE *original; /* of the file */
    char *head;     /* PEEK_HEAD bytes at most, with a zero byte after `size` */
    size_t size, used;
} peek;

bool peek_open(peek *p, const char *path); /* false after an error message */
void peek_close(peek *p);
bool peek_is_text(const peek *p);

#endif
