/* Poses of many frames in one file. */
#include "poses.h"
#include "lines.h"
#include "transform.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_blank_line(const char *line) {
    line += strspn(line, " \t\r\n,");
    return *line == '\0' || *line == '#';
}

/* Whether a word of the line is nan, as in the line of a frame without a pose. */
static bool has_nan(const char *line) {
    for (const char *p = line; *p && *p != '#';) {
        size_t length = strcspn(p, " \t\r\n,#");
        if (length == 3 && strncasecmp(p, "nan", 3) == 0) {
            return true;
        }
        p += length;
        p += strspn(p, " \t\r\n,");
    }
    return false;
}

static bool parse_line(char *line, size_t length, frame_pose *pose, reason *why) {
    pose->known = !has_nan(line);
    if (!pose->known) {
        return true;
    }
    FILE *stream = fmemopen(line, length, "r");
    if (!stream) {
        return refuse(why, "out of memory");
    }
    bool good = transform_read(stream, pose->T, why);
    fclose(stream);
    return good;
}

static bool add(pose_list *list, const frame_pose *pose) {
    if ((list->count & (list->count - 1)) == 0) { /* the capacity doubles at powers of two */
        size_t capacity = list->count ? 2 * (size_t)list->count : 1;
        frame_pose *more = list->count < INT32_MAX / 2 ? realloc(list->poses, capacity * sizeof *more) : NULL;
        if (!more) {
            return false;
        }
        list->poses = more;
    }
    list->poses[list->count++] = *pose;
    return true;
}

static bool read_lines(line_file *f, pose_list *list) {
    reason inner;
    bool whole;
    while (next_line(f, &whole)) {
        frame_pose pose = {.line = f->number};
        if (strlen(f->line) != f->length) {
            return line_wrong(f, "a zero byte; give a text file with one pose per line");
        }
        if (is_blank_line(f->line)) {
            continue;
        }
        if (!parse_line(f->line, f->length, &pose, &inner)) {
            return line_wrong(f, inner.text);
        }
        if (!add(list, &pose)) {
            return line_wrong(f, "out of memory");
        }
    }
    return true;
}

bool poses_read(const char *path, pose_list *list, reason *why) {
    line_file f;
    *list = (pose_list){0};
    if (!open_lines(&f, path, why)) {
        return false;
    }
    bool good = read_lines(&f, list);
    good = close_lines(&f) && good;
    if (!good) {
        poses_free(list);
    }
    return good;
}

void poses_free(pose_list *list) {
    free(list->poses);
    *list = (pose_list){0};
}
