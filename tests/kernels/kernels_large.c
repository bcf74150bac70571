/* Clouds whose bytes, and with --padded whose features, are beyond what 32 bits count. No reference runs beside it:
 * point i is made to lie in voxel i % VOXELS, so that every number, count, coordinate and mean is known. 300000000
 * points take 6 GB, with --padded 14 GB. */
#include "kernels.h"

#include <sys/resource.h>

enum { SIDE = 128, VOXELS = SIDE * SIDE * SIDE, COLUMNS = 3, STEPS = 32, LIMIT = 60 };

#define CELL 0.5f
#define LOW  -32.0f

static test_bed *now;

static void fail(const char *what, int64_t at) {
    expect(now, false, "%s at %lld", what, (long long)at);
}

/* Cells are met in a scattered order. */
static void cell_of(int64_t voxel, int32_t cell[3]) {
    uint32_t c = (uint32_t)voxel * 0x9E3779B1u & (VOXELS - 1);
    cell[0] = (int32_t)(c % SIDE);
    cell[1] = (int32_t)(c / SIDE % SIDE);
    cell[2] = (int32_t)(c / SIDE / SIDE);
}

/* Coordinate `axis` of the k-th point of a voxel: exact, in steps of a 64th of a metre. */
static float coordinate(const int32_t cell[3], int64_t k, int axis) {
    return LOW + CELL * (float)cell[axis] + (float)((k * 5 + axis * 3) % STEPS) / 64.0f;
}

static void fill(pcgpu_cloud *cloud) {
    for (int64_t i = 0; i < cloud->rows; i++) {
        int32_t cell[3];
        cell_of(i % VOXELS, cell);
        for (int axis = 0; axis < COLUMNS; axis++) {
            cloud->data[i * COLUMNS + axis] = coordinate(cell, i / VOXELS, axis);
        }
    }
}

static int64_t points_of(const pcgpu_cloud *cloud, int64_t voxel) {
    return (cloud->rows - voxel + VOXELS - 1) / VOXELS;
}

static void check_mean(const pcgpu_voxelize_params *p, const int32_t cell[3], int64_t kept, const float *mean,
                       int64_t voxel) {
    for (int axis = 0; axis < COLUMNS; axis++) {
        double exact = 0.0; /* of few bits */
        float narrow = 0.0f;
        for (int64_t k = 0; k < kept; k++) {
            exact += (double)coordinate(cell, k, axis);
            narrow += coordinate(cell, k, axis);
        }
        float want = p->max_points ? narrow / (float)kept : (float)(exact / (double)kept);
        if (want != mean[axis]) {
            fail("a mean", voxel);
        }
    }
}

static void check_rows(const pcgpu_voxels *got, const int32_t cell[3], int64_t kept, int64_t voxel) {
    const float *row = got->features + voxel * got->capacity * COLUMNS;
    for (int64_t k = 0; k < got->capacity; k++, row += COLUMNS) {
        for (int axis = 0; axis < COLUMNS; axis++) {
            if (row[axis] != (k < kept ? coordinate(cell, k, axis) : 0.0f)) {
                fail("a padded row", voxel);
            }
        }
    }
}

static void check_voxels(const pcgpu_cloud *cloud, const pcgpu_voxelize_params *p, const pcgpu_voxels *got) {
    const int64_t voxels = cloud->rows < VOXELS ? cloud->rows : VOXELS;
    const int64_t most = p->max_points ? p->max_points : INT64_MAX;
    int64_t kept_in_all = 0;
    if (got->count != voxels || got->voxels_found != voxels || got->in_range != cloud->rows || got->out_of_range != 0 ||
        got->largest != points_of(cloud, 0)) {
        fail("a total", got->count);
        return;
    }
    for (int64_t v = 0; v < voxels; v++) {
        int64_t points = points_of(cloud, v), kept = points < most ? points : most;
        int32_t cell[3];
        cell_of(v, cell);
        const int32_t *coords = got->coords + 4 * v;
        kept_in_all += kept;
        if (coords[0] != 0 || coords[1] != cell[2] || coords[2] != cell[1] || coords[3] != cell[0]) {
            fail("coordinates", v);
        }
        if (got->counts[v] != kept) {
            fail("a count", v);
        }
        if (p->features == PCGPU_FEATURES_MEAN) {
            check_mean(p, cell, kept, got->features + v * COLUMNS, v);
        } else {
            check_rows(got, cell, kept, v);
        }
    }
    for (int64_t i = 0; i < cloud->rows; i++) {
        if (got->point_voxel[i] != (i / VOXELS < most ? (int32_t)(i % VOXELS) : -1)) {
            fail("the voxel of a point", i);
        }
    }
    if (got->kept != kept_in_all || got->over_points != cloud->rows - kept_in_all) {
        fail("points kept", got->kept);
    }
}

static void run(pcgpu_context *context, const pcgpu_cloud *cloud, const char *name, pcgpu_features features,
                int64_t max_points) {
    pcgpu_voxelize_params p = {
        .struct_size = sizeof(pcgpu_voxelize_params),
        .range = {(double)LOW, (double)LOW, (double)LOW, -(double)LOW, -(double)LOW, -(double)LOW},
        .size = {(double)CELL, (double)CELL, (double)CELL},
        .max_points = max_points,
        .features = features};
    pcgpu_voxels got;
    double begin = pc_now();
    const pcgpu_status status = pcgpu_voxelize(context, cloud, &p, &got);
    expect(now, status == PCGPU_OK, "%s: %s", name, pcgpu_last_error(context));
    if (status != PCGPU_OK) {
        return;
    }
    double seconds = pc_now() - begin;
    check_voxels(cloud, &p, &got);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%s, %s: %lld points, %lld voxels, %lld values of features, %.2f s (%.1f ns a point), %.2f GB at the most\n",
           name, got.run.backend, (long long)cloud->rows, (long long)got.count,
           (long long)(got.count * got.capacity * got.columns), seconds, seconds * 1e9 / (double)cloud->rows,
           (double)usage.ru_maxrss / 1e6);
    pcgpu_voxels_free(&got);
}

static void check(test_bed *bed) {
    pcgpu_context *context = bed->context[bed->contexts - 1];
    pcgpu_cloud cloud;
    now = bed;
    const bool made = pcgpu_cloud_create(context, bed->points ? bed->points : 300000000, COLUMNS, &cloud) == PCGPU_OK;
    expect(bed, made, "%s", pcgpu_last_error(context));
    if (!made) {
        return;
    }
    fill(&cloud);
    run(context, &cloud, "means", PCGPU_FEATURES_MEAN, 0);
    run(context, &cloud, "means of the first points", PCGPU_FEATURES_MEAN, LIMIT);
    if (bed->padded) { /* just beyond 2^31 values */
        run(context, &cloud, "points", PCGPU_FEATURES_POINTS, INT32_MAX / ((int64_t)VOXELS * COLUMNS) + 2);
    }
    pcgpu_cloud_free(&cloud);
}

const operation operation_large = {"large", check};
