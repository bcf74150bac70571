/* The temporary file of a map. */
#include "map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pcgpu_status fail(pcgpu_context *context, const char *folder, const char *what) {
    return pc_fail(
        context, PCGPU_ERROR_IO,
        "%s: the temporary file of the map cannot be %s: %s; give another folder for it with --set temporary-folder",
        folder, what, strerror(errno));
}

pcgpu_status pc_map_file_open(pcgpu_context *context, const char *folder, pc_map_file *file) {
    static const char name[] = "/.map.pcgpu-XXXXXX";
    const size_t size = strlen(folder) + sizeof name;
    char *path = malloc(size);
    *file = (pc_map_file){.fd = -1, .folder = folder};
    if (!path) {
        return pc_fail_memory(context, size, "a name");
    }
    memcpy(path, folder, strlen(folder));
    memcpy(path + strlen(folder), name, sizeof name);
    file->fd = mkstemp(path);
    pcgpu_status status = file->fd >= 0 ? PCGPU_OK : fail(context, folder, "made");
    if (file->fd >= 0 && unlink(path) != 0) {
        status = fail(context, folder, "removed");
    }
    free(path);
    return status;
}

pcgpu_status pc_map_file_append(pcgpu_context *context, pc_map_file *file, const void *data, size_t bytes,
                                int64_t *where) {
    *where = file->size;
    for (const char *p = data; bytes > 0;) {
        const ssize_t n = pwrite(file->fd, p, bytes, (off_t)file->size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return fail(context, file->folder, "written");
        }
        p += n;
        bytes -= (size_t)n;
        file->size += n;
    }
    return PCGPU_OK;
}

pcgpu_status pc_map_file_read(pcgpu_context *context, const pc_map_file *file, int64_t where, void *data,
                              size_t bytes) {
    for (char *p = data; bytes > 0;) {
        const ssize_t n = pread(file->fd, p, bytes, (off_t)where);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            errno = n == 0 ? EIO : errno;
            return fail(context, file->folder, "read");
        }
        p += n;
        bytes -= (size_t)n;
        where += n;
    }
    return PCGPU_OK;
}

void pc_map_file_close(pc_map_file *file) {
    if (file->fd >= 0) {
        close(file->fd);
    }
    file->fd = -1;
}
