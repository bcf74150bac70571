/* Several clouds in one. */
#ifndef MERGE_H
#define MERGE_H

#include "pcgpu.h"

/* Bounds of coordinates; low > high without a finite one. */
typedef struct bounds {
    double low[3], high[3];
} bounds;

extern const bounds no_bounds;
/* Extends the bounds to the finite coordinates of a cloud, offset included. */
void bounds_add_cloud(bounds *bounds, const pcgpu_cloud *cloud);
void bounds_add_point(bounds *bounds, const double p[3]);
/* The offset of coordinates with these bounds, by the rule of the readers: 0 within 1024 m of 0, else whole metres near
 * the middle. Warns when float32 then rounds by more than a millimetre. */
void bounds_offset(const bounds *bounds, const char *name, double offset[3]);

/* Joins `count` clouds, and frees each: the columns that all have, in the order of the first, then `source`, the index
 * of the cloud of a point. Names columns that are left out in a warning about `name`. On failure all clouds are freed,
 * too. */
pcgpu_status clouds_merge(pcgpu_context *context, const char *name, pcgpu_cloud *clouds, int count, pcgpu_cloud *out);
/* That warning. names: the columns that all have; each other one is listed once. */
void clouds_warn_left_out(const pcgpu_cloud *clouds, int count, const char (*names)[PCGPU_NAME_SIZE], int columns,
                          const char *name);

#endif
