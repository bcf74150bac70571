/* Folders for outputs. */
#define _XOPEN_SOURCE 700 /* mkdir */
#include "files.h"
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
    char *made = strdup(path);
    bool good = made;
    errno = made ? 0 : ENOMEM;
    for (char *end = made; good && end && (end = strchr(end + 1, '/'));) {
        *end = '\0';
        good = mkdir(made, 0777) == 0 || errno == EEXIST;
        *end = '/';
    }
    good = good && stat(path, &st) == 0; /* fails for a file of that name */
    free(made);
    return good || cannot_create(path);
}

bool folder_check(const char *path) {
    char *above = strdup(path);
    bool good = false;
    errno = above ? 0 : ENOMEM;
    for (char *end = above; end && (end = strrchr(above, '/'));) {
        end[end == above] = '\0'; /* the nearest existing folder decides; "/" exists */
        good = access(above, W_OK | X_OK) == 0;
        end = good || errno != ENOENT ? NULL : end;
    }
    if (above && !good && errno == ENOENT && !strchr(above, '/')) {
        good = access(".", W_OK | X_OK) == 0;
    }
    free(above);
    return good || cannot_create(path);
}

bool path_shares_folder(const char *path, const char *other) {
    char *folders[] = {path_folder(path), path_folder(other)};
    struct stat a, b;
    const bool both = folders[0] && folders[1], there = both && stat(folders[0], &a) == 0 && stat(folders[1], &b) == 0;
    const bool same = there ? a.st_dev == b.st_dev && a.st_ino == b.st_ino : both && strcmp(folders[0], folders[1]) == 0;
    free(folders[0]);
    free(folders[1]);
    return same;
}
