/* Odometry: when in its sweep a point was taken, from its azimuth or from a column of times. */
#include "odometry_lidar.h"

#include <math.h>
#include <string.h>

/* The azimuth in turns, 0 to 1, from x towards y; within 2e-5. Not atan2, which differs between libraries. */
static inline float azimuth(float x, float y) {
    double ax = fabs((double)x), ay = fabs((double)y), low = ax < ay ? ax : ay, high = ax < ay ? ay : ax;
    double r = high > 0.0 ? low / high : 0.0, s = r * r; /* atan on [0, 1]: Abramowitz and Stegun 4.4.49 */
    double turn = r * (0.9998660 + s * (-0.3302995 + s * (0.1801410 + s * (-0.0851330 + s * 0.0208351))));
    turn *= 0.15915494309189535;
    turn = ax < ay ? 0.25 - turn : turn;
    turn = x < 0.0f ? 0.5 - turn : turn;
    turn = y < 0.0f ? 1.0 - turn : turn;
    return (float)(turn < 1.0 ? turn : 0.0);
}

#define JUMP 0.0625f /* turns */
enum { LEAST_ORDERED = 64 };

static void phases_from_azimuths(bool clockwise, const pc_points *points, float *phase) {
    const float first = points->n ? azimuth(points->x[0], points->y[0]) : 0.0f;
    for (int64_t i = 0; i < points->n; i++) {
        float turn = azimuth(points->x[i], points->y[i]) - first;
        turn = clockwise ? -turn : turn;
        phase[i] = (turn < 0.0f ? turn + 1.0f : turn) - 0.5f;
    }
}

/* Whether most points are near the one before them, as those of a scanner are, beam by beam or all beams in turn. */
static bool is_in_order(const float *phase, int64_t n) {
    int64_t jumps = 0;
    for (int64_t i = 1; i < n; i++) {
        const float step = fabsf(phase[i] - phase[i - 1]);
        jumps += step > JUMP && step < 1.0f - JUMP;
    }
    return 2 * jumps <= n || n < LEAST_ORDERED;
}

/* What a sweep of a scanner can cover of the time from sweep to sweep; units differ by 1000. A sweep that covers nearly
 * all of it covers all: the last column is one before the first of the next, and times jitter. */
#define LEAST_COVERED  0.03
#define MOST_COVERED   1.3
#define NEARLY_COVERED 0.9
#define LEAST_TURN     0.75

static const char *const units[] = {"seconds", "milliseconds", "microseconds", "nanoseconds", "whole sweeps"};

/* In the first of the units that fits; 0: none does, *unit is whole sweeps. */
static double covered_in_units(double spread, double period, int *unit) {
    double scale = 1.0;
    for (*unit = 0; *unit < 4; ++*unit, scale *= 1e-3) {
        const double covered = spread * scale / period;
        if (period > 0.0 && covered > LEAST_COVERED && covered < MOST_COVERED) {
            return covered;
        }
    }
    return 0.0;
}

double pc_sweep_covered(double spread, double period) {
    int unit;
    const double covered = covered_in_units(spread, period, &unit);
    return covered > 0.0 && covered < NEARLY_COVERED ? covered : 1.0;
}

/* The part of a turn around the sensor that has points. */
static double turn_covered(const pc_points *points) {
    enum { PARTS = 64 };
    bool seen[PARTS] = {false};
    int parts = 0;
    for (int64_t i = 0; i < points->n; i++) {
        const int part = (int)(azimuth(points->x[i], points->y[i]) * PARTS) % PARTS;
        parts += !seen[part];
        seen[part] = true;
    }
    return (double)parts / PARTS;
}

void pc_sweep_report(pcgpu_odometry *o, const pcgpu_cloud *cloud, const pc_points *points, double spread,
                     double since) {
    const int column = pc_time_column(cloud, o->params.time_column);
    int unit;
    const double covered = covered_in_units(spread, since, &unit);
    if (!o->reported) {
        pc_log(o->context, PCGPU_LOG_INFO, "deskewed by the times in column '%s' (%s, %s)", cloud->names[column],
               pc_type_name(cloud->types[column]), units[unit]);
        o->reported = true;
    }
    if (!o->warned && since > 0.0 && covered == 0.0 && turn_covered(points) < LEAST_TURN) {
        pc_log(
            o->context, PCGPU_LOG_WARNING,
            "the points cover %.0f degrees, and their times have no known unit: deskewing takes them as a whole sweep "
            "of %g s; give times in seconds, milliseconds, microseconds or nanoseconds",
            360.0 * turn_covered(points), since);
        o->warned = true;
    }
}

/* From a column of the usable records. A time that is not finite is the middle. False: all times are the same. */
static bool phases_from_times(const pcgpu_cloud *cloud, int column, const int32_t *rows, int64_t n, float *phase,
                              double *spread) {
    double low = INFINITY, high = -INFINITY;
    if (column >= cloud->columns) {
        memset(phase, 0, (size_t)n * sizeof *phase);
        *spread = 0.0;
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        double time = (double)cloud->data[(rows ? rows[i] : i) * cloud->columns + column];
        low = time - time == 0.0 && time < low ? time : low;
        high = time - time == 0.0 && time > high ? time : high;
    }
    const double per = high > low ? 1.0 / (high - low) : 0.0;
    *spread = high > low ? high - low : 0.0;
    for (int64_t i = 0; i < n; i++) {
        double time = (double)cloud->data[(rows ? rows[i] : i) * cloud->columns + column];
        phase[i] = time - time == 0.0 && per > 0.0 ? (float)((time - low) * per - 0.5) : 0.0f;
    }
    return per > 0.0 || n < 2;
}

/* ---- whether a scan has times ------------------------------------------------------------------------------------ */

/* Columns of times have many values. Those that have no name for it are times when the azimuth says so: nearly all
 * values, as fractions of the sweep, less the azimuths, as fractions of a turn, are the same. */
enum { TIME_SAMPLE = 1024, TIME_PARTS = 64, LEAST_PARTS = 16, TURN_PARTS = 32 };
#define WITH_AZIMUTH 0.9

/* Values of a column, of up to TIME_SAMPLE points. */
typedef struct time_sample {
    int n;
    double low, high;
    float value[TIME_SAMPLE], azimuth[TIME_SAMPLE];
} time_sample;

static void sample_column(const pcgpu_cloud *cloud, int column, time_sample *s) {
    const int64_t every = (cloud->rows + TIME_SAMPLE - 1) / TIME_SAMPLE;
    s->n = 0;
    s->low = INFINITY;
    s->high = -INFINITY;
    for (int64_t i = 0; every > 0 && i < cloud->rows / every; i++) {
        const float *p = cloud->data + pc_pick(i, every) * cloud->columns;
        const float value = p[column];
        if (pc_cloud_usable(cloud, p, true) && value - value == 0.0f) {
            s->low = fmin(s->low, (double)value);
            s->high = fmax(s->high, (double)value);
            s->azimuth[s->n] = azimuth(p[0] + (float)cloud->offset[0], p[1] + (float)cloud->offset[1]);
            s->value[s->n++] = value;
        }
    }
}

/* The place of a value among so many parts of the sweep. */
static int part_of(double fraction, int parts) {
    const int part = (int)(fraction * parts);
    return part < parts ? part : parts - 1;
}

static bool has_many_values(const time_sample *s) {
    bool seen[TIME_PARTS] = {false};
    int parts = 0;
    for (int i = 0; i < s->n && s->high > s->low; i++) {
        const int part = part_of(((double)s->value[i] - s->low) / (s->high - s->low), TIME_PARTS);
        parts += !seen[part];
        seen[part] = true;
    }
    return parts >= LEAST_PARTS;
}

/* sign: 1 for a counterclockwise scanner, -1 for a clockwise one. */
static bool follows_azimuth(const time_sample *s, double sign) {
    int counts[TURN_PARTS] = {0}, most = 0;
    for (int i = 0; i < s->n; i++) {
        const double less = ((double)s->value[i] - s->low) / (s->high - s->low) - sign * (double)s->azimuth[i];
        counts[part_of(less - floor(less), TURN_PARTS)]++;
    }
    for (int k = 0; k < TURN_PARTS; k++) { /* a part with its neighbours */
        const int near = counts[k] + counts[(k + 1) % TURN_PARTS] + counts[(k + 2) % TURN_PARTS];
        most = near > most ? near : most;
    }
    return most >= WITH_AZIMUTH * s->n;
}

void pc_sweep_settle(const pcgpu_odometry_params *given, const pcgpu_cloud *first, pcgpu_odometry_params *settled) {
    const bool finds = given->deskew == PCGPU_DESKEW_AUTO && given->time_column == 0;
    time_sample s;
    settled->deskew = finds                                ? PCGPU_DESKEW_NONE
                      : given->deskew == PCGPU_DESKEW_AUTO ? PCGPU_DESKEW_TIME
                                                           : given->deskew;
    settled->time_column = given->time_column;
    for (int k = 3; k < first->columns && finds; k++) {
        sample_column(first, k, &s);
        if (has_many_values(&s) &&
            (pc_is_time(first->names[k]) || follows_azimuth(&s, 1.0) || follows_azimuth(&s, -1.0))) {
            settled->deskew = PCGPU_DESKEW_TIME;
            settled->time_column = k;
            return;
        }
    }
}

pcgpu_status pc_sweep_check(pcgpu_context *context, const pcgpu_odometry_params *p, const pcgpu_cloud *cloud) {
    const int column = pc_time_column(cloud, p->time_column);
    return p->deskew != PCGPU_DESKEW_TIME || (column >= 3 && column < cloud->columns)
               ? PCGPU_OK
               : pc_fail(context, PCGPU_ERROR_ARGUMENT,
                         "no column %d for the times of points; the cloud has %d columns, counted "
                         "from 0, after x y z",
                         column, cloud->columns);
}

bool pc_sweep_phases(const pcgpu_odometry_params *p, const pcgpu_cloud *cloud, const pc_points *points, float *phase,
                     double *spread) {
    *spread = 0.0;
    if (p->deskew == PCGPU_DESKEW_TIME) {
        return phases_from_times(cloud, pc_time_column(cloud, p->time_column), points->rows, points->n, phase, spread);
    }
    phases_from_azimuths(p->deskew == PCGPU_DESKEW_CLOCKWISE, points, phase);
    return is_in_order(phase, points->n);
}
