/* How many processors the process may use: those of its affinity mask, and no more than the quota of its control groups
 * pays for. Each group on the path to the root has a quota of its own. In a container the path may be one of the host,
 * which is not there; the group of the container is the root then. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "threads.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PROCESSORS = 1 << 14, PATH_BYTES = 3584 };

static int affinity(void) {
    const size_t bytes = CPU_ALLOC_SIZE(MOST_PROCESSORS);
    cpu_set_t *set = CPU_ALLOC(MOST_PROCESSORS);
    int count = set && sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    return count > 0 ? count : 1;
}

/* The text of a small file; false when there is none. */
static bool read_text(const char *path, char *text, size_t size) {
    FILE *f = fopen(path, "r");
    const size_t n = f ? fread(text, 1, size - 1, f) : 0;
    if (f) {
        fclose(f);
    }
    text[n] = '\0';
    return n > 0;
}

/* Processors that a folder's quota pays for, rounded up; 0: no quota. "max 100000" or "150000 100000" in version 2. */
static int quota_of(const char *folder) {
    char path[PATH_BYTES + 32], text[64];
    long long quota = 0, period = 0;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (!read_text(path, text, sizeof text) || sscanf(text, "%lld %lld", &quota, &period) != 2) {
        snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
        quota = read_text(path, text, sizeof text) ? atoll(text) : 0;
        snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
        period = read_text(path, text, sizeof text) ? atoll(text) : 0;
    }
    return quota > 0 && period > 0 && quota / period < MOST_PROCESSORS ? (int)((quota + period - 1) / period) : 0;
}

/* The least quota from mount/group up to `mount`. */
static int least_quota(const char *root, const char *mount, const char *group, int most) {
    char folder[PATH_BYTES];
    const int length = snprintf(folder, sizeof folder, "%s%s", root, mount), least = length;
    if (length < 0 || (size_t)length + strlen(group) >= sizeof folder) {
        return most;
    }
    strcpy(folder + length, strcmp(group, "/") == 0 ? "" : group);
    while (true) {
        const int quota = quota_of(folder);
        most = quota > 0 && quota < most ? quota : most;
        char *end = strrchr(folder, '/');
        if (!end || end < folder + least) {
            return most;
        }
        *end = '\0';
    }
}

int pc_processors(const char *root) {
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu",
                                         "/sys/fs/cgroup/cpu,cpuacct"};
    char path[PATH_BYTES], line[PATH_BYTES];
    int most = affinity();
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) { /* "0::/group" in version 2, "4:cpu,cpuacct:/group" in version 1 */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        const bool pure = group && group == controllers + 1;
        if (group && (pure || strncmp(controllers, ":cpu", 4) == 0 || strstr(controllers, ",cpu"))) {
            for (int i = pure ? 0 : 2; i < (pure ? 2 : 4); i++) {
                most = least_quota(root, mounts[i], group + 1, most);
            }
        }
    }
    if (f) {
        fclose(f);
    }
    return most;
}
