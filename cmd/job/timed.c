/* Lines "TIME NAME" of lists. */
#include "timed.h"
#include "files.h"
#include "numbers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char blanks[] = " \t\r\n,";

/* Takes the next word. */
static bool take_word(const char **p, char *word, size_t size) {
    *p += strspn(*p, blanks);
    const size_t n = strcspn(*p, blanks);
    if (n == 0 || n >= size) {
        return false;
    }
    memcpy(word, *p, n);
    word[n] = '\0';
    *p += n;
    return true;
}

bool timed_line(const char *line, bool depth, double *time, char *name, size_t size) {
    char word[TIMED_NAME];
    bool found = false;
    double number;
    for (const char *p = line; p[strspn(p, blanks)];) {
        double t;
        if (!take_word(&p, word, sizeof word) || !number_parse(word, &t) || !take_word(&p, word, sizeof word) ||
            number_parse(word, &number)) {
            return false;
        }
        if ((!found || ((strstr(word, "depth") != NULL) == depth && (strstr(name, "depth") != NULL) != depth)) &&
            strlen(word) < size) {
            snprintf(name, size, "%s", word);
            *time = t;
            found = true;
        }
    }
    return found;
}

double time_of_name(const char *path) {
    const char *name = path_base(path), *dot = strrchr(name, '.');
    char text[64];
    double time;
    snprintf(text, sizeof text, "%.*s", dot && dot - name < 63 ? (int)(dot - name) : 0, name);
    const bool frame = strlen(text) < 9 && !strchr(text, '.'); /* 000014 is no time */
    return !frame && number_parse(text, &time) ? time : NAN;
}
