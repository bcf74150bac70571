/* The voxels of the target: one pass over its points adds count, sums and sums of products into the finest voxels of
 * two grids; wider voxels are merged from them. All arithmetic is in integers until the mean and weight of a voxel.
 *
 * Consecutive points of a scan mostly lie in the same voxel. Sums over such a run are differences of prefix sums, so
 * the table is searched once per run. With more threads, the two grids and parts of the points are independent; parts
 * are merged in order, so voxels stay in the order of their first points. */
#include "ndt_cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    VOXELS_ALONE = 5000, /* up to so many voxels are finished and merged by one thread: waking another costs more */
    AT_A_TIME = PC_NDT_POINTS_AT_A_TIME,
    POINTS_A_PART = 16384,
};

/* NULL when memory is short. */
PC_INLINE pc_ndt_moments *voxel_of(pc_ndt_grid *g, uint64_t key) {
    uint32_t voxel = pc_ndt_take(g, key);
    return voxel ? &g->moments[voxel] : NULL;
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

/* Running sums of coordinates within the voxel and of their products, two to a word: 128 products of 20 bits fit 32. */
typedef struct running {
    uint64_t x_y[AT_A_TIME + 1], z_xy[AT_A_TIME + 1], xx_yy[AT_A_TIME + 1], zz_xz[AT_A_TIME + 1], yz[AT_A_TIME + 1];
} running;

PC_INLINE void accumulate(uint64_t *words, int n) {
    uint64_t sum = 0;
    words[0] = 0;
    for (int i = 1; i <= n; i++) {
        sum += words[i];
        words[i] = sum;
    }
}

PC_INLINE uint64_t pair(uint32_t low, uint32_t high) {
    return (uint64_t)high << 32 | low;
}

PC_INLINE void run_sums(const int32_t *ux, const int32_t *uy, const int32_t *uz, int n, int32_t half,
                        running *restrict r) {
    const uint32_t mask = (1u << PC_NDT_BITS) - 1, h = (uint32_t)half;
    for (int i = 0; i < n; i++) {
        uint32_t x = ((uint32_t)ux[i] + h) & mask, y = ((uint32_t)uy[i] + h) & mask, z = ((uint32_t)uz[i] + h) & mask;
        r->x_y[i + 1] = pair(x, y);
        r->z_xy[i + 1] = pair(z, x * y);
        r->xx_yy[i + 1] = pair(x * x, y * y);
        r->zz_xz[i + 1] = pair(z * z, x * z);
        r->yz[i + 1] = y * z;
    }
    accumulate(r->x_y, n);
    accumulate(r->z_xy, n);
    accumulate(r->xx_yy, n);
    accumulate(r->zz_xz, n);
    accumulate(r->yz, n);
}

/* Adds the points between two places of the running sums to a voxel. */
PC_INLINE void add_run(pc_ndt_moments *m, const running *r, int begin, int end) {
    uint64_t x_y = r->x_y[end] - r->x_y[begin], z_xy = r->z_xy[end] - r->z_xy[begin];
    uint64_t xx_yy = r->xx_yy[end] - r->xx_yy[begin], zz_xz = r->zz_xz[end] - r->zz_xz[begin];
    m->n += end - begin;
    m->x += (uint32_t)x_y;
    m->y += (int64_t)(x_y >> 32);
    m->z += (uint32_t)z_xy;
    m->xy += (int64_t)(z_xy >> 32);
    m->xx += (uint32_t)xx_yy;
    m->yy += (int64_t)(xx_yy >> 32);
    m->zz += (uint32_t)zz_xz;
    m->xz += (int64_t)(zz_xz >> 32);
    m->yz += (int64_t)(r->yz[end] - r->yz[begin]);
}

/* Adds points to the finest voxels of one grid. */
PC_INLINE void add_points(const pc_ndt_target *t, int64_t begin, int64_t end, pc_ndt_grid *g, bool *ok) {
    int32_t ux[AT_A_TIME], uy[AT_A_TIME], uz[AT_A_TIME], ends[AT_A_TIME];
    running sums;
    *ok = true;
    for (int64_t i = begin; i < end; i += AT_A_TIME) {
        int n = (int)(end - i < AT_A_TIME ? end - i : AT_A_TIME);
        pc_ndt_quantize_all(&t->map, t->x + i, t->y + i, t->z + i, n, ux, uy, uz);
        run_sums(ux, uy, uz, n, g->half, &sums);
        int runs = pc_ndt_runs(ux, uy, uz, n, g->half, g->shift, ends);
        for (int k = 0, first = 0; k < runs; first = ends[k++]) {
            if (ux[first] < 0) {
                continue;
            }
            uint64_t key =
                pc_ndt_key((uint32_t)(ux[first] + g->half) >> g->shift, (uint32_t)(uy[first] + g->half) >> g->shift,
                           (uint32_t)(uz[first] + g->half) >> g->shift);
            pc_ndt_moments *m = voxel_of(g, key);
            if (!m) {
                *ok = false;
                return;
            }
            add_run(m, &sums, first, ends[k]);
        }
    }
}

PC_SIMD_FORMS_OF(add_points, (const pc_ndt_target *t, int64_t begin, int64_t end, pc_ndt_grid *g, bool *ok),
                 (t, begin, end, g, ok))

/* ---- wider voxels ------------------------------------------------------------------------------------------------ */

void pc_ndt_add_moments(pc_ndt_moments *to, const pc_ndt_moments *m, int64_t dx, int64_t dy, int64_t dz) {
    pc_ndt_moments moved = pc_ndt_moved(m, dx, dy, dz);
    to->n += moved.n;
    to->x += moved.x;
    to->y += moved.y;
    to->z += moved.z;
    to->xx += moved.xx;
    to->xy += moved.xy;
    to->xz += moved.xz;
    to->yy += moved.yy;
    to->yz += moved.yz;
    to->zz += moved.zz;
}

/* The next level: eight voxels to one. */
static bool merge_level(const pc_ndt_grid *fine, pc_ndt_grid *wide) {
    if (!pc_ndt_begin_grid(wide, fine->shift + 1, 0, fine->count / 2)) {
        return false;
    }
    for (int32_t i = 1; i < fine->count; i++) {
        uint32_t c[3];
        pc_ndt_split_key(fine->keys[i], c);
        pc_ndt_moments *m = voxel_of(wide, pc_ndt_key(c[0] >> 1, c[1] >> 1, c[2] >> 1));
        if (!m) {
            return false;
        }
        pc_ndt_add_moments(m, &fine->moments[i], (int64_t)(c[0] & 1) << fine->shift, (int64_t)(c[1] & 1) << fine->shift,
                           (int64_t)(c[2] & 1) << fine->shift);
    }
    return true;
}

/* The voxels of a later part, in order after those that are there. */
static bool merge_part(const pc_ndt_grid *part, pc_ndt_grid *g) {
    for (int32_t i = 1; i < part->count; i++) {
        pc_ndt_moments *m = voxel_of(g, part->keys[i]);
        if (!m) {
            return false;
        }
        pc_ndt_add_moments(m, &part->moments[i], 0, 0, 0);
    }
    return true;
}

/* ---- centroid and radii of gyration ------------------------------------------------------------------------------ */

/* The centroid of all points, from integers; then the radii of gyration from the means of the voxels, in order. */
void pc_ndt_find_center(const pc_ndt_grid *g, const pc_ndt_target *t, pc_ndt_measure *measure) {
    int64_t n = 0, sum[3] = {0};
    for (int32_t i = 1; i < g->count; i++) {
        const pc_ndt_moments *m = &g->moments[i];
        uint32_t c[3];
        pc_ndt_split_key(g->keys[i], c);
        n += m->n;
        sum[0] += m->x + m->n * ((int64_t)c[0] << g->shift);
        sum[1] += m->y + m->n * ((int64_t)c[1] << g->shift);
        sum[2] += m->z + m->n * ((int64_t)c[2] << g->shift);
    }
    for (int k = 0; k < 3; k++) {
        measure->center[k] = pc_ndt_center(sum[k], n, t->origin[k], t->unit);
    }
    measure->voxels = g->count - 1;
}

void pc_ndt_find_gyration(const pc_ndt_grid *g, pc_ndt_measure *measure) {
    enum { L = PC_NDT_LANES };
    double n = 0.0, square[3] = {0};
    for (int32_t first = 0; first < g->count; first += PC_NDT_CHUNK) {
        double lanes[3][L] = {{0}};
        for (int32_t i = first; i < first + PC_NDT_CHUNK && i < g->count; i++) {
            const pc_ndt_block *b = &g->blocks[i / L];
            double points = (double)g->moments[i].n;
            n += points;
            for (int k = 0; k < 3; k++) {
                lanes[k][i % L] += pc_ndt_square_of(b->mean[k][i % L], points);
            }
        }
        for (int k = 0; k < 3; k++) {
            square[k] += pc_ndt_halve(lanes[k]);
        }
    }
    pc_ndt_gyration(square, n, measure->gyration);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static bool take_parts(pc_ndt_state *s, int parts) {
    int more = 2 * (parts - 1);
    if (more > s->parts_made) {
        pc_ndt_grid *part = pc_buffer_take(&s->part_memory, (size_t)more * sizeof *s->part, true);
        if (!part) {
            return false;
        }
        s->part = part;
        memset(s->part + s->parts_made, 0, (size_t)(more - s->parts_made) * sizeof *s->part);
        s->parts_made = more;
    }
    return true;
}

/* The finest voxels of both grids: each part of the points for itself, then all parts of a grid in order. */
typedef struct adding {
    pc_ndt_state *s;
    const pc_ndt_target *t;
    int parts;
    atomic_bool failed;
} adding;

static void add_part(void *state, int i) {
    adding *a = state;
    pc_ndt_state *s = a->s;
    const int64_t n = a->t->n, part = i / 2, begin = n * part / a->parts, end = n * (part + 1) / a->parts;
    pc_ndt_grid *g = part ? &s->part[i - 2] : i ? &s->shifted : &s->level[0];
    bool ok = pc_ndt_begin_grid(g, PC_NDT_BITS, i % 2 ? 1 << (PC_NDT_BITS - 1) : 0, (end - begin) / 8);
    if (ok) {
        add_points_for(s->simd)(a->t, begin, end, g, &ok);
    }
    if (!ok) {
        atomic_store(&a->failed, true);
    }
}

static void merge_parts(void *state, int i) {
    adding *a = state;
    bool ok = true;
    for (int part = 1; part < a->parts && ok; part++) {
        ok = merge_part(&a->s->part[2 * (part - 1) + i], i ? &a->s->shifted : &a->s->level[0]);
    }
    if (!ok) {
        atomic_store(&a->failed, true);
    }
}

bool pc_ndt_add_target(pcgpu_context *context, pc_ndt_state *s, const pc_ndt_target *t) {
    int64_t most = t->n / POINTS_A_PART;
    int parts = (context->threads + 1) / 2;
    parts = parts < most ? parts : most > 1 ? (int)most : 1;
    adding a = {.s = s, .t = t, .parts = parts};
    if (!take_parts(s, parts)) {
        return false;
    }
    pc_run_parts(context, 2 * parts, add_part, &a);
    if (parts > 1 && !atomic_load(&a.failed)) {
        pc_run_parts(context, 2, merge_parts, &a);
    }
    return !atomic_load(&a.failed);
}

bool pc_ndt_merge_levels(pc_ndt_state *s, int levels) {
    bool merged = true;
    for (int l = 1; l < levels && merged; l++) {
        merged = merge_level(&s->level[l - 1], &s->level[l]);
    }
    return merged;
}

pcgpu_status pc_ndt_make_target(pcgpu_context *context, pc_ndt_state *s, const pc_ndt_target *t,
                                pc_ndt_measure *measure) {
    s->on_local_map = false;
    bool good = pc_ndt_add_target(context, s, t);
    if (good) {
        pc_ndt_find_center(&s->level[0], t, measure);
        good = pc_ndt_merge_levels(s, t->levels);
    }
    for (int l = t->levels - 1; l >= 0 && good; l--) {
        const pc_ndt_grid *wider = l + 1 < t->levels ? &s->level[l + 1] : NULL;
        good = pc_ndt_finish_grid(context, s, t, measure->center, &s->level[l], wider) &&
               (l > 0 || pc_ndt_finish_grid(context, s, t, measure->center, &s->shifted, wider));
    }
    if (!good) {
        return pc_fail_memory(context, (uint64_t)t->n * 128, "the voxels of the target");
    }
    pc_ndt_find_gyration(&s->level[0], measure);
    return PCGPU_OK;
}
