/* YAML documents through libyaml. */
#include "document.h"
#include "heap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An error at a line and column, which count from 0. */
static bool wrong_at(const document *d, size_t line, size_t column, const char *what) {
    return d->path ? refuse(d->why, "%s:%zu:%zu: %s", d->path, line + 1, column + 1, what)
                   : refuse(d->why, "line %zu: %s", line + 1, what);
}

bool document_wrong(const document *d, const yaml_node_t *node, const char *format, ...) {
    char text[800];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return wrong_at(d, node->start_mark.line, node->start_mark.column, text);
}

const yaml_node_t *document_node(const document *d, int index) {
    return yaml_document_get_node((yaml_document_t *)(uintptr_t)&d->yaml, index);
}

const yaml_node_t *document_root(const document *d) {
    const yaml_node_t *root = yaml_document_get_root_node((yaml_document_t *)(uintptr_t)&d->yaml);
    return root && root->type == YAML_SCALAR_NODE && root->data.scalar.length == 0 ? NULL : root;
}

const char *document_text(const yaml_node_t *node) {
    if (node->type != YAML_SCALAR_NODE || memchr(node->data.scalar.value, '\0', node->data.scalar.length)) {
        return NULL;
    }
    return (const char *)node->data.scalar.value;
}

bool document_is_plain(const yaml_node_t *node) {
    return node->type == YAML_SCALAR_NODE && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static bool syntax_error(const document *d, const yaml_parser_t *parser) {
    char what[256];
    const char *problem = parser->problem ? parser->problem : "out of memory";
    snprintf(what, sizeof what, "%s%s", parser->error == YAML_MEMORY_ERROR ? "" : "not valid YAML: ",
             parser->error == YAML_MEMORY_ERROR ? "out of memory" : problem);
    return wrong_at(d, parser->problem_mark.line, parser->problem_mark.column, what);
}

static bool start(yaml_parser_t *parser, const unsigned char *text, size_t size) {
    bool good = yaml_parser_initialize(parser);
    if (good) {
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(parser, text, size);
    }
    return good;
}

/* The time of libyaml grows with the square of the depth, and with the square of the number of anchors. So both are
 * counted, event by event, before the document is built, where it has enough characters that begin them. */
static bool check_shape(const document *d, const unsigned char *text, size_t size) {
    yaml_parser_t parser;
    yaml_event_t event = {0};
    int depth = 0, anchors = 0, levels = 0, ands = 0;
    for (size_t i = 0; i < size; i++) {
        levels += text[i] && strchr("[{-:?", text[i]);
        ands += text[i] == '&';
    }
    if (levels <= DOCUMENT_DEPTH && ands <= DOCUMENT_ANCHORS) {
        return true;
    }
    bool good = start(&parser, text, size) || wrong_at(d, 0, 0, "out of memory");
    for (yaml_event_type_t type = YAML_NO_EVENT; good && type != YAML_STREAM_END_EVENT;) {
        if (!yaml_parser_parse(&parser, &event)) {
            good = syntax_error(d, &parser);
            break;
        }
        type = event.type;
        bool begins = type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT;
        bool ends = type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT;
        depth += begins - ends;
        anchors += (type == YAML_SCALAR_EVENT && event.data.scalar.anchor) ||
                   (type == YAML_SEQUENCE_START_EVENT && event.data.sequence_start.anchor) ||
                   (type == YAML_MAPPING_START_EVENT && event.data.mapping_start.anchor);
        if (depth > DOCUMENT_DEPTH || anchors > DOCUMENT_ANCHORS) {
            good = wrong_at(d, event.start_mark.line, event.start_mark.column,
                            depth > DOCUMENT_DEPTH ? "lists and mappings are more than 64 deep here; leave some out"
                                                   : "more than 1000 anchors; write the values themselves");
        }
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return good;
}

/* Nothing may stand behind the document. */
static bool check_end(const document *d, yaml_parser_t *parser) {
    yaml_document_t next;
    if (!yaml_parser_load(parser, &next)) {
        return syntax_error(d, parser);
    }
    const yaml_node_t *more = yaml_document_get_root_node(&next);
    if (more) {
        document_wrong(d, more, "a second document begins here; a configuration is one document");
    }
    yaml_document_delete(&next);
    return !more;
}

static bool load(document *d, const unsigned char *text, size_t size) {
    yaml_parser_t parser;
    if (!start(&parser, text, size)) {
        return wrong_at(d, 0, 0, "out of memory");
    }
    bool good = yaml_parser_load(&parser, &d->yaml) || syntax_error(d, &parser);
    if (good && !check_end(d, &parser)) {
        yaml_document_delete(&d->yaml);
        good = false;
    }
    yaml_parser_delete(&parser);
    return good;
}

/* Where the text is longer than allowed. */
static bool check_size(const document *d, const unsigned char *text, size_t size) {
    size_t line = 0, column = 0;
    for (size_t i = 0; i < DOCUMENT_SIZE && size > DOCUMENT_SIZE; i++) {
        column = text[i] == '\n' ? 0 : column + 1;
        line += text[i] == '\n';
    }
    return size <= DOCUMENT_SIZE ||
           wrong_at(d, line, column, "the file is larger than 256 KiB; give a smaller YAML file");
}

bool document_parse(document *d, const char *path, const void *text, size_t size, reason *why) {
    *d = (document){.path = path ? heap_text("%s", path) : NULL, .why = why};
    const bool good = check_size(d, text, size) && check_shape(d, text, size) && load(d, text, size);
    if (!good) {
        free(d->path);
        d->path = NULL;
    }
    return good;
}

void document_close(document *d) {
    yaml_document_delete(&d->yaml);
    free(d->path);
    d->path = NULL;
}

bool document_is_duplicate(const document *d, const yaml_node_t *mapping, const yaml_node_pair_t *pair,
                           const char *key) {
    for (const yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < pair; p++) {
        const char *other = document_text(document_node(d, p->key));
        if (other && strcmp(other, key) == 0) {
            return true;
        }
    }
    return false;
}

const yaml_node_t *document_value(const document *d, const yaml_node_t *mapping, const char *key) {
    const yaml_node_t *value = NULL;
    if (!mapping || mapping->type != YAML_MAPPING_NODE) {
        return NULL;
    }
    for (const yaml_node_pair_t *p = mapping->data.mapping.pairs.start; p < mapping->data.mapping.pairs.top; p++) {
        const char *name = document_text(document_node(d, p->key));
        if (name && strcmp(name, key) == 0) {
            value = document_node(d, p->value);
        }
    }
    return value;
}
