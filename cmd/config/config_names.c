/* Configurations that come with the program, by name: --config pillar. They are searched beside the program, so that a
 * relocated installation and a build tree have theirs, and then in the data directory of the build. */
#define _DEFAULT_SOURCE /* scandir, readlink */
#include "config.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 4096, NAME = 64, MOST = 64 };

/* Relative to the folder of the program: of an installation, of a build tree, of a wheel that auditwheel repaired. */
static const char *const beside[] = {"../share/pcgpu/configs", "../configs", "../pcgpu/configs"};
enum { FOLDERS = sizeof beside / sizeof beside[0] + 1 };

/* The i-th folder to search; false when its path is too long. */
static bool folder_at(int i, char path[PATH]) {
    if (i == FOLDERS - 1) {
        return snprintf(path, PATH, "%s", PCGPU_CONFIGS) < PATH;
    }
    char program[PATH];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    char *slash = NULL;
    if (n > 0) {
        program[n] = '\0';
        slash = strrchr(program, '/');
    }
    if (!slash) {
        return false;
    }
    *slash = '\0';
    return (size_t)snprintf(path, PATH, "%s/%s", program, beside[i]) < PATH;
}

/* The length of a file name without .yaml, or 0. */
static size_t stem_length(const char *name) {
    const size_t n = strlen(name), e = strlen(".yaml");
    return n > e && n - e < NAME && strcmp(name + n - e, ".yaml") == 0 ? n - e : 0;
}

static int is_config(const struct dirent *entry) {
    return stem_length(entry->d_name) > 0;
}

typedef struct name_list {
    int count;
    char names[MOST][NAME];
} name_list;

static bool has(const name_list *list, const char *name, size_t n) {
    for (int i = 0; i < list->count; i++) {
        if (strlen(list->names[i]) == n && memcmp(list->names[i], name, n) == 0) {
            return true;
        }
    }
    return false;
}

static int by_name(const void *a, const void *b) {
    return strcmp(a, b);
}

/* The names in all folders, sorted. */
static void list_names(name_list *list) {
    char folder[PATH];
    list->count = 0;
    for (int i = 0; i < FOLDERS; i++) {
        struct dirent **entries = NULL;
        const int n = folder_at(i, folder) ? scandir(folder, &entries, is_config, NULL) : 0;
        for (int k = 0; k < n; k++) {
            const size_t length = stem_length(entries[k]->d_name);
            if (list->count < MOST && !has(list, entries[k]->d_name, length)) {
                snprintf(list->names[list->count++], NAME, "%.*s", (int)length, entries[k]->d_name);
            }
            free(entries[k]);
        }
        free(entries);
    }
    qsort(list->names, (size_t)list->count, sizeof list->names[0], by_name);
}

void config_print_names(FILE *out) {
    name_list list;
    list_names(&list);
    for (int i = 0; i < list.count; i++) {
        fprintf(out, "%s\n", list.names[i]);
    }
}

/* Whether a word may be the name of a configuration, which has no slash and no dot; "pillar.yaml" counts, too. */
static bool is_name(const char *given) {
    const size_t n = strcspn(given, "/.");
    return n > 0 && n < NAME && (given[n] == '\0' || strcmp(given + n, ".yaml") == 0) && strcmp(given, "-") != 0;
}

static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

bool config_find(const char *given, char *path, size_t size, reason *why) {
    char folder[PATH];
    name_list list;
    if (is_file(given) || !is_name(given)) {
        return (size_t)snprintf(path, size, "%s", given) < size ||
               refuse(why, "config: the name is too long; give a shorter one");
    }
    for (int i = 0; i < FOLDERS; i++) {
        const int n = (int)strcspn(given, ".");
        if (folder_at(i, folder) && (size_t)snprintf(path, size, "%s/%.*s.yaml", folder, n, given) < size &&
            is_file(path)) {
            return true;
        }
    }
    list_names(&list);
    refuse(why, "%s: neither a file nor the name of a configuration; give a file%s", given,
           list.count ? ", or one of" : "");
    for (int i = 0; i < list.count; i++) {
        refuse_more(why, "%s %s", i ? "," : "", list.names[i]);
    }
    return false;
}
