/* A back end: tables of operations on plain arrays. The files of a feature check parameters, drop unusable points and
 * share all logic that needs no parallel hardware; a back end only computes. */
#ifndef PC_BACKEND_H
#define PC_BACKEND_H

#include "buffer.h"
#include "cloud.h"
#include "context.h"
#include "geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One table of operations per feature NAME, a struct pc_NAME_ops that is declared beside the feature (sample_ops.h,
 * voxelize_ops.h, ...); both back ends define theirs. */
#define PC_FEATURES(DO)        DO(sample) DO(neighbors) DO(filter) DO(voxelize) DO(icp) DO(ndt) DO(projective) DO(tsdf)
#define PC_FEATURE_OPS(NAME)   extern const struct pc_##NAME##_ops pc_cpu_##NAME##_ops, pc_cuda_##NAME##_ops;
#define PC_FEATURE_FIELD(NAME) const struct pc_##NAME##_ops *NAME;
PC_FEATURES(PC_FEATURE_OPS)

typedef struct pc_backend {
    const char *name;          /* "cpu", "cuda" */
    const char *architectures; /* of the kernels; of a CPU-only build, and of the CPU: "" */
    /* pcgpu_devices */
    int (*devices)(pcgpu_device_info *devices, int capacity, char *why, size_t why_size, int *driver);
    /* Makes a context ready for operations on the calling thread: starts the device context->settings.cuda_index, once,
     * and fills context->cuda and context->cuda_name. Errors: UNAVAILABLE, MEMORY. */
    pcgpu_status (*start)(pcgpu_context *context);
    void (*stop)(pcgpu_context *context);
    PC_FEATURES(PC_FEATURE_FIELD) /* NULL in the CUDA back end of a CPU-only build, which does not start */
} pc_backend;

/* The back ends of this build, which contexts point to: lib/open.c; cuda/core/backend.cu or cuda/stub.c. */
extern const pc_backend pc_backend_cpu, pc_backend_cuda;

/* ---- choice ------------------------------------------------------------------------------------------------------ */

/* Chooses the back end for one operation. cpu_seconds and cuda_seconds estimate the operation alone, on one CPU thread
 * and on a started device; AUTO takes CUDA when its time, plus the start-up if the device has not been started, is less
 * than the CPU's. Fills backend, device, reason and threads of `run`. */
pcgpu_status pc_choose_backend(pcgpu_context *context, double cpu_seconds, double cuda_seconds, pcgpu_run *run,
                               const pc_backend **backend);

/* After an operation on this back end: true if it failed on a device that AUTO had chosen. AUTO does not choose the
 * device again, a warning is logged, and the caller chooses a back end again and repeats the operation. */
bool pc_goes_to_cpu(pcgpu_context *context, const pc_backend *backend, pcgpu_status status);

#ifdef __cplusplus
}
#endif
#endif
