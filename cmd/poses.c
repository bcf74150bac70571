/* Poses of many frames in one file. */
#include "poses.h"
#include "files.h"
#include "transform.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_blank_line(const char *line) {
    line += strspn(line, " \t\r\n,");
    return *line == '\0' || *line == '#';
}

/* Whether a word of the line is nan: what is written for a frame that has no pose. */
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

static bool parse_line(char *line, size_t length, frame_pose *pose, char *why, size_t why_size) {
    pose->known = !has_nan(line);
    if (!pose->known) {
        return true;
    }
    FILE *stream = fmemopen(line, length, "r");
    if (!stream) {
        snprintf(why, why_size, "out of memory");
        return false;
    }
    bool good = transform_read(stream, pose->T, why, why_size);
    fclose(stream);
    return good;
}

static bool add(pose_list *list, const frame_pose *pose) {
    if ((list->count & (list->count - 1)) == 0) { /* room doubles at powers of two */
        size_t room = list->count ? 2 * (size_t)list->count : 1;
        frame_pose *more = list->count < INT32_MAX / 2 ? realloc(list->poses, room * sizeof *more) : NULL;
        if (!more) {
            return false;
        }
        list->poses = more;
    }
    list->poses[list->count++] = *pose;
    return true;
}

static bool read_lines(FILE *stream, const char *name, pose_list *list, char *why, size_t why_size) {
    char *line = NULL, reason[256];
    size_t size = 0;
    ssize_t length;
    bool good = true;
    for (int64_t number = 1; good && (length = getline(&line, &size, stream)) >= 0; number++) {
        frame_pose pose = {.line = number};
        if (strlen(line) != (size_t)length) {
            snprintf(why, why_size, "%s:%lld: a zero byte; give a text file with a pose a line", name,
                     (long long)number);
            good = false;
        } else if (is_blank_line(line)) {
            continue;
        } else if (!parse_line(line, (size_t)length, &pose, reason, sizeof reason)) {
            snprintf(why, why_size, "%s:%lld: %s", name, (long long)number, reason);
            good = false;
        } else if (!add(list, &pose)) {
            snprintf(why, why_size, "%s: out of memory", name);
            good = false;
        }
    }
    if (good && ferror(stream)) {
        snprintf(why, why_size, "%s: %s; give a file that can be read", name, strerror(errno));
        good = false;
    }
    free(line);
    return good;
}

bool poses_read(const char *path, pose_list *list, char *why, size_t why_size) {
    const bool dash = strcmp(path, "-") == 0;
    *list = (pose_list){0};
    FILE *stream = dash ? stdin : fopen(path, "r");
    if (!stream) {
        snprintf(why, why_size, "%s: %s; give a file with a pose a line", path, strerror(errno));
        return false;
    }
    bool good = read_lines(stream, input_name(path), list, why, why_size);
    if (!dash) {
        fclose(stream);
    }
    if (!good) {
        poses_free(list);
    }
    return good;
}

void poses_free(pose_list *list) {
    free(list->poses);
    *list = (pose_list){0};
}
