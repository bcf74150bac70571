/* placeholder */
#include "backend.h"
void pcgpu_voxels_free(pcgpu_voxels *r){(void)r;}
