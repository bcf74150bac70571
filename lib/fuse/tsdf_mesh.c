/* The table of marching cubes, computed from a rule instead of written by hand: on each face of a cell, segments
 * separate the inside corners from the others. A face with two inside corners on a diagonal gets two segments, which
 * separate these two corners. This depends only on the four corners, so the cells on both sides of a face agree, and
 * the mesh has no crack (the table of 1987 has cracks). The segments of the six faces form closed polygons, which are
 * divided into fans of triangles. */
#include "tsdf_mesh.h"

#include <string.h>

int pc_mesh_edge_corner(int edge) {
    const int axis = edge / 4, low = axis == 0 ? 1 : 0, high = axis == 2 ? 1 : 2;
    return (edge & 1) << low | (edge >> 1 & 1) << high;
}

/* The edge between two corners that differ on one axis. */
static int edge_between(int a, int b) {
    const int axis = (a ^ b) >> 1, first = a & b, low = axis == 0 ? 1 : 0, high = axis == 2 ? 1 : 2;
    return 4 * axis + (first >> low & 1) + 2 * (first >> high & 1);
}

/* The corners of face `side` of `axis`, counter-clockwise seen from outside of the cell. */
static void face_corners(int axis, int side, int corners[4]) {
    const int u = 1 << (axis + 1) % 3, v = 1 << (axis + 2) % 3, base = side << axis;
    const int turned[4] = {base, base | (side ? u : v), base | u | v, base | (side ? v : u)};
    memcpy(corners, turned, sizeof turned);
}

/* next[e]: the next edge of the polygon after edge e, -1 = e is not on the polygon. */
static void link_edges(int pattern, int next[PC_MESH_EDGES]) {
    for (int e = 0; e < PC_MESH_EDGES; e++) {
        next[e] = -1;
    }
    for (int face = 0; face < 6; face++) {
        int corner[4];
        face_corners(face / 2, face % 2, corner);
        for (int i = 0; i < 4; i++) {
            if ((pattern >> corner[i] & 1) || !(pattern >> corner[(i + 1) % 4] & 1)) {
                continue;
            }
            int last = i + 1; /* the inside corners are i + 1 to `last` */
            while (pattern >> corner[(last + 1) % 4] & 1) {
                last++;
            }
            next[edge_between(corner[i], corner[(i + 1) % 4])] = edge_between(corner[last % 4], corner[(last + 1) % 4]);
        }
    }
}

/* Whether two edges are on the same face of the cell. */
static bool share_face(int a, int b) {
    for (int axis = 0; axis < 3; axis++) {
        if (a / 4 != axis && b / 4 != axis &&
            (pc_mesh_edge_corner(a) >> axis & 1) == (pc_mesh_edge_corner(b) >> axis & 1)) {
            return true;
        }
    }
    return false;
}

/* The corner of a polygon where its fan starts. No diagonal of the fan may be in a face, where the neighbouring cell
 * may have the same edge. */
static int apex_of(const int *loop, int length) {
    int best = 0, fewest = length;
    for (int apex = 0; apex < length; apex++) {
        int bad = 0;
        for (int i = 2; i < length - 1; i++) {
            bad += share_face(loop[apex], loop[(apex + i) % length]);
        }
        if (bad < fewest) {
            fewest = bad;
            best = apex;
        }
    }
    return best;
}

static void fill_pattern(pc_mesh_table *table, int pattern) {
    int next[PC_MESH_EDGES], count = 0;
    link_edges(pattern, next);
    for (int first = 0; first < PC_MESH_EDGES; first++) {
        int loop[PC_MESH_EDGES], length = 0;
        for (int e = first; next[e] >= 0;) {
            const int following = next[e];
            loop[length++] = e;
            next[e] = -1;
            e = following;
        }
        const int apex = apex_of(loop, length);
        for (int i = 1; i < length - 1; i++, count++) {
            uint8_t *corners = table->edges[pattern] + (size_t)3 * (size_t)count;
            corners[0] = (uint8_t)loop[apex];
            corners[1] = (uint8_t)loop[(apex + i) % length];
            corners[2] = (uint8_t)loop[(apex + i + 1) % length];
        }
    }
    table->count[pattern] = (uint8_t)count;
}

void pc_mesh_table_fill(pc_mesh_table *table) {
    memset(table, 0, sizeof *table);
    for (int pattern = 0; pattern < PC_MESH_PATTERNS; pattern++) {
        fill_pattern(table, pattern);
    }
}
