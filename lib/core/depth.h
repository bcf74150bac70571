/* Shared by operations on depth images. */
#ifndef PC_DEPTH_H
#define PC_DEPTH_H

#include "pcgpu.h"

/* Whether a camera is possible and takes images of this size. ARGUMENT with a sentence when not. */
pcgpu_status pc_camera_check(pcgpu_context *context, int width, int height, const pcgpu_camera *camera);

/* The valid depths: *low <= depth < *high. */
void pc_depth_range(const pcgpu_camera *camera, unsigned *low, unsigned *high);

/* Counts the pixels of an image by that range. */
void pc_depth_count(const pcgpu_depth *depth, unsigned low, unsigned high, pcgpu_depth_counts *counts);

#endif
