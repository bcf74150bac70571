/* What must hold for any file of poses, positions, a transform, times or a calibration: a sentence that names the file,
 * or poses that are rigid or missing, and times that rise. */
#include "fuzz.h"

#include "positions.h"
#include "trajectory.h"
#include "transform_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_pose(const double *T) {
    double worst = 0;
    for (int i = 0; i < 16; i++) {
        MUST(isfinite(T[i]));
    }
    for (int i = 0; i < 9; i++) {
        const double *a = T + 4 * (i / 3), *b = T + 4 * (i % 3);
        worst = fmax(worst, fabs(a[0] * b[0] + a[1] * b[1] + a[2] * b[2] - (i % 4 == 0)));
    }
    MUST(worst < 0.1 && T[12] == 0 && T[13] == 0 && T[14] == 0 && T[15] == 1);
}

static int check_trajectory(void) {
    reason why = {""};
    trajectory t;
    if (!trajectory_read("poses.txt", &t, &why)) {
        fuzz_check_shown(why.text, "poses.txt:");
        MUST(t.count == 0 && !t.poses);
        return 0;
    }
    for (int64_t i = 0; i < t.count; i++) {
        if (!isnan(t.poses[16 * i])) {
            check_pose(t.poses + 16 * i);
        }
        MUST(!t.times || isfinite(t.times[i]));
    }
    trajectory_free(&t);
    return 1;
}

static int check_positions(void) {
    reason why = {""};
    positions p;
    if (!positions_read("poses.txt", &p, &why)) {
        fuzz_check_shown(why.text, "poses.txt:");
        MUST(p.count == 0 && !p.times && !p.rows);
        return 0;
    }
    if (p.count > 0) {
        positions_to_metres(&p, p.rows[p.count / 2]);
    }
    for (int64_t i = 0; i < p.count; i++) {
        MUST(isfinite(p.times[i]) && (i == 0 || p.times[i] > p.times[i - 1]));
        MUST(fabs(p.rows[i][0]) < 1e10 && fabs(p.rows[i][1]) < 1e10 && fabs(p.rows[i][2]) < 1e10);
    }
    positions_free(&p);
    return 1;
}

static int check_times(void) {
    reason why = {""};
    double *times = NULL;
    int64_t count = 0;
    if (!timestamps_read("poses.txt", &times, &count, &why)) {
        fuzz_check_shown(why.text, "poses.txt:");
        return 0;
    }
    for (int64_t i = 0; i < count; i++) {
        MUST(isfinite(times[i]) && (i == 0 || times[i] > times[i - 1]));
    }
    free(times);
    return 1;
}

static int check_calibration(void) {
    reason why = {""};
    double T[16];
    if (!calibration_read("poses.txt", T, &why)) {
        fuzz_check_shown(why.text, "poses.txt:");
        return 0;
    }
    check_pose(T);
    return 1;
}

static int check_transform(const uint8_t *data, size_t size) {
    reason why = {""};
    double T[16];
    FILE *f = fuzz_open(data, size);
    const bool good = transform_read(f, T, &why);
    fclose(f);
    if (good) {
        check_pose(T);
    }
    MUST(good || strlen(why.text) > 10);
    return good;
}

/* The lines of a list: a time and a name that fits, whatever they are. */
static int check_list(const uint8_t *data, size_t size) {
    char line[256], name[32];
    double time;
    int found = 0;
    for (size_t at = 0; at < size; at++) {
        size_t n = 0;
        for (; at < size && data[at] != '\n'; at++) {
            line[n] = (char)data[at];
            n += n + 1 < sizeof line;
        }
        line[n] = '\0';
        if (timed_line(line, true, &time, name, sizeof name)) {
            MUST(isfinite(time) && name[0] && strlen(name) < sizeof name && !strpbrk(name, " \t\r\n,"));
            found = 1;
        }
    }
    return found;
}

int fuzz_check_poses(const uint8_t *data, size_t size) {
    fuzz_write_file("poses.txt", data, size);
    int valid = check_trajectory();
    trajectory_is((const char *)data, size, NULL);
    valid |= check_positions();
    valid |= check_times();
    valid |= check_calibration();
    valid |= check_transform(data, size);
    valid |= check_list(data, size);
    return valid;
}
