/* What the operations on depth images share. */
#ifndef PC_DEPTH_H
#define PC_DEPTH_H

#include "backend.h"

/* Whether a camera is possible and takes images of this size. ARGUMENT with a sentence when not. */
pcgpu_status pc_camera_check(pcgpu_context *context, int width, int height, const pcgpu_camera *camera);

/* The depths that are points lie together: from *low to before *high. */
void pc_depth_range(const pcgpu_camera *camera, unsigned *low, unsigned *high);

/* Where the pixels go, with that range. */
void pc_depth_count(const pcgpu_depth *depth, unsigned low, unsigned high, pcgpu_depth_counts *counts);

#endif
