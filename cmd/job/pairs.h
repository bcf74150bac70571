/* Lists of pairs of clouds, as --pairs takes them. */
#ifndef PAIRS_H
#define PAIRS_H

#include "reason.h"

#include <stddef.h>
#include <stdint.h>

typedef struct pair_list {
    int count;
    const char **inputs; /* 2 * count: source, target, source, ... */
    int64_t *lines;      /* count: the line of each pair in the list, from 1 */
    char **text;         /* count: the memory of each pair's inputs */
} pair_list;

/* Reads one pair per line, "-" = standard input: SOURCE TARGET, separated by blanks, or by one tab; with a tab, names
 * may have blanks. Empty lines and lines that begin with "#" are skipped. On failure `why` is a sentence with the name
 * of the list and the line, and the list is empty. */
bool pairs_read(const char *path, pair_list *list, reason *why);
void pairs_free(pair_list *list); /* accepts a zeroed struct */

#endif
