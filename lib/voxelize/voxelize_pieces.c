/* Voxels of a file that is read in pieces, in one pass, or two for the nearest points: a hash table has a voxel for each cell
 * that was met, in the order of their first records, which is that of the result. The memory follows the voxels, not the
 * points.
 *
 * The bytes are those of the whole file: the grid has the bounds of all pieces; with max_points a voxel adds its first points
 * in float32 in the order of the records; without, its sums are exact (voxelize_sum.h): float64 as long as each addition is
 * exact, which is nearly always, and then fixed point, which continues from the float64 sum. */
#include "voxelize_grid.h"
#include "voxelize_math.h"
#include "voxelize_table.h"

#include <stdlib.h>

/* ---- the result -------------------------------------------------------------------------------------------------- */

static void count_points(const pc_voxel_table *t, pcgpu_voxels *out) {
    const pc_voxelize_job *job = t->job;
    out->voxels_found = t->count;
    out->count = job->max_voxels && job->max_voxels < t->count ? job->max_voxels : t->count;
    for (int64_t i = 0; i < t->count; i++) {
        const int64_t points = pc_table_voxel_at(t, i)->points;
        const int64_t kept = i < out->count ? pc_table_kept(t, pc_table_voxel_at(t, i)) : 0;
        out->in_range += points;
        out->largest = points > out->largest ? points : out->largest;
        out->kept += kept;
        out->over_points += i < out->count ? points - kept : 0;
    }
    out->over_voxels = out->in_range - out->kept - out->over_points;
}

static void finish_voxel(const pc_voxel_table *t, int64_t i, pcgpu_voxels *out) {
    const pc_voxelize_job *job = t->job;
    const pc_table_voxel *e = pc_table_voxel_at(t, i);
    const pc_near *near = (const pc_near *)(const void *)(e + 1);
    const bool is_near = t->kind == PC_TABLE_NEAREST, sums = !out->selected;
    const size_t size = (size_t)job->columns * sizeof *out->features;
    float row[PCGPU_MAX_COLUMNS];
    for (int k = 0; k < job->columns && sums; k++) {
        row[k] = pc_table_mean(t, e, k);
    }
    if (!sums) {
        out->selected[i] = is_near ? near->record : e->extra;
        memcpy(row, is_near ? (const void *)(near + 1) : (const void *)(e + 1), size);
    }
    if (out->counts) {
        const int64_t x = (int64_t)job->grid.cells[0], y = (int64_t)job->grid.cells[1];
        const int32_t coords[4] = {0, (int32_t)(e->key / x / y), (int32_t)(e->key / x % y), (int32_t)(e->key % x)};
        memcpy(out->coords + 4 * i, coords, sizeof coords);
        out->counts[i] = (int32_t)pc_table_kept(t, e);
    }
    /* over the voxels that are done: a row of features is shorter than a voxel of the table */
    memcpy(t->voxels + (size_t)i * size, row, size);
}

/* Turns the table into the result; its memory becomes that of the features. */
static pcgpu_status finish(pc_voxel_table *t, bool arrays, bool selects, pcgpu_voxels *out) {
    count_points(t, out);
    const size_t voxels = out->count > 0 ? (size_t)out->count : 1;
    const size_t bytes = voxels * (size_t)t->job->columns * sizeof *out->features;
    free(t->slots);
    t->slots = NULL;
    out->capacity = 1;
    out->columns = t->job->columns;
    out->coords = arrays ? malloc(voxels * 4 * sizeof *out->coords) : NULL;
    out->counts = arrays ? malloc(voxels * sizeof *out->counts) : NULL;
    out->selected = selects ? malloc(voxels * sizeof *out->selected) : NULL;
    if ((arrays && (!out->coords || !out->counts)) || (selects && !out->selected)) {
        return pc_fail_memory(t->context, voxels * 24, "the voxels");
    }
    for (int64_t i = 0; i < out->count; i++) {
        finish_voxel(t, i, out);
    }
    void *smaller = realloc(t->voxels, bytes);
    out->features = smaller ? smaller : (void *)t->voxels;
    t->voxels = NULL;
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

static pcgpu_status add_pieces(pc_voxel_table *t, pcgpu_pieces *pieces, pcgpu_run *run) {
    pcgpu_cloud piece;
    pcgpu_status status;
    int64_t record = 0;
    while ((status = pcgpu_pieces_next(pieces, &piece)) == PCGPU_OK && piece.rows > 0 &&
           (status = pc_table_add_piece(t, &piece, record, run)) == PCGPU_OK) {
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
    const pcgpu_features features = params->features;
    if (features == PCGPU_FEATURES_POINTS || features == PCGPU_FEATURES_PILLAR) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "a file in pieces has the features mean, first and nearest; give one of them, or more memory");
    }
    pc_voxelize_job job = {.rows = whole.rows,
                           .columns = whole.columns,
                           .max_points = params->max_points,
                           .max_voxels = params->max_voxels,
                           .features = params->features};
    const bool nearest = features == PCGPU_FEATURES_NEAREST, selects = nearest || features == PCGPU_FEATURES_FIRST;
    pc_voxel_table t = {.context = context, .job = &job, .memory = memory};
    t.kind = nearest              ? PC_TABLE_NEAREST
             : selects            ? PC_TABLE_FIRST
             : params->max_points ? PC_TABLE_SUMS
                                  : PC_TABLE_EXACT;
    pc_voxelize_set_skip(&whole, params, &job);
    status = params->range_auto ? survey_pieces(pieces, &job, &found) : PCGPU_OK;
    status = status == PCGPU_OK ? pc_voxelize_grid(context, &whole, params, &found, &job.grid, result->range) : status;
    pc_stage(&result->run, "select", begin);
    begin = pc_now();
    const size_t more = (arrays ? 5 * sizeof(int32_t) : 0) + (selects ? sizeof(int32_t) : 0);
    status = status == PCGPU_OK ? pc_table_open(&t, whole.rows, more) : status;
    status = status == PCGPU_OK ? add_pieces(&t, pieces, &result->run) : status;
    if (status == PCGPU_OK && nearest) {
        pcgpu_run again = {0};
        pc_table_seek_nearest(&t);
        status = add_pieces(&t, pieces, &again);
    }
    status = status == PCGPU_OK ? finish(&t, arrays, selects, result) : status;
    pc_table_close(&t);
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
