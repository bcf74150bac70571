/* Configuration files: YAML through libyaml's document, each value through the setter that the command line uses. */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <yaml.h>

typedef struct reader {
    const char *path;
    FILE *file;
    yaml_document_t *document;
    const command_info *command; /* whose keys are being read */
    option_values *options;      /* where values go: the caller's, or scratch for other commands */
    char *why;
    size_t why_size;
} reader;

static bool wrong(reader *r, const yaml_node_t *node, const char *format, ...) __attribute__((format(printf, 3, 4)));

static bool wrong(reader *r, const yaml_node_t *node, const char *format, ...) {
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(r->why, r->why_size, "%s:%zu:%zu: %s", r->path, node->start_mark.line + 1, node->start_mark.column + 1,
             text);
    return false;
}

static yaml_node_t *node_at(const reader *r, int index) {
    return yaml_document_get_node(r->document, index);
}

/* The text of a scalar, or NULL for anything else and for text with a NUL inside. */
static const char *scalar(const yaml_node_t *node) {
    if (node->type != YAML_SCALAR_NODE || memchr(node->data.scalar.value, '\0', node->data.scalar.length)) {
        return NULL;
    }
    return (const char *)node->data.scalar.value;
}

static bool is_plain(const yaml_node_t *node) {
    return node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

/* Replaces one letter by another in a copy of at most `size` bytes. */
static const char *replaced(const char *text, char from, char to, char *copy, size_t size) {
    snprintf(copy, size, "%s", text);
    for (char *p = copy; *p; p++) {
        *p = *p == from ? to : *p;
    }
    return copy;
}

static const option_row *option_of_key(const char *key, unsigned commands) {
    char name[64];
    if (strlen(key) >= sizeof name || strchr(key, '-')) {
        return NULL;
    }
    const option_row *o = option_by_name(replaced(key, '_', '-', name, sizeof name), commands);
    return o && !(o->flags & OPTION_LINE_ONLY) ? o : NULL;
}

static bool unknown_key(reader *r, const yaml_node_t *node, const char *key) {
    char name[64], suggestion[64];
    replaced(key, '_', '-', name, sizeof name);
    const option_row *elsewhere = option_by_name(name, FOR_ALL);
    if (elsewhere && (elsewhere->flags & OPTION_LINE_ONLY)) {
        return wrong(r, node, "%s is for the command line only; leave it out", key);
    }
    if (elsewhere && !(elsewhere->commands & r->command->bit)) {
        const char *owner = command_of_option(elsewhere)->name;
        return wrong(r, node, "%s is not a key of %s but of %s; put it under \"%s:\"", key, r->command->name, owner,
                     owner);
    }
    const char *close = closest_name(name, next_option_name, r->command->bit);
    if (close) {
        return wrong(r, node, "unknown key %s; did you mean %s?", key,
                     replaced(close, '-', '_', suggestion, sizeof suggestion));
    }
    return wrong(r, node, "unknown key %s; keys are the long options of pcgpu %s with _ for -", key, r->command->name);
}

/* A sequence of numbers as "a,b,c". */
static bool join_list(reader *r, const yaml_node_t *node, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top; i++) {
        const yaml_node_t *item = node_at(r, *i);
        const char *word = item ? scalar(item) : NULL;
        if (!word || !is_plain(item)) {
            return wrong(r, item ? item : node, "a list of numbers is expected, such as [0.16, 0.16, 4]");
        }
        int n = snprintf(text + used, size - used, "%s%s", used ? "," : "", word);
        if (n < 0 || (size_t)n >= size - used) {
            return wrong(r, node, "the list is too long");
        }
        used += (size_t)n;
    }
    return true;
}

/* The text to hand to the setter, after a check of the value's type. */
static const char *value_text(reader *r, const option_row *o, const char *key, const yaml_node_t *node, char *list,
                              size_t list_size) {
    const char *text = scalar(node);
    if (node->type == YAML_SEQUENCE_NODE && o->type->list) {
        return join_list(r, node, list, list_size) ? list : NULL;
    }
    if (!text) {
        const char *found = node->type == YAML_SEQUENCE_NODE  ? "a list"
                            : node->type == YAML_MAPPING_NODE ? "a mapping"
                                                              : "no text";
        wrong(r, node, "%s: %s is not possible here; give %s", key, found,
              o->type->kind == VALUE_BOOLEAN  ? "true or false"
              : o->type->kind == VALUE_NUMBER ? "a number"
                                              : "one value");
        return NULL;
    }
    if (is_plain(node) && (strcmp(text, "") == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0)) {
        wrong(r, node, "%s has no value; give one or leave the key out", key);
        return NULL;
    }
    if (o->type->kind != VALUE_TEXT && !is_plain(node)) {
        wrong(r, node, "%s: \"%s\" is a string, not %s; leave out the quotes", key, text,
              o->type->kind == VALUE_BOOLEAN ? "true or false" : "a number");
        return NULL;
    }
    return text;
}

static bool read_value(reader *r, const option_row *o, const char *key, const yaml_node_t *node) {
    char list[512], reason[400];
    const char *text = value_text(r, o, key, node, list, sizeof list);
    if (!text) {
        return false;
    }
    const char *kept = options_keep(r->options, text);
    if (!kept) {
        return wrong(r, node, "out of memory");
    }
    return option_set(r->options, o, kept, FROM_FILE, reason, sizeof reason) || wrong(r, node, "%s: %s", key, reason);
}

/* True when an earlier pair of the mapping has the same key. */
static bool is_duplicate(const reader *r, const yaml_node_t *mapping, const yaml_node_pair_t *pair, const char *key) {
    for (const yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < pair; p++) {
        const char *other = scalar(node_at(r, p->key));
        if (other && strcmp(other, key) == 0) {
            return true;
        }
    }
    return false;
}

static bool read_section(reader *r, const command_info *command, const yaml_node_t *node);

/* Reads the keys of a mapping. At the top level (`top`), `sections` chooses between sections and flat keys. */
static bool read_mapping(reader *r, const yaml_node_t *mapping, bool top, bool sections) {
    for (yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < mapping->data.mapping.pairs.top; p++) {
        const yaml_node_t *key_node = node_at(r, p->key), *value = node_at(r, p->value);
        const char *key = scalar(key_node);
        if (!key) {
            return wrong(r, key_node, "a key must be a name; see pcgpu %s --help", r->command->name);
        }
        if (is_duplicate(r, mapping, p, key)) {
            return wrong(r, key_node, "the key %s stands here twice; leave one out", key);
        }
        const command_info *section = top ? command_by_name(key) : NULL;
        if (top && (section != NULL) != sections) {
            continue;
        }
        const option_row *o = section ? NULL : option_of_key(key, r->command->bit);
        if (section ? !read_section(r, section, value)
            : o     ? !read_value(r, o, key, value)
                    : !unknown_key(r, key_node, key)) {
            return false;
        }
    }
    return true;
}

static bool read_section(reader *r, const command_info *command, const yaml_node_t *node) {
    if (node->type == YAML_SCALAR_NODE && node->data.scalar.length == 0) {
        return true; /* a section whose keys are all commented out */
    }
    if (node->type != YAML_MAPPING_NODE) {
        return wrong(r, node, "%s: keys with values are expected, one a line and indented", command->name);
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

static bool read_document(reader *r) {
    const yaml_node_t *root = yaml_document_get_root_node(r->document);
    if (!root || (root->type == YAML_SCALAR_NODE && root->data.scalar.length == 0)) {
        return true;
    }
    if (root->type != YAML_MAPPING_NODE) {
        return wrong(r, root, "keys with values are expected, such as \"size: 0.2\"");
    }
    return read_mapping(r, root, true, false) && read_mapping(r, root, true, true);
}

static bool syntax_error(const reader *r, const yaml_parser_t *parser) {
    if (ferror(r->file)) {
        snprintf(r->why, r->why_size, "%s: cannot be read: %s; give a YAML file", r->path, strerror(errno));
        return false;
    }
    snprintf(r->why, r->why_size, "%s:%zu:%zu: not valid YAML: %s", r->path, parser->problem_mark.line + 1,
             parser->problem_mark.column + 1, parser->problem ? parser->problem : "out of memory");
    return false;
}

/* One document, and nothing behind it. */
static bool read_stream(reader *r, yaml_parser_t *parser) {
    yaml_document_t document, next;
    if (!yaml_parser_load(parser, &document)) {
        return syntax_error(r, parser);
    }
    r->document = &document;
    bool good = read_document(r);
    yaml_document_delete(&document);
    if (!good) {
        return false;
    }
    if (!yaml_parser_load(parser, &next)) {
        return syntax_error(r, parser);
    }
    const yaml_node_t *more = yaml_document_get_root_node(&next);
    if (more) {
        wrong(r, more, "a second document begins here; a configuration is one document");
    }
    yaml_document_delete(&next);
    return !more;
}

bool config_load(const char *path, const command_info *command, option_values *options, char *why, size_t why_size) {
    FILE *file = fopen(path, "rb");
    yaml_parser_t parser;
    if (!file) {
        snprintf(why, why_size, "%s: %s; give a file that can be read", path, strerror(errno));
        return false;
    }
    bool good = yaml_parser_initialize(&parser);
    if (good) {
        reader r = {
            .path = path, .file = file, .command = command, .options = options, .why = why, .why_size = why_size};
        yaml_parser_set_input_file(&parser, file);
        yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
        good = read_stream(&r, &parser);
        yaml_parser_delete(&parser);
    } else {
        snprintf(why, why_size, "%s: out of memory", path);
    }
    fclose(file);
    return good;
}
