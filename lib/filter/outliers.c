/* Outliers: points that are far from their nearest neighbours, and points with few others within a radius. */
#include "filter.h"
#include "temporary.h"

#include <stdlib.h>
#include <string.h>

/* ---- mean distances ---------------------------------------------------------------------------------------------- */

/* Sums over blocks of points, then over the blocks: the number of threads does not change them. */
enum { BLOCK = 4096 };

typedef struct summing {
    const double *means; /* below 0: the point has no other */
    double middle;
    bool squares; /* of the differences from the middle */
    double *sums;
    int64_t *counts;
} summing;

static void sum_block(void *state, int64_t begin, int64_t end) {
    const summing *s = state;
    double sum = 0.0;
    int64_t count = 0;
    for (int64_t i = begin; i < end; i++) {
        const double d = s->means[i] - s->middle;
        if (s->means[i] >= 0.0) {
            sum += s->squares ? d * d : d;
            count++;
        }
    }
    s->sums[begin / BLOCK] = sum;
    s->counts[begin / BLOCK] = count;
}

static double sum_all(pcgpu_context *context, const summing *s, int64_t n, int64_t *count) {
    double sum = 0.0;
    *count = 0;
    pc_run_ranges(context, n, BLOCK, sum_block, (void *)s);
    for (int64_t b = 0; b * BLOCK < n; b++) {
        sum += s->sums[b];
        *count += s->counts[b];
    }
    return sum;
}

/* The average of the means and their standard deviation. */
static pcgpu_status measure(pcgpu_context *context, const double *means, int64_t n, pcgpu_outliers *found) {
    const size_t blocks = (size_t)(n / BLOCK + 1), bytes = blocks * (sizeof(double) + sizeof(int64_t));
    int64_t count;
    summing s = {.means = means, .sums = malloc(bytes)};
    if (!s.sums) {
        return pc_fail_memory(context, bytes, "the distances");
    }
    s.counts = (int64_t *)(s.sums + blocks);
    const double sum = sum_all(context, &s, n, &count);
    found->average = count > 0 ? sum / (double)count : 0.0;
    s.middle = found->average;
    s.squares = true;
    const double squares = sum_all(context, &s, n, &count);
    found->deviation = count > 1 ? sqrt(squares / (double)(count - 1)) : 0.0;
    free(s.sums);
    return PCGPU_OK;
}

static void clear(uint8_t *mask, int64_t row, int64_t *removed) {
    mask[row] = 0;
    (*removed)++;
}

/* Clears the records that take no part because they are not finite. */
static void clear_others(const pcgpu_cloud *cloud, uint8_t *mask) {
    for (int64_t i = 0; i < cloud->rows; i++) {
        const float *p = cloud->data + i * cloud->columns;
        mask[i] = mask[i] && pc_is_finite3(p[0], p[1], p[2]);
    }
}

pcgpu_status pcgpu_find_outliers(pcgpu_context *context, const pcgpu_cloud *cloud, int k, double sigmas, uint8_t *mask,
                                 pcgpu_outliers *found) {
    pc_subset s;
    double *means = NULL;
    pcgpu_run search = {0};
    pcgpu_status status;
    *found = (pcgpu_outliers){0};
    if (k < 1 || k >= PCGPU_NEIGHBORS_MOST || !isfinite(sigmas)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "%d neighbours and %g standard deviations; give 1 to %d neighbours and a finite number", k,
                       sigmas, PCGPU_NEIGHBORS_MOST - 1);
    }
    PC_TRY(pc_subset_select(context, cloud, mask, &s, &found->run));
    means = malloc((size_t)(s.n + 1) * sizeof *means);
    if (!means) {
        status = pc_fail_memory(context, (uint64_t)s.n * sizeof *means, "the distances");
        goto done;
    }
    const pcgpu_clouds clouds = pc_subset_clouds(&s);
    PC_TRY_OR(done, status, pc_neighbors_means(context, &clouds, k, means, &search));
    pc_subset_add_run(&found->run, &search, &found->run);
    PC_TRY_OR(done, status, measure(context, means, s.n, found));
    found->threshold = found->average + sigmas * found->deviation;
    clear_others(cloud, mask);
    for (int64_t i = 0; i < s.n; i++) {
        if (means[i] > found->threshold) {
            clear(mask, s.rows[i], &found->removed);
        }
    }
done:
    free(means);
    pc_subset_free(&s);
    *found = status == PCGPU_OK ? *found : (pcgpu_outliers){0};
    return status;
}

/* ---- a radius ---------------------------------------------------------------------------------------------------- */

typedef struct finding {
    float radius;
    int64_t others;
    uint8_t *sparse; /* of the records: 1 = too few others */
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
            /* the square of a tiny radius is 0: not even itself is within */
            f->sparse[s->rows[i]] = f->others > 0 && counts[i] - 1 < f->others;
        }
    }
    free(counts);
    return status;
}

pcgpu_status pcgpu_find_sparse(pcgpu_context *context, const pcgpu_cloud *cloud, float radius, int64_t others,
                               uint8_t *mask, pcgpu_outliers *found) {
    void *memory = NULL;
    pcgpu_status status;
    *found = (pcgpu_outliers){0};
    if (others < 0) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld other points within the radius; give 0 or more",
                       (long long)others);
    }
    PC_TRY(pc_allocate(context, (uint64_t)cloud->rows, pc_filter_heap(context), &memory));
    finding f = {radius, others, memory};
    memset(f.sparse, 0, (size_t)cloud->rows);
    PC_TRY_OR(done, status, pc_run_tiles(context, cloud, mask, radius, PC_SEARCH_BYTES, find_sparse, &f, &found->run));
    clear_others(cloud, mask);
    for (int64_t i = 0; i < cloud->rows; i++) {
        if (f.sparse[i]) {
            clear(mask, i, &found->removed);
        }
    }
done:
    pc_release(memory);
    *found = status == PCGPU_OK ? *found : (pcgpu_outliers){0};
    return status;
}
