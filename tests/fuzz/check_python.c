/* What must hold for any configuration in Python: a sentence that names the place, or options whose --dry-run, read as
 * YAML, is the same. */
#include "fuzz.h"

#include "config.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *print(const option_values *o, const command_info *command) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    MUST(memory);
    options_print_yaml(o, command, memory);
    MUST(fclose(memory) == 0);
    return text;
}

/* What of it is printed steers no terminal. */
static void check_sentence(const char *why) {
    char *shown = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&shown, &size);
    MUST(strncmp(why, "config.py:", 10) == 0 && strlen(why) > 20);
    MUST(out && print_shown(out, why) >= 0 && fclose(out) == 0);
    fuzz_check_printable(shown);
    free(shown);
}

int fuzz_check_python(const uint8_t *data, size_t size) {
    const command_info *command = command_by_name("voxelize");
    reason why = {""};
    option_values o, again;
    fuzz_write_file("config.py", data, size); /* which may inherit from itself, a circle */
    options_init(&o, command);
    const bool good = config_load("config.py", command, &o, &why);
    if (!good) {
        check_sentence(why.text);
    } else {
        char *first = print(&o, command);
        FILE *f = fopen("config.yaml", "wb");
        MUST(f && fputs(first, f) >= 0 && fclose(f) == 0);
        options_init(&again, command);
        MUST(config_load("config.yaml", command, &again, &why));
        unlink("config.yaml");
        char *second = print(&again, command);
        MUST(strcmp(first, second) == 0);
        options_free(&again);
        free(first);
        free(second);
    }
    options_free(&o);
    return good;
}
