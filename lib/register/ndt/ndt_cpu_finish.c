/* Means and weights of the cells of the target, a block of lanes at a time. */
#include "ndt_cpu.h"

#include <string.h>

#define ALL_LANES ((1u << PC_NDT_LANES) - 1)

enum {
    MOMENTS = 10,
    ROWS = 6, /* of a symmetric matrix */
    BLOCKS_A_PART = 2 * PC_NDT_CHUNK / PC_NDT_LANES,
    BLOCKS_ALONE = 32 * PC_NDT_CHUNK / PC_NDT_LANES, /* finished by one thread */
};

/* The rows of `normal` of a cell into a lane. */
PC_INLINE void take_normal(const pc_ndt_block *blocks, int64_t cell, double *lane) {
    enum { L = PC_NDT_LANES };
    for (int k = 0; k < ROWS; k++) {
        lane[k * L] = (double)blocks[cell / L].normal[k][cell % L];
    }
}

/* Blocks [begin, end) of a grid; padding lanes have no points. wider: the finished grid of the parents, or NULL. stale:
 * the lanes to finish of each block, or NULL for all. The normal of a parent must not reach the others earlier than on
 * CUDA, where cells are refreshed one by one: what they took from it, if anything, is their own normal, and comes out
 * again. A parent that is not there is cell 0, whose normal is 0. */
PC_INLINE void finish_blocks(const pc_ndt_grid *g, const pc_ndt_grid *wider, int32_t begin, int32_t end,
                             const pc_ndt_target *t, const double *center, double s2, const uint16_t *stale) {
    enum { L = PC_NDT_LANES };
    for (int32_t b = begin; b < end; b++) {
        const uint32_t lanes = stale ? stale[b] : ALL_LANES;
        if (lanes == 0) {
            continue;
        }
        pc_ndt_block *block = &g->blocks[b];
        double m[MOMENTS * L] = {0}, corner[3 * L] = {0}, normal[ROWS * L] = {0};
        for (int l = 0; l < L && b * L + l < g->count; l++) {
            const pc_ndt_moments *from = &g->moments[b * L + l];
            const int64_t values[MOMENTS] = {from->n,  from->x,  from->y,  from->z,  from->xx,
                                             from->xy, from->xz, from->yy, from->yz, from->zz};
            for (int k = 0; k < MOMENTS; k++) {
                m[k * L + l] = (double)values[k];
            }
            if (wider && lanes >> l & 1) {
                take_normal(wider->blocks, pc_ndt_find(wider, pc_ndt_parent_key(g->keys[b * L + l])), normal + l);
            } else if (wider) {
                take_normal(g->blocks, b * L + l, normal + l);
            }
            uint32_t c[3];
            pc_ndt_split_key(g->keys[b * L + l], c);
            for (int k = 0; k < 3; k++) {
                corner[k * L + l] = pc_ndt_corner(c[k], g->shift, g->half, t->unit, t->origin[k], center[k]);
            }
        }
        double edge = t->unit * (double)(1 << g->shift);
        for (int l = 0; l < L; l++) {
            pc_ndt_finish(m + l, corner + l, normal + l, L, t->unit, edge, s2, block, l);
        }
    }
}

PC_SIMD_FORMS_OF(finish_blocks,
                 (const pc_ndt_grid *g, const pc_ndt_grid *wider, int32_t begin, int32_t end, const pc_ndt_target *t,
                  const double *center, double s2, const uint16_t *stale),
                 (g, wider, begin, end, t, center, s2, stale))

/* Blocks of a grid to finish, all or the stale ones. */
typedef struct finishing {
    const pc_ndt_grid *g, *wider;
    const pc_ndt_target *t;
    const double *center;
    double s2;
    pc_simd simd;
} finishing;

static void finish_range(void *state, int64_t begin, int64_t end) {
    const finishing *f = state;
    finish_blocks_for(f->simd)(f->g, f->wider, (int32_t)begin, (int32_t)end, f->t, f->center, f->s2, NULL);
}

static void finish_stale_range(void *state, int64_t begin, int64_t end) {
    const finishing *f = state;
    finish_blocks_for(f->simd)(f->g, f->wider, (int32_t)begin, (int32_t)end, f->t, f->center, f->s2, f->g->stale);
    memset(f->g->stale + begin, 0, (size_t)(end - begin) * sizeof *f->g->stale);
}

static void run(pcgpu_context *context, const pc_ndt_state *s, const pc_ndt_target *t, const double center[3],
                const pc_ndt_grid *g, const pc_ndt_grid *wider, int64_t blocks, pc_range_fn *function) {
    finishing f = {g, wider, t, center, pc_ndt_sigma2(t->sigma, t->widening, t->unit, g->shift), s->simd};
    pc_run_ranges(context, blocks, blocks > BLOCKS_ALONE ? BLOCKS_A_PART : blocks, function, &f);
}

/* Up to whole chunks, whose padding the sums read. */
static int64_t blocks_of(int64_t cells) {
    return (cells + PC_NDT_CHUNK - 1) / PC_NDT_CHUNK * (PC_NDT_CHUNK / PC_NDT_LANES);
}

bool pc_ndt_reserve_blocks(pc_ndt_grid *g, int64_t cells, bool keep) {
    void *blocks = pc_buffer_take(&g->memory[PC_NDT_MEMORY_BLOCKS], (size_t)blocks_of(cells) * sizeof *g->blocks, keep);
    g->blocks = g->memory[PC_NDT_MEMORY_BLOCKS].memory;
    return blocks;
}

bool pc_ndt_finish_grid(pcgpu_context *context, const pc_ndt_state *s, const pc_ndt_target *t, const double center[3],
                        pc_ndt_grid *g, const pc_ndt_grid *wider) {
    if (!pc_ndt_reserve_blocks(g, g->count, false)) {
        return false;
    }
    run(context, s, t, center, g, wider, blocks_of(g->count), finish_range);
    return true;
}

void pc_ndt_finish_stale(pcgpu_context *context, const pc_ndt_state *s, const pc_ndt_target *t, const double center[3],
                         pc_ndt_grid *g, const pc_ndt_grid *wider) {
    run(context, s, t, center, g, wider, (g->count + PC_NDT_LANES - 1) / PC_NDT_LANES, finish_stale_range);
}
