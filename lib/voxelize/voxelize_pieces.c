/* Voxels of a file that is read in pieces. A pass over the file fills a hash table with a voxel for each cell that is
 * met, in the order of their first records, which is that of the result. When the table is full, the voxels that it
 * lacks have later first records than all that it has: they wait for the next pass, by one bit per voxel and piece. So
 * the voxels of a pass are the next ones of the result, which is in memory if one pass is enough, and else in temporary
 * files. The memory follows the voxels, not the points, and the passes are as many as the voxels are larger than the
 * memory.
 *
 * The bytes are those of the whole file: the grid has the bounds of all pieces, and the sums of a voxel are exact
 * (voxelize_sum.h): float64 as long as each addition is exact, which is nearly always, and then fixed point, which
 * continues from the float64 sum. */
#include "context.h"
#include "temporary.h"
#include "voxelize_grid.h"
#include "voxelize_table.h"

#include <stdlib.h>

enum { BLOCK = 512 };

typedef struct piecewise {
    pcgpu_context *context;
    pcgpu_pieces *pieces;
    pc_voxelize_job job;
    pc_voxel_table table;
    pc_spool features, coords, counts; /* of several passes */
    bool arrays;
    pcgpu_voxels *out;
} piecewise;

/* ---- the result -------------------------------------------------------------------------------------------------- */

/* Adds the voxels of a pass to the counts. */
static void count_points(piecewise *r) {
    const pc_voxel_table *t = &r->table;
    pcgpu_voxels *out = r->out;
    for (int64_t i = 0; i < t->count; i++) {
        const int64_t points = t->voxels[i].points;
        out->in_range += points;
        out->largest = points > out->largest ? points : out->largest;
    }
    out->kept = out->in_range;
    out->count += t->count;
    out->voxels_found = out->count;
}

/* The coordinates and counts of voxels [begin, end) of a pass. */
static void fill_arrays(const pc_voxel_table *t, int64_t begin, int64_t end, int32_t *coords, int32_t *counts) {
    const pc_cell_layout layout = pc_cell_layout_of(&t->job->grid);
    for (int64_t i = begin; i < end; i++) {
        pc_key_coords(&layout, (uint64_t)t->voxels[i].key, coords + 4 * (i - begin));
        counts[i - begin] = (int32_t)t->voxels[i].points;
    }
}

/* The only pass: the memory of the table becomes that of the features. */
static pcgpu_status take_features(piecewise *r, size_t row) {
    pc_voxel_table *t = &r->table;
    pcgpu_voxels *out = r->out;
    const size_t voxels = out->count > 0 ? (size_t)out->count : 1;
    free(t->slots);
    t->slots = NULL;
    if (r->arrays) {
        out->coords = malloc(voxels * 4 * sizeof *out->coords);
        out->counts = malloc(voxels * sizeof *out->counts);
        if (!out->coords || !out->counts) {
            return pc_fail_memory(r->context, voxels * 20, "the voxels");
        }
        fill_arrays(t, 0, out->count, out->coords, out->counts);
    }
    void *smaller = realloc(t->values, voxels * row);
    out->features = smaller ? smaller : (void *)t->values;
    t->values = NULL;
    return PCGPU_OK;
}

/* One of several passes. */
static pcgpu_status add_to_files(piecewise *r, size_t row) {
    pc_voxel_table *t = &r->table;
    const int64_t count = t->count;
    int32_t coords[4 * BLOCK], counts[BLOCK];
    if (count > 0) {
        PC_TRY(pc_spool_add(r->context, &r->features, t->values, (size_t)count * row));
    }
    for (int64_t i = 0; i < count && r->arrays; i += BLOCK) {
        const int64_t end = i + BLOCK < count ? i + BLOCK : count;
        fill_arrays(t, i, end, coords, counts);
        PC_TRY(pc_spool_add(r->context, &r->coords, coords, (size_t)(end - i) * 4 * sizeof *coords));
        PC_TRY(pc_spool_add(r->context, &r->counts, counts, (size_t)(end - i) * sizeof *counts));
    }
    return PCGPU_OK;
}

static pcgpu_status take_files(piecewise *r) {
    pcgpu_voxels *out = r->out;
    void *memory = NULL;
    PC_TRY(pc_spool_take(r->context, &r->features, &memory));
    out->features = memory;
    if (r->arrays) {
        PC_TRY(pc_spool_take(r->context, &r->coords, &memory));
        out->coords = memory;
        PC_TRY(pc_spool_take(r->context, &r->counts, &memory));
        out->counts = memory;
    }
    return PCGPU_OK;
}

static pcgpu_status finish_pass(piecewise *r) {
    const bool last = r->table.left == 0, only = last && r->table.base == 0;
    const size_t row = (size_t)r->out->columns * sizeof *r->out->features;
    count_points(r);
    if ((r->arrays || r->out->point_voxel) && (r->out->count > INT32_MAX || r->out->largest > INT32_MAX)) {
        return pc_fail(r->context, PCGPU_ERROR_ARGUMENT,
                       "%lld voxels, %lld points in one; such arrays are 32 bits wide: give other voxels, or a cloud "
                       "as output",
                       (long long)r->out->count, (long long)r->out->largest);
    }
    pc_table_finish(&r->table);
    if (only) {
        return take_features(r, row);
    }
    PC_TRY(add_to_files(r, row));
    return last ? take_files(r) : PCGPU_OK;
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

/* The bounds of all pieces. */
static pcgpu_status survey_pieces(piecewise *r, pc_survey *found) {
    pcgpu_cloud piece;
    pcgpu_status status;
    *found = (pc_survey){{HUGE_VALF, HUGE_VALF, HUGE_VALF}, {-HUGE_VALF, -HUGE_VALF, -HUGE_VALF}};
    pc_voxelize_job job = r->job;
    while ((status = pcgpu_pieces_next(r->pieces, &piece)) == PCGPU_OK && piece.rows > 0) {
        job.data = piece.data;
        job.rows = piece.rows;
        const pc_survey part = pc_survey_cloud(r->context, &job);
        pc_survey_join(found, &part);
    }
    return status;
}

static pcgpu_status add_pieces(piecewise *r, bool first) {
    pcgpu_cloud piece;
    pcgpu_status status;
    int64_t record = 0;
    pc_voxelize_job job = r->job;
    while ((status = pcgpu_pieces_next(r->pieces, &piece)) == PCGPU_OK && piece.rows > 0) {
        pc_voxel_groups groups;
        job.data = piece.data;
        job.rows = piece.rows;
        if (first && r->out->point_voxel) {
            memset(r->out->point_voxel + record, 0xff, (size_t)piece.rows * sizeof *r->out->point_voxel);
        }
        PC_TRY(pc_group_records(r->context, &job, &groups));
        PC_TRY(pc_table_add_piece(&r->table, &groups, piece.data, record));
        r->out->run.threads = r->context->worked > r->out->run.threads ? r->context->worked : r->out->run.threads;
        r->out->run.non_finite += first ? groups.drops.non_finite : 0;
        r->out->run.at_origin += first ? groups.drops.at_origin : 0;
        record += piece.rows;
    }
    return status;
}

/* As many passes as the table needs. */
static pcgpu_status run_passes(piecewise *r, pc_table_kind kind, size_t memory) {
    r->table = (pc_voxel_table){
        .context = r->context, .job = &r->job, .kind = kind, .memory = memory, .point_voxel = r->out->point_voxel};
    pcgpu_status status;
    PC_TRY_OR(done, status, pc_table_open(&r->table, r->job.rows, r->arrays));
    const pc_table_kind begins = r->table.kind;
    for (bool first = true; first || r->table.left > 0; first = false) {
        if (!first) {
            pc_table_next(&r->table);
            r->table.kind = begins;
        }
        PC_TRY_OR(done, status, add_pieces(r, first));
        if (kind == PC_TABLE_NEAREST) {
            pc_table_seek_nearest(&r->table);
            PC_TRY_OR(done, status, add_pieces(r, false));
        }
        PC_TRY_OR(done, status, finish_pass(r));
    }
done:
    pc_table_close(&r->table);
    return status;
}

static pcgpu_status voxelize(piecewise *r, size_t memory, bool point_voxel) {
    pcgpu_voxels *out = r->out;
    void *ids = NULL;
    out->columns = r->job.columns;
    out->capacity = 1;
    if (point_voxel) {
        const uint64_t bytes = (uint64_t)r->job.rows * sizeof *out->point_voxel;
        PC_TRY(pc_allocate(r->context, bytes, memory / 4, &ids));
        memory -= bytes <= memory / 4 ? bytes : 0;
        out->point_voxel = ids;
    }
    const pc_table_kind kind = r->job.features == PCGPU_FEATURES_NEAREST ? PC_TABLE_NEAREST
                               : r->job.features == PCGPU_FEATURES_FIRST ? PC_TABLE_FIRST
                                                                         : PC_TABLE_EXACT;
    return run_passes(r, kind, memory);
}

pcgpu_status pcgpu_voxelize_pieces(pcgpu_context *context, pcgpu_pieces *pieces, const pcgpu_voxelize_params *params,
                                   size_t memory, unsigned wanted, pcgpu_voxels *result) {
    pcgpu_cloud whole;
    pc_survey found = {{0}, {0}};
    double begin = pc_now();
    memset(result, 0, sizeof *result);
    pcgpu_pieces_describe(pieces, &whole);
    PC_TRY(pc_voxelize_check(context, &whole, params, true));
    if (params->max_points || params->max_voxels || pc_features_are_padded(params->features)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "a file in pieces is voxelized without limits, to means, first or nearest points; leave them "
                       "out, downsample it first, or give more memory");
    }
    piecewise r = {.context = context, .pieces = pieces, .arrays = wanted & PCGPU_PIECES_ARRAYS, .out = result};
    pcgpu_status status;
    r.job = pc_voxelize_job_of(&whole, params);
    result->run.threads = 1;
    PC_TRY_OR(done, status, params->range_auto ? survey_pieces(&r, &found) : PCGPU_OK);
    PC_TRY_OR(done, status, pc_voxelize_grid(context, &whole, params, &found, &r.job.grid, result->range));
    pc_stage(&result->run, "select", begin);
    begin = pc_now();
    const bool classes = params->features == PCGPU_FEATURES_MEAN && params->voxel_labels != PCGPU_VOXEL_LABELS_MEAN &&
                         pc_cloud_has_classes(&whole);
    PC_TRY_OR(done, status, voxelize(&r, memory, classes || wanted & PCGPU_PIECES_POINT_VOXEL));
    pc_stage(&result->run, "voxelize", begin);
    pc_voxelize_describe(&r.job, result);
    snprintf(result->run.backend, sizeof result->run.backend, "cpu");
    snprintf(result->run.device, sizeof result->run.device, "%s", context->cpu_name);
    snprintf(result->run.reason, sizeof result->run.reason, "the file is read in pieces");
    status = pc_voxels_set_classes(context, &whole, pieces, memory, params, result);
    if (!(wanted & PCGPU_PIECES_POINT_VOXEL)) {
        pc_release(result->point_voxel);
        result->point_voxel = NULL;
    }
done:
    pc_spool_close(&r.features);
    pc_spool_close(&r.coords);
    pc_spool_close(&r.counts);
    if (status != PCGPU_OK) {
        pcgpu_voxels_free(result);
    }
    return status;
}
