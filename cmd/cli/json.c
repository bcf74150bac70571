/* JSON on one line. */
#include "report.h"
#include "numbers.h"
#include "shown.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void json_print_string(FILE *out, const char *text) {
    fputc('"', out);
    const unsigned char *p = (const unsigned char *)text;
    while (*p) {
        int n;
        const unsigned code = pc_code_at(p, &n);
        if (n == 0) {
            fputs("\\ufffd", out);
            n = 1;
        } else if (*p == '"' || *p == '\\') {
            fprintf(out, "\\%c", *p);
        } else if (!pc_code_is_shown(code)) {
            fprintf(out, "\\u%04x", code);
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
        int n;
        if (pc_code_is_shown(pc_code_at(p, &n)) && n > 0) {
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
