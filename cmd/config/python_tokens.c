/* The tokens of a Python file: names, numbers, strings, and the ends of logical lines. */
#include "python_tokens.h"

#include <string.h>

bool python_wrong_at(const python_tokens *t, int line, int column, const char *what) {
    return refuse(t->why, "%s:%d:%d: %s", t->path, line, column, what);
}

bool python_is_mark(const python_token *token, char mark) {
    return token->kind == TOKEN_MARK && *token->text == mark;
}

bool python_is_name(const python_token *token, const char *name) {
    return token->kind == TOKEN_NAME && token->length == strlen(name) && memcmp(token->text, name, token->length) == 0;
}

/* The character `k` places ahead; 0 past the end. */
static int ahead(const python_tokens *t, size_t k) {
    return (size_t)(t->end - t->at) > k ? (unsigned char)t->at[k] : 0;
}

static int column_of(const python_tokens *t) {
    return (int)(t->at - t->line_start) + 1;
}

static bool wrong_here(const python_tokens *t, const char *what) {
    return python_wrong_at(t, t->line, column_of(t), what);
}

static bool is_digit(int c) {
    return c >= '0' && c <= '9';
}

/* Bytes above 127 are letters of other alphabets. */
static bool is_letter(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 128;
}

static void take_line_end(python_tokens *t) {
    t->at++;
    t->line++;
    t->line_start = t->at;
}

/* Skips blanks, comments, joined lines and, within brackets, line ends. */
static void skip_blanks(python_tokens *t) {
    for (;;) {
        const int c = ahead(t, 0);
        if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
            t->at++;
        } else if (c == '#') {
            while (t->at < t->end && *t->at != '\n') {
                t->at++;
            }
        } else if (c == '\\' && (ahead(t, 1) == '\n' || (ahead(t, 1) == '\r' && ahead(t, 2) == '\n'))) {
            t->at += ahead(t, 1) == '\r' ? 2 : 1;
            take_line_end(t);
        } else if (c == '\n' && t->depth > 0) {
            take_line_end(t);
        } else {
            return;
        }
    }
}

/* The prefix of a string, r, b, f and u in any order, or 0 for none. */
static size_t string_prefix(const python_tokens *t, bool *is_string) {
    size_t n = 0;
    while (n < 2 && ahead(t, n) && strchr("rRbBfFuU", ahead(t, n))) {
        n++;
    }
    *is_string = ahead(t, n) == '"' || ahead(t, n) == '\'';
    return n;
}

static bool take_string(python_tokens *t, size_t prefix) {
    python_token *token = &t->token;
    for (size_t i = 0; i < prefix; i++) {
        token->raw = token->raw || strchr("rR", t->at[i]) != NULL;
        token->code_string = token->code_string || strchr("bBfF", t->at[i]) != NULL;
    }
    const int quote = ahead(t, prefix);
    const size_t quotes = ahead(t, prefix + 1) == quote && ahead(t, prefix + 2) == quote ? 3 : 1;
    const int line = t->line, column = column_of(t);
    token->kind = TOKEN_STRING;
    token->quotes = prefix + quotes;
    t->at += token->quotes;
    for (size_t closing = 0; closing < quotes;) {
        const int c = ahead(t, 0);
        if (t->at == t->end || (quotes == 1 && c == '\n')) {
            return python_wrong_at(t, line, column, "a string that does not end; close its quotes");
        }
        closing = c == quote ? closing + 1 : 0;
        if (c == '\\' && t->at + 1 < t->end) {
            t->at++;
        }
        if (*t->at == '\n') {
            take_line_end(t);
        } else {
            t->at++;
        }
    }
    return true;
}

/* Digits, letters and points: 0.16, 1e-3, 0x10, 1_000; what is no number that C reads is found later. */
static void take_number(python_tokens *t) {
    t->token.kind = TOKEN_NUMBER;
    while (is_digit(ahead(t, 0)) || is_letter(ahead(t, 0)) || ahead(t, 0) == '.') {
        const int c = ahead(t, 0);
        const bool exponent = (c == 'e' || c == 'E') && !(t->at - t->token.text > 1 && t->token.text[1] == 'x');
        t->at += exponent && (ahead(t, 1) == '-' || ahead(t, 1) == '+') ? 2 : 1;
    }
}

static bool take_mark(python_tokens *t) {
    const int c = ahead(t, 0);
    t->token.kind = TOKEN_MARK;
    if (c == '(' || c == '[' || c == '{') {
        if (t->depth == PYTHON_DEPTH) {
            return wrong_here(t, "brackets are more than 64 deep here; leave some out");
        }
        t->open[t->depth++] = (char)(c == '(' ? ')' : c == '[' ? ']' : '}');
    } else if (c == ')' || c == ']' || c == '}') {
        if (t->depth == 0 || t->open[t->depth - 1] != c) {
            return wrong_here(t, "a bracket closes that is not open; give valid Python");
        }
        t->depth--;
    } else if (c < ' ' || c == 127 || c == '\\') {
        return wrong_here(t, "a byte that is no part of Python; give a text file");
    }
    t->at++;
    return true;
}

bool python_next(python_tokens *t) {
    python_token *token = &t->token;
    skip_blanks(t);
    *token = (python_token){.text = t->at, .line = t->line, .column = column_of(t)};
    const int c = ahead(t, 0);
    bool is_string, good = true;
    const size_t prefix = string_prefix(t, &is_string);
    if (t->at == t->end) {
        token->kind = TOKEN_END;
        good = t->depth == 0 || wrong_here(t, "the file ends within brackets; close them");
    } else if (c == '\n') {
        token->kind = TOKEN_NEWLINE;
        take_line_end(t);
    } else if (c == ';' && t->depth == 0) {
        token->kind = TOKEN_NEWLINE;
        t->at++;
    } else if (is_string) {
        good = take_string(t, prefix);
    } else if (is_digit(c) || (c == '.' && is_digit(ahead(t, 1)))) {
        take_number(t);
    } else if (is_letter(c)) {
        token->kind = TOKEN_NAME;
        while (is_letter(ahead(t, 0)) || is_digit(ahead(t, 0))) {
            t->at++;
        }
    } else {
        good = take_mark(t);
    }
    token->length = (size_t)(t->at - token->text);
    return good;
}

bool python_tokens_begin(python_tokens *t, const char *path, const char *text, size_t size, reason *why) {
    *t = (python_tokens){.path = path, .at = text, .end = text + size, .line = 1, .line_start = text, .why = why};
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        t->at += 3;
        t->line_start += 3;
    }
    return python_next(t);
}
