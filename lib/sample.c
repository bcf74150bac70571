/* placeholder */
#include "backend.h"
void pcgpu_sampled_free(pcgpu_sampled *r){(void)r;}
