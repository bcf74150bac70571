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

enum {
    FEWEST_SLOTS = 1024,
    MOST_FIRST_SLOTS = 1 << 20, /* of a table that may turn out to be far too large */
    STEP = 17,                  /* from a taken place to the next to try: another line, another place in it */
    AHEAD = 16,                 /* places of the table that are on their way from memory */
};

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
    if (!pc_block_reserve(&part->to, n, false) || !pc_block_reserve(&part->hash, n * sizeof(uint32_t), false) ||
        !pc_block_reserve(&part->map, n * sizeof(int32_t), false) ||
        !pc_block_reserve(&part->before, n * sizeof(int32_t), false)) {
        return false;
    }
    uint8_t *to = part->to.memory;
    uint32_t *hash = part->hash.memory;
    for (int64_t e = 0; e < list->found; e++) {
        hash[e] = hash_of_key(&list->layout, list->voxels[e + 1].key);
        to[e] = (uint8_t)((uint64_t)hash[e] * (uint64_t)parts >> 32);
    }
    return true;
}

/* Merges those of the n voxels of a part from `begin` on that belong to the share. */
static void merge_block(const struct pc_voxel_part *part, int which, int64_t begin, int32_t n, pc_voxel_list *share) {
    const uint8_t *to = (const uint8_t *)part->to.memory + begin;
    const uint32_t *hash = (const uint32_t *)part->hash.memory + begin;
    const pc_cell_voxel *voxels = part->list.voxels + 1 + begin;
    int32_t *map = (int32_t *)part->map.memory + begin, *before = (int32_t *)part->before.memory + begin;
    uint16_t mine[PC_CELL_BLOCK];
    int32_t count = 0;
    for (int32_t e = 0; e < n; e++) {
        mine[count] = (uint16_t)e;
        count += to[e] == which;
    }
    for (int32_t i = 0; i < count; i++) {
        __builtin_prefetch(&share->table[hash[mine[i]] & (share->slots - 1)]);
    }
    for (int32_t i = 0; i < count; i++) {
        const int32_t e = mine[i];
        const uint32_t id = add_to_list(share, voxels[e].key, hash[e], voxels[e].first, voxels[e].points);
        map[e] = (int32_t)id;
        before[e] = share->voxels[id].points - voxels[e].points;
    }
}

/* Merges one share, and counts in new_ones[] the voxels that each part has first. The maps hold numbers in the share.
 */
static bool merge_share(pc_voxel_scratch *scratch, int parts, int which, int64_t *new_ones) {
    pc_voxel_list *share = &scratch->part[which].share;
    int64_t all = 0;
    for (int p = 0; p < parts; p++) {
        all += scratch->part[p].list.found;
    }
    if (!start_list(share, &scratch->part[0].list.layout, all / parts)) {
        return false;
    }
    for (int p = 0; p < parts; p++) {
        const struct pc_voxel_part *part = &scratch->part[p];
        const int64_t found = share->found;
        for (int64_t e = 0; e < part->list.found; e += PC_CELL_BLOCK) {
            const int64_t n = part->list.found - e < PC_CELL_BLOCK ? part->list.found - e : PC_CELL_BLOCK;
            if (!reserve(share, PC_CELL_BLOCK)) {
                return false;
            }
            merge_block(part, which, e, (int32_t)n, share);
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

typedef struct merger {
    pc_voxel_scratch *scratch;
    int parts;
    int64_t new_ones[PC_VOXEL_PARTS][PC_VOXEL_PARTS]; /* by share and part */
    int64_t starts[PC_VOXEL_PARTS];
    bool failed[PC_VOXEL_PARTS];
    pc_cell_voxel *voxels;
} merger;

static void merge_one(void *state, int which) {
    merger *m = state;
    m->failed[which] = !merge_share(m->scratch, m->parts, which, m->new_ones[which]);
}

static void number_one(void *state, int p) {
    merger *m = state;
    number_new(m->scratch, p, m->starts[p], m->voxels);
}

static bool merge(pc_voxel_scratch *scratch, pc_numbered *out) {
    merger m = {.scratch = scratch, .parts = out->parts};
    pc_team_run(scratch->team, m.parts, merge_one, &m);
    for (int p = 0; p < m.parts; p++) {
        m.starts[p] = out->found;
        for (int which = 0; which < m.parts; which++) {
            if (m.failed[which]) {
                return false;
            }
            out->found += m.new_ones[which][p];
        }
    }
    if (!pc_block_reserve(&scratch->voxels, (size_t)(out->found + 1) * sizeof *out->voxels, false)) {
        return false;
    }
    out->voxels = m.voxels = scratch->voxels.memory;
    pc_team_run(scratch->team, m.parts, number_one, &m);
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

typedef struct numberer {
    const pc_voxelize_job *job;
    pc_find_cells_fn *find;
    pc_cell_layout layout;
    pc_voxel_scratch *scratch;
    int32_t *numbers;
    int parts;
    int64_t part_rows;
    pc_drops drops[PC_VOXEL_PARTS];
    bool failed[PC_VOXEL_PARTS];
} numberer;

static void number_records(void *state, int p) {
    numberer *n = state;
    const int64_t begin = p * n->part_rows, rows = n->job->rows;
    const int64_t end = begin + n->part_rows < rows ? begin + n->part_rows : rows;
    struct pc_voxel_part *part = &n->scratch->part[p];
    pc_drops drops = {0, 0}; /* on a cache line of this thread */
    n->failed[p] = !start_list(&part->list, &n->layout, end - begin) ||
                   !number_part(n->job, n->find, begin, end, n->numbers, &part->list, &drops) ||
                   (n->parts > 1 && !split_part(part, n->parts));
    n->drops[p] = drops;
}

bool pc_number_voxels(const pc_voxelize_job *job, const pc_voxelize_form *form, pc_voxel_scratch *scratch,
                      int32_t *numbers, pc_numbered *out) {
    const int64_t most = job->rows / form->part_rows < PC_VOXEL_PARTS ? job->rows / form->part_rows : PC_VOXEL_PARTS;
    const int threads = pc_team_threads(scratch->team);
    const int parts = most < 1 ? 1 : most < threads ? (int)most : threads;
    numberer n = {.job = job,
                  .find = pc_find_cells_form(form->simd),
                  .layout = pc_cell_layout_of(&job->grid),
                  .scratch = scratch,
                  .numbers = numbers,
                  .parts = parts,
                  .part_rows = (job->rows + parts - 1) / parts};
    *out = (pc_numbered){.parts = parts, .part_rows = n.part_rows};
    pc_team_run(scratch->team, parts, number_records, &n);
    for (int p = 0; p < parts; p++) {
        out->drops.non_finite += n.drops[p].non_finite;
        out->drops.at_origin += n.drops[p].at_origin;
        if (n.failed[p]) {
            return false;
        }
    }
    if (parts > 1) {
        return merge(scratch, out);
    }
    out->voxels = scratch->part[0].list.voxels + 1;
    out->found = scratch->part[0].list.found;
    return true;
}
