/* placeholder */
#include "backend.h"
#include "cpu.h"
pcgpu_status pc_cpu_sample(pcgpu_context *c, pc_sample_job *j, int n){(void)j;(void)n;return pc_fail(c,PCGPU_ERROR_UNAVAILABLE,"placeholder");}
