/* Comparing two results of voxelization byte for byte. */
#ifndef VOXELS_DIFFERENCE_H
#define VOXELS_DIFFERENCE_H

#include "pcgpu.h"

/* The first thing in which two results of a cloud of so many records differ, or NULL. selects: records are selected. */
const char *voxels_difference(const pcgpu_voxels *a, const pcgpu_voxels *b, int64_t rows, bool selects);

#endif
