/* What iterations of ICP work on, shared by the CPU and the CUDA back end: the grid of points, nearest neighbours,
 * normals, and the sums that a step (icp_step.h) makes.
 *
 * Order of additions, the same on every back end: 32 consecutive source points are a chunk, summed by halving
 * (v[i] += v[i + s] for s = 16, 8, 4, 2, 1, as a warp does), then 32 consecutive chunks likewise, and so on, padded
 * with zeros, until one is left. It depends neither on threads nor on blocks. */
#ifndef PC_ICP_H
#define PC_ICP_H

#include "jacobi.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- the grid ---------------------------------------------------------------------------------------------------- */

enum {
    PC_ICP_AXIS_BITS = 21,      /* of a cell key */
    PC_ICP_MAX_CELLS = 1 << 20, /* cells on one axis */
    PC_ICP_MIN_NEIGHBOURS = 6,  /* with the point itself; fewer give no normal */
    PC_ICP_GROUP = 32,          /* width of the reduction tree */
};

typedef struct pc_icp_point {
    float x, y, z;
    int32_t index; /* number of the point before it was grouped by cell; decides ties */
} pc_icp_point;

/* An entry of the open-addressing table of cells; count 0 is an empty one. */
typedef struct pc_icp_slot {
    int64_t key;
    int32_t start, count; /* the cell's run of points */
} pc_icp_slot;

/* Points grouped by cell: cells in the order of their first point, points of a cell in index order. The cell of p is
 * floor((p - origin) * inverse_edge) in float64. */
typedef struct pc_icp_grid {
    int64_t n;
    const pc_icp_point *points; /* n */
    const pc_icp_slot *slots;   /* mask + 1, at most half of them full */
    uint64_t mask;
    double origin[3];
    double inverse_edge;
    float edge;
    int32_t cells[3]; /* extent, at most PC_ICP_MAX_CELLS */
} pc_icp_grid;

PC_HD int64_t pc_icp_key(int32_t cx, int32_t cy, int32_t cz) {
    return ((((int64_t)cz << PC_ICP_AXIS_BITS) | cy) << PC_ICP_AXIS_BITS) | cx;
}

/* The slot of a cell within the extent; its count is 0 when the cell holds no point. */
PC_HD pc_icp_slot pc_icp_find(const pc_icp_grid *grid, int32_t cx, int32_t cy, int32_t cz) {
    int64_t key = pc_icp_key(cx, cy, cz);
    uint64_t h = pc_hash64((uint64_t)key) & grid->mask;
    for (;;) {
        pc_icp_slot slot = grid->slots[h];
        if (slot.count == 0 || slot.key == key) {
            return slot;
        }
        h = (h + 1) & grid->mask;
    }
}

/* ---- nearest neighbour ------------------------------------------------------------------------------------------- */

/* One axis of a search: cells are visited outwards, k = 0 the query's own or the outermost one on its side, then
 * alternately the nearer and the farther side, so that the gap to the k-th cell never shrinks. */
typedef struct pc_icp_axis {
    int32_t cell, side, cells;
    int32_t visits;               /* after so many every cell has had its turn */
    float gap, gap_odd, gap_even; /* cell edges from the query to the visits 0, 1 and 2 */
} pc_icp_axis;

/* False for NaN, which nothing is near to. */
PC_HD bool pc_icp_axis_init(pc_icp_axis *axis, const pc_icp_grid *grid, int k, float p) {
    double u = ((double)p - grid->origin[k]) * grid->inverse_edge;
    int32_t last = grid->cells[k] - 1;
    axis->cells = grid->cells[k];
    if (u >= 0.0 && u < (double)axis->cells) {
        double whole = floor(u);
        float fraction = (float)(u - whole);
        bool low = fraction < 0.5f;
        axis->cell = (int32_t)whole;
        axis->side = low ? -1 : 1;
        axis->gap = 0.0f;
        axis->gap_odd = low ? fraction : 1.0f - fraction;
        axis->gap_even = low ? 1.0f - fraction : fraction;
    } else {
        bool below = u < 0.0;
        axis->cell = below ? 0 : last;
        axis->side = below ? 1 : -1;
        axis->gap = (float)(below ? -u : u - (double)axis->cells);
        axis->gap_odd = axis->gap_even = axis->gap + 1.0f;
    }
    int32_t above = last - axis->cell;
    axis->visits = 2 * (axis->cell > above ? axis->cell : above) + 1;
    return u == u;
}

/* May be out of the extent, where nothing is to be visited. */
PC_HD int32_t pc_icp_axis_cell(const pc_icp_axis *axis, int32_t k) {
    int32_t away = (k + 1) / 2;
    return k & 1 ? axis->cell + axis->side * away : axis->cell - axis->side * away;
}

/* A lower bound of the squared distance, along one axis, to every point of the k-th cell. The two margins of 1e-5 are
 * far above the rounding of the cell numbers, of this bound and of pc_squared_distance together. */
PC_HD float pc_icp_axis_bound(const pc_icp_axis *axis, int32_t k, float edge) {
    float gap = k == 0 ? axis->gap : (k & 1 ? axis->gap_odd : axis->gap_even) + (float)((k - 1) / 2);
    float distance = gap * edge * (1.0f - 1e-5f) - edge * 1e-5f;
    return distance > 0.0f ? distance * distance : 0.0f;
}

typedef struct pc_icp_match {
    int32_t at;    /* place in grid->points, -1 for none */
    float squared; /* squared distance; the squared maximum correspondence distance for none */
} pc_icp_match;

PC_HD void pc_icp_search_cell(const pc_icp_grid *grid, pc_icp_slot slot, float x, float y, float z,
                              pc_icp_match *best) {
    for (int32_t i = slot.start; i < slot.start + slot.count; i++) {
        pc_icp_point p = grid->points[i];
        float d = pc_squared_distance(x, y, z, p.x, p.y, p.z);
        bool tie = d == best->squared && (best->at < 0 || p.index < grid->points[best->at].index);
        if (d < best->squared || tie) {
            best->at = i;
            best->squared = d;
        }
    }
}

/* The exact nearest point with squared distance <= max_correspondence_squared, the lowest index on ties. */
PC_HD pc_icp_match pc_icp_nearest(const pc_icp_grid *grid, float x, float y, float z,
                                  float max_correspondence_squared) {
    pc_icp_match best = {-1, max_correspondence_squared};
    pc_icp_axis ax, ay, az;
    if (!pc_icp_axis_init(&ax, grid, 0, x) || !pc_icp_axis_init(&ay, grid, 1, y) ||
        !pc_icp_axis_init(&az, grid, 2, z)) {
        return best;
    }
    for (int32_t kz = 0; kz < az.visits; kz++) {
        float bz = pc_icp_axis_bound(&az, kz, grid->edge);
        int32_t cz = pc_icp_axis_cell(&az, kz);
        if (bz > best.squared) {
            break;
        }
        for (int32_t ky = 0; ky < ay.visits && cz >= 0 && cz < az.cells; ky++) {
            float by = bz + pc_icp_axis_bound(&ay, ky, grid->edge);
            int32_t cy = pc_icp_axis_cell(&ay, ky);
            if (by > best.squared) {
                break;
            }
            for (int32_t kx = 0; kx < ax.visits && cy >= 0 && cy < ay.cells; kx++) {
                float bx = by + pc_icp_axis_bound(&ax, kx, grid->edge);
                int32_t cx = pc_icp_axis_cell(&ax, kx);
                if (bx > best.squared) {
                    break;
                }
                if (cx >= 0 && cx < ax.cells) {
                    pc_icp_search_cell(grid, pc_icp_find(grid, cx, cy, cz), x, y, z, &best);
                }
            }
        }
    }
    return best;
}

/* ---- normals ----------------------------------------------------------------------------------------------------- */

/* Count, sums and sums of products of neighbours, relative to the point in question. */
typedef struct pc_icp_moments {
    double n, x, y, z, xx, xy, xz, yy, yz, zz;
} pc_icp_moments;

PC_HD void pc_icp_moments_add(pc_icp_moments *m, double x, double y, double z) {
    m->n += 1.0;
    m->x += x;
    m->y += y;
    m->z += z;
    m->xx += x * x;
    m->xy += x * y;
    m->xz += x * z;
    m->yy += y * y;
    m->yz += y * z;
    m->zz += z * z;
}

/* Moments of the points within `radius` of (x, y, z), cell by cell in the order of the keys. */
PC_HD pc_icp_moments pc_icp_neighbours(const pc_icp_grid *grid, float x, float y, float z, float radius) {
    pc_icp_moments m = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    const float p[3] = {x, y, z};
    int32_t low[3], high[3];
    double reach = (double)radius * grid->inverse_edge + 1e-5;
    PC_UNROLL
    for (int k = 0; k < 3; k++) {
        double u = ((double)p[k] - grid->origin[k]) * grid->inverse_edge;
        double from = floor(u - reach), to = floor(u + reach);
        low[k] = from > 0.0 ? (int32_t)from : 0;
        high[k] = to < (double)grid->cells[k] ? (int32_t)to : grid->cells[k] - 1;
    }
    float limit = radius * radius;
    for (int32_t cz = low[2]; cz <= high[2]; cz++) {
        for (int32_t cy = low[1]; cy <= high[1]; cy++) {
            for (int32_t cx = low[0]; cx <= high[0]; cx++) {
                pc_icp_slot slot = pc_icp_find(grid, cx, cy, cz);
                for (int32_t i = slot.start; i < slot.start + slot.count; i++) {
                    pc_icp_point q = grid->points[i];
                    if (pc_squared_distance(x, y, z, q.x, q.y, q.z) <= limit) {
                        pc_icp_moments_add(&m, (double)q.x - (double)x, (double)q.y - (double)y,
                                           (double)q.z - (double)z);
                    }
                }
            }
        }
    }
    return m;
}

/* Planes only: the thickness of the neighbourhood must be small against its second extent, which rules out lines
 * (single laser rings), edges and foliage. A ratio of variances. */
#define PC_ICP_MAX_THICKNESS 0.1

/* The unit normal of the plane through points with these moments, or (0, 0, 0) when they are too few or not a plane. */
PC_HD void pc_icp_plane(const pc_icp_moments *moments, float normal[3]) {
    const pc_icp_moments m = *moments;
    normal[0] = normal[1] = normal[2] = 0.0f;
    if (m.n < (double)PC_ICP_MIN_NEIGHBOURS) {
        return;
    }
    double xy = m.xy - m.x * m.y / m.n, xz = m.xz - m.x * m.z / m.n, yz = m.yz - m.y * m.z / m.n;
    double a[9] = {m.xx - m.x * m.x / m.n, xy, xz, xy, m.yy - m.y * m.y / m.n, yz, xz, yz, m.zz - m.z * m.z / m.n};
    double v[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    pc_jacobi(3, 6, a, v);
    /* order the eigenvalues without indexing by a variable, which would push the arrays out of registers */
    double e0 = a[0], e1 = a[4], e2 = a[8];
    bool first = e0 <= e1 && e0 <= e2;
    bool second = !first && e1 <= e2;
    double smallest = first ? e0 : second ? e1 : e2;
    double middle = first ? (e1 <= e2 ? e1 : e2) : second ? (e0 <= e2 ? e0 : e2) : (e0 <= e1 ? e0 : e1);
    double nx = first ? v[0] : second ? v[1] : v[2];
    double ny = first ? v[3] : second ? v[4] : v[5];
    double nz = first ? v[6] : second ? v[7] : v[8];
    double length = sqrt((nx * nx + ny * ny) + nz * nz);
    if (middle > 0.0 && smallest <= PC_ICP_MAX_THICKNESS * middle && length > 0.0) {
        normal[0] = (float)(nx / length);
        normal[1] = (float)(ny / length);
        normal[2] = (float)(nz / length);
    }
}

/* The normal of the points around (x, y, z), as pc_icp_plane gives it. */
PC_HD void pc_icp_normal(const pc_icp_grid *grid, float x, float y, float z, float radius, float normal[3]) {
    pc_icp_moments m = pc_icp_neighbours(grid, x, y, z, radius);
    pc_icp_plane(&m, normal);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* What a step adds up. An equation of residual r has the six derivatives j, rotation first, then translation. */
enum {
    PC_ICP_JJ = 0,       /* 21: the upper triangle of sum w j j^T, by rows */
    PC_ICP_JR = 21,      /* 6: sum w j r */
    PC_ICP_R2 = 27,      /* sum r^2 */
    PC_ICP_D2 = 28,      /* sum of squared distances of matched points */
    PC_ICP_MATCHES = 29, /* matched source points */
    PC_ICP_EQUATIONS = 30,
    PC_ICP_COST = 31, /* sum w r^2 */
    PC_ICP_SUMS = 32
};

#endif
