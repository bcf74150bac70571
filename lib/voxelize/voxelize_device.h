/* Voxelization of records in the memory of a GPU: what its checks and its CUDA code share. */
#ifndef PC_VOXELIZE_DEVICE_H
#define PC_VOXELIZE_DEVICE_H

#include "pcgpu_device.h"
#include "voxelize_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* pcgpu_voxelize_device after the checks of the parameters; job->data is on the device. */
pcgpu_status pc_cuda_voxelize_device(pcgpu_context *context, void *stream, const pc_voxelize_job *job,
                                     const pcgpu_device_voxels *out);

#ifdef __cplusplus
}
#endif
#endif
