/* The back ends of this build, and the contexts that use them. */
#include "backend.h"

static int no_devices(pcgpu_device_info *devices, int capacity, char *why, size_t why_size, int *driver) {
    (void)devices, (void)capacity, (void)why, (void)why_size, (void)driver;
    return 0;
}

static pcgpu_status start(pcgpu_context *context) {
    (void)context;
    return PCGPU_OK;
}

static void stop(pcgpu_context *context) {
    for (int name = 0; name < PC_KEPT_COUNT; name++) {
        pc_drop_kept(context, (pc_kept)name);
    }
}

#define CPU_OPS(NAME) .NAME = &pc_cpu_##NAME##_ops,
const pc_backend pc_backend_cpu = {
    .name = "cpu", .architectures = "", .devices = no_devices, .start = start, .stop = stop, PC_FEATURES(CPU_OPS)};

pcgpu_status pcgpu_open_sized(const pcgpu_settings *settings, pcgpu_context **context, size_t structs_size) {
    PC_TRY(pc_context_open(settings, &pc_backend_cpu, &pc_backend_cuda, context));
    return structs_size == PCGPU_STRUCTS_SIZE
               ? PCGPU_OK
               : pc_fail(*context, PCGPU_ERROR_ARGUMENT,
                         "the structs of the headers have %zu bytes together and those of this library, version %s, "
                         "%zu; compile with the headers of this version",
                         structs_size, pcgpu_version(), (size_t)PCGPU_STRUCTS_SIZE);
}

const char *pcgpu_cuda_architectures(void) {
    return pc_backend_cuda.architectures;
}

int pcgpu_devices(pcgpu_device_info *devices, int capacity, char *why, size_t why_size, int *driver) {
    return pc_backend_cuda.devices(devices, capacity, why, why_size, driver);
}
