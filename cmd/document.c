/* YAML documents through libyaml. */
#include "document.h"
#include "files.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool document_wrong(const document *d, const yaml_node_t *node, const char *format, ...) {
    char text[800];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(d->why, d->why_size, "%s:%zu:%zu: %s", d->path, node->start_mark.line + 1, node->start_mark.column + 1,
             text);
    return false;
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

static bool syntax_error(const document *d, FILE *file, const yaml_parser_t *parser) {
    if (ferror(file)) {
        snprintf(d->why, d->why_size, "%s: cannot be read: %s; give a YAML file", d->path, strerror(errno));
    } else {
        snprintf(d->why, d->why_size, "%s:%zu:%zu: not valid YAML: %s", d->path, parser->problem_mark.line + 1,
                 parser->problem_mark.column + 1, parser->problem ? parser->problem : "out of memory");
    }
    return false;
}

/* Nothing may stand behind the document. */
static bool check_end(const document *d, FILE *file, yaml_parser_t *parser) {
    yaml_document_t next;
    if (!yaml_parser_load(parser, &next)) {
        return syntax_error(d, file, parser);
    }
    const yaml_node_t *more = yaml_document_get_root_node(&next);
    if (more) {
        document_wrong(d, more, "a second document begins here; a configuration is one document");
    }
    yaml_document_delete(&next);
    return !more;
}

static bool load(document *d, FILE *file) {
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        snprintf(d->why, d->why_size, "%s: out of memory", d->path);
        return false;
    }
    yaml_parser_set_input_file(&parser, file);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    bool good = yaml_parser_load(&parser, &d->yaml);
    if (!good) {
        syntax_error(d, file, &parser);
    } else if (!check_end(d, file, &parser)) {
        yaml_document_delete(&d->yaml);
        good = false;
    }
    yaml_parser_delete(&parser);
    return good;
}

bool document_open(document *d, const char *path, char *why, size_t why_size) {
    *d = (document){.path = strdup(path), .why = why, .why_size = why_size};
    FILE *file = fopen(path, "rb");
    bool good = false;
    if (!file) {
        snprintf(why, why_size, "%s: %s; give a file that can be read", path, strerror(errno));
    } else if (!d->path) {
        snprintf(why, why_size, "%s: out of memory", path);
    } else {
        input_protect(path);
        good = load(d, file);
    }
    if (file) {
        fclose(file);
    }
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
