/* The value of a key: checked, and given to the setter that the command line uses. */
#include "config.h"

#include <string.h>

/* A sequence of numbers as "a,b,c". */
static bool join_list(const document *d, const yaml_node_t *node, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top; i++) {
        const yaml_node_t *item = document_node(d, *i);
        const char *word = item ? document_text(item) : NULL;
        if (!word || !document_is_plain(item)) {
            return document_wrong(d, item ? item : node, "a list of numbers is expected, such as [0.16, 0.16, 4]");
        }
        int n = snprintf(text + used, size - used, "%s%s", used ? "," : "", word);
        if (n < 0 || (size_t)n >= size - used) {
            return document_wrong(d, node, "the list is too long");
        }
        used += (size_t)n;
    }
    return true;
}

/* The text for the setter, after a check of the value's type. */
static const char *value_text(const document *d, const option_row *o, const char *key, const yaml_node_t *node,
                              char *list, size_t list_size) {
    const char *text = document_text(node);
    if (node->type == YAML_SEQUENCE_NODE && o->type->list) {
        return join_list(d, node, list, list_size) ? list : NULL;
    }
    if (!text) {
        const char *found = node->type == YAML_SEQUENCE_NODE  ? "a list"
                            : node->type == YAML_MAPPING_NODE ? "a mapping"
                                                              : "no text";
        document_wrong(d, node, "%s: %s is not possible here; give %s", key, found,
                       o->type->kind == VALUE_BOOLEAN  ? "true or false"
                       : o->type->kind == VALUE_NUMBER ? "a number"
                                                       : "one value");
        return NULL;
    }
    if (document_is_plain(node) && (strcmp(text, "") == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0)) {
        document_wrong(d, node, "%s has no value; give one or leave the key out", key);
        return NULL;
    }
    if (o->type->kind != VALUE_TEXT && !document_is_plain(node)) {
        document_wrong(d, node, "%s: \"%s\" is a string, not %s; leave out the quotes", key, text,
                       o->type->kind == VALUE_BOOLEAN ? "true or false" : "a number");
        return NULL;
    }
    return text;
}

static bool set_text(const document *d, option_values *options, const option_row *o, const char *key,
                     const yaml_node_t *node, const char *text) {
    reason inner;
    return option_set(options, o, options_keep(options, text), FROM_FILE, &inner) ||
           document_wrong(d, node, "%s: %s", key, inner.text);
}

/* Sets each pair separately, so that an error has its position. */
static bool set_mapping(const document *d, option_values *options, const option_row *o, const char *key,
                        const yaml_node_t *mapping) {
    if (mapping->data.mapping.pairs.start == mapping->data.mapping.pairs.top) {
        return document_wrong(d, mapping, "%s: names with a number each are expected", key);
    }
    for (yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < mapping->data.mapping.pairs.top; p++) {
        const yaml_node_t *name_node = document_node(d, p->key), *value_node = document_node(d, p->value);
        const char *name = document_text(name_node), *value = document_text(value_node);
        char text[128];
        if (!name || !value || !document_is_plain(value_node) || !value[0] || strpbrk(name, "=,") ||
            strchr(value, ',')) {
            return document_wrong(d, value ? name_node : value_node, "%s: names with a number each are expected", key);
        }
        if (document_is_duplicate(d, mapping, p, name)) {
            return document_wrong(d, name_node, "the key %s occurs twice; leave one out", name);
        }
        int length = snprintf(text, sizeof text, "%s=%s", name, value);
        if (length < 0 || (size_t)length >= sizeof text) {
            return document_wrong(d, name_node, "%s: a name or a number is too long", key);
        }
        if (!set_text(d, options, o, key, value_node, text)) {
            return false;
        }
    }
    return true;
}

bool config_set(const document *d, option_values *options, const option_row *o, const char *key,
                const yaml_node_t *node) {
    char list[512];
    if (node->type == YAML_MAPPING_NODE && o->type->mapping) {
        return set_mapping(d, options, o, key, node);
    }
    const char *text = value_text(d, o, key, node, list, sizeof list);
    return text && set_text(d, options, o, key, node, text);
}
