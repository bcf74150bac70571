/* What the parts of the parser of Python files share. */
#ifndef PYTHON_PARSER_H
#define PYTHON_PARSER_H

#include "python_config.h"
#include "python_tokens.h"

typedef struct assigned {
    const char *name;
    const python_node *value;
} assigned;

/* Memory in blocks, which never move. */
enum { BLOCK_SIZE = 16000 };
typedef struct block {
    struct block *next;
    size_t used, size;
    _Alignas(16) char data[];
} block;

struct python_file {
    char *path, *text;
    size_t size;
    block *blocks;
    int nodes, name_count;
    assigned names[PYTHON_NAMES];
};

typedef struct parser {
    python_file *file;
    python_tokens tokens;
} parser;

/* An error at the current token. Returns false. */
bool parse_wrong(const parser *p, const char *what);
/* Zeroed memory that lives as long as the file; NULL with the error when there is none. */
void *parse_take(parser *p, size_t size);
const char *parse_take_text(parser *p, const char *text, size_t length);
python_node *parse_node(parser *p); /* of code, until it is known to be a literal */
/* The index of a name, or -1. */
int parse_find_name(const python_file *file, const char *name, size_t length);

/* python_literals.c: an expression up to a comma, a closing bracket or the end of the line; NULL: an error. */
const python_node *parse_expression(parser *p);
/* One or more string literals, which Python joins. */
bool parse_string(parser *p, python_node *node);

#endif
