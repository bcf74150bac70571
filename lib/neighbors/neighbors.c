/* Neighbours: checks of the parameters, the choice of the back end. */
#include "neighbors_ops.h"

#include <string.h>

void pcgpu_neighbors_params_init_sized(pcgpu_neighbors_params *params, size_t struct_size) {
    const pcgpu_neighbors_params initial = {.k = 1};
    pc_struct_init(params, struct_size, &initial, sizeof initial);
}

pcgpu_status pc_neighbors_check_radius(pcgpu_context *context, float radius) {
    return radius > 0.0f && isfinite(radius * radius)
               ? PCGPU_OK
               : pc_fail(context, PCGPU_ERROR_ARGUMENT, "a radius of %g m; give a number above 0 and up to 1e19",
                         (double)radius);
}

static pcgpu_status check_params(pcgpu_context *context, const pcgpu_neighbors_params *p) {
    PC_TRY(pc_struct_check(context, "pcgpu_neighbors_params", p->struct_size, sizeof *p));
    if (p->k < 0 || p->k > PCGPU_NEIGHBORS_MOST) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%d neighbours per query; give 1 to %d", p->k,
                       PCGPU_NEIGHBORS_MOST);
    }
    if (p->order != PCGPU_NEIGHBORS_NEAREST && p->order != PCGPU_NEIGHBORS_FIRST) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "neighbours in order %d; give NEAREST or FIRST", (int)p->order);
    }
    const bool unlimited = p->radius == 0.0f && p->order == PCGPU_NEIGHBORS_NEAREST && p->k > 0;
    return unlimited ? PCGPU_OK : pc_neighbors_check_radius(context, p->radius);
}

static pcgpu_status make_job(pcgpu_context *context, const pcgpu_clouds *points, const pcgpu_clouds *queries,
                             const pcgpu_neighbors_params *p, const pcgpu_neighbor_lists *lists,
                             pc_neighbors_job *job) {
    PC_TRY(check_params(context, p));
    PC_TRY(pc_clouds_check(context, points, " of the points"));
    PC_TRY(pc_clouds_check(context, queries, " of the queries"));
    if (points->count != queries->count) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld clouds of points and %lld of queries; give one for each",
                       (long long)points->count, (long long)queries->count);
    }
    if (p->global && lists->index_bytes == 4 && pc_clouds_begin(points, points->count) > INT32_MAX) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "int32 does not hold the indices of %lld records; give 8 bytes",
                       (long long)pc_clouds_begin(points, points->count));
    }
    if (p->k > 0 && (!lists->indices || (lists->index_bytes != 4 && lists->index_bytes != 8))) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "indices of %d bytes; give memory for 4 or 8 each",
                       lists->index_bytes);
    }
    *job = (pc_neighbors_job){.points = *points, .queries = *queries, .k = p->k, .lists = *lists};
    job->pad = p->pad;
    job->global = p->global;
    job->first = p->order == PCGPU_NEIGHBORS_FIRST && p->k > 0;
    job->squared = p->radius > 0.0f ? p->radius * p->radius : INFINITY;
    return PCGPU_OK;
}

/* For AUTO: on one CPU thread, and on a started device with copies of all arrays. */
static void estimate(const pc_neighbors_job *job, double *cpu, double *cuda) {
    const double points = (double)(pc_clouds_begin(&job->points, job->points.count) - pc_clouds_begin(&job->points, 0));
    const double queries =
        (double)(pc_clouds_begin(&job->queries, job->queries.count) - pc_clouds_begin(&job->queries, 0));
    *cpu = points * 60e-9 + queries * (600e-9 + job->k * 30e-9);
    *cuda = 200e-6 + (points + queries) * 2e-9 + queries * (job->k + 1) * 2e-9;
}

static pcgpu_status search(pcgpu_context *context, const pc_neighbors_job *job, pcgpu_run *run) {
    pcgpu_run own = {0};
    const pc_backend *backend = NULL;
    double cpu, cuda;
    pcgpu_status status;
    estimate(job, &cpu, &cuda);
    do {
        status = pc_choose_backend(context, cpu, cuda, &own, &backend);
        const double begin = pc_now();
        status = status == PCGPU_OK ? backend->neighbors->search(context, job) : status;
        pc_stage(&own, "search", begin);
    } while (pc_goes_to_cpu(context, backend, status));
    if (run) {
        *run = status == PCGPU_OK ? own : (pcgpu_run){0};
    }
    return status;
}

pcgpu_status pcgpu_neighbors(pcgpu_context *context, const pcgpu_clouds *points, const pcgpu_clouds *queries,
                             const pcgpu_neighbors_params *params, const pcgpu_neighbor_lists *lists, pcgpu_run *run) {
    pc_neighbors_job job;
    PC_TRY(make_job(context, points, queries, params, lists, &job));
    return search(context, &job, run);
}

pcgpu_status pc_neighbors_means(pcgpu_context *context, const pcgpu_clouds *clouds, int k, double *means,
                                pcgpu_run *run) {
    const pc_neighbors_job job = {
        .points = *clouds, .queries = *clouds, .k = k + 1, .squared = INFINITY, .means = means};
    PC_TRY(pc_clouds_check(context, clouds, ""));
    return search(context, &job, run);
}

pcgpu_status pcgpu_neighbors_device(pcgpu_context *context, void *stream, const pcgpu_clouds *points,
                                    const pcgpu_clouds *queries, const pcgpu_neighbors_params *params,
                                    const pcgpu_neighbor_lists *lists) {
    pc_neighbors_job job;
    PC_TRY(pc_context_need_cuda(context));
    PC_TRY(make_job(context, points, queries, params, lists, &job));
    return pc_cuda_neighbors_device(context, stream, &job);
}
