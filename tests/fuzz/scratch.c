/* Files for parsers that take a name: see fuzz.h. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz.h"

#include "report.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* A folder of its own, so that nothing in it is found by accident. */
static char folder[256];
static int before = -1; /* the working folder */

static void remove_folder(void) {
    DIR *files = opendir(folder);
    MUST(files && chdir(folder) == 0);
    for (const struct dirent *file; (file = readdir(files)) != NULL;) {
        unlink(file->d_name);
    }
    closedir(files);
    MUST(chdir("/") == 0 && rmdir(folder) == 0);
}

static void enter_folder(void) {
    if (before < 0) {
        const char *base = getenv("TMPDIR");
        before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        snprintf(folder, sizeof folder, "%s/pcgpu-fuzz.XXXXXX", base && *base ? base : "/tmp");
        MUST(before >= 0 && mkdtemp(folder) && atexit(remove_folder) == 0);
    }
    MUST(chdir(folder) == 0);
}

void fuzz_leave_folder(void) {
    MUST(before < 0 || fchdir(before) == 0);
}

void fuzz_write_file(const char *name, const void *data, size_t size) {
    enter_folder();
    unlink(name); /* a file that is truncated instead may be flushed to the disk, which takes milliseconds */
    FILE *f = fopen(name, "wb");
    MUST(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

void fuzz_check_printable(const char *text) {
    for (const char *p = text; *p; p++) {
        MUST((unsigned char)*p >= 0x20 && *p != 0x7f);
    }
}

void fuzz_check_shown(const char *why, const char *start) {
    char *shown = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&shown, &size);
    MUST(strncmp(why, start, strlen(start)) == 0 && strlen(why) > strlen(start) + 8);
    MUST(out && print_shown(out, why) >= 0 && fclose(out) == 0);
    fuzz_check_printable(shown);
    free(shown);
}

bool fuzz_has_word(const char *words, const char *word) {
    const size_t n = strlen(word);
    for (; *words; words += strspn(words, " ")) {
        const size_t length = strcspn(words, " ");
        if (length == n && memcmp(words, word, n) == 0) {
            return true;
        }
        words += length;
    }
    return false;
}
