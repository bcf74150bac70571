/* The numbers of a JSON text, without a tree: files of cameras and trajectories hold little else. */
#include "json_scan.h"
#include "numbers.h"

#include <string.h>

enum { DEPTH = 64 };

json_scan json_scan_begin(const char *text, size_t size) {
    return (json_scan){text, text, text + size, 0};
}

static json_event wrong(const json_scan *s, const char *what, reason *why) {
    long line = 1;
    for (const char *p = s->begin; p < s->p; p++) {
        line += *p == '\n';
    }
    refuse(why, "line %ld: %s; give JSON as Open3D writes it", line, what);
    return JSON_WRONG;
}

static void skip_blanks(json_scan *s) {
    while (s->p < s->end && strchr(" \t\r\n,:", *s->p) && *s->p) {
        s->p++;
    }
}

/* Takes a string; false without its end. */
static bool take_string(json_scan *s, char out[JSON_KEY]) {
    size_t n = 0;
    for (s->p++; s->p < s->end && *s->p != '"'; s->p++) {
        s->p += *s->p == '\\' && s->p + 1 < s->end;
        if (n + 1 < JSON_KEY) {
            out[n++] = *s->p;
        }
    }
    out[n] = '\0';
    return s->p++ < s->end;
}

static bool take_number(json_scan *s, double *value) {
    char word[64];
    const size_t n = strspn(s->p, "+-.0123456789eE");
    if (n == 0 || n >= sizeof word) {
        return false;
    }
    memcpy(word, s->p, n);
    word[n] = '\0';
    s->p += n;
    return number_parse(word, value);
}

static void add(json_member *m, double value) {
    if (m->count < JSON_NUMBERS) {
        m->numbers[m->count] = value;
    }
    m->count += m->count < 1 << 20;
}

/* Takes an array of numbers, nested or not. *only: nothing else was in it; else the scan continues behind its
 * numbers. */
static json_event take_array(json_scan *s, json_member *m, bool *only, reason *why) {
    int open = 0;
    *only = true;
    do {
        double value;
        skip_blanks(s);
        if (s->p >= s->end || open > DEPTH) {
            return wrong(s, s->p >= s->end ? "a list without its end" : "lists are more than 64 deep", why);
        }
        if (*s->p == '[' || *s->p == ']') {
            open += *s->p++ == '[' ? 1 : -1;
        } else if (take_number(s, &value)) {
            add(m, value);
        } else {
            *only = false;
            s->depth += open;
            return JSON_MEMBER;
        }
    } while (open > 0);
    return JSON_MEMBER;
}

/* A word such as true, null or NaN. */
static bool take_word(json_scan *s) {
    const char *begin = s->p;
    while (s->p < s->end && ((*s->p >= 'a' && *s->p <= 'z') || (*s->p >= 'A' && *s->p <= 'Z'))) {
        s->p++;
    }
    return s->p > begin;
}

json_event json_scan_next(json_scan *s, json_member *m, reason *why) {
    *m = (json_member){.count = 0};
    for (;;) {
        bool only = false;
        double value;
        skip_blanks(s);
        if (s->p >= s->end) {
            return s->depth == 0 ? JSON_END : wrong(s, "the text ends within an object or a list", why);
        }
        if (*s->p == '"') {
            if (!take_string(s, m->key)) {
                return wrong(s, "a string without its end", why);
            }
            continue; /* a key, or a value that the next key replaces */
        }
        m->count = 0;
        if (*s->p == '[') {
            if (take_array(s, m, &only, why) == JSON_WRONG) {
                return JSON_WRONG;
            }
        } else if (*s->p == '{' || *s->p == '}' || *s->p == ']') {
            s->depth += *s->p++ == '{' ? 1 : -1;
        } else if (take_number(s, &value)) {
            add(m, value);
            only = true;
        } else if (!take_word(s)) {
            return wrong(s, "neither a number nor a name nor a list", why);
        }
        if (s->depth < 0 || s->depth > DEPTH) {
            return wrong(s, s->depth < 0 ? "an end without its begin" : "objects are more than 64 deep", why);
        }
        if (only && m->count > 0 && m->key[0]) {
            return JSON_MEMBER;
        }
        m->key[0] = '\0';
    }
}
