/* A grid of voxels: keys and moments in the order of their first points, and the hash table of the keys. */
#include "ndt_cpu.h"

#include <stdlib.h>
#include <string.h>

enum { FEWEST_BITS = 10 };

void pc_ndt_free_grid(pc_ndt_grid *g) {
    for (size_t i = 0; i < sizeof g->memory / sizeof g->memory[0]; i++) {
        pc_buffer_free(&g->memory[i]);
    }
}

/* Voxels for a table of 2^bits slots, which is the faster the emptier it is. */
static int32_t capacity_of(int bits) {
    return (int32_t)(3u << (bits - 4));
}

static void place(pc_ndt_grid *g, int32_t voxel) {
    uint32_t mask = (1u << g->bits) - 1, at = pc_ndt_slot(g, g->keys[voxel]);
    while (g->slots[at]) {
        at = (at + 1) & mask;
    }
    g->slots[at] = (uint32_t)voxel;
}

void pc_ndt_place_all(pc_ndt_grid *g) {
    memset(g->slots, 0, sizeof *g->slots << g->bits);
    for (int32_t i = 1; i < g->count; i++) {
        place(g, i);
    }
}

/* Capacity for so many voxels; `keep` keeps those that are there. The grid is unchanged when memory is short. */
static bool reserve(pc_ndt_grid *g, int64_t voxels, bool keep) {
    int bits = FEWEST_BITS;
    while (bits < 30 && (int64_t)capacity_of(bits) < voxels) {
        bits++;
    }
    if (voxels > capacity_of(bits)) {
        return false;
    }
    const size_t most = (size_t)capacity_of(bits);
    uint64_t *keys = pc_buffer_take(&g->memory[PC_NDT_MEMORY_KEYS], most * sizeof *keys, true);
    g->keys = keys ? keys : g->keys;
    pc_ndt_moments *moments = pc_buffer_take(&g->memory[PC_NDT_MEMORY_MOMENTS], most * sizeof *moments, true);
    g->moments = moments ? moments : g->moments;
    uint32_t *slots =
        keys && moments ? pc_buffer_take(&g->memory[PC_NDT_MEMORY_SLOTS], sizeof *slots << bits, false) : NULL;
    if (!slots) {
        return false;
    }
    const bool grows = g->slots != slots || g->bits != bits;
    g->slots = slots;
    g->bits = bits;
    g->capacity = (int32_t)most;
    if (keep && grows) {
        pc_ndt_place_all(g);
    }
    return true;
}

bool pc_ndt_reserve(pc_ndt_grid *g, int64_t voxels) {
    return voxels <= g->capacity || reserve(g, voxels, true);
}

void pc_ndt_empty_grid(pc_ndt_grid *g, int shift, int32_t half) {
    g->shift = shift;
    g->half = half;
    g->count = 1;
    g->keys[0] = UINT64_MAX;
    memset(&g->moments[0], 0, sizeof g->moments[0]);
    memset(g->slots, 0, sizeof *g->slots << g->bits);
}

bool pc_ndt_begin_grid(pc_ndt_grid *g, int shift, int32_t half, int64_t voxels) {
    if (!reserve(g, voxels, false)) {
        return false;
    }
    pc_ndt_empty_grid(g, shift, half);
    return true;
}

/* The table grows with them. */
uint32_t pc_ndt_append(pc_ndt_grid *g, uint64_t key) {
    if (g->count == g->capacity && (g->bits >= 30 || !reserve(g, capacity_of(g->bits + 1), true))) {
        return 0;
    }
    int32_t voxel = g->count++;
    g->keys[voxel] = key;
    memset(&g->moments[voxel], 0, sizeof g->moments[voxel]);
    place(g, voxel);
    return (uint32_t)voxel;
}
