/* Odometry: its parameters, opening and closing. */
#include "odometry_lidar.h"

#include <stdlib.h>
#include <string.h>

void pcgpu_odometry_params_init_sized(pcgpu_odometry_params *params, size_t struct_size) {
    pcgpu_odometry_params initial = {.reference = PCGPU_REFERENCE_MODEL,
                                     .keyframe_distance = 3.0,
                                     .keyframe_angle = 0.35,
                                     .keyframe_fitness = 0.6,
                                     .model_range = 80.0,
                                     .model_points = 200,
                                     .deskew = PCGPU_DESKEW_AUTO};
    pcgpu_register_params_init(&initial.registration);
    pc_struct_init(params, struct_size, &initial, sizeof initial);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static pcgpu_status check(pcgpu_context *context, const pcgpu_odometry_params *p) {
    PC_TRY(pc_struct_check(context, "pcgpu_odometry_params", p->struct_size, sizeof *p));
    PC_TRY(pc_register_check(context, &p->registration));
    if ((int)p->reference < 0 || p->reference > PCGPU_REFERENCE_MODEL || (int)p->deskew < 0 ||
        p->deskew > PCGPU_DESKEW_AUTO) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "reference %d or deskewing %d is not known", (int)p->reference,
                       (int)p->deskew);
    }
    if (pc_reference_kinds[p->reference].only_ndt && p->registration.method != PCGPU_REGISTER_NDT) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "a model is made of voxels; register by method ndt, or to the previous scan or a keyframe");
    }
    PC_TRY(pc_keyframe_check(context, p->keyframe_distance, p->keyframe_angle, p->keyframe_fitness));
    const double most = pc_odometry_widest_local_map(p);
    if (!(p->model_range > 0.0) ||
        (p->reference == PCGPU_REFERENCE_MODEL && p->registration.voxel != PCGPU_AUTO && p->model_range > most)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "a model that reaches %g m; give more than 0 and up to %g m, or a larger voxel", p->model_range,
                       most);
    }
    if (p->model_points < 1 || p->model_points > 1000000) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld points in a voxel of the model; give 1 to 1000000",
                       (long long)p->model_points);
    }
    return PCGPU_OK;
}

pcgpu_status pcgpu_odometry_open(pcgpu_context *context, const pcgpu_odometry_params *params,
                                 pcgpu_odometry **odometry) {
    pc_clear_error(context);
    *odometry = NULL;
    PC_TRY(check(context, params));
    pcgpu_odometry *o = calloc(1, sizeof *o);
    if (!o) {
        return pc_fail_memory(context, sizeof *o, "the odometry");
    }
    o->context = context;
    o->params = *params;
    o->params.registration.search = PCGPU_SEARCH_NEVER; /* the motion of a sequence predicts better */
    o->given = o->params;
    o->kind = &pc_reference_kinds[params->reference];
    o->present = &o->scans[0];
    o->ops = pc_lidar_ops;
    o->track = (pc_track){.context = context,
                          .ops = &o->ops,
                          .owner = o,
                          .keyframe_distance = params->keyframe_distance,
                          .keyframe_angle = params->keyframe_angle};
    memcpy(o->track.init, params->registration.init, sizeof o->track.init);
    memcpy(o->track.last, o->track.init, sizeof o->track.last);
    *odometry = o;
    return PCGPU_OK;
}

void pcgpu_odometry_settled(const pcgpu_odometry *o, pcgpu_odometry_params *params) {
    pc_struct_init(params, params->struct_size, &o->params, sizeof o->params);
}

void pcgpu_odometry_close(pcgpu_odometry *o) {
    if (!o) {
        return;
    }
    if (o->backend) {
        o->backend->ndt->sequence_close(o->context, o->held.sequence);
    }
    for (int i = 0; i < PC_SCANS; i++) {
        pc_odometry_scan_free(&o->scans[i]);
    }
    for (int i = 0; i < PC_KEPT; i++) {
        pc_buffer_free(&o->kept[i].memory);
    }
    if (o->map) {
        o->free_map(o->map);
    }
    pc_motion_free(&o->track.motion);
    pc_buffer_free(&o->rows[0]);
    pc_buffer_free(&o->rows[1]);
    free(o);
}
