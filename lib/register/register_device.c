/* Registration of clouds in the memory of a device. Method ndt from one start prepares them there; what else needs their
 * points, other methods, searches, corrections and clouds far from 0, copies them to the host first. */
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
    pc_run_parts(context, count, step_choice, all);
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
        PC_TRY(begin_count(context, d, all, count, &left));
    }
    return PCGPU_OK;
}

/* ---- a group ----------------------------------------------------------------------------------------------------- */

static void find_carrier(void *state, int i) {
    pc_device_pairs *d = state;
    pc_device_scan *scan = &d->scans[i];
    scan->radius = pc_carrier_radius(d->params, &(pc_sampled){scan->cloud, scan->copies});
}

static pcgpu_status begin_selection(pcgpu_context *context, pc_device_pairs *d, int count) {
    pc_run_parts(context, 2 * count, find_carrier, d);
    for (int i = 0; i < 2 * count; i++) {
        const bool both = d->scans[i].radius > 0.0f && d->scans[i ^ 1].radius > 0.0f;
        d->scans[i].other = both ? i ^ 1 : -1;
    }
    return pc_cuda_scan_select(context, d->stream, d->scans, 2 * count);
}

/* The device selects while the host judges the cells. */
static pcgpu_status prepare(pcgpu_context *context, pc_device_pairs *d, choosing *all, int count) {
    int left = 0;
    if (d->params->voxel == PCGPU_AUTO) {
        PC_TRY(begin_count(context, d, all, count, &left));
    }
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

/* ---- copies on the host ------------------------------------------------------------------------------------------ */

/* `cloud` with its records on the host; freed by free(host->data). */
static pcgpu_status download(pcgpu_context *context, void *stream, const pcgpu_cloud *cloud, pcgpu_cloud *host) {
    const size_t bytes = (size_t)cloud->rows * (size_t)cloud->columns * sizeof *host->data;
    *host = *cloud;
    host->data = malloc(bytes + 1);
    PC_TRY(host->data ? PCGPU_OK : pc_fail_memory(context, bytes, "the points"));
    return bytes ? pc_cuda_scan_read(context, stream, cloud, host->data) : PCGPU_OK;
}

/* A pair of a group, whose clouds are there: with a search or far from 0. */
static pcgpu_status register_downloaded(pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                                        const pcgpu_register_params *params, const pcgpu_cloud *source,
                                        const pcgpu_cloud *target, pcgpu_registration *result) {
    pcgpu_cloud from = {0}, to = {0};
    pcgpu_status status = download(context, NULL, source, &from);
    status = status == PCGPU_OK ? download(context, NULL, target, &to) : status;
    status = status == PCGPU_OK ? pc_register_pair(context, backend, run, params, &from, &to, result) : status;
    free(from.data);
    free(to.data);
    return status;
}

static pcgpu_status register_on_host(pcgpu_context *context, void *stream, const pcgpu_pair *pairs, int count,
                                     const pcgpu_register_params *params, pcgpu_registration *results) {
    pcgpu_cloud *clouds = calloc(2 * (size_t)count, sizeof *clouds);
    pcgpu_pair *own = calloc((size_t)count, sizeof *own);
    pcgpu_status status =
        clouds && own ? PCGPU_OK : pc_fail_memory(context, 2 * (size_t)count * sizeof *clouds, "pairs");
    for (int i = 0; i < 2 * count && status == PCGPU_OK; i++) {
        status = download(context, stream, i % 2 ? pairs[i / 2].target : pairs[i / 2].source, &clouds[i]);
        own[i / 2] = (pcgpu_pair){&clouds[i / 2 * 2], &clouds[i / 2 * 2 + 1]};
    }
    status = status == PCGPU_OK ? pcgpu_register_pairs(context, own, count, params, results) : status;
    for (int i = 0; clouds && i < 2 * count; i++) {
        free(clouds[i].data);
    }
    free(clouds);
    free(own);
    return status;
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

static pcgpu_status check(pcgpu_context *context, const pcgpu_pair *pairs, int count, double *points) {
    *points = 0.0;
    for (int i = 0; i < 2 * count; i++) {
        const pcgpu_cloud *cloud = i % 2 ? pairs[i / 2].target : pairs[i / 2].source;
        if (cloud->rows < 0 || cloud->rows > INT32_MAX || cloud->columns < 3 || (cloud->rows > 0 && !cloud->data)) {
            return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                           "a cloud of %lld records with %d columns; give 0 to 2^31 - 1 with 3 or more",
                           (long long)cloud->rows, cloud->columns);
        }
        *points += (double)cloud->rows;
    }
    return PCGPU_OK;
}

static pcgpu_status register_prepared(pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                                      void *stream, const pcgpu_pair *pairs, int count,
                                      const pcgpu_register_params *params, pcgpu_registration *results) {
    pc_device_pairs *device = malloc(sizeof *device);
    pcgpu_register_params *settled = malloc((size_t)count * sizeof *settled);
    pcgpu_status status = PCGPU_ERROR_MEMORY;
    if (device && settled) {
        device->stream = stream;
        device->params = params;
        status = pc_register_set_on_device(context, backend, run, device, settled, pairs, count, register_downloaded,
                                           results);
    } else {
        status = pc_fail_memory(context, sizeof *device + (size_t)count * sizeof *settled, "the pairs");
    }
    free(device);
    free(settled);
    return status;
}

pcgpu_status pcgpu_register_device(pcgpu_context *context, void *stream, const pcgpu_pair *pairs, int count,
                                   const pcgpu_register_params *params, pcgpu_registration *results) {
    const pc_backend *backend = NULL;
    pcgpu_run run = {0};
    double points;
    pcgpu_status status;
    pc_clear_error(context);
    PC_TRY(pc_register_check_count(context, count));
    PC_TRY_OR(done, status, pc_context_need_cuda(context));
    PC_TRY_OR(done, status, check(context, pairs, count, &points));
    PC_TRY_OR(done, status, pc_register_check(context, params));
    PC_TRY_OR(done, status, pc_register_choose(context, params, points, count, &run, &backend));
    const bool prepared = backend == context->gpu && params->method == PCGPU_REGISTER_NDT &&
                          params->search != PCGPU_SEARCH_ALWAYS && params->min_range == 0.0 &&
                          params->beam_correction == 0.0;
    status = count == 0 ? PCGPU_OK
             : prepared ? register_prepared(context, backend, &run, stream, pairs, count, params, results)
                        : register_on_host(context, stream, pairs, count, params, results);
done:
    for (int i = 0; i < count && status != PCGPU_OK; i++) {
        results[i] = (pcgpu_registration){0};
    }
    return status;
}
