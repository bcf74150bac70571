/* placeholder */
#include "common.cuh"
extern "C" {
pcgpu_status pc_cuda_icp_target(pcgpu_context *c, const struct pc_icp_target *){return pc_fail(c,PCGPU_ERROR_UNAVAILABLE,"placeholder");}
pcgpu_status pc_cuda_icp_source(pcgpu_context *c, int64_t, const float *, const float *, const float *){return pc_fail(c,PCGPU_ERROR_UNAVAILABLE,"placeholder");}
pcgpu_status pc_cuda_icp_step(pcgpu_context *c, const struct pc_icp_step *, double *){return pc_fail(c,PCGPU_ERROR_UNAVAILABLE,"placeholder");}
void pc_cuda_icp_end(pcgpu_context *){}
}
