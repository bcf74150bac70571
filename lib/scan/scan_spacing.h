/* The choice of a voxel size by the spacing of a scan's points, in steps: it wants the cells of boxes counted, by
 * threads or on a device, until it has chosen. */
#ifndef PC_SCAN_SPACING_H
#define PC_SCAN_SPACING_H

#include "scan.h"

typedef struct pc_spacing pc_spacing;

/* NULL without memory. */
pc_spacing *pc_spacing_open(const pc_sampled *from, bool drop_origin);
/* The boxes whose cells are to be counted; NULL: *edge and *extent are chosen, as pc_scan_spacing has them. */
const pc_spacing_boxes *pc_spacing_next(pc_spacing *spacing, double *edge, double *extent);
/* Takes the cells of these boxes, PC_SPACING_CELLS for each. */
void pc_spacing_take(pc_spacing *spacing, const pc_spacing_cell *cells);
void pc_spacing_close(pc_spacing *spacing); /* accepts NULL */

#endif
