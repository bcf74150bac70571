/* Which voxels stay when there are more than max_voxels: a run without limits finds all voxels, and another one takes
 * the points of those that stay, in their order. So both back ends give the same bytes. */
#include "temporary.h"
#include "voxelize_grid.h"

#include <stdlib.h>
#include <string.h>

/* A voxel and what it is kept by: the lowest come first. */
typedef struct ranked {
    double key;
    int64_t voxel;
} ranked;

static int by_key(const void *a, const void *b) {
    const ranked *p = a, *q = b;
    return p->key != q->key ? (p->key < q->key ? -1 : 1) : (p->voxel > q->voxel) - (p->voxel < q->voxel);
}

/* The squared distance of the center of a voxel to the origin of the file. */
static double distance_of(const pcgpu_voxels *all, const double size[3], int64_t voxel) {
    double sum = 0.0;
    for (int k = 0; k < 3; k++) {
        const double center = all->range[k] + ((double)all->coords[4 * voxel + 3 - k] + 0.5) * size[k];
        sum += center * center;
    }
    return sum;
}

/* The records of the voxels that stay: *rows, malloc'd, and *count. Errors: MEMORY. */
static pcgpu_status choose(pcgpu_context *context, const pcgpu_voxels *all, const pcgpu_voxelize_params *p,
                           int64_t records, int32_t **rows, int64_t *count) {
    const size_t voxels = (size_t)all->count;
    ranked *order = malloc(voxels * sizeof *order);
    bool *stays = calloc(voxels, sizeof *stays);
    *rows = malloc((size_t)records * sizeof **rows);
    *count = 0;
    if (!order || !stays || !*rows) {
        free(order);
        free(stays);
        return pc_fail_memory(context, (uint64_t)voxels * sizeof *order + (uint64_t)records * 4,
                              "the voxels that stay");
    }
    for (int64_t i = 0; i < all->count; i++) {
        const bool most = p->keep_voxels == PCGPU_KEEP_MOST;
        order[i] = (ranked){most ? -(double)all->counts[i] : distance_of(all, p->size, i), i};
    }
    qsort(order, voxels, sizeof *order, by_key);
    for (int64_t i = 0; i < p->max_voxels; i++) {
        stays[order[i].voxel] = true;
    }
    for (int64_t i = 0; i < records; i++) {
        if (all->point_voxel[i] >= 0 && stays[all->point_voxel[i]]) {
            (*rows)[(*count)++] = (int32_t)i;
        }
    }
    free(order);
    free(stays);
    return PCGPU_OK;
}

/* Makes the result for the points `rows` one for all records. Errors: MEMORY. */
static pcgpu_status widen(pcgpu_context *context, const pcgpu_voxels *all, const int32_t *rows, int64_t count,
                          int64_t records, pcgpu_voxels *v) {
    int32_t *point_voxel = malloc((size_t)records * sizeof *point_voxel);
    if (!point_voxel) {
        return pc_fail_memory(context, (uint64_t)records * 4, "the voxels of the points");
    }
    memset(point_voxel, -1, (size_t)records * sizeof *point_voxel);
    for (int64_t i = 0; i < count; i++) {
        point_voxel[rows[i]] = v->point_voxel[i];
    }
    for (int64_t i = 0; i < v->count && v->selected; i++) {
        v->selected[i] = rows[v->selected[i]];
    }
    pc_release(v->point_voxel);
    v->point_voxel = point_voxel;
    v->over_voxels = all->in_range - v->in_range;
    v->in_range = all->in_range;
    v->out_of_range = all->out_of_range;
    v->voxels_found = all->voxels_found;
    v->largest = all->largest;
    v->run.points_in = all->run.points_in;
    v->run.non_finite = all->run.non_finite;
    v->run.at_origin = all->run.at_origin;
    return PCGPU_OK;
}

static pcgpu_status voxelize(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_voxelize_params *params,
                             pcgpu_voxels *result) {
    pcgpu_voxels all;
    pcgpu_cloud part = {0};
    int32_t *rows = NULL;
    int64_t count;
    pcgpu_status status = pc_voxelize_first(context, cloud, params, result);
    if (status != PCGPU_OK || params->keep_voxels == PCGPU_KEEP_FIRST || result->over_voxels == 0) {
        return status;
    }
    pcgpu_voxelize_params own = *params;
    own.max_voxels = own.max_points = 0;
    own.features = PCGPU_FEATURES_FIRST;
    pcgpu_voxels_free(result);
    PC_TRY(pc_voxelize_first(context, cloud, &own, &all));
    const double begin = pc_now();
    PC_TRY_OR(done, status, choose(context, &all, params, cloud->rows, &rows, &count));
    PC_TRY_OR(done, status, pcgpu_cloud_gather(context, cloud, rows, count, &part));
    own = *params;
    own.max_voxels = 0;
    own.range_auto = false;
    memcpy(own.range, all.range, sizeof own.range);
    PC_TRY_OR(done, status, pc_voxelize_first(context, &part, &own, result));
    status = widen(context, &all, rows, count, cloud->rows, result);
    pc_stage(&result->run, "keep", begin);
done:
    if (status != PCGPU_OK) {
        pcgpu_voxels_free(result);
    }
    pcgpu_voxels_free(&all);
    pcgpu_cloud_free(&part);
    free(rows);
    return status;
}

pcgpu_status pcgpu_voxelize(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_voxelize_params *params,
                            pcgpu_voxels *result) {
    PC_TRY(voxelize(context, cloud, params, result));
    return pc_voxels_set_classes(context, cloud, NULL, 0, params, result);
}
