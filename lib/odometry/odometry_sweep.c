/* Odometry: when in its sweep a point was taken, from its azimuth or from a column of times. */
#include "odometry_lidar.h"

#include <math.h>

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

static void phases_from_azimuths(bool clockwise, const pc_points *points, float *phase) {
    const float first = points->n ? azimuth(points->x[0], points->y[0]) : 0.0f;
    for (int64_t i = 0; i < points->n; i++) {
        float turn = azimuth(points->x[i], points->y[i]) - first;
        turn = clockwise ? -turn : turn;
        phase[i] = (turn < 0.0f ? turn + 1.0f : turn) - 0.5f;
    }
}

/* What a sweep of a scanner can cover of the time from sweep to sweep; units differ by 1000. A sweep that covers nearly
 * all of it covers all: the last column is one before the first of the next, and times jitter. */
#define LEAST_COVERED  0.03
#define MOST_COVERED   1.3
#define NEARLY_COVERED 0.9
#define LEAST_TURN     0.75

/* In seconds, milliseconds, microseconds or nanoseconds, whichever fits; 0: none does. */
static double covered_in_units(double spread, double period) {
    double unit = 1.0;
    for (int i = 0; i < 4 && period > 0.0; i++, unit *= 1e-3) {
        const double covered = spread * unit / period;
        if (covered > LEAST_COVERED && covered < MOST_COVERED) {
            return covered;
        }
    }
    return 0.0;
}

double pc_sweep_covered(double spread, double period) {
    const double covered = covered_in_units(spread, period);
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

void pc_sweep_check_unit(pcgpu_odometry *o, const pc_points *points, double spread, double since) {
    if (!o->warned && since > 0.0 && covered_in_units(spread, since) == 0.0 && turn_covered(points) < LEAST_TURN) {
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
    return true;
}
