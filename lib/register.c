/* placeholder */
#include "backend.h"
void pcgpu_register_params_init(pcgpu_register_params *p){(void)p;}
