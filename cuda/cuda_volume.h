/* Volumes on CUDA, for what works on the device as well: registration of a frame to a model, and benchmarks. */
#ifndef PC_CUDA_VOLUME_H
#define PC_CUDA_VOLUME_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pc_maps; /* lib/icp_depth.h */
struct pc_volume_view;

/* Like the table's `volume_raycast`, but the maps stay in device memory, which is the volume's until its next call; the
 * kernels are in the context's stream and need not have ended. */
pcgpu_status pc_cuda_volume_maps(pcgpu_context *context, void *state, const struct pc_volume_view *view,
                                 struct pc_maps *device);

#ifdef __cplusplus
}
#endif
#endif
