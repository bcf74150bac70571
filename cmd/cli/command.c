/* The commands, which the files of this folder know by their tables only. */
#include "options.h"

#include <string.h>

static const command_info *const *list;

void commands_use(const command_info *const *commands) {
    list = commands;
}

const command_info *command_at(int i) {
    for (int k = 0; list && list[k]; k++) {
        if (k == i) {
            return list[k];
        }
    }
    return NULL;
}

const command_info *command_by_name(const char *name) {
    for (int k = 0; list && list[k]; k++) {
        if (strcmp(list[k]->name, name) == 0) {
            return list[k];
        }
    }
    return NULL;
}
