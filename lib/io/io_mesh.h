/* What the readers of meshes share: triangles and vertices that grow. */
#ifndef PC_IO_MESH_H
#define PC_IO_MESH_H

#include "buffer.h"
#include "io.h"

enum { PC_MESH_ROW = 6 }; /* values of a vertex: x y z, and a colour or a normal, NaN without one */

typedef struct pc_mesh_parts {
    pcgpu_context *context;
    const char *name;
    int64_t vertices, triangles;
    pc_buffer rows;    /* PC_MESH_ROW float64 per vertex */
    pc_buffer indices; /* 3 int32 per triangle */
} pc_mesh_parts;

pcgpu_status pc_mesh_add_vertex(pc_mesh_parts *m, const double row[PC_MESH_ROW]);
/* Adds the corner i of a polygon: from the third on, a triangle with the first corner and the one before, which `fan`
 * keeps. */
pcgpu_status pc_mesh_add_corner(pc_mesh_parts *m, int64_t index, uint64_t i, int32_t fan[2]);
/* The vertices as a cloud; the last three columns, of these names, only where all vertices have them. */
pcgpu_status pc_mesh_cloud(pc_mesh_parts *m, const char *const more[3], pcgpu_cloud *cloud);

/* io_glb.c: the triangles of all meshes of the scene of a .glb, by the transforms of its nodes. */
pcgpu_status pc_glb_read(const pc_bytes *bytes, pc_mesh_parts *m, pcgpu_cloud *vertices);

#endif
