/* JSON on one line. */
#include "report.h"
#include "numbers.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Bytes of the well-formed UTF-8 sequence at p (RFC 3629), or 0. */
static int utf8_length(const unsigned char *p) {
    int n = p[0] < 0x80                   ? 1
            : p[0] >= 0xC2 && p[0] < 0xE0 ? 2
            : p[0] >= 0xE0 && p[0] < 0xF0 ? 3
            : p[0] >= 0xF0 && p[0] < 0xF5 ? 4
                                          : 0;
    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xF0 && p[1] < 0x90);
    bool beyond = (p[0] == 0xED && p[1] >= 0xA0) || (p[0] == 0xF4 && p[1] >= 0x90);
    return overlong || beyond ? 0 : n;
}

/* The control character at p: those of ASCII and, in two bytes, of C1. */
static bool is_control(const unsigned char *p) {
    return *p < 0x20 || *p == 0x7F || (*p == 0xC2 && p[1] < 0xA0);
}

void json_print_string(FILE *out, const char *text) {
    fputc('"', out);
    const unsigned char *p = (const unsigned char *)text;
    while (*p) {
        int n = utf8_length(p);
        if (n == 0) {
            fputs("\\ufffd", out);
            n = 1;
        } else if (*p == '"' || *p == '\\') {
            fprintf(out, "\\%c", *p);
        } else if (is_control(p)) {
            fprintf(out, "\\u%04x", p[n - 1]);
        } else {
            fwrite(p, 1, (size_t)n, out);
        }
        p += n;
    }
    fputc('"', out);
}

void json_print_strings(FILE *out, const char *const *texts, int count) {
    for (int i = 0; i < count; i++) {
        fputs(i ? ", " : "[", out);
        json_print_string(out, texts[i]);
    }
    fputc(']', out);
}

int print_shown(FILE *out, const char *text) {
    int columns = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        const int n = utf8_length(p);
        if (n > 0 && !is_control(p)) {
            fwrite(p, 1, (size_t)n, out);
            p += n;
            columns++;
            continue;
        }
        for (int i = 0; i < n || i == 0; i++) {
            columns += fprintf(out, "\\x%02x", *p++);
        }
    }
    return columns;
}

void json_key(json *j, const char *key) {
    if (!j->first) {
        fputs(", ", j->out);
    }
    j->first = false;
    json_print_string(j->out, key);
    fputs(": ", j->out);
}

void json_open(json *j, const char *key) {
    if (key) {
        json_key(j, key);
    }
    fputc('{', j->out);
    j->first = true;
}

void json_close(json *j) {
    fputc('}', j->out);
    j->first = false;
}

void json_text(json *j, const char *key, const char *value) {
    json_key(j, key);
    if (value) {
        json_print_string(j->out, value);
    } else {
        fputs("null", j->out);
    }
}

void json_integer(json *j, const char *key, int64_t value) {
    json_key(j, key);
    fprintf(j->out, "%" PRId64, value);
}

static void print_value(FILE *out, double value) {
    char buffer[NUMBER_SIZE];
    fputs(isfinite(value) ? number_text(value, false, buffer) : "null", out);
}

void json_number(json *j, const char *key, double value) {
    json_key(j, key);
    print_value(j->out, value);
}

void json_boolean(json *j, const char *key, bool value) {
    json_key(j, key);
    fputs(value ? "true" : "false", j->out);
}

void json_numbers(json *j, const char *key, const double *values, int count) {
    json_key(j, key);
    fputc('[', j->out);
    for (int i = 0; i < count; i++) {
        fputs(i ? ", " : "", j->out);
        print_value(j->out, values[i]);
    }
    fputc(']', j->out);
}
