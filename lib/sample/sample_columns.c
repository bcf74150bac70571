/* Points of other columns than x y z, for farthest point sampling among features. Up to three columns are sampled as
 * x y z are: a column that is not there is 0 everywhere, which adds 0 to every distance. */
#include "error.h"
#include "sample.h"

#include <stdlib.h>

bool pc_has_columns(const pcgpu_sample_params *p) {
    const int *c = p->columns;
    return p->column_count > 0 && !(p->column_count == 3 && c[0] == 0 && c[1] == 1 && c[2] == 2);
}

pcgpu_status pc_columns_check(pcgpu_context *context, const pcgpu_sample_params *p, int64_t columns) {
    if (p->column_count < 0 || p->column_count > PCGPU_MAX_COLUMNS) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%d columns; give 1 to %d, or none for x y z", p->column_count,
                       PCGPU_MAX_COLUMNS);
    }
    if (p->column_count && p->method != PCGPU_SAMPLE_FPS) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "random sampling measures no distances; leave the columns out or use farthest point sampling");
    }
    for (int k = 0; k < p->column_count; k++) {
        if (p->columns[k] < 0 || p->columns[k] >= columns) {
            return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                           "column %d of a cloud with columns 0 to %lld; give one of these", p->columns[k],
                           (long long)columns - 1);
        }
    }
    return PCGPU_OK;
}

/* Counts the usable records; with `points`, takes them. */
static int64_t take_usable(const pcgpu_cloud *cloud, const pcgpu_sample_params *p, pc_points *points, pcgpu_run *run) {
    float origin[3];
    int64_t n = 0;
    pc_cloud_origin(cloud, p->drop_origin, origin);
    for (int64_t i = 0; i < cloud->rows; i++) {
        const float *record = cloud->data + i * cloud->columns;
        float sum = 0.0f; /* NaN where a value is not finite */
        for (int k = 0; k < p->column_count; k++) {
            sum += record[p->columns[k]] - record[p->columns[k]];
        }
        if (sum != 0.0f || pc_is_at(origin, record)) {
            run->non_finite += sum != 0.0f;
            run->at_origin += sum == 0.0f;
            continue;
        }
        for (int k = 0; k < p->column_count && points; k++) {
            points->x[k * points->n + n] = record[p->columns[k]];
        }
        if (points && points->rows) {
            points->rows[n] = (int32_t)i;
        }
        n++;
    }
    return n;
}

pcgpu_status pc_columns_select(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_sample_params *p,
                               pc_points *points, pcgpu_run *run) {
    pcgpu_run counted = {0};
    if (cloud->rows > INT32_MAX) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "%lld points; indices are 32 bits wide, so split the cloud below 2^31", (long long)cloud->rows);
    }
    const int64_t n = take_usable(cloud, p, NULL, run);
    const size_t arrays = p->column_count > 3 ? (size_t)p->column_count : 3, bytes = (arrays + 1) * (size_t)n * 4 + 4;
    float *memory = calloc(bytes, 1);
    if (!memory) {
        return pc_fail_memory(context, bytes, "the points");
    }
    *points = (pc_points){.n = n, .x = memory, .y = memory + n, .z = memory + 2 * n, .memory = memory};
    points->rows = n < cloud->rows ? (int32_t *)(memory + arrays * (size_t)n) : NULL;
    take_usable(cloud, p, points, &counted);
    run->points_in += cloud->rows;
    return PCGPU_OK;
}
