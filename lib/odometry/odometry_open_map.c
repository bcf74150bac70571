/* Odometry: an existing map, as scans are localized in it. */
#include "odometry_localize.h"

#include <stdlib.h>
#include <string.h>

/* Scans and maps are in float32 units of a finest voxel; these are exact up to here. */
#define MOST_VOXELS 16384.0

#define VOXEL_VOXELS 4.0 /* of the search */

#define WIDER      4.0 /* than the voxel that fits the spacing of the map's points, */
#define WIDE_VOXEL 0.5 /* up to so many metres */

/* The box of all voxels, in whole widest voxels; its faces are those of all boxes. */
static pcgpu_status lay_world(pcgpu_odometry *o, const pc_points *points, pc_ndt_frame *frame) {
    const double edge = 2.0 * o->params.registration.voxel, wide = pc_odometry_widest_voxel(o);
    *frame = o->held.frame;
    for (int k = 0; k < 3; k++) {
        const double low = (double)points->box[k][0], high = (double)points->box[k][1];
        const double first = floor((low - edge) / wide), voxels = ceil((high + edge) / wide) + 1.0 - first;
        if (!(voxels * wide / edge <= MOST_VOXELS)) {
            return pc_fail(o->context, PCGPU_ERROR_ARGUMENT,
                           "the map spans %.4g m, more than %.0f voxels of %.3g m; crop it, or use a larger voxel",
                           high - low, MOST_VOXELS, edge);
        }
        o->map->first[k] = (int64_t)first;
        frame->origin[k] += (first + o->map->half) * wide;
        frame->limit[k] = (float)(voxels * wide / edge * (double)(1 << PC_NDT_BITS));
    }
    return PCGPU_OK;
}

/* Makes the voxels of all points, and keeps them. */
static pcgpu_status make_voxels(pcgpu_odometry *o, pc_odometry_scan *scan) {
    static const pc_pose identity = {.q = {1, 0, 0, 0}};
    pc_register_work w = {.params = &o->params.registration, .levels = pc_register_levels(&o->params.registration)};
    pc_ndt_work c = {.w = &w, .target = scan->points, .sigma = pc_ndt_sigma_of(&w)};
    pc_ndt_merge m = {.forget = true, .renew = true, .most = INT64_MAX >> 2 * PC_NDT_MAX_LEVELS};
    pc_ndt_measure unused = {0};
    PC_TRY(lay_world(o, &scan->points, &c.frame));
    pc_ndt_describe_target(&c, &identity, &m.scan);
    PC_TRY(pc_odometry_send(o, scan));
    PC_TRY(o->backend->ndt->sequence_merge(o->context, o->held.sequence, scan->points.scan, &m, &unused));
    PC_TRY(o->backend->ndt->sequence_keep(o->context, o->held.sequence));
    c.frame = o->held.frame;
    c.target.n = 0;
    pc_ndt_describe_target(&c, &identity, &o->map->box);
    return PCGPU_OK;
}

static void free_parts(pc_odometry_map *map) {
    pc_places_free(map->places);
    pc_odometry_session_free(map->session);
    map->places = NULL;
    map->session = NULL;
}

static pcgpu_status load(pcgpu_odometry *o, const pcgpu_cloud *cloud) {
    pc_odometry_scan *scan = &o->scans[PC_SCANS - 1]; /* whose memory is free before the first scan */
    PC_TRY(pc_odometry_choose(o, 2.0 * (double)cloud->rows));
    PC_TRY(pc_odometry_take_memory(o, scan, cloud->rows));
    memcpy(o->map->offset, cloud->offset, sizeof o->map->offset);
    pcgpu_run unused = {0};
    pc_points_select_into(o->context, cloud, o->params.registration.drop_origin, scan->xyz, &scan->points, &unused);
    pc_points_center(&scan->points, o->map->offset);
    scan->points.scan = PC_SCANS - 1;
    if (scan->points.n < PC_REGISTER_MIN_POINTS) {
        return pc_fail(o->context, PCGPU_ERROR_ARGUMENT, "the map has %lld usable points; at least %d are needed",
                       (long long)scan->points.n, PC_REGISTER_MIN_POINTS);
    }
    o->map->half = pc_odometry_lay_box(o);
    free_parts(o->map); /* of a device that failed */
    o->map->places = pc_places_make(&scan->points, VOXEL_VOXELS * o->params.registration.voxel);
    if (!o->map->places) {
        return pc_fail_memory(o->context, (uint64_t)scan->points.n * 8, "the search in the map");
    }
    if (o->extends) {
        o->map->session = pc_odometry_session_make(&scan->points, o->map->offset, o->params.registration.voxel,
                                                   pc_odometry_widest_voxel(o));
        if (!o->map->session) {
            return pc_fail_memory(o->context, (uint64_t)scan->points.n * 16, "the cells of the map");
        }
    }
    o->held.held = true;
    o->held.points = INT32_MAX; /* no need to count them */
    return make_voxels(o, scan);
}

/* The voxel that AUTO takes from the spacing of the map has few points of a scan, and a map that is a point per voxel
 * says nothing about the scans: wider voxels up to some size are as accurate in maps of streets, and three times as
 * fast. */
static pcgpu_status settle_voxel(pcgpu_odometry *o) {
    const double voxel = o->params.registration.voxel;
    if (o->given.registration.voxel != PCGPU_AUTO) {
        return PCGPU_OK;
    }
    o->given.registration.voxel = fmax(voxel, fmin(WIDER * voxel, WIDE_VOXEL));
    return pc_register_settle(o->context, &o->given.registration, NULL, &o->params.registration);
}

static void keep_nothing(void *owner, int slot) {
    (void)owner;
    (void)slot;
}

static void free_map(pc_odometry_map *map) {
    free_parts(map);
    free(map);
}

/* Makes the map the reference of an odometry. */
static pcgpu_status enter_map(pcgpu_odometry *o, const pcgpu_cloud *map, pcgpu_search search_mode) {
    pcgpu_context *context = o->context;
    if (o->params.reference != PCGPU_REFERENCE_MODEL) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "a map is a reference of its own; leave `reference` as it is");
    }
    if (map->rows > INT32_MAX || map->columns < 3) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "a map of %lld points with %d columns; give x, y, z and up to 2^31 points", (long long)map->rows,
                       map->columns);
    }
    PC_TRY(pc_register_settle(context, &o->given.registration, map, &o->params.registration));
    PC_TRY(settle_voxel(o));
    o->given.registration = o->params.registration;
    o->params.model_range = fmin(o->given.model_range, pc_odometry_widest_local_map(&o->params));
    o->map = calloc(1, sizeof *o->map);
    if (!o->map) {
        return pc_fail_memory(context, sizeof *o->map, "the map");
    }
    o->free_map = free_map;
    o->look_at_map = pc_odometry_look_at_map;
    o->kind = o->extends ? &pc_odometry_extension : &pc_odometry_localization;
    o->map->alone = true;
    o->map->searches = search_mode != PCGPU_SEARCH_NEVER;
    o->ops.known = true;
    o->ops.anywhere = search_mode == PCGPU_SEARCH_ALWAYS;
    o->ops.search = pc_odometry_search_map;
    if (!o->extends) {
        o->ops.tries = 0;
        o->ops.keep = keep_nothing;
    }
    pcgpu_status status;
    do {
        status = load(o, map);
    } while (pc_odometry_begins_on_cpu(o, &status) && status == PCGPU_OK);
    return status;
}

static pcgpu_status open_in(pcgpu_context *context, const pcgpu_odometry_params *params, const pcgpu_cloud *map,
                            bool extends, pcgpu_odometry **odometry) {
    PC_TRY(pcgpu_odometry_open(context, params, odometry));
    (*odometry)->extends = extends;
    const pcgpu_status status = enter_map(*odometry, map, params->registration.search);
    if (status != PCGPU_OK) {
        pcgpu_odometry_close(*odometry);
        *odometry = NULL;
    }
    return status;
}

pcgpu_status pcgpu_odometry_open_map(pcgpu_context *context, const pcgpu_odometry_params *params,
                                     const pcgpu_cloud *map, pcgpu_odometry **odometry) {
    return open_in(context, params, map, false, odometry);
}

pcgpu_status pcgpu_odometry_open_into(pcgpu_context *context, const pcgpu_odometry_params *params,
                                      const pcgpu_cloud *map, pcgpu_odometry **odometry) {
    return open_in(context, params, map, true, odometry);
}
