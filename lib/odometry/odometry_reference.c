/* Odometry: the references of a scan - the previous scan, a keyframe, or a local map of all previous scans. */
#include "odometry_lidar.h"

#include <stdlib.h>
#include <string.h>

/* ---- two scans --------------------------------------------------------------------------------------------------- */

void pc_odometry_keep_counts(const pcgpu_run *taken, pcgpu_run *run) {
    run->points_in = taken->points_in;
    run->non_finite = taken->non_finite;
    run->at_origin = taken->at_origin;
    run->too_near = taken->too_near;
    run->on_carrier = taken->on_carrier;
}

/* The points were selected when the scan was taken; `result` has that in its `run` and keeps it. */
static pcgpu_status align_by_icp(pcgpu_odometry *o, const pcgpu_register_params *params, pc_odometry_scan *scan,
                                 pc_odometry_scan *target, pcgpu_registration *result) {
    pcgpu_cloud clouds[2];
    pcgpu_register_params here = *params;
    const pcgpu_run before = result->run;
    here.drop_origin = false; /* they are gone already */
    here.min_range = here.beam_correction = 0.0;
    PC_TRY(pc_odometry_as_cloud(o, 0, scan, &clouds[0]));
    PC_TRY(pc_odometry_as_cloud(o, 1, target, &clouds[1]));
    PC_TRY(pc_register_pair(o->context, o->backend, &o->run, &here, &clouds[0], &clouds[1], result));
    pc_odometry_keep_counts(&before, &result->run);
    return PCGPU_OK;
}

/* The scan, and what it is registered to; a local map by the last scan of it. Coordinates far from their origin were
 * not seen from there. */
static void see(pcgpu_odometry *o, pc_odometry_scan *scan, pc_odometry_scan *target, pc_register_work *w) {
    pc_odometry_scan *scans[2] = {scan, target ? target : o->last};
    const int seen = o->map ? 1 : 2;
    if (o->home[0] != 0.0 || o->home[1] != 0.0 || o->home[2] != 0.0) {
        return;
    }
    for (int i = 0; i < seen; i++) {
        const pc_points *p = &scans[i]->points;
        w->seen[i] = (pc_seen){.n = p->n, .x = p->x, .y = p->y, .z = p->z, .stride = 1, .view = &scans[i]->view};
        memcpy(w->seen[i].offset, scans[i]->offset, sizeof w->seen[i].offset);
    }
    if (o->map) {
        w->look = o->look_at_map;
        w->look_state = o;
    } else if (!target) {
        pc_transform_invert(o->last->T, w->seen_from_target);
    }
}

pcgpu_status pc_odometry_align_by_ndt(pcgpu_odometry *o, const pcgpu_register_params *params, pc_odometry_scan *scan,
                                      pc_odometry_scan *target, pcgpu_registration *result) {
    const pcgpu_run run = result->run;
    pc_register_work w;
    pc_register_open(&w, o->context, o->backend, &run, params, result);
    memcpy(w.offset_source, scan->offset, sizeof w.offset_source);
    memcpy(w.offset_target, target ? target->offset : o->map_anchor, sizeof w.offset_target);
    see(o, scan, target, &w);
    w.near = o->near;
    w.in_sequence = true;
    w.seconds[PC_STAGE_SELECT] = o->select_seconds;
    double start = pc_now();
    pcgpu_status status;
    PC_TRY_OR(done, status, pc_odometry_send(o, scan));
    if (target && !o->held.held) {
        PC_TRY_OR(done, status, pc_odometry_send(o, target));
    }
    pc_register_stage_end(&w, PC_STAGE_INDEX, start);
    status = pc_register_ndt_points(&w, &scan->points, target ? &target->points : NULL, &o->held);
done:
    return pc_register_close(&w, status);
}

/* Makes a scan the target of the next ones. A device builds its voxels while the host takes the next scan; errors are
 * reported by the registration that needs the voxels. */
static void be_target(pcgpu_odometry *o, pc_odometry_scan *scan) {
    pcgpu_registration unused = {0};
    pc_register_work w;
    o->held.held = false;
    if (o->params.registration.method != PCGPU_REGISTER_NDT) {
        return;
    }
    pc_register_open(&w, o->context, o->backend, &o->run, &o->params.registration, &unused);
    if (pc_odometry_send(o, scan) != PCGPU_OK || pc_register_ndt_hold(&w, &scan->points, &o->held) != PCGPU_OK) {
        pc_clear_error(o->context);
    }
}

static pcgpu_status align_to(pcgpu_odometry *o, pc_odometry_scan *scan, pc_odometry_scan *target,
                             const double predicted[16], pcgpu_registration *result, double T[16]) {
    pcgpu_register_params params = o->params.registration;
    pc_transform_between(target->T, predicted, params.init);
    params.min_score = o->min_score;
    params.max_iterations = o->max_iterations;
    PC_TRY(params.method == PCGPU_REGISTER_NDT ? pc_odometry_align_by_ndt(o, &params, scan, target, result)
                                               : align_by_icp(o, &params, scan, target, result));
    pc_transform_multiply(target->T, result->T_target_source, T);
    return PCGPU_OK;
}

/* The keyframe, which the previous scan is where every scan joins the reference. */
static pcgpu_status align_to_keyframe(pcgpu_odometry *o, pc_odometry_scan *scan, const double predicted[16],
                                      pcgpu_registration *result, double T[16]) {
    return align_to(o, scan, o->keyframe, predicted, result, T);
}

void pc_odometry_make_keyframe(pcgpu_odometry *o, pc_odometry_scan *scan) {
    o->keyframe = scan;
    be_target(o, scan);
}

static pcgpu_status accept_keyframe(pcgpu_odometry *o, pc_odometry_scan *scan, bool first) {
    (void)first;
    pc_odometry_make_keyframe(o, scan);
    return PCGPU_OK;
}

/* ---- a local map ------------------------------------------------------------------------------------------------- */

/* Voxels, centroid and radii of gyration are recomputed when the number of voxels has grown by this factor. */
#define RENEW_GROWTH 1.3

static double edge_of(const pcgpu_odometry *o) {
    return 2.0 * o->params.registration.voxel;
}

static int levels_of(const pcgpu_odometry *o) {
    return pc_register_levels(&o->params.registration);
}

static pcgpu_status align_to_local_map(pcgpu_odometry *o, pc_odometry_scan *scan, const double predicted[16],
                                       pcgpu_registration *result, double T[16]) {
    pcgpu_register_params params = o->params.registration;
    memcpy(params.init, predicted, sizeof params.init);
    params.min_score = o->min_score;
    params.max_iterations = o->max_iterations;
    PC_TRY(pc_odometry_align_by_ndt(o, &params, scan, NULL, result));
    memcpy(T, result->T_target_source, 16 * sizeof *T);
    return PCGPU_OK;
}

/* The box: a cube of whole widest voxels around the anchor, whose voxels' faces keep clear of round coordinates. */
double pc_odometry_lay_box(pcgpu_odometry *o) {
    const double edge = edge_of(o), wide = edge * (double)(1 << (levels_of(o) - 1));
    const double half =
        ceil(o->params.model_range / wide) + 2.0; /* it moves when the sensor is a voxel from its middle */
    pc_ndt_frame *f = &o->held.frame;
    f->unit = edge / (double)(1 << PC_NDT_BITS);
    f->per_unit = (double)(1 << PC_NDT_BITS) / edge;
    for (int k = 0; k < 3; k++) {
        f->origin[k] = -half * wide - 0.381966011250105 * edge;
        f->limit[k] = (float)(2.0 * half * wide / edge * (double)(1 << PC_NDT_BITS));
    }
    return half;
}

pcgpu_status pc_odometry_merge(pcgpu_odometry *o, pc_odometry_scan *scan, const double T[16], const double anchor[3],
                               pc_ndt_merge *m, pc_ndt_measure *measure) {
    pcgpu_register_params params = o->params.registration;
    pcgpu_registration unused = {0};
    pc_register_work w;
    memcpy(params.init, T, sizeof params.init);
    pc_register_open(&w, o->context, o->backend, &o->run, &params, &unused);
    memcpy(w.offset_source, scan->offset, sizeof w.offset_source);
    memcpy(w.offset_target, anchor, sizeof w.offset_target);
    pc_register_import_pose(&w);
    pc_ndt_work c = {.w = &w, .frame = o->held.frame, .target = scan->points, .sigma = pc_ndt_sigma_of(&w)};
    pc_ndt_describe_target(&c, &w.pose, &m->scan);
    PC_TRY(pc_odometry_send(o, scan)); /* on errors, the local map is as it was */
    return o->backend->ndt->sequence_merge(o->context, o->held.sequence, scan->points.scan, m, measure);
}

/* Adds a scan at its pose; the box follows it. A scan without points, whose pose was given, has no centroid to rotate
 * about: the local map stays as it is. */
static pcgpu_status merge_into_local_map(pcgpu_odometry *o, pc_odometry_scan *scan, bool forget) {
    if (scan->points.n == 0 && !forget) {
        return PCGPU_OK;
    }
    const double wide = edge_of(o) * (double)(1 << (levels_of(o) - 1));
    pc_ndt_merge m = {.forget = forget, .most = o->params.model_points};
    pc_ndt_measure measure = o->held.measure;
    double anchor[3];
    for (int k = 0; k < 3; k++) { /* the origin of the file's coordinates is the sensor */
        double voxels = floor((scan->T[4 * k + 3] - o->map_anchor[k]) / wide + 0.5);
        bool moves = fabs(voxels) > 1.0;
        m.move[k] = moves && !forget ? (int32_t)(fabs(voxels) < 1e9 ? voxels : 1e9) : 0;
        anchor[k] = o->map_anchor[k] + (moves ? voxels * wide : 0.0);
        m.renew = m.renew || moves;
    }
    m.renew = m.renew || forget || (double)o->held.measure.voxels > RENEW_GROWTH * o->map_voxels;
    PC_TRY(pc_odometry_merge(o, scan, scan->T, anchor, &m, &measure));
    memcpy(o->map_anchor, anchor, sizeof anchor);
    o->held.measure = measure;
    o->map_voxels = m.renew ? (double)measure.voxels : o->map_voxels;
    o->held.held = true;
    o->held.points = INT32_MAX; /* no need to count them */
    return PCGPU_OK;
}

static pcgpu_status accept_into_local_map(pcgpu_odometry *o, pc_odometry_scan *scan, bool first) {
    if (first) {
        memset(o->map_anchor, 0, sizeof o->map_anchor);
        pc_odometry_lay_box(o);
    }
    return merge_into_local_map(o, scan, first);
}

const pc_reference_kind pc_reference_kinds[] = {
    [PCGPU_REFERENCE_PREVIOUS] = {.align = align_to_keyframe, .accept = accept_keyframe},
    [PCGPU_REFERENCE_KEYFRAME] = {.align = align_to_keyframe, .accept = accept_keyframe},
    [PCGPU_REFERENCE_MODEL] = {.align = align_to_local_map, .accept = accept_into_local_map, .only_ndt = true},
};
