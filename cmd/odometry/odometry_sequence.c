/* pcgpu odometry with the folder of a KITTI odometry sequence: its scans, times, truth and calibration. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "camera_file.h"
#include "odometry_run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef enum path_kind { IS_FILE, IS_FOLDER } path_kind;

static bool is_kind(const char *path, path_kind kind) {
    struct stat st;
    return stat(path, &st) == 0 && (kind == IS_FOLDER ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode));
}

/* A name in the folder that is a file (or a folder), kept with the options; NULL when there is none. */
static const char *name_in(option_values *o, const char *folder, const char *name, path_kind kind) {
    char path[4096];
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n > 0 && (size_t)n < sizeof path && is_kind(path, kind) ? options_keep(o, path) : NULL;
}

/* SEQUENCE/poses.txt, or poses/00.txt beside sequences/00, as KITTI unpacks them. The folder may be given as "." or a
 * link. */
static const char *find_truth(option_values *o, const char *folder) {
    const char *truth = name_in(o, folder, "poses.txt", IS_FILE);
    char *real = truth ? NULL : realpath(folder, NULL), name[4096];
    if (real && snprintf(name, sizeof name, "../../poses/%s.txt", path_base(real)) < (int)sizeof name) {
        truth = name_in(o, real, name, IS_FILE);
    }
    free(real);
    return truth;
}

/* The elevation of KITTI's scanner is 0.205 degree off (Deschaud, IMLS-SLAM, 2018). Other sequences come in KITTI's
 * folders, too: its own have rectified cameras with focal lengths of 707, 719 and 722 pixels. */
static void correct_beams(session *s, const char *calibration) {
    pcgpu_camera camera;
    reason unused;
    if (calibration && !option_given(s->options, "beam-correction", s->command) &&
        camera_file_read(calibration, &camera, NULL, &unused) && camera.fx > 700.0 && camera.fx < 730.0) {
        odometry_own(s->options)->beam_correction = s->options->registration.beam_correction = 0.205;
        report_result(
            odometry_own(s->options)->sequence,
            "KITTI's scanner: its beams are corrected by 0.205 degree; --beam-correction 0 leaves them as they are");
    }
}

void odometry_find_sequence(session *s) {
    option_values *o = s->options;
    if (s->input_count != 1 || o->files_from || !is_kind(s->inputs[0], IS_FOLDER)) {
        return;
    }
    char *folder = heap_text("%s", s->inputs[0]);
    for (size_t n = strlen(folder); n > 1 && folder[n - 1] == '/'; n--) {
        folder[n - 1] = '\0';
    }
    const char *scans = name_in(o, folder, "velodyne", IS_FOLDER);
    if (scans) {
        s->inputs[0] = scans;
        odometry_own(o)->sequence = options_keep(o, folder);
        if (!o->timestamps && !option_given_here(o, "rate", s->command)) {
            o->timestamps = name_in(o, folder, "times.txt", IS_FILE);
        }
        const char *calibration = name_in(o, folder, "calib.txt", IS_FILE);
        if (!o->ground_truth) {
            o->ground_truth = find_truth(o, folder);
            o->calibration = o->ground_truth && !o->calibration ? calibration : o->calibration;
        }
        if (calibration) {
            input_protect(calibration);
        }
        correct_beams(s, calibration);
    }
    free(folder);
}

/* 000014.bin is scan 14; -1 for a name that is no number. */
static int64_t number_of(const char *path) {
    const char *name = path_base(path);
    const size_t digits = strspn(name, "0123456789");
    return digits > 0 && digits < 10 && name[digits] == '.' ? strtoll(name, NULL, 10) : -1;
}

/* Whether the names of all inputs are numbers, which increase. */
static bool is_numbered(const session *s) {
    int64_t last = -1;
    for (int i = 0; i < s->input_count; i++) {
        const int64_t number = number_of(s->inputs[i]);
        if (number <= last) {
            return false;
        }
        last = number;
    }
    return true;
}

void odometry_times_of_rate(const session *s, double *times) {
    const bool numbered = odometry_own(s->options)->sequence && is_numbered(s);
    for (int i = 0; i < s->input_count; i++) {
        times[i] = (double)(numbered ? number_of(s->inputs[i]) : i) / s->options->rate;
    }
}

bool odometry_pick_rows(const session *s, double *values, int each, int64_t *rows) {
    const int count = s->input_count;
    if (*rows == count) {
        return true;
    }
    if (!is_numbered(s) || number_of(s->inputs[count - 1]) >= *rows) {
        return false;
    }
    for (int i = 0; i < count; i++) { /* numbers increase */
        memmove(values + (size_t)each * (size_t)i, values + (size_t)each * (size_t)number_of(s->inputs[i]),
                (size_t)each * sizeof *values);
    }
    *rows = count;
    return true;
}
