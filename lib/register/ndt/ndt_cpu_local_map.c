/* Local map: voxels that persist from scan to scan and are the target of registration. A scan is accumulated in voxels
 * of its own, as a target is, and these are merged into the map. Only voxels that changed get new means and weights.
 * Voxels keep the order in which they were first seen, so that the sums over them have one order. */
#include "ndt_cpu.h"

#include <stdlib.h>
#include <string.h>

enum { GRIDS = PC_NDT_MAX_LEVELS + 1, SHIFTED = PC_NDT_MAX_LEVELS, FIRST_VOXELS = 1 << 14 };

/* The grids of a local map that are in use: those of its levels, then the shifted one. */
static int grid_at(int i, int levels) {
    return i < levels ? i : SHIFTED;
}

static void free_grids(pc_ndt_grid **grids) {
    for (int i = 0; i < GRIDS && *grids; i++) {
        pc_ndt_free_grid(&(*grids)[i]);
    }
    free(*grids);
    *grids = NULL;
}

void pc_ndt_free_local_map(pc_ndt_state *s) {
    free_grids(&s->local_map);
    free_grids(&s->kept);
}

/* Renumbers the voxels for a box that begins `by` voxels later on each axis, and drops those outside it. */
static void move_grid(pc_ndt_grid *g, const int64_t by[3], const float limit[3]) {
    int32_t kept = 1;
    for (int32_t i = 1; i < g->count; i++) {
        uint64_t key = g->keys[i];
        if (pc_ndt_move_key(&key, by, g->shift, g->half, limit)) {
            g->keys[kept] = key;
            g->moments[kept++] = g->moments[i];
        }
    }
    g->count = kept;
    pc_ndt_place_all(g);
}

/* Stale lanes of each block of the capacity; new ones are none. */
static bool reserve_marks(pc_ndt_grid *g, int64_t voxels) {
    size_t before = g->memory[PC_NDT_MEMORY_STALE].bytes,
           bytes = ((size_t)voxels / PC_NDT_LANES + 1) * sizeof *g->stale;
    const bool good = pc_buffer_take(&g->memory[PC_NDT_MEMORY_STALE], bytes, true);
    g->stale = g->memory[PC_NDT_MEMORY_STALE].memory;
    if (g->memory[PC_NDT_MEMORY_STALE].bytes > before) {
        memset((char *)g->stale + before, 0, g->memory[PC_NDT_MEMORY_STALE].bytes - before);
    }
    return good;
}

/* Reserves all memory that the merge can need, so that nothing fails once the local map begins to change. */
static bool reserve(pc_ndt_state *s, const pc_ndt_merge *m) {
    const int levels = m->scan.levels;
    s->local_map = s->local_map ? s->local_map : calloc(GRIDS, sizeof *s->local_map);
    bool good = s->local_map;
    for (int i = 0; i <= levels && good; i++) {
        const int at = grid_at(i, levels), level = at == SHIFTED ? 0 : at;
        pc_ndt_grid *g = &s->local_map[at];
        const pc_ndt_grid *scan = at == SHIFTED ? &s->shifted : &s->level[at];
        const int64_t least = FIRST_VOXELS >> level, voxels = (int64_t)g->count + scan->count;
        good = pc_ndt_reserve(g, voxels > least ? voxels : least) && reserve_marks(g, voxels) &&
               pc_ndt_reserve_blocks(g, voxels, true);
    }
    return good;
}

static void forget(pc_ndt_state *s, int levels) {
    for (int i = 0; i <= levels; i++) {
        const int at = grid_at(i, levels), level = at == SHIFTED ? 0 : at;
        pc_ndt_empty_grid(&s->local_map[at], PC_NDT_BITS + level, at == SHIFTED ? 1 << (PC_NDT_BITS - 1) : 0);
    }
}

static void move(pc_ndt_state *s, const pc_ndt_merge *m) {
    const int levels = m->scan.levels;
    for (int i = 0; i <= levels; i++) {
        const int at = grid_at(i, levels), level = at == SHIFTED ? 0 : at;
        const int64_t by[3] = {pc_ndt_move_at(m->move[0], levels, level), pc_ndt_move_at(m->move[1], levels, level),
                               pc_ndt_move_at(m->move[2], levels, level)};
        move_grid(&s->local_map[at], by, m->scan.map.limit);
    }
}

/* Merges the voxels of a scan; the capacity has been reserved. Slots are looked up several at a time, so that memory
 * accesses overlap. */
static void add_voxels(const pc_ndt_grid *scan, pc_ndt_grid *g, int64_t most) {
    enum { AT_A_TIME = 32 };
    uint32_t voxels[AT_A_TIME];
    for (int32_t first = 1; first < scan->count; first += AT_A_TIME) {
        const int32_t n = scan->count - first < AT_A_TIME ? scan->count - first : AT_A_TIME;
        for (int32_t i = 0; i < n; i++) {
            __builtin_prefetch(&g->slots[pc_ndt_slot(g, scan->keys[first + i])]);
        }
        for (int32_t i = 0; i < n; i++) {
            voxels[i] = pc_ndt_take(g, scan->keys[first + i]);
            __builtin_prefetch(&g->moments[voxels[i]], 1);
        }
        for (int32_t i = 0; i < n; i++) {
            pc_ndt_moments *m = &g->moments[voxels[i]];
            if (m->n < most) {
                pc_ndt_add_moments(m, &scan->moments[first + i], 0, 0, 0);
                g->stale[voxels[i] / PC_NDT_LANES] |= (uint16_t)(1u << voxels[i] % PC_NDT_LANES);
            }
        }
    }
}

typedef struct adding {
    pc_ndt_state *s;
    const pc_ndt_merge *m;
} adding;

static void add_grid(void *state, int part) {
    const adding *a = state;
    const int levels = a->m->scan.levels;
    const int at = grid_at(levels - part, levels); /* the two finest, which take longest, come near the beginning */
    const pc_ndt_grid *scan = at == SHIFTED ? &a->s->shifted : &a->s->level[at];
    add_voxels(scan, &a->s->local_map[at], pc_ndt_most_at(a->m->most, at == SHIFTED ? 0 : at));
}

/* Rotations are about the centroid of the scan, not of the local map, which may be far away: a rotation would then be
 * nearly a translation, and geometry would seem degenerate. */
static bool measure_scan(pcgpu_context *context, pc_ndt_state *s, const pc_ndt_merge *m, pc_ndt_measure *measure) {
    pc_ndt_find_center(&s->level[0], &m->scan, measure);
    bool good = pc_ndt_finish_grid(context, s, &m->scan, measure->center, &s->level[0], NULL);
    if (good) {
        pc_ndt_find_gyration(&s->level[0], measure);
    }
    return good;
}

/* From wide levels to fine ones: a voxel may take the normal of its parent, as it is now. */
static void finish(pcgpu_context *context, pc_ndt_state *s, const pc_ndt_merge *m, const pc_ndt_measure *measure) {
    const int levels = m->scan.levels;
    for (int i = levels - 1; i >= -1; i--) {
        const int parent = i < 0 ? 1 : i + 1;
        pc_ndt_grid *g = &s->local_map[i < 0 ? SHIFTED : i];
        if (m->renew) {
            memset(g->stale, 0xff, ((size_t)g->count + PC_NDT_LANES - 1) / PC_NDT_LANES * sizeof *g->stale);
        }
        pc_ndt_finish_stale(context, s, &m->scan, measure->center, g, parent < levels ? &s->local_map[parent] : NULL);
    }
}

pcgpu_status pc_ndt_merge_scan(pcgpu_context *context, pc_ndt_state *s, const pc_ndt_merge *m,
                               pc_ndt_measure *measure) {
    pc_ndt_measure found = *measure;
    const int levels = m->scan.levels;
    if (!pc_ndt_add_target(context, s, &m->scan) || !pc_ndt_merge_levels(s, levels) ||
        (m->renew && !measure_scan(context, s, m, &found)) || !reserve(s, m)) {
        return pc_fail_memory(context, (uint64_t)m->scan.n * 128, "the voxels of the model");
    }
    adding a = {s, m};
    if (m->forget || s->local_map[0].count == 0) {
        forget(s, levels);
    }
    if (m->move[0] != 0 || m->move[1] != 0 || m->move[2] != 0) {
        move(s, m);
    }
    pc_run_parts(context, levels + 1, add_grid, &a);
    finish(context, s, m, &found);
    found.voxels = s->local_map[0].count - 1;
    *measure = found;
    s->on_local_map = true;
    return PCGPU_OK;
}

/* ---- a map that is cut from another one -------------------------------------------------------------------------- */

void pc_ndt_keep(pc_ndt_state *s) {
    static const int rest[] = {PC_NDT_MEMORY_SLOTS, PC_NDT_MEMORY_BLOCKS, PC_NDT_MEMORY_SOURCE, PC_NDT_MEMORY_STALE,
                               PC_NDT_MEMORY_TOUCHED};
    free_grids(&s->kept);
    s->kept = s->local_map;
    s->local_map = NULL;
    for (int i = 0; i < GRIDS && s->kept; i++) {
        for (size_t k = 0; k < sizeof rest / sizeof rest[0]; k++) {
            pc_buffer_free(&s->kept[i].memory[rest[k]]);
        }
    }
}

typedef struct cutting {
    pc_ndt_state *s;
    const pc_ndt_merge *m;
    bool failed[GRIDS];
} cutting;

/* Cuts one grid. Its voxels are counted first, so that the memory is that of the box and not of the whole. */
static void cut_grid(void *state, int part) {
    cutting *c = state;
    const pc_ndt_target *box = &c->m->scan;
    const int levels = box->levels, at = grid_at(levels - part, levels), level = at == SHIFTED ? 0 : at;
    const pc_ndt_grid *from = &c->s->kept[at];
    pc_ndt_grid *to = &c->s->local_map[at];
    int64_t by[3], count = 1;
    for (int k = 0; k < 3; k++) {
        by[k] = pc_ndt_move_at(c->m->move[k], levels, level);
    }
    for (int32_t i = 1; i < from->count; i++) {
        uint64_t key = from->keys[i];
        count += pc_ndt_move_key(&key, by, from->shift, from->half, box->map.limit);
    }
    c->failed[part] = !pc_ndt_reserve(to, count > FIRST_VOXELS >> level ? count : FIRST_VOXELS >> level) ||
                      !reserve_marks(to, count) || !pc_ndt_reserve_blocks(to, count, false);
    if (c->failed[part]) {
        return;
    }
    pc_ndt_empty_grid(to, from->shift, from->half);
    for (int32_t i = 1; i < from->count; i++) {
        uint64_t key = from->keys[i];
        if (pc_ndt_move_key(&key, by, from->shift, from->half, box->map.limit)) {
            to->keys[to->count] = key;
            to->moments[to->count++] = from->moments[i];
        }
    }
    pc_ndt_place_all(to);
}

pcgpu_status pc_ndt_cut(pcgpu_context *context, pc_ndt_state *s, const pc_ndt_merge *m, pc_ndt_measure *measure) {
    cutting c = {.s = s, .m = m};
    bool failed = false;
    s->on_local_map = false;
    s->local_map = s->local_map ? s->local_map : calloc(GRIDS, sizeof *s->local_map);
    if (s->local_map) {
        pc_run_parts(context, m->scan.levels + 1, cut_grid, &c);
    }
    for (int i = 0; i <= m->scan.levels; i++) {
        failed = failed || c.failed[i];
    }
    if (!s->local_map || failed) {
        return pc_fail_memory(context, (uint64_t)s->kept[0].count * 256, "the voxels of the map");
    }
    const pc_ndt_merge all = {.scan = m->scan, .renew = true};
    finish(context, s, &all, measure);
    measure->voxels = s->local_map[0].count - 1;
    s->on_local_map = true;
    return PCGPU_OK;
}
