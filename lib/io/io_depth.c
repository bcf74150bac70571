/* What the readers of depth images share. */
#include "io.h"

#include <stdlib.h>

pcgpu_status pc_depth_check(const pc_file *file, uint64_t width, uint64_t height, size_t present, unsigned expansion) {
    if (width < 1 || height < 1 || width > PCGPU_DEPTH_SIDE || height > PCGPU_DEPTH_SIDE ||
        width * height > PCGPU_DEPTH_PIXELS) {
        return pc_fail_format(
            file,
            "its header says %llu x %llu pixels; an image has 1 to %d a side and %d in all, so copy or export it again",
            (unsigned long long)width, (unsigned long long)height, PCGPU_DEPTH_SIDE, PCGPU_DEPTH_PIXELS);
    }
    uint64_t needed = width * height * sizeof(uint16_t);
    if (needed / expansion > present) {
        return pc_fail_format(
            file,
            "%zu bytes are too few for the %llu x %llu pixels that its header says; it is cut short, so copy or "
            "export it again",
            present, (unsigned long long)width, (unsigned long long)height);
    }
    return PCGPU_OK;
}

const char *pc_depth_hint(const pcgpu_depth *depth, double depth_scale) {
    enum { FEWEST = 1000, VARIED = 0xff << 3 };
    int64_t points = 0, far = 0, eights = 0, fives = 0, tens = 0;
    unsigned ones = 0, zeros = 0;
    const int64_t pixels = (int64_t)depth->width * depth->height;
    const int64_t step = 1 + pixels / (1 << 14); /* 8,000 to 16,384 pixels of a large image show it as well as all */
    for (int64_t i = 0; i < pixels && depth_scale == 1000; i += step) {
        const unsigned d = depth->data[i];
        if (d != 0 && d != UINT16_MAX) {
            points++;
            far += d > 5000;
            eights += d % 8 == 0;
            fives += d % 5 == 0;
            tens += d % 10 == 0;
            ones |= d;
            zeros |= ~d;
        }
    }
    const int64_t nearly_all = points / 10 * 9;
    const bool varied = points >= FEWEST && (ones & zeros & VARIED) == VARIED;
    if (varied && eights > nearly_all) {
        return "nearly all depths are multiples of 8, as those of SUN RGB-D, whose bits are rotated by 3; for "
               "millimetres "
               "give the camera depth_scale=8000";
    }
    if (varied && fives > nearly_all && tens < nearly_all) { /* not centimetres */
        return "nearly all depths are multiples of 5, as those of TUM RGB-D; for these give the camera "
               "depth_scale=5000";
    }
    return points >= FEWEST && far > points / 2 ? "half of the depths are beyond 5 m; give the camera the depth_scale "
                                                  "of the images, such as 5000 for TUM "
                                                  "RGB-D, unless they are right"
                                                : NULL;
}

pcgpu_status pc_depth_create(const pc_file *file, uint64_t width, uint64_t height, pcgpu_depth *depth) {
    size_t size = (size_t)(width * height) * sizeof *depth->data;
    *depth = (pcgpu_depth){.width = (int)width, .height = (int)height, .data = malloc(size)};
    return depth->data ? PCGPU_OK : pc_fail_file_memory(file, size);
}
