/* Normals and curvatures: the smallest eigenvector of the covariance of the nearest records, of LANES points at the
 * same time, in vectors: each does what it would do alone, so that every form gives the same bytes. */
#include "filter.h"
#include "simd.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 8, POINTS_PER_PART = 128 * LANES, SWEEPS = 8 };

typedef struct normals_job {
    const pc_tile *tile;
    const pc_subset *subset; /* of the tile */
    int k;
    float radius;
    int32_t *neighbours; /* of the subset, subset->n x k; -1 behind the last */
    double viewpoint[3]; /* relative to the offset of the cloud */
    float *normals;      /* of the records */
    pc_simd simd;
} normals_job;

/* Points of the subset, from `begin` on; behind the last one are lanes without neighbours. */
typedef struct lanes {
    int64_t begin;
    int points, most; /* most: neighbours of a point */
    double n[LANES], center[3][LANES];
    double a[9][LANES], v[9][LANES]; /* the covariance, row by row; its eigenvectors are columns */
    float out[4][LANES];
    float at[PCGPU_NEIGHBORS_MOST][3][LANES]; /* the neighbours; behind the last the point itself */
} lanes;

static void gather(const normals_job *job, lanes *l) {
    const float *xyz = job->subset->xyz;
    int counts[LANES] = {0};
    l->most = 0;
    for (int w = 0; w < LANES; w++) {
        const int64_t i = l->begin + (w < l->points ? w : 0);
        const int32_t *neighbours = job->neighbours + i * job->k;
        for (; w < l->points && counts[w] < job->k && neighbours[counts[w]] >= 0; counts[w]++) {
            const float *p = xyz + 3 * (int64_t)neighbours[counts[w]];
            for (int c = 0; c < 3; c++) {
                l->at[counts[w]][c][w] = p[c];
            }
        }
        for (int c = 0; c < 3; c++) {
            l->center[c][w] = (double)xyz[3 * i + c];
        }
        l->n[w] = (double)counts[w];
        l->most = counts[w] > l->most ? counts[w] : l->most;
    }
    for (int w = 0; w < LANES; w++) {
        for (int j = counts[w]; j < l->most; j++) {
            for (int c = 0; c < 3; c++) {
                l->at[j][c][w] = (float)l->center[c][w];
            }
        }
    }
}

/* The covariance of the neighbours times their number, about their middle. */
PC_INLINE void find_covariances(lanes *l) {
    double middle[3][LANES] = {{0}};
    memset(l->a, 0, sizeof l->a);
    for (int j = 0; j < l->most; j++) {
        for (int c = 0; c < 3; c++) {
            PC_KEEP_LOOP
            for (int w = 0; w < LANES; w++) {
                middle[c][w] += (double)l->at[j][c][w] - l->center[c][w];
            }
        }
    }
    for (int c = 0; c < 3; c++) {
        for (int w = 0; w < LANES; w++) {
            middle[c][w] /= l->n[w];
        }
    }
    for (int j = 0; j < l->most; j++) {
        PC_KEEP_LOOP
        for (int w = 0; w < LANES; w++) {
            const double x = ((double)l->at[j][0][w] - l->center[0][w]) - middle[0][w];
            const double y = ((double)l->at[j][1][w] - l->center[1][w]) - middle[1][w];
            const double z = ((double)l->at[j][2][w] - l->center[2][w]) - middle[2][w];
            const double one = (double)j < l->n[w] ? 1.0 : 0.0;
            l->a[0][w] += one * (x * x);
            l->a[1][w] += one * (x * y);
            l->a[2][w] += one * (x * z);
            l->a[4][w] += one * (y * y);
            l->a[5][w] += one * (y * z);
            l->a[8][w] += one * (z * z);
        }
    }
    memcpy(l->a[3], l->a[1], sizeof l->a[3]);
    memcpy(l->a[6], l->a[2], sizeof l->a[6]);
    memcpy(l->a[7], l->a[5], sizeof l->a[7]);
}

/* A rotation of Jacobi's method in the plane of the axes p and q, as in jacobi.h; r is the third axis. */
PC_INLINE void rotate(lanes *l, const double *live, int p, int q, int r) {
    double *app = l->a[4 * p], *apq = l->a[3 * p + q], *aqp = l->a[3 * q + p], *aqq = l->a[4 * q];
    double *apr = l->a[3 * p + r], *arp = l->a[3 * r + p], *aqr = l->a[3 * q + r], *arq = l->a[3 * r + q];
    double t[LANES];
    PC_KEEP_LOOP
    for (int w = 0; w < LANES; w++) {
        const double theta = (aqq[w] - app[w]) / (2.0 * apq[w]);
        t[w] = (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
    }
    PC_KEEP_LOOP
    for (int w = 0; w < LANES; w++) { /* a loop of its own: branches around divisions are no vectors */
        t[w] = ((live[w] != 0.0) & (apq[w] != 0.0)) ? t[w] : 0.0;
    }
    PC_KEEP_LOOP
    for (int w = 0; w < LANES; w++) {
        const double c = 1.0 / sqrt(t[w] * t[w] + 1.0), s = t[w] * c;
        const double pp = c * app[w] - s * apq[w], pq = s * app[w] + c * apq[w];
        const double qp = c * aqp[w] - s * aqq[w], qq = s * aqp[w] + c * aqq[w];
        const double rp = c * arp[w] - s * arq[w], rq = s * arp[w] + c * arq[w];
        const double pr = c * apr[w] - s * aqr[w], qr = s * apr[w] + c * aqr[w];
        app[w] = c * pp - s * qp;
        aqp[w] = s * pp + c * qp;
        apq[w] = c * pq - s * qq;
        aqq[w] = s * pq + c * qq;
        arp[w] = rp;
        arq[w] = rq;
        apr[w] = pr;
        aqr[w] = qr;
        for (int k = 0; k < 3; k++) {
            const double kp = l->v[3 * k + p][w], kq = l->v[3 * k + q][w];
            l->v[3 * k + p][w] = c * kp - s * kq;
            l->v[3 * k + q][w] = s * kp + c * kq;
        }
    }
}

/* Sweeps until nothing is left beside the diagonal that float32 would see. */
PC_INLINE void diagonalize(lanes *l) {
    double size[LANES], live[LANES];
    memset(l->v, 0, sizeof l->v);
    for (int w = 0; w < LANES; w++) {
        l->v[0][w] = l->v[4][w] = l->v[8][w] = 1.0;
        size[w] = l->a[0][w] + l->a[4][w] + l->a[8][w];
    }
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double most = 0.0;
        for (int w = 0; w < LANES; w++) {
            const double beside = fabs(l->a[1][w]) + fabs(l->a[2][w]) + fabs(l->a[5][w]);
            live[w] = beside <= 1e-13 * size[w] ? 0.0 : 1.0;
            most += live[w];
        }
        if (most == 0.0) {
            return;
        }
        rotate(l, live, 0, 1, 2);
        rotate(l, live, 0, 2, 1);
        rotate(l, live, 1, 2, 0);
    }
}

/* The normals, turned to the viewpoint, and the curvatures; not finite where there is none. */
PC_INLINE void find_least(const normals_job *job, lanes *l) {
    const double *view = job->viewpoint;
    PC_KEEP_LOOP
    for (int w = 0; w < LANES; w++) {
        const double a = l->a[0][w], b = l->a[4][w], c = l->a[8][w], sum = (a + b) + c;
        const bool first = a <= b && a <= c, second = !first && b <= c;
        const double least = first ? a : second ? b : c;
        const double x = first ? l->v[0][w] : second ? l->v[1][w] : l->v[2][w];
        const double y = first ? l->v[3][w] : second ? l->v[4][w] : l->v[5][w];
        const double z = first ? l->v[6][w] : second ? l->v[7][w] : l->v[8][w];
        const double length = sqrt((x * x + y * y) + z * z);
        const double toward =
            (x * (view[0] - l->center[0][w]) + y * (view[1] - l->center[1][w])) + z * (view[2] - l->center[2][w]);
        const double sign = toward != 0.0 ? toward : z != 0.0 ? z : y != 0.0 ? y : x;
        const double scale = sign < 0.0 ? -length : length;
        const bool good = l->n[w] >= 3.0 && sum > 0.0 && sum < INFINITY && length > 0.0;
        l->out[0][w] = (float)(x / scale) + 0.0f; /* no -0 */
        l->out[1][w] = (float)(y / scale) + 0.0f;
        l->out[2][w] = (float)(z / scale) + 0.0f;
        l->out[3][w] =
            good ? (float)((least > 0.0 ? least : 0.0) / sum) : NAN; /* one place, too few or too far apart */
    }
}

PC_INLINE void find_range(const normals_job *job, int64_t begin, int64_t end) {
    lanes l;
    for (int64_t i = begin; i < end; i += LANES) {
        l.begin = i;
        l.points = end - i < LANES ? (int)(end - i) : LANES;
        gather(job, &l);
        find_covariances(&l);
        diagonalize(&l);
        find_least(job, &l);
        for (int w = 0; w < l.points; w++) {
            float *out = job->normals + 4 * (int64_t)job->subset->rows[i + w];
            const bool is = isfinite(l.out[3][w]) && pc_is_in_tile(job->tile, job->subset->xyz + 3 * (i + w), 0.0);
            for (int c = 0; c < 4 && is; c++) {
                out[c] = l.out[c][w];
            }
        }
    }
}

PC_SIMD_FORMS_OF(find_range, (const normals_job *job, int64_t begin, int64_t end), (job, begin, end))

static void find_part(void *state, int64_t begin, int64_t end) {
    const normals_job *job = state;
    find_range_for(job->simd)(job, begin, end);
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
        pc_run_ranges(context, tile->points.n, POINTS_PER_PART, find_part, job);
        pc_stage(&search, "normals", begin);
        pc_subset_add_run(run, &search, run);
    }
    free(job->neighbours);
    return status;
}

pcgpu_status pcgpu_find_normals(pcgpu_context *context, const pcgpu_cloud *cloud, int k, float radius,
                                const double viewpoint[3], const uint8_t *mask, float *normals, pcgpu_run *run) {
    normals_job job = {.k = k, .radius = radius, .normals = normals, .simd = pc_context_simd(context)};
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
