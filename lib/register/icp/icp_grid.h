/* Builds the grid that a registration searches; the arithmetic of the searches is in icp_math.h. */
#ifndef PC_ICP_GRID_H
#define PC_ICP_GRID_H

#include "backend.h"
#include "icp_math.h"

/* Groups n >= 1 finite points (x, y, z by rows) into cubic cells. Errors: ARGUMENT (more than PC_ICP_MAX_CELLS cells on
 * an axis), MEMORY; the grid is then zeroed. */
pcgpu_status pc_icp_grid_build(pcgpu_context *context, int64_t n, const float *xyz, double edge, pc_icp_grid *grid);
void pc_icp_grid_free(pc_icp_grid *grid);

#endif
