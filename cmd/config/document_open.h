/* YAML documents in files. */
#ifndef DOCUMENT_OPEN_H
#define DOCUMENT_OPEN_H

#include "document.h"

/* Reads a file with one document, as document_parse reads a text. */
bool document_open(document *d, const char *path, reason *why);

#endif
