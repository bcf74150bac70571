/* Odometry: the sensor's motion, the usable points of a scan, and where they would be had it stood still. */
#include "odometry_lidar.h"
#include "simd.h"
#include "solve.h"

#include <stdlib.h>
#include <string.h>

/* ---- motions ------------------------------------------------------------------------------------------------- */

PC_INLINE void cross(const double a[3], const double b[3], double out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* The rotation by 2 atan(|half|) about `half`, which is Cayley's: nothing but + - * /. */
static void turn_matrix(const double half[3], double R[9]) {
    double q[4] = {1, half[0], half[1], half[2]};
    pc_quaternion_normalize(q);
    pc_quaternion_matrix(q, R);
}

/* The trajectory of a motion of constant velocity is an arc: with rotation w and initial velocity u, the position is u
 * s + w x u s^2/2 + w x (w x u) s^3/6 to third order, which is 0.1 mm of 1 m in rotations of 10 degrees. Solved for u
 * at s = 1. */
pc_twist pc_twist_of(const double T[16]) {
    const double R[9] = {T[0], T[1], T[2], T[4], T[5], T[6], T[8], T[9], T[10]}, t[3] = {T[3], T[7], T[11]};
    double q[4], once[3], twice[3];
    pc_twist twist;
    pc_matrix_quaternion(R, q);
    for (int k = 0; k < 3; k++) {
        twist.rotation[k] = 2.0 * q[1 + k] / (q[0] != 0.0 ? q[0] : 1e-9);
    }
    cross(twist.rotation, t, once);
    cross(twist.rotation, once, twice);
    for (int k = 0; k < 3; k++) {
        twist.translation[k] = (t[k] - 0.5 * once[k]) + twice[k] / 12.0;
    }
    return twist;
}

void pc_twist_after(const pc_twist *twist, double time, double T[16]) {
    double half[3], R[9], once[3], twice[3], t[3];
    cross(twist->rotation, twist->translation, once);
    cross(twist->rotation, once, twice);
    for (int k = 0; k < 3; k++) {
        half[k] = 0.5 * time * twist->rotation[k];
    }
    turn_matrix(half, R);
    for (int k = 0; k < 3; k++) {
        t[k] = time * (twist->translation[k] + time * (0.5 * once[k] + time * (twice[k] / 6.0)));
    }
    pc_transform_compose(R, t, T);
}

/* The motion is not extrapolated farther than so many steps. */
#define PREDICT_STEPS 20.0

bool pc_predict(const double before[16], double time_before, const double last[16], double time_last, double time,
                double T[16]) {
    const double steps = (time - time_last) / (time_last - time_before);
    double moved[16], step[16];
    memcpy(T, last, 16 * sizeof *T);
    if (!(steps <= PREDICT_STEPS)) {
        return false;
    }
    pc_transform_between(before, last, moved);
    const pc_twist motion = pc_twist_of(moved);
    pc_twist_after(&motion, steps, step);
    pc_transform_multiply(last, step, T);
    return true;
}

bool pc_moved_beyond(const double from[16], const double to[16], double metres, double radians) {
    double moved[16];
    pc_transform_between(from, to, moved);
    const pc_twist twist = pc_twist_of(moved);
    return pc_transform_length(moved) > metres || pc_norm3(twist.rotation) > radians;
}

/* ---- points -------------------------------------------------------------------------------------------------- */

pcgpu_status pc_odometry_take_memory(pcgpu_odometry *o, pc_odometry_scan *scan, int64_t rows) {
    const size_t bytes = (3 * (size_t)rows + 1) * sizeof(float);
    void *memory = NULL;
    scan->sent = false;
    pc_view_drop(&scan->view);
    PC_TRY(o->backend->ndt->sequence_memory(o->context, o->held.sequence, (int)(scan - o->scans), bytes, &memory));
    scan->xyz = memory;
    return PCGPU_OK;
}

/* The points as they were read, and their times. */
static pcgpu_status take_timed(pcgpu_odometry *o, const pcgpu_cloud *cloud, pc_odometry_scan *scan, pcgpu_run *run) {
    pcgpu_context *context = o->context;
    const pcgpu_odometry_params *p = &o->params;
    const bool drop_origin = p->registration.drop_origin;
    const size_t rows = (size_t)cloud->rows;
    const bool may_lack =
        o->given.deskew == PCGPU_DESKEW_AUTO && o->given.time_column == 0; /* such a scan stays as it is */
    if (!may_lack) {
        PC_TRY(pc_sweep_check(context, p, cloud));
    }
    float *memory = pc_buffer_take(&scan->raw_memory, 5 * (rows + 1) * sizeof(float), false);
    if (!memory) {
        return pc_fail_memory(context, 20 * rows, "the points");
    }
    pc_points_select_into(context, cloud, drop_origin, memory, &scan->raw, run);
    scan->phase = memory + 3 * rows;
    if (scan->raw.n < cloud->rows) {
        scan->raw.rows = (int32_t *)(memory + 4 * rows);
        pc_points_list_rows(cloud, drop_origin, scan->raw.rows);
    }
    const bool timed = pc_sweep_phases(p, cloud, &scan->raw, scan->phase, &scan->spread);
    if (o->last && p->deskew == PCGPU_DESKEW_TIME) {
        pc_sweep_report(o, cloud, &scan->raw, scan->spread, scan->time - o->last->time);
    }
    scan->points.n = scan->raw.n;
    if (!timed && p->deskew != PCGPU_DESKEW_TIME) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "the azimuths of the points do not follow a revolution; give scans in the order of the scanner, "
                       "or --deskew none, or time with a column of times");
    }
    const int column = pc_time_column(cloud, p->time_column);
    return timed || may_lack
               ? PCGPU_OK
               : pc_fail(
                     context, PCGPU_ERROR_ARGUMENT,
                     "column %d ('%s') has one time for all points, as float32; give --set time-column, times since "
                     "the start of the sweep, or another --deskew",
                     column, cloud->names[column]);
}

/* A result of a scene that hardly constrains a direction counts wherever it is from so many times the least score on.
 * On a bare road wrong ones have up to 1.8 times. */
#define CLEAR_SCORE 2.0

/* The voxel size for all scans and their times, from the first one that gets a pose. */
static pcgpu_status settle(pcgpu_odometry *o, const pcgpu_cloud *first) {
    pcgpu_register_params *p = &o->params.registration;
    PC_TRY(pc_register_settle(o->context, &o->given.registration, first, p));
    pc_sweep_settle(&o->given, first, &o->params);
    o->track.near = p->method == PCGPU_REGISTER_NDT ? 0.5 * p->voxel : 0.0;
    o->track.clear_score = CLEAR_SCORE * p->min_score;
    if (o->given.registration.voxel == PCGPU_AUTO) {
        o->params.model_range = fmin(o->given.model_range, pc_odometry_widest_local_map(&o->params));
    }
    return PCGPU_OK;
}

pcgpu_status pc_odometry_take(pcgpu_odometry *o, const pcgpu_cloud *cloud, pc_odometry_scan *scan, pcgpu_run *run) {
    const pcgpu_odometry_params *p = &o->params;
    if (cloud->rows > INT32_MAX) {
        return pc_fail(o->context, PCGPU_ERROR_ARGUMENT, "%lld points; more than 2^31 are not possible",
                       (long long)cloud->rows);
    }
    pc_scan taken;
    pcgpu_status status;
    PC_TRY_OR(done, status, pc_scan_take(o->context, cloud, &p->registration, &taken, run));
    if (!o->last) {
        PC_TRY_OR(done, status, settle(o, taken.cloud));
    }
    pc_carrier_find(o->context, &p->registration, taken.cloud, &scan->carrier);
    /* All near points of the first scan are dropped: the carrier is not known yet. */
    PC_TRY_OR(done, status, pc_scan_leave_out(o->context, o->last ? &o->last->carrier : &scan->carrier, &taken, run));
    PC_TRY_OR(done, status, pc_odometry_take_memory(o, scan, cloud->rows));
    memcpy(scan->offset, cloud->offset, sizeof scan->offset);
    if (p->deskew != PCGPU_DESKEW_NONE) {
        PC_TRY_OR(done, status, take_timed(o, taken.cloud, scan, run));
    } else {
        pc_points_select_into(o->context, taken.cloud, p->registration.drop_origin, scan->xyz, &scan->points, run);
        pc_points_center(&scan->points, scan->offset);
    }
    scan->points.scan = (int)(scan - o->scans);
    for (int k = 0; k < 3; k++) {
        o->home[k] = !o->last && !o->map ? scan->offset[k] : o->home[k];
        scan->offset[k] -= o->home[k];
        scan->cloud_offset[k] = cloud->offset[k] - o->home[k];
    }
done:
    pc_scan_release(&taken);
    return status;
}

enum { POINTS_A_PART = 8192 };

/* The middle of the sweep from the place of a point: p + 2 (h x p + h x (h x p)) / (1 + h h) + translation, with
 * Cayley's h. */
PC_INLINE void move_point(const pc_sweep *m, double s, double p[3]) {
    double half[3], a[3], b[3], square = 1.0;
    for (int k = 0; k < 3; k++) {
        half[k] = 0.5 * s * m->motion.rotation[k];
        square += half[k] * half[k];
    }
    cross(half, p, a);
    cross(half, a, b);
    for (int k = 0; k < 3; k++) {
        p[k] += 2.0 * (a[k] + b[k]) / square +
                s * (m->motion.translation[k] + s * (0.5 * m->once[k] + s * (m->twice[k] / 6.0)));
    }
}

pc_sweep pc_sweep_of(const pc_twist *motion) {
    pc_sweep sweep = {.motion = *motion};
    cross(motion->rotation, motion->translation, sweep.once);
    cross(motion->rotation, sweep.once, sweep.twice);
    return sweep;
}

void pc_sweep_move(const pc_sweep *sweep, const double offset[3], float phase, float row[3]) {
    double p[3] = {(double)row[0] + offset[0], (double)row[1] + offset[1], (double)row[2] + offset[2]};
    move_point(sweep, (double)phase, p);
    for (int k = 0; k < 3; k++) {
        row[k] = (float)(p[k] - offset[k]);
    }
}

typedef struct moving {
    pc_sweep sweep;
    const double *offset;
    pc_odometry_scan *scan;
    pc_simd simd;
} moving;

/* to: x, y and z of n points. */
PC_INLINE void move_points(const moving *m, const pc_points *from, const float *phase, float *restrict to,
                           int64_t begin, int64_t end) {
    const double *o = m->offset;
    const float *restrict x = from->x, *restrict y = from->y, *restrict z = from->z;
    const int64_t n = from->n;
    for (int64_t i = begin; i < end; i++) {
        double p[3] = {(double)x[i] + o[0], (double)y[i] + o[1], (double)z[i] + o[2]};
        move_point(&m->sweep, (double)phase[i], p);
        to[i] = (float)(p[0] - o[0]);
        to[n + i] = (float)(p[1] - o[1]);
        to[2 * n + i] = (float)(p[2] - o[2]);
    }
}

PC_SIMD_FORMS_OF(move_points,
                 (const moving *m, const pc_points *from, const float *phase, float *restrict to, int64_t begin,
                  int64_t end),
                 (m, from, phase, to, begin, end))

static void move_range(void *state, int64_t begin, int64_t end) {
    const moving *m = state;
    move_points_for(m->simd)(m, &m->scan->raw, m->scan->phase, m->scan->xyz, begin, end);
}

pcgpu_status pc_odometry_deskew(pcgpu_odometry *o, const pc_twist *motion, pc_odometry_scan *scan) {
    static const pc_twist still;
    moving m = {pc_sweep_of(motion ? motion : &still), scan->cloud_offset, scan, pc_context_simd(o->context)};
    const int64_t n = scan->points.n;
    PC_TRY(pc_odometry_take_memory(o, scan, n)); /* which a device may be reading */
    float *to = scan->xyz;
    scan->points = (pc_points){.n = n, .x = to, .y = to + n, .z = to + 2 * n, .scan = (int)(scan - o->scans)};
    pc_run_ranges(o->context, n, POINTS_A_PART, move_range, &m);
    memcpy(scan->offset, scan->cloud_offset, sizeof scan->offset);
    pc_points_find_box(&scan->points);
    pc_points_center(&scan->points, scan->offset);
    return PCGPU_OK;
}

pcgpu_status pc_odometry_send(pcgpu_odometry *o, pc_odometry_scan *scan) {
    const pc_points *p = &scan->points;
    if (!scan->sent) {
        PC_TRY(o->backend->ndt->sequence_send(o->context, o->held.sequence, p->scan, p->n, p->x, p->y, p->z));
        scan->sent = true;
    }
    return PCGPU_OK;
}

/* ---- rows ----------------------------------------------------------------------------------------------------- */

static float *fill_rows(pc_buffer *memory, const pc_points *p) {
    float *rows = pc_buffer_take(memory, (3 * (size_t)p->n + 1) * sizeof *rows, false);
    for (int64_t i = 0; i < p->n && rows; i++) {
        rows[3 * i] = p->x[i];
        rows[3 * i + 1] = p->y[i];
        rows[3 * i + 2] = p->z[i];
    }
    return rows;
}

pcgpu_status pc_odometry_as_cloud(pcgpu_odometry *o, int which, const pc_odometry_scan *scan, pcgpu_cloud *cloud) {
    const pc_points *p = &scan->points;
    *cloud = (pcgpu_cloud){.rows = p->n, .columns = 3, .data = fill_rows(&o->rows[which], p)};
    memcpy(cloud->offset, scan->offset, sizeof scan->offset);
    return cloud->data ? PCGPU_OK : pc_fail_memory(o->context, 12 * (uint64_t)p->n, "the points");
}

void pc_odometry_keep(const pc_odometry_scan *scan, pc_kept_scan *kept) {
    kept->n = fill_rows(&kept->memory, &scan->points) ? scan->points.n : 0;
    memcpy(kept->offset, scan->offset, sizeof kept->offset);
}

pcgpu_cloud pc_odometry_kept_cloud(const pc_kept_scan *kept) {
    pcgpu_cloud cloud = {.rows = kept->n, .columns = 3, .data = kept->memory.memory};
    memcpy(cloud.offset, kept->offset, sizeof kept->offset);
    return cloud;
}

void pc_odometry_scan_free(pc_odometry_scan *scan) {
    pc_buffer_free(&scan->raw_memory);
    pc_view_drop(&scan->view);
    *scan = (pc_odometry_scan){0};
}

bool pc_odometry_begins_on_cpu(pcgpu_odometry *o, pcgpu_status *status) {
    if (o->last || !o->backend || !pc_goes_to_cpu(o->context, o->backend, *status)) {
        return false;
    }
    o->backend->ndt->sequence_close(o->context, o->held.sequence);
    o->held = (pc_ndt_held){0};
    o->backend = NULL;
    *status = PCGPU_OK;
    return true;
}
