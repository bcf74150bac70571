/* A grid of cells: their keys and moments in the order of their first point, and the table that finds them. */
#include "ndt_cpu.h"

#include <stdlib.h>
#include <string.h>

enum { FEWEST_BITS = 10 };

void pc_cells_free_grid(pc_cells_grid *g) {
    for (size_t i = 0; i < sizeof g->memory / sizeof g->memory[0]; i++) {
        free(g->memory[i].memory);
    }
}

/* Cells for a table of 2^bits slots, which is the faster the emptier it is. */
static int32_t room_of(int bits) {
    return (int32_t)(3u << (bits - 4));
}

static void place(pc_cells_grid *g, int32_t cell) {
    uint32_t mask = (1u << g->bits) - 1, at = pc_cells_slot(g, g->keys[cell]);
    while (g->slots[at]) {
        at = (at + 1) & mask;
    }
    g->slots[at] = (uint32_t)cell;
}

void pc_cells_place_all(pc_cells_grid *g) {
    memset(g->slots, 0, sizeof *g->slots << g->bits);
    for (int32_t i = 1; i < g->count; i++) {
        place(g, i);
    }
}

/* Room for so many cells, beside those that are there when `keep`. What memory cannot be had for changes nothing. */
static bool reserve(pc_cells_grid *g, int64_t cells, bool keep) {
    int bits = FEWEST_BITS;
    while (bits < 30 && (int64_t)room_of(bits) < cells) {
        bits++;
    }
    if (cells > room_of(bits)) {
        return false;
    }
    const size_t most = (size_t)room_of(bits);
    uint64_t *keys = pc_buffer_take(&g->memory[PC_CELLS_KEYS], most * sizeof *keys, true);
    g->keys = keys ? keys : g->keys;
    pc_cells_moments *moments = pc_buffer_take(&g->memory[PC_CELLS_MOMENTS], most * sizeof *moments, true);
    g->moments = moments ? moments : g->moments;
    uint32_t *slots = keys && moments ? pc_buffer_take(&g->memory[PC_CELLS_SLOTS], sizeof *slots << bits, false) : NULL;
    if (!slots) {
        return false;
    }
    const bool grows = g->slots != slots || g->bits != bits;
    g->slots = slots;
    g->bits = bits;
    g->capacity = (int32_t)most;
    if (keep && grows) {
        pc_cells_place_all(g);
    }
    return true;
}

bool pc_cells_reserve(pc_cells_grid *g, int64_t cells) {
    return cells <= g->capacity || reserve(g, cells, true);
}

void pc_cells_empty_grid(pc_cells_grid *g, int shift, int32_t half) {
    g->shift = shift;
    g->half = half;
    g->count = 1;
    g->keys[0] = UINT64_MAX;
    memset(&g->moments[0], 0, sizeof g->moments[0]);
    memset(g->slots, 0, sizeof *g->slots << g->bits);
}

bool pc_cells_begin_grid(pc_cells_grid *g, int shift, int32_t half, int64_t cells) {
    if (!reserve(g, cells, false)) {
        return false;
    }
    pc_cells_empty_grid(g, shift, half);
    return true;
}

/* The table grows with them. */
uint32_t pc_cells_append(pc_cells_grid *g, uint64_t key) {
    if (g->count == g->capacity && (g->bits >= 30 || !reserve(g, room_of(g->bits + 1), true))) {
        return 0;
    }
    int32_t cell = g->count++;
    g->keys[cell] = key;
    memset(&g->moments[cell], 0, sizeof g->moments[cell]);
    place(g, cell);
    return (uint32_t)cell;
}
