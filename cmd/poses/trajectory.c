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

/* The numbers of a line, at most MOST_NUMBERS; -1 when a word is none. "nan" counts as one. */
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

/* A line that stands for a pose. *form: how many numbers the lines have, 0 = not known. */
static bool parse_pose(line_file *f, int *form, pose_line *p) {
    double v[MOST_NUMBERS];
    char why[256];
    bool all = true, any = false;
    int n = split_numbers(f->line, v);
    p->time = NAN;
    if (n != 8 && n != 12 && n != 16) {
        return line_wrong(f, n < 0 ? "not numbers; give lines of 16, 12 (KITTI) or 8 (TUM) numbers"
                                   : "give lines of 16, 12 (KITTI) or 8 (TUM) numbers");
    }
    if (*form && *form != n) {
        return line_wrong(f, "another number of numbers than the line before; give lines of one format");
    }
    *form = n;
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
        return line_wrong(f, "nan among numbers; a pose has all of its numbers or none");
    }
    return all || transform_from_numbers(v, n, p->T, why, sizeof why) || line_wrong(f, why);
}

/* "# lost TIME", which stands for a pose, too. */
static bool parse_lost(const char *line, pose_line *p) {
    static const char word[] = "# lost ";
    for (int i = 0; i < 16; i++) {
        p->T[i] = NAN;
    }
    return strncmp(line, word, sizeof word - 1) == 0 && number_parse(line + sizeof word - 1, &p->time);
}

/* The state of the pose that follows; false for other lines. */
static bool parse_state(char *line, pose_line *p) {
    double v[MOST_NUMBERS];
    char why[256];
    if (strncmp(line, TRAJECTORY_STATE, sizeof TRAJECTORY_STATE - 1) != 0 ||
        split_numbers(line + sizeof TRAJECTORY_STATE - 1, v) != 14) {
        return false;
    }
    p->time = v[0];
    p->reference_time = v[1];
    return transform_from_numbers(v + 2, 12, p->T, why, sizeof why);
}

static bool append(trajectory *t, int64_t *room, const pose_line *p, int64_t end) {
    if (t->count == *room) {
        int64_t more = *room ? 2 * *room : 256;
        double *poses = realloc(t->poses, (size_t)more * 16 * sizeof *poses);
        t->poses = poses ? poses : t->poses;
        double *times = realloc(t->times, (size_t)more * sizeof *times);
        t->times = times ? times : t->times;
        int64_t *ends = realloc(t->ends, (size_t)more * sizeof *ends);
        t->ends = ends ? ends : t->ends;
        if (!poses || !times || !ends) {
            return false;
        }
        *room = more;
    }
    memcpy(t->poses + 16 * t->count, p->T, sizeof p->T);
    t->times[t->count] = p->time;
    t->reference_time = p->T[0] == p->T[0] ? p->reference_time : t->reference_time;
    t->ends[t->count++] = end;
    return true;
}

/* states: lines that are no comments here. */
static bool read_poses(line_file *f, bool unfinished, bool states, trajectory *t) {
    int64_t room = 0;
    int form = 0;
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
        if (!lost && !parse_pose(f, &form, &p)) {
            return false;
        }
        if (lost && form && form != 8) {
            return line_wrong(f, "a lost scan as TUM's format has it among other lines; give lines of one format");
        }
        form = lost ? 8 : form;
        p = has_state && p.T[0] == p.T[0] ? state : p;
        has_state = false;
        if (!append(t, &room, &p, f->end)) {
            return no_memory(f);
        }
    }
    if (f->failed) {
        return false;
    }
    t->numbers = form;
    if (form != 8 && !states) {
        free(t->times);
        t->times = NULL;
    }
    return true;
}

bool trajectory_read_unfinished(FILE *stream, const char *name, trajectory *t, char *why, size_t why_size) {
    line_file f = {.name = name, .stream = stream, .why = why, .why_size = why_size};
    *t = (trajectory){0};
    bool good = read_poses(&f, true, true, t);
    free(f.line);
    if (!good) {
        trajectory_free(t);
    }
    return good;
}

bool trajectory_read(const char *path, bool unfinished, trajectory *t, char *why, size_t why_size) {
    line_file f;
    *t = (trajectory){0};
    if (!open_lines(&f, path, why, why_size)) {
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
    int64_t room = 0;
    bool whole;
    while (next_line(f, &whole)) {
        double v[MOST_NUMBERS];
        const char *text = f->line + strspn(f->line, " \t\r");
        if (*text == '#' || *text == '\0') {
            continue;
        }
        if (split_numbers(f->line, v) != 1 || isnan(v[0])) {
            return line_wrong(f, "not one number; give the seconds of one scan a line");
        }
        if (*count > 0 && !(v[0] > (*times)[*count - 1])) {
            return line_wrong(f, "not later than the scan before; times must rise");
        }
        if (*count == room) {
            room = room ? 2 * room : 256;
            double *more = realloc(*times, (size_t)room * sizeof **times);
            if (!more) {
                return no_memory(f);
            }
            *times = more;
        }
        (*times)[(*count)++] = v[0];
    }
    return true;
}

bool timestamps_read(const char *path, double **times, int64_t *count, char *why, size_t why_size) {
    line_file f;
    *times = NULL;
    *count = 0;
    if (!open_lines(&f, path, why, why_size)) {
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
            char why[256];
            if (strncmp(f->line, names[i], strlen(names[i])) != 0) {
                continue;
            }
            if (split_numbers(f->line + strlen(names[i]), v) != 12) {
                return line_wrong(f, "not 12 numbers");
            }
            *found = true;
            return transform_from_numbers(v, 12, T, why, sizeof why) || line_wrong(f, why);
        }
    }
    return true;
}

bool calibration_read(const char *path, double T[16], char *why, size_t why_size) {
    line_file f;
    bool found = false;
    if (!open_lines(&f, path, why, why_size)) {
        return false;
    }
    bool good = read_calibration(&f, T, &found);
    if (good && !found && !f.failed) {
        char what[256];
        rewind(f.stream);
        good = transform_read(f.stream, T, what, sizeof what);
        if (!good) {
            snprintf(why, why_size, "%s: no line \"Tr:\" of 12 numbers as in KITTI's calib.txt, and %s", path, what);
        }
    }
    return close_lines(&f) && good;
}
