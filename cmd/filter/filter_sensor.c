/* The place of the sensor, to which normals point: --set viewpoint, the pose of an input or of a time from --set poses,
 * the VIEWPOINT of a .pcd, else the origin of the file. All are in the coordinates of the points. */
#include "cloud.h"
#include "filter_run.h"
#include "sweep_table.h"
#include "trajectory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- poses ------------------------------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b) {
    const double s = ((const sweep_scan *)a)->time, t = ((const sweep_scan *)b)->time;
    return s < t ? -1 : s > t;
}

/* A scan for each pose, those of times in their order, without missing ones. */
static bool take_poses(const trajectory *t, bool timed, sweep_table *table, reason *why) {
    const double unit = timed ? trajectory_unit(t->times, t->count) : 1.0;
    for (int64_t i = 0; i < t->count; i++) {
        sweep_scan scan = {.time = timed ? t->times[i] * unit : 0.0, .posed = !isnan(t->poses[16 * i])};
        memcpy(scan.T, t->poses + 16 * i, sizeof scan.T);
        if (!timed || (scan.posed && isfinite(scan.time))) {
            sweep_scan_add(table, &scan);
        }
    }
    if (timed && table->count > 0) {
        qsort(table->scans, (size_t)table->count, sizeof *table->scans, by_time);
    }
    return table->count > 0 || refuse(why, "no pose with a time");
}

/* One pose for each input, or by time: table->inputs is NULL then. */
bool filter_read_poses(const session *s, reason *why) {
    sweep_table *table = s->sweeps;
    trajectory t;
    const char *path = s->options->poses;
    if (!path) {
        return true;
    }
    if (!trajectory_read(path, &t, why)) {
        return false;
    }
    const bool timed = t.count != s->input_count && t.times;
    bool good = t.count == s->input_count || t.times ||
                refuse(why,
                       "%s: %lld poses without times for %d inputs; give one per input, in their order, or poses "
                       "with times, such as TUM, for points with times",
                       input_name(path), (long long)t.count, s->input_count);
    good = good && take_poses(&t, timed, table, why);
    trajectory_free(&t);
    if (!good || timed) {
        return good;
    }
    sweep_inputs_begin(table, s->inputs, s->input_count);
    for (int i = 0; i < s->input_count; i++) {
        table->inputs[i].scan = i;
    }
    return sweep_inputs_end(table, why);
}

/* ---- one place --------------------------------------------------------------------------------------------------- */

const double *filter_viewpoint(const job *j, double place[3]) {
    static const double none[4];
    const session *s = j->session;
    const filter_values *own = filter_own(s->options);
    const double *of_file = j->clouds[0].header ? j->clouds[0].header->viewpoint : NULL;
    if (own->viewpoint.count > 0) {
        memcpy(place, own->viewpoint.values, sizeof own->viewpoint.values);
        return place;
    }
    if (s->options->poses && s->sweeps->inputs) {
        const double *T = s->sweeps->scans[sweep_of_input(s->sweeps, j->inputs[0])].T;
        for (int k = 0; k < 3; k++) {
            place[k] = T[4 * k + 3];
        }
        return place;
    }
    return of_file && memcmp(of_file + 3, none, sizeof none) != 0 ? of_file : NULL;
}

/* ---- by time ----------------------------------------------------------------------------------------------------- */

/* The times of points. */
typedef struct time_column {
    int column;
    bool exact; /* the next column has what float32 lacks */
    double unit;
} time_column;

static double time_of(const pcgpu_cloud *cloud, const time_column *c, int64_t i) {
    const float *value = cloud->data + i * cloud->columns + c->column;
    return (cloud->offset[c->column] + (double)value[0] + (c->exact ? (double)value[1] : 0.0)) * c->unit;
}

static bool find_times(const pcgpu_cloud *cloud, time_column *c) {
    *c = (time_column){.column = 3, .unit = 1.0};
    while (c->column < cloud->columns && !pc_is_time(cloud->names[c->column])) {
        c->column++;
    }
    if (c->column == cloud->columns) {
        return false;
    }
    double latest = 0.0;
    c->exact = pcgpu_column_is_remainder(cloud, c->column + 1);
    for (int64_t i = 0; i < cloud->rows; i++) {
        latest = fmax(latest, time_of(cloud, c, i));
    }
    c->unit = trajectory_unit(&latest, 1);
    return true;
}

/* Between the poses before and after the time, on a straight line; false: it is outside, where the first or last is. */
static bool place_at(const sweep_table *t, double time, double place[3]) {
    int64_t low = 0, high = t->count - 1;
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        const bool before = t->scans[middle].time <= time;
        low = before ? middle : low;
        high = before ? high : middle;
    }
    const sweep_scan *a = &t->scans[low], *b = &t->scans[high];
    const double wide = b->time - a->time, part = wide > 0.0 ? fmin(fmax((time - a->time) / wide, 0.0), 1.0) : 0.0;
    for (int k = 0; k < 3; k++) {
        place[k] = (1.0 - part) * a->T[4 * k + 3] + part * b->T[4 * k + 3];
    }
    return time >= t->scans[0].time && time <= t->scans[t->count - 1].time;
}

/* Turns a normal to a place by the rule of pcgpu_find_normals. */
static void turn(const pcgpu_cloud *cloud, const float *p, const double place[3], float n[3]) {
    double toward = 0.0;
    for (int k = 0; k < 3; k++) {
        toward += (double)n[k] * (place[k] - (cloud->offset[k] + (double)p[k]));
    }
    const double sign = toward != 0.0 ? toward : n[2] != 0.0f ? n[2] : n[1] != 0.0f ? n[1] : n[0];
    for (int k = 0; k < 3 && sign < 0.0; k++) {
        n[k] = 0.0f - n[k];
    }
}

int filter_turn_by_time(job *j, const filtered *f) {
    const sweep_table *t = j->session->sweeps;
    const pcgpu_cloud *cloud = &j->clouds[0];
    time_column times;
    int64_t outside = 0, taken = 0;
    if (!j->session->options->poses || t->inputs || filter_own(j->session->options)->normals == 0) {
        return EXIT_DONE;
    }
    if (!find_times(cloud, &times)) {
        return report_error(j->names[0],
                            "no column of times, such as time or gps_time, for the %lld poses of %s; give points with "
                            "times, or one pose per input",
                            (long long)t->count, input_name(j->session->options->poses));
    }
    for (int64_t i = 0; i < cloud->rows; i++) {
        double place[3];
        outside += f->mask[i] && !place_at(t, time_of(cloud, &times, i), place);
        taken += f->mask[i];
        if (f->mask[i]) {
            turn(cloud, cloud->data + i * cloud->columns, place, f->normals + 4 * i);
        }
    }
    if (outside > 0 && outside == taken) {
        return report_error(j->names[0],
                            "no point has a time between those of the poses, %.15g and %.15g s; give both in one clock",
                            t->scans[0].time, t->scans[t->count - 1].time);
    }
    if (outside > 0) {
        report_warning(j->names[0],
                       "%lld of %lld points have times outside those of the poses; their normals point to the first or "
                       "last pose",
                       (long long)outside, (long long)taken);
    }
    return EXIT_DONE;
}
