/* One registration from one start: by ndt, or by levels of ICP from coarse to fine. */
#include "icp_ops.h"
#include "ndt.h"
#include "icp.h"

#include <string.h>

/* Centroid of the target, and the rms distances of its points from the axes through it. */
static void measure_target(pc_register_work *w) {
    const pc_rows *t = &w->target;
    double spread[3] = {0};
    for (int64_t i = 0; i < t->n; i++) {
        for (int k = 0; k < 3; k++) {
            w->center[k] += (double)t->xyz[3 * i + k];
        }
    }
    for (int k = 0; k < 3; k++) {
        w->center[k] /= (double)t->n;
    }
    for (int64_t i = 0; i < t->n; i++) {
        for (int k = 0; k < 3; k++) {
            double d = (double)t->xyz[3 * i + k] - w->center[k];
            spread[k] += d * d;
        }
    }
    for (int k = 0; k < 3; k++) {
        w->gyration[k] = sqrt((spread[(k + 1) % 3] + spread[(k + 2) % 3]) / (double)t->n);
        w->gyration[k] = w->gyration[k] > 0.0 ? w->gyration[k] : 1.0;
    }
}

static pcgpu_status run_levels(pc_register_work *w) {
    for (int l = 0; l < w->levels && !w->stopped; l++) {
        int before = w->result->iterations;
        PC_TRY(pc_register_level(w, l));
        w->result->level_iterations[l] = w->result->iterations - before;
    }
    w->result->source_points = w->level_source.n;
    w->result->target_points = w->level_target.n;
    double begin = pc_now();
    pcgpu_status status = pc_register_evaluate(w);
    pc_register_stage_end(w, PC_STAGE_ITERATE, begin);
    return status;
}

static pcgpu_status run_icp(pc_register_work *w, const pcgpu_cloud *source, const pcgpu_cloud *target) {
    double begin = pc_now();
    PC_TRY(pc_rows_select(w, source, &w->source));
    PC_TRY(pc_rows_select(w, target, &w->target));
    pc_register_stage_end(w, PC_STAGE_SELECT, begin);
    if (w->source.n < PC_REGISTER_MIN_POINTS || w->target.n < PC_REGISTER_MIN_POINTS) {
        return PCGPU_OK;
    }
    pc_register_import_pose(w);
    measure_target(w);
    return run_levels(w);
}

pcgpu_status pc_register_once(pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                              const pcgpu_register_params *params, const pcgpu_cloud *source, const pcgpu_cloud *target,
                              pcgpu_registration *result) {
    pc_register_work w;
    pc_register_open(&w, context, backend, run, params, result);
    pc_register_attach_clouds(&w, source, target);
    const bool ndt = params->method == PCGPU_REGISTER_NDT;
    return pc_register_close(&w, ndt ? pc_register_ndt(&w, source, target) : run_icp(&w, source, target));
}

pcgpu_status pc_register_scans(pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                               const pcgpu_register_params *params, const pcgpu_cloud *source,
                               const pcgpu_cloud *target, pc_register_fn *clouds, pcgpu_registration *result) {
    pc_scan from, to;
    pcgpu_run begun = *run;
    const pcgpu_pair pair = {source, target};
    pcgpu_status status = pc_scan_take_pair(context, &pair, params, &from, &to, &begun);
    if (status == PCGPU_OK) {
        pcgpu_register_params taken = *params; /* which a search passes on: nothing is corrected twice */
        taken.min_range = taken.beam_correction = 0.0;
        status = clouds(context, backend, &begun, &taken, from.cloud, to.cloud, result);
    }
    pc_scan_release(&from);
    pc_scan_release(&to);
    return status;
}
