/* placeholder */
#include "backend.h"
#include "cpu.h"
pcgpu_status pc_cpu_voxelize(pcgpu_context *c, const pc_voxelize_job *j, pcgpu_voxels *o){(void)j;(void)o;return pc_fail(c,PCGPU_ERROR_UNAVAILABLE,"placeholder");}
