/* The hash table of the voxels of a file in pieces: each has its cell, its number of points, and sums or a record. */
#include "voxelize_table.h"
#include "voxelize_math.h"

#include <stdlib.h>

enum { BLOCK = 64, FIRST_SLOTS = 1 << 12 };

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* How many voxels the memory holds, their slots included. */
static int64_t most_voxels(const pc_voxel_table *t, int64_t rows, size_t more) {
    const size_t each = t->size + more;
    int64_t most = 0;
    for (size_t slots = FIRST_SLOTS; slots * sizeof(uint32_t) < t->memory && slots <= (size_t)1 << 32; slots *= 2) {
        const size_t fit = (t->memory - slots * sizeof(uint32_t)) / each, use = slots / 10 * 7;
        const int64_t voxels = (int64_t)(fit < use ? fit : use);
        most = voxels > most ? voxels : most;
    }
    return most < rows ? most : rows;
}

static pcgpu_status fail_full(const pc_voxel_table *t) {
    return pc_fail(t->context, PCGPU_ERROR_MEMORY,
                   "there are more voxels than the %.4g GB of memory hold, after %lld voxels; give more by --memory, larger voxels, "
                   "or parts of the range",
                   (double)t->memory / 1e9, (long long)t->count);
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
        size_t at = pc_hash64((uint64_t)pc_table_voxel_at(t, i)->key) & (slots - 1);
        while (t->slots[at]) {
            at = (at + 1) & (slots - 1);
        }
        t->slots[at] = (uint32_t)i + 1;
    }
    return PCGPU_OK;
}

pcgpu_status pc_table_open(pc_voxel_table *t, int64_t rows, size_t more) {
    const size_t columns = (size_t)t->job->columns, row = columns * sizeof(float);
    const size_t sums = t->job->max_points ? row : columns * sizeof(double), near = sizeof(pc_near) + row;
    const size_t values = t->kind == PC_TABLE_FIRST ? row : t->kind == PC_TABLE_NEAREST && near > sums ? near : sums;
    t->size = (sizeof(pc_table_voxel) + values + 7) / 8 * 8;
    t->most = most_voxels(t, rows, more);
    const size_t bytes = (size_t)(t->most > 0 ? t->most : 1) * t->size;
    t->voxels = malloc(bytes); /* what is not touched takes no memory */
    if (t->kind == PC_TABLE_NEAREST) { /* the means come first */
        t->kind = t->job->max_points ? PC_TABLE_SUMS : PC_TABLE_EXACT;
    }
    return t->voxels ? grow_slots(t, FIRST_SLOTS) : pc_fail_memory(t->context, bytes, "the voxels");
}

void pc_table_close(pc_voxel_table *t) {
    free(t->voxels);
    free(t->slots);
    free(t->exact);
}

/* ---- exact sums -------------------------------------------------------------------------------------------------- */

/* The highest digit has bits for what is above it. */
static void add_digit(pc_exact_sum *sum, int digit, int64_t value) {
    const int above = digit - (PC_SUM_DIGITS - 1);
    sum->digit[above > 0 ? PC_SUM_DIGITS - 1 : digit] += above > 0 ? value * ((int64_t)1 << 32 * above) : value;
}

/* Adds a finite float64 that is a sum of float32 values, so that its bits lie within those of the fixed point. */
static void add_double(pc_exact_sum *sum, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t significand = (bits & 0xfffffffffffffu) | (exponent ? (uint64_t)1 << 52 : 0);
    int shift = (exponent ? exponent : 1) - 1075 + 149; /* of the lowest bit, in units of 2^-149 */
    const int64_t sign = bits >> 63 ? -1 : 1;
    if (shift < 0) {
        significand = shift > -64 ? significand >> -shift : 0; /* these bits are 0 */
        shift = 0;
    }
    for (int part = 0; part < 2; part++, shift += 32) {
        const uint64_t term = (part ? significand >> 32 : significand & 0xffffffffu) << shift % 32;
        add_digit(sum, shift / 32, sign * (int64_t)(term & 0xffffffffu));
        add_digit(sum, shift / 32 + 1, sign * (int64_t)(term >> 32));
    }
}

/* Gives a voxel sums in fixed point, which continue its float64 sums. */
static pcgpu_status widen(pc_voxel_table *t, pc_table_voxel *e, const double *sums) {
    const size_t columns = (size_t)t->job->columns;
    if (t->exact_count == t->exact_capacity) {
        const int64_t capacity = t->exact_capacity ? 2 * t->exact_capacity : 16;
        const size_t bytes = (size_t)capacity * columns * sizeof *t->exact;
        pc_exact_sum *more = bytes > t->memory ? NULL : realloc(t->exact, bytes);
        if (!more) {
            return bytes > t->memory ? fail_full(t) : pc_fail_memory(t->context, bytes, "exact sums");
        }
        t->exact = more;
        t->exact_capacity = capacity;
    }
    pc_exact_sum *exact = t->exact + (size_t)t->exact_count * columns;
    memset(exact, 0, columns * sizeof *exact);
    for (size_t k = 0; k < columns; k++) {
        add_double(&exact[k], sums[k]);
    }
    e->extra = (int32_t)++t->exact_count;
    return PCGPU_OK;
}

static pcgpu_status add_exact(pc_voxel_table *t, pc_table_voxel *e, const float *p) {
    const int columns = t->job->columns;
    double *sums = (double *)(void *)(e + 1), next[PCGPU_MAX_COLUMNS];
    bool exact = e->extra == 0;
    for (int k = 0; k < columns && exact; k++) {
        next[k] = sums[k] + (double)p[k];
        exact = pc_addition_error(sums[k], (double)p[k], next[k]) == 0.0;
    }
    if (exact) {
        memcpy(sums, next, (size_t)columns * sizeof *sums);
        return PCGPU_OK;
    }
    pcgpu_status status = e->extra ? PCGPU_OK : widen(t, e, sums);
    for (int k = 0; k < columns && status == PCGPU_OK; k++) {
        pc_exact_add(&t->exact[(size_t)(e->extra - 1) * (size_t)columns + (size_t)k], p[k]);
    }
    return status;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static pcgpu_status create(pc_voxel_table *t, size_t at, int64_t key, int64_t record, const float *p) {
    if (t->count == t->most) {
        return fail_full(t);
    }
    pc_table_voxel *e = pc_table_voxel_at(t, t->count);
    memset(e, 0, t->size);
    e->key = key;
    if (t->kind == PC_TABLE_FIRST) {
        e->extra = (int32_t)record;
        memcpy(e + 1, p, (size_t)t->job->columns * sizeof *p);
    }
    t->slots[at] = (uint32_t)++t->count;
    return t->count < (int64_t)(t->slot_count / 10 * 7) ? PCGPU_OK : grow_slots(t, 2 * t->slot_count);
}

/* As pc_voxel_nearest: the first of the kept records with the least distance. */
static void compare_distance(const pc_voxel_table *t, pc_table_voxel *e, int64_t record, const float *p) {
    pc_near *near = (pc_near *)(void *)(e + 1);
    if (near->seen == pc_table_kept(t, e)) {
        return;
    }
    const float d = pc_squared_distance(p[0], p[1], p[2], near->mean[0], near->mean[1], near->mean[2]);
    if (near->seen++ == 0 || d < near->least) {
        near->least = d < near->least ? d : near->least;
        near->record = (int32_t)record;
        memcpy(near + 1, p, (size_t)t->job->columns * sizeof *p);
    }
}

static pcgpu_status add_record(pc_voxel_table *t, int64_t key, uint64_t hash, int64_t record, const float *p) {
    size_t at = hash & (t->slot_count - 1);
    while (t->slots[at] && pc_table_voxel_at(t, (int64_t)t->slots[at] - 1)->key != key) {
        at = (at + 1) & (t->slot_count - 1);
    }
    int64_t i = (int64_t)t->slots[at] - 1;
    if (i < 0) {
        i = t->count;
        pcgpu_status status = create(t, at, key, record, p);
        if (status != PCGPU_OK) {
            return status;
        }
    }
    pc_table_voxel *e = pc_table_voxel_at(t, i);
    if (t->kind == PC_TABLE_NEAREST) {
        compare_distance(t, e, record, p);
        return PCGPU_OK;
    }
    e->points++;
    if (t->kind == PC_TABLE_EXACT) {
        return add_exact(t, e, p);
    }
    float *sums = (float *)(void *)(e + 1);
    for (int k = 0; k < t->job->columns && t->kind == PC_TABLE_SUMS && e->points <= t->job->max_points; k++) {
        sums[k] += p[k];
    }
    return PCGPU_OK;
}

/* The key of a record, or -1 for one that is dropped and counted. */
static int64_t key_of(const pc_voxelize_job *job, const float *p, pcgpu_run *run) {
    if (!pc_is_finite3(p[0], p[1], p[2])) {
        run->non_finite++;
        return -1;
    }
    if (pc_is_skipped(job->skip_origin, job->skip, p)) {
        run->at_origin++;
        return -1;
    }
    return pc_point_key(&job->grid, p[0], p[1], p[2]);
}

/* Blocks of records, so that the memory of a block's voxels arrives while others are looked up. */
pcgpu_status pc_table_add_piece(pc_voxel_table *t, const pcgpu_cloud *piece, int64_t record, pcgpu_run *run) {
    pcgpu_status status = PCGPU_OK;
    for (int64_t begin = 0; begin < piece->rows && status == PCGPU_OK; begin += BLOCK) {
        const int n = piece->rows - begin < BLOCK ? (int)(piece->rows - begin) : BLOCK;
        const float *rows = piece->data + begin * piece->columns;
        int64_t keys[BLOCK];
        uint64_t hashes[BLOCK];
        for (int i = 0; i < n; i++) {
            keys[i] = key_of(t->job, rows + (int64_t)i * piece->columns, run);
            hashes[i] = pc_hash64((uint64_t)keys[i]);
            __builtin_prefetch(&t->slots[hashes[i] & (t->slot_count - 1)]);
        }
        for (int i = 0; i < n; i++) {
            const uint32_t id = t->slots[hashes[i] & (t->slot_count - 1)];
            __builtin_prefetch(pc_table_voxel_at(t, id ? (int64_t)id - 1 : 0), 1);
        }
        for (int i = 0; i < n && status == PCGPU_OK; i++) {
            if (keys[i] >= 0) {
                status = add_record(t, keys[i], hashes[i], record + begin + i, rows + (int64_t)i * piece->columns);
            }
        }
    }
    return status;
}

/* ---- means ------------------------------------------------------------------------------------------------------- */

float pc_table_mean(const pc_voxel_table *t, const pc_table_voxel *e, int k) {
    const int64_t kept = pc_table_kept(t, e);
    if (t->kind == PC_TABLE_SUMS) {
        return pc_one_nan(((const float *)(const void *)(e + 1))[k] / (float)kept);
    }
    const double sum = e->extra ? pc_exact_round(&t->exact[(int64_t)(e->extra - 1) * t->job->columns + k])
                                : ((const double *)(const void *)(e + 1))[k];
    return pc_rounded_mean(sum, kept);
}

void pc_table_seek_nearest(pc_voxel_table *t) {
    for (int64_t i = 0; i < t->count; i++) {
        pc_table_voxel *e = pc_table_voxel_at(t, i);
        const pc_near near = {.mean = {pc_table_mean(t, e, 0), pc_table_mean(t, e, 1), pc_table_mean(t, e, 2)},
                              .least = HUGE_VALF};
        memcpy(e + 1, &near, sizeof near);
    }
    t->kind = PC_TABLE_NEAREST;
}
