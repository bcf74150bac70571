/* Configuration files. */
#ifndef CONFIG_H
#define CONFIG_H

#include "document.h"
#include "options.h"

/* Reads a YAML file and sets what it says: flat keys first, then those under the command's name; sections of other
 * commands are checked only. A configuration of OpenPCDet is read as openpcdet.h says. On failure `why` is
 * "FILE:line:column: what is wrong; what to do". */
bool config_load(const char *path, const command_info *command, option_values *options, char *why, size_t why_size);

/* Sets one option to the value of `key`, after a check of its type. */
bool config_set(const document *d, option_values *options, const option_row *o, const char *key,
                const yaml_node_t *node);

#endif
