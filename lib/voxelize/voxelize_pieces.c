/* Voxels of a file that is read in pieces, in one pass: a hash table has a voxel for each cell that was met, in the order of
 * their first records, which is that of the result. The memory follows the voxels, not the points.
 *
 * The bytes are those of the whole file: the grid has the bounds of all pieces; with max_points a voxel adds its first points
 * in float32 in the order of the records; without, its sums are exact (voxelize_sum.h): float64 as long as each addition is
 * exact, which is nearly always, and then fixed point, which continues from the float64 sum. */
#include "voxelize_grid.h"
#include "voxelize_math.h"

#include <stdlib.h>

enum { BLOCK = 64, FIRST_SLOTS = 1 << 12 };

/* A voxel of the table; its values follow: float64 sums, or float32 sums with max_points, or the first record. */
typedef struct entry {
    int64_t key; /* of its cell */
    int32_t points;
    int32_t extra; /* the record that is first; or 1 + the index of its sums in fixed point, 0: none */
} entry;

typedef struct voxel_table {
    pcgpu_context *context;
    const pc_voxelize_job *job;
    bool wide, first;       /* exact sums; the first record in place of sums */
    size_t size;            /* bytes of an entry with its values */
    int64_t count, most;    /* voxels, and how many the memory holds */
    size_t memory;
    unsigned char *entries;
    uint32_t *slots;        /* 1 + the index of an entry, or 0; at most 7 of 10 are used */
    size_t slot_count;      /* a power of 2 */
    pc_exact_sum *exact;    /* `columns` for each voxel that needs them */
    int64_t exact_count, exact_capacity;
} voxel_table;

static entry *entry_at(const voxel_table *t, int64_t i) {
    return (entry *)(void *)(t->entries + (size_t)i * t->size);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* How many voxels the memory holds, their slots included. */
static int64_t most_voxels(const voxel_table *t, int64_t rows, bool arrays) {
    const size_t each = t->size + (arrays ? 5 * sizeof(int32_t) : 0) + (t->first ? sizeof(int32_t) : 0);
    int64_t most = 0;
    for (size_t slots = FIRST_SLOTS; slots * sizeof(uint32_t) < t->memory && slots <= (size_t)1 << 32; slots *= 2) {
        const size_t fit = (t->memory - slots * sizeof(uint32_t)) / each, use = slots / 10 * 7;
        const int64_t voxels = (int64_t)(fit < use ? fit : use);
        most = voxels > most ? voxels : most;
    }
    return most < rows ? most : rows;
}

static pcgpu_status fail_full(const voxel_table *t) {
    return pc_fail(t->context, PCGPU_ERROR_MEMORY,
                   "there are more voxels than the %.4g GB of memory hold, after %lld voxels; give more by --memory, larger voxels, "
                   "or parts of the range",
                   (double)t->memory / 1e9, (long long)t->count);
}

/* The table may grow while the old slots are gone: the entries have the keys. */
static pcgpu_status grow_slots(voxel_table *t, size_t slots) {
    free(t->slots);
    t->slots = calloc(slots, sizeof *t->slots);
    if (!t->slots) {
        return pc_fail_memory(t->context, slots * sizeof *t->slots, "the voxels' hash table");
    }
    t->slot_count = slots;
    for (int64_t i = 0; i < t->count; i++) {
        size_t at = pc_hash64((uint64_t)entry_at(t, i)->key) & (slots - 1);
        while (t->slots[at]) {
            at = (at + 1) & (slots - 1);
        }
        t->slots[at] = (uint32_t)i + 1;
    }
    return PCGPU_OK;
}

static pcgpu_status open_table(voxel_table *t, int64_t rows, bool arrays) {
    const size_t values = (size_t)t->job->columns * (t->wide ? sizeof(double) : sizeof(float));
    t->size = (sizeof(entry) + values + 7) / 8 * 8;
    t->most = most_voxels(t, rows, arrays);
    const size_t bytes = (size_t)(t->most > 0 ? t->most : 1) * t->size;
    t->entries = malloc(bytes); /* what is not touched takes no memory */
    return t->entries ? grow_slots(t, FIRST_SLOTS) : pc_fail_memory(t->context, bytes, "the voxels");
}

static void close_table(voxel_table *t) {
    free(t->entries);
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
static pcgpu_status widen(voxel_table *t, entry *e, const double *sums) {
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

static pcgpu_status add_wide(voxel_table *t, entry *e, const float *p) {
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

static pcgpu_status create(voxel_table *t, size_t at, int64_t key, int64_t record, const float *p) {
    if (t->count == t->most) {
        return fail_full(t);
    }
    entry *e = entry_at(t, t->count);
    memset(e, 0, t->size);
    e->key = key;
    if (t->first) {
        e->extra = (int32_t)record;
        memcpy(e + 1, p, (size_t)t->job->columns * sizeof *p);
    }
    t->slots[at] = (uint32_t)++t->count;
    return t->count < (int64_t)(t->slot_count / 10 * 7) ? PCGPU_OK : grow_slots(t, 2 * t->slot_count);
}

static pcgpu_status add_record(voxel_table *t, int64_t key, uint64_t hash, int64_t record, const float *p) {
    size_t at = hash & (t->slot_count - 1);
    while (t->slots[at] && entry_at(t, (int64_t)t->slots[at] - 1)->key != key) {
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
    entry *e = entry_at(t, i);
    e->points++;
    if (t->wide) {
        return add_wide(t, e, p);
    }
    float *sums = (float *)(void *)(e + 1);
    for (int k = 0; k < t->job->columns && !t->first && e->points <= t->job->max_points; k++) {
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
static pcgpu_status add_piece(voxel_table *t, const pcgpu_cloud *piece, int64_t record, pcgpu_run *run) {
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
            __builtin_prefetch(entry_at(t, id ? (int64_t)id - 1 : 0), 1);
        }
        for (int i = 0; i < n && status == PCGPU_OK; i++) {
            if (keys[i] >= 0) {
                status = add_record(t, keys[i], hashes[i], record + begin + i, rows + (int64_t)i * piece->columns);
            }
        }
    }
    return status;
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

static void count_points(const voxel_table *t, pcgpu_voxels *out) {
    const pc_voxelize_job *job = t->job;
    out->voxels_found = t->count;
    out->count = job->max_voxels && job->max_voxels < t->count ? job->max_voxels : t->count;
    for (int64_t i = 0; i < t->count; i++) {
        const int64_t points = entry_at(t, i)->points;
        const int64_t kept = i >= out->count ? 0 : job->max_points && job->max_points < points ? job->max_points : points;
        out->in_range += points;
        out->largest = points > out->largest ? points : out->largest;
        out->kept += kept;
        out->over_points += i < out->count ? points - kept : 0;
    }
    out->over_voxels = out->in_range - out->kept - out->over_points;
}

static void finish_voxel(const voxel_table *t, int64_t i, pcgpu_voxels *out) {
    const pc_voxelize_job *job = t->job;
    const entry e = *entry_at(t, i);
    const int64_t kept = job->max_points && job->max_points < e.points ? job->max_points : e.points;
    const double *wide = (const double *)(void *)(entry_at(t, i) + 1);
    const float *narrow = (const float *)(void *)(entry_at(t, i) + 1);
    float row[PCGPU_MAX_COLUMNS];
    for (int k = 0; k < job->columns && !t->first; k++) {
        row[k] = !t->wide  ? pc_one_nan(narrow[k] / (float)kept)
                 : e.extra ? pc_rounded_mean(pc_exact_round(&t->exact[(int64_t)(e.extra - 1) * job->columns + k]), kept)
                           : pc_rounded_mean(wide[k], kept);
    }
    if (out->counts) {
        const int64_t x = (int64_t)job->grid.cells[0], y = (int64_t)job->grid.cells[1];
        const int32_t coords[4] = {0, (int32_t)(e.key / x / y), (int32_t)(e.key / x % y), (int32_t)(e.key % x)};
        memcpy(out->coords + 4 * i, coords, sizeof coords);
        out->counts[i] = (int32_t)kept;
    }
    if (t->first) {
        out->selected[i] = e.extra;
        memcpy(row, narrow, (size_t)job->columns * sizeof *row);
    }
    /* over the entries that are done: a row of features is shorter than an entry */
    memcpy(t->entries + (size_t)i * (size_t)job->columns * sizeof *row, row, (size_t)job->columns * sizeof *row);
}

/* Turns the table into the result; its memory becomes that of the features. */
static pcgpu_status finish(voxel_table *t, bool arrays, pcgpu_voxels *out) {
    count_points(t, out);
    const size_t voxels = out->count > 0 ? (size_t)out->count : 1;
    const size_t bytes = voxels * (size_t)t->job->columns * sizeof *out->features;
    free(t->slots);
    t->slots = NULL;
    out->capacity = 1;
    out->columns = t->job->columns;
    out->coords = arrays ? malloc(voxels * 4 * sizeof *out->coords) : NULL;
    out->counts = arrays ? malloc(voxels * sizeof *out->counts) : NULL;
    out->selected = t->first ? malloc(voxels * sizeof *out->selected) : NULL;
    if ((arrays && (!out->coords || !out->counts)) || (t->first && !out->selected)) {
        return pc_fail_memory(t->context, voxels * 24, "the voxels");
    }
    for (int64_t i = 0; i < out->count; i++) {
        finish_voxel(t, i, out);
    }
    void *smaller = realloc(t->entries, bytes);
    out->features = smaller ? smaller : (void *)t->entries;
    t->entries = NULL;
    return PCGPU_OK;
}

/* The bounds of all pieces. */
static pcgpu_status survey_pieces(pcgpu_pieces *pieces, pc_voxelize_job *job, pc_survey *found) {
    pcgpu_cloud piece;
    pcgpu_status status;
    *found = (pc_survey){{HUGE_VALF, HUGE_VALF, HUGE_VALF}, {-HUGE_VALF, -HUGE_VALF, -HUGE_VALF}};
    while ((status = pcgpu_pieces_next(pieces, &piece)) == PCGPU_OK && piece.rows > 0) {
        job->data = piece.data;
        const pc_survey part = pc_survey_rows(job, 0, piece.rows);
        pc_survey_join(found, &part);
    }
    return status;
}

static pcgpu_status add_pieces(voxel_table *t, pcgpu_pieces *pieces, pcgpu_run *run) {
    pcgpu_cloud piece;
    pcgpu_status status;
    int64_t record = 0;
    while ((status = pcgpu_pieces_next(pieces, &piece)) == PCGPU_OK && piece.rows > 0 &&
           (status = add_piece(t, &piece, record, run)) == PCGPU_OK) {
        record += piece.rows;
    }
    return status;
}

pcgpu_status pcgpu_voxelize_pieces(pcgpu_context *context, pcgpu_pieces *pieces, const pcgpu_voxelize_params *params,
                                   size_t memory, bool arrays, pcgpu_voxels *result) {
    pcgpu_cloud whole;
    pc_survey found = {{0}, {0}};
    double begin = pc_now();
    memset(result, 0, sizeof *result);
    pcgpu_pieces_describe(pieces, &whole);
    pcgpu_status status = pc_voxelize_check(context, &whole, params);
    if (status != PCGPU_OK) {
        return status;
    }
    if (params->features != PCGPU_FEATURES_MEAN && params->features != PCGPU_FEATURES_FIRST) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "a file in pieces has the features mean and first; give one of them, or more "
                                                      "memory");
    }
    pc_voxelize_job job = {.rows = whole.rows,
                           .columns = whole.columns,
                           .max_points = params->max_points,
                           .max_voxels = params->max_voxels,
                           .features = params->features};
    const bool first = params->features == PCGPU_FEATURES_FIRST;
    voxel_table t = {
        .context = context, .job = &job, .first = first, .wide = !first && params->max_points == 0, .memory = memory};
    pc_voxelize_set_skip(&whole, params, &job);
    status = params->range_auto ? survey_pieces(pieces, &job, &found) : PCGPU_OK;
    status = status == PCGPU_OK ? pc_voxelize_grid(context, &whole, params, &found, &job.grid, result->range) : status;
    pc_stage(&result->run, "select", begin);
    begin = pc_now();
    status = status == PCGPU_OK ? open_table(&t, whole.rows, arrays) : status;
    status = status == PCGPU_OK ? add_pieces(&t, pieces, &result->run) : status;
    status = status == PCGPU_OK ? finish(&t, arrays, result) : status;
    close_table(&t);
    if (status != PCGPU_OK) {
        pcgpu_voxels_free(result);
        return status;
    }
    pc_stage(&result->run, "voxelize", begin);
    result->run.points_in = whole.rows;
    result->run.threads = 1;
    result->out_of_range = whole.rows - result->run.non_finite - result->run.at_origin - result->in_range;
    for (int k = 0; k < 3; k++) {
        result->cells[k] = (int32_t)job.grid.cells[k];
    }
    snprintf(result->run.backend, sizeof result->run.backend, "cpu");
    snprintf(result->run.device, sizeof result->run.device, "%s", context->cpu_name);
    snprintf(result->run.reason, sizeof result->run.reason, "the file is read in pieces");
    return PCGPU_OK;
}
