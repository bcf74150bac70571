/* The hash table of the voxels of a file in pieces. A piece comes with its own voxels and their records
 * (pc_voxel_groups), so that the table is searched once per voxel of the piece, and each thread adds the records of
 * other voxels. */
#include "voxelize_table.h"
#include "context.h"

#include <stdlib.h>

enum { BLOCK = 64, FIRST_SLOTS = 1 << 12, CHUNK = 1024 };

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* How many voxels the memory holds, their slots included. */
static int64_t most_voxels(const pc_voxel_table *t, int64_t rows, size_t more) {
    const size_t voxel = sizeof(pc_table_voxel) + t->width + more;
    int64_t most = 0;
    for (size_t slots = FIRST_SLOTS; slots * sizeof(uint32_t) < t->memory && slots <= (size_t)1 << 32; slots *= 2) {
        const size_t fit = (t->memory - slots * sizeof(uint32_t)) / voxel, use = slots / 10 * 7;
        const int64_t voxels = (int64_t)(fit < use ? fit : use);
        most = voxels > most ? voxels : most;
    }
    return most < rows ? most : rows;
}

/* The old slots are gone before the new ones are there, since the voxels have the keys. */
static pcgpu_status grow_slots(pc_voxel_table *t, size_t slots) {
    free(t->slots);
    t->slots = calloc(slots, sizeof *t->slots);
    if (!t->slots) {
        return pc_fail_memory(t->context, slots * sizeof *t->slots, "the voxels' hash table");
    }
    t->slot_count = slots;
    for (int64_t i = 0; i < t->count; i++) {
        size_t at = pc_hash64((uint64_t)t->voxels[i].key) & (slots - 1);
        while (t->slots[at]) {
            at = (at + 1) & (slots - 1);
        }
        t->slots[at] = (uint32_t)i + 1;
    }
    return PCGPU_OK;
}

static size_t width_of(const pc_voxel_table *t) {
    const size_t columns = (size_t)t->job->columns, row = columns * sizeof(float), sums = columns * sizeof(double);
    const size_t near = (sizeof(pc_near) + row + 7) / 8 * 8;
    return t->kind == PC_TABLE_FIRST ? row : t->kind == PC_TABLE_NEAREST && near > sums ? near : sums;
}

pcgpu_status pc_table_open(pc_voxel_table *t, int64_t rows, bool arrays) {
    const size_t all = t->memory;
    t->width = width_of(t);
    t->most = most_voxels(t, rows, arrays ? 5 * sizeof(int32_t) : 0);
    if (t->most < rows) { /* there may be a second pass */
        t->memory -= t->memory > (size_t)rows / 4 ? (size_t)rows / 8 : 0;
        t->most = most_voxels(t, rows, arrays ? 5 * sizeof(int32_t) : 0);
        t->memory = all;
    }
    if (t->kind == PC_TABLE_NEAREST) { /* the means come first */
        t->kind = PC_TABLE_EXACT;
    }
    if (t->most < 1 && rows > 0) {
        return pc_table_fail_small(t);
    }
    const size_t voxels = (size_t)(t->most > 0 ? t->most : 1), bytes = voxels * t->width;
    t->voxels = malloc(voxels * sizeof *t->voxels); /* what is not touched takes no memory */
    t->values = malloc(bytes);
    return t->voxels && t->values ? grow_slots(t, FIRST_SLOTS)
                                  : pc_fail_memory(t->context, bytes + voxels * sizeof *t->voxels, "the voxels");
}

void pc_table_close(pc_voxel_table *t) {
    free(t->voxels);
    free(t->values);
    free(t->slots);
    free(t->exact);
    free(t->pending);
    free(t->found.memory);
    free(t->inexact.memory);
    *t = (pc_voxel_table){.context = t->context};
}

void pc_table_next(pc_voxel_table *t) {
    memset(t->slots, 0, t->slot_count * sizeof *t->slots);
    t->base += t->count;
    t->count = t->exact_count = t->left = 0;
    t->again = true;
}

/* A piece that is added. */
typedef struct adding {
    pc_voxel_table *t;
    const pc_voxel_groups *piece;
    const float *data;
    int64_t record;
} adding;

/* ---- the records of the piece ------------------------------------------------------------------------------------ */

static void add_voxel(const adding *a, int64_t local, int64_t i) {
    pc_voxel_table *t = a->t;
    pc_table_voxel *e = &t->voxels[i];
    const int64_t begin = a->piece->starts[local], count = a->piece->starts[local + 1] - begin;
    const int32_t *rows = a->piece->order + begin;
    ((bool *)t->inexact.memory)[local] = !pc_table_add_records(t, i, rows, count, a->data);
    for (int64_t k = 0; k < count && t->point_voxel && t->kind != PC_TABLE_NEAREST; k++) {
        t->point_voxel[a->record + rows[k]] = (int32_t)(t->base + i);
    }
    e->points += t->kind == PC_TABLE_NEAREST ? 0 : count;
}

static void add_voxels(void *state, int64_t begin, int64_t end) {
    const adding *a = state;
    const uint32_t *found = a->t->found.memory;
    for (int64_t local = begin; local < end; local++) {
        if (found[local]) {
            add_voxel(a, local, (int64_t)found[local] - 1);
        }
    }
}

/* ---- the voxels of the piece in the table ------------------------------------------------------------------------ */

static bool is_pending(const pc_voxel_table *t, int64_t record) {
    return t->pending && (t->pending[record / 8] >> record % 8 & 1);
}

/* Looks up voxels of the piece in blocks, so that the memory of a block's slots arrives while others are looked up. */
static void find_voxels(void *state, int64_t begin, int64_t end) {
    const adding *a = state;
    const pc_voxel_table *t = a->t;
    uint32_t *found = t->found.memory;
    for (int64_t block = begin; block < end; block += BLOCK) {
        const int n = end - block < BLOCK ? (int)(end - block) : BLOCK;
        size_t at[BLOCK];
        for (int i = 0; i < n; i++) {
            at[i] = pc_hash64(a->piece->voxels[block + i].key) & (t->slot_count - 1);
            __builtin_prefetch(&t->slots[at[i]]);
        }
        for (int i = 0; i < n; i++) {
            const uint32_t id = t->slots[at[i]];
            __builtin_prefetch(&t->voxels[id ? id - 1 : 0], 1);
            __builtin_prefetch(pc_table_values(t, id ? id - 1 : 0), 1);
        }
        for (int i = 0; i < n; i++) {
            const int64_t key = (int64_t)a->piece->voxels[block + i].key;
            while (t->slots[at[i]] && t->voxels[t->slots[at[i]] - 1].key != key) {
                at[i] = (at[i] + 1) & (t->slot_count - 1);
            }
            found[block + i] = t->slots[at[i]];
        }
    }
}

static pcgpu_status create(pc_voxel_table *t, int64_t key, uint32_t *found) {
    size_t at = pc_hash64((uint64_t)key) & (t->slot_count - 1);
    while (t->slots[at]) {
        at = (at + 1) & (t->slot_count - 1);
    }
    t->voxels[t->count] = (pc_table_voxel){.key = key};
    memset(pc_table_values(t, t->count), 0, t->width);
    *found = t->slots[at] = (uint32_t)++t->count;
    return t->count < (int64_t)(t->slot_count / 10 * 7) ? PCGPU_OK : grow_slots(t, 2 * t->slot_count);
}

static pcgpu_status set_pending(pc_voxel_table *t, int64_t record, bool pending) {
    if (!t->pending &&
        !(t->pending = calloc((size_t)t->job->rows / 8 + 1, 1))) { /* what is not touched takes no memory */
        return pc_fail_memory(t->context, (uint64_t)t->job->rows / 8, "the voxels of another pass");
    }
    const uint8_t bit = (uint8_t)(1u << record % 8);
    t->pending[record / 8] = pending ? t->pending[record / 8] | bit : t->pending[record / 8] & (uint8_t)~bit;
    return PCGPU_OK;
}

/* The new voxels, in the order of their first records, while there is memory. The others remain pending; those of
 * earlier passes are done. */
static pcgpu_status create_voxels(const adding *a) {
    pc_voxel_table *t = a->t;
    uint32_t *found = t->found.memory;
    for (int64_t i = 0; i < a->piece->count; i++) {
        const int64_t first = a->record + a->piece->voxels[i].first;
        const bool waits = t->again && is_pending(t, first);
        if (!found[i] && t->count < t->most && (!t->again || waits)) {
            PC_TRY(create(t, (int64_t)a->piece->voxels[i].key, &found[i]));
        } else if (!found[i] && (!t->again || waits)) {
            PC_TRY(t->again ? PCGPU_OK : set_pending(t, first, true));
            t->left++;
        }
        if (waits && found[i]) {
            PC_TRY(set_pending(t, first, false));
        }
    }
    return PCGPU_OK;
}

/* Continues in fixed point where a float64 sum is not exact. */
static pcgpu_status add_inexact(const adding *a) {
    pc_voxel_table *t = a->t;
    const uint32_t *found = t->found.memory;
    const bool *inexact = t->inexact.memory;
    for (int64_t i = 0; i < a->piece->count; i++) {
        if (found[i] && inexact[i]) {
            const int64_t begin = a->piece->starts[i];
            PC_TRY(pc_table_add_inexact(t, found[i] - 1, a->piece->order + begin, a->piece->starts[i + 1] - begin,
                                        a->data));
        }
    }
    return PCGPU_OK;
}

pcgpu_status pc_table_add_piece(pc_voxel_table *t, const pc_voxel_groups *piece, const float *data, int64_t record) {
    adding a = {t, piece, data, record};
    const size_t n = (size_t)piece->count + 1;
    if (!pc_buffer_take(&t->found, n * sizeof(uint32_t), false) || !pc_buffer_take(&t->inexact, n, false)) {
        return pc_fail_memory(t->context, n * 5, "the voxels of a piece");
    }
    memset(t->inexact.memory, 0, n);
    pc_run_ranges(t->context, piece->count, CHUNK, find_voxels, &a);
    PC_TRY(t->kind == PC_TABLE_NEAREST ? PCGPU_OK : create_voxels(&a));
    pc_run_ranges(t->context, piece->count, CHUNK, add_voxels, &a);
    return t->kind == PC_TABLE_EXACT ? add_inexact(&a) : PCGPU_OK;
}

/* ---- features ---------------------------------------------------------------------------------------------------- */

void pc_table_seek_nearest(pc_voxel_table *t) {
    for (int64_t i = 0; i < t->count; i++) {
        const pc_near near = {.mean = {pc_table_mean(t, i, 0), pc_table_mean(t, i, 1), pc_table_mean(t, i, 2)},
                              .least = HUGE_VALF};
        memcpy(pc_table_values(t, i), &near, sizeof near);
    }
    t->kind = PC_TABLE_NEAREST;
}

void pc_table_finish(pc_voxel_table *t) {
    const int columns = t->job->columns;
    for (int64_t i = 0; i < t->count; i++) { /* over the voxels that are done: no row is wider than the values */
        float row[PCGPU_MAX_COLUMNS];
        for (int k = 0; k < columns && t->kind == PC_TABLE_EXACT; k++) {
            row[k] = pc_table_mean(t, i, k);
        }
        const void *from = t->kind == PC_TABLE_NEAREST ? (const pc_near *)pc_table_values(t, i) + 1
                           : t->kind == PC_TABLE_FIRST ? pc_table_values(t, i)
                                                       : row;
        memmove(t->values + (size_t)i * (size_t)columns * sizeof *row, from, (size_t)columns * sizeof *row);
    }
}
