/* Checks of clouds in one array. */
#include "clouds.h"

pcgpu_status pc_clouds_check(pcgpu_context *context, const pcgpu_clouds *clouds, const char *of) {
    if (clouds->stride < 3 || clouds->stride > INT32_MAX || clouds->count < 1) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "%lld clouds%s with a stride of %lld; give 1 or more clouds with 3 or more floats per record",
                       (long long)clouds->count, of, (long long)clouds->stride);
    }
    for (int64_t i = 0; i < clouds->count; i++) {
        const int64_t rows = pc_clouds_rows(clouds, i);
        if (rows < 0 || rows > INT32_MAX || pc_clouds_begin(clouds, i) < 0 || (rows > 0 && !clouds->data)) {
            return pc_fail(context, PCGPU_ERROR_ARGUMENT, "cloud %lld%s has %lld records; give offsets that ascend",
                           (long long)i, of, (long long)rows);
        }
    }
    return PCGPU_OK;
}
