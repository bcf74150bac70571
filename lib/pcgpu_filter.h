/* Points in oriented boxes. A part of pcgpu.h, which includes this header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_FILTER_H
#define PCGPU_FILTER_H

/* Oriented boxes as OpenPCDet has them, PCGPU_BOX_NUMBERS float32 each: the centre x y z and the size dx dy dz in
 * metres, and the heading in radians: dx is along the x axis turned by the heading about z, towards y. */
enum { PCGPU_BOX_NUMBERS = 7 };

/* Finds the boxes that hold each record. A point is in a box, in float32, if its distance from the centre is less than
 * half of the size along the two sides, and at most half of it in z; one that is not finite is in none. Each cloud
 * has `count` boxes of its own. first: records, the lowest index of a box that holds the record, -1: none. inside:
 * clouds x records x count for equal clouds, row by row, 1 or 0. Either may be NULL, and
 * *run, how it ran, too. Device arrays:
 * pcgpu_points_in_boxes_device.
 * Errors: ARGUMENT (the clouds as for pcgpu_neighbors; a number of a box that is not finite, a size below 0, a heading
 * beyond 1e6), MEMORY, DEVICE. */
pcgpu_status pcgpu_points_in_boxes(pcgpu_context *context, const pcgpu_clouds *points, const float *boxes,
                                   int64_t count, int32_t *first, uint8_t *inside, pcgpu_run *run);
#endif
