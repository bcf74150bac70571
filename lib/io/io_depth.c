/* What the readers of depth images share. */
#include "io.h"

#include <stdlib.h>

pcgpu_status pc_depth_check(pcgpu_context *context, const char *name, uint64_t width, uint64_t height, size_t present,
                            unsigned expansion) {
    if (width < 1 || height < 1 || width > PCGPU_DEPTH_SIDE || height > PCGPU_DEPTH_SIDE ||
        width * height > PCGPU_DEPTH_PIXELS) {
        return pc_fail(
            context, PCGPU_ERROR_FORMAT,
            "%s: its header says %llu x %llu pixels; an image has 1 to %d a side and %d in all, so copy or export "
            "it again",
            name, (unsigned long long)width, (unsigned long long)height, PCGPU_DEPTH_SIDE, PCGPU_DEPTH_PIXELS);
    }
    uint64_t needed = width * height * sizeof(uint16_t);
    if (needed / expansion > present) {
        return pc_fail(
            context, PCGPU_ERROR_FORMAT,
            "%s: %zu bytes are too few for the %llu x %llu pixels that its header says; it is cut short, so copy "
            "or export it again",
            name, present, (unsigned long long)width, (unsigned long long)height);
    }
    return PCGPU_OK;
}

pcgpu_status pc_depth_create(pcgpu_context *context, const char *name, uint64_t width, uint64_t height,
                             pcgpu_depth *depth) {
    size_t size = (size_t)(width * height) * sizeof *depth->data;
    *depth = (pcgpu_depth){.width = (int)width, .height = (int)height, .data = malloc(size)};
    return depth->data ? PCGPU_OK : pc_fail_memory(context, size, name);
}
