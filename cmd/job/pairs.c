/* Lists of pairs of clouds. */
#include "pairs.h"
#include "heap.h"
#include "lines.h"

#include <stdlib.h>
#include <string.h>

static char *skip_blanks(char *p) {
    return p + strspn(p, " \t\r");
}

static void cut_blanks(char *begin) {
    size_t length = strlen(begin);
    while (length > 0 && strchr(" \t\r", begin[length - 1])) {
        length--;
    }
    begin[length] = '\0';
}

/* Splits a line in place. Returns what is wrong with the line, or NULL. */
static const char *split(char *line, const char **source, const char **target) {
    char *tab = strchr(line, '\t'), *between = tab ? tab : line + strcspn(line, " ");
    if (*between == '\0') {
        return "one name";
    }
    *between = '\0';
    char *second = skip_blanks(between + 1);
    cut_blanks(line);
    if (strpbrk(second, tab ? "\t" : " ")) {
        return tab ? "more than one tab" : "more than two names";
    }
    *source = line;
    *target = second;
    return NULL;
}

/* Returns what is wrong with the line, or NULL. */
static const char *append(pair_list *list, const char *line, int64_t number) {
    const size_t n = (size_t)list->count;
    char *text = heap_text("%s", line);
    list->inputs = heap_grow(list->inputs, n, 2 * sizeof *list->inputs);
    list->lines = heap_grow(list->lines, n, sizeof *list->lines);
    list->text = heap_grow(list->text, n, sizeof *list->text);
    const char *wrong = split(text, &list->inputs[2 * n], &list->inputs[2 * n + 1]);
    if (wrong) {
        free(text);
        return wrong;
    }
    list->text[n] = text;
    list->lines[list->count++] = number;
    return NULL;
}

static bool read_lines(line_file *f, pair_list *list) {
    while (next_line(f)) {
        char *line = skip_blanks(f->line);
        const char *wrong = strlen(f->line) != f->length ? "a zero byte" : NULL;
        cut_blanks(line);
        if (!wrong && *line != '\0' && *line != '#') {
            wrong = append(list, line, f->number);
        }
        if (wrong) {
            return refuse(f->why, "%s:%lld: %s; give SOURCE TARGET, with one tab between them when names have blanks",
                          f->name, (long long)f->number, wrong);
        }
    }
    return f->failed || list->count > 0 || refuse(f->why, "%s: no pair; give one line SOURCE TARGET per pair", f->name);
}

bool pairs_read(const char *path, pair_list *list, reason *why) {
    line_file f;
    *list = (pair_list){0};
    if (!open_lines(&f, path, why)) {
        return false;
    }
    bool good = read_lines(&f, list);
    good = close_lines(&f) && good;
    if (!good) {
        pairs_free(list);
    }
    return good;
}

void pairs_free(pair_list *list) {
    for (int i = 0; i < list->count; i++) {
        free(list->text[i]);
    }
    free(list->text);
    free(list->inputs);
    free(list->lines);
    *list = (pair_list){0};
}
