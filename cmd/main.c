/* placeholder */
#include "pcgpu.h"
int main(void){ pcgpu_context *c; pcgpu_open(0,&c); puts(pcgpu_version()); pcgpu_close(c); return 0;}
