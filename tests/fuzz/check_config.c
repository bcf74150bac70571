/* What must hold for any configuration file: a sentence that names the place, or options whose --dry-run, read again,
 * is the same. */
#include "fuzz.h"

#include "config.h"

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

/* Options, printed as YAML and read again, print the same. */
static void check_again(const option_values *o, const command_info *command) {
    reason why = {""};
    option_values again;
    char *first = print(o, command);
    fuzz_write_file("again.yaml", first, strlen(first));
    options_init(&again, command);
    MUST(config_load("again.yaml", command, &again, &why));
    unlink("again.yaml");
    char *second = print(&again, command);
    MUST(strcmp(first, second) == 0);
    options_free(&again);
    free(first);
    free(second);
}

static void check_error(const char *why) {
    MUST(strncmp(why, "config.yaml:", 12) == 0 || strstr(why, "; give a "));
    MUST(strlen(why) > 20);
    fuzz_check_printable(why);
}

/* Of one command, 1 when it is valid. */
static int check_command(const command_info *command) {
    reason why = {""};
    option_values o;
    options_init(&o, command);
    bool good = config_load("config.yaml", command, &o, &why);
    if (good) {
        check_again(&o, command);
    } else {
        check_error(why.text);
    }
    options_free(&o);
    return good;
}

int fuzz_check_config(const uint8_t *data, size_t size) {
    int valid = 0;
    commands_use(all_commands);
    fuzz_write_file("config.yaml", data, size); /* which inherits from absent.yaml, or from itself, a circle */
    for (int i = 0; command_at(i); i++) {
        valid |= check_command(command_at(i));
    }
    return valid;
}
