/* Reading a volume: interpolated values, and the intersection of a pixel's ray with the surface. */
#ifndef PC_VOLUME_RAY_H
#define PC_VOLUME_RAY_H

#include "tsdf_math.h"

/* ---- values ----------------------------------------------------------------------------------------------------- */

/* The index of voxel (x, y, z) relative to a block, each -8 to 15: the voxel may be in a neighbour. */
PC_HD_ALWAYS int64_t pc_volume_index(const pc_volume_grid *grid, int64_t block, int32_t x, int32_t y, int32_t z) {
    const int32_t n = ((x + 8) >> 3) + 3 * ((y + 8) >> 3) + 9 * ((z + 8) >> 3);
    const int64_t from = n == 13 ? block : grid->neighbours[PC_VOLUME_NEIGHBOURS * block + n];
    return from * PC_VOLUME_VOXELS + ((z & 7) * 64 + (y & 7) * 8 + (x & 7));
}

PC_HD_ALWAYS float pc_volume_fetch(const pc_volume_grid *grid, int64_t block, int32_t x, int32_t y, int32_t z) {
    return grid->distances[pc_volume_index(grid, block, x, y, z)];
}

/* The cell of a point: its first voxel and the interpolation weights. */
typedef struct pc_volume_cell {
    int32_t block;    /* 0 = none */
    int32_t voxel[3]; /* 0 to 7 each */
    float fraction[3];
} pc_volume_cell;

PC_HD_ALWAYS float pc_volume_mix(float a, float b, float fraction) {
    return a + fraction * (b - a);
}

/* Bilinear interpolation of four values, the first axis first. */
PC_HD_ALWAYS float pc_volume_mix4(float a, float b, float c, float d, float fraction, float other) {
    return pc_volume_mix(pc_volume_mix(a, b, fraction), pc_volume_mix(c, d, fraction), other);
}

/* The eight corners, x fastest. */
PC_HD_ALWAYS void pc_volume_corners(const pc_volume_grid *grid, const pc_volume_cell *cell, float c[8]) {
    const int32_t x = cell->voxel[0], y = cell->voxel[1], z = cell->voxel[2];
    if (x < 7 && y < 7 && z < 7) {
        const float *at = grid->distances + ((int64_t)cell->block * PC_VOLUME_VOXELS + (z * 64 + y * 8 + x));
        c[0] = at[0], c[1] = at[1], c[2] = at[8], c[3] = at[9];
        c[4] = at[64], c[5] = at[65], c[6] = at[72], c[7] = at[73];
        return;
    }
    for (int i = 0; i < 8; i++) {
        c[i] = pc_volume_fetch(grid, cell->block, x + (i & 1), y + (i >> 1 & 1), z + (i >> 2));
    }
}

/* Trilinear: NaN unless all corners have a value. */
PC_HD_ALWAYS float pc_volume_value(const pc_volume_grid *grid, const pc_volume_cell *cell) {
    float c[8];
    pc_volume_corners(grid, cell, c);
    const float *s = cell->fraction;
    return pc_volume_mix(pc_volume_mix4(c[0], c[1], c[2], c[3], s[0], s[1]),
                         pc_volume_mix4(c[4], c[5], c[6], c[7], s[0], s[1]), s[2]);
}

/* The gradient of the trilinear interpolation inside one cell. */
PC_HD_ALWAYS void pc_volume_cell_gradient(const pc_volume_grid *grid, const pc_volume_cell *cell, float g[3]) {
    float c[8];
    pc_volume_corners(grid, cell, c);
    const float *s = cell->fraction;
    g[0] = pc_volume_mix(pc_volume_mix(c[1] - c[0], c[3] - c[2], s[1]), pc_volume_mix(c[5] - c[4], c[7] - c[6], s[1]),
                         s[2]);
    g[1] = pc_volume_mix(pc_volume_mix(c[2] - c[0], c[3] - c[1], s[0]), pc_volume_mix(c[6] - c[4], c[7] - c[5], s[0]),
                         s[2]);
    g[2] = pc_volume_mix(pc_volume_mix(c[4] - c[0], c[5] - c[1], s[0]), pc_volume_mix(c[6] - c[2], c[7] - c[3], s[0]),
                         s[1]);
}

/* The voxels -1 to 2 of a cell on one axis: the neighbouring block, and the index in it. */
typedef struct pc_volume_span {
    int32_t n[4], pos[4];
} pc_volume_span;

PC_HD_ALWAYS pc_volume_span pc_volume_span_of(int32_t voxel, int32_t blocks, int32_t stride) {
    pc_volume_span s;
    for (int i = 0; i < 4; i++) {
        const int32_t v = voxel + i - 1;
        s.n[i] = blocks * ((v + 8) >> 3);
        s.pos[i] = stride * (v & 7);
    }
    return s;
}

PC_HD_ALWAYS bool pc_volume_is_finite(const float g[3]) {
    const float sum = (g[0] + g[1]) + g[2];
    return sum - sum == 0.0f;
}

/* The difference along an axis from four values, at a fraction of the distance from the second to the third. */
PC_HD_ALWAYS float pc_volume_central(float a, float b, float c, float d, float fraction) {
    return pc_volume_mix(c - a, d - b, fraction);
}

/* Central differences at the corners, interpolated, which average noise; else the gradient of the cell. */
PC_HD_ALWAYS void pc_volume_gradient(const pc_volume_grid *grid, const pc_volume_cell *cell, float g[3]) {
    const pc_volume_span x = pc_volume_span_of(cell->voxel[0], 1, 1), y = pc_volume_span_of(cell->voxel[1], 3, 8);
    const pc_volume_span z = pc_volume_span_of(cell->voxel[2], 9, 64);
    const int32_t *around = grid->neighbours + PC_VOLUME_NEIGHBOURS * (int64_t)cell->block;
    const float *d = grid->distances, *s = cell->fraction;
    float c[4][4][4]; /* z, y, x; entries with two coordinates at the ends are not used */
    for (int k = 0; k < 4; k++) {
        for (int j = 0; j < 4; j++) {
            for (int i = 0; i < 4; i++) {
                if ((k == 0 || k == 3) + (j == 0 || j == 3) + (i == 0 || i == 3) < 2) {
                    c[k][j][i] = d[(int64_t)around[x.n[i] + y.n[j] + z.n[k]] * PC_VOLUME_VOXELS +
                                   (x.pos[i] + y.pos[j] + z.pos[k])];
                }
            }
        }
    }
    float lx[4], ly[4], lz[4]; /* means of the four lines along an axis at each of its positions */
    for (int i = 0; i < 4; i++) {
        lx[i] = pc_volume_mix4(c[1][1][i], c[1][2][i], c[2][1][i], c[2][2][i], s[1], s[2]);
        ly[i] = pc_volume_mix4(c[1][i][1], c[1][i][2], c[2][i][1], c[2][i][2], s[0], s[2]);
        lz[i] = pc_volume_mix4(c[i][1][1], c[i][1][2], c[i][2][1], c[i][2][2], s[0], s[1]);
    }
    g[0] = pc_volume_central(lx[0], lx[1], lx[2], lx[3], s[0]);
    g[1] = pc_volume_central(ly[0], ly[1], ly[2], ly[3], s[1]);
    g[2] = pc_volume_central(lz[0], lz[1], lz[2], lz[3], s[2]);
    if (!pc_volume_is_finite(g)) {
        pc_volume_cell_gradient(grid, cell, g);
    }
}

/* ---- rays ------------------------------------------------------------------------------------------------------- */

typedef struct pc_volume_ray {
    float origin[3], direction[3]; /* voxels from the anchor; direction for a depth of 1 m */
    float inverse[3];              /* 1 / direction; infinite for 0 */
    float x, y;                    /* direction in the camera's frame, with 1 along the optical axis */
    float voxel;                   /* depth along the ray per voxel size */
} pc_volume_ray;

PC_HD_ALWAYS void pc_volume_ray_of(const pc_volume_view *view, int32_t u, int32_t v, pc_volume_ray *ray) {
    ray->x = ((float)u - view->cx) / view->fx;
    ray->y = ((float)v - view->cy) / view->fy;
    ray->voxel = view->voxel / sqrtf((ray->x * ray->x + ray->y * ray->y) + 1.0f);
    for (int k = 0; k < 3; k++) {
        const float *T = view->to_volume + 4 * k;
        ray->origin[k] = T[3];
        ray->direction[k] = (T[0] * ray->x + T[1] * ray->y) + T[2];
        ray->inverse[k] = 1.0f / ray->direction[k];
    }
}

/* A position on a ray, and its block; `block` has its coordinates relative to the anchor, cached for the next one. */
typedef struct pc_volume_position {
    int32_t block[3];
    pc_volume_cell cell;
} pc_volume_position;

PC_HD_ALWAYS pc_volume_position pc_volume_nowhere(void) {
    const pc_volume_position at = {{INT32_MIN, 0, 0}, {0, {0, 0, 0}, {0, 0, 0}}}; /* a block out of reach */
    return at;
}

/* One axis of the position at depth t. False where coordinates end; the other members are then undefined. */
PC_HD_ALWAYS bool pc_volume_on_axis(float origin, float direction, float t, int32_t *block, int32_t *voxel,
                                    float *fraction) {
    const float p = origin + t * direction, most = 16777216.0f;
    const bool good = (p > -most) & (p < most);
    const float q = good ? p : 0.0f, base = floorf(q);
    const int32_t whole = (int32_t)base;
    *block = whole >> 3;
    *voxel = whole & 7;
    *fraction = q - base;
    return good;
}

/* False where coordinates end. */
PC_HD_ALWAYS bool pc_volume_go(const pc_volume_grid *grid, const pc_volume_view *view, const pc_volume_ray *ray,
                               float t, pc_volume_position *at) {
    bool good = true, same = true;
    for (int k = 0; k < 3; k++) {
        int32_t block;
        good = pc_volume_on_axis(ray->origin[k], ray->direction[k], t, &block, &at->cell.voxel[k],
                                 &at->cell.fraction[k]) &&
               good;
        same = same && at->block[k] == block;
        at->block[k] = block;
    }
    if (good && !same) {
        at->cell.block = pc_volume_find_at(grid->slots, grid->mask, view->anchor[0] + at->block[0],
                                           view->anchor[1] + at->block[1], view->anchor[2] + at->block[2]);
    }
    return good;
}

/* Walks from block to block (Amanatides and Woo 1987), from the block at `pos`, which has no surface, to one that may
 * have a surface. Returns the depth where that one begins, or INFINITY when there is none before `end`; *exists: the
 * block before it has voxels. */
PC_HD_ALWAYS float pc_volume_skip(const pc_volume_grid *grid, const pc_volume_view *view, const pc_volume_ray *ray,
                                  float end, pc_volume_position *pos, bool *exists) {
    float next[3], delta[3];
    int32_t step[3];
    for (int k = 0; k < 3; k++) {
        const bool forward = ray->direction[k] > 0.0f, turned = ray->direction[k] != 0.0f;
        const float side = (float)(8 * (pos->block[k] + (forward ? 1 : 0)));
        step[k] = forward ? 1 : -1;
        next[k] = turned ? (side - ray->origin[k]) * ray->inverse[k] : INFINITY;
        delta[k] = turned ? 8.0f * (forward ? ray->inverse[k] : -ray->inverse[k]) : INFINITY;
    }
    for (int i = 0; i < PC_VOLUME_LONGEST_RAY; i++) {
        const int k = next[0] <= next[1] ? (next[0] <= next[2] ? 0 : 2) : (next[1] <= next[2] ? 1 : 2);
        const float t = next[k];
        if (!(t <= end)) {
            return INFINITY;
        }
        pos->block[0] += k == 0 ? step[0] : 0;
        pos->block[1] += k == 1 ? step[1] : 0;
        pos->block[2] += k == 2 ? step[2] : 0;
        next[0] += k == 0 ? delta[0] : 0.0f;
        next[1] += k == 1 ? delta[1] : 0.0f;
        next[2] += k == 2 ? delta[2] : 0.0f;
        const int32_t *a = view->anchor, x = a[0] + pos->block[0], y = a[1] + pos->block[1], z = a[2] + pos->block[2];
        if (grid->rows[pc_volume_row_of(y, z)] >> ((uint32_t)x & 63) & 1) {
            pos->cell.block = pc_volume_find_at(grid->slots, grid->mask, x, y, z);
            if (grid->active[pos->cell.block]) {
                const int32_t back = k == 0 ? step[0] : k == 1 ? 3 * step[1] : 9 * step[2];
                *exists = grid->neighbours[PC_VOLUME_NEIGHBOURS * (int64_t)pos->cell.block + 13 - back] > 0;
                return t;
            }
        }
    }
    return INFINITY;
}

PC_HD_ALWAYS int32_t pc_volume_nearer(int32_t voxel, float fraction) {
    return voxel + (fraction < 0.5f ? 0 : 1);
}

/* The voxel nearest to the position. */
PC_HD_ALWAYS float pc_volume_nearest(const pc_volume_grid *grid, const pc_volume_cell *c) {
    return pc_volume_fetch(grid, c->block, pc_volume_nearer(c->voxel[0], c->fraction[0]),
                           pc_volume_nearer(c->voxel[1], c->fraction[1]),
                           pc_volume_nearer(c->voxel[2], c->fraction[2]));
}

/* One step of regula falsi between the depths a, with a value above 0, and b, with a value of at most 0. */
typedef struct pc_volume_bracket {
    float a, at_a, b, at_b;
} pc_volume_bracket;

PC_HD_ALWAYS float pc_volume_zero(const pc_volume_bracket *s) {
    return s->a + (s->b - s->a) * (s->at_a / (s->at_a - s->at_b));
}

PC_HD_ALWAYS void pc_volume_tighten(pc_volume_bracket *s, float t, float f) {
    const bool before = f > 0.0f;
    s->a = before ? t : s->a;
    s->at_a = before ? f : s->at_a;
    s->b = before ? s->b : t;
    s->at_b = before ? s->at_b : f;
}

/* The number of regula falsi steps: one is enough near a surface. A position without a value ends them. */
enum { PC_VOLUME_NARROWINGS = 1 };

PC_HD_ALWAYS float pc_volume_narrow(const pc_volume_grid *grid, const pc_volume_view *view, const pc_volume_ray *ray,
                                    pc_volume_bracket s, pc_volume_position *pos) {
    float t = pc_volume_zero(&s);
    for (int i = 0; i < PC_VOLUME_NARROWINGS; i++) {
        const float f =
            pc_volume_go(grid, view, ray, t, pos) && pos->cell.block > 0 ? pc_volume_value(grid, &pos->cell) : NAN;
        if (!(f - f == 0.0f)) {
            break;
        }
        pc_volume_tighten(&s, t, f);
        t = pc_volume_zero(&s);
    }
    pc_volume_go(grid, view, ray, t, pos);
    return t;
}

#define PC_VOLUME_NEAR 2.0f /* voxels from a surface: values are interpolated within this distance */

/* The state of a ray. */
typedef struct pc_volume_march {
    float t, last, at_last; /* the depth; the last position in front of a surface and its value, NaN: none */
    int32_t sharp;          /* that value was interpolated */
} pc_volume_march;

/* Advances by a fraction of a large value f, or by a voxel without a value. `near`: f is interpolated. False: behind a
 * surface. */
PC_HD_ALWAYS bool pc_volume_advance(pc_volume_march *march, float f, int32_t near, float voxel_depth, float voxel) {
    const float least = 0.7f * voxel_depth, distance_left = voxel_depth / voxel * f;
    const float part = near ? distance_left + 0.3f * voxel_depth : 0.7f * distance_left,
                step = part > least ? part : least;
    const bool before = f > 0.0f, behind = f <= 0.0f;
    const float t = march->t, on = t + (before ? step : voxel_depth),
                unknown = behind ? march->at_last : pc_volume_nan();
    march->last = before ? t : march->last;
    march->at_last = before ? f : unknown;
    march->sharp = before ? near : march->sharp;
    march->t = behind ? t : on;
    return !behind;
}

/* Leaps from a block without a surface to the next one that may have a surface, but stops one voxel before its start,
 * so that the value in front of a surface at the start of that block is known. False: there is none before `end`. */
PC_HD_ALWAYS bool pc_volume_leap(const pc_volume_grid *grid, const pc_volume_view *view, const pc_volume_ray *ray,
                                 float end, pc_volume_position *pos, pc_volume_march *march) {
    bool exists = false;
    const float enter = pc_volume_skip(grid, view, ray, end, pos, &exists) - (exists ? ray->voxel : 0.0f);
    if (enter > march->t || !exists) {
        /* a step that float32 can represent */
        march->t = (enter > march->t ? enter : march->t) + (0.02f * ray->voxel + 4e-7f * march->t);
        march->at_last = pc_volume_nan();
    }
    return march->t <= end && pc_volume_go(grid, view, ray, march->t, pos);
}

/* Whether the first position with a value is in front of the surface: interpolated. */
PC_HD_ALWAYS float pc_volume_sharpen(const pc_volume_grid *grid, const pc_volume_view *view, const pc_volume_ray *ray,
                                     const pc_volume_march *march) {
    pc_volume_position before = pc_volume_nowhere();
    if (!(march->at_last > 0.0f) || march->sharp) {
        return march->at_last;
    }
    return pc_volume_go(grid, view, ray, march->last, &before) && before.cell.block > 0
               ? pc_volume_value(grid, &before.cell)
               : pc_volume_nan();
}

/* The depth, between `begin` and `end`, where the ray first crosses from the front of a surface to its back; NaN =
 * none. `pos`, initially nowhere, is then the cell there. Missing blocks and blocks without a surface are skipped in
 * one step; the latter up to the last voxel, so that the value in front of a surface at the start of the next block is
 * known. The step length is a fraction of a large value; near a surface, values are interpolated. A surface that is
 * reached from its back ends the ray, since its front is hidden. */
PC_HD_ALWAYS float pc_volume_cast(const pc_volume_grid *grid, const pc_volume_view *view, const pc_volume_ray *ray,
                                  float begin, float end, pc_volume_position *pos) {
    pc_volume_march march = {begin, begin, pc_volume_nan(), 0};
    for (int i = 0; i < PC_VOLUME_LONGEST_RAY && march.t <= end && pc_volume_go(grid, view, ray, march.t, pos); i++) {
        if (!grid->active[pos->cell.block] && !pc_volume_leap(grid, view, ray, end, pos, &march)) {
            break;
        }
        float f = pc_volume_nearest(grid, &pos->cell);
        const bool near = f < PC_VOLUME_NEAR * view->voxel;
        f = near ? pc_volume_value(grid, &pos->cell) : f;
        if (!pc_volume_advance(&march, f, near, ray->voxel, view->voxel)) {
            const pc_volume_bracket s = {march.last, pc_volume_sharpen(grid, view, ray, &march), march.t, f};
            return s.at_a > 0.0f ? pc_volume_narrow(grid, view, ray, s, pos) : pc_volume_nan();
        }
    }
    return pc_volume_nan();
}

/* The vertex of a pixel whose ray intersects a surface at depth t > 0. */
PC_HD_ALWAYS void pc_volume_vertex(const pc_volume_ray *ray, float t, float vertex[3]) {
    vertex[0] = ray->x * t;
    vertex[1] = ray->y * t;
    vertex[2] = t;
}

/* The normal at the vertex, from the gradient; unchanged where there is no gradient. */
PC_HD_ALWAYS void pc_volume_normal(const pc_volume_view *view, const float g[3], float normal[3]) {
    float n[3];
    for (int k = 0; k < 3; k++) {
        const float *T = view->to_camera + 4 * k;
        n[k] = (T[0] * g[0] + T[1] * g[1]) + T[2] * g[2];
    }
    const float length = sqrtf((n[0] * n[0] + n[1] * n[1]) + n[2] * n[2]);
    if (length > 0.0f) {
        for (int k = 0; k < 3; k++) {
            normal[k] = n[k] / length;
        }
    }
}

/* The vertex and normal (may be NULL) of one pixel, or NaN. `range`: the depths between which its tile has blocks. */
PC_HD_ALWAYS void pc_volume_look(const pc_volume_grid *grid, const pc_volume_view *view, int32_t u, int32_t v,
                                 const float range[2], float vertex[3], float normal[3]) {
    pc_volume_ray ray;
    pc_volume_position pos = pc_volume_nowhere();
    pc_volume_ray_of(view, u, v, &ray);
    const float t = range[0] <= range[1] ? pc_volume_cast(grid, view, &ray, range[0], range[1], &pos) : NAN;
    for (int k = 0; k < 3; k++) {
        vertex[k] = pc_volume_nan();
        if (normal) {
            normal[k] = pc_volume_nan();
        }
    }
    if (t > 0.0f) {
        pc_volume_vertex(&ray, t, vertex);
        if (normal) {
            float g[3];
            pc_volume_gradient(grid, &pos.cell, g);
            pc_volume_normal(view, g, normal);
        }
    }
}

#endif
