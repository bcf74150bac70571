/* Trajectories in files. */
#include "trajectory.h"
#include "lines.h"
#include "numbers.h"
#include "transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_NUMBERS = 17 };

static bool no_memory(const line_file *f) {
    return line_wrong(f, "out of memory");
}

/* Splits a line into at most MOST_NUMBERS numbers; "nan" is a number. Returns how many, or -1 for another word. */
static int split_numbers(char *line, double numbers[MOST_NUMBERS]) {
    int n = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, " \t\r,", &rest); word && n < MOST_NUMBERS;
         word = strtok_r(NULL, " \t\r,", &rest)) {
        if (strcasecmp(word, "nan") == 0) {
            numbers[n++] = NAN;
        } else if (!number_parse(word, &numbers[n++])) {
            return -1;
        }
    }
    return n;
}

/* ---- trajectories ---- */

typedef struct pose_line {
    double T[16], time, reference_time;
} pose_line;

/* Parses the line of a pose. *columns: how many numbers the lines have, 0 = unknown. */
static bool parse_pose(line_file *f, int *columns, pose_line *p) {
    double v[MOST_NUMBERS];
    reason why;
    bool all = true, any = false;
    int n = split_numbers(f->line, v);
    p->time = NAN;
    if (n != 8 && n != 12 && n != 16) {
        return line_wrong(f, n < 0 ? "not numbers; give lines of 16, 12 (KITTI) or 8 (TUM) numbers"
                                   : "give lines of 16, 12 (KITTI) or 8 (TUM) numbers");
    }
    if (*columns && *columns != n) {
        return line_wrong(f, "not as many numbers as the line before; give lines of one format");
    }
    *columns = n;
    for (int i = n == 8; i < n; i++) {
        all = all && isnan(v[i]);
        any = any || isnan(v[i]);
    }
    if (n == 8) {
        p->time = v[0];
        if (isnan(v[0])) {
            return line_wrong(f, "a pose without a time");
        }
    }
    for (int i = 0; i < 16; i++) {
        p->T[i] = NAN;
    }
    if (any && !all) {
        return line_wrong(f, "nan among numbers; give all numbers of the pose, or nan for each");
    }
    return all || transform_from_numbers(v, n, p->T, &why) || line_wrong(f, why.text);
}

/* Parses "# lost TIME", which is the line of a missing pose. */
static bool parse_lost(const char *line, pose_line *p) {
    static const char word[] = "# lost ";
    for (int i = 0; i < 16; i++) {
        p->T[i] = NAN;
    }
    return strncmp(line, word, sizeof word - 1) == 0 && number_parse(line + sizeof word - 1, &p->time);
}

/* Parses the state of the next pose; false for other lines. */
static bool parse_state(char *line, pose_line *p) {
    double v[MOST_NUMBERS];
    reason why;
    if (strncmp(line, TRAJECTORY_STATE, sizeof TRAJECTORY_STATE - 1) != 0 ||
        split_numbers(line + sizeof TRAJECTORY_STATE - 1, v) != 14) {
        return false;
    }
    p->time = v[0];
    p->reference_time = v[1];
    return transform_from_numbers(v + 2, 12, p->T, &why);
}

static bool append(trajectory *t, int64_t *capacity, const pose_line *p, int64_t end) {
    if (t->count == *capacity) {
        int64_t more = *capacity ? 2 * *capacity : 256;
        double *poses = realloc(t->poses, (size_t)more * 16 * sizeof *poses);
        t->poses = poses ? poses : t->poses;
        double *times = realloc(t->times, (size_t)more * sizeof *times);
        t->times = times ? times : t->times;
        int64_t *ends = realloc(t->ends, (size_t)more * sizeof *ends);
        t->ends = ends ? ends : t->ends;
        if (!poses || !times || !ends) {
            return false;
        }
        *capacity = more;
    }
    memcpy(t->poses + 16 * t->count, p->T, sizeof p->T);
    t->times[t->count] = p->time;
    t->reference_time = p->T[0] == p->T[0] ? p->reference_time : t->reference_time;
    t->ends[t->count++] = end;
    return true;
}

/* states: lines with TRAJECTORY_STATE are not comments. */
static bool read_poses(line_file *f, bool unfinished, bool states, trajectory *t) {
    int64_t capacity = 0;
    int columns = 0;
    bool whole = true, has_state = false;
    pose_line state;
    t->reference_time = NAN;
    while (next_line(f, &whole)) {
        pose_line p = {.reference_time = NAN};
        char *text = f->line + strspn(f->line, " \t\r");
        bool lost = parse_lost(text, &p);
        if (unfinished && !whole) {
            break;
        }
        if (!lost && (*text == '#' || *text == '\0')) {
            has_state = (states && parse_state(text, &state)) || has_state;
            continue;
        }
        if (!lost && !parse_pose(f, &columns, &p)) {
            return false;
        }
        if (lost && columns && columns != 8) {
            return line_wrong(f, "a lost scan in TUM format among lines of another format; give lines of one format");
        }
        columns = lost ? 8 : columns;
        p = has_state && p.T[0] == p.T[0] ? state : p;
        has_state = false;
        if (!append(t, &capacity, &p, f->end)) {
            return no_memory(f);
        }
    }
    if (f->failed) {
        return false;
    }
    t->numbers = columns;
    if (columns != 8 && !states) {
        free(t->times);
        t->times = NULL;
    }
    return true;
}

bool trajectory_read_unfinished(FILE *stream, const char *name, trajectory *t, reason *why) {
    line_file f = {.name = name, .stream = stream, .why = why};
    *t = (trajectory){0};
    bool good = read_poses(&f, true, true, t);
    free(f.line);
    if (!good) {
        trajectory_free(t);
    }
    return good;
}

bool trajectory_read(const char *path, bool unfinished, trajectory *t, reason *why) {
    line_file f;
    *t = (trajectory){0};
    if (!open_lines(&f, path, why)) {
        return false;
    }
    bool good = read_poses(&f, unfinished, false, t);
    good = close_lines(&f) && good;
    if (!good) {
        trajectory_free(t);
    }
    return good;
}

void trajectory_free(trajectory *t) {
    free(t->poses);
    free(t->times);
    free(t->ends);
    *t = (trajectory){0};
}

/* ---- times ---- */

static bool read_times(line_file *f, double **times, int64_t *count) {
    int64_t capacity = 0;
    bool whole;
    while (next_line(f, &whole)) {
        double v[MOST_NUMBERS];
        const char *text = f->line + strspn(f->line, " \t\r");
        if (*text == '#' || *text == '\0') {
            continue;
        }
        if (split_numbers(f->line, v) != 1 || isnan(v[0])) {
            return line_wrong(f, "not one number; give the seconds of one scan per line");
        }
        if (*count > 0 && !(v[0] > (*times)[*count - 1])) {
            return line_wrong(f, "not later than the scan before; give increasing times");
        }
        if (*count == capacity) {
            capacity = capacity ? 2 * capacity : 256;
            double *more = realloc(*times, (size_t)capacity * sizeof **times);
            if (!more) {
                return no_memory(f);
            }
            *times = more;
        }
        (*times)[(*count)++] = v[0];
    }
    return true;
}

bool timestamps_read(const char *path, double **times, int64_t *count, reason *why) {
    line_file f;
    *times = NULL;
    *count = 0;
    if (!open_lines(&f, path, why)) {
        return false;
    }
    bool good = read_times(&f, times, count);
    good = close_lines(&f) && good;
    if (!good) {
        free(*times);
        *times = NULL;
    }
    return good;
}

/* ---- calibrations ---- */

static bool read_calibration(line_file *f, double T[16], bool *found) {
    static const char *const names[] = {"Tr:", "Tr_velo_to_cam:"};
    bool whole;
    while (next_line(f, &whole)) {
        for (int i = 0; i < 2; i++) {
            double v[MOST_NUMBERS];
            reason why;
            if (strncmp(f->line, names[i], strlen(names[i])) != 0) {
                continue;
            }
            if (split_numbers(f->line + strlen(names[i]), v) != 12) {
                return line_wrong(f, "not 12 numbers");
            }
            *found = true;
            return transform_from_numbers(v, 12, T, &why) || line_wrong(f, why.text);
        }
    }
    return true;
}

bool calibration_read(const char *path, double T[16], reason *why) {
    line_file f;
    bool found = false;
    if (!open_lines(&f, path, why)) {
        return false;
    }
    bool good = read_calibration(&f, T, &found);
    if (good && !found && !f.failed) {
        reason inner;
        rewind(f.stream);
        good = transform_read(f.stream, T, &inner);
        if (!good) {
            refuse(why, "%s: no line \"Tr:\" of 12 numbers as in KITTI's calib.txt, and %s", path, inner.text);
        }
    }
    return close_lines(&f) && good;
}
