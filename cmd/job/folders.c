/* Folders for outputs, and the names of outputs in them. */
#define _XOPEN_SOURCE 700 /* mkdir */
#include "files.h"
#include "heap.h"
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool cannot_create(const char *path) {
    report_error(path, "cannot create the folder: %s; give another output", strerror(errno));
    return false;
}

bool folder_make(const char *path) {
    struct stat st;
    char *made = heap_text("%s", path);
    bool good = true;
    for (char *end = made; good && (end = strchr(end + 1, '/'));) {
        *end = '\0';
        good = mkdir(made, 0777) == 0 || errno == EEXIST;
        *end = '/';
    }
    good = good && stat(path, &st) == 0; /* fails for a file of that name */
    free(made);
    return good || cannot_create(path);
}

bool folder_check(const char *path) {
    char *above = heap_text("%s", path);
    bool good = false;
    errno = 0;
    for (char *end = above; end && (end = strrchr(above, '/'));) {
        end[end == above] = '\0'; /* the nearest existing folder decides; "/" exists */
        good = access(above, W_OK | X_OK) == 0;
        end = good || errno != ENOENT ? NULL : end;
    }
    if (!good && errno == ENOENT && !strchr(above, '/')) {
        good = access(".", W_OK | X_OK) == 0;
    }
    free(above);
    return good || cannot_create(path);
}

bool path_shares_folder(const char *path, const char *other) {
    char *folders[] = {path_folder(path), path_folder(other)};
    struct stat a, b;
    const bool there = stat(folders[0], &a) == 0 && stat(folders[1], &b) == 0;
    const bool same = there ? a.st_dev == b.st_dev && a.st_ino == b.st_ino : strcmp(folders[0], folders[1]) == 0;
    free(folders[0]);
    free(folders[1]);
    return same;
}

bool path_stays_below(const char *name) {
    for (const char *p = name; (p = strstr(p, "..")); p += 2) {
        if ((p == name || p[-1] == '/') && (p[2] == '/' || p[2] == '\0')) {
            return false;
        }
    }
    return name[0] != '/';
}

char *path_in_folder(const char *folder, const char *input, const char *extension) {
    static const char double_extension[] = ".pcd.bin"; /* nuScenes */
    const char *below = strstr(input, "/./"), *name = path_is_dash(input) ? "stdin" : path_base(input);
    const char *base = below && !path_is_dash(input) ? below + 3 : name; /* with its sub-folder */
    size_t stem = strlen(base), two = strlen(double_extension);
    const size_t least = (size_t)(name - base) + 1; /* of ".x", nothing is an extension */
    if (stem > least + 3 && strcmp(base + stem - 3, ".gz") == 0) {
        stem -= 3;
    }
    size_t dot = stem;
    while (dot > least && base[dot - 1] != '.') {
        dot--;
    }
    if (stem > two && strncmp(base + stem - two, double_extension, two) == 0) {
        stem -= two;
    } else if (dot > least) {
        stem = dot - 1;
    }
    const bool slashed = folder[0] && folder[strlen(folder) - 1] == '/';
    return heap_text("%s%s%.*s%s", folder, slashed ? "" : "/", (int)stem, base, extension);
}
