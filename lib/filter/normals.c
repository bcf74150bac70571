/* Normals and curvatures: the smallest eigenvector of the covariance of the nearest records. */
#include "filter.h"
#include "jacobi.h"

#include <stdlib.h>
#include <string.h>

enum { POINTS_PER_PART = 1024, SWEEPS = 8 };

typedef struct normals_job {
    const pc_tile *tile;
    const pc_subset *subset; /* of the tile */
    int k;
    float radius;
    int32_t *neighbours; /* of the subset, subset->n x k; -1 behind the last */
    double viewpoint[3]; /* relative to the offset of the cloud */
    float *normals;      /* of the records */
} normals_job;

/* The covariance of the neighbours times their number, about their middle; false when they are too few. */
static bool covariance(const normals_job *job, int64_t i, double a[9]) {
    const int32_t *neighbours = job->neighbours + i * job->k;
    const float *center = job->subset->xyz + 3 * i;
    double sum[3] = {0, 0, 0}, d[3];
    int n = 0;
    while (n < job->k && neighbours[n] >= 0) {
        for (int c = 0; c < 3; c++) {
            sum[c] += (double)job->subset->xyz[3 * (int64_t)neighbours[n] + c] - (double)center[c];
        }
        n++;
    }
    memset(a, 0, 9 * sizeof *a);
    for (int j = 0; j < n; j++) {
        for (int c = 0; c < 3; c++) {
            d[c] = ((double)job->subset->xyz[3 * (int64_t)neighbours[j] + c] - (double)center[c]) - sum[c] / n;
        }
        a[0] += d[0] * d[0], a[1] += d[0] * d[1], a[2] += d[0] * d[2];
        a[4] += d[1] * d[1], a[5] += d[1] * d[2], a[8] += d[2] * d[2];
    }
    a[3] = a[1], a[6] = a[2], a[7] = a[5];
    return n >= 3;
}

/* Sweeps until nothing is left beside the diagonal that float32 would see. */
static void diagonalize(double a[9], double v[9]) {
    const double size = a[0] + a[4] + a[8];
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        if (fabs(a[1]) + fabs(a[2]) + fabs(a[5]) <= 1e-13 * size) {
            return;
        }
        pc_jacobi(3, 1, a, v);
    }
}

/* Whether the normal has to be turned. */
static bool points_away(const normals_job *job, const float *p, const double n[3]) {
    double toward = 0.0;
    for (int c = 0; c < 3; c++) {
        toward += n[c] * (job->viewpoint[c] - (double)p[c]);
    }
    const double sign = toward != 0.0 ? toward : n[2] != 0.0 ? n[2] : n[1] != 0.0 ? n[1] : n[0];
    return sign < 0.0;
}

static void find_range(void *state, int64_t begin, int64_t end) {
    const normals_job *job = state;
    for (int64_t i = begin; i < end; i++) {
        float *out = job->normals + 4 * (int64_t)job->subset->rows[i];
        double a[9], v[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
        if (!pc_is_in_tile(job->tile, job->subset->xyz + 3 * i, 0.0) || !covariance(job, i, a)) {
            continue;
        }
        diagonalize(a, v);
        const double sum = (a[0] + a[4]) + a[8];
        const int least = a[0] <= a[4] && a[0] <= a[8] ? 0 : a[4] <= a[8] ? 1 : 2;
        const double n[3] = {v[least], v[3 + least], v[6 + least]};
        const double length = sqrt((n[0] * n[0] + n[1] * n[1]) + n[2] * n[2]);
        if (!(sum > 0.0 && sum < INFINITY && length > 0.0)) {
            continue; /* one place, or too far apart for numbers */
        }
        const double scale = points_away(job, job->subset->xyz + 3 * i, n) ? -length : length;
        for (int c = 0; c < 3; c++) {
            out[c] = (float)(n[c] / scale) + 0.0f; /* no -0 */
        }
        out[3] = (float)(fmax(a[4 * least], 0.0) / sum);
    }
}

static pcgpu_status find_neighbours(pcgpu_context *context, const normals_job *job, pcgpu_run *run) {
    const pcgpu_clouds clouds = pc_subset_clouds(job->subset);
    const pcgpu_neighbor_lists lists = {.indices = job->neighbours, .index_bytes = sizeof *job->neighbours};
    pcgpu_neighbors_params params;
    pcgpu_neighbors_params_init(&params);
    params.k = job->k;
    params.radius = job->radius;
    return pcgpu_neighbors(context, &clouds, &clouds, &params, &lists, run);
}

static pcgpu_status find_normals(pcgpu_context *context, void *state, const pc_tile *tile, pcgpu_run *run) {
    normals_job *job = state;
    const size_t bytes = (size_t)(tile->points.n * job->k + 1) * sizeof *job->neighbours;
    pcgpu_run search;
    job->tile = tile;
    job->subset = &tile->points;
    job->neighbours = malloc(bytes);
    pcgpu_status status =
        job->neighbours ? find_neighbours(context, job, &search) : pc_fail_memory(context, bytes, "the neighbours");
    if (status == PCGPU_OK) {
        const double begin = pc_now();
        pc_run_ranges(context, tile->points.n, POINTS_PER_PART, find_range, job);
        pc_stage(&search, "normals", begin);
        pc_subset_add_run(run, &search, run);
    }
    free(job->neighbours);
    return status;
}

pcgpu_status pcgpu_find_normals(pcgpu_context *context, const pcgpu_cloud *cloud, int k, float radius,
                                const double viewpoint[3], const uint8_t *mask, float *normals, pcgpu_run *run) {
    normals_job job = {.k = k, .radius = radius, .normals = normals};
    memset(run, 0, sizeof *run);
    if (k < 3 || k > PCGPU_NEIGHBORS_MOST) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "normals of %d neighbours; give 3 to %d", k,
                       PCGPU_NEIGHBORS_MOST);
    }
    for (int c = 0; c < 3; c++) {
        job.viewpoint[c] = (viewpoint ? viewpoint[c] : 0.0) - cloud->offset[c];
    }
    memset(normals, 0, (size_t)cloud->rows * 4 * sizeof *normals);
    return pc_run_tiles(context, cloud, mask, radius, PC_SEARCH_BYTES + 16 * k, find_normals, &job, run);
}
