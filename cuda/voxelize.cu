/* placeholder */
#include "common.cuh"
extern "C" pcgpu_status pc_cuda_voxelize(pcgpu_context *c, const pc_voxelize_job *, pcgpu_voxels *){return pc_fail(c,PCGPU_ERROR_UNAVAILABLE,"placeholder");}
