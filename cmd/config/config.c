/* Configuration files: YAML, each value through the setter that the command line uses. */
#include "config.h"
#include "files.h"
#include "openpcdet.h"

#include <string.h>

typedef struct reader {
    const document *document;
    const command_info *command; /* whose keys are being read */
    option_values *options;      /* the destination: of the caller, or scratch for other commands */
    bool in_set;                 /* under "set:", which has keys of --set alone */
} reader;

/* Replaces one letter by another in a copy of at most `size` bytes. */
static const char *replaced(const char *text, char from, char to, char *copy, size_t size) {
    snprintf(copy, size, "%s", text);
    for (char *p = copy; *p; p++) {
        *p = *p == from ? to : *p;
    }
    return copy;
}

static const option_row *option_of_key(const reader *r, const char *key) {
    const option_row *o = strchr(key, '-') ? NULL : option_by_key(key, r->command->bit);
    return o && !(o->flags & OPTION_LINE_ONLY) && (!r->in_set || option_is_key(o, r->command)) ? o : NULL;
}

static bool unknown_key(const reader *r, const yaml_node_t *node, const char *key, const yaml_node_t *value) {
    char name[64], suggestion[64];
    replaced(key, '_', '-', name, sizeof name);
    const option_row *elsewhere = option_by_name(name, FOR_ALL), *here = option_by_name(name, r->command->bit);
    if (r->in_set && here && !option_is_key(here, r->command)) {
        return document_wrong(r->document, node, "%s is no key of --set; put it beside \"set:\"", key);
    }
    if (elsewhere && (elsewhere->flags & OPTION_LINE_ONLY)) {
        return document_wrong(r->document, node, "%s is for the command line only; leave it out", key);
    }
    if (elsewhere && !(elsewhere->commands & r->command->bit)) {
        const char *owner = command_of_option(elsewhere)->name;
        return document_wrong(r->document, node, "%s is not a key of %s but of %s; put it under \"%s:\"", key,
                              r->command->name, owner, owner);
    }
    const char *section = value && value->type == YAML_MAPPING_NODE ? closest_name(key, next_command_name, 0) : NULL;
    const char *close = section ? section : closest_option(name, r->command->bit);
    if (close) {
        return document_wrong(r->document, node, "unknown key %s; did you mean %s?", key,
                              replaced(close, '-', '_', suggestion, sizeof suggestion));
    }
    return document_wrong(r->document, node, "unknown key %s; keys are the long options of pcgpu %s with _ for -", key,
                          r->command->name);
}

static bool read_section(const reader *r, const command_info *command, const yaml_node_t *node);
static bool read_set(const reader *r, const yaml_node_t *node);

/* Reads the keys of a mapping. At the top level (`top`), `sections` chooses between sections and flat keys. */
static bool read_mapping(const reader *r, const yaml_node_t *mapping, bool top, bool sections) {
    for (yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < mapping->data.mapping.pairs.top; p++) {
        const yaml_node_t *key_node = document_node(r->document, p->key), *value = document_node(r->document, p->value);
        const char *key = document_text(key_node);
        if (!key) {
            return document_wrong(r->document, key_node, "a key must be a name; see pcgpu %s --help", r->command->name);
        }
        if (document_is_duplicate(r->document, mapping, p, key)) {
            return document_wrong(r->document, key_node, "the key %s occurs twice; leave one out", key);
        }
        const command_info *section = top ? command_by_name(key) : NULL;
        if (top && (section != NULL) != sections) {
            continue;
        }
        const option_row *o = section ? NULL : option_of_key(r, key);
        const bool set = o && o->type == &type_set;
        if (section ? !read_section(r, section, value)
            : set   ? !read_set(r, value)
            : o     ? !config_set(r->document, r->options, o, key, value)
                    : !unknown_key(r, key_node, key, value)) {
            return false;
        }
    }
    return true;
}

static bool read_section(const reader *r, const command_info *command, const yaml_node_t *node) {
    if (node->type == YAML_SCALAR_NODE && node->data.scalar.length == 0) {
        return true; /* all keys of the section are commented out */
    }
    if (node->type != YAML_MAPPING_NODE) {
        return document_wrong(r->document, node, "%s: keys with values are expected, one per line and indented",
                              command->name);
    }
    if (command == r->command) {
        return read_mapping(r, node, false, false);
    }
    option_values scratch;
    options_init(&scratch, command);
    reader other = *r;
    other.command = command;
    other.options = &scratch;
    bool good = read_mapping(&other, node, false, false);
    options_free(&scratch);
    return good;
}

static bool read_set(const reader *r, const yaml_node_t *node) {
    reader keys = *r;
    keys.in_set = true;
    return node->type == YAML_MAPPING_NODE
               ? read_mapping(&keys, node, false, false)
               : document_wrong(r->document, node, "set: keys of --set with values are expected");
}

static bool read_root(const reader *r, const yaml_node_t *root) {
    if (root->type != YAML_MAPPING_NODE) {
        return document_wrong(r->document, root, "keys with values are expected, such as \"voxel_size: 0.2\"");
    }
    return openpcdet_is(r->document) ? openpcdet_read(r->document, r->command, r->options)
                                     : read_mapping(r, root, true, false) && read_mapping(r, root, true, true);
}

bool config_load(const char *path, const command_info *command, option_values *options, reason *why) {
    document d;
    if (path_ends_in(path, ".py")) {
        return refuse(why,
                      "%s: configurations in Python are not read; run python -m pcgpu.config %s > %.*s.yaml, and "
                      "give that file",
                      path, path, (int)strlen(path) - 3, path);
    }
    if (!config_open(&d, path, why)) {
        return false;
    }
    const reader r = {.document = &d, .command = command, .options = options};
    const yaml_node_t *root = document_root(&d);
    bool good = !root || read_root(&r, root);
    document_close(&d);
    return good;
}
