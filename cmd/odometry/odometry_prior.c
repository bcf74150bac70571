/* pcgpu odometry --prior: positions from elsewhere, at the times of the scans. */
#include "odometry_run.h"
#include "transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In median intervals of the positions. */
#define GAP  3.0  /* over a longer one, positions are not interpolated */
#define SAME 1e-4 /* times of a scan and a position that are rounded */

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median step of three times or more. */
static double median_step(const double *times, int64_t count) {
    const size_t n = (size_t)count - 1;
    double *steps = heap_take(NULL, n * sizeof *steps);
    for (size_t i = 0; i < n; i++) {
        steps[i] = times[i + 1] - times[i];
    }
    qsort(steps, n, sizeof *steps, ascending);
    const double median = steps[n / 2];
    free(steps);
    return median;
}

/* Interpolates the position at a time; returns that at or before it, or -1: there is none. */
static int64_t position_at(const odometry_prior *prior, double time, pcgpu_position *to) {
    const positions *p = &prior->all;
    const double same = SAME * prior->interval;
    int64_t low = 0, high = p->count;
    while (low < high) { /* the first position behind the time */
        const int64_t middle = low + (high - low) / 2;
        low = p->times[middle] <= time + same ? middle + 1 : low;
        high = p->times[middle] <= time + same ? high : middle;
    }
    const int64_t a = low - 1, b = low < p->count ? low : a;
    if (a < 0 || (time - p->times[a] > same && !(b > a && p->times[b] - p->times[a] <= GAP * prior->interval))) {
        return -1;
    }
    const double part = b > a ? fmax(0, (time - p->times[a]) / (p->times[b] - p->times[a])) : 0;
    for (int k = 0; k < 3; k++) {
        to->at[k] = p->rows[a][k] + part * (p->rows[b][k] - p->rows[a][k]);
    }
    to->sigma = fmax(p->rows[a][3], p->rows[b][3]);
    return a;
}

static bool take(const session *s, const double *times, bool clock, odometry_prior *prior, reason *why) {
    const char *path = input_name(odometry_own(s->options)->prior);
    positions *p = &prior->all;
    int64_t first = -1;
    int covered = 0;
    if (!clock || p->count < 3) {
        return refuse(why,
                      !clock ? "%s: positions have times, and the scans have none; give --timestamps, or a recording"
                             : "%s: fewer than 3 positions; give more",
                      path);
    }
    const double unit = trajectory_unit(p->times, p->count) / trajectory_unit(times, s->input_count);
    for (int64_t i = 0; i < p->count; i++) {
        p->times[i] *= unit;
        p->rows[i][3] = p->rows[i][3] > 0 ? p->rows[i][3] : odometry_own(s->options)->prior_sigma;
    }
    prior->interval = median_step(p->times, p->count);
    for (int i = 0; i < s->input_count; i++) {
        pcgpu_position unused;
        const int64_t at = position_at(prior, times[i], &unused);
        first = first < 0 ? at : first;
        covered += at >= 0;
    }
    if (covered < 3) {
        return refuse(why,
                      "%s: %d scans have a time between two positions, which are from %.15g to %.15g s, at most %.3g s "
                      "apart; give 3 or more, and both in one clock",
                      path, covered, p->times[0], p->times[p->count - 1], GAP * prior->interval);
    }
    memcpy(prior->origin, p->rows[first], sizeof prior->origin);
    positions_to_metres(p, prior->origin);
    return true;
}

int odometry_read_prior(const session *s, const double *times, bool clock, odometry_prior *prior) {
    const char *path = odometry_own(s->options)->prior;
    reason why;
    if (!path || (positions_read(path, &prior->all, &why) && take(s, times, clock, prior, &why))) {
        return EXIT_DONE;
    }
    return report_error(NULL, "%s", why.text);
}

static void report_prior(const session *s, const odometry_prior *prior, int64_t count, const pcgpu_anchor_result *a,
                         double farthest) {
    const char *name = input_name(odometry_own(s->options)->prior);
    const double *o = prior->origin;
    json out;
    report_result(name,
                  "%lld scans have a position, %lld of them outliers; the others are %.3f m (rms) from the path, which "
                  "was bent by up to %.3f m",
                  (long long)count, (long long)a->outliers, a->rms, farthest);
    if (prior->all.geodetic) {
        report_result(name, "poses are metres east, north, up of latitude %.9f, longitude %.9f, height %.4f m", o[0],
                      o[1], o[2]);
    }
    if (5 * a->outliers > count) {
        report_warning(name,
                       "%lld of %lld positions contradict the odometry; give a larger --set prior-sigma if they "
                       "are less accurate",
                       (long long)a->outliers, (long long)count);
    }
    if (a->line) {
        report_warning(name, "the positions lie along a line; about it the z axis of the odometry points up");
    }
    if (session_json_open(s, &out)) {
        json_integer(&out, "exit_code", EXIT_DONE);
        json_open(&out, "prior");
        json_integer(&out, "positions", count);
        json_integer(&out, "outliers", a->outliers);
        json_number(&out, "rms", a->rms);
        json_number(&out, "moved", farthest);
        json_boolean(&out, "line", a->line);
        json_boolean(&out, "converged", a->graph.converged);
        json_numbers(&out, "T_prior_world", a->T_prior_world, 16);
        json_numbers(&out, "origin", o, prior->all.geodetic ? 3 : 0);
        json_close(&out);
        session_json_close(&out);
    }
}

/* Where positions are rarer than scans, each of those interpolated has a part of the weight. */
int odometry_anchor(session *s, pcgpu_loops *loops, const odometry_prior *prior, const double *times,
                    const double *poses, const pcgpu_loops_result *r) {
    const char *name = input_name(odometry_own(s->options)->prior);
    const double rarer = sqrt(fmax(1, prior->interval / median_step(times, s->input_count)));
    pcgpu_position *all = heap_take(NULL, (size_t)s->input_count * sizeof *all);
    pcgpu_anchor_result a;
    int64_t count = 0;
    double farthest = 0;
    for (int64_t i = 0; i < r->frames; i++) {
        pcgpu_position *to = &all[count];
        to->id = r->ids[i];
        count += position_at(prior, times[to->id], to) >= 0;
        to->sigma *= rarer;
    }
    const pcgpu_status status = pcgpu_loops_anchor(loops, all, count, odometry_own(s->options)->prior_antenna, &a);
    free(all);
    PC_TRY(exit_code_of(status, name, s->context));
    for (int64_t i = 0; i < r->frames; i++) {
        const double *T = poses + 16 * r->ids[i], t[3] = {T[3], T[7], T[11]};
        double at[3];
        pc_transform_apply(a.T_prior_world, t, at);
        for (int k = 0; k < 3; k++) {
            at[k] -= r->poses[16 * i + 4 * k + 3];
        }
        farthest = fmax(farthest, sqrt(at[0] * at[0] + at[1] * at[1] + at[2] * at[2]));
    }
    report_prior(s, prior, count, &a, farthest);
    return EXIT_DONE;
}
