/* Clouds in one array. */
#ifndef PC_CLOUDS_H
#define PC_CLOUDS_H

#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the records of cloud i begin, and of the last one + 1, where they end. */
static inline int64_t pc_clouds_begin(const pcgpu_clouds *clouds, int64_t i) {
    return clouds->offsets ? clouds->offsets[i] : clouds->rows * i;
}

/* The records of cloud i. */
static inline int64_t pc_clouds_rows(const pcgpu_clouds *clouds, int64_t i) {
    return pc_clouds_begin(clouds, i + 1) - pc_clouds_begin(clouds, i);
}

/* `of` is in the message, such as " of the points", or "". Errors: ARGUMENT. */
pcgpu_status pc_clouds_check(pcgpu_context *context, const pcgpu_clouds *clouds, const char *of);

#ifdef __cplusplus
}
#endif
#endif
