/* Voxelization on the CPU:
 *
 *   1. ids of the voxels, in the order of their first records (voxelize_cpu_number.c)
 *   2. the limits, and with them the size of the result
 *   3. each kept point is written to its slot: into the padded features, or into the list of its voxel's points, from
 *      which the features of the voxel are computed (voxelize_cpu_places.c); or it is added to a sum
 * (voxelize_cpu_sums.c)
 *
 * The memory is proportional to the points and voxels, not to the volume of the grid. The results of each parallel step
 * are independent of the number of threads: the slot of a point follows from the number of earlier points of its voxel,
 * and the sums of a voxel are computed by one thread in index order, or are exact. */
#include "voxelize_cpu.h"

#include <stdlib.h>

enum {
    PART_ROWS = 16384,      /* minimum records per thread: about 100 us of work */
    KEPT_BYTES = 256 << 20, /* maximum scratch memory that the context keeps */
};

/* ---- limits ---------------------------------------------------------------------------------------------------- */

/* Counts kept and dropped points, and returns the largest number of kept points in a voxel. */
static int64_t count_points(const pc_voxelizer *v, pcgpu_voxels *out) {
    const pc_voxelize_job *job = v->job;
    int64_t largest_kept = 0;
    out->in_range = out->kept = out->over_points = out->over_voxels = out->largest = 0;
    out->voxels_found = v->numbered.found;
    out->count = pc_limited(out->voxels_found, job->max_voxels);
    for (int64_t i = 0; i < out->voxels_found; i++) {
        int64_t points = v->numbered.voxels[i].points, kept = i < out->count ? pc_limited(points, job->max_points) : 0;
        out->in_range += points;
        out->largest = points > out->largest ? points : out->largest;
        out->kept += kept;
        out->over_points += i < out->count ? points - kept : 0;
        largest_kept = kept > largest_kept ? kept : largest_kept;
    }
    out->over_voxels = out->in_range - out->kept - out->over_points;
    return largest_kept;
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

static pcgpu_status run(pcgpu_context *context, pc_voxelizer *v, pcgpu_voxels *out) {
    size_t rows = (size_t)v->job->rows;
    out->point_voxel = malloc((rows + 1) * sizeof *out->point_voxel);
    if (!out->point_voxel || !pc_number_voxels(v->job, &v->form, v->scratch, out->point_voxel, &v->numbered)) {
        return pc_fail_memory(context, rows * (sizeof *out->point_voxel + 2 * sizeof(pc_cell_voxel)),
                              "the voxels' hash table");
    }
    context->worked = v->numbered.threads;
    out->run.non_finite = v->numbered.drops.non_finite;
    out->run.at_origin = v->numbered.drops.at_origin;
    PC_TRY(pc_voxels_allocate(context, v->job, count_points(v, out), out));
    for (int64_t i = 0; i < out->count; i++) {
        out->counts[i] = (int32_t)pc_limited(v->numbered.voxels[i].points, v->job->max_points);
    }
    if (!(pc_can_sum(v) ? pc_voxelize_by_sums(v, out) : pc_voxelize_by_places(v, out))) {
        return pc_fail_memory(context, rows * 12, "the points of the voxels");
    }
    return PCGPU_OK;
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static size_t free_block(pc_buffer *block, bool really) {
    size_t bytes = block->bytes;
    if (really) {
        free(block->memory);
        *block = (pc_buffer){NULL, 0};
    }
    return bytes;
}

/* Returns the bytes of the scratch memory; `really` frees it. */
static size_t free_scratch(pc_voxel_scratch *s, bool really) {
    size_t bytes = free_block(&s->voxels, really) + free_block(&s->cursors, really) + free_block(&s->starts, really) +
                   free_block(&s->order, really) + free_block(&s->sums, really);
    for (int i = 0; i < PC_VOXEL_PARTS; i++) {
        struct pc_voxel_part *part = &s->part[i];
        bytes += free_block(&part->map, really) + free_block(&part->before, really) + free_block(&part->to, really) +
                 free_block(&part->hash, really) + free_block(&part->partition_voxel, really) +
                 free_block(&part->sums, really) + free_block(&part->list.voxel_block, really) +
                 free_block(&part->list.table_block, really) + free_block(&part->partition.voxel_block, really) +
                 free_block(&part->partition.table_block, really);
    }
    return bytes;
}

static void end_scratch(void *memory) {
    free_scratch(memory, true);
    free(memory);
}

static bool have_scratch(pcgpu_context *context) {
    pc_voxel_scratch *s = pc_keep(context, PC_KEPT_VOXELS, sizeof *s, end_scratch);
    if (s) {
        s->team = pc_context_team(context);
    }
    return s && s->team;
}

pcgpu_status pc_cpu_voxelize_as(pcgpu_context *context, const pc_voxelize_job *job, pcgpu_voxels *out,
                                const pc_voxelize_form *form) {
    if (!have_scratch(context)) {
        return pc_fail_memory(context, sizeof(pc_voxel_scratch), "the voxels");
    }
    pc_voxelizer v = {.job = job,
                      .form = *form,
                      .layout = pc_cell_layout_of(&job->grid),
                      .scratch = context->kept[PC_KEPT_VOXELS].memory};
    pcgpu_status status = run(context, &v, out);
    if (status != PCGPU_OK) {
        pcgpu_voxels_free(out);
    }
    if (status != PCGPU_OK || free_scratch(v.scratch, false) > KEPT_BYTES) {
        free_scratch(v.scratch, true);
    }
    return status;
}

pcgpu_status pc_group_records(pcgpu_context *context, const pc_voxelize_job *job, pc_voxel_groups *groups) {
    const size_t rows = (size_t)job->rows;
    pc_voxelize_job all = *job;
    all.features = PCGPU_FEATURES_NEAREST; /* they need the order */
    all.max_points = all.max_voxels = 0;
    if (!have_scratch(context)) {
        return pc_fail_memory(context, sizeof(pc_voxel_scratch), "the voxels");
    }
    pc_voxelizer v = {.job = &all,
                      .form = {.part_rows = PART_ROWS, .simd = pc_context_simd(context)},
                      .layout = pc_cell_layout_of(&job->grid),
                      .scratch = context->kept[PC_KEPT_VOXELS].memory};
    pc_buffer *sums = &v.scratch->sums; /* the ids of the records, and the counts of the voxels */
    if (!pc_buffer_take(sums, (2 * rows + 1) * sizeof(int32_t), false) ||
        !pc_number_voxels(&all, &v.form, v.scratch, sums->memory, &v.numbered)) {
        return pc_fail_memory(context, rows * (2 * sizeof(int32_t) + 2 * sizeof(pc_cell_voxel)),
                              "the voxels of a piece");
    }
    pcgpu_voxels out = {
        .point_voxel = sums->memory, .counts = (int32_t *)sums->memory + rows, .count = v.numbered.found};
    for (int64_t i = 0; i < out.count; i++) {
        out.counts[i] = v.numbered.voxels[i].points;
        out.kept += out.counts[i];
    }
    if (!pc_place_records(&v, &out)) {
        return pc_fail_memory(context, rows * 12, "the records of a piece");
    }
    context->worked = v.numbered.threads;
    *groups = (pc_voxel_groups){out.count, v.numbered.voxels, v.starts, v.order, v.numbered.drops};
    return PCGPU_OK;
}

static pcgpu_status pc_cpu_voxelize(pcgpu_context *context, const pc_voxelize_job *job, pcgpu_voxels *out) {
    const pc_voxelize_form form = {.part_rows = PART_ROWS, .simd = pc_context_simd(context)};
    return pc_cpu_voxelize_as(context, job, out, &form);
}

const pc_voxelize_ops pc_cpu_voxelize_ops = {.voxelize = pc_cpu_voxelize};
