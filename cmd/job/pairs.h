/* Lists of pairs of clouds, as --pairs takes them. */
#ifndef PAIRS_H
#define PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pair_list {
    int count;
    const char **inputs; /* 2 * count: source, target, source, ... */
    int64_t *lines;      /* count: where a pair stands in the list, from 1 */
    char *text;          /* that the inputs point into */
} pair_list;

/* Reads one pair a line, "-" = standard input: SOURCE TARGET, separated by blanks, or by one tab, and then names may
 * have blanks in them. Empty lines and those that begin with "#" are skipped. On failure `why` is a sentence with the
 * list's name and the line, and the list is empty. */
bool pairs_read(const char *path, pair_list *list, char *why, size_t why_size);
void pairs_free(pair_list *list); /* accepts a zeroed struct */

#endif
