/* Maps: an existing map that scans extend, and what has changed since it was made. See pcgpu_map_into.
 *
 * The points of that map are the one scan of a map of their own, whose tiles go to its file when memory is short. When
 * the map is finished, all that is left of them is a sorted list of voxels, four bytes each. */
#include "map.h"

#include <string.h>

enum {
    PIECE = 1 << 20, /* points that are added at a time */
    SQUARE_BITS = 3, /* a square, seen from above, is 8 voxels a side */
    COVERED = 32,    /* of its 64 columns have points where the existing map covers it */
    BESIDE = 3,      /* voxels beside one that appeared in which the existing map has no point */
    LEAST_SEEN = 3,  /* scans with a point in a voxel that appeared */
    APPEARED = 1,    /* values of the column */
    DISAPPEARED = 2,
    SIDE_SQUARES = PC_MAP_SIDE >> SQUARE_BITS,
    SQUARES = SIDE_SQUARES * SIDE_SQUARES
};

#define KEY  0xffffffu  /* of a voxel in its tile */
#define GONE (1u << 31) /* a voxel that was seen through */

pcgpu_status pcgpu_map_into(pcgpu_map *m, const pcgpu_cloud *into) {
    pcgpu_map_params params = m->stats.params;
    const double *o = into->offset, T[16] = {1, 0, 0, o[0], 0, 1, 0, o[1], 0, 0, 1, o[2], 0, 0, 0, 1};
    pcgpu_cloud piece = {.columns = into->columns};
    if (m->stats.scans > 0 || m->into.map || m->finished) {
        return pc_fail(m->context, PCGPU_ERROR_ARGUMENT,
                       "an existing map comes before the first scan, once; open another map");
    }
    params.keep_moving = true;
    params.drop_origin = false;
    params.memory = params.memory / 2 > 1 << 20 ? params.memory / 2 : params.memory;
    PC_TRY(pcgpu_map_open(m->context, &params, &m->into.map));
    m->stats.params.memory = params.memory;
    m->into.cloud = into;
    for (int64_t begin = 0; begin < into->rows; begin += PIECE) {
        piece.data = into->data + begin * into->columns;
        piece.rows = into->rows - begin < PIECE ? into->rows - begin : PIECE;
        PC_TRY(pcgpu_map_add(m->into.map, &piece, T));
    }
    m->stats.kept = into->rows;
    return PCGPU_OK;
}

/* ---- the existing map -------------------------------------------------------------------------------------------- */

/* The mean point of a voxel, from the offset of the existing map. */
static void mean_point(const pcgpu_map *m, const pc_map_tile *tile, const pc_map_voxels *v, int64_t i, float point[3]) {
    const double side = PC_MAP_SIDE * m->stats.params.voxel;
    for (int k = 0; k < 3; k++) {
        point[k] = (float)((double)tile->at[k] * side + (double)v->at[k][i] - m->into.cloud->offset[k]);
    }
}

static uint64_t *square_of(const pc_map_into *into, int64_t tile, uint32_t x, uint32_t y) {
    return &into->squares[tile * SQUARES + (y >> SQUARE_BITS) * SIDE_SQUARES + (x >> SQUARE_BITS)];
}

/* Appends the voxels of a tile to the lists. */
static pcgpu_status list_voxels(pcgpu_map *m, int64_t t, const pc_map_voxels *v) {
    pc_map_into *into = &m->into;
    const pc_map_tile *tile = &into->map->tiles.tiles[t];
    const size_t keys = (size_t)(into->first[t] + v->count);
    int64_t moved = 0;
    for (int64_t i = 0; i < v->count; i++) {
        moved += v->moved[i];
    }
    const size_t gone = (size_t)(into->gone_count + moved + 1) * sizeof *into->gone;
    into->keys = pc_buffer_take(&into->memory[2], (keys + 1) * sizeof *into->keys, true);
    into->gone = pc_buffer_take(&into->memory[3], gone, true);
    if (!into->keys || !into->gone) {
        return pc_fail_memory(m->context, (uint64_t)keys * sizeof *into->keys, "the voxels of the existing map");
    }
    for (int64_t i = 0; i < v->count; i++) {
        const uint32_t key = v->voxels[i].key, x = key & (PC_MAP_SIDE - 1),
                       y = key >> PC_MAP_SIDE_BITS & (PC_MAP_SIDE - 1);
        const int column = (int)((y % 8) << SQUARE_BITS | x % 8);
        into->keys[into->first[t] + i] = v->moved[i] ? key | GONE : key;
        *square_of(into, t, x, y) |= (uint64_t)1 << column;
        if (v->moved[i]) {
            pc_map_gone *to = &into->gone[into->gone_count++];
            to->key = into->first[t] + i;
            mean_point(m, tile, v, i, to->point);
        }
    }
    into->first[t + 1] = (int64_t)keys;
    return PCGPU_OK;
}

pcgpu_status pc_map_into_list(pcgpu_map *m) {
    pc_map_into *into = &m->into;
    const size_t tiles = (size_t)into->map->tiles.count + 1;
    pc_map_voxels v = {0};
    pcgpu_status status = PCGPU_OK;
    into->first = pc_buffer_take(&into->memory[0], (tiles + 1) * sizeof *into->first, false);
    into->squares = pc_buffer_take(&into->memory[1], tiles * SQUARES * sizeof *into->squares, false);
    if (!into->first || !into->squares) {
        return pc_fail_memory(m->context, tiles * SQUARES * sizeof *into->squares, "the squares of the existing map");
    }
    into->first[0] = 0;
    memset(into->squares, 0, tiles * SQUARES * sizeof *into->squares);
    for (int64_t t = 0; t < into->map->tiles.count; t++) {
        pc_map_tile *tile = &into->map->tiles.tiles[t];
        const bool seen = pc_map_is_seen(m, tile);
        PC_TRY_OR(done, status, pc_map_voxels_of(into->map, tile, seen, &v));
        pc_map_tile_empty(tile);
        if (seen) {
            PC_TRY_OR(done, status, pc_map_find_moved(m, tile, (uint32_t)t + 1, &v));
        }
        PC_TRY_OR(done, status, list_voxels(m, t, &v));
    }
done:
    pc_map_voxels_free(&v);
    return status;
}

/* ---- the voxels of the scans ------------------------------------------------------------------------------------- */

/* The place of a voxel in the list, by its tile and coordinates there, which may be those of the next tile; or -1. */
static int64_t find_voxel(const pc_map_into *into, const pc_map_tile *tile, const int at[3]) {
    int32_t there[3];
    uint32_t key = 0;
    for (int k = 2; k >= 0; k--) {
        const int next = at[k] < 0 ? -1 : at[k] >= PC_MAP_SIDE;
        there[k] = tile->at[k] + next;
        key = key << PC_MAP_SIDE_BITS | (uint32_t)(at[k] - next * PC_MAP_SIDE);
    }
    const int32_t t = pc_map_tile_find(&into->map->tiles, there);
    int64_t low = t < 0 ? 0 : into->first[t], high = t < 0 ? 0 : into->first[t + 1], end = high;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const bool below = (into->keys[middle] & KEY) < key;
        low = below ? middle + 1 : low;
        high = below ? high : middle;
    }
    return low < end && (into->keys[low] & KEY) == key ? low : -1;
}

/* Whether the existing map has points in enough columns of the square of a voxel, at any height up to a tile away. */
static bool is_covered(const pc_map_into *into, const pc_map_tile *tile, const int at[3]) {
    uint64_t columns = 0;
    for (int dz = -1; dz <= 1; dz++) {
        const int32_t there[3] = {tile->at[0], tile->at[1], tile->at[2] + dz};
        const int32_t t = pc_map_tile_find(&into->map->tiles, there);
        columns |= t < 0 ? 0 : *square_of(into, t, (uint32_t)at[0], (uint32_t)at[1]);
    }
    return __builtin_popcountll(columns) >= COVERED;
}

/* Whether the existing map has a point beside a voxel, as on ground between two rings. */
static bool has_point_near(const pc_map_into *into, const pc_map_tile *tile, const int at[3]) {
    enum { SIDE = 2 * BESIDE + 1 };
    bool has = false;
    for (int i = 0; i < 3 * SIDE * SIDE && !has; i++) {
        const int near[3] = {at[0] + i % SIDE - BESIDE, at[1] + i / SIDE % SIDE - BESIDE,
                             at[2] + i / (SIDE * SIDE) - 1};
        has = find_voxel(into, tile, near) >= 0;
    }
    return has;
}

static pcgpu_status add_change(pcgpu_map *m, const float point[3], int change) {
    pcgpu_cloud *c = &m->into.changes;
    const size_t bytes = 4 * ((size_t)c->rows + 1) * sizeof *c->data;
    c->data = pc_buffer_take(&m->into.memory[4], bytes, true);
    if (!c->data) {
        return pc_fail_memory(m->context, bytes, "the changes");
    }
    memcpy(c->data + 4 * c->rows, point, 3 * sizeof *point);
    c->data[4 * c->rows++ + 3] = (float)change;
    return PCGPU_OK;
}

pcgpu_status pc_map_into_compare(pcgpu_map *m, const pc_map_tile *tile, pc_map_voxels *v) {
    pc_map_into *into = &m->into;
    for (int64_t i = 0; i < v->count; i++) {
        const uint32_t key = v->voxels[i].key;
        const int at[3] = {(int)(key & (PC_MAP_SIDE - 1)), (int)(key >> PC_MAP_SIDE_BITS & (PC_MAP_SIDE - 1)),
                           (int)(key >> 2 * PC_MAP_SIDE_BITS)};
        const int64_t there = find_voxel(into, tile, at);
        if (there >= 0) {
            into->keys[there] &= v->moved[i] ? ~0u : ~GONE;
            v->moved[i] |= PC_MAP_IN_MAP;
        } else if (!v->moved[i] && v->voxels[i].seen >= LEAST_SEEN && is_covered(into, tile, at) &&
                   !has_point_near(into, tile, at)) {
            float point[3];
            mean_point(m, tile, v, i, point);
            PC_TRY(add_change(m, point, APPEARED));
            m->stats.appeared++;
        }
    }
    return PCGPU_OK;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

pcgpu_status pc_map_into_end(pcgpu_map *m) {
    static const char *const names[] = {"x", "y", "z", "change"};
    pc_map_into *into = &m->into;
    pcgpu_cloud *c = &into->changes;
    for (int64_t i = 0; i < into->gone_count; i++) {
        if (into->keys[into->gone[i].key] & GONE) {
            PC_TRY(add_change(m, into->gone[i].point, DISAPPEARED));
            m->stats.disappeared++;
        }
    }
    c->columns = 4;
    c->types[3] = PCGPU_UINT8;
    memcpy(c->offset, into->cloud->offset, 3 * sizeof *c->offset);
    for (int k = 0; k < 4; k++) {
        snprintf(c->names[k], PCGPU_NAME_SIZE, "%s", names[k]);
    }
    return PCGPU_OK;
}

pcgpu_status pcgpu_map_changes(pcgpu_map *m, const pcgpu_cloud **changes) {
    *changes = NULL;
    if (!m->finished || !m->into.map || m->stats.params.keep_moving) {
        return pc_fail(m->context, PCGPU_ERROR_ARGUMENT,
                       "changes are those of a finished map that extends another one, without keep_moving");
    }
    *changes = &m->into.changes;
    return PCGPU_OK;
}
