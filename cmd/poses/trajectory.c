/* Trajectories in files. */
#define _GNU_SOURCE /* fmemopen */
#include "report.h"
#include "trajectory.h"
#include "files.h"
#include "heap.h"
#include "numbers.h"
#include "transform_file.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* As the C library of Windows writes them, too. */
static bool is_missing(const char *word) {
    return strcasecmp(word, "nan") == 0 || strcasecmp(word, "-nan") == 0 || strstr(word, ".#") ||
           strcasecmp(word, "inf") == 0 || strcasecmp(word, "-inf") == 0;
}

int split_numbers(char *line, double numbers[MOST_NUMBERS]) {
    int n = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, " \t\r,", &rest); word && n < MOST_NUMBERS;
         word = strtok_r(NULL, " \t\r,", &rest)) {
        if (is_missing(word)) {
            numbers[n++] = NAN;
        } else if (!number_parse(word, &numbers[n++])) {
            return -1;
        }
    }
    return n;
}

/* ---- poses ---- */

typedef struct pose_line {
    double T[16], time;
} pose_line;

/* What the lines of a file have in common. */
typedef struct line_format {
    int columns;  /* 0 = unknown */
    bool w_first; /* of quaternions, by the names in a comment, as EuRoC has them */
} line_format;

#define EUROC 17 /* numbers: time, position, quaternion w x y z, velocity, two biases */
#define VINS  11 /* those without the biases, as VINS-Fusion writes them */

static const char *format_name(const line_format *lines) {
    switch (lines->columns) {
    case 3: return "Open3D .log";
    case 4: return "4x4 matrices";
    case 7: return "TUM without times";
    case 8: return lines->w_first ? "TUM with w x y z" : "TUM";
    case 12: return "KITTI";
    case 13: return "KITTI with times";
    case EUROC: return "EuRoC";
    case VINS: return "VINS-Fusion";
    default: return "matrices, one per line";
    }
}

/* The lines of a matrix after `have` lines of it, whose numbers are in v. A .log has a line of three whole numbers
 * first. */
static bool parse_matrix(line_file *f, bool log, double v[16]) {
    double row[MOST_NUMBERS];
    for (int i = log ? 0 : 1; i < 4; i++) {
        if (!next_line(f)) {
            return !f->failed && line_wrong(f, "the file ends within a 4x4 matrix; copy or export it again");
        }
        if (split_numbers(f->line, row) != 4) {
            return line_wrong(f, "not a line of a 4x4 matrix; give four lines of four numbers per pose");
        }
        memcpy(v + 4 * i, row, 4 * sizeof *row);
    }
    return true;
}

/* Whether a comment names the columns of a quaternion with w before x. */
static bool names_w_first(const char *comment) {
    static const char *const names[][2] = {{"q_RS_w", "q_RS_x"}, {"q_w", "q_x"}, {"qw", "qx"}};
    bool first = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !first; i++) {
        const char *w = strstr(comment, names[i][0]), *x = strstr(comment, names[i][1]);
        first = w && x && w < x;
    }
    return first;
}

/* Whether a line has names and no number: the header of a table. */
static bool names_columns_alone(const char *line) {
    double number;
    char word[64];
    bool any = false;
    int words = 0;
    for (const char *p = line + strspn(line, " \t\r,;"); *p; p += strspn(p, " \t\r,;"), words++) {
        const size_t n = strcspn(p, " \t\r,;");
        snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), p);
        if (is_missing(word) || number_parse(word, &number)) {
            return false;
        }
        any = any || (isalpha((unsigned char)word[0]) && (strchr(word, 'x') || strchr(word, 'X')));
        p += n;
    }
    return any && words >= 3; /* x among them */
}

/* The quaternion of w x y z as x y z w, which it is in transforms. */
static void put_w_last(double q[4]) {
    const double w = q[0];
    memmove(q, q + 1, 3 * sizeof *q);
    q[3] = w;
}

static bool is_lost(const double *v, int begin, int end, bool *all) {
    bool any = false;
    *all = true;
    for (int i = begin; i < end; i++) {
        *all = *all && isnan(v[i]);
        any = any || isnan(v[i]);
    }
    return any;
}

/* Parses the line, or lines, of a pose. */
static bool parse_pose(line_file *f, line_format *lines, pose_line *p) {
    double v[MOST_NUMBERS];
    reason why;
    bool all;
    const bool commas = strchr(f->line, ','); /* a line of KITTI without one of its numbers has none */
    int n = split_numbers(f->line, v);
    p->time = NAN;
    if (n != 3 && n != 4 && n != 7 && n != 8 && n != 12 && n != 13 && n != 16 && n != EUROC && !(n == VINS && commas)) {
        return line_wrong(f, n < 0 ? "not numbers; give lines of 16, 12 (KITTI) or 8 (TUM) numbers"
                                   : "give lines of 16, 12 (KITTI) or 8 (TUM) numbers");
    }
    if (lines->columns && lines->columns != n) {
        return line_wrong(f, "not as many numbers as the line before; give lines of one format");
    }
    lines->columns = n;
    if (n == EUROC || n == VINS || ((n == 7 || n == 8) && lines->w_first)) {
        put_w_last(v + (n == 7 ? 3 : 4));
        n = n == EUROC || n == VINS ? 8 : n;
    }
    if (n < 7) {
        if (!parse_matrix(f, n == 3, v)) {
            return false;
        }
        n = 16;
    }
    const int timed = n == 8 || n == 13;
    if (timed) {
        p->time = v[0];
        if (isnan(v[0])) {
            return line_wrong(f, "a pose without a time");
        }
    }
    for (int i = 0; i < 16; i++) {
        p->T[i] = NAN;
    }
    const bool any = is_lost(v, timed, lines->columns < 7 ? 12 : n, &all);
    if (any && !all && lines->columns >= 7) {
        return line_wrong(f, "nan among numbers; give all numbers of the pose, or nan for each");
    }
    return any || transform_from_numbers(n == 13 ? v + 1 : v, n == 13 ? 12 : n, p->T, &why) || line_wrong(f, why.text);
}

/* Parses "# lost TIME", which is the line of a missing pose. */
static bool parse_lost(const char *line, pose_line *p) {
    static const char word[] = "# lost ";
    for (int i = 0; i < 16; i++) {
        p->T[i] = NAN;
    }
    return strncmp(line, word, sizeof word - 1) == 0 && number_parse(line + sizeof word - 1, &p->time);
}

static bool read_poses(line_file *f, trajectory *t) {
    line_format lines = {.columns = 0};
    bool has_header = false;
    while (next_line(f)) {
        pose_line p;
        char *text = f->line + strspn(f->line, " \t\r");
        bool lost = parse_lost(text, &p);
        if (strlen(f->line) != f->length) {
            return line_wrong(f, memcmp(f->line, "\x93NUMPY", 6) == 0
                                     ? "a .npy of NumPy, and poses are read as text: "
                                       "np.savetxt('poses.txt', poses.reshape(len(poses), -1))"
                                     : "a zero byte; give a text file with one pose per line");
        }
        if (*text == '{' && lines.columns == 0 && t->count == 0) {
            return trajectory_from_json(f, t);
        }
        if (!lost && (*text == '#' || *text == '\0')) {
            lines.w_first = lines.w_first || (lines.columns == 0 && names_w_first(text));
            continue;
        }
        if (!lost && lines.columns == 0 && !has_header && names_columns_alone(text)) {
            has_header = true;
            lines.w_first = names_w_first(text);
            continue;
        }
        if (!lost && !parse_pose(f, &lines, &p)) {
            return false;
        }
        if (lost && lines.columns && lines.columns != 8) {
            return line_wrong(f, "a lost scan in TUM format among lines of another format; give lines of one format");
        }
        lines.columns = lost ? 8 : lines.columns;
        trajectory_append(t, p.T, p.time, f->number);
    }
    if (f->failed) {
        return false;
    }
    if (has_header && t->count == 0) {
        return line_wrong(f, "not numbers; give lines of 16, 12 (KITTI) or 8 (TUM) numbers");
    }
    t->numbers = lines.columns;
    t->format = format_name(&lines);
    if (lines.columns != 8 && lines.columns != 13 && lines.columns != EUROC && lines.columns != VINS) {
        free(t->times);
        t->times = NULL;
    }
    return true;
}

bool trajectory_read_stream(FILE *stream, const char *name, trajectory *t, reason *why) {
    line_file f = {.name = name, .stream = stream, .why = why};
    *t = (trajectory){0};
    bool good = read_poses(&f, t);
    free(f.line);
    if (!good) {
        trajectory_free(t);
    }
    return good;
}

static bool begins_with_pose(const char *head, size_t size) {
    reason why;
    bool found = false;
    line_format lines = {.columns = 0};
    if (size == 0) {
        return false;
    }
    char *text = memcpy(heap_zeroed(size + 1, 1), head, size);
    line_file f = {.name = "", .stream = heap_or_end(fmemopen(text, size, "r")), .why = &why};
    while (!found && next_line(&f)) {
        pose_line p;
        const char *line = f.line + strspn(f.line, " \t\r");
        if (*line == '{') {
            found = strstr(text, "\"PinholeCameraTrajectory\"") || strstr(text, "\"extrinsic\"");
            break;
        }
        if (*line == '\0' || (*line == '#' && !parse_lost(line, &p))) {
            lines.w_first = lines.w_first || names_w_first(line);
            continue;
        }
        if (*line != '#' && !parse_pose(&f, &lines, &p)) {
            break;
        }
        found = p.T[0] == p.T[0]; /* a missing pose says nothing */
    }
    fclose(f.stream);
    free(f.line);
    free(text);
    return found;
}

static bool names_columns(const char *head, size_t size) {
    char line[256];
    const size_t n = size < sizeof line - 1 ? size : sizeof line - 1;
    memcpy(line, head, n);
    line[n] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    return *line == '#' && names_w_first(line);
}

bool trajectory_is(const char *head, size_t size, const pcgpu_format_info *format) {
    const bool any = !format || strcmp(format->name, "xyz") == 0 || strcmp(format->name, "bin") == 0;
    return any || names_columns(head, size) ? begins_with_pose(head, size) : false;
}

double trajectory_unit(const double *times, int64_t count) {
    double latest = 0;
    for (int64_t i = 0; i < count; i++) {
        latest = times[i] > latest ? times[i] : latest; /* not for NaN */
    }
    return latest > 1e17 ? 1e-9 : latest > 1e14 ? 1e-6 : latest > 1e11 ? 1e-3 : 1;
}

bool trajectory_read_file(const char *path, trajectory *t, reason *why) {
    line_file f;
    *t = (trajectory){0};
    if (!open_lines(&f, path, why)) {
        return false;
    }
    const bool good = trajectory_read_stream(f.stream, f.name, t, why);
    close_lines(&f);
    return good;
}
