/* Marching cubes: the edges of a cell with the corners of the triangles, for each of 256 patterns of signs. */
#ifndef PC_VOLUME_MESH_H
#define PC_VOLUME_MESH_H

#include "tsdf_job.h"

/* Corner x + 2 y + 4 z of a cell is bit x + 2 y + 4 z of its pattern: 1 = inside. An edge is 4 * axis + (0 to 3) for
 * the position of its first corner on the other two axes, the lower axis first. */
enum { PC_MESH_PATTERNS = 256, PC_MESH_EDGES = 12, PC_MESH_TRIANGLES = 10 };

typedef struct pc_mesh_table {
    uint8_t count[PC_MESH_PATTERNS];                        /* of triangles */
    uint8_t edges[PC_MESH_PATTERNS][3 * PC_MESH_TRIANGLES]; /* of their corners, counter-clockwise from outside */
} pc_mesh_table;

void pc_mesh_table_fill(pc_mesh_table *table);

/* The first corner of an edge; it runs along axis edge / 4. */
int pc_mesh_edge_corner(int edge);

#endif
