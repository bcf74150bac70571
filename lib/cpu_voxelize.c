/* Voxelization on the CPU:
 *
 *   1. numbers of the voxels, in the order of their first records (cpu_voxelize_number.c)
 *   2. the limits, and with them the size of the result
 *   3. each kept point goes to its place: into the padded features, or into the list of its voxel's points
 *   4. features of each voxel
 *
 * Memory grows with the points and the voxels found, never with the volume of the grid. Each step that several threads
 * share gives the same for every number of them: the place of a point follows from how many points of its voxel are
 * before it, and all sums of a voxel are made by one thread, in index order. */
#include "cpu_voxelize.h"

#include <stdlib.h>

enum {
    ENOUGH_FOR_THREADS = 20000,
    KEPT_BYTES = 64 << 20, /* most scratch memory that stays with the context */
};

typedef struct voxelizer {
    const pc_voxelize_job *job;
    pc_simd simd;
    int threads;
    pc_cell_layout layout;
    pc_voxel_scratch *scratch;
    pc_numbered numbered;
    int32_t *cursors; /* count: points placed so far, when there is one part */
    int64_t *starts;  /* count + 1: where the points of a voxel begin in `order`; NULL when no order is needed */
    int32_t *order;   /* kept: rows, voxel by voxel, in index order */
} voxelizer;

static bool is_padded(pcgpu_features features) {
    return features == PCGPU_FEATURES_POINTS || features == PCGPU_FEATURES_PILLAR;
}

/* One thread adds up means on the way; several need the points of a voxel side by side. */
static bool sums_up(const voxelizer *v) {
    return v->job->features == PCGPU_FEATURES_MEAN && v->numbered.parts == 1;
}

static bool needs_order(const voxelizer *v) {
    return v->job->features == PCGPU_FEATURES_NEAREST || (v->job->features == PCGPU_FEATURES_MEAN && !sums_up(v));
}

/* ---- limits ---------------------------------------------------------------------------------------------------- */

static int64_t kept_of(const pc_voxelize_job *job, int64_t points) {
    return job->max_points && job->max_points < points ? job->max_points : points;
}

/* Counts what is kept and what is dropped, and returns the largest number of kept points in a voxel. */
static int64_t count_points(const voxelizer *v, pcgpu_voxels *out) {
    const pc_voxelize_job *job = v->job;
    int64_t largest_kept = 0;
    out->in_range = out->kept = out->over_points = out->over_voxels = out->largest = 0;
    out->voxels_found = v->numbered.found;
    out->count = job->max_voxels && job->max_voxels < out->voxels_found ? job->max_voxels : out->voxels_found;
    for (int64_t i = 0; i < out->voxels_found; i++) {
        int64_t points = v->numbered.voxels[i].points, kept = i < out->count ? kept_of(job, points) : 0;
        out->in_range += points;
        out->largest = points > out->largest ? points : out->largest;
        out->kept += kept;
        out->over_points += i < out->count ? points - kept : 0;
        largest_kept = kept > largest_kept ? kept : largest_kept;
    }
    out->over_voxels = out->in_range - out->kept - out->over_points;
    return largest_kept;
}

/* ---- places ---------------------------------------------------------------------------------------------------- */

/* What becomes of a point that is kept as the place-th of its voxel. */
PC_INLINE void put_point(const voxelizer *v, int64_t row, int64_t voxel, int32_t place, pcgpu_features features,
                         int columns, pcgpu_voxels *out) {
    const float *p = v->job->data + row * columns;
    if (features == PCGPU_FEATURES_MEAN || features == PCGPU_FEATURES_NEAREST) {
        v->order[v->starts[voxel] + place] = (int32_t)row;
    } else if (features == PCGPU_FEATURES_POINTS) {
        memcpy(out->features + (voxel * out->capacity + place) * columns, p, (size_t)columns * sizeof *p);
    } else if (features == PCGPU_FEATURES_PILLAR) {
        float *to = out->features + (voxel * out->capacity + place) * PC_PILLAR_COLUMNS;
        memcpy(to, p, 3 * sizeof *p);
        to[3] = columns > 3 ? p[3] : 0.0f;
    }
}

PC_INLINE void place_records(const voxelizer *v, int part, pcgpu_features features, int columns, pcgpu_voxels *out) {
    const pc_numbered *n = &v->numbered;
    const int64_t begin = part * n->part_rows;
    const int64_t end = begin + n->part_rows < v->job->rows ? begin + n->part_rows : v->job->rows;
    const int64_t most = v->job->max_points ? v->job->max_points : INT64_MAX;
    const pc_part_map map = pc_map_part(v->scratch, n, part);
    int32_t *cursors = map.voxel ? map.before : v->cursors;
    for (int64_t i = begin; i < end; i++) {
        const int32_t local = out->point_voxel[i];
        if (local < 0) {
            continue;
        }
        const int64_t voxel = map.voxel ? map.voxel[local] : local;
        if (voxel >= out->count || cursors[local] >= most) {
            out->point_voxel[i] = -1;
            continue;
        }
        out->point_voxel[i] = (int32_t)voxel;
        put_point(v, i, voxel, cursors[local]++, features, columns, out);
    }
}

static void place_part(const voxelizer *v, int part, pcgpu_voxels *out) {
    const pcgpu_features features = v->job->features;
    const int columns = v->job->columns;
    if (features == PCGPU_FEATURES_POINTS && columns == 4) { /* a record is copied as one word */
        place_records(v, part, PCGPU_FEATURES_POINTS, 4, out);
    } else if (features == PCGPU_FEATURES_MEAN) {
        place_records(v, part, PCGPU_FEATURES_MEAN, columns, out);
    } else {
        place_records(v, part, features, columns, out);
    }
}

/* ---- features of one voxel ------------------------------------------------------------------------------------- */

/* Means of the first `width` columns of rows in index order: pc_voxel_mean for all of them at a time. */
PC_INLINE void find_means(const pc_voxelize_job *job, const int32_t *rows, int32_t count, int columns, int width,
                          float *mean) {
    for (int k = 0; k < width; k++) {
        mean[k] = 0.0f;
    }
    for (int32_t i = 0; i < count; i++) {
        const float *p = job->data + (int64_t)rows[i] * columns;
        for (int k = 0; k < width; k++) {
            mean[k] += p[k];
        }
    }
    for (int k = 0; k < width; k++) {
        mean[k] = pc_one_nan(mean[k] / (float)count);
    }
}

PC_INLINE void find_wide_means(const pc_voxelize_job *job, const int32_t *rows, int32_t count, int columns, int width,
                               float *mean) {
    double sums[PCGPU_MAX_COLUMNS], lost = 0.0;
    for (int k = 0; k < width; k++) {
        sums[k] = 0.0;
    }
    for (int32_t i = 0; i < count; i++) {
        const float *p = job->data + (int64_t)rows[i] * columns;
        for (int k = 0; k < width; k++) {
            double next = sums[k] + (double)p[k];
            lost += fabs(pc_addition_error(sums[k], (double)p[k], next)); /* NaN stays NaN */
            sums[k] = next;
        }
    }
    for (int k = 0; k < width; k++) {
        mean[k] =
            lost == 0.0 ? pc_rounded_mean(sums[k], count) : pc_voxel_mean(job->data, columns, rows, count, k, true);
    }
}

static void fill_means(const pc_voxelize_job *job, const int32_t *rows, int32_t count, int width, float *mean) {
    if (job->max_points == 0) {
        if (job->columns == 4 && width == 4) {
            find_wide_means(job, rows, count, 4, 4, mean);
        } else {
            find_wide_means(job, rows, count, job->columns, width, mean);
        }
    } else if (job->columns == 4 && width == 4) {
        find_means(job, rows, count, 4, 4, mean);
    } else {
        find_means(job, rows, count, job->columns, width, mean);
    }
}

/* The points' own values are in place. */
static void finish_pillar(const pc_voxelize_job *job, int32_t count, const int32_t *coords, float *rows) {
    float mean[3];
    for (int k = 0; k < 3; k++) {
        mean[k] = pc_voxel_mean(rows, PC_PILLAR_COLUMNS, NULL, count, k, job->max_points == 0);
    }
    for (int32_t i = 0; i < count; i++, rows += PC_PILLAR_COLUMNS) {
        const float p[4] = {rows[0], rows[1], rows[2], rows[3]};
        pc_pillar_row(&job->grid, p, 4, mean, coords, rows);
    }
}

static void copy_selected(const pc_voxelize_job *job, int32_t row, int64_t voxel, pcgpu_voxels *out) {
    const size_t columns = (size_t)job->columns;
    out->selected[voxel] = row;
    memcpy(out->features + (size_t)voxel * columns, job->data + (size_t)row * columns, columns * sizeof(float));
}

static void finish_voxel(const voxelizer *v, int64_t i, pcgpu_voxels *out) {
    const pc_voxelize_job *job = v->job;
    const int32_t count = out->counts[i];
    const int32_t *rows = v->order ? v->order + v->starts[i] : NULL;
    float *to = out->features + i * out->capacity * out->columns, mean[3];
    switch (job->features) {
    case PCGPU_FEATURES_MEAN: fill_means(job, rows, count, job->columns, to); break;
    case PCGPU_FEATURES_FIRST: copy_selected(job, v->numbered.voxels[i].first, i, out); break;
    case PCGPU_FEATURES_NEAREST:
        fill_means(job, rows, count, 3, mean);
        copy_selected(job, pc_voxel_nearest(job->data, job->columns, rows, count, mean), i, out);
        break;
    case PCGPU_FEATURES_PILLAR: finish_pillar(job, count, out->coords + 4 * i, to); break;
    case PCGPU_FEATURES_POINTS: break;
    }
    if (is_padded(job->features)) {
        const int64_t filled = (int64_t)count * out->columns, width = out->capacity * out->columns;
        memset(to + filled, 0, (size_t)(width - filled) * sizeof *to);
    }
}

static void finish_voxels(const voxelizer *v, pcgpu_voxels *out) {
    const bool parallel = v->job->rows > ENOUGH_FOR_THREADS;
    (void)parallel;
#pragma omp parallel for num_threads(v->threads) if (parallel) schedule(dynamic, 256)
    for (int64_t i = 0; i < out->count; i++) {
        finish_voxel(v, i, out);
    }
}

/* ---- places and sums ------------------------------------------------------------------------------------------- */

/* `order` for the points that are kept. */
static bool start_order(voxelizer *v, const pcgpu_voxels *out) {
    pc_voxel_scratch *s = v->scratch;
    const size_t count = (size_t)out->count;
    if (!pc_block_reserve(&s->starts, (count + 1) * sizeof *v->starts, false) ||
        !pc_block_reserve(&s->order, ((size_t)out->kept + 1) * sizeof *v->order, false)) {
        return false;
    }
    v->starts = s->starts.memory;
    v->order = s->order.memory;
    v->starts[0] = 0;
    for (size_t i = 0; i < count; i++) {
        v->starts[i + 1] = v->starts[i] + out->counts[i];
    }
    return true;
}

/* Counts the points placed so far, when one part has them all. */
static bool start_cursors(voxelizer *v, const pcgpu_voxels *out) {
    const size_t bytes = (size_t)(out->count + 1) * sizeof *v->cursors;
    if (!pc_block_reserve(&v->scratch->cursors, bytes, false)) {
        return false;
    }
    v->cursors = memset(v->scratch->cursors.memory, 0, bytes);
    return true;
}

static bool place_points(voxelizer *v, pcgpu_voxels *out) {
    if ((v->numbered.parts == 1 && !start_cursors(v, out)) || (needs_order(v) && !start_order(v, out))) {
        return false;
    }
#pragma omp parallel for num_threads(v->numbered.parts) schedule(static, 1)
    for (int part = 0; part < v->numbered.parts; part++) {
        place_part(v, part, out);
    }
    finish_voxels(v, out);
    return true;
}

/* Means that were not exact, from the points: out->point_voxel holds the final numbers. */
static bool repair_means(voxelizer *v, pcgpu_voxels *out) {
    const int columns = v->job->columns;
    if (!start_cursors(v, out) || !start_order(v, out)) {
        return false;
    }
    for (int64_t i = 0; i < v->job->rows; i++) {
        const int32_t voxel = out->point_voxel[i];
        if (voxel >= 0) {
            v->order[v->starts[voxel] + v->cursors[voxel]++] = (int32_t)i;
        }
    }
    for (int64_t i = 0; i < out->count; i++) {
        float *mean = out->features + i * columns;
        for (int k = 0; k < columns; k++) {
            if (mean[k] != mean[k]) {
                mean[k] = pc_voxel_mean(v->job->data, columns, v->order + v->starts[i], out->counts[i], k, true);
            }
        }
    }
    return true;
}

static bool sum_up(voxelizer *v, pcgpu_voxels *out) {
    const int64_t columns = v->job->columns;
    const size_t values = (size_t)(out->count * columns);
    const bool wide = v->job->max_points == 0;
    bool exact = true;
    if (!start_cursors(v, out) ||
        (wide && !pc_block_reserve(&v->scratch->sums, (values + 1) * sizeof(double), false))) {
        return false;
    }
    void *sums = wide ? v->scratch->sums.memory : (void *)out->features;
    memset(sums, 0, values * (wide ? sizeof(double) : sizeof(float)));
    pc_add_records(v->job, v->simd, out->count, out->point_voxel, v->cursors, sums);
    for (int64_t i = 0; i < out->count; i++) {
        float *mean = out->features + i * columns;
        for (int64_t k = 0; k < columns; k++) {
            mean[k] = wide ? pc_rounded_mean(((double *)sums)[i * columns + k], out->counts[i])
                           : pc_one_nan(mean[k] / (float)out->counts[i]);
            exact = exact && (!wide || mean[k] == mean[k]);
        }
    }
    return exact || repair_means(v, out);
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

/* What needs no point: counts and coordinates. */
static void describe_voxels(const voxelizer *v, pcgpu_voxels *out) {
    for (int64_t i = 0; i < out->count; i++) {
        out->counts[i] = (int32_t)kept_of(v->job, v->numbered.voxels[i].points);
        pc_key_coords(&v->layout, v->numbered.voxels[i].key, out->coords + 4 * i);
    }
}

static pcgpu_status run(pcgpu_context *context, voxelizer *v, pcgpu_voxels *out) {
    size_t rows = (size_t)v->job->rows;
    out->point_voxel = malloc((rows + 1) * sizeof *out->point_voxel);
    if (!out->point_voxel ||
        !pc_number_voxels(v->job, v->simd, v->threads, v->scratch, out->point_voxel, &v->numbered)) {
        return pc_fail_memory(context, rows * (sizeof *out->point_voxel + 2 * sizeof(pc_cell_voxel)),
                              "the voxels' hash table");
    }
    out->run.non_finite = v->numbered.drops.non_finite;
    out->run.at_origin = v->numbered.drops.at_origin;
    pcgpu_status status = pc_voxels_allocate(context, v->job, count_points(v, out), out);
    if (status != PCGPU_OK) {
        return status;
    }
    describe_voxels(v, out);
    if (!(sums_up(v) ? sum_up(v, out) : place_points(v, out))) {
        return pc_fail_memory(context, rows * 12, "the points of the voxels");
    }
    return PCGPU_OK;
}

static size_t free_block(pc_block *block, bool really) {
    size_t bytes = block->bytes;
    if (really) {
        free(block->memory);
        *block = (pc_block){NULL, 0};
    }
    return bytes;
}

/* The bytes of the scratch memory, which are given back when `really`. */
static size_t free_scratch(pc_voxel_scratch *s, bool really) {
    size_t bytes = free_block(&s->voxels, really) + free_block(&s->cursors, really) + free_block(&s->starts, really) +
                   free_block(&s->order, really) + free_block(&s->sums, really);
    for (int i = 0; i < PC_VOXEL_PARTS; i++) {
        struct pc_voxel_part *part = &s->part[i];
        bytes += free_block(&part->map, really) + free_block(&part->before, really) + free_block(&part->to, really) +
                 free_block(&part->share_voxel, really) + free_block(&part->list.voxel_block, really) +
                 free_block(&part->list.table_block, really) + free_block(&part->share.voxel_block, really) +
                 free_block(&part->share.table_block, really);
    }
    return bytes;
}

void pc_cpu_voxelize_end(pcgpu_context *context) {
    if (context->cpu_voxels) {
        free_scratch(context->cpu_voxels, true);
        free(context->cpu_voxels);
        context->cpu_voxels = NULL;
    }
}

pcgpu_status pc_cpu_voxelize(pcgpu_context *context, const pc_voxelize_job *job, pcgpu_voxels *out) {
    voxelizer v = {.job = job, .threads = context->threads, .layout = pc_cell_layout_of(&job->grid)};
    for (int simd = PC_SIMD_BASE; simd < PC_SIMD_FORMS; simd++) {
        v.simd = pc_cpu_has((pc_simd)simd) ? (pc_simd)simd : v.simd;
    }
    if (!context->cpu_voxels) {
        context->cpu_voxels = calloc(1, sizeof(pc_voxel_scratch));
    }
    v.scratch = context->cpu_voxels;
    if (!v.scratch) {
        return pc_fail_memory(context, sizeof(pc_voxel_scratch), "the voxels");
    }
    pcgpu_status status = run(context, &v, out);
    if (status != PCGPU_OK) {
        pcgpu_voxels_free(out);
    }
    if (status != PCGPU_OK || free_scratch(v.scratch, false) > KEPT_BYTES) {
        pc_cpu_voxelize_end(context);
    }
    return status;
}
