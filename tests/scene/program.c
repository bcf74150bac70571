/* Options and files of the programs that write scenes. */
#include "program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool take(const program_option *o, const char *text) {
    if (o->text) {
        *o->text = text;
        return true;
    }
    char *end;
    const double value = strtod(text, &end), high = o->seed ? 9007199254740992.0 : o->flag ? 1.0 : o->high;
    if (end == text || *end != '\0' || !(value >= o->low && value <= high) || (!o->real && value != floor(value))) {
        return false;
    }
    if (o->whole) {
        *o->whole = (int)value;
    } else if (o->real) {
        *o->real = value;
    } else if (o->seed) {
        *o->seed = (uint64_t)value;
    } else {
        *o->flag = value == 1.0;
    }
    return true;
}

const char *program_options(int argc, char **argv, const program_option *options, size_t count) {
    int i = 1;
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        size_t k = 0;
        while (k < count && strcmp(argv[i], options[k].name) != 0) {
            k++;
        }
        if (k == count || !take(&options[k], argv[i + 1])) {
            fprintf(stderr, "%s: %s %s: not understood or out of range\n", argv[0], argv[i], argv[i + 1]);
            return NULL;
        }
    }
    return i + 1 == argc ? argv[i] : NULL;
}

FILE *program_create(const char *folder, const char *name) {
    char path[4096];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = length > 0 && (size_t)length < sizeof path ? fopen(path, "wb") : NULL;
    if (!file) {
        fprintf(stderr, "%s/%s: ", folder, name);
        perror("cannot write");
    }
    return file;
}
