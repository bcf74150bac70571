/* Times and calibrations in files. */
#include "heap.h"
#include "lines.h"
#include "report.h"
#include "trajectory.h"
#include "transform_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- times ---- */

static bool read_times(line_file *f, double **times, int64_t *count) {
    while (next_line(f)) {
        double v[MOST_NUMBERS];
        const char *text = f->line + strspn(f->line, " \t\r");
        if (*text == '#' || *text == '\0') {
            continue;
        }
        char name[TIMED_NAME];
        if (!timed_line(text, true, v, name, sizeof name) && (split_numbers(f->line, v) != 1 || isnan(v[0]))) {
            return line_wrong(f, "not one number; give the seconds of one scan per line");
        }
        if (*count > 0 && !(v[0] > (*times)[*count - 1])) {
            return line_wrong(f, "not later than the scan before; give increasing times");
        }
        *times = heap_grow(*times, (size_t)*count, sizeof **times);
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

int trajectory_read_timed(const char *path, const char *timestamps, trajectory *t, double **times) {
    reason why;
    int64_t count = 0;
    *t = (trajectory){0};
    *times = NULL;
    if (!trajectory_read(path, t, &why) || (timestamps && !timestamps_read(timestamps, times, &count, &why))) {
        return report_error(NULL, "%s", why.text);
    }
    return !*times || count == t->count ? EXIT_DONE
                                        : report_error(timestamps, "%lld times for %lld poses; give one line per pose",
                                                       (long long)count, (long long)t->count);
}

/* ---- calibrations ---- */

static bool read_calibration(line_file *f, double T[16], bool *found) {
    static const char *const names[] = {"Tr:", "Tr_velo_to_cam:"};
    while (next_line(f)) {
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
