/* Names of files. */
#include "files.h"

#include <string.h>
#include <strings.h>

bool path_is_dash(const char *path) {
    return path && strcmp(path, "-") == 0;
}

bool path_ends_in(const char *path, const char *extension) {
    const size_t n = strlen(path), e = strlen(extension);
    return n > e && strcasecmp(path + n - e, extension) == 0;
}

const char *path_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *input_name(const char *path) {
    return path_is_dash(path) ? "standard input" : path;
}

const char *output_shown(const char *path) {
    return path_is_dash(path) ? "standard output" : path;
}
