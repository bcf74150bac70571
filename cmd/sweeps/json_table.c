/* A reader of JSON (RFC 8259) for lists of objects. */
#include "json_table.h"
#include "files.h"
#include "numbers.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static bool wrong(const json_table *r, const char *what) {
    return refuse(r->why, "%s:%lld:%lld: %s", r->path, (long long)r->line, (long long)r->column, what);
}

/* The next byte, which stays; EOF at the end. */
static int peek(json_table *r) {
    if (r->at == r->size) {
        r->size = fread(r->buffer, 1, sizeof r->buffer, r->stream);
        r->at = 0;
    }
    return r->at < r->size ? r->buffer[r->at] : EOF;
}

static void skip(json_table *r) {
    const bool newline = r->buffer[r->at++] == '\n';
    r->line += newline;
    r->column = newline ? 1 : r->column + 1;
}

/* The next byte after blanks. */
static int peek_mark(json_table *r) {
    int c;
    while ((c = peek(r)) == ' ' || c == '\t' || c == '\n' || c == '\r') {
        skip(r);
    }
    return c;
}

/* "a , is expected here", or why the file ends. */
static bool expected(json_table *r, const char *what) {
    char text[160];
    if (peek(r) == EOF && ferror(r->stream)) {
        return wrong(r, errno ? strerror(errno) : "cannot be read to its end");
    }
    snprintf(text, sizeof text, "%s is expected here%s; give a table in JSON: [{...}, ...]", what,
             peek(r) == EOF ? ", and the file ends" : "");
    return wrong(r, text);
}

static bool take_mark(json_table *r, char mark, const char *what) {
    if (peek_mark(r) != mark) {
        return expected(r, what);
    }
    skip(r);
    return true;
}

/* ---- strings ----------------------------------------------------------------------------------------------------- */

/* A text that is kept; without `out` it is skipped. */
typedef struct kept {
    char *out;
    size_t length;
} kept;

static bool put(json_table *r, kept *k, unsigned byte) {
    if (k->out && k->length + 1 == JSON_TEXT) {
        return wrong(r, "a string of more than 511 bytes; give a table of nuScenes");
    }
    if (k->out) {
        k->out[k->length++] = (char)byte;
    }
    return true;
}

static bool put_code(json_table *r, kept *k, unsigned code) {
    const unsigned tail = 0x80 | (code & 0x3F);
    if (code == 0 && k->out) {
        return wrong(r, "a string with a zero byte; give a table of nuScenes");
    }
    return code < 0x80      ? put(r, k, code)
           : code < 0x800   ? put(r, k, 0xC0 | code >> 6) && put(r, k, tail)
           : code < 0x10000 ? put(r, k, 0xE0 | code >> 12) && put(r, k, 0x80 | (code >> 6 & 0x3F)) && put(r, k, tail)
                            : put(r, k, 0xF0 | code >> 18) && put(r, k, 0x80 | (code >> 12 & 0x3F)) &&
                                  put(r, k, 0x80 | (code >> 6 & 0x3F)) && put(r, k, tail);
}

/* The four digits of \uXXXX. */
static bool take_unit(json_table *r, unsigned *unit) {
    *unit = 0;
    for (int i = 0; i < 4; i++) {
        const int c = peek(r);
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) {
            return expected(r, "a hexadecimal digit");
        }
        *unit = 16 * *unit + (unsigned)digit;
        skip(r);
    }
    return true;
}

/* After the backslash. */
static bool take_escape(json_table *r, kept *k) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const int c = peek(r);
    const char *name = c > 0 && c != EOF ? strchr(names, c) : NULL;
    unsigned high, low;
    if (name) {
        skip(r);
        return put(r, k, (unsigned char)values[name - names]);
    }
    if (c != 'u') {
        return expected(r, "an escape of JSON");
    }
    skip(r);
    if (!take_unit(r, &high)) {
        return false;
    }
    if (high < 0xD800 || high > 0xDFFF) {
        return put_code(r, k, high);
    }
    if (high > 0xDBFF || peek(r) != '\\') {
        return expected(r, "a pair of surrogates");
    }
    skip(r);
    if (peek(r) != 'u') {
        return expected(r, "a pair of surrogates");
    }
    skip(r);
    if (!take_unit(r, &low)) {
        return false;
    }
    return low >= 0xDC00 && low <= 0xDFFF ? put_code(r, k, 0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF))
                                          : expected(r, "a pair of surrogates");
}

static bool take_string(json_table *r, char *out) {
    kept k = {.out = out};
    if (!take_mark(r, '"', "a string")) {
        return false;
    }
    for (int c; (c = peek(r)) != '"';) {
        if (c == EOF || c < 0x20) {
            return expected(r, "the end of a string");
        }
        skip(r);
        if (c == '\\' ? !take_escape(r, &k) : !put(r, &k, (unsigned)c)) {
            return false;
        }
    }
    skip(r);
    if (out) {
        out[k.length] = '\0';
    }
    return true;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static bool is_of_number(int c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static bool take_number(json_table *r, double *value) {
    char text[64];
    size_t n = 0;
    peek_mark(r);
    for (int c; n + 1 < sizeof text && is_of_number(c = peek(r)); n++) {
        text[n] = (char)c;
        skip(r);
    }
    text[n] = '\0';
    return (n > 0 && number_parse(text, value) && isfinite(*value)) || expected(r, "a number");
}

/* true, false, null or a number. */
static bool skip_word(json_table *r) {
    char text[8];
    size_t n = 0;
    double value;
    if (is_of_number(peek(r))) {
        return take_number(r, &value);
    }
    for (int c; n + 1 < sizeof text && (c = peek(r)) >= 'a' && c <= 'z'; n++) {
        text[n] = (char)c;
        skip(r);
    }
    text[n] = '\0';
    return strcmp(text, "true") == 0 || strcmp(text, "false") == 0 || strcmp(text, "null") == 0 ||
           expected(r, "a value");
}

/* Skips any value, without recursion. */
static bool skip_value(json_table *r) {
    char closing[JSON_DEPTH];
    int depth = 0;
    do {
        const int c = peek_mark(r);
        bool opens = c == '[' || c == '{';
        if (opens && depth == JSON_DEPTH) {
            return wrong(r, "lists and objects are more than 64 deep here; give a table of nuScenes");
        }
        if (opens) {
            closing[depth++] = c == '[' ? ']' : '}';
            skip(r);
        } else if (c == '"' ? !take_string(r, NULL) : !skip_word(r)) {
            return false;
        }
        /* Ends, commas and keys up to the next value. */
        if (opens && peek_mark(r) == closing[depth - 1]) {
            skip(r);
            depth--;
            opens = false;
        }
        while (depth > 0 && !opens && peek_mark(r) == closing[depth - 1]) {
            skip(r);
            depth--;
        }
        if (depth > 0 && !opens && !take_mark(r, ',', "a comma or a closing bracket")) {
            return false;
        }
        if (depth > 0 && closing[depth - 1] == '}' && (!take_string(r, NULL) || !take_mark(r, ':', "a colon"))) {
            return false;
        }
    } while (depth > 0);
    return true;
}

static bool take_member(json_table *r, json_member *m) {
    m->found = true;
    if (m->numbers <= 1) {
        return m->numbers ? take_number(r, &m->values[0]) : take_string(r, m->text);
    }
    for (int i = 0; i < m->numbers; i++) {
        if (!take_mark(r, i ? ',' : '[', i ? "another number of a list" : "a list of numbers") ||
            !take_number(r, &m->values[i])) {
            return false;
        }
    }
    return take_mark(r, ']', "the end of a list of numbers");
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

static bool take_object(json_table *r, json_member *members, int count) {
    char key[JSON_TEXT];
    if (!take_mark(r, '{', "an object")) {
        return false;
    }
    for (bool first = true; peek_mark(r) != '}'; first = false) {
        json_member *wanted = NULL;
        if ((!first && !take_mark(r, ',', "a comma or the end of the object")) || !take_string(r, key) ||
            !take_mark(r, ':', "a colon")) {
            return false;
        }
        for (int i = 0; i < count; i++) {
            wanted = strcmp(members[i].key, key) == 0 ? &members[i] : wanted;
        }
        if (wanted ? !take_member(r, wanted) : !skip_value(r)) {
            return false;
        }
    }
    for (int i = 0; i < count; i++) {
        if (!members[i].found) {
            char text[100];
            snprintf(text, sizeof text, "the object that ends here has no \"%s\"; give a table of nuScenes",
                     members[i].key);
            return wrong(r, text);
        }
    }
    skip(r);
    return true;
}

bool json_table_open(json_table *r, const char *path, reason *why) {
    reason inner;
    r->stream = input_try(path, &inner);
    r->path = path;
    r->why = why;
    r->line = r->column = 1;
    r->begun = false;
    r->at = r->size = 0;
    errno = 0;
    return r->stream || refuse(why, "%s: %s", path, inner.text);
}

json_result json_table_next(json_table *r, json_member *members, int count) {
    for (int i = 0; i < count; i++) {
        members[i].found = false;
    }
    if (!r->begun && !take_mark(r, '[', "a list")) {
        return JSON_FAILED;
    }
    const bool first = !r->begun;
    r->begun = true;
    if (peek_mark(r) == ']') {
        skip(r);
        return peek_mark(r) == EOF && !ferror(r->stream) ? JSON_END
               : expected(r, "the end of the file")      ? JSON_END
                                                         : JSON_FAILED;
    }
    return (first || take_mark(r, ',', "a comma or the end of the list")) && take_object(r, members, count)
               ? JSON_OBJECT
               : JSON_FAILED;
}

void json_table_close(json_table *r) {
    input_close(r->stream);
    r->stream = NULL;
}
