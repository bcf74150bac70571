/* The table of commands. Each command is defined in its folder. */
#include "options.h"

extern const command_info sample_command, voxelize_command, filter_command, register_command, odometry_command,
    fuse_command, evaluate_command, convert_command, view_command, info_command;

const command_info *const all_commands[] = {&sample_command,
                                            &voxelize_command,
                                            &filter_command,
                                            &register_command,
                                            &odometry_command,
                                            &fuse_command,
                                            &evaluate_command,
                                            &convert_command,
                                            &view_command,
                                            &info_command,
                                            NULL};
