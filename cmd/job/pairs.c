/* Lists of pairs of clouds. */
#include "pairs.h"
#include "files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_LIMIT = 256 << 20 }; /* bytes, some million pairs; /dev/zero has no end */

/* The whole file with a zero at its end; NULL with errno when it cannot be read. */
static char *read_all(FILE *stream, size_t *size) {
    char *text = NULL;
    size_t held = 0, n = 0, got;
    do {
        if (held - n < 2) {
            held = held ? 2 * held : 1 << 16;
            char *more = realloc(text, held);
            if (!more) {
                free(text);
                errno = ENOMEM;
                return NULL;
            }
            text = more;
        }
        errno = 0;
        got = fread(text + n, 1, held - n - 1, stream);
        n += got;
    } while (got > 0 && n <= LIST_LIMIT);
    errno = n > LIST_LIMIT ? EFBIG : errno;
    if (n > LIST_LIMIT || ferror(stream)) {
        free(text);
        return NULL;
    }
    text[n] = '\0';
    *size = n;
    return text;
}

static char *read_list(const char *path, size_t *size, char *why, size_t why_size) {
    char reason[512];
    FILE *stream = input_try(path, reason, sizeof reason);
    if (!stream) {
        snprintf(why, why_size, "%s: %s", path, reason);
        return NULL;
    }
    char *text = read_all(stream, size);
    if (!text) {
        snprintf(why, why_size, "%s: %s; give a list of pairs that can be read", input_name(path), strerror(errno));
    }
    input_close(stream);
    return text;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static char *skip_blanks(char *p) {
    while (is_blank(*p)) {
        p++;
    }
    return p;
}

static void cut_blanks(char *begin) {
    char *end = begin + strlen(begin);
    while (end > begin && is_blank(end[-1])) {
        end--;
    }
    *end = '\0';
}

/* Splits a line in place. What is wrong with it, or NULL. */
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

/* At most one pair a line. */
static bool make_room(pair_list *list, size_t size) {
    size_t lines = 1;
    for (size_t i = 0; i < size; i++) {
        lines += list->text[i] == '\n';
    }
    list->inputs = malloc(2 * lines * sizeof *list->inputs);
    list->lines = malloc(lines * sizeof *list->lines);
    return list->inputs && list->lines && lines < INT32_MAX / 2;
}

static bool parse(pair_list *list, const char *name, size_t size, char *why, size_t why_size) {
    char *next = list->text;
    for (int64_t line = 1; next < list->text + size; line++) {
        char *begin = skip_blanks(next), *end = next + strcspn(next, "\n");
        const char *wrong = end < list->text + size && *end != '\n' ? "a zero byte" : NULL;
        *end = '\0';
        next = end + 1;
        cut_blanks(begin);
        if (!wrong && (*begin == '\0' || *begin == '#')) {
            continue;
        }
        wrong = wrong ? wrong : split(begin, &list->inputs[2 * list->count], &list->inputs[2 * list->count + 1]);
        if (wrong) {
            snprintf(why, why_size, "%s:%lld: %s; give SOURCE TARGET, with one tab between them when names have blanks",
                     name, (long long)line, wrong);
            return false;
        }
        list->lines[list->count++] = line;
    }
    if (list->count == 0) {
        snprintf(why, why_size, "%s: no pair; give a line SOURCE TARGET for each", name);
    }
    return list->count > 0;
}

bool pairs_read(const char *path, pair_list *list, char *why, size_t why_size) {
    size_t size = 0;
    *list = (pair_list){.text = read_list(path, &size, why, why_size)};
    bool good = list->text;
    if (good && !make_room(list, size)) {
        snprintf(why, why_size, "%s: too many lines for the memory; give several lists", input_name(path));
        good = false;
    }
    good = good && parse(list, input_name(path), size, why, why_size);
    if (!good) {
        pairs_free(list);
    }
    return good;
}

void pairs_free(pair_list *list) {
    free(list->inputs);
    free(list->lines);
    free(list->text);
    *list = (pair_list){0};
}
