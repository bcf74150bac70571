/* Scans in the memory of a device, prepared there for a registration as scan.c, scan_points.c and scan_spacing.c
 * prepare those of the host, with the same bits. A call is for all scans of a group. */
#ifndef PC_SCAN_DEVICE_H
#define PC_SCAN_DEVICE_H

#include "backend.h"
#include "scan_math.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pc_device_scan {
    const pcgpu_cloud *cloud; /* its data are in the memory of the device, its other fields the host's */
    float origin[3];          /* see pc_cloud_origin */
    float radius;             /* of its carrier; 0: it has none */
    int other;                /* the scan whose carrier is left out of this one; -1: none is */
    const float *copies;      /* of its samples: pc_sampled */
    const float *selected;    /* of those of what was selected */
    int64_t kept;             /* records that are not of the carrier */
    int64_t non_finite, at_origin;
    int64_t n;       /* usable ones, */
    float *xyz;      /* in the memory of the device until the next group: x, then y, then z */
    float box[3][2]; /* least and largest x, y and z */
} pc_device_scan;

/* Takes memory for scans, and copies the samples of their records. `stream`: what writes the scans. Errors: ARGUMENT
 * (memory that is not of the context's device), MEMORY, DEVICE. */
pcgpu_status pc_cuda_scan_open(pcgpu_context *context, void *stream, pc_device_scan *scans, int count);
/* Begins to select the points of scans whose carriers are known. */
pcgpu_status pc_cuda_scan_select(pcgpu_context *context, void *stream, const pc_device_scan *scans, int count);
/* Begins to count the cells of boxes for one or more of the scans; cells[i] gets those of boxes[i], in memory of the
 * host until the next call. */
pcgpu_status pc_cuda_scan_count(pcgpu_context *context, void *stream, int count, const int *scans,
                                const pc_spacing_boxes *const *boxes, const pc_spacing_cell **cells);
pcgpu_status pc_cuda_scan_counted(pcgpu_context *context); /* waits for them */
/* Waits for what was selected, and then for the samples of it. */
pcgpu_status pc_cuda_scan_take(pcgpu_context *context, pc_device_scan *scans, int count);
pcgpu_status pc_cuda_scan_samples(pcgpu_context *context);
/* Copies the records of a cloud to the host. */
pcgpu_status pc_cuda_scan_read(pcgpu_context *context, void *stream, const pcgpu_cloud *cloud, float *host);

#ifdef __cplusplus
}
#endif
#endif
