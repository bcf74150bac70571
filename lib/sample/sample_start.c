/* The start of sampling: the first pick, or the seeds. */
#include "sample.h"

#include <stdlib.h>

/* The index of a record among the usable points, which are in the order of the records; or -1. */
static int64_t index_of_record(const pc_points *points, int64_t record) {
    if (!points->rows) {
        return record;
    }
    int64_t low = 0, high = points->n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (points->rows[middle] < record) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < points->n && points->rows[low] == record ? low : -1;
}

static int64_t farthest_from_centroid(const pc_points *points, int dimensions) {
    float center[PCGPU_MAX_COLUMNS];
    const float *at[PCGPU_MAX_COLUMNS] = {points->x, points->y, points->z};
    const int used = dimensions ? dimensions : 3;
    for (int k = 0; k < used; k++) {
        double sum = 0.0;
        at[k] = k < 3 ? at[k] : points->x + k * points->n;
        for (int64_t i = 0; i < points->n; i++) {
            sum += (double)at[k][i];
        }
        center[k] = (float)(sum / (double)points->n);
    }
    int64_t best = 0;
    float farthest = -1.0f;
    for (int64_t i = 0; i < points->n; i++) {
        float d = pc_squared_distance(at[0][i], at[1][i], at[2][i], center[0], center[1], center[2]);
        for (int k = 3; k < used; k++) {
            d += (at[k][i] - center[k]) * (at[k][i] - center[k]);
        }
        if (d > farthest) {
            farthest = d;
            best = i;
        }
    }
    return best;
}

/* Why a record is not among the usable points. */
static const char *dropped_why(const pcgpu_sample_params *p) {
    return p->drop_origin ? "not finite, or at the origin" : "a coordinate is not finite";
}

pcgpu_status pc_sample_start(pcgpu_context *context, const pcgpu_sample_params *p, const pc_points *points,
                             int64_t rows, int64_t *start) {
    if (p->start == PCGPU_START_FIRST) {
        *start = 0;
    } else if (p->start == PCGPU_START_CENTER) {
        *start = farthest_from_centroid(points, pc_dimensions_of(p));
    } else if (p->start == PCGPU_START_RANDOM) {
        *start = pc_random_below(p->seed, points->n);
    } else if (p->start_index < 0 || p->start_index >= rows) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "start record %lld of a cloud with records 0 to %lld; give one of these",
                       (long long)p->start_index, (long long)rows - 1);
    } else {
        *start = index_of_record(points, p->start_index);
        if (*start < 0) {
            return pc_fail(
                context, PCGPU_ERROR_ARGUMENT,
                "start record %lld was dropped (%s); give another start, or leave it out for the first usable record",
                (long long)p->start_index, dropped_why(p));
        }
    }
    return PCGPU_OK;
}

/* The index of seed i among the usable points; marks it in `taken`. */
static pcgpu_status convert_seed(pcgpu_context *context, const pcgpu_sample_params *p, const pc_points *points,
                                 int64_t rows, int64_t i, unsigned char *taken, int32_t *slot) {
    int64_t record = p->seeds[i];
    if (record < 0 || record >= rows) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "seed %lld is record %lld of a cloud with records 0 to %lld; give the picks of this cloud",
                       (long long)i + 1, (long long)record, (long long)rows - 1);
    }
    int64_t found = index_of_record(points, record);
    if (found < 0) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "seed %lld is record %lld, which was dropped (%s); leave it out",
                       (long long)i + 1, (long long)record, dropped_why(p));
    }
    if (taken[found]) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "seed %lld is record %lld, which an earlier seed is, too; give each record once",
                       (long long)i + 1, (long long)record);
    }
    taken[found] = 1;
    *slot = (int32_t)found;
    return PCGPU_OK;
}

pcgpu_status pc_sample_seeds(pcgpu_context *context, const pcgpu_sample_params *p, const pc_points *points,
                             int64_t rows, int32_t **seeds) {
    pcgpu_status status = PCGPU_OK;
    unsigned char *taken = calloc((size_t)points->n, 1);
    *seeds = malloc((size_t)p->seed_count * sizeof **seeds);
    if (!taken || !*seeds) {
        status = pc_fail_memory(context, (uint64_t)points->n + 4 * (uint64_t)p->seed_count, "the seeds");
    }
    for (int64_t i = 0; i < p->seed_count && status == PCGPU_OK; i++) {
        status = convert_seed(context, p, points, rows, i, taken, &(*seeds)[i]);
    }
    free(taken);
    if (status != PCGPU_OK) {
        free(*seeds);
        *seeds = NULL;
    }
    return status;
}
