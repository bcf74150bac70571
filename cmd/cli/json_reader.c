/* A pull reader of JSON. */
#include "json_reader.h"
#include "numbers.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* At the next byte. */
static bool wrong(const json_reader *r, const char *what) {
    const long long line = r->line, column = r->column;
    return r->name ? refuse(r->why, "%s:%lld:%lld: %s; %s", r->name, line, column, what, r->remedy)
                   : refuse(r->why, "line %lld: %s; %s", line, what, r->remedy);
}

bool json_wrong(json_reader *r, const char *what) {
    r->line = r->event_line;
    r->column = r->event_column;
    return wrong(r, what);
}

static void read_byte(json_reader *r) {
    r->next = r->at < r->size ? (unsigned char)r->bytes[r->at] : r->stream ? getc_unlocked(r->stream) : EOF;
    r->at++;
}

static void skip(json_reader *r) {
    const bool newline = r->next == '\n';
    r->line += newline;
    r->column = newline ? 1 : r->column + 1;
    read_byte(r);
}

/* The next byte after blanks, where the event begins. */
static int peek_mark(json_reader *r) {
    while (r->next == ' ' || r->next == '\t' || r->next == '\n' || r->next == '\r') {
        skip(r);
    }
    r->event_line = r->line;
    r->event_column = r->column;
    return r->next;
}

/* "a colon is expected here", or why the file ends. */
static bool expected(const json_reader *r, const char *what) {
    char text[160];
    if (r->next == EOF && r->stream && ferror(r->stream)) {
        return wrong(r, errno ? strerror(errno) : "cannot be read to its end");
    }
    snprintf(text, sizeof text, "%s is expected here%s", what, r->next == EOF ? ", and the file ends" : "");
    return wrong(r, text);
}

static bool take_mark(json_reader *r, char mark, const char *what) {
    if (peek_mark(r) != mark) {
        return expected(r, what);
    }
    skip(r);
    return true;
}

/* ---- strings ----------------------------------------------------------------------------------------------------- */

static void put(json_reader *r, unsigned byte) {
    if (r->length + 1 < JSON_TEXT) {
        r->text[r->length] = (char)byte;
    }
    r->length++;
}

static void put_code(json_reader *r, unsigned code) {
    if (code < 0x80) {
        put(r, code);
        return;
    }
    const int tails = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    put(r, (tails == 1 ? 0xC0U : tails == 2 ? 0xE0U : 0xF0U) | code >> 6 * tails);
    for (int i = tails - 1; i >= 0; i--) {
        put(r, 0x80 | (code >> 6 * i & 0x3F));
    }
}

/* The four digits of \uXXXX, after the u. */
static bool take_unit(json_reader *r, unsigned *unit) {
    char digits[5] = "";
    for (int i = 0; i < 4; i++) {
        if (!isxdigit(r->next)) {
            return expected(r, "a hexadecimal digit");
        }
        digits[i] = (char)r->next;
        skip(r);
    }
    *unit = (unsigned)strtoul(digits, NULL, 16);
    return true;
}

/* After the backslash. */
static bool take_escape(json_reader *r) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *name = r->next > 0 ? strchr(names, r->next) : NULL;
    unsigned code = 0, low = 0;
    if (name) {
        skip(r);
        put(r, (unsigned char)values[name - names]);
        return true;
    }
    if (r->next != 'u') {
        return expected(r, "an escape of JSON");
    }
    skip(r);
    if (!take_unit(r, &code)) {
        return false;
    }
    if (code >= 0xD800 && code < 0xE000) {
        for (int i = 0; i < 2; i++) {
            if (code >= 0xDC00 || r->next != "\\u"[i]) {
                return expected(r, "a pair of surrogates");
            }
            skip(r);
        }
        if (!take_unit(r, &low)) {
            return false;
        }
        if (low < 0xDC00 || low >= 0xE000) {
            return expected(r, "a pair of surrogates");
        }
        code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF);
    }
    put_code(r, code);
    return true;
}

static bool take_string(json_reader *r) {
    r->length = 0;
    if (!take_mark(r, '"', "a string")) {
        return false;
    }
    while (r->next != '"') {
        const int c = r->next;
        if (c == EOF || c < 0x20) {
            return expected(r, "the end of a string");
        }
        skip(r);
        if (c != '\\') {
            put(r, (unsigned)c);
        } else if (!take_escape(r)) {
            return false;
        }
    }
    skip(r);
    r->text[r->length < JSON_TEXT ? r->length : JSON_TEXT - 1] = '\0';
    return true;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* A number, or a word of JSON. */
static json_event take_word(json_reader *r) {
    static const char words[] = " true false null NaN Infinity ";
    const bool is_word = isalpha(r->next);
    char text[64] = " ";
    size_t n = 1;
    while (n + 2 < sizeof text && (isalnum(r->next) || r->next == '-' || r->next == '.' || r->next == '+')) {
        text[n++] = (char)r->next;
        skip(r);
    }
    if (!is_word && number_parse(text + 1, &r->number)) {
        return JSON_NUMBER;
    }
    text[n] = ' ';
    if (is_word && strstr(words, text)) {
        return JSON_WORD;
    }
    expected(r, is_word || n == 1 ? "a value" : "a number");
    return JSON_WRONG;
}

static json_event take_value(json_reader *r) {
    const int c = peek_mark(r);
    r->state = JSON_AFTER_VALUE;
    if (c == '"') {
        return take_string(r) ? JSON_STRING : JSON_WRONG;
    }
    if (c != '{' && c != '[') {
        return take_word(r);
    }
    if (r->depth == JSON_DEPTH) {
        json_wrong(r, "lists and objects are more than 64 deep here");
        return JSON_WRONG;
    }
    r->closing[r->depth++] = c == '{' ? '}' : ']';
    r->state = JSON_AT_FIRST;
    skip(r);
    return c == '{' ? JSON_OBJECT : JSON_LIST;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

void json_begin(json_reader *r) {
    r->at = 0;
    r->line = r->column = r->event_line = r->event_column = 1;
    r->depth = 0;
    r->state = JSON_AT_VALUE;
    errno = 0;
    read_byte(r);
}

json_event json_next(json_reader *r) {
    const int closing = r->depth > 0 ? r->closing[r->depth - 1] : EOF;
    peek_mark(r);
    if (r->state == JSON_AFTER_VALUE && r->depth > 0 && r->next != closing) {
        if (!take_mark(r, ',',
                       closing == '}' ? "a comma or the end of the object" : "a comma or the end of the list")) {
            return JSON_WRONG;
        }
        peek_mark(r);
    }
    if (r->state != JSON_AT_VALUE && r->next == closing) {
        if (r->depth == 0) {
            return r->stream && ferror(r->stream) && !expected(r, "") ? JSON_WRONG : JSON_END;
        }
        skip(r);
        r->depth--;
        r->state = JSON_AFTER_VALUE;
        return closing == '}' ? JSON_OBJECT_END : JSON_LIST_END;
    }
    if (r->depth == 0 && r->state != JSON_AT_VALUE) {
        expected(r, "the end of the file");
        return JSON_WRONG;
    }
    if (closing == '}' && r->state != JSON_AT_VALUE) {
        r->state = JSON_AT_VALUE;
        return take_string(r) && take_mark(r, ':', "a colon") ? JSON_KEY : JSON_WRONG;
    }
    return take_value(r);
}

bool json_expect(json_reader *r, json_event event, const char *what) {
    const json_event found = json_next(r);
    char text[160];
    if (found == event || found == JSON_WRONG) {
        return found == event;
    }
    snprintf(text, sizeof text, "%s is expected here", what);
    return json_wrong(r, text);
}

bool json_skip(json_reader *r) {
    const int depth = r->depth;
    do {
        if (json_next(r) == JSON_WRONG) {
            return false;
        }
    } while (r->depth > depth);
    return true;
}

/* After the beginning of a list: takes its numbers up to its end; the event that follows the last of them. */
static json_event take_numbers(json_reader *r, json_member *m) {
    const int outside = r->depth - 1;
    json_event e;
    while ((e = json_next(r)) == JSON_NUMBER || e == JSON_LIST || (e == JSON_LIST_END && r->depth > outside)) {
        if (e == JSON_NUMBER && m->count < JSON_NUMBERS) {
            m->numbers[m->count] = r->number;
        }
        m->count += e == JSON_NUMBER && m->count < 1 << 20;
    }
    return e;
}

json_event json_next_member(json_reader *r, json_member *m) {
    for (bool named = false;;) {
        json_event e = json_next(r);
        m->count = 0;
        if (e == JSON_NUMBER) {
            m->numbers[m->count++] = r->number;
        } else if (e == JSON_LIST) {
            e = take_numbers(r, m);
        }
        if (e == JSON_WRONG || e == JSON_END || (named && m->count > 0 && (e == JSON_NUMBER || e == JSON_LIST_END))) {
            return e == JSON_WRONG || e == JSON_END ? e : JSON_KEY;
        }
        named = e == JSON_KEY;
        if (named) {
            memcpy(m->key, r->text, sizeof m->key);
        }
    }
}
