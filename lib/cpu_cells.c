/* Registration by cells on the CPU: adds a transformed source to the cells of the target, and sums over them. */
#include "cpu_cells.h"

#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#endif

enum {
    AT_A_TIME = PC_CELLS_POINTS_AT_A_TIME,
    POINTS_A_THREAD = 16384,
    CHUNKS_A_THREAD = 16,
};

/* ---- the parts of the source ------------------------------------------------------------------------------------ */

static void take_set(const pc_cells_source *source, int which, float *memory) {
    const int64_t n = source->points[which], every = source->every[which];
    float *x = memory, *y = memory + n, *z = memory + 2 * n;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = pc_cells_pick(i, every);
        x[i] = source->x[at];
        y[i] = source->y[at];
        z[i] = source->z[at];
    }
}

/* Copies them, since every pass goes over one again. */
pcgpu_status pc_cpu_cells_source(pcgpu_context *context, const struct pc_cells_source *source) {
    pc_cells_state *s = context->cpu_cells;
    size_t bytes = 0;
    for (int i = 0; i < PC_SETS; i++) {
        bytes += source->every[i] > 1 ? 3 * (size_t)source->points[i] * sizeof(float) : 0;
    }
    float *memory = pc_buffer_take(&s->sets, bytes ? bytes : 1, false);
    if (!memory) {
        return pc_fail_memory(context, bytes, "parts of the source");
    }
    for (int i = 0; i < PC_SETS; i++) {
        const int64_t n = s->set_points[i] = source->points[i];
        const float *from[3] = {source->x, source->y, source->z};
        if (source->every[i] > 1) {
            take_set(source, i, memory);
            from[0] = memory, from[1] = memory + n, from[2] = memory + 2 * n;
            memory += 3 * n;
        }
        memcpy(s->set[i], from, sizeof from);
    }
    return PCGPU_OK;
}

/* ---- the source in cells ---------------------------------------------------------------------------------------- */

/* Running sums of coordinates, in 64 bits with overflow: what is left after a cell's corner is taken off fits. */
typedef struct running {
    uint64_t x_y[AT_A_TIME + 1], z[AT_A_TIME + 1];
} running;

PC_INLINE void run_sums(const int32_t *ux, const int32_t *uy, const int32_t *uz, int n, running *restrict r) {
    for (int i = 0; i < n; i++) {
        r->x_y[i + 1] = (uint64_t)(uint32_t)ux[i] + ((uint64_t)(uint32_t)uy[i] << 32);
        r->z[i + 1] = (uint32_t)uz[i];
    }
    uint64_t x_y = 0, z = 0;
    r->x_y[0] = r->z[0] = 0;
    for (int i = 1; i <= n; i++) {
        x_y += r->x_y[i];
        z += r->z[i];
        r->x_y[i] = x_y;
        r->z[i] = z;
    }
}

/* Adds the runs of one block of points to the cells of one grid: first where each run belongs, then the sums, so that
 * the memory accesses of the searches overlap. */
PC_INLINE void add_runs(const pc_cells_grid *g, const int32_t *ux, const int32_t *uy, const int32_t *uz, int n,
                        const running *r, uint32_t *source) {
    int32_t ends[AT_A_TIME];
    uint32_t cells[AT_A_TIME];
    const int shift = g->shift;
    const int32_t half = g->half;
    int runs = pc_cells_runs(ux, uy, uz, n, half, shift, ends);
    for (int k = 0, first = 0; k < runs; first = ends[k++]) {
        uint64_t key = pc_cells_key((uint32_t)(ux[first] + half) >> shift, (uint32_t)(uy[first] + half) >> shift,
                                    (uint32_t)(uz[first] + half) >> shift);
        cells[k] = pc_cells_find(g, key);
    }
    const uint64_t mask = ~(((uint64_t)1 << shift) - 1);
    for (int k = 0, first = 0; k < runs; first = ends[k++]) {
        uint64_t points = (uint64_t)(ends[k] - first);
        uint64_t x = ((uint64_t)(ux[first] + half) & mask) - (uint64_t)half;
        uint64_t y = ((uint64_t)(uy[first] + half) & mask) - (uint64_t)half;
        uint64_t z = ((uint64_t)(uz[first] + half) & mask) - (uint64_t)half;
        uint64_t x_y = r->x_y[ends[k]] - r->x_y[first] - points * (x + (y << 32));
        uint32_t *to = source + 4 * (size_t)cells[k];
        to[0] += (uint32_t)points;
        to[1] += (uint32_t)x_y;
        to[2] += (uint32_t)(x_y >> 32);
        to[3] += (uint32_t)(r->z[ends[k]] - r->z[first] - points * z);
    }
}

/* Of the source in all cells of a grid, up to whole lanes. */
PC_INLINE size_t values_of(const pc_cells_grid *g) {
    size_t lanes = PC_CELLS_LANES;
    return ((size_t)g->count + lanes - 1) / lanes * lanes * 4;
}

/* Adds points [begin, end) to the sums of a thread. */
PC_INLINE void add_source(const pc_cells_state *s, const pc_cells_pass *p, int64_t begin, int64_t end, int thread) {
    int32_t ux[AT_A_TIME], uy[AT_A_TIME], uz[AT_A_TIME];
    running sums;
    const float *x = s->set[p->set][0], *y = s->set[p->set][1], *z = s->set[p->set][2];
    for (int64_t i = begin; i < end; i += AT_A_TIME) {
        int n = (int)(end - i < AT_A_TIME ? end - i : AT_A_TIME);
        pc_cells_quantize_all(&p->map, x + i, y + i, z + i, n, ux, uy, uz);
        run_sums(ux, uy, uz, n, &sums);
        for (int k = 0; k < s->grid_count; k++) {
            const pc_cells_grid *g = s->grids[k];
            add_runs(g, ux, uy, uz, n, &sums, g->source + values_of(g) * (size_t)thread);
        }
    }
}

PC_SIMD_FORMS_OF(add_source, (const pc_cells_state *s, const pc_cells_pass *p, int64_t begin, int64_t end, int thread),
                 (s, p, begin, end, thread))

/* Adds the sums of the other threads to those of the first, values [begin, end). */
PC_INLINE void join(uint32_t *restrict sums, int64_t values, int threads, int64_t begin, int64_t end) {
    for (int t = 1; t < threads; t++) {
        const uint32_t *restrict other = sums + t * values;
        for (int64_t i = begin; i < end; i++) {
            sums[i] += other[i];
        }
    }
}

static int team_size(const pcgpu_context *context, int64_t work, int64_t for_one) {
#ifdef _OPENMP
    int64_t useful = work / for_one;
    return useful < 1 ? 1 : useful < context->threads ? (int)useful : context->threads;
#else
    (void)context, (void)work, (void)for_one;
    return 1;
#endif
}

pcgpu_status pc_cpu_cells_pass(pcgpu_context *context, const struct pc_cells_pass *p) {
    pc_cells_state *s = context->cpu_cells;
    const int64_t n = s->set_points[p->set];
    int team = team_size(context, n, POINTS_A_THREAD);
    s->grids[0] = s->on_model ? &s->model[p->level] : &s->level[p->level];
    s->grids[1] = s->on_model ? &s->model[PC_CELLS_MAX_LEVELS] : &s->shifted;
    s->grid_count = p->grids;
    for (int k = 0; k < s->grid_count; k++) {
        pc_cells_grid *g = s->grids[k];
        size_t bytes = values_of(g) * (size_t)team * sizeof *g->source;
        g->source = pc_buffer_take(&g->memory[PC_CELLS_SOURCE], bytes ? bytes : 1, false);
        if (!g->source) {
            return pc_fail_memory(context, bytes, "the source in cells");
        }
    }
#pragma omp parallel num_threads(team) if (team > 1)
    {
#ifdef _OPENMP
        int thread = omp_get_thread_num(), threads = omp_get_num_threads();
#else
        int thread = 0, threads = 1;
#endif
        for (int k = 0; k < s->grid_count; k++) {
            pc_cells_grid *g = s->grids[k];
            memset(g->source + values_of(g) * (size_t)thread, 0, values_of(g) * sizeof *g->source);
        }
        add_source_for(s->simd)(s, p, n * thread / threads, n * (thread + 1) / threads, thread);
#pragma omp barrier
        for (int k = 0; k < s->grid_count && threads > 1; k++) {
            int64_t values = (int64_t)values_of(s->grids[k]);
            join(s->grids[k]->source, values, threads, values * thread / threads, values * (thread + 1) / threads);
        }
    }
    for (int k = 0; k < s->grid_count; k++) {
        memset(s->grids[k]->source, 0, 4 * sizeof *s->grids[k]->source); /* of cell 0, which is none */
    }
    return PCGPU_OK;
}

/* ---- sums over cells --------------------------------------------------------------------------------------------- */

/* Adds LANES cells; their sums of the source come cell by cell. */
PC_INLINE void add_lanes(const pc_cells_step *step, const pc_cells_block *block, const uint32_t *source,
                         float *restrict sums) {
    enum { L = PC_CELLS_LANES };
    int32_t own[4][L];
    uint32_t any = 0;
    for (int l = 0; l < L; l++) {
        own[0][l] = (int32_t)source[4 * l];
        own[1][l] = (int32_t)source[4 * l + 1];
        own[2][l] = (int32_t)source[4 * l + 2];
        own[3][l] = (int32_t)source[4 * l + 3];
        any |= source[4 * l];
    }
    if (any) {
        for (int l = 0; l < L; l++) {
            pc_cells_add(step, block, l, own[0][l], own[1][l], own[2][l], own[3][l], sums + l, L);
        }
    }
}

/* One step of halving the lanes of all sums, as pc_cells_halve does those of one. */
PC_INLINE void halve_all(const double *restrict from, int half, double *restrict to) {
    for (int k = 0; k < PC_CELLS_SUMS; k++) {
        for (int l = 0; l < half; l++) {
            to[k * half + l] = from[2 * k * half + l] + from[(2 * k + 1) * half + l];
        }
    }
}

/* One chunk of cells. */
PC_INLINE void sum_chunk(const pc_cells_grid *g, const pc_cells_step *given, int32_t chunk, double *to) {
    enum { L = PC_CELLS_LANES };
    const pc_cells_step step = *given;
    float sums[PC_CELLS_SUMS * L] = {0};
    int32_t end = (chunk + 1) * PC_CELLS_CHUNK < g->count ? (chunk + 1) * PC_CELLS_CHUNK : g->count;
    for (int32_t i = chunk * PC_CELLS_CHUNK; i < end; i += L) {
        add_lanes(&step, &g->blocks[i / L], g->source + 4 * (size_t)i, sums);
    }
    double lanes[PC_CELLS_SUMS * L], halves[PC_CELLS_SUMS * L / 2];
    for (int i = 0; i < PC_CELLS_SUMS * L; i++) {
        lanes[i] = (double)sums[i];
    }
    _Static_assert(PC_CELLS_LANES == 16, "halved four times");
    halve_all(lanes, 8, halves);
    halve_all(halves, 4, lanes);
    halve_all(lanes, 2, halves);
    halve_all(halves, 1, to);
}

PC_SIMD_FORMS_OF(sum_chunk, (const pc_cells_grid *g, const pc_cells_step *given, int32_t chunk, double *to),
                 (g, given, chunk, to))

pcgpu_status pc_cpu_cells_sum(pcgpu_context *context, const struct pc_cells_step *step, double *sums) {
    pc_cells_state *s = context->cpu_cells;
    int32_t chunks[2] = {0}, all = 0;
    for (int k = 0; k < s->grid_count; k++) {
        chunks[k] = (s->grids[k]->count + PC_CELLS_CHUNK - 1) / PC_CELLS_CHUNK;
        all += chunks[k];
    }
    double *parts = pc_buffer_take(&s->chunks, ((size_t)all + 1) * PC_CELLS_SUMS * sizeof *parts, false);
    if (!parts) {
        return pc_fail_memory(context, (uint64_t)all * PC_CELLS_SUMS * 8, "the sums over cells");
    }
    int team = team_size(context, all, CHUNKS_A_THREAD);
#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
    for (int32_t i = 0; i < all; i++) {
        bool second = i >= chunks[0];
        sum_chunk_for(s->simd)(s->grids[second], step, second ? i - chunks[0] : i, parts + (size_t)i * PC_CELLS_SUMS);
    }
    (void)team;
    memset(sums, 0, PC_CELLS_SUMS * sizeof *sums);
    for (int32_t i = 0; i < all; i++) {
        for (int k = 0; k < PC_CELLS_SUMS; k++) {
            sums[k] += parts[(size_t)i * PC_CELLS_SUMS + (size_t)k];
        }
    }
    return PCGPU_OK;
}
