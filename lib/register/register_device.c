/* Registration of clouds in the memory of a device. Method ndt from one start prepares them there; what else needs
 * points, other methods, searches, corrections and clouds far from 0, copies them to the host first. */
#include "register_device.h"

#include <stdlib.h>

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
        device->settled = settled;
        status = pc_register_set(context, backend, run, settled, device, pairs, count, register_downloaded, results);
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
