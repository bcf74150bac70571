/* The points of a scan as odometry registers them, with all columns, for a map of the scans. */
#include "odometry_lidar.h"

#include <stdlib.h>

typedef struct moving_rows {
    pc_sweep sweep;
    const pc_points *points;
    const float *phase;
    pcgpu_cloud *cloud;
} moving_rows;

static void move_rows(void *state, int64_t begin, int64_t end) {
    const moving_rows *m = state;
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = m->points->rows ? m->points->rows[i] : i;
        pc_sweep_move(&m->sweep, m->cloud->offset, m->phase[i], m->cloud->data + row * m->cloud->columns);
    }
}

/* Moves the points to the middle of the sweep. Its motion is a fraction of that from scan to scan. */
static pcgpu_status deskew(pcgpu_context *context, const pcgpu_odometry_params *p, const double T_before_scan[16],
                           double fraction, pcgpu_cloud *cloud) {
    enum { CHUNK = 8192 };
    pc_points points;
    pcgpu_run run = {0};
    pc_twist motion = pc_twist_of(T_before_scan);
    PC_TRY(pc_points_select(context, cloud, p->registration.drop_origin, &points, &run));
    float *phase = malloc(((size_t)points.n + 1) * sizeof *phase);
    if (!phase) {
        pc_points_free(&points);
        return pc_fail_memory(context, (uint64_t)points.n * sizeof *phase, "the times of the points");
    }
    double spread;
    pc_sweep_phases(p, cloud, &points, phase, &spread); /* true: the odometry has refused other scans */
    for (int k = 0; k < 3; k++) {
        motion.rotation[k] *= fraction;
        motion.translation[k] *= fraction;
    }
    moving_rows m = {pc_sweep_of(&motion), &points, phase, cloud};
    pc_run_ranges(context, points.n, CHUNK, move_rows, &m);
    free(phase);
    pc_points_free(&points);
    return PCGPU_OK;
}

/* Leaves out the returns of the carrier, which are where the scan before has returns, too. */
static pcgpu_status leave_out_carrier(pcgpu_context *context, const pcgpu_register_params *params,
                                      const pcgpu_cloud *before, pc_scan *scan, pcgpu_run *run) {
    pc_scan other = {.cloud = scan->cloud};
    pcgpu_run unused = {0};
    pc_carrier carrier;
    if (before) {
        PC_TRY(pc_scan_take(context, before, params, &other, &unused));
    }
    pc_carrier_find(context, params, other.cloud, &carrier);
    pc_scan_release(&other);
    return pc_scan_leave_out(context, &carrier, scan, run);
}

pcgpu_status pcgpu_scan_points(pcgpu_context *context, const pcgpu_odometry_params *params, const pcgpu_cloud *scan,
                               const pcgpu_cloud *before, const double T_before_scan[16], double fraction,
                               pcgpu_cloud *points, pcgpu_run *run) {
    pcgpu_odometry_params settled = *params;
    pc_sweep_settle(params, scan, &settled);
    const bool deskews = settled.deskew != PCGPU_DESKEW_NONE;
    pc_scan taken;
    pcgpu_status status;
    *points = (pcgpu_cloud){0};
    if (deskews) {
        PC_TRY(pc_sweep_check(context, &settled, scan));
    }
    PC_TRY_OR(done, status, pc_scan_take(context, scan, &params->registration, &taken, run));
    PC_TRY_OR(done, status, leave_out_carrier(context, &params->registration, before, &taken, run));
    if (taken.cloud == &taken.own) {
        *points = taken.own;
        taken.own = (pcgpu_cloud){0};
    } else {
        PC_TRY_OR(done, status, pc_cloud_create_like(context, scan, scan->rows, points));
        memcpy(points->data, scan->data, (size_t)scan->rows * (size_t)scan->columns * sizeof *scan->data);
    }
    if (deskews && T_before_scan) {
        status = deskew(context, &settled, T_before_scan, fraction, points);
    }
done:
    pc_scan_release(&taken);
    if (status != PCGPU_OK) {
        pcgpu_cloud_free(points);
    }
    return status;
}
