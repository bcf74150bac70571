/* YAML documents through libyaml: one from a file, and errors that name a place in it. */
#ifndef DOCUMENT_H
#define DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <yaml.h>

enum { DOCUMENT_SIZE = 256 << 10, DOCUMENT_DEPTH = 64, DOCUMENT_ANCHORS = 1000 }; /* limits of a file */

typedef struct document {
    char *path;
    yaml_document_t yaml;
    char *why; /* where sentences about it go; borrowed */
    size_t why_size;
} document;

/* Reads a file that holds one document. Nodes stay where they are until document_close. On failure `why` says what is
 * wrong and what to do, and there is nothing to close. */
bool document_open(document *d, const char *path, char *why, size_t why_size);
void document_close(document *d);

/* NULL for a file without anything but comments. */
const yaml_node_t *document_root(const document *d);
const yaml_node_t *document_node(const document *d, int index);
/* The text of a scalar, or NULL for anything else and for text with a NUL inside. */
const char *document_text(const yaml_node_t *node);
/* A scalar without quotes: a number, true, null are no strings. */
bool document_is_plain(const yaml_node_t *node);

/* Writes "FILE:line:column: TEXT" to `why`. Returns false. */
bool document_wrong(const document *d, const yaml_node_t *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
