/* Means and weights of the cells of the target, a block of lanes at a time. */
#include "cpu_cells.h"

enum { MOMENTS = 10 };

/* Blocks [begin, end) of a grid; padding lanes have no points. */
PC_INLINE void finish_blocks(const pc_cells_grid *g, int32_t begin, int32_t end, const pc_cells_target *t,
                             const double *center, double s2) {
    enum { L = PC_CELLS_LANES };
    for (int32_t b = begin; b < end; b++) {
        double m[MOMENTS * L] = {0}, corner[3 * L] = {0};
        for (int l = 0; l < L && b * L + l < g->count; l++) {
            const pc_cells_moments *from = &g->moments[b * L + l];
            const int64_t values[MOMENTS] = {from->n,  from->x,  from->y,  from->z,  from->xx,
                                             from->xy, from->xz, from->yy, from->yz, from->zz};
            for (int k = 0; k < MOMENTS; k++) {
                m[k * L + l] = (double)values[k];
            }
            uint32_t c[3];
            pc_cells_split_key(g->keys[b * L + l], c);
            for (int k = 0; k < 3; k++) {
                corner[k * L + l] = pc_cells_corner(c[k], g->shift, g->half, t->quantum, t->origin[k], center[k]);
            }
        }
        double edge = t->quantum * (double)(1 << g->shift);
        for (int l = 0; l < L; l++) {
            pc_cells_finish(m + l, corner + l, L, t->quantum, edge, s2, &g->blocks[b], l);
        }
    }
}

PC_SIMD_FORMS_OF(finish_blocks,
                 (const pc_cells_grid *g, int32_t begin, int32_t end, const pc_cells_target *t, const double *center,
                  double s2),
                 (g, begin, end, t, center, s2))

bool pc_cells_finish_grid(const pcgpu_context *context, const pc_cells_state *s, const pc_cells_target *t,
                          const double center[3], pc_cells_grid *g) {
    int32_t chunks = (g->count + PC_CELLS_CHUNK - 1) / PC_CELLS_CHUNK, blocks = PC_CELLS_CHUNK / PC_CELLS_LANES;
    double s2 = pc_cells_noise2(t->noise, t->widening, t->quantum, g->shift);
    g->blocks = pc_buffer_take(&g->memory[PC_CELLS_BLOCKS], (size_t)chunks * (size_t)blocks * sizeof *g->blocks, false);
    if (!g->blocks) {
        return false;
    }
#pragma omp parallel for schedule(static) num_threads(context->threads) if (chunks > 32)
    for (int32_t i = 0; i < chunks; i++) {
        finish_blocks_for(s->simd)(g, i * blocks, (i + 1) * blocks, t, center, s2);
    }
    (void)context;
    return true;
}

bool pc_cells_finish_stale(const pcgpu_context *context, const pc_cells_state *s, const pc_cells_target *t,
                           const double center[3], pc_cells_grid *g) {
    const int32_t chunks = (g->count + PC_CELLS_CHUNK - 1) / PC_CELLS_CHUNK, blocks = PC_CELLS_CHUNK / PC_CELLS_LANES;
    const double s2 = pc_cells_noise2(t->noise, t->widening, t->quantum, g->shift);
    g->blocks = pc_buffer_take(&g->memory[PC_CELLS_BLOCKS], (size_t)chunks * (size_t)blocks * sizeof *g->blocks, true);
    if (!g->blocks) {
        return false;
    }
#pragma omp parallel for schedule(static, 16) num_threads(context->threads) if (chunks > 32)
    for (int32_t b = 0; b < (g->count + PC_CELLS_LANES - 1) / PC_CELLS_LANES; b++) {
        if (g->stale[b]) {
            finish_blocks_for(s->simd)(g, b, b + 1, t, center, s2);
            g->stale[b] = 0;
        }
    }
    (void)context;
    return true;
}
