/* Sampling of clouds in the memory of a GPU: what its checks and its CUDA code share. */
#ifndef PC_SAMPLE_DEVICE_H
#define PC_SAMPLE_DEVICE_H

#include "backend.h"
#include "clouds.h"
#include "pcgpu_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* pcgpu_sample_device after its checks, but for that of the pointers. */
pcgpu_status pc_cuda_sample_device(pcgpu_context *context, void *stream, const pcgpu_clouds *clouds,
                                   const pcgpu_sample_params *params, const pcgpu_device_picks *picks);

#ifdef __cplusplus
}
#endif
#endif
