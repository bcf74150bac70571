/* Variants `direct` and `hash` of voxelization: memory for the kernels of voxelize_hashed.cuh, and the result. */
#include "voxelize_cuda.h"
#include "voxelize_launch.cuh"

/* The features of all voxels that there may be, up to this size, are allocated before their number is known. */
static const double most_ahead = PC_VOXELIZE_AHEAD;

void pc_voxelize_end(pcgpu_context *context) {
    table *t = (table *)pc_cuda_of(context)->voxels;
    if (t) {
        free_table(t);
        free(t);
        pc_cuda_of(context)->voxels = NULL;
    }
}

/* ---- a call --------------------------------------------------------------------------------------------------- */

static pcgpu_status begin_call(pcgpu_context *context, call *c) {
    PC_TRY(count_call(context, c->of));
    if (c->dense) {
        c->told.calls = ++c->of->dense;
    } else if (c->told.finishes) {
        c->told.calls = c->of->calls;
    }
    c->told.turn = c->of->turn = 1 - c->of->turn;
    return PCGPU_OK;
}

static pcgpu_status prepare(pcgpu_context *context, void *state) {
    call *c = (call *)state;
    PC_TRY(begin_call(context, c));
    if (c->chain) {
        PC_TRY(add_kernels(context, c));
    }
    return PCGPU_OK;
}

static pcgpu_status work(pcgpu_context *context, void *state) {
    const call *c = (const call *)state;
    if (c->chain) {
        CUDA_TRY(context, pc_chain_launch(c->chain, pc_cuda_of(context)->stream));
        return PCGPU_OK;
    }
    return add_kernels(context, c);
}

/* ---- the result ------------------------------------------------------------------------------------------------- */

static int width_of(const pc_voxelize_job *job) {
    return job->features == PCGPU_FEATURES_PILLAR ? (int)PC_PILLAR_COLUMNS : job->columns;
}

static int64_t values_of(const pc_voxelize_job *job, int64_t voxels) {
    const bool padded = job->features == PCGPU_FEATURES_POINTS || job->features == PCGPU_FEATURES_PILLAR;
    return voxels * (padded ? job->max_points : 1) * width_of(job);
}

/* Features on the device for that many voxels. */
static pcgpu_status take_result(pcgpu_context *context, const pc_voxelize_job *job, const pc_voxelize_clock *clock,
                                int64_t voxels, pc_hashed *s) {
    const bool selects = job->features == PCGPU_FEATURES_FIRST || job->features == PCGPU_FEATURES_NEAREST;
    PC_TRY(pc_voxelize_take(context, values_of(job, voxels), &s->features));
    if (selects) {
        PC_TRY(pc_voxelize_take(context, voxels, &s->selected));
    }
    if (job->features == PCGPU_FEATURES_MEAN) {
        s->means = s->features;
    } else if (clock && clock->means) {
        PC_TRY(pc_voxelize_take(context, voxels * job->columns, &s->means));
    }
    return PCGPU_OK;
}

static void describe(const pc_voxelize_job *job, const pc_voxelize_counters *counters, int turn, pcgpu_voxels *out) {
    pc_voxelize_sums all = {0, 0, 0, 0, 0, 0};
    for (int i = 0; i < PC_SUMS; i++) {
        const pc_voxelize_sums *some = &counters->sums[turn][i];
        all.non_finite += some->non_finite;
        all.at_origin += some->at_origin;
        all.in_range += some->in_range;
        all.under_limit += some->under_limit;
        all.kept += some->kept;
        all.largest = all.largest > some->largest ? all.largest : some->largest;
    }
    out->voxels_found = counters->found;
    out->count = job->max_voxels && job->max_voxels < out->voxels_found ? job->max_voxels : out->voxels_found;
    out->run.non_finite = (int64_t)all.non_finite;
    out->run.at_origin = (int64_t)all.at_origin;
    out->in_range = (int64_t)all.in_range;
    out->kept = (int64_t)all.kept;
    out->over_points = (int64_t)(all.under_limit - all.kept);
    out->over_voxels = (int64_t)(all.in_range - all.under_limit);
    out->largest = (int64_t)all.largest;
}

static pcgpu_status bring_down(pcgpu_context *context, const pc_voxelize_job *job, const pc_voxelize_clock *clock,
                               const pc_hashed *s, const pc_voxelize_counters *counters, pcgpu_voxels *out) {
    describe(job, counters, s->turn, out);
    PC_TRY(pc_voxels_allocate(context, job, job->max_points, out));
    const size_t voxels = (size_t)out->count;
    PC_TRY(pc_cuda_down(context, out->point_voxel, s->point_voxel, (size_t)job->rows * sizeof(int32_t)));
    PC_TRY(pc_cuda_down(context, out->counts, s->counts, voxels * sizeof(int32_t)));
    PC_TRY(pc_cuda_down(context, out->coords, s->coords, voxels * 4 * sizeof(int32_t)));
    PC_TRY(pc_cuda_down(context, out->features, s->features, (size_t)values_of(job, out->count) * sizeof(float)));
    if (out->selected) {
        PC_TRY(pc_cuda_down(context, out->selected, s->selected, voxels * sizeof(int32_t)));
    }
    if (clock && clock->means) {
        PC_TRY(pc_cuda_down(context, clock->means, s->means, voxels * (size_t)job->columns * sizeof(float)));
    }
    return PCGPU_OK;
}

/* ---- the call --------------------------------------------------------------------------------------------------- */

/* Sizes whose inverse is a normal number, with room for products; others are divided by. */
static void take_grid(const pc_grid *grid, pc_hashed *s) {
    s->grid = *grid;
    for (int k = 0; k < 3; k++) {
        const bool normal = grid->size[k] > 0x1p-100f && grid->size[k] < 0x1p100f;
        s->inverse[k] = normal ? 1.0f / grid->size[k] : NAN;
    }
}

/* The lists of insert_many: no more records of a block than it looks at. *listed: what all have room for. */
static pcgpu_status take_lists(pcgpu_context *context, int64_t rows, pc_lists *l, int64_t *listed) {
    const unsigned blocks = inserts_of(context, rows, true);
    l->room = pc_blocks(pc_blocks(rows, PC_INSERT_THREADS), (int)blocks) * PC_INSERT_THREADS;
    *listed = (int64_t)blocks * l->room;
    PC_TRY(pc_voxelize_take(context, blocks, &l->count));
    PC_TRY(pc_voxelize_take(context, blocks, &l->begun));
    PC_TRY(pc_voxelize_take(context, *listed, &l->record));
    PC_TRY(pc_voxelize_take(context, words_of_lists(rows), &l->begins));
    return pc_voxelize_take(context, words_of_lists(rows), &l->before);
}

/* What does not depend on the slots, with lists or without. */
static pcgpu_status take_rows(pcgpu_context *context, const pc_voxelize_job *job, uint64_t buckets, call *c) {
    pc_hashed *s = &c->told;
    int64_t listed = job->rows;
    memset(s, 0, sizeof *s);
    take_grid(&job->grid, s);
    s->skip_origin = job->skip_origin;
    memcpy(s->skip, job->skip, sizeof s->skip);
    s->aligned = job->columns == 4;
    s->rows = (uint32_t)job->rows;
    s->columns = job->columns;
    s->all = job->max_points == 0;
    s->kept = s->all ? (int)PC_SLOT_ROWS : (int)job->max_points;
    s->most = job->max_voxels ? (uint32_t)job->max_voxels : ~0u;
    s->kind = job->features;
    if (c->many) {
        PC_TRY(take_lists(context, job->rows, &c->lists, &listed));
    }
    if (!c->dense) {
        PC_TRY(pc_voxelize_take(context, listed, &s->place));
    }
    if (buckets > 0) {
        s->finishes = !c->dense;
        s->bucket_mask = (uint32_t)(buckets - 1);
    } else {
        PC_TRY(pc_voxelize_take(context, listed, &s->rank));
    }
    PC_TRY(pc_voxelize_take(context, listed, &s->late_rows));
    if (job->rows >= SMALL && !c->many) {
        PC_TRY(pc_voxelize_take(context, (job->rows + 31) / 32, &s->marks));
    }
    PC_TRY(pc_voxelize_take(context, job->rows, &s->point_voxel));
    return pc_voxelize_up(context, job, &s->data);
}

/* What does, after rows. What has been taken for fewer slots is far smaller, and stays until the next call; the few
 * tables that a call tries take no more blocks than the arena has. */
static pcgpu_status take_slots(pcgpu_context *context, const pc_voxelize_job *job, const table *t, int64_t room,
                               bool dense, pc_hashed *s) {
    s->room = (uint32_t)room;
    s->mask = (uint32_t)(t->slots - 1);
    s->slots = (pc_slot *)t->array[SLOTS];
    s->more = (uint32_t *)t->array[MORE];
    s->late = (uint2 *)t->array[LATE];
    s->counters = (pc_voxelize_counters *)t->array[COUNTERS];
    if (dense) {
        s->cells = (pc_cell *)t->array[CELLS];
        s->cell_rows = (uint32_t *)t->array[CELL_ROWS];
        s->found = (uint32_t *)t->array[FOUND];
    }
    if (s->finishes || dense) {
        s->bucket_keys = (unsigned long long *)t->array[dense ? CELL_BUCKETS : BUCKET_KEYS];
        s->bucket_rows = (uint32_t *)t->array[BUCKET_ROWS];
        if (dense) {
            s->begins = (pc_beginnings *)t->array[BEGINS];
        } else {
            s->words = (uint32_t *)t->array[WORDS];
        }
    } else {
        s->tiles = (unsigned long long *)t->array[TILES];
        PC_TRY(pc_voxelize_take(context, room, &s->voxels));
    }
    PC_TRY(pc_voxelize_take(context, result_of(job, room) * 4, &s->coords));
    return pc_voxelize_take(context, result_of(job, room), &s->counts);
}

/* The features of all voxels that there may be are not too large to be allocated before their number is known. */
static bool fits_ahead(const pc_voxelize_job *job, int64_t room) {
    return (double)values_of(job, 1) * (double)result_of(job, room) * sizeof(float) <= most_ahead;
}

/* What the call has counted. *full: the table was too small, and there is no result. */
static pcgpu_status read_counters(pcgpu_context *context, const pc_hashed *s, pc_voxelize_counters *counters,
                                  bool *full) {
    PC_TRY(pc_cuda_down(context, counters, s->counters, sizeof *counters));
    *full = counters->full != 0;
    return PCGPU_OK;
}

/* The features are allocated ahead, or when the number of voxels is known. A table that is too small is not timed;
 * where a cell finds its slot depends on the order of the records, so one that was just large enough may be too small
 * later. */
static pcgpu_status run(pcgpu_context *context, const pc_voxelize_job *job, const pc_voxelize_clock *clock, call *c,
                        pcgpu_voxels *out, bool *full) {
    pc_hashed *s = &c->told;
    pc_voxelize_counters counters;
    const bool ahead = fits_ahead(job, s->room);
    if (ahead) {
        PC_TRY(take_result(context, job, clock, result_of(job, s->room), s));
        PC_TRY(pc_voxelize_repeat(context, NULL, prepare, work, c));
    } else {
        PC_TRY(begin_call(context, c));
        PC_TRY(add_insert(context, c));
        PC_TRY(add_number(context, c));
    }
    PC_TRY(read_counters(context, s, &counters, full));
    if (!*full && !ahead) {
        PC_TRY(take_result(context, job, clock, result_of(job, counters.found), s));
        PC_TRY(add_fill(context, c));
    }
    if (!*full && clock) {
        PC_TRY(pc_voxelize_repeat(context, clock, prepare, work, c));
        PC_TRY(read_counters(context, s, &counters, full));
    }
    return *full ? PCGPU_OK : bring_down(context, job, clock, s, &counters, out);
}

/* finish can do the job, and well: with more points of a voxel, tiles have too different amounts of work. */
static bool finishes(const pc_voxelize_job *job) {
    return job->columns == 4 && job->max_points > 0 && job->max_points <= PC_FEW_POINTS &&
           (job->features == PCGPU_FEATURES_MEAN || job->features == PCGPU_FEATURES_POINTS);
}

/* A single scan, whose features are allocated before the number of voxels is known. */
static bool is_scan(const pc_voxelize_job *job) {
    return job->rows < SMALL && fits_ahead(job, most_voxels(job, cells_in(job)));
}

static int chain_of(const call *c) {
    return c->dense ? CHAIN_DENSE : c->told.all ? CHAIN_ALL : c->told.finishes ? CHAIN_FINISH : CHAIN_LIMIT;
}

static pcgpu_status run_cells(pcgpu_context *context, const pc_voxelize_job *job, const pc_voxelize_clock *clock,
                              bool direct, pcgpu_voxels *out, bool *done) {
    const double cells = cells_in(job);
    const bool few = is_scan(job);
    table *t = NULL;
    call c;
    bool full = false;
    PC_TRY(table_of(context, &t));
    t->tries = 0;
    c.dense = direct;
    const uint64_t buckets = direct || (few && finishes(job)) ? buckets_of(job->rows, job->max_points) : 0;
    do {
        const uint64_t slots = direct ? (uint64_t)cells
                               : full ? more_slots(job, cells, t->slots)
                                      : first_slots(job, cells, t);
        c.many = job->rows >= LARGE && job->max_points > 0 && cells_of(&job->grid, slots, &c.cells);
        PC_TRY(prepare_table(context, job, slots, buckets, c.many, direct, full, t, done));
        if (!*done) {
            return PCGPU_OK;
        }
        c.cells.notes = (unsigned long long *)t->array[NOTES];
        if (!full) {
            PC_TRY(pc_arena_reset(context, &pc_cuda_of(context)->arena));
            PC_TRY(take_rows(context, job, buckets, &c));
            c.of = t;
            c.chain = few ? &t->chains[chain_of(&c)] : NULL;
        }
        t->slots = slots;
        t->tries++;
        t->in_use = true;
        PC_TRY(take_slots(context, job, t, room_of(job, cells, slots), direct, &c.told));
        PC_TRY(run(context, job, clock, &c, out, &full));
    } while (full);
    t->in_use = false;
    t->found = job->rows < SMALL ? t->found : (uint64_t)out->voxels_found;
    return PCGPU_OK;
}

/* ---- the variants ----------------------------------------------------------------------------------------------- */

static bool hash_fits(const pc_voxelize_job *job) {
    const bool padded = job->features == PCGPU_FEATURES_POINTS || job->features == PCGPU_FEATURES_PILLAR;
    return job->max_points <= PC_MOST_KEPT && !(padded && job->max_points == 0) && job->columns <= PC_MOST_COLUMNS &&
           cells_in(job) < (double)PC_NO_KEY && slots_of(job, cells_in(job)) > 0;
}

/* The grid takes no more memory than a hash table would, and dense_fill has the features. */
static bool direct_fits(const pc_voxelize_job *job) {
    return hash_fits(job) && is_scan(job) && cells_in(job) <= (double)slots_of(job, cells_in(job)) &&
           job->max_points > 0 && job->features != PCGPU_FEATURES_FIRST && job->features != PCGPU_FEATURES_NEAREST;
}

static pcgpu_status run_direct(pcgpu_context *context, const pc_voxelize_job *job, const pc_voxelize_clock *clock,
                               pcgpu_voxels *out, bool *done) {
    return run_cells(context, job, clock, true, out, done);
}

static pcgpu_status run_hash(pcgpu_context *context, const pc_voxelize_job *job, const pc_voxelize_clock *clock,
                             pcgpu_voxels *out, bool *done) {
    return run_cells(context, job, clock, false, out, done);
}

const pc_voxelize_variant pc_voxelize_direct = {"direct", direct_fits, run_direct};
const pc_voxelize_variant pc_voxelize_hash = {"hash", hash_fits, run_hash};

extern "C" void pc_cuda_voxelize_tell(pcgpu_context *context, pc_cuda_voxelize_table *told) {
    const table *t = (const table *)pc_cuda_of(context)->voxels;
    *told = pc_cuda_voxelize_table{SMALL, FIRST, t ? (int64_t)t->slots : 0, t ? t->tries : 0};
}
