/* Takes the place of the CUDA back end in a build without nvcc, so that no call site needs to know. */
#include "backend.h"

static const char why_not[] = "this pcgpu was built without CUDA; rebuild with -Dcuda=enabled, or use --cpu";

const pc_backend *pc_backend_cuda(void) {
    return NULL;
}

const char *pc_cuda_architectures(void) {
    return "";
}

int pc_cuda_devices(pcgpu_device_info *devices, int capacity, char *why, size_t why_size, int *driver) {
    (void)devices;
    (void)capacity;
    if (why && why_size) {
        snprintf(why, why_size, "%s", why_not);
    }
    if (driver) {
        *driver = 0;
    }
    return 0;
}

pcgpu_status pc_cuda_start(pcgpu_context *context) {
    return pc_fail(context, PCGPU_ERROR_UNAVAILABLE, "%s", why_not);
}

void pc_cuda_stop(pcgpu_context *context) {
    (void)context;
}
