/* --color: the colour images of depth images. */
#include "colors.h"
#include "lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

/* ---- a folder ---------------------------------------------------------------------------------------------------- */

/* The name without its folder and extension, with `word` for the last "depth"; false where it has none or is too long.
 * word NULL: unchanged. */
static bool stem_of(const char *path, const char *word, char *out, size_t size) {
    const char *name = path_base(path), *dot = strrchr(name, '.'), *depth = NULL;
    const int whole = (int)(dot ? dot - name : (ptrdiff_t)strlen(name));
    for (const char *p = strstr(name, "depth"); p && p < name + whole; p = strstr(p + 1, "depth")) {
        depth = p;
    }
    if (!word) {
        return snprintf(out, size, "%.*s", whole, name) < (int)size;
    }
    return depth && snprintf(out, size, "%.*s%s%.*s", (int)(depth - name), name, word, (int)(name + whole - depth - 5),
                             depth + 5) < (int)size;
}

static bool same_file(const char *path, const char *other) {
    struct stat a, b;
    return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* The colour image of one depth image in a folder, malloc'd; NULL: none. A .jpg is found, too, so that the reader can
 * say what to do about it. */
static char *find_in_folder(const char *folder, const char *input) {
    static const char *const words[] = {"color", "rgb", NULL}, *const extensions[] = {".png", ".jpg", ".jpeg"};
    char stem[1024], path[4096];
    for (int e = 0; e < 3; e++) {
        for (int w = 0; w < 3; w++) {
            if (stem_of(input, words[w], stem, sizeof stem) &&
                snprintf(path, sizeof path, "%s/%s%s", folder, stem, extensions[e]) < (int)sizeof path &&
                exists(path) && (words[w] || !same_file(path, input))) {
                return heap_text("%s", path);
            }
        }
    }
    return NULL;
}

static bool find_all_in_folder(session *s, reason *why) {
    for (int i = 0; i < s->input_count; i++) {
        s->colors[i] = find_in_folder(s->options->color, s->inputs[i]);
        if (s->colors[i]) {
            input_protect(s->colors[i]);
        } else {
            return refuse(
                why,
                "%s: no colour image for %s; it has the name of the depth image, or color or rgb in place of depth, "
                "and ends in .png; or give a list of the images to --color",
                s->options->color, input_name(s->inputs[i]));
        }
    }
    return true;
}

/* ---- a list ------------------------------------------------------------------------------------------------------ */

typedef struct color_list {
    int64_t count;
    char **names;
    double *times; /* NaN of a line without one */
    bool timed;
} color_list;

/* A name of a list is relative to the folder of the list. */
static char *path_of(const char *list, const char *name) {
    const char *slash = strrchr(list, '/');
    return heap_text("%.*s%s", *name == '/' || !slash ? 0 : (int)(slash - list) + 1, list, name);
}

static void add_name(color_list *l, char *name, double time) {
    l->names = heap_grow(l->names, (size_t)l->count, sizeof *l->names);
    l->times = heap_grow(l->times, (size_t)l->count, sizeof *l->times);
    input_protect(name); /* each of the list, also one that matches no image */
    l->names[l->count] = name;
    l->times[l->count++] = time;
}

static bool read_images(const char *path, color_list *l, reason *why) {
    line_file f;
    char name[4096];
    bool good = open_lines(&f, path, why);
    while (good && next_line(&f)) {
        double time = NAN;
        char *line = f.line + strspn(f.line, " \t");
        line[strcspn(line, "\r")] = '\0';
        if (!*line || *line == '#') {
            continue;
        }
        const bool timed = !exists(line) && timed_line(line, false, &time, name, sizeof name);
        if (l->count > 0 && timed != l->timed) {
            good = line_wrong(
                &f, "a line with a time among lines without, or the reverse; give names, or lines \"TIME NAME\"");
            break;
        }
        l->timed = timed;
        add_name(l, path_of(path, timed ? name : line), time);
    }
    return (f.stream ? close_lines(&f) : false) && good;
}

static bool match_times(session *s, const color_list *l, reason *why) {
    int missing = 0;
    for (int i = 0; i < s->input_count; i++) {
        const double time = time_of_name(s->inputs[i]);
        int64_t best = 0;
        if (isnan(time)) {
            return refuse(why, "%s: has times, and the name of %s is none; give a list of names, one per input",
                          input_name(s->options->color), input_name(s->inputs[i]));
        }
        for (int64_t k = 1; k < l->count; k++) {
            best = fabs(l->times[k] - time) < fabs(l->times[best] - time) ? k : best;
        }
        const bool near = l->count > 0 && fabs(l->times[best] - time) <= TIMED_NEAR;
        s->colors[i] = near ? heap_text("%s", l->names[best]) : NULL;
        missing += !near;
    }
    if (missing == s->input_count) {
        return refuse(why, "%s: no colour image is within %g s of a depth image; give the list that belongs to them",
                      input_name(s->options->color), TIMED_NEAR);
    }
    if (missing > 0) {
        report_warning(s->options->color, "%d of %d depth images have no colour image within %g s; they add shape only",
                       missing, s->input_count, TIMED_NEAR);
    }
    return true;
}

static bool match_order(session *s, color_list *l, reason *why) {
    if (l->count != s->input_count) {
        return refuse(why,
                      "%s: %lld colour images for %d depth images; give one per line, in the order of the depth images",
                      input_name(s->options->color), (long long)l->count, s->input_count);
    }
    for (int i = 0; i < s->input_count; i++) {
        s->colors[i] = l->names[i];
        l->names[i] = NULL;
    }
    return true;
}

static bool find_all_in_list(session *s, reason *why) {
    color_list list = {0};
    bool good = read_images(s->options->color, &list, why);
    good = good && (list.timed ? match_times(s, &list, why) : match_order(s, &list, why));
    for (int64_t i = 0; i < list.count; i++) {
        free(list.names[i]);
    }
    free(list.names);
    free(list.times);
    return good;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

bool colors_find(session *s, reason *why) {
    if (!s->options->color) {
        return true;
    }
    s->colors = heap_zeroed((size_t)s->input_count, sizeof *s->colors);
    return path_is_folder(s->options->color) ? find_all_in_folder(s, why) : find_all_in_list(s, why);
}

void colors_free(session *s) {
    for (int i = 0; s->colors && i < s->input_count; i++) {
        free(s->colors[i]);
    }
    free(s->colors);
    s->colors = NULL;
}

bool colors_read(const session *s, pcgpu_context *context, int i, pcgpu_depth *depth, reason *why) {
    const char *path = s->colors ? s->colors[i] : NULL;
    FILE *stream = path ? input_try(path, why) : NULL;
    if (!stream) {
        return !path || refuse(why, "%s: cannot be opened; check --color", path);
    }
    const pcgpu_status status = pcgpu_read_color(context, stream, path, depth);
    fclose(stream);
    return status == PCGPU_OK || refuse(why, "%s", pcgpu_last_error(context));
}
