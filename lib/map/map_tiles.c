/* The voxels of a map in memory, in tiles, and tiles that go to the file.
 *
 * A voxel is a sum of whole numbers, so that it may be summed in parts: a tile that goes to the file is not read back
 * when the sensor returns, but begins empty, and its parts are added when the map is finished. */
#include "map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- records ----------------------------------------------------------------------------------------------------- */

static size_t slot_of(const pc_map_tile *tile, uint32_t key) {
    return (size_t)(pc_hash64(key) >> (64 - tile->slot_bits));
}

static void put_slot(pc_map_tile *tile, uint32_t key, int64_t record) {
    const size_t mask = ((size_t)1 << tile->slot_bits) - 1;
    size_t s = slot_of(tile, key);
    while (tile->slots[s] != 0 && tile->slots[s] >> 32 != key) {
        s = (s + 1) & mask;
    }
    tile->slots[s] = (uint64_t)key << 32 | (uint64_t)(record + 1);
}

/* Makes place for one more record; the table is at most half full. */
static bool grow(pc_map_tile *tile) {
    if (tile->count == tile->most) {
        const int64_t most = tile->most < 256 ? 256 : tile->most + tile->most / 2;
        pc_map_record *records = realloc(tile->records, (size_t)most * sizeof *records);
        if (!records) {
            return false;
        }
        tile->records = records;
        tile->most = most;
    }
    if (!tile->slots || 2 * tile->count >= (int64_t)1 << tile->slot_bits) {
        const int bits = tile->slots ? tile->slot_bits + 1 : 9;
        uint64_t *slots = calloc((size_t)1 << bits, sizeof *slots);
        if (!slots) {
            return false;
        }
        free(tile->slots);
        tile->slots = slots;
        tile->slot_bits = bits;
        for (int64_t i = 0; i < tile->count; i++) {
            put_slot(tile, tile->records[i].key, i); /* of two records with a key the later one */
        }
    }
    return true;
}

/* A new record for a key; -1 without memory. */
static int64_t append(pc_map_tile *tile, uint32_t key, uint32_t scan, uint32_t seen) {
    if (!grow(tile)) {
        tile->failed = true;
        return -1;
    }
    tile->records[tile->count] = (pc_map_record){.key = key, .first = scan, .last = scan, .seen = seen};
    put_slot(tile, key, tile->count);
    return tile->count++;
}

static int64_t find(pc_map_tile *tile, uint32_t key, uint32_t scan) {
    if (tile->slots) {
        const size_t mask = ((size_t)1 << tile->slot_bits) - 1;
        for (size_t s = slot_of(tile, key); tile->slots[s] != 0; s = (s + 1) & mask) {
            if (tile->slots[s] >> 32 == key) {
                return (int64_t)(tile->slots[s] & UINT32_MAX) - 1;
            }
        }
    }
    return append(tile, key, scan, 1);
}

static void add_point(pc_map_record *r, uint32_t scan, const pc_map_point *p) {
    const int32_t x = p->at[0] - PC_MAP_HALF, y = p->at[1] - PC_MAP_HALF, z = p->at[2] - PC_MAP_HALF;
    r->seen += r->last != scan;
    r->last = scan;
    r->points++;
    for (int k = 0; k < 3; k++) {
        r->sum[k] += p->at[k];
    }
    r->moment[0] += x * x;
    r->moment[1] += x * y;
    r->moment[2] += x * z;
    r->moment[3] += y * y;
    r->moment[4] += y * z;
    r->moment[5] += z * z;
    r->intensity += p->intensity;
}

static void add_vote(pc_map_tile *tile, uint32_t scan, const pc_map_point *p) {
    const uint32_t key = (uint32_t)p->label << 3 * PC_MAP_SIDE_BITS | p->key;
    int64_t at = find(tile, key, scan);
    at = at >= 0 && tile->records[at].points == PC_MAP_FULL ? append(tile, key, scan, 0) : at;
    if (at >= 0) {
        tile->records[at].points++;
    }
}

/* Finds the records of a few points before it adds to the first, so that they come from memory together. */
void pc_map_tile_add(pc_map_tile *tile, uint32_t scan, const pc_map_point *points, int64_t count) {
    enum { AHEAD = 16 };
    int64_t found[AHEAD];
    for (int64_t begin = 0; begin < count && !tile->failed; begin += AHEAD) {
        const int64_t n = count - begin < AHEAD ? count - begin : AHEAD;
        const pc_map_point *p = points + begin;
        for (int64_t i = 0; i < n && tile->slots; i++) {
            __builtin_prefetch(&tile->slots[slot_of(tile, p[i].key)]);
        }
        for (int64_t i = 0; i < n && !tile->failed; i++) {
            found[i] = find(tile, p[i].key, scan);
            __builtin_prefetch(&tile->records[found[i] >= 0 ? found[i] : 0], 1);
        }
        for (int64_t i = 0; i < n && !tile->failed; i++) {
            const pc_map_record *r = &tile->records[found[i]];
            if (r->points == PC_MAP_FULL) {
                const uint32_t last = r->last;
                int64_t at = find(tile, p[i].key, scan); /* which an earlier point of these may have made */
                at = at == found[i] ? append(tile, p[i].key, scan, last != scan) : at;
                found[i] = at;
            }
            if (!tile->failed) {
                add_point(&tile->records[found[i]], scan, &p[i]);
            }
            if (!tile->failed && p[i].label > 0) {
                add_vote(tile, scan, &p[i]);
            }
        }
    }
}

int64_t pc_map_tile_bytes(const pc_map_tile *tile) {
    return tile->most * (int64_t)sizeof *tile->records + (tile->slots ? (int64_t)8 << tile->slot_bits : 0);
}

void pc_map_tile_empty(pc_map_tile *tile) {
    free(tile->records);
    free(tile->slots);
    tile->records = NULL;
    tile->slots = NULL;
    tile->count = tile->most = 0;
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

static size_t tile_slot(const pc_map_tiles *t, const int32_t at[3]) {
    const uint64_t key = pc_hash64((uint64_t)(uint32_t)at[0] << 32 | (uint32_t)at[1]) ^ (uint32_t)at[2];
    return (size_t)(pc_hash64(key) >> (64 - t->slot_bits));
}

static void put_tile(pc_map_tiles *t, int64_t i) {
    const size_t mask = ((size_t)1 << t->slot_bits) - 1;
    size_t s = tile_slot(t, t->tiles[i].at);
    while (t->slots[s] != 0) {
        s = (s + 1) & mask;
    }
    t->slots[s] = (int32_t)(i + 1);
}

static bool grow_tiles(pc_map_tiles *t) {
    pc_map_tile *tiles = pc_buffer_take(&t->memory[0], ((size_t)t->count + 1) * sizeof *tiles, true);
    if (!tiles) {
        return false;
    }
    t->tiles = tiles;
    if (!t->slots || 2 * t->count >= (int64_t)1 << t->slot_bits) {
        const int bits = t->slots ? t->slot_bits + 1 : 8;
        int32_t *slots = pc_buffer_take(&t->memory[1], sizeof *slots << bits, false);
        if (!slots) {
            return false;
        }
        memset(slots, 0, sizeof *slots << bits);
        t->slots = slots;
        t->slot_bits = bits;
        for (int64_t i = 0; i < t->count; i++) {
            put_tile(t, i);
        }
    }
    return true;
}

int32_t pc_map_tile_find(const pc_map_tiles *t, const int32_t at[3]) {
    const size_t mask = t->slots ? ((size_t)1 << t->slot_bits) - 1 : 0;
    for (size_t s = t->slots ? tile_slot(t, at) : 0; t->slots && t->slots[s] != 0; s = (s + 1) & mask) {
        if (memcmp(t->tiles[t->slots[s] - 1].at, at, sizeof t->tiles->at) == 0) {
            return t->slots[s] - 1;
        }
    }
    return -1;
}

int32_t pc_map_tile_of(pc_map_tiles *t, const int32_t at[3]) {
    const int32_t found = pc_map_tile_find(t, at);
    if (found >= 0) {
        return found;
    }
    if (t->count == INT32_MAX - 1 || !grow_tiles(t)) {
        return -1;
    }
    t->tiles[t->count] = (pc_map_tile){.at = {at[0], at[1], at[2]}, .runs = -1};
    put_tile(t, t->count);
    return (int32_t)t->count++;
}

/* ---- what goes to the file --------------------------------------------------------------------------------------- */

static pcgpu_status write_tile(pcgpu_context *context, pc_map_tiles *t, pc_map_file *file, pc_map_tile *tile) {
    const size_t bytes = ((size_t)t->run_count + 1) * sizeof *t->runs;
    pc_map_run *runs = pc_buffer_take(&t->memory[2], bytes, true);
    if (!runs) {
        return pc_fail_memory(context, bytes, "the parts of the map");
    }
    t->runs = runs;
    pc_map_run *run = &runs[t->run_count];
    *run = (pc_map_run){.records = tile->count, .next = tile->runs};
    PC_TRY(pc_map_file_append(context, file, tile->records, (size_t)tile->count * sizeof *tile->records, &run->where));
    tile->runs = (int32_t)t->run_count++;
    t->bytes -= pc_map_tile_bytes(tile);
    pc_map_tile_empty(tile);
    return PCGPU_OK;
}

typedef struct far_tile {
    double square; /* of its distance */
    int64_t tile;
} far_tile;

/* The farthest first; of equals the one that was made first. */
static int by_distance(const void *a, const void *b) {
    const far_tile *l = a, *r = b;
    return l->square != r->square ? (l->square < r->square ? 1 : -1) : (l->tile > r->tile) - (l->tile < r->tile);
}

pcgpu_status pc_map_tiles_spill(pcgpu_context *context, pc_map_tiles *t, pc_map_file *file, const double sensor[3],
                                int64_t most) {
    far_tile *list = malloc((size_t)t->count * sizeof *list);
    int64_t n = 0;
    pcgpu_status status = PCGPU_OK;
    if (!list) {
        return pc_fail_memory(context, (uint64_t)t->count * sizeof *list, "the tiles of the map");
    }
    for (int64_t i = 0; i < t->count; i++) {
        double square = 0.0;
        for (int k = 0; k < 3; k++) {
            const double away = ((double)t->tiles[i].at[k] + 0.5) * PC_MAP_SIDE - sensor[k];
            square += away * away;
        }
        list[n] = (far_tile){square, i};
        n += t->tiles[i].count > 0;
    }
    qsort(list, (size_t)n, sizeof *list, by_distance);
    for (int64_t i = 0; i < n && t->bytes > most / 4 * 3 && status == PCGPU_OK; i++) {
        status = write_tile(context, t, file, &t->tiles[list[i].tile]);
    }
    free(list);
    return status;
}

void pc_map_tiles_free(pc_map_tiles *t) {
    for (int64_t i = 0; i < t->count; i++) {
        pc_map_tile_empty(&t->tiles[i]);
    }
    for (int i = 0; i < 3; i++) {
        pc_buffer_free(&t->memory[i]);
    }
}
