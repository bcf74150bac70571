/* Reading and writing whole streams. */
#include "io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_GUESS = 1 << 16, DEVICE_LIMIT = 64 << 20 };

bool pc_is_regular(FILE *stream) {
    struct stat s;
    int fd = fileno(stream);
    return fd < 0 || fstat(fd, &s) != 0 || S_ISREG(s.st_mode); /* a stream in memory has no descriptor */
}

/* The remaining size of a regular file, so that one allocation and one read suffice; else a first guess for a pipe. */
static size_t expected_size(FILE *stream) {
    struct stat s;
    int fd = fileno(stream);
    if (fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode)) {
        off_t at = ftello(stream);
        if (at >= 0 && s.st_size > at) {
            return (size_t)(s.st_size - at);
        }
    } else if (fd < 0) { /* in memory */
        const off_t at = ftello(stream), end = at >= 0 && fseeko(stream, 0, SEEK_END) == 0 ? ftello(stream) : -1;
        if (end >= 0 && fseeko(stream, at, SEEK_SET) == 0 && end > at) {
            return (size_t)(end - at);
        }
    }
    return FIRST_GUESS;
}

size_t pc_bytes_limit(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages / 2 * (size_t)page : SIZE_MAX - 2;
}

/* The limit of a stream. A pipe or a device may have no end; reading must not exhaust the memory of the system. */
static size_t largest_size(FILE *stream) {
    struct stat s;
    if (pc_is_regular(stream)) {
        return SIZE_MAX - 2;
    }
    if (fstat(fileno(stream), &s) == 0 && (S_ISCHR(s.st_mode) || S_ISBLK(s.st_mode))) {
        return DEVICE_LIMIT;
    }
    return pc_bytes_limit();
}

pcgpu_status pc_open(pc_file *file) {
    file->stream = fopen(file->name, "rb");
    return file->stream ? PCGPU_OK
                        : pc_fail_file(file, PCGPU_ERROR_IO, "cannot be opened: %s; check the name", strerror(errno));
}

pcgpu_status pc_fail_read(const pc_file *file) {
    return pc_fail_file(file, PCGPU_ERROR_IO, "cannot be read: %s; check the file and its disk",
                        errno ? strerror(errno) : "input error");
}

/* Grows the memory to `capacity` bytes, and reads until it is full or the stream ends. */
static pcgpu_status fill(const pc_file *file, size_t capacity, pc_bytes *bytes) {
    unsigned char *data = realloc(bytes->data, capacity + 1);
    if (!data) {
        pc_bytes_free(bytes);
        return pc_fail_file(file, PCGPU_ERROR_MEMORY,
                            "out of memory: %.1f MB were needed to read it; use a smaller file",
                            (double)capacity / 1e6);
    }
    bytes->data = data;
    errno = 0;
    bytes->size += fread(data + bytes->size, 1, capacity - bytes->size, file->stream);
    data[bytes->size] = '\0';
    if (ferror(file->stream)) {
        pcgpu_status status = pc_fail_read(file);
        pc_bytes_free(bytes);
        return status;
    }
    return PCGPU_OK;
}

pcgpu_status pc_bytes_head(const pc_file *file, pc_bytes *bytes) {
    *bytes = (pc_bytes){NULL, 0};
    return fill(file, PC_HEAD, bytes);
}

pcgpu_status pc_bytes_read(const pc_file *file, pc_bytes *bytes) {
    size_t limit = largest_size(file->stream);
    /* the additional byte detects the end of a file of that size */
    size_t capacity = bytes->size + expected_size(file->stream) + 1;
    pcgpu_status status = fill(file, capacity, bytes);
    while (status == PCGPU_OK && bytes->size == capacity) {
        if (capacity > limit) {
            pc_bytes_free(bytes);
            return pc_fail_format(file, "has no end after %.0f MB; give a file, or a part of it", (double)limit / 1e6);
        }
        capacity = capacity > limit / 2 ? limit + 1 : capacity * 2;
        status = fill(file, capacity, bytes);
    }
    return status;
}

bool pc_begins_with_mark(const void *data, size_t size) {
    return size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0;
}

void pc_bytes_tidy(pc_bytes *bytes) {
    char *data = (char *)bytes->data;
    if (pc_begins_with_mark(data, bytes->size)) {
        bytes->size -= 3;
        memmove(data, data + 3, bytes->size + 1);
    }
    if (memchr(data, '\r', bytes->size < 1024 ? bytes->size : 1024) && !memchr(data, '\n', bytes->size) &&
        pc_looks_like_text(data, bytes->size)) {
        for (char *p = data; (p = memchr(p, '\r', (size_t)(data + bytes->size - p)));) {
            *p = '\n';
        }
    }
}

void pc_bytes_free(pc_bytes *bytes) {
    free(bytes->data);
    *bytes = (pc_bytes){NULL, 0};
}

static pcgpu_status fail_write(const pc_file *file, int error) {
    return pc_fail_file(file, PCGPU_ERROR_IO, "cannot be written: %s; check the disk and its free space",
                        error ? strerror(error) : "output error");
}

pcgpu_status pc_write_bytes(const pc_file *file, const void *data, size_t size) {
    errno = 0;
    return size == 0 || fwrite(data, 1, size, file->stream) == size ? PCGPU_OK : fail_write(file, errno);
}

pcgpu_status pc_write_check(const pc_file *file) {
    return ferror(file->stream) ? fail_write(file, errno) : PCGPU_OK;
}

pcgpu_status pc_fail_short(const pc_file *file, uint64_t present, uint64_t wanted, const char *what) {
    return pc_fail_format(file, "file ends after %llu of %llu %s; it is cut short, so copy or export it again",
                          (unsigned long long)present, (unsigned long long)wanted, what);
}
