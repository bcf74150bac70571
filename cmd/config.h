/* Configuration files. */
#ifndef CONFIG_H
#define CONFIG_H

#include "options.h"

/* Reads a YAML file and sets what it says: flat keys first, then those under the command's name; sections of other
 * commands are checked only. On failure `why` is "FILE:line:column: what is wrong; what to do". */
bool config_load(const char *path, const command_info *command, option_values *options, char *why, size_t why_size);

#endif
