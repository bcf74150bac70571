/* Lists of pairs of clouds. */
#include "pairs.h"
#include "heap.h"
#include "lines.h"

#include <stdlib.h>
#include <string.h>

/* Splits a line in place. Returns what is wrong with the line, or NULL. */
static const char *split(char *line, const char **source, const char **target) {
    char *tab = strchr(line, '\t'), *between = tab ? tab : line + strcspn(line, " ");
    if (*between == '\0') {
        return "one name";
    }
    char *second = between + 1 + strspn(between + 1, " \t\r");
    do {
        *between-- = '\0';
    } while (between > line && strchr(" \t\r", *between));
    if (strpbrk(second, tab ? "\t" : " ")) {
        return tab ? "more than one tab" : "more than two names";
    }
    *source = line;
    *target = second;
    return NULL;
}

/* Returns what is wrong with the line, or NULL. */
static const char *append(void *pairs, char *line, int64_t number) {
    pair_list *list = pairs;
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

bool pairs_read(const char *path, pair_list *list, reason *why) {
    static const list_kind kind = {append, "give SOURCE TARGET, with one tab between them when names have blanks",
                                   "no pair; give one line SOURCE TARGET per pair"};
    *list = (pair_list){0};
    const bool good = read_list(path, &kind, list, why);
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
