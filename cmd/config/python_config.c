/* The literals of a Python file. */
#include "python_config.h"
#include "files.h"
#include "python_parser.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *python_path(const python_file *file) {
    return file->path;
}

bool python_wrong(const python_file *file, const python_node *node, reason *why, const char *format, ...) {
    char text[800];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return refuse(why, "%s:%d:%d: %s", file->path, node->line, node->column, text);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

bool parse_wrong(const parser *p, const char *what) {
    return python_wrong_at(&p->tokens, p->tokens.token.line, p->tokens.token.column, what);
}

void *parse_take(parser *p, size_t size) {
    block *b = p->file->blocks;
    size = (size + 15) & ~(size_t)15;
    if (!b || b->size - b->used < size) {
        const size_t data = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        b = calloc(1, sizeof *b + data);
        if (!b) {
            parse_wrong(p, "out of memory");
            return NULL;
        }
        b->size = data;
        b->next = p->file->blocks;
        p->file->blocks = b;
    }
    void *memory = b->data + b->used;
    b->used += size;
    return memory;
}

const char *parse_take_text(parser *p, const char *text, size_t length) {
    char *copy = parse_take(p, length + 1);
    return copy ? memcpy(copy, text, length) : NULL;
}

python_node *parse_node(parser *p) {
    if (p->file->nodes++ == PYTHON_NODES) {
        parse_wrong(p, "more than 65536 values up to here; give a smaller file");
        return NULL;
    }
    python_node *node = parse_take(p, sizeof *node);
    if (node) {
        *node = (python_node){.kind = PYTHON_CODE, .line = p->tokens.token.line, .column = p->tokens.token.column};
    }
    return node;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

int parse_find_name(const python_file *file, const char *name, size_t length) {
    int i = 0;
    while (i < file->name_count &&
           (strlen(file->names[i].name) != length || memcmp(file->names[i].name, name, length) != 0)) {
        i++;
    }
    return i < file->name_count ? i : -1;
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static bool next(parser *p) {
    return python_next(&p->tokens);
}

static bool is_mark(const parser *p, char mark) {
    return python_is_mark(&p->tokens.token, mark);
}

static bool assign(parser *p, const python_token *name, const python_node *value) {
    python_file *file = p->file;
    int i = parse_find_name(file, name->text, name->length);
    if (i < 0 && file->name_count == PYTHON_NAMES) {
        return parse_wrong(p, "more than 1000 names up to here; give a smaller file");
    }
    if (i < 0) {
        const char *copy = parse_take_text(p, name->text, name->length);
        if (!copy) {
            return false;
        }
        i = file->name_count++;
        file->names[i].name = copy;
    }
    file->names[i].value = value;
    return true;
}

/* Any other statement: the names in it, from `first` on, have values that are not known any more. */
static bool parse_code(parser *p, const python_token *first) {
    python_node *node = parse_node(p);
    if (node && first) {
        node->line = first->line;
        node->column = first->column;
    }
    bool good = node && (!first || assign(p, first, node));
    while (good && p->tokens.token.kind != TOKEN_END && p->tokens.token.kind != TOKEN_NEWLINE) {
        if (p->tokens.token.kind == TOKEN_NAME) {
            good = assign(p, &p->tokens.token, node);
        }
        good = good && next(p);
    }
    return good;
}

/* NAME = EXPRESSION, at the beginning of a line. */
static bool parse_statement(parser *p) {
    const python_token first = p->tokens.token;
    if (first.kind == TOKEN_STRING && first.column == 1) { /* a comment in quotes */
        python_node ignored = {0};
        return parse_string(p, &ignored) && parse_code(p, NULL);
    }
    if (first.kind != TOKEN_NAME || first.column != 1) {
        return parse_code(p, NULL);
    }
    if (!next(p)) {
        return false;
    }
    if (!is_mark(p, '=') || (*p->tokens.at == '=')) {
        return parse_code(p, &first);
    }
    if (!next(p)) {
        return false;
    }
    const python_node *value = parse_expression(p);
    if (!value) {
        return false;
    }
    if (p->tokens.token.kind == TOKEN_NEWLINE || p->tokens.token.kind == TOKEN_END) {
        return assign(p, &first, value);
    }
    return parse_code(p, &first); /* a tuple without parentheses */
}

static bool parse_file(parser *p, reason *why) {
    bool good = python_tokens_begin(&p->tokens, p->file->path, p->file->text, p->file->size, why);
    while (good && p->tokens.token.kind != TOKEN_END) {
        good = p->tokens.token.kind == TOKEN_NEWLINE ? next(p) : parse_statement(p);
    }
    return good;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static bool read_text(python_file *file, reason *why) {
    reason inner;
    FILE *stream = input_try(file->path, &inner);
    if (!stream) {
        return refuse(why, "%s: %s", file->path, inner.text);
    }
    errno = 0;
    file->size = fread(file->text, 1, PYTHON_SIZE + 1, stream);
    const bool failed = ferror(stream);
    const int code = errno;
    input_close(stream);
    file->text[file->size < PYTHON_SIZE ? file->size : PYTHON_SIZE] = '\0';
    return failed ? refuse(why, "%s: cannot be read: %s", file->path, code ? strerror(code) : "input error")
                  : file->size <= PYTHON_SIZE ||
                        refuse(why, "%s: larger than 256 KiB; give a smaller configuration", file->path);
}

python_file *python_open(const char *path, reason *why) {
    python_file *file = calloc(1, sizeof *file);
    if (file) {
        file->path = strdup(path);
        file->text = malloc(PYTHON_SIZE + 1);
    }
    parser p = {.file = file};
    bool good = (file && file->path && file->text) || refuse(why, "%s: out of memory", path);
    good = good && read_text(file, why) && parse_file(&p, why);
    if (!good) {
        python_close(file);
        return NULL;
    }
    return file;
}

void python_close(python_file *file) {
    while (file && file->blocks) {
        block *b = file->blocks;
        file->blocks = b->next;
        free(b);
    }
    if (file) {
        free(file->text);
        free(file->path);
    }
    free(file);
}

const python_node *python_value(const python_file *file, const char *name) {
    const int i = parse_find_name(file, name, strlen(name));
    return i >= 0 ? file->names[i].value : NULL;
}

const python_node *python_key(const python_node *dict, const char *key) {
    const python_node *value = NULL;
    for (const python_item *i = dict->kind == PYTHON_DICT ? dict->items : NULL; i; i = i->next) {
        value = strcmp(i->key, key) == 0 ? i->value : value;
    }
    return value;
}
