/* The rays of a view on the CPU. The rays of a tile advance together, in steps that are loops over the rays, so that
 * the arithmetic vectorizes and only the hash lookups are scalar. Rays that have ended are removed by compaction. Each
 * ray computes what pc_volume_cast computes. */
#include "simd.h"
#include "tsdf_cpu.h"
#include "tsdf_ray.h"

#include <string.h>

/* 38 kB, which are in the cache: as many rays at once as make whole vectors. */
#pragma GCC diagnostic ignored "-Wframe-larger-than="

enum { LANES = PC_VOLUME_TILE * PC_VOLUME_TILE, SAME = 13 /* among its neighbours */, FAR = 100 };

/* Positions on rays. */
typedef struct places {
    int32_t block[3][LANES], voxel[3][LANES], cell[LANES], good[LANES];
    int32_t to[LANES]; /* the neighbour of the block before, or PC_VOLUME_NEIGHBOURS or more */
    float fraction[3][LANES];
} places;

typedef struct lanes {
    int32_t ray[LANES]; /* its index in the tile */
    float direction[3][LANES], voxel[LANES];
    float t[LANES], last[LANES], at_last[LANES];
    int32_t sharp[LANES];
    places at;
    /* Of one step: */
    int32_t n[LANES], offset[LANES], near[LANES], ended[LANES];
    float f[LANES];
} lanes;

/* Intersections of rays with a surface. */
typedef struct hits {
    int count;
    int32_t ray[LANES], stopped[LANES];
    float direction[3][LANES], t[LANES], f[LANES];
    pc_volume_bracket between[LANES];
    places at;
    float c[4][4][4][LANES], gradient[3][LANES];
} hits;

typedef struct tile {
    const pc_volume_grid *grid;
    const pc_volume_view *view;
    const float *range; /* of depths */
    pc_volume_ray rays[LANES];
    size_t at[LANES]; /* of a ray's vertex in the maps */
} tile;

/* Loops without memory side effects process whole vectors; the values behind the last ray are ignored. */
PC_INLINE int whole_vectors(int count) {
    return (count + 15) / 16 * 16;
}

/* ---- places and values ------------------------------------------------------------------------------------------ */

PC_INLINE void find_places(const float origin[3], float direction[3][LANES], const float *t, int count, places *at) {
    count = whole_vectors(count);
    for (int i = 0; i < count; i++) {
        at->good[i] = 1;
        at->to[i] = SAME;
    }
    for (int k = 0, stride = 1; k < 3; k++, stride *= 3) {
        for (int i = 0; i < count; i++) {
            int32_t block, voxel;
            float fraction;
            const bool good = pc_volume_on_axis(origin[k], direction[k][i], t[i], &block, &voxel, &fraction);
            at->good[i] &= good;
            const uint32_t by = (uint32_t)block - (uint32_t)at->block[k][i];
            at->to[i] += by + 1 <= 2 ? stride * (int32_t)by : FAR;
            at->block[k][i] = block;
            at->voxel[k][i] = voxel;
            at->fraction[k][i] = fraction;
        }
    }
}

PC_INLINE void find_cell(const tile *c, places *at, int i) {
    const int32_t from = at->cell[i], to = at->to[i];
    if (from > 0 && to < PC_VOLUME_NEIGHBOURS) {
        at->cell[i] = to == SAME ? from : c->grid->neighbours[PC_VOLUME_NEIGHBOURS * (int64_t)from + to];
    } else if (to != SAME) {
        const int32_t *anchor = c->view->anchor;
        at->cell[i] = pc_volume_find_at(c->grid->slots, c->grid->mask, anchor[0] + at->block[0][i],
                                        anchor[1] + at->block[1][i], anchor[2] + at->block[2][i]);
    }
}

PC_INLINE pc_volume_cell cell_of(const places *at, int i) {
    return (pc_volume_cell){at->cell[i],
                            {at->voxel[0][i], at->voxel[1][i], at->voxel[2][i]},
                            {at->fraction[0][i], at->fraction[1][i], at->fraction[2][i]}};
}

/* Interpolated values of the positions with the indices `which`. */
PC_INLINE void find_values(const pc_volume_grid *grid, const places *at, const int32_t *which, int count, float *f) {
    float c[8][LANES], s[3][LANES], value[LANES];
    for (int i = 0; i < count; i++) {
        const pc_volume_cell cell = cell_of(at, which[i]);
        float corners[8];
        pc_volume_corners(grid, &cell, corners);
        for (int k = 0; k < 8; k++) {
            c[k][i] = corners[k];
        }
        for (int k = 0; k < 3; k++) {
            s[k][i] = cell.fraction[k];
        }
    }
    const int wide = whole_vectors(count);
    for (int i = count; i < wide; i++) {
        for (int k = 0; k < 8; k++) {
            c[k][i] = s[k % 3][i] = 0.0f;
        }
    }
    for (int i = 0; i < wide; i++) {
        value[i] = pc_volume_mix(pc_volume_mix4(c[0][i], c[1][i], c[2][i], c[3][i], s[0][i], s[1][i]),
                                 pc_volume_mix4(c[4][i], c[5][i], c[6][i], c[7][i], s[0][i], s[1][i]), s[2][i]);
    }
    for (int i = 0; i < count; i++) {
        f[which[i]] = value[i];
    }
}

/* ---- marching ------------------------------------------------------------------------------------------------- */

/* Rays in a block without a surface leap to another block; rays that end stay at their position, without values. */
PC_INLINE void settle_lanes(const tile *c, lanes *l, int count) {
    for (int i = 0; i < count; i++) {
        bool good = l->at.good[i] && l->t[i] <= c->range[1];
        if (good) {
            find_cell(c, &l->at, i);
        }
        if (good && !c->grid->active[l->at.cell[i]]) {
            pc_volume_position at = {{l->at.block[0][i], l->at.block[1][i], l->at.block[2][i]}, cell_of(&l->at, i)};
            pc_volume_march march = {l->t[i], l->last[i], l->at_last[i], l->sharp[i]};
            good = pc_volume_leap(c->grid, c->view, &c->rays[l->ray[i]], c->range[1], &at, &march);
            l->t[i] = march.t;
            l->at_last[i] = march.at_last;
            l->at.cell[i] = at.cell.block;
            for (int k = 0; k < 3; k++) {
                l->at.block[k][i] = at.block[k];
                l->at.voxel[k][i] = at.cell.voxel[k];
                l->at.fraction[k][i] = at.cell.fraction[k];
            }
        }
        l->ended[i] = !good;
        l->at.cell[i] = good ? l->at.cell[i] : 0;
    }
}

/* The values of the nearest voxels, and interpolated values near a surface. */
PC_INLINE void look_around(const tile *c, lanes *l, int count) {
    const float near = PC_VOLUME_NEAR * c->view->voxel;
    int32_t which[LANES];
    int some = 0;
    const int wide = whole_vectors(count);
    for (int i = 0; i < wide; i++) {
        const int32_t x = pc_volume_nearer(l->at.voxel[0][i], l->at.fraction[0][i]);
        const int32_t y = pc_volume_nearer(l->at.voxel[1][i], l->at.fraction[1][i]);
        const int32_t z = pc_volume_nearer(l->at.voxel[2][i], l->at.fraction[2][i]);
        l->n[i] = ((x + 8) >> 3) + 3 * ((y + 8) >> 3) + 9 * ((z + 8) >> 3);
        l->offset[i] = (z & 7) * 64 + (y & 7) * 8 + (x & 7);
    }
    for (int i = 0; i < count; i++) {
        const int64_t cell = l->at.cell[i];
        const int64_t from = l->n[i] == SAME ? cell : c->grid->neighbours[PC_VOLUME_NEIGHBOURS * cell + l->n[i]];
        l->f[i] = c->grid->distances[from * PC_VOLUME_VOXELS + l->offset[i]];
    }
    for (int i = 0; i < wide; i++) {
        l->near[i] = l->f[i] < near;
    }
    for (int i = 0; i < count; i++) {
        which[some] = i;
        some += l->near[i];
    }
    find_values(c->grid, &l->at, which, some, l->f);
}

PC_INLINE void advance_lanes(const tile *c, lanes *l, int count) {
    const float voxel = c->view->voxel;
    count = whole_vectors(count);
    for (int i = 0; i < count; i++) {
        pc_volume_march march = {l->t[i], l->last[i], l->at_last[i], l->sharp[i]};
        const bool on = pc_volume_advance(&march, l->f[i], l->near[i], l->voxel[i], voxel);
        l->t[i] = march.t;
        l->last[i] = march.last;
        l->at_last[i] = march.at_last;
        l->sharp[i] = march.sharp;
        l->ended[i] |= on ? 0 : 2;
    }
}

/* Handles a ray behind a surface: a hit if the last position was in front of it. */
PC_INLINE void add_hit(const tile *c, const lanes *l, int i, hits *h) {
    const pc_volume_march march = {l->t[i], l->last[i], l->at_last[i], l->sharp[i]};
    const pc_volume_bracket s = {march.last, pc_volume_sharpen(c->grid, c->view, &c->rays[l->ray[i]], &march), march.t,
                                 l->f[i]};
    if (s.at_a > 0.0f) {
        const int n = h->count++;
        h->ray[n] = l->ray[i];
        h->between[n] = s;
        h->at.cell[n] = l->at.cell[i];
        for (int k = 0; k < 3; k++) {
            h->direction[k][n] = l->direction[k][i];
            h->at.block[k][n] = l->at.block[k][i];
        }
    }
}

PC_INLINE void copy_lane(lanes *l, int from, int to) {
    l->ray[to] = l->ray[from];
    l->voxel[to] = l->voxel[from];
    l->t[to] = l->t[from];
    l->last[to] = l->last[from];
    l->at_last[to] = l->at_last[from];
    l->sharp[to] = l->sharp[from];
    l->at.cell[to] = l->at.cell[from];
    for (int k = 0; k < 3; k++) {
        l->direction[k][to] = l->direction[k][from];
        l->at.block[k][to] = l->at.block[k][from];
    }
}

PC_INLINE void march(const tile *c, lanes *l, int count, hits *h) {
    for (int step = 0; step < PC_VOLUME_LONGEST_RAY && count > 0; step++) {
        find_places(c->rays[0].origin, l->direction, l->t, count, &l->at);
        settle_lanes(c, l, count);
        look_around(c, l, count);
        advance_lanes(c, l, count);
        int left = 0;
        for (int i = 0; i < count; i++) {
            if (l->ended[i] == 2) {
                add_hit(c, l, i, h);
            } else if (!l->ended[i]) {
                if (left < i) {
                    copy_lane(l, i, left);
                }
                left++;
            }
        }
        count = left;
    }
}

/* ---- at the surface --------------------------------------------------------------------------------------------- */

PC_INLINE void narrow_hits(const tile *c, hits *h) {
    int32_t which[LANES];
    for (int i = 0; i < h->count; i++) {
        h->t[i] = pc_volume_zero(&h->between[i]);
        h->stopped[i] = 0;
    }
    for (int n = 0; n <= PC_VOLUME_NARROWINGS; n++) { /* the last iteration only computes the position */
        find_places(c->rays[0].origin, h->direction, h->t, h->count, &h->at);
        for (int i = 0; i < h->count; i++) {
            which[i] = i;
            if (h->at.good[i]) {
                find_cell(c, &h->at, i);
            }
        }
        if (n == PC_VOLUME_NARROWINGS) {
            return;
        }
        find_values(c->grid, &h->at, which, h->count, h->f);
        for (int i = 0; i < h->count; i++) {
            h->stopped[i] = h->stopped[i] || !h->at.good[i] || !(h->f[i] - h->f[i] == 0.0f);
            if (!h->stopped[i]) {
                pc_volume_tighten(&h->between[i], h->t[i], h->f[i]);
                h->t[i] = pc_volume_zero(&h->between[i]);
            }
        }
    }
}

/* As pc_volume_gradient: the values around the cell, z, y, x, without those at the ends of two axes; then the mean of
 * the four lines along an axis, at each of its positions, and their differences. */
/* The rows of these values: z and y, and the first and the last x. */
static const uint8_t ROWS[12][4] = {{0, 1, 1, 2}, {0, 2, 1, 2}, {1, 0, 1, 2}, {1, 1, 0, 3}, {1, 2, 0, 3}, {1, 3, 1, 2},
                                    {2, 0, 1, 2}, {2, 1, 0, 3}, {2, 2, 0, 3}, {2, 3, 1, 2}, {3, 1, 1, 2}, {3, 2, 1, 2}};

PC_INLINE void load_around(const pc_volume_grid *grid, hits *h, int i) {
    const pc_volume_span x = pc_volume_span_of(h->at.voxel[0][i], 1, 1);
    const pc_volume_span y = pc_volume_span_of(h->at.voxel[1][i], 3, 8);
    const pc_volume_span z = pc_volume_span_of(h->at.voxel[2][i], 9, 64);
    const int32_t *around = grid->neighbours + PC_VOLUME_NEIGHBOURS * (int64_t)h->at.cell[i];
    const bool whole = x.n[0] == x.n[3]; /* the rows are inside the block */
    for (int r = 0; r < 12; r++) {
        const int k = ROWS[r][0], j = ROWS[r][1], first = ROWS[r][2], last = ROWS[r][3];
        const int32_t *blocks = around + (y.n[j] + z.n[k]);
        const float *row = grid->distances + (y.pos[j] + z.pos[k]);
        const int64_t one = (int64_t)blocks[x.n[1]] * PC_VOLUME_VOXELS;
        for (int n = first; n <= last; n++) {
            h->c[k][j][n][i] = row[(whole ? one : (int64_t)blocks[x.n[n]] * PC_VOLUME_VOXELS) + x.pos[n]];
        }
    }
}

PC_INLINE void find_gradients(const tile *c, hits *h) {
    float line[3][4][LANES];
    for (int i = 0; i < h->count; i++) {
        load_around(c->grid, h, i);
    }
    for (int n = 0; n < 4; n++) {
        for (int i = 0; i < h->count; i++) {
            const float x = h->at.fraction[0][i], y = h->at.fraction[1][i], z = h->at.fraction[2][i];
            line[0][n][i] =
                pc_volume_mix4(h->c[1][1][n][i], h->c[1][2][n][i], h->c[2][1][n][i], h->c[2][2][n][i], y, z);
            line[1][n][i] =
                pc_volume_mix4(h->c[1][n][1][i], h->c[1][n][2][i], h->c[2][n][1][i], h->c[2][n][2][i], x, z);
            line[2][n][i] =
                pc_volume_mix4(h->c[n][1][1][i], h->c[n][1][2][i], h->c[n][2][1][i], h->c[n][2][2][i], x, y);
        }
    }
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < h->count; i++) {
            h->gradient[k][i] =
                pc_volume_central(line[k][0][i], line[k][1][i], line[k][2][i], line[k][3][i], h->at.fraction[k][i]);
        }
    }
}

PC_INLINE void write_hits(const tile *c, const hits *h, const pc_maps *maps) {
    for (int i = 0; i < h->count; i++) {
        const int32_t ray = h->ray[i];
        const size_t at = c->at[ray];
        if (!(h->t[i] > 0.0f)) {
            continue;
        }
        pc_volume_vertex(&c->rays[ray], h->t[i], maps->vertices + at);
        if (maps->normals) {
            float g[3] = {h->gradient[0][i], h->gradient[1][i], h->gradient[2][i]};
            if (!pc_volume_is_finite(g)) {
                const pc_volume_cell cell = cell_of(&h->at, i);
                pc_volume_cell_gradient(c->grid, &cell, g);
            }
            pc_volume_normal(c->view, g, maps->normals + at);
        }
    }
}

/* ---- a tile ----------------------------------------------------------------------------------------------------- */

/* Initializes the rays of the tile, and clears its maps. Returns the number of rays. */
PC_INLINE int begin_tile(tile *c, lanes *l, int32_t left, int32_t top, const pc_maps *maps) {
    int count = 0;
    for (int32_t v = top; v < top + PC_VOLUME_TILE && v < c->view->height; v++) {
        for (int32_t u = left; u < left + PC_VOLUME_TILE && u < c->view->width; u++, count++) {
            const size_t at = 3 * ((size_t)v * (size_t)c->view->width + (size_t)u);
            pc_volume_ray_of(c->view, u, v, &c->rays[count]);
            c->at[count] = at;
            l->ray[count] = count;
            l->voxel[count] = c->rays[count].voxel;
            l->t[count] = l->last[count] = c->range[0];
            l->at_last[count] = pc_volume_nan();
            l->sharp[count] = l->at.cell[count] = 0;
            for (int k = 0; k < 3; k++) {
                l->direction[k][count] = c->rays[count].direction[k];
                l->at.block[k][count] = INT32_MIN;
                maps->vertices[at + (size_t)k] = pc_volume_nan();
                if (maps->normals) {
                    maps->normals[at + (size_t)k] = pc_volume_nan();
                }
            }
        }
    }
    return count;
}

PC_INLINE void cast_tile(const pc_volume_grid *grid, const pc_volume_view *view, int32_t left, int32_t top,
                         const float range[2], const pc_maps *maps) {
    tile c;
    lanes l = {0};
    hits h;
    c.grid = grid;
    c.view = view;
    c.range = range;
    h.count = 0;
    memset(h.direction, 0, sizeof h.direction);
    memset(h.t, 0, sizeof h.t);
    memset(h.at.block, 0, sizeof h.at.block);
    int count = begin_tile(&c, &l, left, top, maps);
    if (range[0] <= range[1]) {
        march(&c, &l, count, &h);
        narrow_hits(&c, &h);
        if (maps->normals) {
            find_gradients(&c, &h);
        }
        write_hits(&c, &h, maps);
    }
}

PC_SIMD_FORMS_OF(cast_tile,
                 (const pc_volume_grid *grid, const pc_volume_view *view, int32_t left, int32_t top,
                  const float range[2], const pc_maps *maps),
                 (grid, view, left, top, range, maps))

pc_volume_cast_fn *pc_cpu_volume_cast(pc_simd simd) {
    return cast_tile_for(simd);
}
