/* Takes the place of the CUDA back end in a build without nvcc, so that no call site needs to know. */
#include "backend.h"
#include "filter_ops.h"
#include "ndt_cuda.h"
#include "neighbors_ops.h"
#include "sample_cuda.h"
#include "sample_device.h"
#include "scan_device.h"
#include "voxelize_cuda.h"
#include "voxelize_device.h"

/* No function here needs all that the back end takes. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static const char why_not[] = "this pcgpu was built without CUDA; rebuild with -Dcuda=enabled, or use --cpu";

static int no_devices(pcgpu_device_info *devices, int capacity, char *why, size_t why_size, int *driver) {
    if (why && why_size) {
        snprintf(why, why_size, "%s", why_not);
    }
    if (driver) {
        *driver = 0;
    }
    return 0;
}

static pcgpu_status start(pcgpu_context *context) {
    return pc_fail(context, PCGPU_ERROR_UNAVAILABLE, "%s", why_not);
}

static void stop(pcgpu_context *context) {
}

const pc_backend pc_backend_cuda = {
    .name = "cuda", .architectures = "", .devices = no_devices, .start = start, .stop = stop};

bool pc_cuda_sample_can(pcgpu_context *context, const pc_cuda_sample_variant *form, int64_t n) {
    return false;
}

pcgpu_status pc_cuda_sample_as(pcgpu_context *context, pc_sample_job *jobs, int count,
                               const pc_cuda_sample_variant *form, int repeats, float *milliseconds) {
    return start(context);
}

pcgpu_status pc_cuda_scan_open(pcgpu_context *context, void *stream, pc_device_scan *scans, int count) {
    return start(context);
}

pcgpu_status pc_cuda_scan_select(pcgpu_context *context, void *stream, const pc_device_scan *scans, int count) {
    return start(context);
}

pcgpu_status pc_cuda_scan_count(pcgpu_context *context, void *stream, int count, const int *scans,
                                const pc_spacing_boxes *const *boxes, const pc_spacing_cell **cells) {
    return start(context);
}

pcgpu_status pc_cuda_scan_counted(pcgpu_context *context) {
    return start(context);
}

pcgpu_status pc_cuda_scan_take(pcgpu_context *context, pc_device_scan *scans, int count) {
    return start(context);
}

pcgpu_status pc_cuda_scan_samples(pcgpu_context *context) {
    return start(context);
}

pcgpu_status pc_cuda_scan_read(pcgpu_context *context, void *stream, const pcgpu_cloud *cloud, float *host) {
    return start(context);
}

pcgpu_status pc_cuda_sample_device(pcgpu_context *context, void *stream, const pcgpu_clouds *clouds,
                                   const pcgpu_sample_params *params, const pcgpu_device_picks *picks) {
    return start(context);
}

pcgpu_status pc_cuda_in_boxes_device(pcgpu_context *context, void *stream, const pc_boxes_job *job) {
    return start(context);
}

pcgpu_status pc_cuda_find_outliers_device(pcgpu_context *context, void *stream, const pc_outliers_job *job) {
    return start(context);
}

pcgpu_status pc_cuda_neighbors_device(pcgpu_context *context, void *stream, const pc_neighbors_job *job) {
    return start(context);
}

pcgpu_status pc_cuda_voxelize_device(pcgpu_context *context, void *stream, const pc_voxelize_job *job,
                                     const pcgpu_device_voxels *out) {
    return start(context);
}

pcgpu_status pc_cuda_voxelize_timed(pcgpu_context *context, const pc_voxelize_job *job, int repeats,
                                    float *milliseconds, size_t cold_bytes, float *means, pcgpu_voxels *out) {
    return start(context);
}

void pc_cuda_voxelize_table_info(pcgpu_context *context, pc_cuda_voxelize_table *persistent) {
    *persistent = (pc_cuda_voxelize_table){0, 0, 0, 0};
}

pcgpu_status pc_cuda_ndt_sequence_voxels(pcgpu_context *context, void *state, int grid, int64_t capacity,
                                         int64_t *count, uint64_t *keys, struct pc_ndt_moments *moments,
                                         struct pc_ndt_block *blocks) {
    *count = 0;
    return start(context);
}
