/* An order of points along a Morton curve (Morton 1966). The bounding box is divided into at most 2^7 cells along its
 * longest side; the bits of the three cell coordinates of a point are interleaved; these keys are sorted by a counting
 * sort in two passes. Between the passes, an item has only the upper half of a key and the index of the point, in 32
 * bits. Where many points share a cell, because an outlier extends the box, the points of the cell are sorted again
 * within their own box.
 *
 * A large cloud, or one that several threads sort, is first divided into 2^4 cells per side, by one pass with two bytes
 * per point, and then sorted in runs of neighbouring cells. Each step frees its memory before the next one begins. */
#include "sample_cpu.h"
#include "temporary.h"

#include <float.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    CACHE_LINE = 64,
    IN_FILES = 1 << 20, /* bytes; smaller arrays are always in memory */
};

void *pc_sample_allocate(const pc_sample_job *job, uint64_t bytes) {
    const uint64_t lines = (bytes + CACHE_LINE - 1) / CACHE_LINE;
    void *memory = NULL;
    if (job->files && bytes > IN_FILES) {
        return pc_allocate(job->files, bytes, 0, &memory) == PCGPU_OK ? memory : NULL;
    }
    return lines > SIZE_MAX / CACHE_LINE ? NULL : aligned_alloc(CACHE_LINE, (size_t)lines * CACHE_LINE);
}

enum {
    COARSE_BITS = 4, /* per cell coordinate */
    FINE_BITS = 7,
    MAX_DIGIT_BITS = (3 * FINE_BITS + 1) / 2,
    CELLS = 1 << 3 * COARSE_BITS,
    DIGITS = 1 << MAX_DIGIT_BITS,
    INDEX_BITS = 32 - MAX_DIGIT_BITS,
    AT_ONCE = 1 << 20, /* points that are sorted by fine cells in one step: less than INDEX_BITS hold */
    LEAST_AT_ONCE = 1 << 14,
    RUNS_PER_THREAD = 4,
    COARSE_THREADS = 4, /* fewer sort what one step can sort no faster by two */
    MOST_PARTS = 64,    /* of a pass over all points */
    OVERFULL = 1024,    /* points in a cell that make another sort worthwhile */
    BLOCK = 512,        /* keys that are computed before they are counted, in L1 */
};

/* Points to be sorted, with contiguous coordinates. */
typedef struct range {
    int64_t n;
    const float *x, *y, *z;
} range;

/* The mapping from coordinates to cell coordinates; with halves, since a difference may overflow. */
typedef struct grid {
    float half_low[3], scale, last;
} grid;

/* Consecutive points that another step sorts. */
typedef struct run {
    int64_t begin, end;
} run;

/* The work of one step. */
typedef struct step {
    pcgpu_context *context; /* NULL: one thread */
    const pc_sample_job *job;
    pc_simd simd;
    int64_t at_once; /* points per run, if not one cell has more */
    range range;
    grid grid;
    int32_t *sorted; /* n, out: indices in the range, in sorted order */
    run *runs;       /* out */
    int64_t run_count;
} step;

/* ---- keys ------------------------------------------------------------------------------------------------------ */

/* Moves bit i of a cell coordinate to bit 3 i. */
PC_INLINE uint32_t spread(uint32_t v) {
    v = (v | v << 8) & 0x0000f00fu;
    v = (v | v << 4) & 0x000c30c3u;
    return (v | v << 2) & 0x00249249u;
}

PC_INLINE uint32_t spread_cell(float v, float half_low, float scale, float last) {
    float c = (0.5f * v - half_low) * scale;
    return spread((uint32_t)(int32_t)(c < last ? c : last));
}

PC_INLINE void make_keys(const range *r, const grid *g, int64_t begin, int64_t n, uint32_t *restrict keys) {
    const float *x = r->x + begin, *y = r->y + begin, *z = r->z + begin;
    const float low_x = g->half_low[0], low_y = g->half_low[1], low_z = g->half_low[2];
    const float scale = g->scale, last = g->last;
    for (int64_t i = 0; i < n; i++) {
        keys[i] = spread_cell(x[i], low_x, scale, last) | spread_cell(y[i], low_y, scale, last) << 1 |
                  spread_cell(z[i], low_z, scale, last) << 2;
    }
}

PC_INLINE void find_bounds(const range *r, float low[3], float high[3]) {
    pc_find_bounds(r->x, r->n, &low[0], &high[0]);
    pc_find_bounds(r->y, r->n, &low[1], &high[1]);
    pc_find_bounds(r->z, r->n, &low[2], &high[2]);
}

PC_SIMD_FORMS_OF(make_keys, (const range *r, const grid *g, int64_t begin, int64_t n, uint32_t *keys),
                 (r, g, begin, n, keys))
PC_SIMD_FORMS_OF(find_bounds, (const range *r, float low[3], float high[3]), (r, low, high))

static void find_grid(step *s, int bits) {
    float low[3], high[3], side = 0.0f;
    find_bounds_for(s->simd)(&s->range, low, high);
    for (int k = 0; k < 3; k++) {
        s->grid.half_low[k] = 0.5f * low[k];
        side = fmaxf(side, 0.5f * high[k] - 0.5f * low[k]);
    }
    s->grid.last = (float)((1 << bits) - 1);
    s->grid.scale = side > 0.0f ? fminf(s->grid.last / side, FLT_MAX) : 0.0f;
}

/* ---- sorting --------------------------------------------------------------------------------------------------- */

static void counts_to_starts(uint32_t *counts, int64_t n) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t count = counts[i];
        counts[i] = sum;
        sum += count;
    }
}

/* Lists the overfull cells of the sorted range: comparing every OVERFULL-th point finds them. */
static void list_overfull(step *s, const uint32_t *keys) {
    const int64_t n = s->range.n;
    for (int64_t i = 0; i + OVERFULL < n;) {
        uint32_t key = keys[s->sorted[i]];
        if (keys[s->sorted[i + OVERFULL]] != key) {
            i += OVERFULL;
            continue;
        }
        run r = {i, i + OVERFULL};
        while (r.begin > 0 && keys[s->sorted[r.begin - 1]] == key) {
            r.begin--;
        }
        while (r.end < n && keys[s->sorted[r.end]] == key) {
            r.end++;
        }
        s->runs[s->run_count++] = r;
        i = r.end;
    }
}

/* Sorts at most AT_ONCE points; `memory` has 2 n words and those of two tables of digits. False when sampling is
 * cancelled. */
static bool sort_fine(step *s, int bits, uint32_t *memory) {
    const int64_t n = s->range.n;
    const int digit_bits = (3 * bits + 1) / 2;
    const uint32_t digit = (1u << digit_bits) - 1, slot = (1u << INDEX_BITS) - 1;
    uint32_t *keys = memory, *items = memory + n;
    uint32_t *lower = items + n, *upper = lower + DIGITS;
    memset(lower, 0, sizeof *lower << digit_bits);
    memset(upper, 0, sizeof *upper << digit_bits);
    for (int64_t i = 0; i < n;) {
        int64_t end = n - i < BLOCK ? n : i + BLOCK;
        make_keys_for(s->simd)(&s->range, &s->grid, i, end - i, keys + i);
        for (; i < end; i++) {
            lower[keys[i] & digit]++;
            upper[keys[i] >> digit_bits]++;
        }
    }
    counts_to_starts(lower, (int64_t)digit + 1);
    counts_to_starts(upper, (int64_t)digit + 1);
    if (pc_is_cancelled(s->job->poll)) {
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        items[lower[keys[i] & digit]++] = keys[i] >> digit_bits << INDEX_BITS | (uint32_t)i;
    }
    if (pc_is_cancelled(s->job->poll)) {
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        s->sorted[upper[items[i] >> INDEX_BITS]++] = (int32_t)(items[i] & slot);
    }
    list_overfull(s, keys);
    return true;
}

/* The counting sort by coarse cells; each part of the points has counts of its own. */
typedef struct coarse_sort {
    step *s;
    uint16_t *keys; /* n */
    int parts;
    uint32_t (*starts)[CELLS]; /* of each part */
} coarse_sort;

static void part_range(const coarse_sort *c, int part, int64_t *begin, int64_t *end) {
    *begin = c->s->range.n * part / c->parts;
    *end = c->s->range.n * (part + 1) / c->parts;
}

static void count_part(void *state, int part) {
    const coarse_sort *c = state;
    uint32_t *counts = c->starts[part], keys[BLOCK];
    int64_t i, end;
    part_range(c, part, &i, &end);
    memset(counts, 0, sizeof *c->starts);
    while (i < end) {
        int64_t count = end - i < BLOCK ? end - i : BLOCK;
        make_keys_for(c->s->simd)(&c->s->range, &c->s->grid, i, count, keys);
        for (int64_t k = 0; k < count; k++, i++) {
            c->keys[i] = (uint16_t)keys[k];
            counts[keys[k]]++;
        }
    }
}

static void scatter_part(void *state, int part) {
    const coarse_sort *c = state;
    uint32_t *starts = c->starts[part];
    int64_t i, end;
    part_range(c, part, &i, &end);
    for (; i < end; i++) {
        c->s->sorted[starts[c->keys[i]]++] = (int32_t)i;
    }
}

/* Sorts any number of points by coarse cells; `memory` has n. False when memory is exhausted. */
static bool sort_coarse(step *s, uint16_t *memory) {
    const int threads = s->context ? s->context->threads : 1;
    coarse_sort c = {.s = s, .keys = memory, .parts = threads < MOST_PARTS ? threads : MOST_PARTS};
    c.starts = malloc((size_t)c.parts * sizeof *c.starts);
    if (!c.starts) {
        return false;
    }
    pc_run_parts(s->context, c.parts, count_part, &c);
    if (pc_is_cancelled(s->job->poll)) {
        free(c.starts);
        return false;
    }
    run r = {0, 0};
    uint32_t sum = 0;
    for (int cell = 0; cell < CELLS; cell++) { /* a run has at_once points at most, or one larger cell */
        for (int part = 0; part < c.parts; part++) {
            const uint32_t count = c.starts[part][cell];
            c.starts[part][cell] = sum;
            sum += count;
        }
        if (r.end > r.begin && sum - r.begin > s->at_once) {
            s->runs[s->run_count++] = r;
            r.begin = r.end;
        }
        r.end = sum;
    }
    s->runs[s->run_count++] = r;
    pc_run_parts(s->context, c.parts, scatter_part, &c);
    free(c.starts);
    return true;
}

/* ---- steps ----------------------------------------------------------------------------------------------------- */

/* Enough cells that most have few points, for points on surfaces, but at most as many as the points justify. */
static int fine_bits(int64_t n) {
    int bits = 2;
    while (bits < FINE_BITS && INT64_C(1) << 3 * (bits - 1) < n) {
        bits++;
    }
    return bits;
}

/* Sorts the points of `order`; `whole`: these are all points, and `order` is not yet written. False when memory is
 * exhausted. The caller frees the runs for the next step. Not inlined, since the counters of the sorts would remain on
 * the stack of every active step. */
__attribute__((noinline)) static bool order_step(step *s, int32_t *order, int64_t n, bool whole) {
    const bool coarse = n > s->at_once;
    const int bits = coarse ? COARSE_BITS : fine_bits(n);
    const pc_sample_job *job = s->job;
    float *gathered = whole ? NULL : malloc((size_t)n * 3 * sizeof *gathered);
    int32_t *sorted = whole ? order : malloc((size_t)n * sizeof *sorted);
    const size_t bytes = coarse ? (size_t)n * sizeof(uint16_t) : ((size_t)n + DIGITS) * 2 * sizeof(uint32_t);
    void *memory = whole ? pc_sample_allocate(job, bytes) : malloc(bytes);
    s->runs = malloc((coarse ? (size_t)CELLS + 1 : (size_t)n / OVERFULL + 2) * sizeof *s->runs);
    bool ok = (gathered || whole) && sorted && memory && s->runs;
    if (ok) {
        s->range = whole ? (range){n, job->x, job->y, job->z} : (range){n, gathered, gathered + n, gathered + 2 * n};
        s->sorted = sorted;
        for (int64_t i = 0; i < n && !whole; i++) {
            gathered[i] = job->x[order[i]];
            gathered[i + n] = job->y[order[i]];
            gathered[i + 2 * n] = job->z[order[i]];
        }
        find_grid(s, bits);
        ok = coarse ? sort_coarse(s, memory) : sort_fine(s, bits, memory);
        for (int64_t i = 0; i < n && ok && !whole; i++) {
            sorted[i] = order[sorted[i]];
        }
        if (ok && !whole) {
            memcpy(order, sorted, (size_t)n * sizeof *order);
        }
    }
    free(gathered);
    free(whole ? NULL : sorted);
    pc_release(memory);
    return ok;
}

/* The runs of a step. */
typedef struct ordering {
    const step *s;
    int32_t *order;
    int64_t n;
    atomic_bool failed;
} ordering;

static bool order_range(pcgpu_context *context, const pc_sample_job *job, pc_simd simd, int32_t *order, int64_t n,
                        bool whole);

/* Sorts a run of cells. A run with all points of the range cannot be divided further and remains unchanged. */
static void order_run(void *state, int64_t begin, int64_t end) {
    ordering *o = state;
    for (int64_t k = begin; k < end; k++) {
        const run *r = &o->s->runs[k];
        const int64_t count = r->end - r->begin;
        if (pc_is_cancelled(o->s->job->poll) ||
            (count < o->n && !order_range(NULL, o->s->job, o->s->simd, o->order + r->begin, count, false))) {
            atomic_store(&o->failed, true);
        }
    }
}

static bool order_range(pcgpu_context *context, const pc_sample_job *job, pc_simd simd, int32_t *order, int64_t n,
                        bool whole) {
    step s = {.context = context, .job = job, .simd = simd, .at_once = AT_ONCE};
    if (context && context->threads >= COARSE_THREADS && n / (RUNS_PER_THREAD * context->threads) < AT_ONCE) {
        s.at_once = n / (RUNS_PER_THREAD * context->threads);
        s.at_once = s.at_once > LEAST_AT_ONCE ? s.at_once : LEAST_AT_ONCE;
    }
    ordering o = {.s = &s, .order = order, .n = n};
    const bool ok = order_step(&s, order, n, whole);
    if (ok) {
        pc_run_ranges(context, s.run_count, 1, order_run, &o);
    }
    free(s.runs);
    return ok && !atomic_load(&o.failed);
}

bool pc_sample_order(pcgpu_context *context, const pc_sample_job *job, pc_simd simd, int32_t *order) {
    return order_range(context, job, simd, order, job->n, true);
}
