/* The table of commands. Each command is defined in its folder. */
#include "options.h"

#include <string.h>

extern const command_info sample_command, voxelize_command, register_command, odometry_command, fuse_command,
    evaluate_command, convert_command, view_command, info_command;

static const command_info *const commands[] = {&sample_command,   &voxelize_command, &register_command,
                                               &odometry_command, &fuse_command,     &evaluate_command,
                                               &convert_command,  &view_command,     &info_command};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

const command_info *command_at(int i) {
    return i >= 0 && i < COMMANDS ? commands[i] : NULL;
}

const command_info *command_by_name(const char *name) {
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}
