/* The tokens of a Python file, as far as literals need them. */
#ifndef PYTHON_TOKENS_H
#define PYTHON_TOKENS_H

#include "reason.h"

#include <stddef.h>

typedef enum python_token_kind {
    TOKEN_END,     /* of the file */
    TOKEN_NEWLINE, /* the end of a logical line, or a semicolon */
    TOKEN_NAME,
    TOKEN_NUMBER,
    TOKEN_STRING, /* one literal with its quotes; adjacent ones are separate tokens */
    TOKEN_MARK    /* any other character */
} python_token_kind;

typedef struct python_token {
    python_token_kind kind;
    const char *text; /* in the file */
    size_t length;
    int line, column; /* from 1 */
    bool code_string; /* an f-string or bytes */
    size_t quotes;    /* of a string: the length of the opening prefix and quotes */
    bool raw;
} python_token;

enum { PYTHON_DEPTH = 64 }; /* open brackets */

typedef struct python_tokens {
    const char *path, *at, *end;
    int line;
    const char *line_start;
    char open[PYTHON_DEPTH]; /* brackets; within them lines do not end */
    int depth;
    python_token token; /* the current one */
    reason *why;
} python_tokens;

/* Begins with the first token. */
bool python_tokens_begin(python_tokens *t, const char *path, const char *text, size_t size, reason *why);
/* Reads the next token. False, with "FILE:LINE:COLUMN: what is wrong" in `why`: the file is not Python. */
bool python_next(python_tokens *t);
bool python_is_mark(const python_token *token, char mark);
bool python_is_name(const python_token *token, const char *name);
/* An error at a line and column. Returns false. */
bool python_wrong_at(const python_tokens *t, int line, int column, const char *what);

#endif
