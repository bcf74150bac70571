/* Numbers of voxels, first come, first served. One thread goes through the records and looks each one's cell up in a
 * hash table. Several threads take parts of the records, each with a table of its own, and then merge what they found:
 *
 *   1. each part numbers its voxels in the order of its records
 *   2. each thread takes the voxels of all parts that hash to its share, part by part, so that it meets a voxel's first
 *      part first, and counts the records of the voxel in the parts before
 *   3. a voxel is new in its first part; new voxels are counted part by part, and get their numbers in this order
 *
 * which is the order of their first records, whatever the number of parts. */
#include "cpu_voxelize.h"

#include <stdlib.h>

enum {
    PART_ROWS = 16384, /* fewest records that repay a thread: some 50 us */
    FEWEST_SLOTS = 1024,
    MOST_FIRST_SLOTS = 1 << 20, /* of a table that may turn out to be far too large */
    STEP = 17,                  /* from a taken place to the next to try: another line, another place in it */
    AHEAD = 16,                 /* places of the table that are on their way from memory */
};

bool pc_block_reserve(pc_block *block, size_t bytes, bool keep) {
    if (bytes <= block->bytes) {
        return true;
    }
    if (!keep) {
        free(block->memory);
        *block = (pc_block){NULL, 0};
    }
    void *memory = realloc(block->memory, bytes);
    if (memory) {
        *block = (pc_block){memory, bytes};
    }
    return memory != NULL;
}

/* ---- a list of voxels ------------------------------------------------------------------------------------------ */

static uint32_t hash_of_key(const pc_cell_layout *layout, uint64_t key) {
    int32_t coords[4];
    pc_key_coords(layout, key, coords);
    return pc_cell_hash((uint32_t)coords[3], (uint32_t)coords[2], (uint32_t)coords[1]);
}

static bool set_slots(pc_voxel_list *list, size_t slots) {
    if (!pc_block_reserve(&list->table_block, slots * sizeof *list->table, false)) {
        return false;
    }
    list->table = list->table_block.memory;
    list->slots = slots;
    memset(list->table, 0, slots * sizeof *list->table);
    for (int64_t id = 1; id <= list->found; id++) {
        size_t at = hash_of_key(&list->layout, list->voxels[id].key) & (slots - 1);
        while (list->table[at]) {
            at = (at + STEP) & (slots - 1);
        }
        list->table[at] = (uint32_t)id;
    }
    return true;
}

/* Makes room for `more` voxels. */
static bool reserve(pc_voxel_list *list, size_t more) {
    size_t wanted = (size_t)list->found + more, slots = list->slots, bytes = (wanted + 1) * sizeof *list->voxels;
    if (bytes > list->voxel_block.bytes) {
        bytes = bytes < 2 * list->voxel_block.bytes ? 2 * list->voxel_block.bytes : bytes;
        if (!pc_block_reserve(&list->voxel_block, bytes, true)) {
            return false;
        }
        list->voxels = list->voxel_block.memory;
    }
    while (slots < 2 * wanted) {
        slots *= 2;
    }
    return slots == list->slots || set_slots(list, slots);
}

/* An empty list for `expected` voxels, few or many. */
static bool start_list(pc_voxel_list *list, const pc_cell_layout *layout, int64_t expected) {
    size_t slots = FEWEST_SLOTS;
    while (slots < MOST_FIRST_SLOTS && (int64_t)slots < 2 * expected) {
        slots *= 2;
    }
    list->layout = *layout;
    list->found = 0;
    list->voxels = list->voxel_block.memory;
    if (!set_slots(list, slots) || !reserve(list, slots / 2)) {
        return false;
    }
    list->voxels[0] = (pc_cell_voxel){0, 0, 0};
    return true;
}

/* Counts `points` more records of the voxel with this key, or a new voxel whose first record is `first`; gives its
 * number. There is room. */
PC_INLINE uint32_t add_to_list(pc_voxel_list *list, uint64_t key, uint32_t hash, int32_t first, int32_t points) {
    const size_t mask = list->slots - 1;
    size_t at = hash & mask;
    uint32_t id = list->table[at];
    while ((id != 0) & (list->voxels[id].key != key)) { /* one branch: voxels[0] can be read */
        at = (at + STEP) & mask;
        id = list->table[at];
    }
    if (id == 0) {
        id = (uint32_t)++list->found;
        list->table[at] = id;
        list->voxels[id] = (pc_cell_voxel){.key = key, .first = first, .points = points};
    } else {
        list->voxels[id].points += points;
    }
    return id;
}

/* ---- one part -------------------------------------------------------------------------------------------------- */

static void number_block(pc_voxel_list *all, const pc_cells *cells, int32_t row, int32_t *numbers) {
    pc_voxel_list list = *all; /* of this thread alone, in registers */
    const size_t mask = list.slots - 1;
    for (int32_t k = 0; k < cells->count; k++) {
        const int32_t i = cells->place[k];
        const int32_t ahead = cells->place[k + AHEAD < cells->count ? k + AHEAD : k];
        __builtin_prefetch(&list.table[cells->hash[ahead] & mask]);
        numbers[i] = (int32_t)add_to_list(&list, cells->key[i], cells->hash[i], row + i, 1) - 1;
    }
    all->found = list.found;
}

static bool number_part(const pc_voxelize_job *job, pc_find_cells_fn *find, int64_t begin, int64_t end,
                        int32_t *numbers, pc_voxel_list *list, pc_drops *drops) {
    pc_cells cells;
    for (int64_t row = begin; row < end; row += PC_CELL_BLOCK) {
        int32_t n = end - row < PC_CELL_BLOCK ? (int32_t)(end - row) : PC_CELL_BLOCK;
        find(job, &list->layout, row, n, &cells, drops);
        if (cells.count < n) {
            memset(numbers + row, 0xff, (size_t)n * sizeof *numbers);
        }
        if (!reserve(list, (size_t)cells.count)) {
            return false;
        }
        number_block(list, &cells, (int32_t)row, numbers + row);
    }
    return true;
}

/* ---- merging --------------------------------------------------------------------------------------------------- */

/* Which thread merges each voxel of a part; memory for what the merging finds out. */
static bool split_part(struct pc_voxel_part *part, int parts) {
    const pc_voxel_list *list = &part->list;
    size_t n = (size_t)list->found + 1;
    if (!pc_block_reserve(&part->to, n, false) || !pc_block_reserve(&part->map, n * sizeof(int32_t), false) ||
        !pc_block_reserve(&part->before, n * sizeof(int32_t), false)) {
        return false;
    }
    uint8_t *to = part->to.memory;
    for (int64_t e = 0; e < list->found; e++) {
        to[e] = (uint8_t)((uint64_t)hash_of_key(&list->layout, list->voxels[e + 1].key) * (uint64_t)parts >> 32);
    }
    return true;
}

/* Merges one share, and counts in new_ones[] the voxels that each part has first. The maps hold numbers in the share.
 */
static bool merge_share(pc_voxel_scratch *scratch, int parts, int which, int64_t *new_ones) {
    pc_voxel_list *share = &scratch->part[which].share;
    if (!start_list(share, &scratch->part[0].list.layout, scratch->part[0].list.found / parts)) {
        return false;
    }
    for (int p = 0; p < parts; p++) {
        const struct pc_voxel_part *part = &scratch->part[p];
        const uint8_t *to = part->to.memory;
        int32_t *map = part->map.memory, *before = part->before.memory;
        const int64_t found = share->found;
        for (int64_t e = 0; e < part->list.found; e++) {
            if (e % PC_CELL_BLOCK == 0 && !reserve(share, PC_CELL_BLOCK)) {
                return false;
            }
            if (to[e] == which) {
                const pc_cell_voxel v = part->list.voxels[e + 1];
                uint32_t id = add_to_list(share, v.key, hash_of_key(&share->layout, v.key), v.first, v.points);
                map[e] = (int32_t)id;
                before[e] = share->voxels[id].points - v.points;
            }
        }
        new_ones[p] = share->found - found;
    }
    pc_block *numbers = &scratch->part[which].share_voxel;
    return pc_block_reserve(numbers, ((size_t)share->found + 1) * sizeof(int32_t), false);
}

/* Numbers the voxels that the part has first, from `next` on, and describes them. */
static void number_new(pc_voxel_scratch *scratch, int p, int64_t next, pc_cell_voxel *voxels) {
    const struct pc_voxel_part *part = &scratch->part[p];
    const uint8_t *to = part->to.memory;
    const int32_t *map = part->map.memory;
    for (int64_t e = 0; e < part->list.found; e++) {
        const struct pc_voxel_part *share = &scratch->part[to[e]];
        const pc_cell_voxel v = share->share.voxels[map[e]];
        if (v.first == part->list.voxels[e + 1].first) {
            ((int32_t *)share->share_voxel.memory)[map[e]] = (int32_t)next;
            voxels[next++] = v;
        }
    }
}

static bool merge(pc_voxel_scratch *scratch, pc_numbered *out) {
    const int parts = out->parts;
    int64_t new_ones[PC_VOXEL_PARTS][PC_VOXEL_PARTS], starts[PC_VOXEL_PARTS]; /* by share and part */
    int failed = 0;
#pragma omp parallel for num_threads(parts) schedule(static, 1) reduction(+ : failed)
    for (int which = 0; which < parts; which++) {
        failed += !merge_share(scratch, parts, which, new_ones[which]);
    }
    if (failed) {
        return false;
    }
    for (int p = 0; p < parts; p++) {
        starts[p] = out->found;
        for (int which = 0; which < parts; which++) {
            out->found += new_ones[which][p];
        }
    }
    if (!pc_block_reserve(&scratch->voxels, (size_t)(out->found + 1) * sizeof *out->voxels, false)) {
        return false;
    }
    out->voxels = scratch->voxels.memory;
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int p = 0; p < parts; p++) {
        number_new(scratch, p, starts[p], out->voxels);
    }
    return true;
}

pc_part_map pc_map_part(pc_voxel_scratch *scratch, const pc_numbered *numbered, int part) {
    struct pc_voxel_part *own = &scratch->part[part];
    if (numbered->parts == 1) {
        return (pc_part_map){NULL, NULL};
    }
    const uint8_t *to = own->to.memory;
    int32_t *map = own->map.memory;
    for (int64_t e = 0; e < own->list.found; e++) {
        map[e] = ((const int32_t *)scratch->part[to[e]].share_voxel.memory)[map[e]];
    }
    return (pc_part_map){map, own->before.memory};
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

bool pc_number_voxels(const pc_voxelize_job *job, pc_simd simd, int threads, pc_voxel_scratch *scratch,
                      int32_t *numbers, pc_numbered *out) {
    int64_t most = job->rows / PART_ROWS < PC_VOXEL_PARTS ? job->rows / PART_ROWS : PC_VOXEL_PARTS;
    const int parts = most < 1 ? 1 : most < threads ? (int)most : threads;
    const pc_cell_layout layout = pc_cell_layout_of(&job->grid);
    const int64_t part_rows = (job->rows + parts - 1) / parts;
    int64_t non_finite = 0, at_origin = 0;
    int failed = 0;
#pragma omp parallel for num_threads(parts) schedule(static, 1) reduction(+ : failed, non_finite, at_origin)
    for (int p = 0; p < parts; p++) {
        const int64_t begin = p * part_rows, end = begin + part_rows < job->rows ? begin + part_rows : job->rows;
        pc_voxel_list *list = &scratch->part[p].list;
        pc_drops drops = {0, 0};
        failed += !start_list(list, &layout, end - begin) ||
                  !number_part(job, pc_find_cells_form(simd), begin, end, numbers, list, &drops) ||
                  (parts > 1 && !split_part(&scratch->part[p], parts));
        non_finite += drops.non_finite;
        at_origin += drops.at_origin;
    }
    const pc_voxel_list *only = &scratch->part[0].list;
    *out = (pc_numbered){.drops = {non_finite, at_origin}, .parts = parts, .part_rows = part_rows};
    if (failed || parts > 1) {
        return !failed && merge(scratch, out);
    }
    out->voxels = only->voxels + 1;
    out->found = only->found;
    return true;
}
