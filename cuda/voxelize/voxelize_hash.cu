/* The variants of voxelization with a hash table or a grid, on the host: memory for the kernels of voxelize_hash.cuh, a
 * call, its result. */
#include "voxelize_cuda.h"
#include "voxelize_launch.cuh"

void pc_voxelize_end(pcgpu_context *context) {
    table *t = (table *)pc_cuda_of(context)->voxels;
    if (t) {
        free_table(t);
        free(t);
        pc_cuda_of(context)->voxels = NULL;
    }
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* Buffers sized by records, and the parameters that do not depend on the table. */
static pcgpu_status allocate_records(pcgpu_context *context, const pc_voxelize_job *job, call *c) {
    pc_voxelize_params *s = &c->params;
    memset(s, 0, sizeof *s);
    s->grid = job->grid;
    for (int k = 0; k < 3; k++) { /* the inverse and products with it are normal numbers */
        const bool normal = job->grid.size[k] > 0x1p-100f && job->grid.size[k] < 0x1p100f;
        s->inverse[k] = normal ? 1.0f / job->grid.size[k] : NAN;
    }
    s->skip_origin = job->skip_origin;
    memcpy(s->skip, job->skip, sizeof s->skip);
    s->aligned = job->columns == 4 && (!c->out || (uintptr_t)job->data % sizeof(float4) == 0);
    s->rows = (uint32_t)job->rows;
    s->columns = job->columns;
    s->unlimited = c->kind == REDUCE;
    s->kept = s->unlimited ? (int)PC_SLOT_RECORDS : (int)job->max_points;
    s->max_voxels = job->max_voxels ? (uint32_t)job->max_voxels : ~0u;
    s->kind = job->features;
    if (c->kind != DIRECT) {
        PC_TRY(pc_voxelize_take(context, job->rows, &s->tag));
    }
    if (!has_buckets(c->kind)) {
        PC_TRY(pc_voxelize_take(context, job->rows, &s->rank));
    }
    PC_TRY(pc_voxelize_take(context, job->rows, &s->overflow_rows));
    if (job->rows >= SMALL) {
        PC_TRY(pc_voxelize_take(context, (job->rows + 31) / 32, &s->flags));
    }
    if (c->out && c->out->point_voxel) {
        s->point_voxel = c->out->point_voxel;
    } else {
        PC_TRY(pc_voxelize_take(context, job->rows, &s->point_voxel));
    }
    s->data = job->data;
    return c->out ? PCGPU_OK : pc_voxelize_up(context, job, &s->data);
}

/* Buffers sized by slots. */
static pcgpu_status allocate_slots(pcgpu_context *context, const pc_voxelize_job *job, call *c) {
    const table *t = c->of;
    pc_voxelize_params *s = &c->params;
    const int64_t voxels = pc_limited(capacity_of(job, t->slots), job->max_voxels);
    s->capacity = (uint32_t)capacity_of(job, t->slots);
    s->mask = (uint32_t)(t->slots - 1);
    s->overflow = (uint2 *)t->array[OVERFLOW_OF];
    s->counters = (pc_voxelize_counters *)t->array[COUNTERS];
    if (c->kind == DIRECT) {
        s->cells = (pc_cell *)t->array[CELLS];
        s->cell_records = (uint32_t *)t->array[CELL_RECORDS];
        s->occupied = (uint32_t *)t->array[OCCUPIED];
        s->heads = (pc_heads *)t->array[HEADS];
    } else {
        s->slots = (pc_slot *)t->array[SLOTS];
        s->extra = (uint32_t *)t->array[EXTRA];
    }
    if (has_buckets(c->kind)) {
        s->bucket_keys = (unsigned long long *)t->array[c->kind == DIRECT ? CELL_BUCKETS : BUCKET_KEYS];
        s->bucket_records = (uint32_t *)t->array[BUCKET_RECORDS];
        s->bucket_mask = (uint32_t)(buckets_of(job) - 1);
    } else {
        s->tiles = (unsigned long long *)t->array[TILES];
        PC_TRY(pc_voxelize_take(context, s->capacity, &s->voxels));
    }
    if (c->kind == FUSED) {
        s->tile_counts = (uint32_t *)t->array[TILE_COUNTS];
    }
    if (c->out) {
        s->coords = c->out->coords;
        s->counts = c->out->counts;
        s->features = c->out->features;
        s->means = job->features == PCGPU_FEATURES_MEAN ? c->out->features : NULL;
        return pc_features_are_selected(job->features) ? pc_voxelize_take(context, voxels, &s->selected) : PCGPU_OK;
    }
    PC_TRY(pc_voxelize_take(context, voxels * 4, &s->coords));
    return pc_voxelize_take(context, voxels, &s->counts);
}

/* The table with so many slots, and all buffers but the features. again: after a table that was too small for this
 * call, whose buffers are not freed: they are far smaller. *fits = false: the device has no memory for the table. */
static pcgpu_status allocate(pcgpu_context *context, const pc_voxelize_job *job, uint64_t slots, bool again, call *c,
                             bool *fits) {
    pc_arena *arena = &pc_cuda_of(context)->arena;
    table *t = c->of;
    PC_TRY(prepare_table(context, job, slots, c->kind, again, t, fits));
    if (!*fits) {
        return PCGPU_OK;
    }
    t->slots = slots;
    do { /* on the device a second time in one block, so that the next call allocates nothing */
        if (!again) {
            PC_TRY(pc_arena_reset(context, arena));
            PC_TRY(allocate_records(context, job, c));
        }
        PC_TRY(allocate_slots(context, job, c));
    } while (c->out && arena->blocks > 1);
    c->graph = !c->out && is_small(job) ? &t->graphs[c->kind] : NULL;
    t->in_use = true;
    return PCGPU_OK;
}

static pcgpu_status allocate_features(pcgpu_context *context, const pc_voxelize_job *job,
                                      const pc_voxelize_clock *clock, int64_t voxels, pc_voxelize_params *s) {
    PC_TRY(pc_voxelize_take(context, values_of(job, voxels), &s->features));
    if (pc_features_are_selected(job->features)) {
        PC_TRY(pc_voxelize_take(context, voxels, &s->selected));
    }
    if (job->features == PCGPU_FEATURES_MEAN) {
        s->means = s->features;
    } else if (clock && clock->means) {
        PC_TRY(pc_voxelize_take(context, voxels * job->columns, &s->means));
    }
    return PCGPU_OK;
}

/* ---- a call ----------------------------------------------------------------------------------------------------- */

static pcgpu_status begin_call(pcgpu_context *context, call *c) {
    PC_TRY(count_call(context, c->of));
    if (has_buckets(c->kind)) {
        c->params.epoch = c->kind == DIRECT ? ++c->of->direct_calls : c->of->calls;
    }
    c->params.parity = c->of->parity = 1 - c->of->parity;
    return PCGPU_OK;
}

static pcgpu_status prepare(pcgpu_context *context, void *state) {
    call *c = (call *)state;
    PC_TRY(begin_call(context, c));
    return c->graph ? add_kernels(context, c) : PCGPU_OK;
}

static pcgpu_status work(pcgpu_context *context, void *state) {
    const call *c = (const call *)state;
    if (c->graph) {
        CUDA_TRY(context, pc_chain_launch(c->graph, pc_cuda_of(context)->stream));
        return PCGPU_OK;
    }
    return add_kernels(context, c);
}

static pcgpu_status bring_down(pcgpu_context *context, const pc_voxelize_job *job, const pc_voxelize_clock *clock,
                               const pc_voxelize_params *s, const pc_voxelize_counters *counters, pcgpu_voxels *out) {
    pc_voxelize_sums all = {0, 0, 0, 0, 0, 0};
    for (int i = 0; i < PC_SUM_SETS; i++) {
        const pc_voxelize_sums *some = &counters->sums[s->parity][i];
        all.non_finite += some->non_finite;
        all.at_origin += some->at_origin;
        all.in_range += some->in_range;
        all.under_limit += some->under_limit;
        all.kept += some->kept;
        all.largest = all.largest > some->largest ? all.largest : some->largest;
    }
    out->voxels_found = counters->found;
    out->count = pc_limited(counters->found, job->max_voxels);
    out->run.non_finite = (int64_t)all.non_finite;
    out->run.at_origin = (int64_t)all.at_origin;
    out->in_range = (int64_t)all.in_range;
    out->kept = (int64_t)all.kept;
    out->over_points = (int64_t)(all.under_limit - all.kept);
    out->over_voxels = (int64_t)(all.in_range - all.under_limit);
    out->largest = (int64_t)all.largest;
    PC_TRY(pc_voxels_allocate(context, job, job->max_points, out));
    PC_TRY(pc_voxelize_down(context, s, (size_t)job->rows, out));
    return clock && clock->means
               ? pc_cuda_down(context, clock->means, s->means, (size_t)(out->count * job->columns) * sizeof(float))
               : PCGPU_OK;
}

/* *full: the table was too small, and there is no result. */
static pcgpu_status read_counters(pcgpu_context *context, const pc_voxelize_params *s, pc_voxelize_counters *counters,
                                  bool *full) {
    PC_TRY(pc_cuda_down(context, counters, s->counters, sizeof *counters));
    *full = counters->full != 0;
    return PCGPU_OK;
}

/* Runs the kernels with the table as it is. A table that is too small is not timed; a timed repeat can find it too
 * small after all, since the slot of a cell depends on the order of the records. */
static pcgpu_status run(pcgpu_context *context, const pc_voxelize_job *job, const pc_voxelize_clock *clock, call *c,
                        pcgpu_voxels *out, bool *full) {
    pc_voxelize_params *s = &c->params;
    pc_voxelize_counters counters;
    const bool ahead = fits_ahead(job, s->capacity);
    if (ahead) {
        PC_TRY(allocate_features(context, job, clock, pc_limited(s->capacity, job->max_voxels), s));
        PC_TRY(pc_voxelize_repeat(context, NULL, prepare, work, c));
    } else {
        PC_TRY(begin_call(context, c));
        PC_TRY(add_insert(context, c));
        PC_TRY(add_scan(context, c));
    }
    PC_TRY(read_counters(context, s, &counters, full));
    if (!*full && !ahead) {
        PC_TRY(allocate_features(context, job, clock, pc_limited(counters.found, job->max_voxels), s));
        PC_TRY(add_emit(context, c));
    }
    if (!*full && clock) {
        PC_TRY(pc_voxelize_repeat(context, clock, prepare, work, c));
        PC_TRY(read_counters(context, s, &counters, full));
    }
    return *full ? PCGPU_OK : bring_down(context, job, clock, s, &counters, out);
}

template <int KIND>
static pcgpu_status run_kind(pcgpu_context *context, const pc_voxelize_job *job, const pc_voxelize_clock *clock,
                             pcgpu_voxels *out, bool *done) {
    call c = {};
    bool full = false;
    c.kind = KIND;
    PC_TRY(table_of(context, &c.of));
    c.of->tries = 0;
    do {
        const uint64_t slots = KIND == DIRECT ? (uint64_t)pc_voxelize_cells(job)
                               : full         ? more_slots(job, c.of->slots)
                                              : first_slots(job, c.of);
        PC_TRY(allocate(context, job, slots, full, &c, done));
        if (!*done) {
            return PCGPU_OK;
        }
        c.of->tries++;
        PC_TRY(run(context, job, clock, &c, out, &full));
    } while (full);
    c.of->in_use = false;
    c.of->found = job->rows < SMALL ? c.of->found : (uint64_t)out->voxels_found;
    return PCGPU_OK;
}

/* Arrays of the caller on the device; the table has a slot for each possible voxel. */
template <int KIND>
static pcgpu_status run_on_device(pcgpu_context *context, const pc_voxelize_job *job, const pcgpu_device_voxels *out) {
    const uint64_t slots = KIND == DIRECT ? (uint64_t)pc_voxelize_cells(job) : enough_slots(job);
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    call c = {};
    bool fits;
    c.kind = KIND;
    c.out = out;
    PC_TRY(table_of(context, &c.of));
    PC_TRY(allocate(context, job, slots, false, &c, &fits));
    if (!fits) {
        return pc_fail(context, PCGPU_ERROR_MEMORY, "the GPU has no memory for a table of %lld voxels",
                       (long long)slots);
    }
    CUDA_TRY(context, cudaStreamIsCapturing(pc_cuda_of(context)->stream, &capture));
    PC_TRY(begin_call(context, &c));
    if (capture != cudaStreamCaptureStatusNone) {
        PC_TRY(add_end(context, &c, true, NULL));
    }
    PC_TRY(add_kernels(context, &c));
    PC_TRY(add_end(context, &c, capture != cudaStreamCaptureStatusNone, out->count));
    c.of->in_use = false;
    return PCGPU_OK;
}

/* ---- the variants ----------------------------------------------------------------------------------------------- */

static bool table_fits(const pc_voxelize_job *job) {
    return job->max_points <= PC_MAX_POINTS && !(pc_features_are_padded(job->features) && job->max_points == 0) &&
           job->columns <= PC_MAX_COLUMNS && pc_voxelize_cells(job) < (double)PC_NO_KEY && enough_slots(job) > 0;
}

static bool hash_fits(const pc_voxelize_job *job) {
    return table_fits(job) && job->max_points > 0;
}

static bool reduce_fits(const pc_voxelize_job *job) {
    return table_fits(job) && job->max_points == 0;
}

/* The grid takes no more memory than a hash table, and direct_emit has the features. */
static bool direct_fits(const pc_voxelize_job *job) {
    return hash_fits(job) && is_small(job) && pc_voxelize_cells(job) <= (double)enough_slots(job) &&
           !pc_features_are_selected(job->features);
}

/* The fused kernel has the features of a small cloud, and is fast. It is when each multiprocessor has several blocks: a
 * block with many overfull voxels then has others beside it. (H200, array and means: 120,268 points of KITTI 1.3 times
 * as fast, with five columns 1.4 times; 34,688 of nuScenes 0.87 times.) */
static bool fused_fits(const pc_voxelize_job *job) {
    return hash_fits(job) && is_small(job) && job->rows >= PC_VOXELIZE_FUSED &&
           job->max_points <= PC_FUSED_MAX_POINTS &&
           (job->features == PCGPU_FEATURES_MEAN || job->features == PCGPU_FEATURES_POINTS);
}

const pc_voxelize_variant pc_voxelize_direct = {"direct", direct_fits, run_kind<DIRECT>, run_on_device<DIRECT>};
const pc_voxelize_variant pc_voxelize_fused = {"fused", fused_fits, run_kind<FUSED>, run_on_device<FUSED>};
const pc_voxelize_variant pc_voxelize_reduce = {"reduce", reduce_fits, run_kind<REDUCE>, run_on_device<REDUCE>};
const pc_voxelize_variant pc_voxelize_hash = {"hash", hash_fits, run_kind<HASH>, run_on_device<HASH>};

extern "C" void pc_cuda_voxelize_table_info(pcgpu_context *context, pc_cuda_voxelize_table *info) {
    const table *t = (const table *)pc_cuda_of(context)->voxels;
    *info = pc_cuda_voxelize_table{SMALL, FIRST, t ? (int64_t)t->slots : 0, t ? t->tries : 0};
}
