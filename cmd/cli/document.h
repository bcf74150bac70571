/* YAML documents by libyaml: reads one from a text, and makes errors with a position in it. */
#ifndef DOCUMENT_H
#define DOCUMENT_H

#include "reason.h"

#include <stddef.h>
#include <stdint.h>

#include <yaml.h>

enum { DOCUMENT_SIZE = 256 << 10, DOCUMENT_DEPTH = 64, DOCUMENT_ANCHORS = 1000 }; /* limits of a file */

typedef struct document {
    char *path; /* for errors; NULL: they have the line alone */
    yaml_document_t yaml;
    reason *why; /* receives the errors of the document */
} document;

/* Reads a text with one document. Nodes are valid until document_close. On failure `why` has the error, and the
 * document is not open. */
bool document_parse(document *d, const char *path, const void *text, size_t size, reason *why);
void document_close(document *d);

/* The root, or NULL for a file with only comments. */
const yaml_node_t *document_root(const document *d);
const yaml_node_t *document_node(const document *d, int index);
/* The text of a scalar; NULL for other nodes and for text with a NUL. */
const char *document_text(const yaml_node_t *node);
/* The value of a key in a mapping, the last one; NULL: there is none, or no mapping. */
const yaml_node_t *document_value(const document *d, const yaml_node_t *mapping, const char *key);
/* Whether a node is a scalar without quotes, such as a number, true or null. */
bool document_is_plain(const yaml_node_t *node);

/* Whether an earlier pair of the mapping has the same key. */
bool document_is_duplicate(const document *d, const yaml_node_t *mapping, const yaml_node_pair_t *pair,
                           const char *key);

/* Writes "FILE:line:column: TEXT", or "line N: TEXT" without a path, to `why`. Returns false. */
bool document_wrong(const document *d, const yaml_node_t *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
