/* The operations of the CPU back end, one file each: cpu_sample.c, cpu_voxelize.c, cpu_register.c. */
#ifndef PC_CPU_H
#define PC_CPU_H

#include "backend.h"

pcgpu_status pc_cpu_sample(pcgpu_context *context, pc_sample_job *jobs, int count);
pcgpu_status pc_cpu_voxelize(pcgpu_context *context, const pc_voxelize_job *job, pcgpu_voxels *out);
pcgpu_status pc_cpu_icp_target(pcgpu_context *context, const struct pc_icp_target *target);
pcgpu_status pc_cpu_icp_source(pcgpu_context *context, int64_t n, const float *x, const float *y, const float *z);
pcgpu_status pc_cpu_icp_step(pcgpu_context *context, const struct pc_icp_step *step, double *sums);
void pc_cpu_icp_end(pcgpu_context *context);

#endif
