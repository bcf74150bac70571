/* The version, which no other file needs to be compiled again for. */
#include "pcgpu.h"

const char *pcgpu_version(void) {
    return PCGPU_VERSION;
}
