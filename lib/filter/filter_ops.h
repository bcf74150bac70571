/* The operations of a back end for filters. All pointers are host pointers. */
#ifndef PC_FILTER_OPS_H
#define PC_FILTER_OPS_H

#include "backend.h"
#include "clouds.h"
#include "pcgpu_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A call of pcgpu_points_in_boxes after its checks. */
typedef struct pc_boxes_job {
    pcgpu_clouds points;
    const float *boxes; /* clouds x count x PCGPU_BOX_NUMBERS */
    int64_t count;
    int32_t *first;
    uint8_t *inside;
} pc_boxes_job;

typedef struct pc_filter_ops {
    pcgpu_status (*in_boxes)(pcgpu_context *context, const pc_boxes_job *job);
} pc_filter_ops;

/* A call of pcgpu_find_outliers_device or pcgpu_find_sparse_device after its checks. */
typedef struct pc_outliers_job {
    const float *data;
    int64_t rows;
    int columns;
    uint8_t *mask;
    bool sparse;
    int k; /* of outliers */
    double sigmas;
    float radius; /* of sparse ones */
    int64_t others;
} pc_outliers_job;

/* With arrays in device memory, on a stream of the caller. */
pcgpu_status pc_cuda_in_boxes_device(pcgpu_context *context, void *stream, const pc_boxes_job *job);
pcgpu_status pc_cuda_find_outliers_device(pcgpu_context *context, void *stream, const pc_outliers_job *job);

#ifdef __cplusplus
}
#endif
#endif
