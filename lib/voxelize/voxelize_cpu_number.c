/* Ids of voxels in the order of their first records: the cell of each record is looked up in a hash table of the voxels
 * so far.
 *
 * One thread begins with all records. Another thread that becomes free splits off the upper half of the longest
 * remaining part and assigns local ids to its voxels. If no processor is free, the first thread processes all records.
 * The results of the parts are merged at the end (voxelize_cpu_merge.c); the result does not depend on the parts. */
#include "voxelize_cpu.h"

#include <stdatomic.h>

enum { AHEAD = 16 }; /* slots of the table that are being prefetched */

/* ---- one part -------------------------------------------------------------------------------------------------- */

static void number_block(pc_voxel_list *all, const pc_cells *cells, int32_t row, int32_t *numbers) {
    pc_voxel_list list = *all; /* of this thread alone, in registers */
    const size_t mask = list.slots - 1;
    for (int32_t k = 0; k < cells->count; k++) {
        const int32_t i = cells->place[k];
        const int32_t ahead = cells->place[k + AHEAD < cells->count ? k + AHEAD : k];
        __builtin_prefetch(&list.table[cells->hash[ahead] & mask]);
        numbers[i] = (int32_t)pc_list_add(&list, cells->key[i], cells->hash[i], row + i, 1) - 1;
    }
    all->found = list.found;
}

static bool number_rows(const pc_voxelize_job *job, pc_find_cells_fn *find, int64_t row, int32_t n, int32_t *numbers,
                        pc_voxel_list *list, pc_drops *drops) {
    pc_cells cells;
    find(job, &list->layout, row, n, &cells, drops);
    if (cells.count < n) {
        memset(numbers + row, 0xff, (size_t)n * sizeof *numbers);
    }
    if (!pc_list_reserve(list, (size_t)cells.count)) {
        return false;
    }
    number_block(list, &cells, (int32_t)row, numbers + row);
    return true;
}

/* The remaining records of a part: the first in the upper 32 bits, the end in the lower ones. The owner takes records
 * from the front; other threads may split off the back. */
typedef struct rest {
    _Atomic uint64_t rows;
    char padding[56]; /* a cache line of its own */
} rest;

static uint64_t pack_rows(int64_t begin, int64_t end) {
    return (uint64_t)begin << 32 | (uint64_t)end;
}

static int64_t front_of(uint64_t rows) {
    return (int64_t)(rows >> 32);
}

static int64_t rows_in(uint64_t rows) {
    return (int64_t)(rows & 0xffffffffu) - front_of(rows);
}

typedef struct numberer {
    const pc_voxelize_job *job;
    const pc_voxelize_form *form;
    pc_find_cells_fn *find;
    pc_cell_layout layout;
    pc_voxel_scratch *scratch;
    int32_t *numbers;
    int threads; /* number of useful threads */
    int parts;   /* at the most */
    rest left[PC_VOXEL_PARTS];
    int64_t begin[PC_VOXEL_PARTS]; /* first record, or -1 for an unused part */
    pc_drops drops[PC_VOXEL_PARTS];
    bool failed[PC_VOXEL_PARTS];
} numberer;

/* Assigns the upper half of the longest remaining part to part p; false when no part is long enough. */
static bool cut_off(numberer *n, int p) {
    while (true) {
        uint64_t longest = 0;
        int from = 0;
        for (int i = 0; i < n->parts; i++) {
            uint64_t rows = atomic_load(&n->left[i].rows);
            if (rows_in(rows) > rows_in(longest)) {
                longest = rows;
                from = i;
            }
        }
        const int64_t half = rows_in(longest) / 2, begin = front_of(longest) + rows_in(longest) - half;
        if (half < n->form->part_rows) {
            return false;
        }
        if (atomic_compare_exchange_strong(&n->left[from].rows, &longest, pack_rows(front_of(longest), begin))) {
            n->begin[p] = begin;
            atomic_store(&n->left[p].rows, pack_rows(begin, begin + half));
            return true;
        }
    }
}

/* Takes the next records of part p, from *row on; returns how many. */
static int32_t take_rows(numberer *n, int p, int64_t *row) {
    uint64_t rows = atomic_load(&n->left[p].rows);
    int64_t count;
    do {
        count = rows_in(rows) < PC_CELL_BLOCK ? rows_in(rows) : PC_CELL_BLOCK;
        *row = front_of(rows);
    } while (!atomic_compare_exchange_weak(&n->left[p].rows, &rows, rows + ((uint64_t)count << 32)));
    return (int32_t)count;
}

static void number_part(void *state, int p) {
    numberer *n = state;
    if (n->begin[p] < 0 && !cut_off(n, p)) {
        return;
    }
    pc_voxel_list *list = &n->scratch->part[p].list;
    pc_drops drops = {0, 0}; /* on a cache line of this thread */
    int64_t row;
    bool ok = pc_list_start(list, &n->layout, rows_in(atomic_load(&n->left[p].rows)));
    for (int32_t count; ok && (count = take_rows(n, p, &row)) > 0;) {
        ok = number_rows(n->job, n->find, row, count, n->numbers, list, &drops);
    }
    n->drops[p] = drops;
    n->failed[p] = !ok;
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

/* The used parts, in the order of their records. */
static void order_parts(numberer *n, pc_numbered *out) {
    struct pc_voxel_part *part = n->scratch->part;
    out->parts = 0;
    for (int p = 0; p < n->parts; p++) {
        int i = out->parts;
        if (n->begin[p] < 0) {
            continue;
        }
        out->begin[out->parts++] = n->begin[p];
        if (i < p) {
            const struct pc_voxel_part moved = part[i];
            part[i] = part[p];
            part[p] = moved;
        }
        for (; i > 0 && out->begin[i - 1] > out->begin[i]; i--) {
            const struct pc_voxel_part moved = part[i];
            const int64_t begin = out->begin[i];
            part[i] = part[i - 1];
            part[i - 1] = moved;
            out->begin[i] = out->begin[i - 1];
            out->begin[i - 1] = begin;
        }
    }
    out->begin[out->parts] = n->job->rows;
}

/* The initial number of parts: one, which other threads split, unless the variant fixes the number; and the maximum,
 * which exceeds the number of threads, so that a free thread can take over from one that makes no progress. */
static void start_parts(numberer *n) {
    const int64_t rows = n->job->rows, most = rows / n->form->part_rows;
    const int fixed = n->form->parts, wanted = 4 * n->threads;
    n->parts = fixed ? fixed : n->threads == 1 ? 1 : most < wanted ? (int)most : wanted;
    n->parts = n->parts < PC_VOXEL_PARTS ? n->parts : PC_VOXEL_PARTS;
    for (int p = 0; p < n->parts; p++) {
        const int64_t begin = fixed ? rows * p / n->parts : 0, end = fixed ? rows * (p + 1) / n->parts : rows;
        n->begin[p] = fixed || p == 0 ? begin : -1;
        atomic_store(&n->left[p].rows, fixed || p == 0 ? pack_rows(begin, end) : 0);
    }
}

bool pc_number_voxels(const pc_voxelize_job *job, const pc_voxelize_form *form, pc_voxel_scratch *scratch,
                      int32_t *numbers, pc_numbered *out) {
    numberer n = {.job = job,
                  .form = form,
                  .find = pc_find_cells_form(form->simd),
                  .layout = pc_cell_layout_of(&job->grid),
                  .scratch = scratch,
                  .numbers = numbers};
    const int64_t useful = job->rows / form->part_rows;
    const int threads = pc_team_threads(scratch->team);
    n.threads = useful < 1 ? 1 : useful < threads ? (int)useful : threads;
    start_parts(&n);
    *out = (pc_numbered){.threads = n.threads};
    pc_team_run(scratch->team, n.parts, number_part, &n);
    for (int p = 0; p < n.parts; p++) {
        out->drops.non_finite += n.drops[p].non_finite;
        out->drops.at_origin += n.drops[p].at_origin;
        if (n.failed[p]) {
            return false;
        }
    }
    order_parts(&n, out);
    if (out->parts > 1) {
        return pc_merge_parts(scratch, out);
    }
    out->voxels = scratch->part[0].list.voxels + 1;
    out->found = scratch->part[0].list.found;
    return true;
}
