/* Cells that are kept from scan to scan, the target of registration to a model: a scan is added up in cells of its own,
 * as a target is, and these are added to those that are there. Only blocks in which something changed get new means and
 * weights. Cells keep the order in which they were first seen, so that the sums over them have one order. */
#include "ndt_cpu.h"

#include <stdlib.h>
#include <string.h>

enum { GRIDS = PC_CELLS_MAX_LEVELS + 1, SHIFTED = PC_CELLS_MAX_LEVELS, FIRST_CELLS = 1 << 14 };

/* The grids of a model that are in use: those of its levels, then the shifted one. */
static int grid_at(int i, int levels) {
    return i < levels ? i : SHIFTED;
}

void pc_cells_free_model(pc_cells_state *s) {
    for (int i = 0; i < GRIDS && s->model; i++) {
        pc_cells_free_grid(&s->model[i]);
    }
    free(s->model);
    s->model = NULL;
}

/* Renumbers the cells for a box that begins `by` cells later on each axis, and drops those outside it. */
static void move_grid(pc_cells_grid *g, const int64_t by[3], const float limit[3]) {
    int32_t kept = 1;
    for (int32_t i = 1; i < g->count; i++) {
        uint64_t key = g->keys[i];
        if (pc_cells_move_key(&key, by, g->shift, g->half, limit)) {
            g->keys[kept] = key;
            g->moments[kept++] = g->moments[i];
        }
    }
    g->count = kept;
    pc_cells_place_all(g);
}

/* A mark for each block that there may be; new ones are 0. */
static bool reserve_marks(pc_cells_grid *g, int64_t cells) {
    size_t before = g->memory[PC_CELLS_STALE].bytes, bytes = (size_t)cells / PC_CELLS_LANES + 1;
    const bool good = pc_buffer_take(&g->memory[PC_CELLS_STALE], bytes, true);
    g->stale = g->memory[PC_CELLS_STALE].memory;
    if (g->memory[PC_CELLS_STALE].bytes > before) {
        memset(g->stale + before, 0, g->memory[PC_CELLS_STALE].bytes - before);
    }
    return good;
}

/* All memory that adding the scan can take, so that nothing fails once the model begins to change. */
static bool reserve(pc_cells_state *s, const pc_cells_model *m) {
    const int levels = m->scan.levels;
    s->model = s->model ? s->model : calloc(GRIDS, sizeof *s->model);
    bool good = s->model;
    for (int i = 0; i <= levels && good; i++) {
        const int at = grid_at(i, levels), level = at == SHIFTED ? 0 : at;
        pc_cells_grid *g = &s->model[at];
        const pc_cells_grid *scan = at == SHIFTED ? &s->shifted : &s->level[at];
        const int64_t least = FIRST_CELLS >> level, cells = (int64_t)g->count + scan->count;
        good = pc_cells_reserve(g, cells > least ? cells : least) && reserve_marks(g, cells) &&
               pc_cells_reserve_blocks(g, cells, true);
    }
    return good;
}

static void forget(pc_cells_state *s, int levels) {
    for (int i = 0; i <= levels; i++) {
        const int at = grid_at(i, levels), level = at == SHIFTED ? 0 : at;
        pc_cells_empty_grid(&s->model[at], PC_CELLS_BITS + level, at == SHIFTED ? 1 << (PC_CELLS_BITS - 1) : 0);
    }
}

static void move(pc_cells_state *s, const pc_cells_model *m) {
    const int levels = m->scan.levels;
    for (int i = 0; i <= levels; i++) {
        const int at = grid_at(i, levels), level = at == SHIFTED ? 0 : at;
        const int64_t by[3] = {pc_cells_move_at(m->move[0], levels, level), pc_cells_move_at(m->move[1], levels, level),
                               pc_cells_move_at(m->move[2], levels, level)};
        move_grid(&s->model[at], by, m->scan.map.limit);
    }
}

/* Adds the cells of a scan, for which there is room. Where they go is found for some at a time, so that the memory
 * accesses overlap. */
static void add_cells(const pc_cells_grid *scan, pc_cells_grid *g, int64_t most) {
    enum { AT_A_TIME = 32 };
    uint32_t cells[AT_A_TIME];
    for (int32_t first = 1; first < scan->count; first += AT_A_TIME) {
        const int32_t n = scan->count - first < AT_A_TIME ? scan->count - first : AT_A_TIME;
        for (int32_t i = 0; i < n; i++) {
            __builtin_prefetch(&g->slots[pc_cells_slot(g, scan->keys[first + i])]);
        }
        for (int32_t i = 0; i < n; i++) {
            cells[i] = pc_cells_take(g, scan->keys[first + i]);
            __builtin_prefetch(&g->moments[cells[i]], 1);
        }
        for (int32_t i = 0; i < n; i++) {
            pc_cells_moments *m = &g->moments[cells[i]];
            if (m->n < most) {
                pc_cells_add_moments(m, &scan->moments[first + i], 0, 0, 0);
                g->stale[cells[i] / PC_CELLS_LANES] = 1;
            }
        }
    }
}

typedef struct adding {
    pc_cells_state *s;
    const pc_cells_model *m;
} adding;

static void add_grid(void *state, int part) {
    const adding *a = state;
    const int levels = a->m->scan.levels;
    const int at = grid_at(levels - part, levels); /* the two finest, which take longest, come near the beginning */
    const pc_cells_grid *scan = at == SHIFTED ? &a->s->shifted : &a->s->level[at];
    add_cells(scan, &a->s->model[at], pc_cells_most_at(a->m->most, at == SHIFTED ? 0 : at));
}

/* Motions are about the middle of the scan, not of the model, which may be far from it: a turn would be next to a
 * translation then, and scenes would seem to leave it open. */
static bool measure_scan(pcgpu_context *context, pc_cells_state *s, const pc_cells_model *m,
                         pc_cells_measure *measure) {
    pc_cells_find_center(&s->level[0], &m->scan, measure);
    bool good = pc_cells_finish_grid(context, s, &m->scan, measure->center, &s->level[0]);
    if (good) {
        pc_cells_find_levers(&s->level[0], measure);
    }
    return good;
}

static void finish(pcgpu_context *context, pc_cells_state *s, const pc_cells_model *m,
                   const pc_cells_measure *measure) {
    for (int i = 0; i <= m->scan.levels; i++) {
        pc_cells_grid *g = &s->model[grid_at(i, m->scan.levels)];
        if (m->renew) {
            memset(g->stale, 1, ((size_t)g->count + PC_CELLS_LANES - 1) / PC_CELLS_LANES);
        }
        pc_cells_finish_stale(context, s, &m->scan, measure->center, g);
    }
}

pcgpu_status pc_cpu_cells_model(pcgpu_context *context, const struct pc_cells_model *m, pc_cells_measure *measure) {
    pc_cells_state *s = pc_cells_state_of(context);
    pc_cells_measure found = *measure;
    const int levels = m->scan.levels;
    if (!s || !pc_cells_add_target(context, s, &m->scan) || !pc_cells_merge_levels(s, levels) ||
        (m->renew && !measure_scan(context, s, m, &found)) || !reserve(s, m)) {
        return pc_fail_memory(context, (uint64_t)m->scan.n * 128, "the cells of the model");
    }
    adding a = {s, m};
    if (m->forget || s->model[0].count == 0) {
        forget(s, levels);
    }
    if (m->move[0] != 0 || m->move[1] != 0 || m->move[2] != 0) {
        move(s, m);
    }
    pc_run_parts(context, levels + 1, add_grid, &a);
    finish(context, s, m, &found);
    found.cells = s->model[0].count - 1;
    *measure = found;
    s->on_model = true;
    return PCGPU_OK;
}
