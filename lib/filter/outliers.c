/* Outliers: points that are far from their nearest neighbours, and points with few others within a radius. */
#include "filter.h"
#include "filter_ops.h"
#include "outliers_math.h"
#include "temporary.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- mean distances ---------------------------------------------------------------------------------------------- */

typedef struct statistics {
    const pc_subset *subset;
    const double *means; /* of its points */
    double middle, threshold;
    bool squares; /* sum those of the differences from the middle */
    pc_mean_sum *blocks;
    uint8_t *mask;
    _Atomic int64_t removed;
} statistics;

/* The first point of the subset at or behind a record. */
static int64_t point_from(const pc_subset *s, int64_t record) {
    int64_t low = 0, high = s->n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        low = s->rows[middle] < record ? middle + 1 : low;
        high = s->rows[middle] < record ? high : middle;
    }
    return low;
}

static void sum_block(void *state, int64_t begin, int64_t end) {
    const statistics *s = state;
    pc_mean_sum sum = {0};
    for (int64_t i = point_from(s->subset, begin); i < s->subset->n && s->subset->rows[i] < end; i++) {
        pc_mean_sum_add(&sum, s->means[i], s->middle, s->squares);
    }
    s->blocks[begin / PC_OUTLIERS_BLOCK] = sum;
}

static pc_mean_sum sum_all(pcgpu_context *context, statistics *s, int64_t rows) {
    pc_mean_sum sum = {0};
    pc_run_ranges(context, rows, PC_OUTLIERS_BLOCK, sum_block, s);
    for (int64_t b = 0; b * PC_OUTLIERS_BLOCK < rows; b++) {
        pc_mean_sum_join(&sum, &s->blocks[b]);
    }
    return sum;
}

static pcgpu_status measure(pcgpu_context *context, statistics *s, int64_t rows, double sigmas, pcgpu_outliers *found) {
    const size_t bytes = (size_t)(rows / PC_OUTLIERS_BLOCK + 1) * sizeof *s->blocks;
    s->blocks = malloc(bytes);
    if (!s->blocks) {
        return pc_fail_memory(context, bytes, "the distances");
    }
    pc_mean_sum sum = sum_all(context, s, rows);
    s->middle = found->average = pc_average_of(&sum);
    s->squares = true;
    sum = sum_all(context, s, rows);
    found->deviation = pc_deviation_of(&sum);
    s->threshold = found->threshold = found->average + sigmas * found->deviation;
    free(s->blocks);
    return PCGPU_OK;
}

/* Clears the records beyond the threshold, and those that take no part. */
static void clear_far(void *state, int64_t begin, int64_t end) {
    statistics *s = state;
    int64_t at = point_from(s->subset, begin), removed = 0;
    for (int64_t record = begin; record < end; record++) {
        const bool has_part = at < s->subset->n && s->subset->rows[at] == record;
        const bool is_far = has_part && s->means[at] > s->threshold;
        s->mask[record] = has_part && !is_far;
        removed += is_far;
        at += has_part;
    }
    s->removed += removed;
}

static pcgpu_status check_parameters(pcgpu_context *context, int k, double sigmas) {
    return k >= 1 && k < PCGPU_NEIGHBORS_MOST && isfinite(sigmas)
               ? PCGPU_OK
               : pc_fail(context, PCGPU_ERROR_ARGUMENT,
                         "%d neighbours and %g standard deviations; give 1 to %d neighbours and a finite number", k,
                         sigmas, PCGPU_NEIGHBORS_MOST - 1);
}

pcgpu_status pcgpu_find_outliers(pcgpu_context *context, const pcgpu_cloud *cloud, int k, double sigmas, uint8_t *mask,
                                 pcgpu_outliers *found) {
    pc_subset s;
    double *means = NULL;
    pcgpu_run search = {0};
    pcgpu_status status;
    *found = (pcgpu_outliers){0};
    PC_TRY(check_parameters(context, k, sigmas));
    PC_TRY(pc_subset_select(context, cloud, mask, &s, &found->run));
    means = malloc((size_t)(s.n + 1) * sizeof *means);
    if (!means) {
        status = pc_fail_memory(context, (uint64_t)s.n * sizeof *means, "the distances");
        goto done;
    }
    const pcgpu_clouds clouds = pc_subset_clouds(&s);
    PC_TRY_OR(done, status, pc_neighbors_means(context, &clouds, k, means, &search));
    pc_subset_add_run(&found->run, &search, &found->run);
    statistics far = {.subset = &s, .means = means, .mask = mask};
    PC_TRY_OR(done, status, measure(context, &far, cloud->rows, sigmas, found));
    pc_run_ranges(context, cloud->rows, PC_OUTLIERS_BLOCK, clear_far, &far);
    found->removed = far.removed;
done:
    free(means);
    pc_subset_free(&s);
    *found = status == PCGPU_OK ? *found : (pcgpu_outliers){0};
    return status;
}

/* ---- a radius ---------------------------------------------------------------------------------------------------- */

typedef struct finding {
    const pcgpu_cloud *cloud;
    float radius;
    int64_t others;
    uint8_t *sparse; /* of the records: 1 = too few others */
    uint8_t *mask;
    _Atomic int64_t removed;
} finding;

static pcgpu_status find_sparse(pcgpu_context *context, void *state, const pc_tile *tile, pcgpu_run *run) {
    const finding *f = state;
    const pc_subset *s = &tile->points;
    const size_t bytes = (size_t)(s->n + 1) * sizeof(int32_t);
    int32_t *counts = malloc(bytes);
    pcgpu_status status =
        counts ? pc_subset_count(context, s, f->radius, counts, run) : pc_fail_memory(context, bytes, "the neighbours");
    for (int64_t i = 0; i < s->n && status == PCGPU_OK; i++) {
        if (pc_is_in_tile(tile, s->xyz + 3 * i, 0.0)) {
            f->sparse[s->rows[i]] = pc_is_sparse(counts[i], f->others);
        }
    }
    free(counts);
    return status;
}

static pcgpu_status check_others(pcgpu_context *context, int64_t others) {
    return others >= 0 ? PCGPU_OK
                       : pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld other points within the radius; give 0 or more",
                                 (long long)others);
}

static void clear_sparse(void *state, int64_t begin, int64_t end) {
    finding *f = state;
    int64_t removed = 0;
    for (int64_t i = begin; i < end; i++) {
        const float *p = f->cloud->data + i * f->cloud->columns;
        f->mask[i] = f->mask[i] && !f->sparse[i] && pc_is_finite3(p[0], p[1], p[2]);
        removed += f->sparse[i];
    }
    f->removed += removed;
}

pcgpu_status pcgpu_find_sparse(pcgpu_context *context, const pcgpu_cloud *cloud, float radius, int64_t others,
                               uint8_t *mask, pcgpu_outliers *found) {
    void *memory = NULL;
    pcgpu_status status;
    *found = (pcgpu_outliers){0};
    PC_TRY(check_others(context, others));
    PC_TRY(pc_allocate(context, (uint64_t)cloud->rows, pc_filter_heap(context), &memory));
    finding f = {.cloud = cloud, .radius = radius, .others = others, .sparse = memory, .mask = mask};
    memset(f.sparse, 0, (size_t)cloud->rows);
    PC_TRY_OR(done, status, pc_run_tiles(context, cloud, mask, radius, PC_SEARCH_BYTES, find_sparse, &f, &found->run));
    pc_run_ranges(context, cloud->rows, PC_OUTLIERS_BLOCK, clear_sparse, &f);
    found->removed = f.removed;
done:
    pc_release(memory);
    *found = status == PCGPU_OK ? *found : (pcgpu_outliers){0};
    return status;
}

/* ---- arrays of a device ------------------------------------------------------------------------------------------ */

static pcgpu_status find_on_device(pcgpu_context *context, void *stream, const pc_outliers_job *job) {
    if (job->rows < 0 || job->rows > INT32_MAX || job->columns < 3) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld records of %d columns; give up to 2^31 of 3 or more",
                       (long long)job->rows, job->columns);
    }
    return job->rows > 0 ? pc_cuda_find_outliers_device(context, stream, job) : PCGPU_OK;
}

pcgpu_status pcgpu_find_outliers_device(pcgpu_context *context, void *stream, const float *data, int64_t rows,
                                        int columns, int k, double sigmas, uint8_t *mask) {
    const pc_outliers_job job = {data, rows, columns, mask, .k = k, .sigmas = sigmas};
    PC_TRY(pc_context_need_cuda(context));
    PC_TRY(check_parameters(context, k, sigmas));
    return find_on_device(context, stream, &job);
}

pcgpu_status pcgpu_find_sparse_device(pcgpu_context *context, void *stream, const float *data, int64_t rows,
                                      int columns, float radius, int64_t others, uint8_t *mask) {
    const pc_outliers_job job = {data, rows, columns, mask, .sparse = true, .radius = radius, .others = others};
    PC_TRY(pc_context_need_cuda(context));
    PC_TRY(pc_neighbors_check_radius(context, radius));
    PC_TRY(check_others(context, others));
    return find_on_device(context, stream, &job);
}
