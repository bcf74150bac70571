/* placeholder */
#include "common.cuh"
extern "C" pcgpu_status pc_cuda_sample(pcgpu_context *c, pc_sample_job *, int){return pc_fail(c,PCGPU_ERROR_UNAVAILABLE,"placeholder");}
