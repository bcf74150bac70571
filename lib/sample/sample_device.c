/* Sampling of clouds in the memory of a GPU: checks of the parameters. The work is in cuda/sample/sample_device.cu. */
#include "sample_device.h"

#include "sample.h"

#include <math.h>

static pcgpu_status check_params(pcgpu_context *context, const pcgpu_sample_params *p) {
    if (p->method != PCGPU_SAMPLE_FPS) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "random sampling is for arrays on the host; sample there");
    }
    if (p->ratio != 0.0 || p->seed_count != 0) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%s are for arrays on the host; give a count",
                       p->seed_count ? "seeds" : "ratios");
    }
    if (p->at_most) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "at_most is for arrays on the host; give a count that all clouds have");
    }
    if (p->count < 1) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "--count %lld is not positive; give 1 or more",
                       (long long)p->count);
    }
    if (p->min_distance != 0.0f && !(p->min_distance > 0.0f && isfinite(p->min_distance))) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "a minimum distance of %g m; give a number above 0",
                       (double)p->min_distance);
    }
    if (p->start != PCGPU_START_FIRST && p->start != PCGPU_START_INDEX) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "the start of arrays on a GPU is the first usable record or a record; give one of these");
    }
    return PCGPU_OK;
}

static pcgpu_status check_clouds(pcgpu_context *context, const pcgpu_clouds *c, const pcgpu_sample_params *p) {
    PC_TRY(pc_clouds_check(context, c, ""));
    for (int64_t i = 0; i < (c->offsets || p->starts ? c->count : 1); i++) {
        const int64_t rows = pc_clouds_rows(c, i), given = p->starts ? p->starts[i] : p->start_index;
        const int64_t start = p->start == PCGPU_START_INDEX ? given : 0;
        if (p->count > rows) {
            return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                           "--count %lld exceeds the %lld records of cloud %lld; give less", (long long)p->count,
                           (long long)rows, (long long)i);
        }
        if (start < 0 || start >= rows) {
            return pc_fail(context, PCGPU_ERROR_ARGUMENT, "start record %lld of cloud %lld, which has 0 to %lld",
                           (long long)start, (long long)i, (long long)rows - 1);
        }
    }
    return PCGPU_OK;
}

pcgpu_status pcgpu_sample_device(pcgpu_context *context, void *stream, const pcgpu_clouds *clouds,
                                 const pcgpu_sample_params *params, const pcgpu_device_picks *picks) {
    PC_TRY(pc_context_need_cuda(context));
    PC_TRY(check_params(context, params));
    PC_TRY(check_clouds(context, clouds, params));
    PC_TRY(pc_columns_check(context, params, clouds->stride));
    if (!picks->indices || (picks->index_bytes != 4 && picks->index_bytes != 8)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "indices of %d bytes; give memory for 4 or 8 each",
                       picks->index_bytes);
    }
    return pc_cuda_sample_device(context, stream, clouds, params, picks);
}
