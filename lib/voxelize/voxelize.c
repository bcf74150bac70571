/* Voxelization: checks of the parameters, the grid, and the memory of the result. */
#include "temporary.h"
#include "voxelize_device.h"
#include "voxelize_grid.h"
#include "voxelize_math.h"

#include <stdlib.h>
#include <unistd.h>

enum { MAX_AXIS_CELLS = 1 << 24, SURVEY_ALONE = 500000, SURVEY_PARTS = 64 };
#define MAX_CELLS ((int64_t)1 << 62)

static const char axis_name[3] = {'x', 'y', 'z'};

void pcgpu_voxelize_params_init_sized(pcgpu_voxelize_params *params, size_t struct_size) {
    pcgpu_voxelize_params initial = {.features = PCGPU_FEATURES_MEAN};
    pc_struct_init(params, struct_size, &initial, sizeof initial);
}

void pcgpu_voxels_free(pcgpu_voxels *result) {
    if (result) {
        pc_release(result->features);
        pc_release(result->coords);
        pc_release(result->counts);
        pc_release(result->point_voxel);
        free(result->selected);
        memset(result, 0, sizeof *result);
    }
}

/* ---- parameters ---------------------------------------------------------------------------------------------- */

pcgpu_status pc_voxelize_check(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_voxelize_params *p,
                               bool in_pieces) {
    PC_TRY(pc_struct_check(context, "pcgpu_voxelize_params", p->struct_size, sizeof *p));
    if (cloud->rows > INT32_MAX && !in_pieces) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "%lld points; indices are 32 bits wide, so split the cloud below 2^31", (long long)cloud->rows);
    }
    for (int k = 0; k < 3; k++) {
        if (!(p->size[k] > 0.0 && isfinite(p->size[k]))) {
            return pc_fail(context, PCGPU_ERROR_ARGUMENT, "a voxel size of %g m in %c; give a length above 0",
                           p->size[k], axis_name[k]);
        }
        double low = p->range[k], high = p->range[3 + k];
        if (!p->range_auto && !(isfinite(low) && isfinite(high) && low < high)) {
            return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                           "a range from %g to %g m in %c; give a lower end and a larger upper end", low, high,
                           axis_name[k]);
        }
    }
    if (p->max_points < 0 || p->max_points > INT32_MAX || p->max_voxels < 0 || p->max_voxels > INT32_MAX) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "at most %lld points a voxel and %lld voxels; give 1 to 2147483647, or 0 for no limit",
                       (long long)p->max_points, (long long)p->max_voxels);
    }
    if ((int)p->keep_voxels < PCGPU_KEEP_FIRST || p->keep_voxels > PCGPU_KEEP_MOST) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "kind of voxels to keep %d does not exist", (int)p->keep_voxels);
    }
    if ((int)p->voxel_labels < PCGPU_VOXEL_LABELS_MAJORITY || p->voxel_labels > PCGPU_VOXEL_LABELS_MEAN) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "kind of labels %d does not exist", (int)p->voxel_labels);
    }
    if ((int)p->features < PCGPU_FEATURES_MEAN || p->features > PCGPU_FEATURES_NEAREST) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "kind of features %d does not exist", (int)p->features);
    }
    return PCGPU_OK;
}

/* ---- what is in the cloud ------------------------------------------------------------------------------------ */

pc_voxelize_job pc_voxelize_job_of(const pcgpu_cloud *cloud, const pcgpu_voxelize_params *p) {
    pc_voxelize_job job = {.rows = cloud->rows,
                           .columns = cloud->columns,
                           .data = cloud->data,
                           .max_points = p->max_points,
                           .max_voxels = p->max_voxels,
                           .features = p->features};
    pc_cloud_origin(cloud, p->drop_origin, job.skip);
    job.skip_origin = pc_is_finite3(job.skip[0], job.skip[1], job.skip[2]);
    return job;
}

static pc_survey survey_rows(const pc_voxelize_job *job, int64_t begin, int64_t end) {
    float x0 = HUGE_VALF, y0 = HUGE_VALF, z0 = HUGE_VALF, x1 = -HUGE_VALF, y1 = -HUGE_VALF, z1 = -HUGE_VALF;
    for (int64_t i = begin; i < end; i++) {
        const float *p = job->data + i * job->columns;
        if (pc_is_finite3(p[0], p[1], p[2]) && !pc_is_skipped(job->skip_origin, job->skip, p)) {
            x0 = p[0] < x0 ? p[0] : x0;
            y0 = p[1] < y0 ? p[1] : y0;
            z0 = p[2] < z0 ? p[2] : z0;
            x1 = p[0] > x1 ? p[0] : x1;
            y1 = p[1] > y1 ? p[1] : y1;
            z1 = p[2] > z1 ? p[2] : z1;
        }
    }
    return (pc_survey){{x0, y0, z0}, {x1, y1, z1}};
}

void pc_survey_join(pc_survey *all, const pc_survey *found) {
    for (int k = 0; k < 3; k++) {
        all->min[k] = found->min[k] < all->min[k] ? found->min[k] : all->min[k];
        all->max[k] = found->max[k] > all->max[k] ? found->max[k] : all->max[k];
    }
}

/* The bounds by parts of the cloud. */
typedef struct surveying {
    const pc_voxelize_job *job;
    int parts;
    pc_survey found[SURVEY_PARTS];
} surveying;

static void survey_part(void *state, int part) {
    surveying *s = state;
    const int64_t rows = s->job->rows;
    s->found[part] = survey_rows(s->job, rows * part / s->parts, rows * (part + 1) / s->parts);
}

pc_survey pc_survey_cloud(pcgpu_context *context, const pc_voxelize_job *job) {
    surveying s = {.job = job, .parts = job->rows > SURVEY_ALONE ? SURVEY_PARTS : 1};
    pc_run_parts(context, s.parts, survey_part, &s);
    for (int i = 1; i < s.parts; i++) {
        pc_survey_join(&s.found[0], &s.found[i]);
    }
    return s.found[0];
}

/* ---- the grid ------------------------------------------------------------------------------------------------ */

/* One axis of the grid from a range in the coordinates of the file. */
static void set_axis(pc_grid *grid, int k, double low, double high, double offset, double size) {
    grid->min[k] = (float)(low - offset);
    grid->max[k] = (float)(high - offset);
    grid->size[k] = (float)size;
    grid->cells[k] = roundf((grid->max[k] - grid->min[k]) / grid->size[k]);
}

/* The axis of a grid with all usable points: the corners are multiples of the size, moved outwards by whole cells until
 * the float32 tests hold for the extreme points. These tests are monotonic, so all other points pass, too. */
static pcgpu_status fit_axis(pcgpu_context *context, const pc_survey *found, double offset, double size, int k,
                             pc_grid *grid, double range[6]) {
    bool empty = found->min[k] > found->max[k];
    double first = empty ? 0.0 : offset + (double)found->min[k];
    double last = empty ? 0.0 : offset + (double)found->max[k];
    double low = floor(first / size), high = floor(last / size) + 1.0;
    if (!(high - low <= MAX_AXIS_CELLS)) {
        return pc_fail(
            context, PCGPU_ERROR_ARGUMENT,
            "the points span %g to %g m in %c, which is %.4g cells of %g m; at most %d an axis are possible: "
            "enlarge the size, or give a range",
            first, last, axis_name[k], high - low, size, MAX_AXIS_CELLS);
    }
    double step = 1.0;
    set_axis(grid, k, low * size, high * size, offset, size);
    for (; !empty && !(grid->min[k] <= found->min[k]) && step < MAX_AXIS_CELLS; step *= 2.0) {
        low -= step;
        set_axis(grid, k, low * size, high * size, offset, size);
    }
    for (step = 1.0; !empty && pc_axis_cell(grid, k, found->max[k]) < 0 && step < MAX_AXIS_CELLS; step *= 2.0) {
        high += step;
        set_axis(grid, k, low * size, high * size, offset, size);
    }
    if (!empty && (pc_axis_cell(grid, k, found->min[k]) < 0 || pc_axis_cell(grid, k, found->max[k]) < 0)) {
        return pc_fail(
            context, PCGPU_ERROR_ARGUMENT,
            "cells of %g m are below the resolution of float32 at coordinates of %g m in %c; enlarge the size", size,
            fabs(first) > fabs(last) ? first : last, axis_name[k]);
    }
    range[k] = low * size;
    range[3 + k] = high * size;
    return PCGPU_OK;
}

static pcgpu_status check_cells(pcgpu_context *context, const pc_grid *grid, const double size[3]) {
    const float *cells = grid->cells;
    for (int k = 0; k < 3; k++) {
        bool usable = grid->size[k] > 0.0f && isfinite(grid->size[k]) && isfinite(grid->max[k] - grid->min[k]) &&
                      isfinite(grid->min[k]) && isfinite(grid->max[k]);
        if (!usable || cells[k] < 1.0f) {
            return pc_fail(
                context, PCGPU_ERROR_ARGUMENT,
                "the range in %c, %g to %g m in float32, holds no cell of %g m; enlarge the range, or change "
                "the size",
                axis_name[k], (double)grid->min[k], (double)grid->max[k], size[k]);
        }
    }
    bool fits = true;
    for (int k = 0; k < 3; k++) {
        fits = fits && cells[k] <= (float)MAX_AXIS_CELLS;
    }
    if (!fits || (int64_t)cells[0] * (int64_t)cells[1] > MAX_CELLS / (int64_t)cells[2]) {
        return pc_fail(
            context, PCGPU_ERROR_ARGUMENT,
            "the grid has %.9g x %.9g x %.9g cells; at most %d an axis and 2^62 in all are possible: enlarge "
            "the size, or shrink the range",
            (double)cells[0], (double)cells[1], (double)cells[2], MAX_AXIS_CELLS);
    }
    return PCGPU_OK;
}

pcgpu_status pc_voxelize_grid(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_voxelize_params *p,
                              const pc_survey *found, pc_grid *grid, double range[6]) {
    memcpy(range, p->range, 6 * sizeof *range);
    for (int k = 0; k < 3; k++) {
        if (p->range_auto) {
            PC_TRY(fit_axis(context, found, cloud->offset[k], p->size[k], k, grid, range));
        } else {
            set_axis(grid, k, range[k], range[3 + k], cloud->offset[k], p->size[k]);
        }
    }
    const pcgpu_status status = check_cells(context, grid, p->size);
    for (int k = p->mask_xy ? 2 : 0; k < 3; k++) { /* the cell alone decides */
        grid->max[k] = HUGE_VALF;
    }
    return status;
}

/* ---- the result ---------------------------------------------------------------------------------------------- */

static double machine_memory(void) {
#ifdef _SC_PHYS_PAGES
    return (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
#else
    return 1e18;
#endif
}

pcgpu_status pc_voxels_allocate(pcgpu_context *context, const pc_voxelize_job *job, int64_t largest,
                                pcgpu_voxels *out) {
    bool padded = pc_features_are_padded(job->features), selects = pc_features_are_selected(job->features);
    out->columns = job->features == PCGPU_FEATURES_PILLAR ? PC_PILLAR_COLUMNS : job->columns;
    out->capacity = !padded ? 1 : job->max_points ? job->max_points : largest > 1 ? largest : 1;
    double bytes = (double)out->count * (double)out->capacity * (double)out->columns * (double)sizeof(float);
    if (bytes > machine_memory()) {
        return pc_fail(
            context, PCGPU_ERROR_MEMORY,
            "the features of %lld voxels x %lld points x %d values would take %.4g GB, more than this machine "
            "has; limit the points of a voxel or choose the features mean",
            (long long)out->count, (long long)out->capacity, out->columns, bytes / 1e9);
    }
    size_t v = (size_t)out->count, one = v ? v : 1;
    out->features = malloc(one * (size_t)(v ? out->capacity : 1) * (size_t)out->columns * sizeof *out->features);
    out->coords = malloc(one * 4 * sizeof *out->coords);
    out->counts = malloc(one * sizeof *out->counts);
    if (!out->point_voxel) {
        out->point_voxel = malloc((size_t)(job->rows ? job->rows : 1) * sizeof *out->point_voxel);
    }
    out->selected = selects ? malloc(one * sizeof *out->selected) : NULL;
    if (!out->features || !out->coords || !out->counts || !out->point_voxel || (selects && !out->selected)) {
        pcgpu_voxels_free(out);
        return pc_fail_memory(context, (uint64_t)bytes + v * 24 + (uint64_t)job->rows * 4, "the voxels");
    }
    return PCGPU_OK;
}

void pc_voxelize_describe(const pc_voxelize_job *job, pcgpu_voxels *result) {
    result->run.points_in = job->rows;
    result->out_of_range = job->rows - result->run.non_finite - result->run.at_origin - result->in_range;
    for (int k = 0; k < 3; k++) {
        result->cells[k] = (int32_t)job->grid.cells[k];
    }
}

/* Estimated seconds on one CPU thread and on a started device, for AUTO: 10 ns per record on one core of a Zen 5
 * server, where tests/bench measures 5 to 10 ns, and the same again for slower cores, page faults of the result and
 * synchronization. On the device, the transfers over PCIe, at 10 GB/s, and 1 ms of launches exceed the time of the
 * kernels. */
static void estimate(const pc_voxelize_job *job, double *cpu, double *cuda) {
    *cpu = (double)job->rows * 20e-9;
    *cuda = 1e-3 + (double)job->rows * (double)(job->columns + 2) * 4e-10;
}

pcgpu_status pc_voxelize_first(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_voxelize_params *params,
                               pcgpu_voxels *result) {
    memset(result, 0, sizeof *result);
    PC_TRY(pc_voxelize_check(context, cloud, params, false));
    double begin = pc_now();
    pc_voxelize_job job = pc_voxelize_job_of(cloud, params);
    pc_survey found = {{0}, {0}};
    if (params->range_auto) {
        found = pc_survey_cloud(context, &job);
    }
    double range[6];
    PC_TRY(pc_voxelize_grid(context, cloud, params, &found, &job.grid, range));
    pc_stage(&result->run, "select", begin);
    double cpu, cuda;
    const pc_backend *backend;
    pcgpu_status status;
    estimate(&job, &cpu, &cuda);
    do {
        status = pc_choose_backend(context, cpu, cuda, &result->run, &backend);
        begin = pc_now(); /* the start of the device is not part of the voxelization */
        if (status == PCGPU_OK) {
            context->worked = result->run.threads;
            status = backend->voxelize->voxelize(context, &job, result);
            result->run.threads = context->worked;
        }
    } while (pc_goes_to_cpu(context, backend, status));
    if (status != PCGPU_OK) {
        pcgpu_voxels_free(result);
        return status;
    }
    pc_stage(&result->run, "voxelize", begin);
    memcpy(result->range, range, sizeof range);
    pc_voxelize_describe(&job, result);
    return PCGPU_OK;
}

/* ---- arrays in the memory of a GPU ------------------------------------------------------------------------------- */

static pcgpu_status check_device(pcgpu_context *context, const float *data, int64_t rows, int columns,
                                 const pcgpu_voxelize_params *p, const pcgpu_device_voxels *v) {
    const bool padded = pc_features_are_padded(p->features);
    PC_TRY(pc_context_need_cuda(context));
    if (rows < 0 || columns < 3 || (rows > 0 && !data)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld records of %d columns; give 0 or more of 3 or more",
                       (long long)rows, columns);
    }
    if (p->range_auto || p->max_voxels == 0 || (padded && p->max_points == 0)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "arrays on a GPU need %s; give it",
                       p->range_auto        ? "a range"
                       : p->max_voxels == 0 ? "max_voxels, the rows of the result"
                                            : "max_points, the points of a voxel");
    }
    if (p->keep_voxels != PCGPU_KEEP_FIRST) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "arrays on a GPU keep the first voxels; leave keep_voxels out, or voxelize on the host");
    }
    if (!v->features || !v->coords || !v->counts || !v->count) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "no memory for the result; give features, coords, counts and count");
    }
    return PCGPU_OK;
}

pcgpu_status pcgpu_voxelize_device(pcgpu_context *context, void *stream, const float *data, int64_t rows, int columns,
                                   const pcgpu_voxelize_params *params, const pcgpu_device_voxels *voxels) {
    const pcgpu_cloud cloud = {.rows = rows, .columns = columns, .data = (float *)(uintptr_t)data};
    const pc_survey unused = {{0}, {0}};
    double range[6];
    PC_TRY(check_device(context, data, rows, columns, params, voxels));
    PC_TRY(pc_voxelize_check(context, &cloud, params, false));
    pc_voxelize_job job = pc_voxelize_job_of(&cloud, params);
    PC_TRY(pc_voxelize_grid(context, &cloud, params, &unused, &job.grid, range));
    return pc_cuda_voxelize_device(context, stream, &job, voxels);
}
