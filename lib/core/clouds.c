/* Checks of clouds in one array. */
#include "clouds.h"

pcgpu_status pc_clouds_check(pcgpu_context *context, const pcgpu_clouds *clouds, const char *what) {
    if (clouds->stride < 3 || clouds->stride > INT32_MAX || clouds->count < 1) {
        return pc_fail(
            context, PCGPU_ERROR_ARGUMENT,
            "%s are %lld clouds with a stride of %lld; give 1 or more clouds with 3 or more floats per record", what,
            (long long)clouds->count, (long long)clouds->stride);
    }
    for (int64_t i = 0; i < clouds->count; i++) {
        const int64_t begin = pc_clouds_begin(clouds, i), rows = pc_clouds_begin(clouds, i + 1) - begin;
        if (rows < 0 || rows > INT32_MAX || begin < 0 || (rows > 0 && !clouds->data)) {
            return pc_fail(context, PCGPU_ERROR_ARGUMENT, "cloud %lld of %s has %lld records; give offsets that ascend",
                           (long long)i, what, (long long)rows);
        }
    }
    return PCGPU_OK;
}
