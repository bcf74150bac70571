/* How much memory the process may take: MemAvailable of the kernel, the limits of the shell, and those of the control
 * groups from its own to the root. In a container the path may be one of the host, which is not there; the group of the
 * container is the root then. */
#include "memory.h"
#include "files.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

/* A limit in bytes that begins a file; SIZE_MAX without one, which is "max" in version 2. */
static size_t limit_in(const char *folder, const char *name) {
    char path[PATH_BYTES + 64];
    unsigned long long value = 0;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    const bool good = f && fscanf(f, "%llu", &value) == 1 && value > 0;
    input_close(f);
    return good && value < SIZE_MAX ? (size_t)value : SIZE_MAX;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* The least limit from mount/group up to `mount`. */
static size_t limit_of(const char *root, const char *mount, const char *group, const char *name) {
    char folder[PATH_BYTES];
    const int length = snprintf(folder, sizeof folder, "%s%s", root, mount);
    size_t limit = SIZE_MAX;
    if (length < 0 || (size_t)length + strlen(group) >= sizeof folder) {
        return limit;
    }
    strcpy(folder + length, strcmp(group, "/") == 0 ? "" : group);
    while (true) {
        limit = least(limit, limit_in(folder, name));
        char *end = strrchr(folder, '/');
        if (!end || end < folder + length) {
            return limit;
        }
        *end = '\0';
    }
}

static size_t group_limit(const char *root) {
    char path[PATH_BYTES], line[PATH_BYTES];
    size_t limit = SIZE_MAX;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) { /* "0::/group" in version 2, "4:memory:/group" in version 1 */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (group && group == controllers + 1) {
            limit = least(limit, limit_of(root, "/sys/fs/cgroup", group + 1, "memory.max"));
        } else if (group && strncmp(controllers, ":memory:", 8) == 0) {
            limit = least(limit, limit_of(root, "/sys/fs/cgroup/memory", group + 1, "memory.limit_in_bytes"));
        }
    }
    input_close(f);
    return limit;
}

/* The address space that limits of the shell (ulimit -v, -d) leave; threads take some, too. */
static size_t space_left(void) {
    size_t left = SIZE_MAX;
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    const size_t taken = f && fscanf(f, "%lu", &pages) == 1 ? (size_t)pages * (size_t)sysconf(_SC_PAGESIZE) : 0;
    static const int kinds[] = {RLIMIT_AS, RLIMIT_DATA};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct rlimit limit;
        if (getrlimit(kinds[i], &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
            left = least(left, limit.rlim_cur > taken ? (size_t)(limit.rlim_cur - taken) : 0);
        }
    }
    input_close(f);
    return left;
}

size_t memory_available(const char *root) {
    char path[PATH_BYTES], line[256];
    unsigned long long kib = 0;
    size_t bytes = SIZE_MAX;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1 && kib < SIZE_MAX / 1024) {
            bytes = (size_t)kib * 1024;
        }
    }
    input_close(f);
    return least(least(bytes, group_limit(root)), space_left());
}
