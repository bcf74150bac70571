/* pcgpu odometry --guess: the motion of the sensor from elsewhere. */
#include "odometry_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Takes out the missing poses; times in seconds. */
static void tidy(trajectory *t, double *times, double unit) {
    int64_t kept = 0;
    for (int64_t i = 0; i < t->count; i++) {
        if (!isnan(t->poses[16 * i]) && !isnan(times[i])) {
            memmove(t->poses + 16 * kept, t->poses + 16 * i, 16 * sizeof *t->poses);
            times[kept++] = times[i] * unit;
        }
    }
    t->count = kept;
}

static bool covers_a_scan(const trajectory *t, const double *poses_times, const double *times, int scans) {
    bool covers = false;
    for (int i = 0; i < scans && t->count > 0; i++) {
        covers = covers || (times[i] >= poses_times[0] && times[i] <= poses_times[t->count - 1]);
    }
    return covers;
}

/* Poses with times are in the clock of the inputs, where these have one; others are one per input. */
static bool take(const session *s, trajectory *t, const double *times, bool clock, double **poses_times, reason *why) {
    const char *path = input_name(odometry_own(s->options)->guess);
    const bool timed = t->times && clock;
    if (!timed && !odometry_pick_rows(s, t->poses, 16, &t->count)) {
        return refuse(why,
                      "%s: %lld poses for %d inputs; give one per input, in their order, or poses with times, such as "
                      "TUM, and --timestamps",
                      path, (long long)t->count, s->input_count);
    }
    *poses_times = heap_zeroed((size_t)t->count + 1, sizeof **poses_times);
    memcpy(*poses_times, timed ? t->times : times, (size_t)t->count * sizeof **poses_times);
    tidy(t, *poses_times, timed ? trajectory_unit(t->times, t->count) / trajectory_unit(times, s->input_count) : 1.0);
    return !timed || covers_a_scan(t, *poses_times, times, s->input_count) ||
           refuse(why, "%s: no input has a time between those of the poses, %.15g and %.15g s; give both in one clock",
                  path, t->count ? (*poses_times)[0] : NAN, t->count ? (*poses_times)[t->count - 1] : NAN);
}

int odometry_read_guess(const session *s, const double *times, bool clock, pcgpu_odometry *odometry,
                        pcgpu_depth_odometry *camera) {
    const char *path = odometry_own(s->options)->guess;
    trajectory t = {0};
    double *poses_times = NULL;
    reason why;
    if (!path) {
        return EXIT_DONE;
    }
    int code = trajectory_read(path, &t, &why) && take(s, &t, times, clock, &poses_times, &why)
                   ? EXIT_DONE
                   : report_error(NULL, "%s", why.text);
    if (code == EXIT_DONE) {
        const pcgpu_status status = camera ? pcgpu_depth_odometry_guess(camera, poses_times, t.poses, t.count)
                                           : pcgpu_odometry_guess(odometry, poses_times, t.poses, t.count);
        code = status == PCGPU_OK ? EXIT_DONE : report_failure(input_name(path), s->context);
    }
    free(poses_times);
    trajectory_free(&t);
    return code;
}
