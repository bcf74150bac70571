/* Folders for outputs. */
#define _XOPEN_SOURCE 700 /* mkdir */
#include "files.h"
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    good = good && (stat(path, &st) == 0); /* a file of that name is none */
    if (!good) {
        report_error(path, "the folder cannot be made: %s; give another output", strerror(errno));
    }
    free(made);
    return good;
}
