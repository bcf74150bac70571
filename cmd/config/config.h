/* Configuration files. */
#ifndef CONFIG_H
#define CONFIG_H

#include "document.h"
#include "options.h"

/* The configurations that come with the program: the build writes the table. The last one has no name. */
typedef struct config_text {
    const char *name, *text;
} config_text;
extern const config_text config_texts[];
/* config_names.c: the text of one of them; NULL for another name, and where a file has this name. */
const char *config_built_in(const char *given);
/* Reads a file, or one of them. The error for an unknown name lists all names. */
bool config_open(document *d, const char *given, reason *why);
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
