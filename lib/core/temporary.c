/* Memory in temporary files. */
#include "temporary.h"
#include "context.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The maps that are in use: a function that frees the arrays of a result finds here where they are. */
typedef struct map {
    void *memory;
    size_t bytes;
    struct map *next;
} map;

static map *maps;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static const char *folder_of(const pcgpu_context *context) {
    return context->settings.scratch ? context->settings.scratch : "/var/tmp";
}

static pcgpu_status fail(pcgpu_context *context, int why) {
    return pc_fail(context, PCGPU_ERROR_IO,
                   "%s: a temporary file cannot be written: %s; choose another folder by TMPDIR, or give more memory",
                   folder_of(context), strerror(why));
}

/* A new file without a name; -1 with errno on failure. */
static int open_file(const pcgpu_context *context) {
    char name[4096];
#ifdef O_TMPFILE
    const int file = open(folder_of(context), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0) {
        return file;
    }
#endif
    if (snprintf(name, sizeof name, "%s/pcgpu-XXXXXX", folder_of(context)) >= (int)sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int named = mkstemp(name);
    if (named >= 0) {
        unlink(name);
        fcntl(named, F_SETFD, FD_CLOEXEC);
    }
    return named;
}

/* Maps a file, and closes it. */
static pcgpu_status take_file(pcgpu_context *context, int file, uint64_t bytes, void **memory) {
    map *one = malloc(sizeof *one);
    void *start = one ? mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    close(file);
    if (start == MAP_FAILED) {
        free(one);
        return pc_fail_memory(context, bytes, "a temporary file");
    }
    *one = (map){start, (size_t)bytes, NULL};
    pthread_mutex_lock(&mutex);
    one->next = maps;
    maps = one;
    pthread_mutex_unlock(&mutex);
    *memory = start;
    return PCGPU_OK;
}

pcgpu_status pc_allocate(pcgpu_context *context, uint64_t bytes, uint64_t most, void **memory) {
    *memory = NULL;
    if (bytes <= most) {
        *memory = malloc(bytes ? bytes : 1);
        return *memory ? PCGPU_OK : pc_fail_memory(context, bytes, "an array");
    }
    const int file = open_file(context);
    if (file < 0) {
        return fail(context, errno);
    }
    const int full = posix_fallocate(file, 0, (off_t)bytes); /* a full disk would end the program later */
    if (full) {
        close(file);
        return fail(context, full);
    }
    return take_file(context, file, bytes, memory);
}

void pc_release(void *memory) {
    pthread_mutex_lock(&mutex);
    map **at = &maps;
    while (*at && (*at)->memory != memory) {
        at = &(*at)->next;
    }
    map *one = memory ? *at : NULL;
    if (one) {
        *at = one->next;
    }
    pthread_mutex_unlock(&mutex);
    if (one) {
        munmap(one->memory, one->bytes);
    } else {
        free(memory);
    }
    free(one);
}

void pc_limit_memory(pcgpu_context *context, size_t bytes) {
    context->memory = bytes;
}

pcgpu_status pc_spool_add(pcgpu_context *context, pc_spool *spool, const void *data, size_t bytes) {
    const char *from = data;
    if (spool->file == 0 && (spool->file = 1 + open_file(context)) == 0) {
        return fail(context, errno);
    }
    while (bytes > 0) {
        const ssize_t written = write(spool->file - 1, from, bytes);
        if (written < 0 && errno != EINTR) {
            return fail(context, errno);
        }
        const size_t done = written > 0 ? (size_t)written : 0;
        from += done;
        bytes -= done;
        spool->bytes += done;
    }
    return PCGPU_OK;
}

pcgpu_status pc_spool_take(pcgpu_context *context, pc_spool *spool, void **memory) {
    const pc_spool full = *spool;
    *spool = (pc_spool){0};
    return full.file ? take_file(context, full.file - 1, full.bytes, memory) : pc_allocate(context, 1, 1, memory);
}

void pc_spool_close(pc_spool *spool) {
    if (spool->file) {
        close(spool->file - 1);
    }
    *spool = (pc_spool){0};
}
