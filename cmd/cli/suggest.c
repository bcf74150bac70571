/* The name that was meant by an unknown one: never its opposite. */
#include "options.h"

#include <string.h>

/* Edit distance with transposed neighbours (optimal string alignment); names are short. */
static int edit_distance(const char *a, const char *b) {
    enum { LONGEST = 40 };
    size_t n = strlen(a), m = strlen(b);
    int rows[3][LONGEST + 1];
    if (n > LONGEST || m > LONGEST) {
        return LONGEST;
    }
    for (size_t j = 0; j <= m; j++) {
        rows[0][j] = (int)j;
    }
    for (size_t i = 1; i <= n; i++) {
        int *now = rows[i % 3];
        const int *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int best = up[j - 1] + (a[i - 1] != b[j - 1]);
            best = up[j] + 1 < best ? up[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && up2[j - 2] + 1 < best) {
                best = up2[j - 2] + 1;
            }
            now[j] = best;
        }
    }
    return rows[n % 3][m];
}

/* Whether a name has a word, between dashes, that begins so. */
static bool has_word(const char *name, const char *word) {
    for (const char *p = name; (p = strstr(p, word)); p++) {
        if (p == name || p[-1] == '-' || p[-1] == '_') {
            return true;
        }
    }
    return false;
}

/* Names that look alike and mean the opposite: --min-points is not --max-points, --no-cuda is not --cuda. */
static bool is_opposite(const char *wrong, const char *name) {
    static const char *const pairs[][2] = {
        {"min", "max"},      {"keep", "drop"}, {"gpu", "cpu"},       {"cuda", "cpu"},   {"source", "target"},
        {"input", "output"}, {"in", "out"},    {"quiet", "verbose"}, {"first", "last"}, {"coarse", "fine"}};
    static const char *const negations[] = {"no-", "no_", "not-", "without-", "disable-", "skip-"};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        for (int k = 0; k < 2; k++) {
            if (has_word(wrong, pairs[i][k]) && has_word(name, pairs[i][1 - k]) && !has_word(wrong, pairs[i][1 - k])) {
                return true;
            }
        }
    }
    for (size_t i = 0; i < sizeof negations / sizeof negations[0]; i++) {
        const size_t n = strlen(negations[i]);
        if (strncmp(wrong, negations[i], n) == 0 && strncmp(name, negations[i], n) != 0) {
            return true;
        }
    }
    return false;
}

const char *next_option_name(int i, unsigned commands) {
    for (int k = 0; option_at(k); k++) {
        if ((option_at(k)->commands & commands) && i-- == 0) {
            return option_at(k)->name;
        }
    }
    return NULL;
}

const char *next_command_name(int i, unsigned commands) {
    (void)commands;
    return command_at(i) ? command_at(i)->name : NULL;
}

const char *closest_name(const char *wrong, const char *(*next)(int i, unsigned commands), unsigned commands) {
    int nearest = ((int)strlen(wrong) + 1) / 3;
    const char *found = NULL, *name;
    bool tie = false;
    for (int i = 0; (name = next(i, commands)); i++) {
        int d = edit_distance(wrong, name);
        if (is_opposite(wrong, name)) {
            continue;
        }
        if (d < nearest || (d == nearest && !found)) {
            nearest = d;
            found = name;
            tie = false;
        } else if (d == nearest && strcmp(name, found) != 0) {
            tie = true;
        }
    }
    return tie ? NULL : found;
}

/* The only option whose name begins with `wrong`, or NULL. */
static const char *completed(const char *wrong, unsigned commands) {
    const char *found = NULL, *name;
    int count = strlen(wrong) < 3 ? 2 : 0; /* shorter ones say nothing */
    for (int i = 0; (name = next_option_name(i, commands)); i++) {
        if (strncmp(name, wrong, strlen(wrong)) == 0) {
            found = name;
            count++;
        }
    }
    return count == 1 ? found : NULL;
}

const char *closest_option(const char *wrong, unsigned commands) {
    /* With few letters in common, and the options of an opposite. */
    static const struct {
        const char *wrong, *right;
    } words[] = {{"gpu", "cuda"},
                 {"gpus", "cuda"},
                 {"use-gpu", "cuda"},
                 {"use-cuda", "cuda"},
                 {"no-gpu", "cpu"},
                 {"no-cuda", "cpu"},
                 {"cpu-only", "cpu"},
                 {"no-drop-origin", "keep-origin"},
                 {"no-keep-origin", "drop-origin"},
                 {"overwrite", "force"},
                 {"jobs", "threads"},
                 {"silent", "quiet"},
                 {"out", "output"},
                 {"input", NULL}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(wrong, words[i].wrong) == 0) {
            const option_row *o = words[i].right ? option_by_name(words[i].right, commands) : NULL;
            return o ? o->name : NULL;
        }
    }
    const char *whole = completed(wrong, commands);
    return whole ? whole : closest_name(wrong, next_option_name, commands);
}
