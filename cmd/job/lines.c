/* Text files, line by line. */
#include "lines.h"
#include "files.h"
#include "heap.h"
#include "numbers.h"
#include "recordings.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool open_lines(line_file *f, const char *path, reason *why) {
    reason inner;
    *f = (line_file){.name = input_name(path), .why = why};
    f->stream = !path_is_dash(path) && recording_is(path) ? recording_poses(path, &inner) : input_try(path, &inner);
    return f->stream || refuse(why, "%s: %s", path, inner.text);
}

bool close_lines(line_file *f) {
    free(f->line);
    f->line = NULL;
    input_close(f->stream);
    return !f->failed;
}

bool line_wrong(const line_file *f, const char *what) {
    return refuse(f->why, "%s:%lld: %s", f->name, (long long)f->number, what);
}

static bool fail(line_file *f, const char *what) {
    f->failed = true;
    return line_wrong(f, what);
}

bool next_line(line_file *f) {
    size_t n = 0;
    int c = EOF;
    const int line_end = f->zero_ends ? '\0' : '\n';
    f->line = f->line ? f->line : heap_take(NULL, LINE_LIMIT + 1);
    f->number++;
    errno = 0;
    while (n < LINE_LIMIT && (c = getc(f->stream)) != EOF && c != line_end) {
        f->line[n++] = (char)c;
    }
    if (ferror(f->stream)) {
        return fail(f, errno ? strerror(errno) : "cannot be read to its end");
    }
    f->end += (int64_t)n + (c == line_end);
    if (n == LINE_LIMIT) {
        return fail(f, "a line of more than 65536 bytes; give a text file");
    }
    if (f->end > TEXT_LIMIT) {
        return fail(f, "more than 1 GiB up to this line; give a smaller file");
    }
    f->line[n] = '\0';
    f->length = n;
    const bool some = n > 0 || c == line_end;
    f->number -= !some;
    if (f->number == 1 && !f->zero_ends && n >= 3 &&
        memcmp(f->line, "\xEF\xBB\xBF", 3) == 0) { /* as editors of Windows write */
        f->length -= 3;
        memmove(f->line, f->line + 3, f->length + 1);
    }
    return some;
}

static bool read_entries(line_file *f, const list_kind *kind, void *list) {
    bool any = false;
    while (next_line(f)) {
        const bool zero = strlen(f->line) != f->length;
        char *line = f->line + strspn(f->line, " \t\r");
        for (size_t n = strlen(line); n > 0 && strchr(" \t\r", line[n - 1]); n--) {
            line[n - 1] = '\0';
        }
        const bool passed = *line == '\0' || *line == '#';
        const char *wrong = zero ? "a zero byte" : passed ? NULL : kind->add(list, line, f->number);
        if (wrong) {
            return refuse(f->why, "%s:%lld: %s; %s", f->name, (long long)f->number, wrong, kind->remedy);
        }
        any = any || !passed;
    }
    return f->failed || any || !kind->none || refuse(f->why, "%s: %s", f->name, kind->none);
}

bool read_list(const char *path, const list_kind *kind, void *list, reason *why) {
    line_file f;
    if (!open_lines(&f, path, why)) {
        return false;
    }
    const bool good = read_entries(&f, kind, list);
    return close_lines(&f) && good;
}

/* ---- lines "TIME NAME" ------------------------------------------------------------------------------------------- */

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
