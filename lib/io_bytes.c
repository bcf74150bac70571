/* Whole streams in and out. */
#include "io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What a regular file still holds, so that one allocation and one read do; else a first guess for a pipe. */
static size_t expected_size(FILE *stream) {
    struct stat s;
    int fd = fileno(stream);
    if (fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode)) {
        off_t at = ftello(stream);
        if (at >= 0 && s.st_size > at) {
            return (size_t)(s.st_size - at);
        }
    }
    return (size_t)1 << 16;
}

pcgpu_status pc_bytes_read(pcgpu_context *context, FILE *stream, const char *name, pc_bytes *bytes) {
    *bytes = (pc_bytes){NULL, 0};
    size_t capacity = expected_size(stream) + 1; /* the byte more finds the end of a file of the expected size */
    for (;;) {
        unsigned char *data = capacity == SIZE_MAX ? NULL : realloc(bytes->data, capacity + 1);
        if (!data) {
            pc_bytes_free(bytes);
            return pc_fail(context, PCGPU_ERROR_MEMORY,
                           "%s: out of memory: %.1f MB were needed to read it; use a "
                           "smaller file",
                           name, (double)capacity / 1e6);
        }
        bytes->data = data;
        errno = 0;
        bytes->size += fread(data + bytes->size, 1, capacity - bytes->size, stream);
        if (bytes->size < capacity) {
            break;
        }
        capacity = capacity > SIZE_MAX / 2 ? SIZE_MAX : capacity * 2;
    }
    if (ferror(stream)) {
        int error = errno;
        pc_bytes_free(bytes);
        return pc_fail(context, PCGPU_ERROR_IO, "%s: cannot be read: %s; check the file and its disk", name,
                       error ? strerror(error) : "input error");
    }
    bytes->data[bytes->size] = '\0';
    return PCGPU_OK;
}

void pc_bytes_free(pc_bytes *bytes) {
    free(bytes->data);
    *bytes = (pc_bytes){NULL, 0};
}

static pcgpu_status fail_write(pcgpu_context *context, const char *name, int error) {
    return pc_fail(context, PCGPU_ERROR_IO, "%s: cannot be written: %s; check the disk and its free space", name,
                   error ? strerror(error) : "output error");
}

pcgpu_status pc_write_bytes(pcgpu_context *context, FILE *stream, const char *name, const void *data, size_t size) {
    errno = 0;
    return size == 0 || fwrite(data, 1, size, stream) == size ? PCGPU_OK : fail_write(context, name, errno);
}

pcgpu_status pc_write_check(pcgpu_context *context, FILE *stream, const char *name) {
    return ferror(stream) ? fail_write(context, name, errno) : PCGPU_OK;
}

pcgpu_status pc_fail_short(pcgpu_context *context, const char *name, uint64_t present, uint64_t wanted,
                           const char *what) {
    return pc_fail(context, PCGPU_ERROR_FORMAT,
                   "%s: file ends after %llu of %llu %s; it is cut short, so copy or "
                   "export it again",
                   name, (unsigned long long)present, (unsigned long long)wanted, what);
}
