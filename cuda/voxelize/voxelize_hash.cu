/* Variants `direct` and `hash` of voxelization on the host: memory for the kernels of voxelize_hash.cuh, a call, its
 * result. */
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

/* All but the table and what its size decides. */
static pcgpu_status allocate_records(pcgpu_context *context, const pc_voxelize_job *job, uint64_t buckets, call *c) {
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
    s->unlimited = job->max_points == 0;
    s->kept = s->unlimited ? (int)PC_SLOT_RECORDS : (int)job->max_points;
    s->max_voxels = job->max_voxels ? (uint32_t)job->max_voxels : ~0u;
    s->kind = job->features;
    if (!c->direct) {
        PC_TRY(pc_voxelize_take(context, job->rows, &s->tag));
    }
    if (buckets > 0) {
        s->fused = !c->direct;
        s->bucket_mask = (uint32_t)(buckets - 1);
    } else {
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

/* The rest. A call that has to repeat this for a larger table does not free the memory for the smaller one, which is
 * far less. */
static pcgpu_status allocate_slots(pcgpu_context *context, const pc_voxelize_job *job, const table *t, call *c) {
    pc_voxelize_params *s = &c->params;
    const bool direct = c->direct;
    s->capacity = (uint32_t)capacity_of(job, t->slots);
    s->mask = (uint32_t)(t->slots - 1);
    s->overflow = (uint2 *)t->array[OVERFLOW_OF];
    s->counters = (pc_voxelize_counters *)t->array[COUNTERS];
    if (direct) {
        s->cells = (pc_cell *)t->array[CELLS];
        s->cell_records = (uint32_t *)t->array[CELL_RECORDS];
        s->occupied = (uint32_t *)t->array[OCCUPIED];
        s->heads = (pc_heads *)t->array[HEADS];
    } else {
        s->slots = (pc_slot *)t->array[SLOTS];
        s->extra = (uint32_t *)t->array[EXTRA];
    }
    if (s->fused || direct) {
        s->bucket_keys = (unsigned long long *)t->array[direct ? CELL_BUCKETS : BUCKET_KEYS];
        s->bucket_records = (uint32_t *)t->array[BUCKET_RECORDS];
    } else {
        s->tiles = (unsigned long long *)t->array[TILES];
        PC_TRY(pc_voxelize_take(context, s->capacity, &s->voxels));
    }
    if (s->fused) {
        s->tile_counts = (uint32_t *)t->array[TILE_COUNTS];
    }
    if (c->out) {
        s->coords = c->out->coords;
        s->counts = c->out->counts;
        return PCGPU_OK;
    }
    PC_TRY(pc_voxelize_take(context, pc_limited(s->capacity, job->max_voxels) * 4, &s->coords));
    return pc_voxelize_take(context, pc_limited(s->capacity, job->max_voxels), &s->counts);
}

/* Values of the features of so many voxels. */
static int64_t values_of(const pc_voxelize_job *job, int64_t voxels) {
    const int width = job->features == PCGPU_FEATURES_PILLAR ? (int)PC_PILLAR_COLUMNS : job->columns;
    return voxels * (pc_features_are_padded(job->features) ? job->max_points : 1) * width;
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

/* Whether features for `capacity` voxels are small enough to be allocated before the number of voxels is known. */
static bool fits_ahead(const pc_voxelize_job *job, int64_t capacity) {
    return (double)values_of(job, 1) * (double)pc_limited(capacity, job->max_voxels) * sizeof(float) <=
           PC_VOXELIZE_AHEAD;
}

/* ---- a call ----------------------------------------------------------------------------------------------------- */

static pcgpu_status begin_call(pcgpu_context *context, call *c) {
    PC_TRY(count_call(context, c->of));
    if (c->direct) {
        c->params.epoch = ++c->of->direct_calls;
    } else if (c->params.fused) {
        c->params.epoch = c->of->calls;
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

/* Whether the fused kernel has the features of a small cloud, and is fast. It is when each multiprocessor has several
 * blocks: a block with many overfull voxels then has others beside it. (H200, array and means: 120,268 points of KITTI
 * 1.3 times as fast, with five columns 1.4 times; 34,688 of nuScenes 0.87 times.) */
static bool is_fused(const pc_voxelize_job *job) {
    return job->rows >= FUSED && job->max_points > 0 && job->max_points <= PC_FUSED_MAX_POINTS &&
           (job->features == PCGPU_FEATURES_MEAN || job->features == PCGPU_FEATURES_POINTS);
}

/* Few records, and features that are allocated before the number of voxels is known. */
static bool is_small(const pc_voxelize_job *job) {
    return job->rows < SMALL && fits_ahead(job, pc_voxelize_most(job));
}

template <bool direct>
static pcgpu_status run_variant(pcgpu_context *context, const pc_voxelize_job *job, const pc_voxelize_clock *clock,
                                pcgpu_voxels *out, bool *done) {
    const bool small = is_small(job);
    const uint64_t buckets = direct || (small && is_fused(job)) ? buckets_of(job->rows, job->max_points) : 0;
    table *t = NULL;
    call c;
    bool full = false;
    PC_TRY(table_of(context, &t));
    t->tries = 0;
    c.direct = direct;
    c.out = NULL;
    do {
        const uint64_t slots = direct ? (uint64_t)pc_voxelize_cells(job)
                               : full ? more_slots(job, t->slots)
                                      : first_slots(job, t);
        PC_TRY(prepare_table(context, job, slots, buckets, direct, full, t, done));
        if (!*done) {
            return PCGPU_OK;
        }
        if (!full) {
            PC_TRY(pc_arena_reset(context, &pc_cuda_of(context)->arena));
            PC_TRY(allocate_records(context, job, buckets, &c));
            c.of = t;
            c.graph = !small ? NULL
                             : &t->graphs[direct               ? GRAPH_DIRECT
                                          : c.params.unlimited ? GRAPH_ALL
                                          : c.params.fused     ? GRAPH_FUSED
                                                               : GRAPH_KEPT];
        }
        t->slots = slots;
        t->tries++;
        t->in_use = true;
        PC_TRY(allocate_slots(context, job, t, &c));
        PC_TRY(run(context, job, clock, &c, out, &full));
    } while (full);
    t->in_use = false;
    t->found = job->rows < SMALL ? t->found : (uint64_t)out->voxels_found;
    return PCGPU_OK;
}

/* ---- the variants ----------------------------------------------------------------------------------------------- */

static bool hash_fits(const pc_voxelize_job *job) {
    return job->max_points <= PC_MAX_POINTS && !(pc_features_are_padded(job->features) && job->max_points == 0) &&
           job->columns <= PC_MAX_COLUMNS && pc_voxelize_cells(job) < (double)PC_NO_KEY && enough_slots(job) > 0;
}

/* The grid takes no more memory than a hash table, and direct_emit has the features. */
static bool direct_fits(const pc_voxelize_job *job) {
    return hash_fits(job) && is_small(job) && pc_voxelize_cells(job) <= (double)enough_slots(job) &&
           job->max_points > 0 && !pc_features_are_selected(job->features);
}

const pc_voxelize_variant pc_voxelize_direct = {direct_fits, run_variant<true>};
const pc_voxelize_variant pc_voxelize_hash = {hash_fits, run_variant<false>};

/* ---- arrays of the caller on the device -------------------------------------------------------------------------- */

template <bool direct>
static pcgpu_status run_on_device(pcgpu_context *context, const pc_voxelize_job *job, const pcgpu_device_voxels *out) {
    const uint64_t buckets = direct || (is_small(job) && is_fused(job)) ? buckets_of(job->rows, job->max_points) : 0,
                   slots = direct ? (uint64_t)pc_voxelize_cells(job) : enough_slots(job);
    pc_arena *arena = &pc_cuda_of(context)->arena;
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    table *t = NULL;
    call c = {};
    bool fits;
    PC_TRY(table_of(context, &t));
    PC_TRY(prepare_table(context, job, slots, buckets, direct, false, t, &fits));
    if (!fits) {
        return pc_fail(context, PCGPU_ERROR_MEMORY, "the GPU has no memory for a table of %lld voxels",
                       (long long)slots);
    }
    c.direct = direct;
    c.of = t;
    c.out = out;
    t->slots = slots;
    do { /* a second time in one block, so that the next call allocates nothing */
        PC_TRY(pc_arena_reset(context, arena));
        PC_TRY(allocate_records(context, job, buckets, &c));
        PC_TRY(allocate_slots(context, job, t, &c));
        if (pc_features_are_selected(job->features)) {
            PC_TRY(pc_voxelize_take(context, pc_limited(c.params.capacity, job->max_voxels), &c.params.selected));
        }
    } while (arena->blocks > 1);
    c.params.features = out->features;
    c.params.means = job->features == PCGPU_FEATURES_MEAN ? out->features : NULL;
    CUDA_TRY(context, cudaStreamIsCapturing(pc_cuda_of(context)->stream, &capture));
    t->in_use = true;
    PC_TRY(begin_call(context, &c));
    if (capture != cudaStreamCaptureStatusNone) {
        PC_TRY(add_end(context, &c, true, NULL));
    }
    PC_TRY(add_kernels(context, &c));
    PC_TRY(add_end(context, &c, capture != cudaStreamCaptureStatusNone, out->count));
    t->in_use = false;
    return PCGPU_OK;
}

static pcgpu_status voxelize_on_device(pcgpu_context *context, const pc_voxelize_job *job,
                                       const pcgpu_device_voxels *out) {
    if (job->rows == 0) {
        CUDA_TRY(context, cudaMemsetAsync(out->count, 0, sizeof *out->count, pc_cuda_of(context)->stream));
        return PCGPU_OK;
    }
    if (!hash_fits(job)) {
        return pc_fail(
            context, PCGPU_ERROR_ARGUMENT,
            "%.4g cells, %d columns and %lld points per voxel; on a GPU fewer than 2^32 - 1, up to %d and up to "
            "%d are possible",
            pc_voxelize_cells(job), job->columns, (long long)job->max_points, PC_MAX_COLUMNS, PC_MAX_POINTS);
    }
    return direct_fits(job) ? run_on_device<true>(context, job, out) : run_on_device<false>(context, job, out);
}

extern "C" pcgpu_status pc_cuda_voxelize_device(pcgpu_context *context, void *stream, const pc_voxelize_job *job,
                                                const pcgpu_device_voxels *out) {
    pc_cuda *cuda = pc_cuda_of(context);
    PC_TRY(pc_cuda_start(context));
    PC_TRY(pc_cuda_check_memory(context, job->data, "the points"));
    PC_TRY(pc_cuda_check_memory(context, out->features, "the features"));
    PC_TRY(pc_cuda_check_memory(context, out->coords, "the coordinates"));
    PC_TRY(pc_cuda_check_memory(context, out->counts, "the counts"));
    PC_TRY(pc_cuda_check_memory(context, out->point_voxel, "the voxels of points"));
    PC_TRY(pc_cuda_check_memory(context, out->count, "the number of voxels"));
    const cudaStream_t own = cuda->stream;
    cuda->stream = (cudaStream_t)stream;
    const pcgpu_status status = voxelize_on_device(context, job, out);
    cuda->stream = own;
    return status;
}

extern "C" void pc_cuda_voxelize_table_info(pcgpu_context *context, pc_cuda_voxelize_table *info) {
    const table *t = (const table *)pc_cuda_of(context)->voxels;
    *info = pc_cuda_voxelize_table{SMALL, FIRST, t ? (int64_t)t->slots : 0, t ? t->tries : 0};
}
