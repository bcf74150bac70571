/* What must hold for any configuration file: a sentence that names the place, or options whose --dry-run, read again,
 * is the same. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz.h"

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A folder of its own, so that a base that a configuration inherits from is not found by accident: config.yaml is the
 * configuration itself, a circle. */
static char folder[] = "/tmp/pcgpu-fuzz.XXXXXX";

static void remove_folder(void) {
    unlink("config.yaml");
    MUST(chdir("/") == 0 && rmdir(folder) == 0);
}

static void write_file(const void *data, size_t size) {
    static bool made;
    if (!made) {
        MUST(mkdtemp(folder) && chdir(folder) == 0 && atexit(remove_folder) == 0);
        made = true;
    }
    unlink("config.yaml"); /* a file that is truncated instead may be flushed to the disk, which takes milliseconds */
    FILE *f = fopen("config.yaml", "wb");
    MUST(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

static char *print(const option_values *o, const command_info *command) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    MUST(memory);
    options_print_yaml(o, command, memory);
    MUST(fclose(memory) == 0);
    return text;
}

static void check_error(const char *why) {
    MUST(strncmp(why, "config.yaml:", 12) == 0 || strstr(why, "; give a "));
    MUST(strlen(why) > 20);
    for (const char *p = why; *p; p++) {
        MUST((unsigned char)*p >= 0x20 && *p != 0x7f);
    }
}

/* Of one command, 1 when it is valid. */
static int check_command(const command_info *command, const void *data, size_t size) {
    char why[1024] = "";
    option_values o, again;
    write_file(data, size);
    options_init(&o, command);
    bool good = config_load("config.yaml", command, &o, why, sizeof why);
    if (good) {
        char *first = print(&o, command);
        write_file(first, strlen(first));
        options_init(&again, command);
        MUST(config_load("config.yaml", command, &again, why, sizeof why));
        char *second = print(&again, command);
        MUST(strcmp(first, second) == 0);
        options_free(&again);
        free(first);
        free(second);
    } else {
        check_error(why);
    }
    options_free(&o);
    return good;
}

int fuzz_check_config(const uint8_t *data, size_t size) {
    int valid = 0;
    for (int i = 0; command_at(i); i++) {
        valid |= check_command(command_at(i), data, size);
    }
    return valid;
}
