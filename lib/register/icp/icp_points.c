/* Registration by ICP: the usable points of a cloud with the normals that it brings, and their means by voxel. */
#include "icp.h"
#include "voxelize_ops.h"

#include <stdlib.h>
#include <string.h>

/* Normals of a voxel that differ by more than about 25 degrees have a mean that is shorter: an edge, not a plane. */
#define LEAST_MEAN 0.9

/* Normals are estimated where less than this fraction of a level's points has one. */
#define LEAST_SHARE 0.5

void pc_rows_free(pc_rows *rows) {
    free(rows->xyz);
    free(rows->normals);
    *rows = (pc_rows){0};
}

/* Unit length, or zero when it has none, is shorter than `least` or not finite. */
static void normalize(const float n[3], double least, float to[3]) {
    double x = (double)n[0], y = (double)n[1], z = (double)n[2], length = sqrt((x * x + y * y) + z * z);
    bool good = length >= least && length > 0.0 && length < 1e18; /* false for NaN */
    to[0] = good ? (float)(x / length) : 0.0f;
    to[1] = good ? (float)(y / length) : 0.0f;
    to[2] = good ? (float)(z / length) : 0.0f;
}

/* Signs do not matter to planes, but to means: all normals are turned to the same side, that of the origin. */
static void take_normal(const float *record, int column, const float p[3], float to[3]) {
    normalize(record + column, 0.0, to);
    float along = (to[0] * p[0] + to[1] * p[1]) + to[2] * p[2];
    for (int k = 0; k < 3 && along > 0.0f; k++) {
        to[k] = -to[k];
    }
}

pcgpu_status pc_rows_select(pc_register_work *w, const pcgpu_cloud *cloud, pc_rows *out) {
    const pcgpu_register_method method = w->params->method;
    const int normal = method == PCGPU_REGISTER_POINT ? -1 : pc_normal_column(cloud);
    pc_points points;
    pcgpu_status status = PCGPU_OK;
    PC_TRY(pc_points_select(w->context, cloud, w->params->drop_origin, &points, &w->result->run));
    size_t n = (size_t)points.n, room = (n ? n : 1) * 3 * sizeof(float);
    out->n = points.n;
    out->xyz = malloc(room);
    out->normals = normal >= 0 ? malloc(room) : NULL;
    if (!out->xyz || (normal >= 0 && !out->normals)) {
        status = pc_fail_memory(w->context, 2 * room, "the points");
    }
    for (size_t i = 0; i < n && status == PCGPU_OK; i++) {
        float *p = out->xyz + 3 * i;
        p[0] = points.x[i];
        p[1] = points.y[i];
        p[2] = points.z[i];
        if (normal >= 0) {
            size_t row = points.rows ? (size_t)points.rows[i] : i;
            take_normal(cloud->data + row * (size_t)cloud->columns, normal, p, out->normals + 3 * i);
        }
    }
    pc_points_free(&points);
    return status;
}

/* ---- voxels ------------------------------------------------------------------------------------------------------ */

/* A grid over all points with its corner at multiples of the size. */
static pcgpu_status cover(pc_register_work *w, const pc_rows *points, double size, pc_grid *grid) {
    for (int k = 0; k < 3; k++) {
        float low = points->xyz[k], high = points->xyz[k];
        for (int64_t i = 1; i < points->n; i++) {
            float p = points->xyz[3 * i + k];
            low = p < low ? p : low;
            high = p > high ? p : high;
        }
        double corner = floor((double)low / size) * size;
        double cells = floor(((double)high - corner) / size) + 2.0;
        if (!(cells <= PC_ICP_MAX_CELLS)) {
            return pc_fail(
                w->context, PCGPU_ERROR_ARGUMENT,
                "a cloud spans %.3g m, more than %d voxels of %.3g m; remove far outliers or use a larger voxel",
                (double)high - (double)low, PC_ICP_MAX_CELLS, size);
        }
        grid->size[k] = (float)size;
        grid->min[k] = fminf((float)corner, low);
        grid->max[k] = HUGE_VALF;
        grid->cells[k] = (float)cells;
    }
    return PCGPU_OK;
}

static void *copy_of(const void *from, size_t bytes) {
    void *to = malloc(bytes);
    return to ? memcpy(to, from, bytes) : NULL;
}

/* Points and normals as records of six columns; NULL when memory is short. */
static float *joined(const pc_rows *points) {
    float *data = malloc((size_t)points->n * 6 * sizeof *data);
    for (int64_t i = 0; i < points->n && data; i++) {
        memcpy(data + 6 * i, points->xyz + 3 * i, 3 * sizeof *data);
        memcpy(data + 6 * i + 3, points->normals + 3 * i, 3 * sizeof *data);
    }
    return data;
}

/* Takes records of six columns apart; false when memory is short. */
static bool part(const float *data, int64_t n, pc_rows *out) {
    const size_t bytes = (size_t)(n ? n : 1) * 3 * sizeof(float);
    *out = (pc_rows){n, malloc(bytes), malloc(bytes)};
    for (int64_t i = 0; i < n && out->xyz && out->normals; i++) {
        memcpy(out->xyz + 3 * i, data + 6 * i, 3 * sizeof *data);
        normalize(data + 6 * i + 3, LEAST_MEAN, out->normals + 3 * i);
    }
    return out->xyz && out->normals;
}

static pcgpu_status voxel_means(pc_register_work *w, const pc_rows *points, double size, pc_rows *out) {
    const bool normals = points->normals != NULL;
    float *records = normals ? joined(points) : NULL;
    pc_voxelize_job job = {.rows = points->n,
                           .columns = normals ? 6 : 3,
                           .data = normals ? records : points->xyz,
                           .features = PCGPU_FEATURES_MEAN};
    pcgpu_voxels voxels = {0};
    pcgpu_status status;
    if (normals && !records) {
        return pc_fail_memory(w->context, 24 * (uint64_t)points->n, "the normals");
    }
    PC_TRY_OR(done, status, cover(w, points, size, &job.grid));
    PC_TRY_OR(done, status, w->backend->voxelize->voxelize(w->context, &job, &voxels));
    if (!normals) {
        *out = (pc_rows){.n = voxels.count, .xyz = voxels.features};
        voxels.features = NULL;
    } else if (!part(voxels.features, voxels.count, out)) {
        status = pc_fail_memory(w->context, 24 * (uint64_t)voxels.count, "the voxels");
    }
done:
    free(records);
    pcgpu_voxels_free(&voxels);
    return status;
}

/* Drops normals that too few points have. */
static void drop_rare_normals(pc_rows *rows) {
    int64_t found = 0;
    for (int64_t i = 0; i < rows->n && rows->normals; i++) {
        const float *n = rows->normals + 3 * i;
        found += n[0] != 0.0f || n[1] != 0.0f || n[2] != 0.0f;
    }
    if (rows->normals && (double)found < LEAST_SHARE * (double)rows->n) {
        free(rows->normals);
        rows->normals = NULL;
    }
}

pcgpu_status pc_rows_downsample(pc_register_work *w, const pc_rows *points, double size, pc_rows *out) {
    pc_rows_free(out);
    if (size > 0.0) {
        PC_TRY(voxel_means(w, points, size, out));
    } else {
        size_t bytes = (size_t)points->n * 3 * sizeof *out->xyz;
        out->n = points->n;
        out->xyz = copy_of(points->xyz, bytes);
        out->normals = points->normals ? copy_of(points->normals, bytes) : NULL;
        if (!out->xyz || (points->normals && !out->normals)) {
            return pc_fail_memory(w->context, 2 * bytes, "the points");
        }
    }
    drop_rare_normals(out);
    return PCGPU_OK;
}
