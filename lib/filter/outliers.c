/* Outliers: points that are far from their nearest neighbours, and points with few others within a radius. */
#include "filter.h"

#include <stdlib.h>
#include <string.h>

/* ---- the records that take part ---------------------------------------------------------------------------------- */

enum { CHUNK = 8192 };

/* Threads count the records of chunks, and then copy them. */
typedef struct selecting {
    const pcgpu_cloud *cloud;
    const uint8_t *mask;
    pc_subset *subset;
    int64_t *chosen, *non_finite; /* by chunks; in the end *chosen has those of all chunks before */
} selecting;

static bool is_chosen(const selecting *s, int64_t i) {
    const float *p = s->cloud->data + i * s->cloud->columns;
    return (!s->mask || s->mask[i]) && pc_is_finite3(p[0], p[1], p[2]);
}

static void count_range(void *state, int64_t begin, int64_t end) {
    const selecting *s = state;
    int64_t part = 0, chosen = 0;
    for (int64_t i = begin; i < end; i++) {
        part += !s->mask || s->mask[i];
        chosen += is_chosen(s, i);
    }
    s->chosen[begin / CHUNK] = chosen;
    s->non_finite[begin / CHUNK] = part - chosen;
}

static void copy_range(void *state, int64_t begin, int64_t end) {
    const selecting *s = state;
    int64_t at = s->chosen[begin / CHUNK];
    for (int64_t i = begin; i < end; i++) {
        if (is_chosen(s, i)) {
            memcpy(s->subset->xyz + 3 * at, s->cloud->data + i * s->cloud->columns, 3 * sizeof(float));
            s->subset->rows[at++] = (int32_t)i;
        }
    }
}

pcgpu_status pc_subset_select(pcgpu_context *context, const pcgpu_cloud *cloud, const uint8_t *mask, pc_subset *subset,
                              pcgpu_run *run) {
    const size_t rows = (size_t)cloud->rows, chunks = rows / CHUNK + 1;
    const size_t bytes = (rows + 1) * (3 * sizeof(float) + sizeof(int32_t)) + chunks * 2 * sizeof(int64_t);
    *subset = (pc_subset){0};
    if (cloud->rows > INT32_MAX) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld points; more than 2^31 are not possible",
                       (long long)cloud->rows);
    }
    subset->memory = malloc(bytes);
    if (!subset->memory) {
        return pc_fail_memory(context, bytes, "the points");
    }
    int64_t *numbers = (int64_t *)subset->memory;
    subset->xyz = (float *)(numbers + 2 * chunks);
    subset->rows = (int32_t *)(subset->xyz + 3 * rows);
    selecting s = {cloud, mask, subset, numbers, numbers + chunks};
    pc_run_ranges(context, cloud->rows, CHUNK, count_range, &s);
    run->points_in += cloud->rows;
    for (int64_t chunk = 0; chunk * CHUNK < cloud->rows; chunk++) {
        const int64_t chosen = s.chosen[chunk];
        s.chosen[chunk] = subset->n;
        subset->n += chosen;
        run->non_finite += s.non_finite[chunk];
    }
    pc_run_ranges(context, cloud->rows, CHUNK, copy_range, &s);
    return PCGPU_OK;
}

void pc_subset_free(pc_subset *subset) {
    free(subset->memory);
    *subset = (pc_subset){0};
}

void pc_subset_add_run(pcgpu_run *run, const pcgpu_run *search, const pcgpu_run *counts) {
    const int64_t points_in = counts->points_in, non_finite = counts->non_finite;
    *run = *search;
    run->points_in = points_in;
    run->non_finite = non_finite;
}

pcgpu_status pc_subset_count(pcgpu_context *context, const pc_subset *subset, float radius, int32_t *counts,
                             pcgpu_run *run) {
    const pcgpu_clouds clouds = pc_subset_clouds(subset);
    const pcgpu_neighbor_lists lists = {.counts = counts};
    pcgpu_neighbors_params params;
    pcgpu_run search;
    pcgpu_neighbors_params_init(&params);
    params.k = 0;
    params.radius = radius;
    PC_TRY(pcgpu_neighbors(context, &clouds, &clouds, &params, &lists, &search));
    pc_subset_add_run(run, &search, run);
    return PCGPU_OK;
}

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

pcgpu_status pcgpu_find_sparse(pcgpu_context *context, const pcgpu_cloud *cloud, float radius, int64_t others,
                               uint8_t *mask, pcgpu_outliers *found) {
    pc_subset s;
    int32_t *counts = NULL;
    pcgpu_status status;
    *found = (pcgpu_outliers){0};
    if (others < 0) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld other points within the radius; give 0 or more",
                       (long long)others);
    }
    PC_TRY(pc_subset_select(context, cloud, mask, &s, &found->run));
    counts = malloc((size_t)(s.n + 1) * sizeof *counts);
    if (!counts) {
        status = pc_fail_memory(context, (uint64_t)s.n * sizeof *counts, "the neighbours");
        goto done;
    }
    PC_TRY_OR(done, status, pc_subset_count(context, &s, radius, counts, &found->run));
    clear_others(cloud, mask);
    for (int64_t i = 0; i < s.n; i++) {
        if (counts[i] - 1 < others) {
            clear(mask, s.rows[i], &found->removed);
        }
    }
done:
    free(counts);
    pc_subset_free(&s);
    *found = status == PCGPU_OK ? *found : (pcgpu_outliers){0};
    return status;
}
