/* YAML documents in files. */
#include "document_open.h"
#include "files.h"
#include "heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Reads the file, with a limit: libyaml takes seconds for megabytes, and /dev/zero has no end. */
static bool read_text(const char *path, FILE *file, unsigned char *text, size_t *size, reason *why) {
    errno = 0;
    *size = fread(text, 1, DOCUMENT_SIZE + 1, file);
    return !ferror(file) ||
           refuse(why, "%s: cannot be read: %s; give a YAML file", path, errno ? strerror(errno) : "input error");
}

bool document_open(document *d, const char *path, reason *why) {
    reason inner;
    size_t size = 0;
    FILE *file = input_try(path, &inner);
    if (!file) {
        return refuse(why, "%s: %s", path, inner.text);
    }
    unsigned char *text = heap_take(NULL, DOCUMENT_SIZE + 1);
    const bool good = read_text(path, file, text, &size, why) && document_parse(d, path, text, size, why);
    input_close(file);
    free(text);
    return good;
}
