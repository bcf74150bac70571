/* Configuration files. */
#ifndef CONFIG_H
#define CONFIG_H

#include "document.h"
#include "options.h"

/* config_names.c: the path of a configuration: of a file, or of a configuration that comes with the program, by name.
 * The error for an unknown name lists those that exist. */
bool config_find(const char *given, char *path, size_t size, reason *why);
void config_print_names(FILE *out); /* one per line */

/* Reads a YAML file, or a configuration by name, and sets its options: flat keys first, then the keys in the section of
 * the command. Sections of other commands are only checked. openpcdet.h describes configurations of OpenPCDet;
 * python/pcgpu/config.py converts those of mmdetection3d. On failure `why` is "FILE:line:column: what is wrong; what to
 * do". */
bool config_load(const char *path, const command_info *command, option_values *options, reason *why);

/* Sets one option to the value of `key`, after a check of its type. */
bool config_set(const document *d, option_values *options, const option_row *o, const char *key,
                const yaml_node_t *node);

#endif
