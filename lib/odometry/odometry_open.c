/* Odometry: its parameters, opening and closing. */
#include "odometry.h"

#include <stdlib.h>
#include <string.h>

void pcgpu_odometry_params_init(pcgpu_odometry_params *params) {
    *params = (pcgpu_odometry_params){.reference = PCGPU_REFERENCE_MODEL,
                                      .keyframe_distance = 3.0,
                                      .keyframe_angle = 0.35,
                                      .keyframe_fitness = 0.6,
                                      .model_range = 80.0,
                                      .model_points = 200,
                                      .time_column = 4};
    pcgpu_register_params_init(&params->registration);
}

/* ---- opening ------------------------------------------------------------------------------------------------- */

double pc_odometry_widest_model(const pcgpu_odometry_params *p) {
    return 8000.0 * 2.0 * p->registration.voxel;
}

static pcgpu_status check(pcgpu_context *context, const pcgpu_odometry_params *p) {
    pcgpu_status status = pc_register_check(context, &p->registration);
    if (status != PCGPU_OK) {
        return status;
    }
    if (p->registration.symmetric) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "a sequence is registered one way, to what was before; leave symmetric out");
    }
    if ((int)p->reference < 0 || p->reference > PCGPU_REFERENCE_MODEL || (int)p->deskew < 0 ||
        p->deskew > PCGPU_DESKEW_CLOCKWISE) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "reference %d or deskewing %d is not known", (int)p->reference,
                       (int)p->deskew);
    }
    if (pc_reference_kinds[p->reference].only_cells && p->registration.method != PCGPU_REGISTER_NDT) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "a model is made of cells; register by method ndt, or to the previous scan or a keyframe");
    }
    if (!(p->keyframe_distance >= 0.0 && p->keyframe_angle >= 0.0 && p->keyframe_fitness >= 0.0 &&
          p->keyframe_fitness <= 1.0)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "a keyframe of %g m, %g rad and a fitness of %g; give 0 or more",
                       p->keyframe_distance, p->keyframe_angle, p->keyframe_fitness);
    }
    const double most = pc_odometry_widest_model(p);
    if (!(p->model_range > 0.0) ||
        (p->reference == PCGPU_REFERENCE_MODEL && p->registration.voxel != PCGPU_AUTO && p->model_range > most)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "a model that reaches %g m; give more than 0 and up to %g m, or a larger voxel", p->model_range,
                       most);
    }
    if (p->model_points < 1 || p->model_points > 1000000) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld points in a cell of the model; give 1 to 1000000",
                       (long long)p->model_points);
    }
    return PCGPU_OK;
}

pcgpu_status pcgpu_odometry_open(pcgpu_context *context, const pcgpu_odometry_params *params,
                                 pcgpu_odometry **odometry) {
    pc_clear_error(context);
    *odometry = NULL;
    pcgpu_status status = check(context, params);
    pcgpu_odometry *o = status == PCGPU_OK ? calloc(1, sizeof *o) : NULL;
    if (status == PCGPU_OK && !o) {
        status = pc_fail_memory(context, sizeof *o, "the odometry");
    }
    if (status == PCGPU_OK) {
        o->context = context;
        o->params = *params;
        o->params.registration.search = PCGPU_SEARCH_NEVER; /* what a sequence knows of its motion is better */
        o->given = o->params.registration;
        o->given_range = params->model_range;
        o->kind = &pc_reference_kinds[params->reference];
        o->present = &o->scans[0];
        *odometry = o;
    }
    return status;
}

void pc_odometry_exchange_cells(pcgpu_odometry *o) {
    void *other = o->context->cpu_cells;
    o->context->cpu_cells = o->cpu_cells;
    o->cpu_cells = other;
}

void pcgpu_odometry_close(pcgpu_odometry *o) {
    if (!o) {
        return;
    }
    pc_odometry_exchange_cells(o);
    pc_cpu_cells_free(o->context);
    pc_odometry_exchange_cells(o);
    if (o->held.device) {
        o->backend->ndt->scans_close(o->context, o->held.device);
    }
    for (int i = 0; i < PC_SCANS; i++) {
        pc_odometry_scan_free(&o->scans[i]);
    }
    for (int i = 0; i < PC_KEPT; i++) {
        free(o->kept[i].memory.memory);
    }
    free(o->rows[0].memory);
    free(o->rows[1].memory);
    free(o);
}
