/* Configuration files. */
#ifndef CONFIG_H
#define CONFIG_H

#include "document.h"
#include "options.h"

/* Reads a YAML file and sets its options: flat keys first, then the keys in the section of the command. Sections of
 * other commands are only checked. openpcdet.h describes configurations of OpenPCDet, mmdet3d.h those of mmdetection3d,
 * whose names end in .py. On failure `why` is "FILE:line:column: what is wrong; what to do". */
bool config_load(const char *path, const command_info *command, option_values *options, reason *why);

/* Sets one option to the value of `key`, after a check of its type. */
bool config_set(const document *d, option_values *options, const option_row *o, const char *key,
                const yaml_node_t *node);

#endif
