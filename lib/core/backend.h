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
#define PC_FEATURES(DO)        DO(sample) DO(voxelize) DO(icp) DO(ndt) DO(projective) DO(tsdf)
#define PC_FEATURE_OPS(NAME)   extern const struct pc_##NAME##_ops pc_cpu_##NAME##_ops, pc_cuda_##NAME##_ops;
#define PC_FEATURE_FIELD(NAME) const struct pc_##NAME##_ops *NAME;
PC_FEATURES(PC_FEATURE_OPS)

typedef struct pc_backend {
    const char *name; /* "cpu", "cuda" */
    PC_FEATURES(PC_FEATURE_FIELD)
} pc_backend;

extern const pc_backend pc_backend_cpu;

/* Releases the memory that the CPU back end keeps in a context. */
void pc_cpu_stop(pcgpu_context *context);
/* The same, per feature. */
void pc_cpu_voxelize_end(pcgpu_context *context);
void pc_cpu_icp_end(pcgpu_context *context);
void pc_cpu_ndt_free(pcgpu_context *context);
void pc_cpu_depth_end(pcgpu_context *context);

/* ---- the CUDA side: cuda/core/backend.cu, or cuda/stub.c in a CPU-only build --------------------------------------
 */

const pc_backend *pc_backend_cuda(void); /* NULL in a CPU-only build */
const char *pc_cuda_architectures(void);
int pc_cuda_devices(pcgpu_device_info *devices, int capacity, char *why, size_t why_size, int *driver);
/* Starts the device context->settings.cuda_index, once, and fills context->cuda and context->cuda_name; makes it the
 * device of the calling thread. */
pcgpu_status pc_cuda_start(pcgpu_context *context);
void pc_cuda_stop(pcgpu_context *context);

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
