/* placeholder */
#include "backend.h"
#include "cpu.h"
pcgpu_status pc_cpu_icp_target(pcgpu_context *c, const struct pc_icp_target *t){(void)t;return pc_fail(c,PCGPU_ERROR_UNAVAILABLE,"placeholder");}
pcgpu_status pc_cpu_icp_source(pcgpu_context *c, int64_t n, const float *x, const float *y, const float *z){(void)n;(void)x;(void)y;(void)z;return pc_fail(c,PCGPU_ERROR_UNAVAILABLE,"placeholder");}
pcgpu_status pc_cpu_icp_step(pcgpu_context *c, const struct pc_icp_step *s, double *sums){(void)s;(void)sums;return pc_fail(c,PCGPU_ERROR_UNAVAILABLE,"placeholder");}
void pc_cpu_icp_end(pcgpu_context *c){(void)c;}
