/* Farthest point sampling as the plain loop over points: no preparation, O(points x picks). */
#include "reference.h"

bool is_usable(const pcgpu_cloud *cloud, int64_t i, bool drop_origin) {
    const float *p = cloud->data + i * cloud->columns;
    bool finite = isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]);
    return finite && !(drop_origin && p[0] == 0.0f && p[1] == 0.0f && p[2] == 0.0f);
}

int64_t count_usable(const pcgpu_cloud *cloud, bool drop_origin, int64_t *first) {
    int64_t n = 0;
    *first = -1;
    for (int64_t i = 0; i < cloud->rows; i++) {
        if (is_usable(cloud, i, drop_origin)) {
            *first = n++ ? *first : i;
        }
    }
    return n;
}

static bool is_finite_in(const float *record, const int *columns, int dimensions) {
    bool finite = true;
    for (int k = 0; k < dimensions; k++) {
        finite = finite && isfinite(record[columns[k]]);
    }
    return finite;
}

static float squared_between(const pc_sample_job *job, int64_t a, int64_t b) {
    float sum = 0.0f;
    for (int k = 0; k < job->dimensions; k++) {
        const float e = job->x[k * job->n + a] - job->x[k * job->n + b];
        sum = sum + e * e;
    }
    return sum;
}

/* Lowers all distances by those to `pick`, which is out from now on, and gives the farthest of the others, the lowest
 * on ties, -1 when none is left. In loops that a compiler makes vectors of; floats from 0 on are ordered as their bits.
 */
static int64_t add_pick(const pc_sample_job *job, float *nearest, int64_t pick) {
    const float *x = job->x, *y = job->y, *z = job->z, at[3] = {x[pick], y[pick], z[pick]};
    int64_t best = 0;
    int32_t bits = 0, most = -1;
    nearest[pick] = -1.0f;
    for (int64_t i = 0; i < job->n && job->dimensions; i++) { /* of one that is out, no distance is lower */
        const float d = squared_between(job, i, pick);
        nearest[i] = d < nearest[i] ? d : nearest[i];
    }
    for (int64_t i = 0; i < job->n && !job->dimensions; i++) {
        const float dx = x[i] - at[0], dy = y[i] - at[1], dz = z[i] - at[2], d = dx * dx + dy * dy + dz * dz;
        nearest[i] = d < nearest[i] ? d : nearest[i];
    }
    for (int64_t i = 0; i < job->n; i++) {
        memcpy(&bits, &nearest[i], sizeof bits);
        most = bits > most ? bits : most;
    }
    do {
        memcpy(&bits, &nearest[best], sizeof bits);
    } while (most >= 0 && bits != most && ++best < job->n);
    return most < 0 ? -1 : best;
}

void plain_sample_job(pc_sample_job *job) {
    float *nearest = malloc((size_t)job->n * sizeof *nearest);
    int64_t next = job->start;
    for (int64_t i = 0; i < job->n; i++) {
        nearest[i] = INFINITY;
    }
    for (int64_t i = 0; i < job->seed_count; i++) {
        next = add_pick(job, nearest, job->seeds[i]);
    }
    job->picked = 0;
    while (next >= 0 && job->picked < job->count) {
        bool given = job->picked == 0 && job->seed_count == 0;
        if (!given && sqrtf(nearest[next]) < job->min_distance) {
            break;
        }
        job->indices[job->picked] = (int32_t)next;
        job->squared[job->picked++] = nearest[next];
        next = add_pick(job, nearest, next);
    }
    job->rest = next < 0 ? 0.0f : nearest[next];
    free(nearest);
}

/* Samples the job of the `records`, and makes p picks of these at distances in metres. */
static void pick_records(pc_sample_job *job, const int32_t *records, picks *p) {
    plain_sample_job(job);
    p->count = job->picked;
    for (int64_t i = 0; i < p->count; i++) {
        p->indices[i] = records[p->indices[i]];
        p->distances[i] = sqrtf(p->distances[i]);
    }
}

picks plain_sample_columns(const pcgpu_cloud *cloud, const int *columns, int dimensions, const int32_t *seeds,
                           int64_t seed_count, int64_t start, int64_t count, float min_distance) {
    picks p = {0, calloc((size_t)count + 1, 4), calloc((size_t)count + 1, 4)};
    float *points = malloc((size_t)(cloud->rows * dimensions) * sizeof *points);
    int32_t *records = malloc((size_t)cloud->rows * sizeof *records), *own = malloc((size_t)seed_count * 4 + 4);
    pc_sample_job job = {.x = points, .y = points, .z = points, .dimensions = dimensions, .count = count};
    job.min_distance = min_distance;
    job.indices = p.indices;
    job.squared = p.distances;
    job.seeds = own;
    job.seed_count = seed_count;
    for (int64_t i = 0; i < cloud->rows; i++) {
        if (is_finite_in(cloud->data + i * cloud->columns, columns, dimensions)) {
            job.start = i == start ? job.n : job.start;
            for (int64_t s = 0; s < seed_count; s++) {
                own[s] = seeds[s] == i ? (int32_t)job.n : own[s];
            }
            records[job.n++] = (int32_t)i;
        }
    }
    for (int64_t i = 0; i < job.n * dimensions; i++) {
        points[i] = cloud->data[records[i % job.n] * cloud->columns + columns[i / job.n]];
    }
    pick_records(&job, records, &p);
    free(own);
    free(records);
    free(points);
    return p;
}

picks plain_sample(const pcgpu_cloud *cloud, int64_t start, int64_t count, float min_distance, bool drop_origin) {
    picks p = {0, calloc((size_t)count, 4), calloc((size_t)count, 4)};
    size_t rows = (size_t)cloud->rows;
    float *points = malloc(rows * 3 * sizeof *points);
    int32_t *records = malloc(rows * sizeof *records);
    pc_sample_job job = {.x = points,
                         .y = points + rows,
                         .z = points + 2 * rows,
                         .count = count,
                         .min_distance = min_distance,
                         .indices = p.indices,
                         .squared = p.distances};
    for (int64_t i = 0; i < cloud->rows; i++) {
        if (is_usable(cloud, i, drop_origin)) {
            for (size_t k = 0; k < 3; k++) {
                points[k * rows + (size_t)job.n] = cloud->data[i * cloud->columns + (int64_t)k];
            }
            job.start = i == start ? job.n : job.start;
            records[job.n++] = (int32_t)i;
        }
    }
    pick_records(&job, records, &p);
    free(records);
    free(points);
    return p;
}

bool equal_picks(const picks *want, int64_t count, const int32_t *indices, const float *distances) {
    return want->count == count && memcmp(want->indices, indices, (size_t)count * 4) == 0 &&
           memcmp(want->distances, distances, (size_t)count * 4) == 0;
}

void free_picks(picks *p) {
    free(p->indices);
    free(p->distances);
}
