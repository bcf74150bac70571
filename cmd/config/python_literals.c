/* The expressions of a Python file that are literals; all others are code, which is skipped. */
#include "python_parser.h"

#include <stdlib.h>
#include <string.h>

/* Appends to a list or dict; *last is its last item. */
static bool append(parser *p, python_node *node, python_item **last, const char *key, const python_node *value) {
    python_item *item = parse_take(p, sizeof *item);
    if (item) {
        *item = (python_item){.key = key, .value = value};
        *(*last ? &(*last)->next : &node->items) = item;
        *last = item;
    }
    return item;
}

static bool next(parser *p) {
    return python_next(&p->tokens);
}

static bool is_mark(const parser *p, char mark) {
    return python_is_mark(&p->tokens.token, mark);
}

/* Whether an expression ends before this token. */
static bool is_at_end(const parser *p) {
    const python_token *t = &p->tokens.token;
    return t->kind == TOKEN_END || t->kind == TOKEN_NEWLINE ||
           (t->kind == TOKEN_MARK && *t->text && strchr(",)]}", *t->text));
}

/* Moves from a lambda to its colon, over commas that end no expression. */
static bool skip_parameters(parser *p) {
    const int depth = p->tokens.depth;
    while (p->tokens.token.kind != TOKEN_END && p->tokens.token.kind != TOKEN_NEWLINE && p->tokens.depth >= depth &&
           !(is_mark(p, ':') && p->tokens.depth == depth)) {
        if (!next(p)) {
            return false;
        }
    }
    return true;
}

/* Turns the node into code, and skips the rest of its expression. The brackets that were open at its begin are `depth`;
 * the current token is part of the expression, or after it. */
static bool skip_code(parser *p, python_node *node, int depth) {
    node->kind = PYTHON_CODE;
    node->items = NULL;
    while (p->tokens.token.kind != TOKEN_END) {
        /* A closing bracket has already been counted. */
        const bool closing = is_mark(p, ')') || is_mark(p, ']') || is_mark(p, '}');
        if (p->tokens.depth < depth || (p->tokens.depth == depth && is_at_end(p) && !closing)) {
            return true;
        }
        if (python_is_name(&p->tokens.token, "lambda")) {
            if (!skip_parameters(p)) {
                return false;
            }
            continue;
        }
        const char *at = p->tokens.token.text;
        if (is_mark(p, '=') && p->tokens.depth == 0 && !strchr("=<>!:", at[-1]) && at[1] != '=') {
            return parse_wrong(p, "a second name is assigned in this line; give each its own line");
        }
        if (!next(p)) {
            return false;
        }
    }
    return true;
}

/* Appends the bytes of a string literal. A newline, a quote and a backslash may be escaped; other escapes stay. */
static size_t unquote(const python_token *t, size_t quotes, char *out) {
    const char *from = t->text + t->quotes, *end = t->text + t->length - quotes;
    size_t n = 0;
    for (; from < end; from++) {
        if (*from == '\\' && !t->raw && from + 1 < end && strchr("\\'\"\n", from[1])) {
            from++;
            if (*from == '\n') {
                continue;
            }
        }
        out[n++] = *from;
    }
    return n;
}

bool parse_string(parser *p, python_node *node) {
    char *joined = NULL;
    size_t length = 0, capacity = 0;
    node->kind = PYTHON_STRING;
    while (p->tokens.token.kind == TOKEN_STRING) {
        const python_token t = p->tokens.token;
        const size_t quotes = t.quotes >= 3 && t.text[t.quotes - 2] == t.text[t.quotes - 1] ? 3 : 1;
        if (capacity < length + t.length + 1) {
            capacity = 2 * (length + t.length + 1);
            char *longer = parse_take(p, capacity);
            if (!longer) {
                return false;
            }
            joined = length ? memcpy(longer, joined, length) : longer;
        }
        length += unquote(&t, quotes, joined + length);
        joined[length] = '\0';
        if (t.code_string || memchr(joined, '\0', length)) {
            node->kind = PYTHON_CODE;
        }
        if (!next(p)) {
            return false;
        }
    }
    node->text = joined;
    return true;
}

/* A number with a sign before it, as C reads it: without underscores, and decimal. */
static bool parse_number(parser *p, python_node *node, bool minus) {
    const python_token *t = &p->tokens.token;
    char text[64] = "-";
    size_t n = minus;
    char *end;
    for (size_t i = 0; i < t->length && n + 1 < sizeof text; i++) {
        if (t->text[i] != '_') {
            text[n++] = t->text[i];
        }
    }
    text[n] = '\0';
    strtod(text, &end);
    const bool decimal = strspn(text, "+-.0123456789eE") == n && *end == '\0' && n + 1 < sizeof text;
    node->kind = decimal ? PYTHON_NUMBER : PYTHON_CODE;
    node->text = parse_take_text(p, text, n);
    return node->text && next(p);
}

/* The items of a list, tuple or parenthesis, after its opening bracket. */
static bool parse_list(parser *p, python_node *node, int depth) {
    const bool round = is_mark(p, '(');
    const char closing = round ? ')' : ']';
    python_item *last = NULL;
    bool comma = false;
    node->kind = PYTHON_LIST;
    if (!next(p)) {
        return false;
    }
    while (!is_mark(p, closing)) {
        const python_node *value = is_mark(p, '*') ? NULL : parse_expression(p);
        if (!value && is_mark(p, '*')) {
            return skip_code(p, node, depth);
        }
        if (!value || !append(p, node, &last, NULL, value)) {
            return false;
        }
        comma = comma || is_mark(p, ',');
        if (is_mark(p, ',') && !next(p)) { /* else the bracket closes: an expression ends at nothing else */
            return false;
        }
    }
    if (round && !comma && last) { /* a value in parentheses */
        *node = *last->value;
    }
    return next(p);
}

/* The key of an entry and what follows it, in dict(NAME=...) or {'NAME': ...}; *key NULL: not such an entry. */
static bool parse_key(parser *p, bool call, const char **key) {
    python_node name = {0};
    *key = NULL;
    if (call && p->tokens.token.kind == TOKEN_NAME) {
        const python_token t = p->tokens.token;
        *key = parse_take_text(p, t.text, t.length);
        if (!*key || !next(p)) {
            return false;
        }
    } else if (!call && p->tokens.token.kind == TOKEN_STRING) {
        if (!parse_string(p, &name)) {
            return false;
        }
        *key = name.kind == PYTHON_STRING ? name.text : NULL;
    }
    if (!*key || !is_mark(p, call ? '=' : ':')) {
        *key = NULL;
        return true;
    }
    return next(p);
}

/* The entries of a dict, from its opening bracket. What is no entry, such as **NAME, makes the whole dict code. */
static bool parse_dict(parser *p, python_node *node, int depth) {
    const bool call = is_mark(p, '(');
    const char closing = call ? ')' : '}';
    python_item *last = NULL;
    node->kind = PYTHON_DICT;
    if (!next(p)) {
        return false;
    }
    while (!is_mark(p, closing)) {
        const char *key;
        if (!parse_key(p, call, &key)) {
            return false;
        }
        if (!key) {
            return skip_code(p, node, depth);
        }
        const python_node *value = parse_expression(p);
        if (!value || !append(p, node, &last, key, value)) {
            return false;
        }
        if (is_mark(p, ',') && !next(p)) { /* else the bracket closes: an expression ends at nothing else */
            return false;
        }
    }
    return next(p);
}

/* A name: a word of Python, dict(...), or one that was assigned. */
static bool parse_name(parser *p, python_node *node, int depth) {
    const python_token t = p->tokens.token;
    const int named = parse_find_name(p->file, t.text, t.length);
    node->kind = python_is_name(&t, "None") ? PYTHON_NONE : PYTHON_CODE;
    if (python_is_name(&t, "True") || python_is_name(&t, "False")) {
        node->kind = PYTHON_BOOLEAN;
        node->text = t.length == 4 ? "True" : "False";
    }
    if (python_is_name(&t, "lambda")) {
        return skip_code(p, node, depth);
    }
    if (!next(p)) {
        return false;
    }
    if (python_is_name(&t, "dict") && is_mark(p, '(')) {
        return parse_dict(p, node, depth);
    }
    if (node->kind == PYTHON_CODE && named >= 0 && is_at_end(p)) {
        const int line = node->line, column = node->column;
        *node = *p->file->names[named].value;
        if (node->kind != PYTHON_CODE) { /* of code, the place of the code */
            node->line = line;
            node->column = column;
        }
    }
    return true;
}

const python_node *parse_expression(parser *p) {
    const bool opens = is_mark(p, '(') || is_mark(p, '[') || is_mark(p, '{');
    const int depth = p->tokens.depth - opens;
    python_node *node = parse_node(p);
    bool good = node;
    const bool minus = is_mark(p, '-'), sign = minus || is_mark(p, '+');
    if (node && sign) {
        good = next(p);
    }
    if (!good || (sign && p->tokens.token.kind != TOKEN_NUMBER)) {
        return good && skip_code(p, node, depth) ? node : NULL;
    }
    switch (p->tokens.token.kind) {
    case TOKEN_NUMBER: good = parse_number(p, node, minus); break;
    case TOKEN_STRING: good = parse_string(p, node); break;
    case TOKEN_NAME: good = parse_name(p, node, depth); break;
    default:
        if (opens) {
            good = is_mark(p, '{') ? parse_dict(p, node, depth) : parse_list(p, node, depth);
        }
    }
    if (good && !is_at_end(p)) { /* an operator, a call, an attribute, a comprehension */
        good = skip_code(p, node, depth);
    }
    return good ? node : NULL;
}
