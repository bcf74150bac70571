/* Preparation of pairs of clouds in the memory of a device, a group at a time: samples of them are judged here, and the
 * device selects their points. */
#include "register_device.h"
#include "scan_spacing.h"

#include <stdlib.h>
#include <string.h>

/* ---- the voxel sizes of a group ---------------------------------------------------------------------------------- */

/* The choice of one pair, by its target. */
typedef struct choice {
    pc_sampled target;
    pc_spacing *spacing;
    const pc_spacing_boxes *wanted; /* NULL: chosen */
    const pc_spacing_cell *cells;   /* of what was wanted */
    double edge, extent;
} choice;

typedef struct choosing {
    choice of[PC_GROUP_PAIRS];
    bool drop_origin;
} choosing;

static void step_choice(void *state, int i) {
    const choosing *all = state;
    choice *c = &((choosing *)state)->of[i];
    if (c->wanted) {
        pc_spacing_take(c->spacing, c->cells);
    } else if (!c->spacing) {
        c->spacing = pc_spacing_open(&c->target, all->drop_origin);
    }
    c->wanted = c->spacing ? pc_spacing_next(c->spacing, &c->edge, &c->extent) : NULL;
}

/* Begins to count on the device what the choices want; how many want something. */
static pcgpu_status begin_count(pcgpu_context *context, const pc_device_pairs *d, choosing *all, int count, int *left) {
    const pc_spacing_boxes *boxes[PC_GROUP_PAIRS];
    const pc_spacing_cell *cells[PC_GROUP_PAIRS];
    int scans[PC_GROUP_PAIRS], of[PC_GROUP_PAIRS], n = 0;
    for (int i = 0; i < count; i++) {
        if (!all->of[i].spacing) {
            return pc_fail_memory(context, sizeof(pc_spacing_boxes), "the voxel size");
        }
        if (all->of[i].wanted) {
            boxes[n] = all->of[i].wanted;
            scans[n] = 2 * i + 1;
            of[n++] = i;
        }
    }
    *left = n;
    PC_TRY(n ? pc_cuda_scan_count(context, d->stream, n, scans, boxes, cells) : PCGPU_OK);
    for (int k = 0; k < n; k++) {
        all->of[of[k]].cells = cells[k];
    }
    return PCGPU_OK;
}

static pcgpu_status finish_choices(pcgpu_context *context, const pc_device_pairs *d, choosing *all, int count,
                                   int left) {
    while (left) {
        PC_TRY(pc_cuda_scan_counted(context));
        pc_run_parts(context, count, step_choice, all);
        PC_TRY(begin_count(context, d, all, count, &left));
    }
    return PCGPU_OK;
}

/* ---- a group ----------------------------------------------------------------------------------------------------- */

/* What is found by samples: the carriers of all scans, then the first boxes of all choices. */
typedef struct beginning {
    pc_device_pairs *device;
    choosing *all;
    int count;
} beginning;

static void begin_one(void *state, int i) {
    const beginning *b = state;
    if (i >= 2 * b->count) {
        step_choice(b->all, i - 2 * b->count);
    } else {
        pc_device_scan *scan = &b->device->scans[i];
        scan->radius = pc_carrier_radius(b->device->params, &(pc_sampled){scan->cloud, scan->copies});
    }
}

static pcgpu_status begin_selection(pcgpu_context *context, pc_device_pairs *d, int count) {
    for (int i = 0; i < 2 * count; i++) {
        const bool both = d->scans[i].radius > 0.0f && d->scans[i ^ 1].radius > 0.0f;
        d->scans[i].other = both ? i ^ 1 : -1;
    }
    return pc_cuda_scan_select(context, d->stream, d->scans, 2 * count);
}

/* The device selects while the host judges the cells. */
static pcgpu_status prepare(pcgpu_context *context, pc_device_pairs *d, choosing *all, int count) {
    const bool chooses = d->params->voxel == PCGPU_AUTO;
    int left = 0;
    pc_run_parts(context, chooses ? 3 * count : 2 * count, begin_one, &(beginning){d, all, count});
    PC_TRY(chooses ? begin_count(context, d, all, count, &left) : PCGPU_OK);
    PC_TRY(begin_selection(context, d, count));
    PC_TRY(finish_choices(context, d, all, count, left));
    return pc_cuda_scan_take(context, d->scans, 2 * count);
}

pcgpu_status pc_device_prepare(pcgpu_context *context, pc_device_pairs *d, const pcgpu_pair *pairs, int count,
                               pcgpu_register_params *settled) {
    choosing all = {.drop_origin = d->params->drop_origin};
    for (int i = 0; i < 2 * count; i++) {
        d->scans[i] = (pc_device_scan){.cloud = i % 2 ? pairs[i / 2].target : pairs[i / 2].source, .other = -1};
        pc_cloud_origin(d->scans[i].cloud, d->params->drop_origin, d->scans[i].origin);
    }
    PC_TRY(pc_cuda_scan_open(context, d->stream, d->scans, 2 * count));
    for (int i = 0; i < count; i++) {
        const pc_device_scan *target = &d->scans[2 * i + 1];
        all.of[i].target = (pc_sampled){target->cloud, target->copies};
    }
    const pcgpu_status status = prepare(context, d, &all, count);
    for (int i = 0; i < count; i++) {
        pc_register_settle_by(d->params, &all.of[i].target, all.of[i].edge, all.of[i].extent, &settled[i]);
        pc_spacing_close(all.of[i].spacing);
    }
    return status;
}

bool pc_device_is_far(const pc_device_pairs *d, int i) {
    const pc_device_scan *from = &d->scans[2 * i], *to = &d->scans[2 * i + 1];
    bool far = false;
    for (int k = 0; k < 3 && from->n > 0 && to->n > 0; k++) {
        far = far || pc_points_shift_of(to->box[k], 0.0) != 0.0 || pc_points_shift_of(from->box[k], 0.0) != 0.0;
    }
    return far;
}

static pc_points points_of(const pc_device_scan *scan) {
    const int64_t n = scan->n;
    pc_points points = {.n = n, .x = scan->xyz, .y = scan->xyz + n, .z = scan->xyz + 2 * n};
    memcpy(points.box, scan->box, sizeof points.box);
    return points;
}

static void take_scan(const pc_device_scan *scan, pc_register_work *w, int which, double offset[3]) {
    const pcgpu_cloud *cloud = scan->cloud;
    pcgpu_run *run = &w->result->run;
    pc_seen *seen = &w->seen[which];
    *seen = (pc_seen){.n = scan->kept, .copies = scan->selected, .view = &w->views[which]};
    memcpy(seen->offset, cloud->offset, sizeof seen->offset);
    memcpy(offset, cloud->offset, sizeof seen->offset);
    run->points_in += cloud->rows;
    run->on_carrier += cloud->rows - scan->kept;
    run->non_finite += scan->non_finite;
    run->at_origin += scan->at_origin;
}

pcgpu_status pc_device_take(const pc_device_pairs *d, int i, pc_ndt_work *c, pc_ndt_job *job) {
    const pc_device_scan *from = &d->scans[2 * i], *to = &d->scans[2 * i + 1];
    take_scan(from, c->w, 0, c->w->offset_source);
    take_scan(to, c->w, 1, c->w->offset_target);
    if (pc_device_is_far(d, i)) {
        return PCGPU_OK;
    }
    c->source = points_of(from);
    c->target = points_of(to);
    c->copies = from->selected;
    return pc_ndt_make_job(c, job);
}
