/* Files for parsers that take a name: see fuzz.h. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz.h"

#include <dirent.h>
#include <stdbool.h>
#include <unistd.h>

/* A folder of its own, so that nothing in it is found by accident. */
static char folder[] = "/tmp/pcgpu-fuzz.XXXXXX";
static bool made;

static void remove_folder(void) {
    DIR *files = opendir(".");
    MUST(files);
    for (const struct dirent *file; (file = readdir(files)) != NULL;) {
        unlink(file->d_name);
    }
    closedir(files);
    MUST(chdir("/") == 0 && rmdir(folder) == 0);
}

void fuzz_write_file(const char *name, const void *data, size_t size) {
    if (!made) {
        MUST(mkdtemp(folder) && chdir(folder) == 0 && atexit(remove_folder) == 0);
        made = true;
    }
    unlink(name); /* a file that is truncated instead may be flushed to the disk, which takes milliseconds */
    FILE *f = fopen(name, "wb");
    MUST(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

void fuzz_check_printable(const char *text) {
    for (const char *p = text; *p; p++) {
        MUST((unsigned char)*p >= 0x20 && *p != 0x7f);
    }
}
