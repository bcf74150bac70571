/* A registration in progress: its pose, what its clouds look like from their sensors, its end. */
#include "icp_grid.h"
#include "icp_ops.h"
#include "icp.h"
#include "solve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* T of the result from the pose: target - offset = R (source - offset) + t. */
void pc_register_export_pose(pc_register_work *w) {
    double R[9], t[3];
    pc_quaternion_matrix(w->pose.q, R);
    for (int k = 0; k < 3; k++) {
        const double *s = w->offset_source;
        double turned = (R[3 * k] * s[0] + R[3 * k + 1] * s[1]) + R[3 * k + 2] * s[2];
        t[k] = w->pose.t[k] + (w->offset_target[k] - turned);
    }
    pc_transform_compose(R, t, w->result->T_target_source);
}

void pc_register_import_pose(pc_register_work *w) {
    const double *T = w->params->init;
    double R[9];
    w->pose = pc_matrix_pose(T);
    pc_quaternion_matrix(w->pose.q, R);
    for (int k = 0; k < 3; k++) {
        const double *s = w->offset_source;
        double turned = (R[3 * k] * s[0] + R[3 * k + 1] * s[1]) + R[3 * k + 2] * s[2];
        w->pose.t[k] = T[4 * k + 3] - (w->offset_target[k] - turned);
    }
    w->start = w->pose;
}

/* Writes the reason when there are too few points. */
static bool enough_points(pc_register_work *w) {
    pcgpu_registration *r = w->result;
    bool which = w->source.n < PC_REGISTER_MIN_POINTS;
    if (!which && w->target.n >= PC_REGISTER_MIN_POINTS) {
        return true;
    }
    r->source_points = w->source.n;
    r->target_points = w->target.n;
    memcpy(r->T_target_source, w->params->init, sizeof r->T_target_source);
    snprintf(r->reason, sizeof r->reason, "the %s has %lld usable points; at least %d are needed",
             which ? "source" : "target", (long long)(which ? w->source.n : w->target.n), PC_REGISTER_MIN_POINTS);
    return false;
}

pc_seen pc_register_seen(const pcgpu_cloud *cloud, pc_view **view) {
    const float *p = cloud->data; /* NULL of a cloud without rows */
    pc_seen seen = {.n = cloud->rows, .x = p, .y = p ? p + 1 : NULL, .z = p ? p + 2 : NULL, .stride = cloud->columns};
    memcpy(seen.offset, cloud->offset, sizeof seen.offset);
    seen.view = view;
    return seen;
}

void pc_register_see(const pcgpu_cloud *source, const pcgpu_cloud *target, pc_seen seen[2], pc_view *views[2]) {
    seen[0] = pc_register_seen(source, &views[0]);
    seen[1] = pc_register_seen(target, &views[1]);
}

void pc_register_attach_clouds(pc_register_work *w, const pcgpu_cloud *source, const pcgpu_cloud *target) {
    pc_register_see(source, target, w->seen, w->views);
    memcpy(w->offset_source, source->offset, sizeof w->offset_source);
    memcpy(w->offset_target, target->offset, sizeof w->offset_target);
}

void pc_register_open(pc_register_work *w, pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                      const pcgpu_register_params *params, pcgpu_registration *result) {
    *result = (pcgpu_registration){.run = *run};
    *w = (pc_register_work){.context = context, .backend = backend, .params = params, .result = result};
    w->levels = pc_register_levels(params);
    result->levels = w->levels;
    result->voxel = params->voxel;
    result->starts = 1;
    memcpy(result->start, params->init, sizeof result->start);
    memcpy(w->seen_from_target, pc_identity, sizeof pc_identity);
}

pcgpu_status pc_register_close(pc_register_work *w, pcgpu_status status) {
    static const char *const names[PC_REGISTER_STAGES] = {"select", "downsample", "index", "normals", "iterate"};
    if (status == PCGPU_OK && enough_points(w)) {
        pc_register_export_pose(w);
        for (int k = 0; k < 3; k++) {
            w->result->center[k] = w->center[k] + w->offset_target[k];
        }
        status = pc_register_check_convergence(w);
    }
    for (int i = 0; i < PC_REGISTER_STAGES && status == PCGPU_OK; i++) {
        pc_stage(&w->result->run, names[i], pc_now() - w->seconds[i]);
    }
    w->backend->icp->end(w->context);
    pc_view_drop(&w->views[0]);
    pc_view_drop(&w->views[1]);
    pc_rows_free(&w->source);
    pc_rows_free(&w->target);
    pc_rows_free(&w->level_source);
    pc_rows_free(&w->level_target);
    free(w->split);
    free(w->grouped);
    pc_icp_grid_free(&w->grid);
    pc_icp_grid_free(&w->source_grid);
    if (status != PCGPU_OK) {
        memset(w->result, 0, sizeof *w->result);
    }
    return status;
}
