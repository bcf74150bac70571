/* Small valid files of every variant a reader knows, where mutations begin: the lines of seeds.list. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_LINE = 4096 };

static void put(fuzz_seed *seed, int byte, size_t count) {
    MUST(count <= sizeof seed->data - seed->size);
    memset(seed->data + seed->size, byte, count);
    seed->size += count;
}

/* The bytes of text with escapes, which seeds.list explains. */
static void put_text(fuzz_seed *seed, char *text) {
    static const char escapes[] = "n\nr\rt\t\\\\";
    while (*text) {
        if (*text != '\\') {
            put(seed, *text++, 1);
        } else if (text[1] == 'x') {
            const char digits[] = {text[2], text[3], '\0'};
            put(seed, (int)strtoul(digits, NULL, 16), 1);
            text += 4;
        } else if (text[1] == '0') {
            put(seed, 0, strtoul(text + 3, &text, 10));
            text++;
        } else {
            const char *escape = strchr(escapes, text[1]);
            MUST(escape);
            put(seed, escape[1], 1);
            text += 2;
        }
    }
}

int fuzz_make_seed(int i, fuzz_seed *seed) {
    char line[LONGEST_LINE];
    FILE *file = fopen(FUZZ_SEEDS, "r");
    bool found = false;
    MUST(file);
    while (!found && fgets(line, sizeof line, file)) {
        found = line[0] != '#' && i-- == 0;
    }
    fclose(file);
    if (found) {
        int begin = 0;
        line[strcspn(line, "\n")] = '\0';
        memset(seed, 0, sizeof *seed);
        MUST(sscanf(line, "%11s %23s%n", seed->format, seed->name, &begin) == 2);
        put_text(seed, line + begin + (line[begin] == ' '));
    }
    return found;
}
