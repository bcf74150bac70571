/* A folder with files as the kernel has them, in place of the root. */
#ifndef ROOT_TEST_H
#define ROOT_TEST_H

#include "unit.h"

#include <sys/stat.h>

static char root[64];

static void write_file(const char *path, const char *text) {
    char full[256];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int make_root(void **unused) {
    strcpy(root, "/tmp/pcgpu-root.XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **unused) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

#endif
