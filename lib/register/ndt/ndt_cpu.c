/* Method ndt on the CPU: accumulates the transformed source in the target's voxels, and takes sums over voxels. */
#include "ndt_cpu.h"

#include <stdlib.h>
#include <string.h>

enum {
    AT_A_TIME = PC_NDT_POINTS_AT_A_TIME,
    POINTS_A_THREAD = 16384,
    CHUNKS_A_THREAD = 16,
};

/* ---- the parts of the source ------------------------------------------------------------------------------------- */

static void take_set(const pc_ndt_source *source, int which, float *memory) {
    const int64_t n = source->points[which], every = source->every[which];
    float *x = memory, *y = memory + n, *z = memory + 2 * n;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = pc_pick(i, every);
        x[i] = source->x[at];
        y[i] = source->y[at];
        z[i] = source->z[at];
    }
}

/* Copies the parts, since every pass reads one again. */
pcgpu_status pc_ndt_take_source(pcgpu_context *context, pc_ndt_state *s, const pc_ndt_source *source) {
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

/* ---- the source in voxels ---------------------------------------------------------------------------------------- */

/* Prefix sums of coordinates, in 64 bits with overflow: the difference, less the voxel's corner, fits. */
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

/* Numbers of the voxels with these keys. Memory accesses of all keys overlap; few are not in their first slot. */
PC_INLINE void find_voxels(const pc_ndt_grid *g, const uint64_t *keys, int n, uint32_t *voxels) {
    uint32_t at[AT_A_TIME];
    int32_t others[AT_A_TIME];
    int count = 0;
    for (int k = 0; k < n; k++) {
        at[k] = pc_ndt_slot(g, keys[k]);
    }
    for (int k = 0; k < n; k++) {
        voxels[k] = g->slots[at[k]];
    }
    for (int k = 0; k < n; k++) {
        others[count] = k;
        count += (voxels[k] != 0) & (g->keys[voxels[k]] != keys[k]);
    }
    for (int k = 0; k < count; k++) {
        voxels[others[k]] = pc_ndt_find_from(g, keys[others[k]], at[others[k]]);
    }
}

/* Adds the runs of one block of points to the voxels of one grid: first where each run belongs, then the sums, so that
 * the memory accesses of the searches overlap. */
PC_INLINE void add_runs(const pc_ndt_grid *g, const int32_t *ux, const int32_t *uy, const int32_t *uz, int n,
                        const running *r, uint32_t *source, uint8_t *touched) {
    int32_t ends[AT_A_TIME];
    uint32_t voxels[AT_A_TIME];
    uint64_t keys[AT_A_TIME];
    const int shift = g->shift;
    const int32_t half = g->half;
    int runs = pc_ndt_runs(ux, uy, uz, n, half, shift, ends);
    for (int k = 0, first = 0; k < runs; first = ends[k++]) {
        keys[k] = pc_ndt_key((uint32_t)(ux[first] + half) >> shift, (uint32_t)(uy[first] + half) >> shift,
                             (uint32_t)(uz[first] + half) >> shift);
    }
    find_voxels(g, keys, runs, voxels);
    for (int k = 0; k < runs; k++) {
        __builtin_prefetch(source + 4 * (size_t)voxels[k], 1);
    }
    for (int k = 0; touched && k < runs; k++) {
        touched[voxels[k] / PC_NDT_LANES] = 1;
    }
    const uint64_t mask = ~(((uint64_t)1 << shift) - 1);
    for (int k = 0, first = 0; k < runs; first = ends[k++]) {
        uint64_t points = (uint64_t)(ends[k] - first);
        uint64_t x = ((uint64_t)(ux[first] + half) & mask) - (uint64_t)half;
        uint64_t y = ((uint64_t)(uy[first] + half) & mask) - (uint64_t)half;
        uint64_t z = ((uint64_t)(uz[first] + half) & mask) - (uint64_t)half;
        uint64_t x_y = r->x_y[ends[k]] - r->x_y[first] - points * (x + (y << 32));
        uint32_t *to = source + 4 * (size_t)voxels[k];
        to[0] += (uint32_t)points;
        to[1] += (uint32_t)x_y;
        to[2] += (uint32_t)(x_y >> 32);
        to[3] += (uint32_t)(r->z[ends[k]] - r->z[first] - points * z);
    }
}

/* Of the source in all voxels of a grid, up to whole blocks of lanes. */
PC_INLINE size_t blocks_of(const pc_ndt_grid *g) {
    return ((size_t)g->count + PC_NDT_LANES - 1) / PC_NDT_LANES;
}

PC_INLINE size_t values_of(const pc_ndt_grid *g) {
    return blocks_of(g) * PC_NDT_LANES * 4;
}

/* Adds points [begin, end) to the sums of a thread. */
PC_INLINE void add_source(const pc_ndt_state *s, const pc_ndt_pass *p, int64_t begin, int64_t end, int thread) {
    int32_t ux[AT_A_TIME], uy[AT_A_TIME], uz[AT_A_TIME];
    running sums;
    const float *x = s->set[p->set][0], *y = s->set[p->set][1], *z = s->set[p->set][2];
    for (int64_t i = begin; i < end; i += AT_A_TIME) {
        int n = (int)(end - i < AT_A_TIME ? end - i : AT_A_TIME);
        pc_ndt_quantize_all(&p->map, x + i, y + i, z + i, n, ux, uy, uz);
        run_sums(ux, uy, uz, n, &sums);
        for (int k = 0; k < s->grid_count; k++) {
            const pc_ndt_grid *g = s->grids[k];
            add_runs(g, ux, uy, uz, n, &sums, g->source + values_of(g) * (size_t)thread,
                     g->touched ? g->touched + blocks_of(g) * (size_t)thread : NULL);
        }
    }
}

PC_SIMD_FORMS_OF(add_source, (const pc_ndt_state *s, const pc_ndt_pass *p, int64_t begin, int64_t end, int thread),
                 (s, p, begin, end, thread))

/* Adds the sums of the other threads to those of the first, blocks [begin, end): a local map has many that none of them
 * touched. What they leave behind is zero for the next pass where only touched blocks are cleared. */
PC_INLINE void join(pc_ndt_grid *g, int threads, size_t begin, size_t end) {
    enum { VALUES = 4 * PC_NDT_LANES };
    for (int t = 1; t < threads; t++) {
        uint32_t *restrict sums = g->source, *restrict other = g->source + (size_t)t * values_of(g);
        uint8_t *touched = g->touched ? g->touched + (size_t)t * blocks_of(g) : NULL;
        for (size_t b = begin; b < end; b++) {
            if (touched && !touched[b]) {
                continue;
            }
            for (size_t i = b * VALUES; i < (b + 1) * VALUES; i++) {
                sums[i] += other[i];
            }
            if (touched) {
                g->touched[b] = 1;
            }
        }
    }
}

/* Clears the sums of a thread: all of them, or those that the last pass over a local map touched. */
static void clear_source(const pc_ndt_grid *g, int thread) {
    const size_t blocks = blocks_of(g), block = 4 * PC_NDT_LANES;
    uint32_t *source = g->source + values_of(g) * (size_t)thread;
    if (!g->touched) {
        memset(source, 0, values_of(g) * sizeof *source);
        return;
    }
    uint8_t *touched = g->touched + blocks * (size_t)thread;
    for (size_t b = 0; b < blocks; b++) {
        if (touched[b]) {
            memset(source + b * block, 0, block * sizeof *source);
            touched[b] = 0;
        }
    }
}

static int team_size(const pcgpu_context *context, int64_t work, int64_t for_one) {
    int64_t useful = work / for_one;
    return useful < 1 ? 1 : useful < context->threads ? (int)useful : context->threads;
}

/* Memory for the sums of each thread; that of a local map is zero where a pass has not been, so it is made when its
 * voxels change. */
static bool take_source(pc_ndt_grid *g, bool local_map, int team) {
    const size_t values = values_of(g) * (size_t)team, blocks = blocks_of(g) * (size_t)team;
    g->source = pc_buffer_take(&g->memory[PC_NDT_MEMORY_SOURCE], values * sizeof *g->source + 1, false);
    if (!local_map || !g->source) {
        g->touched = NULL;
        return g->source;
    }
    const bool same = g->touched && g->touched_blocks == blocks_of(g) && g->touched_team == team;
    g->touched = pc_buffer_take(&g->memory[PC_NDT_MEMORY_TOUCHED], blocks + 1, false);
    if (g->touched && !same) {
        memset(g->source, 0, values * sizeof *g->source);
        memset(g->touched, 0, blocks);
    }
    g->touched_blocks = blocks_of(g);
    g->touched_team = team;
    return g->touched;
}

/* A pass, each of `parts` with sums of its own. */
typedef struct passing {
    const pc_ndt_state *s;
    const pc_ndt_pass *pass;
    int parts;
} passing;

static void add_part(void *state, int part) {
    const passing *p = state;
    const int64_t n = p->s->set_points[p->pass->set];
    for (int k = 0; k < p->s->grid_count; k++) {
        clear_source(p->s->grids[k], part);
    }
    add_source_for(p->s->simd)(p->s, p->pass, n * part / p->parts, n * (part + 1) / p->parts, part);
}

static void join_part(void *state, int part) {
    const passing *p = state;
    for (int k = 0; k < p->s->grid_count; k++) {
        const size_t blocks = blocks_of(p->s->grids[k]), me = (size_t)part, all = (size_t)p->parts;
        join(p->s->grids[k], p->parts, blocks * me / all, blocks * (me + 1) / all);
    }
}

pcgpu_status pc_ndt_add_pass(pcgpu_context *context, pc_ndt_state *s, const pc_ndt_pass *p) {
    int team = team_size(context, s->set_points[p->set], POINTS_A_THREAD);
    s->grids[0] = s->on_local_map ? &s->local_map[p->level] : &s->level[p->level];
    s->grids[1] = s->on_local_map ? &s->local_map[PC_NDT_MAX_LEVELS] : &s->shifted;
    s->grid_count = p->grids;
    for (int k = 0; k < s->grid_count; k++) {
        if (!take_source(s->grids[k], s->on_local_map, team)) {
            return pc_fail_memory(context, values_of(s->grids[k]) * (size_t)team * 4, "the source in voxels");
        }
    }
    passing all = {s, p, team};
    pc_run_parts(context, team, add_part, &all);
    if (team > 1) {
        pc_run_parts(context, team, join_part, &all);
    }
    for (int k = 0; k < s->grid_count; k++) {
        memset(s->grids[k]->source, 0, 4 * sizeof *s->grids[k]->source); /* of voxel 0, which is none */
    }
    return PCGPU_OK;
}

/* ---- sums over voxels -------------------------------------------------------------------------------------------- */

/* Adds LANES voxels; their sums of the source come voxel by voxel. */
PC_INLINE void add_lanes(const pc_ndt_step *step, const pc_ndt_block *block, const uint32_t *source,
                         float *restrict sums) {
    enum { L = PC_NDT_LANES };
    uint32_t any = 0;
    for (int l = 0; l < L; l++) {
        any |= source[4 * l];
    }
    for (int l = 0; any && l < L; l++) {
        const uint32_t *own = source + 4 * l;
        pc_ndt_add(step, block, l, (int32_t)own[0], (int32_t)own[1], (int32_t)own[2], (int32_t)own[3], sums + l, L);
    }
}

/* One halving step for the lanes of all sums; pc_ndt_halve does it for one sum. */
PC_INLINE void halve_all(const double *restrict from, int half, double *restrict to) {
    for (int k = 0; k < PC_NDT_SUMS; k++) {
        for (int l = 0; l < half; l++) {
            to[k * half + l] = from[2 * k * half + l] + from[(2 * k + 1) * half + l];
        }
    }
}

/* One chunk of voxels. */
PC_INLINE void sum_chunk(const pc_ndt_grid *g, const pc_ndt_step *given, int32_t chunk, double *to) {
    enum { L = PC_NDT_LANES };
    const pc_ndt_step step = *given;
    float sums[PC_NDT_SUMS * L] = {0};
    int32_t end = (chunk + 1) * PC_NDT_CHUNK < g->count ? (chunk + 1) * PC_NDT_CHUNK : g->count;
    bool some = !g->touched;
    for (int32_t i = chunk * PC_NDT_CHUNK; i < end; i += L) {
        if (g->touched && !g->touched[i / L]) {
            continue;
        }
        some = true;
        add_lanes(&step, &g->blocks[i / L], g->source + 4 * (size_t)i, sums);
    }
    double lanes[PC_NDT_SUMS * L], halves[PC_NDT_SUMS * L / 2];
    if (!some) {
        memset(to, 0, PC_NDT_SUMS * sizeof *to); /* the sums of no voxels */
        return;
    }
    for (int i = 0; i < PC_NDT_SUMS * L; i++) {
        lanes[i] = (double)sums[i];
    }
    _Static_assert(PC_NDT_LANES == 16, "halved four times");
    halve_all(lanes, 8, halves);
    halve_all(halves, 4, lanes);
    halve_all(lanes, 2, halves);
    halve_all(halves, 1, to);
}

PC_SIMD_FORMS_OF(sum_chunk, (const pc_ndt_grid *g, const pc_ndt_step *given, int32_t chunk, double *to),
                 (g, given, chunk, to))

/* The sums over the chunks of the last pass, of the first grid and then of the second. */
typedef struct summing {
    const pc_ndt_state *s;
    const pc_ndt_step *step;
    int32_t first; /* chunks of the first grid */
    double *parts;
} summing;

static void sum_chunks(void *state, int64_t begin, int64_t end) {
    const summing *m = state;
    for (int64_t i = begin; i < end; i++) {
        const bool second = i >= m->first;
        sum_chunk_for(m->s->simd)(m->s->grids[second], m->step, (int32_t)i - (second ? m->first : 0),
                                  m->parts + (size_t)i * PC_NDT_SUMS);
    }
}

pcgpu_status pc_ndt_sum(pcgpu_context *context, pc_ndt_state *s, const pc_ndt_step *step, double *sums) {
    int32_t chunks[2] = {0}, all = 0;
    for (int k = 0; k < s->grid_count; k++) {
        chunks[k] = (s->grids[k]->count + PC_NDT_CHUNK - 1) / PC_NDT_CHUNK;
        all += chunks[k];
    }
    double *parts = pc_buffer_take(&s->chunks, ((size_t)all + 1) * PC_NDT_SUMS * sizeof *parts, false);
    if (!parts) {
        return pc_fail_memory(context, (uint64_t)all * PC_NDT_SUMS * 8, "the sums over voxels");
    }
    summing m = {s, step, chunks[0], parts};
    pc_run_ranges(context, all, all < 2 * CHUNKS_A_THREAD ? all : CHUNKS_A_THREAD / 2, sum_chunks, &m);
    memset(sums, 0, PC_NDT_SUMS * sizeof *sums);
    for (int32_t i = 0; i < all; i++) {
        for (int k = 0; k < PC_NDT_SUMS; k++) {
            sums[k] += parts[(size_t)i * PC_NDT_SUMS + (size_t)k];
        }
    }
    return PCGPU_OK;
}
