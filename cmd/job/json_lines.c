#define _XOPEN_SOURCE 700 /* getline */
#include "json_lines.h"
#include "json_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of "inputs". */
static bool find_inputs(json_line *line, const char *command) {
    reason unused;
    json_reader r = {.bytes = line->text, .size = strlen(line->text), .remedy = "", .why = &unused};
    json_begin(&r);
    bool known = json_expect(&r, JSON_OBJECT, "") && json_expect(&r, JSON_KEY, "") && strcmp(r.text, "command") == 0 &&
                 json_expect(&r, JSON_STRING, "") && strcmp(r.text, command) == 0;
    while (known && json_next(&r) == JSON_KEY) {
        const bool found = strcmp(r.text, "inputs") == 0;
        line->inputs = line->text + r.at; /* behind the blank */
        known = json_skip(&r);
        line->length = (size_t)(line->text + r.at - 1 - line->inputs);
        if (known && found) {
            return true;
        }
    }
    return false;
}

static int compare(const char *a, size_t a_length, const char *b, size_t b_length) {
    const int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int by_inputs(const void *a, const void *b) {
    const json_line *p = a, *q = b;
    const int order = compare(p->inputs, p->length, q->inputs, q->length);
    return order ? order : q->order - p->order;
}

static bool add(json_lines *lines, const json_line *line) {
    if ((lines->count & (lines->count - 1)) == 0) { /* the capacity doubles at powers of two */
        json_line *items = realloc(lines->items, (lines->count ? 2 * (size_t)lines->count : 1) * sizeof *items);
        if (!items) {
            return false;
        }
        lines->items = items;
    }
    lines->items[lines->count++] = *line;
    return true;
}

bool json_lines_read(const char *path, const char *command, json_lines *lines) {
    FILE *file = fopen(path, "r");
    bool good = true;
    for (json_line line = {0}; file && good; line = (json_line){.order = lines->count}) {
        size_t size = 0;
        if (getline(&line.text, &size, file) < 0) {
            free(line.text);
            break;
        }
        const bool known = find_inputs(&line, command);
        good = !known || add(lines, &line);
        lines->others = lines->others || !known;
        if (!known || !good) {
            free(line.text);
        }
    }
    if (file) {
        fclose(file);
    }
    if (lines->count > 0) {
        qsort(lines->items, (size_t)lines->count, sizeof *lines->items, by_inputs);
    }
    return good;
}

const char *json_lines_find(const json_lines *lines, const char *inputs, size_t length) {
    int low = 0, high = lines->count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (compare(lines->items[middle].inputs, lines->items[middle].length, inputs, length) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const json_line *line = &lines->items[low];
    return low < lines->count && compare(line->inputs, line->length, inputs, length) == 0 ? line->text : NULL;
}

void json_lines_free(json_lines *lines) {
    for (int i = 0; i < lines->count; i++) {
        free(lines->items[i].text);
    }
    free(lines->items);
    *lines = (json_lines){0};
}
