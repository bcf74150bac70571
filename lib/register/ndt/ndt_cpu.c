/* Method ndt on the CPU: accumulates the transformed source in the target's voxels, and takes sums over voxels. */
#include "ndt_cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    AT_A_TIME = PC_NDT_POINTS_AT_A_TIME,
    POINTS_A_THREAD = 2048,
    MOST_THREADS = 16, /* of a pass: each has sums of its own */
    CHUNKS_A_THREAD = 16,
    SECTORS = 32,
};

/* ---- the parts of the source ------------------------------------------------------------------------------------- */

static void take_set(const pc_ndt_source *source, int which, float *const to[3]) {
    const int64_t n = source->points[which], every = source->every[which];
    for (int64_t i = 0; i < n; i++) {
        int64_t at = pc_pick(i, every);
        to[0][i] = source->x[at];
        to[1][i] = source->y[at];
        to[2][i] = source->z[at];
    }
}

/* A number that rises with the direction of (x, y), below SECTORS; of no number some sector. */
PC_INLINE int sector_of(float x, float y) {
    const float sum = fabsf(x) + fabsf(y), t = sum > 0.0f ? y / sum : 0.0f, turned = x >= 0.0f ? 1.0f + t : 3.0f - t;
    const int sector = (int)(turned * (SECTORS / 4.0f));
    return sector & (SECTORS - 1);
}

/* The same as take_set, by sectors: threads that take one part after the other add to few voxels in common. The sums
 * are of integers, so their order says nothing. */
static void take_sectors(const pc_ndt_source *source, int which, float *const to[3]) {
    const int64_t n = source->points[which], every = source->every[which];
    int64_t next[SECTORS + 1] = {0};
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = pc_pick(i, every);
        next[sector_of(source->x[at], source->y[at]) + 1]++;
    }
    for (int k = 0; k < SECTORS; k++) {
        next[k + 1] += next[k];
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = pc_pick(i, every), place = next[sector_of(source->x[at], source->y[at])]++;
        to[0][place] = source->x[at];
        to[1][place] = source->y[at];
        to[2][place] = source->z[at];
    }
}

/* Threads of a pass over so many points. */
static int threads_for(const pcgpu_context *context, int64_t points) {
    const int most = context->threads < MOST_THREADS ? context->threads : MOST_THREADS;
    const int64_t useful = points / POINTS_A_THREAD;
    return useful < 1 ? 1 : useful < most ? (int)useful : most;
}

/* Copies the parts, since every pass reads one again. */
pcgpu_status pc_ndt_take_source(pcgpu_context *context, pc_ndt_state *s, const pc_ndt_source *source) {
    size_t values = 0;
    for (int i = 0; i < PC_SETS; i++) {
        values += 3 * (size_t)source->points[i];
    }
    float *memory = pc_buffer_take(&s->sets, values * sizeof *memory + 1, false);
    if (!memory) {
        return pc_fail_memory(context, values * sizeof *memory, "parts of the source");
    }
    for (int i = 0; i < PC_SETS; i++) {
        const int64_t n = s->set_points[i] = source->points[i];
        const bool sectors = threads_for(context, n) > 1, copied = sectors || source->every[i] > 1;
        float *const to[3] = {memory, memory + n, memory + 2 * n};
        if (copied) {
            (sectors ? take_sectors : take_set)(source, i, to);
            memory += 3 * n;
        }
        for (int k = 0; k < 3; k++) {
            s->set[i][k] = copied ? to[k] : k == 0 ? source->x : k == 1 ? source->y : source->z;
        }
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
    for (int k = 0; k < runs; k++) {
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

enum { VALUES = 4 * PC_NDT_LANES }; /* of a block */

/* The sums of a thread, and the blocks that it has added to since it cleared them. */
PC_INLINE uint32_t *sums_of(const pc_ndt_grid *g, int thread) {
    return g->source + g->source_blocks * VALUES * (size_t)thread;
}
PC_INLINE uint8_t *touched_by(const pc_ndt_grid *g, int thread) {
    return g->touched + g->source_blocks * (size_t)thread;
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
            add_runs(g, ux, uy, uz, n, &sums, sums_of(g, thread), touched_by(g, thread));
        }
    }
}

PC_SIMD_FORMS_OF(add_source, (const pc_ndt_state *s, const pc_ndt_pass *p, int64_t begin, int64_t end, int thread),
                 (s, p, begin, end, thread))

/* Clears the sums of a thread that the last pass touched. */
static void clear_source(const pc_ndt_grid *g, int thread) {
    uint32_t *sums = sums_of(g, thread);
    uint8_t *touched = touched_by(g, thread);
    for (size_t b = 0, blocks = blocks_of(g); b < blocks; b++) {
        if (touched[b]) {
            memset(sums + b * VALUES, 0, VALUES * sizeof *sums);
            touched[b] = 0;
        }
    }
}

/* Memory for the sums of each thread, zero where a pass has not been. It grows in steps, since a local map grows with
 * each scan. */
static bool take_source(pc_ndt_grid *g, int threads) {
    const size_t blocks = blocks_of(g);
    if (g->source && blocks <= g->source_blocks && threads <= g->source_threads) {
        return true;
    }
    const size_t spare = g->source_blocks > 0 ? blocks / 2 : 0; /* of what has grown before */
    const size_t most = blocks <= g->source_blocks ? g->source_blocks : blocks + spare;
    const int team = threads <= g->source_threads ? g->source_threads : threads;
    const size_t values = most * VALUES * (size_t)team, flags = most * (size_t)team;
    uint32_t *source = pc_buffer_take(&g->memory[PC_NDT_MEMORY_SOURCE], values * sizeof *source, false);
    uint8_t *touched = source ? pc_buffer_take(&g->memory[PC_NDT_MEMORY_TOUCHED], flags, false) : NULL;
    g->source = touched ? source : NULL;
    if (touched) {
        memset(source, 0, values * sizeof *source);
        memset(touched, 0, flags);
        g->touched = touched;
        g->source_blocks = most;
        g->source_threads = team;
    }
    return touched;
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
    for (int k = 0; k < p->s->grid_count; k++) {
        memset(sums_of(p->s->grids[k], part), 0, 4 * sizeof(uint32_t)); /* of voxel 0, which is none */
    }
}

pcgpu_status pc_ndt_add_pass(pcgpu_context *context, pc_ndt_state *s, const pc_ndt_pass *p) {
    const int team = threads_for(context, s->set_points[p->set]);
    s->grids[0] = s->on_local_map ? &s->local_map[p->level] : &s->level[p->level];
    s->grids[1] = s->on_local_map ? &s->local_map[PC_NDT_MAX_LEVELS] : &s->shifted;
    s->grid_count = p->grids;
    for (int k = 0; k < s->grid_count; k++) {
        if (!take_source(s->grids[k], team)) {
            return pc_fail_memory(context, blocks_of(s->grids[k]) * VALUES * (size_t)team * 4, "the source in voxels");
        }
    }
    passing all = {s, p, team};
    pc_run_parts(context, team, add_part, &all);
    s->apart = team;
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

/* Adds the sums of the other threads to those of the first, blocks [begin, end). */
PC_INLINE void join(const pc_ndt_grid *g, int threads, size_t begin, size_t end) {
    uint8_t *touched = touched_by(g, 0);
    for (int t = 1; t < threads; t++) {
        uint32_t *restrict sums = sums_of(g, 0);
        const uint32_t *restrict other = sums_of(g, t);
        const uint8_t *by = touched_by(g, t);
        for (size_t b = begin; b < end; b++) {
            if (by[b]) {
                touched[b] = 1;
                for (size_t i = b * VALUES; i < (b + 1) * VALUES; i++) {
                    sums[i] += other[i];
                }
            }
        }
    }
}

/* One chunk of voxels, whose sums are apart in so many threads. */
PC_INLINE void sum_chunk(const pc_ndt_grid *g, const pc_ndt_step *given, int32_t chunk, int apart, double *to) {
    enum { L = PC_NDT_LANES };
    const pc_ndt_step step = *given;
    float sums[PC_NDT_SUMS * L] = {0};
    int32_t end = (chunk + 1) * PC_NDT_CHUNK < g->count ? (chunk + 1) * PC_NDT_CHUNK : g->count;
    bool some = false;
    join(g, apart, (size_t)chunk * PC_NDT_CHUNK / L, ((size_t)end + L - 1) / L);
    for (int32_t i = chunk * PC_NDT_CHUNK; i < end; i += L) {
        if (!g->touched[i / L]) {
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

PC_SIMD_FORMS_OF(sum_chunk, (const pc_ndt_grid *g, const pc_ndt_step *given, int32_t chunk, int apart, double *to),
                 (g, given, chunk, apart, to))

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
        sum_chunk_for(m->s->simd)(m->s->grids[second], m->step, (int32_t)i - (second ? m->first : 0), m->s->apart,
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
    s->apart = 1;
    memset(sums, 0, PC_NDT_SUMS * sizeof *sums);
    for (int32_t i = 0; i < all; i++) {
        for (int k = 0; k < PC_NDT_SUMS; k++) {
            sums[k] += parts[(size_t)i * PC_NDT_SUMS + (size_t)k];
        }
    }
    return PCGPU_OK;
}
