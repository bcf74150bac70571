/* Normals and curvatures: the smallest eigenvector of the covariance of the nearest records. */
#include "filter.h"
#include "jacobi.h"

#include <stdlib.h>
#include <string.h>

enum { POINTS_PER_PART = 1024, SWEEPS = 8 };

typedef struct normals_job {
    const pc_subset *subset;
    int k;
    const int32_t *neighbours; /* of the subset, subset->n x k; -1 behind the last */
    double viewpoint[3];       /* relative to the offset of the cloud */
    float *normals;            /* of the records */
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
        if (!covariance(job, i, a)) {
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

/* The lists of neighbours; to be freed. */
static pcgpu_status find_neighbours(pcgpu_context *context, const pc_subset *s, int k, float radius, int32_t **out,
                                    pcgpu_run *run) {
    const size_t bytes = (size_t)(s->n * k + 1) * sizeof **out;
    const pcgpu_clouds clouds = pc_subset_clouds(s);
    pcgpu_neighbors_params params;
    *out = malloc(bytes);
    if (!*out) {
        return pc_fail_memory(context, bytes, "the neighbours");
    }
    const pcgpu_neighbor_lists lists = {.indices = *out, .index_bytes = sizeof **out};
    pcgpu_neighbors_params_init(&params);
    params.k = k;
    params.radius = radius;
    return pcgpu_neighbors(context, &clouds, &clouds, &params, &lists, run);
}

pcgpu_status pcgpu_find_normals(pcgpu_context *context, const pcgpu_cloud *cloud, int k, float radius,
                                const double viewpoint[3], const uint8_t *mask, float *normals, pcgpu_run *run) {
    pc_subset s;
    pcgpu_run search, counts = {0};
    int32_t *neighbours = NULL;
    pcgpu_status status;
    memset(run, 0, sizeof *run);
    if (k < 3 || k > PCGPU_NEIGHBORS_MOST) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "normals of %d neighbours; give 3 to %d", k,
                       PCGPU_NEIGHBORS_MOST);
    }
    PC_TRY(pc_subset_select(context, cloud, mask, &s, &counts));
    PC_TRY_OR(done, status, find_neighbours(context, &s, k, radius, &neighbours, &search));
    normals_job job = {.subset = &s, .k = k, .neighbours = neighbours, .normals = normals};
    for (int c = 0; c < 3; c++) {
        job.viewpoint[c] = (viewpoint ? viewpoint[c] : 0.0) - cloud->offset[c];
    }
    const double begin = pc_now();
    memset(normals, 0, (size_t)cloud->rows * 4 * sizeof *normals);
    pc_run_ranges(context, s.n, POINTS_PER_PART, find_range, &job);
    pc_stage(&search, "normals", begin);
    pc_subset_add_run(run, &search, &counts);
done:
    free(neighbours);
    pc_subset_free(&s);
    return status;
}
