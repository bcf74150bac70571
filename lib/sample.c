/* Sampling: checks of the parameters, the first pick, random draws, and the way from usable points back to records. */
#include "backend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void pcgpu_sample_params_init(pcgpu_sample_params *params) {
    *params = (pcgpu_sample_params){.method = PCGPU_SAMPLE_FPS};
}

void pcgpu_sampled_free(pcgpu_sampled *result) {
    if (result) {
        free(result->indices);
        free(result->distances);
        memset(result, 0, sizeof *result);
    }
}

/* ---- random numbers ------------------------------------------------------------------------------------------ */

/* xoshiro256** (Blackman and Vigna 2018), its state filled by splitmix64 from the seed: the same draws everywhere. */
typedef struct generator {
    uint64_t s[4];
} generator;

static generator seeded(uint64_t seed) {
    generator g;
    for (int k = 0; k < 4; k++) {
        seed += 0x9E3779B97F4A7C15ull;
        g.s[k] = pc_hash64(seed);
    }
    return g;
}

static uint64_t rotated(uint64_t v, int k) {
    return v << k | v >> (64 - k);
}

static uint64_t next_random(generator *g) {
    uint64_t *s = g->s;
    uint64_t result = rotated(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotated(s[3], 45);
    return result;
}

/* A number in 0..bound-1, every one equally likely (Lemire 2019), from the upper 32 bits of each draw. */
static uint32_t draw_below(generator *g, uint32_t bound) {
    uint64_t product = (next_random(g) >> 32) * bound;
    if ((uint32_t)product < bound) {
        uint32_t threshold = (0u - bound) % bound;
        while ((uint32_t)product < threshold) {
            product = (next_random(g) >> 32) * bound;
        }
    }
    return (uint32_t)(product >> 32);
}

/* The first `count` places of a Fisher-Yates shuffle of 0..n-1. */
static pcgpu_status draw_without_replacement(pcgpu_context *context, uint64_t seed, pc_sample_job *job) {
    int32_t *deck = malloc((size_t)job->n * sizeof *deck);
    if (!deck) {
        return pc_fail_memory(context, (uint64_t)job->n * sizeof *deck, "the random draws");
    }
    for (int64_t i = 0; i < job->n; i++) {
        deck[i] = (int32_t)i;
    }
    generator g = seeded(seed);
    for (int64_t i = 0; i < job->count; i++) {
        int64_t j = i + draw_below(&g, (uint32_t)(job->n - i));
        int32_t drawn = deck[j];
        deck[j] = deck[i];
        job->indices[i] = drawn;
    }
    job->picked = job->count;
    free(deck);
    return PCGPU_OK;
}

/* ---- parameters ---------------------------------------------------------------------------------------------- */

static pcgpu_status check(pcgpu_context *context, const pcgpu_sample_params *p) {
    bool random = p->method == PCGPU_SAMPLE_RANDOM;
    if (p->count < 0) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld samples asked; give 1 or more", (long long)p->count);
    }
    if (p->ratio != 0.0 && !(p->ratio > 0.0 && p->ratio <= 1.0)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "a ratio of %g; give a number above 0 and up to 1", p->ratio);
    }
    if (p->min_distance != 0.0f && !(p->min_distance > 0.0f && isfinite(p->min_distance))) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "a least distance of %g m; give a number above 0",
                       (double)p->min_distance);
    }
    if (p->count && p->ratio != 0.0) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "both a count and a ratio are given; give one of them");
    }
    if (random && p->min_distance != 0.0f) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "random sampling knows no least distance; leave it out or use farthest point sampling");
    }
    if (!p->count && p->ratio == 0.0 && p->min_distance == 0.0f) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "how many samples is not given; give a count%s",
                       random ? " or a ratio" : ", a ratio or a least distance");
    }
    return PCGPU_OK;
}

/* How many picks of n usable points; next to a least distance a count is only an upper bound. */
static pcgpu_status decide_count(pcgpu_context *context, const pcgpu_sample_params *p, int64_t n, int64_t rows,
                                 int64_t *count) {
    int64_t wanted = p->count;
    if (p->ratio != 0.0) {
        wanted = (int64_t)floor(p->ratio * (double)n);
        wanted = wanted < 1 ? 1 : wanted;
    }
    bool bound = p->min_distance != 0.0f;
    if (bound && n > 0 && (wanted == 0 || wanted > n)) {
        wanted = n;
    }
    if (n == 0) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "%lld samples asked of 0 usable points among %lld records; check the input", (long long)wanted,
                       (long long)rows);
    }
    if (wanted > n) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld samples asked of %lld usable points; ask for %lld or fewer",
                       (long long)wanted, (long long)n, (long long)n);
    }
    *count = wanted;
    return PCGPU_OK;
}

/* ---- the first pick ------------------------------------------------------------------------------------------ */

/* The place of a record among the usable points, which keep the order of the records, or -1. */
static int64_t place_of_record(const pc_points *points, int64_t record) {
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

static int64_t farthest_from_centroid(const pc_points *points) {
    double sum[3] = {0.0, 0.0, 0.0};
    for (int64_t i = 0; i < points->n; i++) {
        sum[0] += (double)points->x[i];
        sum[1] += (double)points->y[i];
        sum[2] += (double)points->z[i];
    }
    float cx = (float)(sum[0] / (double)points->n);
    float cy = (float)(sum[1] / (double)points->n);
    float cz = (float)(sum[2] / (double)points->n);
    int64_t best = 0;
    float farthest = -1.0f;
    for (int64_t i = 0; i < points->n; i++) {
        float d = pc_squared_distance(points->x[i], points->y[i], points->z[i], cx, cy, cz);
        if (d > farthest) {
            farthest = d;
            best = i;
        }
    }
    return best;
}

static pcgpu_status decide_start(pcgpu_context *context, const pcgpu_sample_params *p, const pc_points *points,
                                 int64_t rows, int64_t *start) {
    if (p->start == PCGPU_START_CENTER) {
        *start = farthest_from_centroid(points);
    } else if (p->start == PCGPU_START_RANDOM) {
        generator g = seeded(p->seed);
        *start = draw_below(&g, (uint32_t)points->n);
    } else if (p->start_index < 0 || p->start_index >= rows) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "start record %lld of a cloud with records 0 to %lld; give one of these",
                       (long long)p->start_index, (long long)rows - 1);
    } else {
        *start = place_of_record(points, p->start_index);
        if (*start < 0) {
            return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                           "start record %lld was dropped (%s); give another start, or center or random",
                           (long long)p->start_index,
                           p->drop_origin ? "not finite, or at the origin" : "a coordinate is not finite");
        }
    }
    return PCGPU_OK;
}

/* ---- one cloud and many ------------------------------------------------------------------------------------- */

static pcgpu_status prepare(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_sample_params *p,
                            pc_points *points, pc_sample_job *job, pcgpu_sampled *result) {
    double begin = pc_now();
    pcgpu_status status = pc_points_select(context, cloud, p->drop_origin, points, &result->run);
    if (status == PCGPU_OK) {
        status = decide_count(context, p, points->n, cloud->rows, &job->count);
    }
    if (status == PCGPU_OK && p->method == PCGPU_SAMPLE_FPS) {
        status = decide_start(context, p, points, cloud->rows, &job->start);
    }
    if (status != PCGPU_OK) {
        return status;
    }
    result->indices = malloc((size_t)job->count * sizeof *result->indices);
    if (p->method == PCGPU_SAMPLE_FPS) {
        result->distances = malloc((size_t)job->count * sizeof *result->distances);
    }
    if (!result->indices || (p->method == PCGPU_SAMPLE_FPS && !result->distances)) {
        return pc_fail_memory(context, (uint64_t)job->count * 8, "the picks");
    }
    job->n = points->n;
    job->x = points->x;
    job->y = points->y;
    job->z = points->z;
    job->disposable = true; /* picks are places; the records stay */
    job->min_distance = p->min_distance;
    job->indices = result->indices;
    job->squared = result->distances;
    pc_stage(&result->run, "select", begin);
    return PCGPU_OK;
}

/* Records instead of usable points, metres instead of their squares. */
static void finish(const pc_points *points, const pc_sample_job *job, pcgpu_sampled *result) {
    result->count = job->picked;
    for (int64_t i = 0; i < result->count; i++) {
        if (points->rows) {
            result->indices[i] = points->rows[result->indices[i]];
        }
        if (result->distances) {
            result->distances[i] = sqrtf(result->distances[i]);
        }
    }
    if (result->count < job->count) { /* a least distance ended it; a shrinking realloc that fails leaves the block */
        void *indices = realloc(result->indices, (size_t)result->count * sizeof *result->indices);
        void *distances = realloc(result->distances, (size_t)result->count * sizeof *result->distances);
        result->indices = indices ? indices : result->indices;
        result->distances = distances ? distances : result->distances;
    }
}

/* Seconds on one CPU thread and on a started device, for AUTO. On the device a round takes 2.3 us (an H200, 120,268
 * points), the time of a message between multiprocessors, until a cloud no longer fits the registers. */
static void estimate(const pc_sample_job *jobs, int count, int threads, double *cpu, double *cuda) {
    *cpu = pc_cpu_sample_seconds(jobs, count, threads);
    *cuda = 1e-3;
    for (int i = 0; i < count; i++) {
        double n = (double)jobs[i].n, picks = (double)jobs[i].count;
        *cuda += 2e-9 * n + picks * (2.3e-6 + 2e-12 * n);
    }
}

static pcgpu_status run_jobs(pcgpu_context *context, const pcgpu_sample_params *p, pc_sample_job *jobs, int count,
                             pcgpu_sampled *results) {
    double begin = pc_now();
    pcgpu_run run = {.threads = 1, .backend = "cpu", .reason = "random draws are made on the host"};
    pcgpu_status status = PCGPU_OK;
    if (p->method == PCGPU_SAMPLE_RANDOM) {
        snprintf(run.device, sizeof run.device, "%s", context->cpu_name);
        for (int i = 0; i < count && status == PCGPU_OK; i++) {
            status = draw_without_replacement(context, p->seed, &jobs[i]);
        }
    } else {
        const pc_backend *backend;
        double cpu, cuda;
        estimate(jobs, count, context->threads, &cpu, &cuda);
        status = pc_choose_backend(context, cpu, cuda, &run, &backend);
        begin = pc_now(); /* starting a device is not sampling */
        context->worked = run.threads;
        status = status == PCGPU_OK ? backend->sample(context, jobs, count) : status;
        run.threads = context->worked;
    }
    for (int i = 0; i < count; i++) {
        pcgpu_run *to = &results[i].run;
        memcpy(to->backend, run.backend, sizeof to->backend);
        memcpy(to->device, run.device, sizeof to->device);
        memcpy(to->reason, run.reason, sizeof to->reason);
        to->threads = run.threads;
        pc_stage(to, "sample", begin);
    }
    return status;
}

pcgpu_status pcgpu_sample_batch(pcgpu_context *context, const pcgpu_cloud *const *clouds, int count,
                                const pcgpu_sample_params *params, pcgpu_sampled *results) {
    if (count < 0) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "a batch of %d clouds; give 0 or more", count);
    }
    memset(results, 0, (size_t)count * sizeof *results);
    pcgpu_status status = check(context, params);
    if (status != PCGPU_OK || count == 0) {
        return status;
    }
    pc_points *points = calloc((size_t)count, sizeof *points);
    pc_sample_job *jobs = calloc((size_t)count, sizeof *jobs);
    if (!points || !jobs) {
        status = pc_fail_memory(context, (uint64_t)count * (sizeof *points + sizeof *jobs), "a batch");
        goto done;
    }
    for (int i = 0; i < count && status == PCGPU_OK; i++) {
        status = prepare(context, clouds[i], params, &points[i], &jobs[i], &results[i]);
        if (status != PCGPU_OK && count > 1) {
            char why[512];
            snprintf(why, sizeof why, "%.511s", context->error);
            pc_fail(context, status, "cloud %d of the batch: %s", i, why);
        }
    }
    if (status == PCGPU_OK) {
        status = run_jobs(context, params, jobs, count, results);
    }
    for (int i = 0; i < count && status == PCGPU_OK; i++) {
        finish(&points[i], &jobs[i], &results[i]);
    }
done:
    for (int i = 0; i < count; i++) {
        if (points) {
            pc_points_free(&points[i]);
        }
        if (status != PCGPU_OK) {
            pcgpu_sampled_free(&results[i]);
        }
    }
    free(points);
    free(jobs);
    return status;
}

pcgpu_status pcgpu_sample(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_sample_params *params,
                          pcgpu_sampled *result) {
    return pcgpu_sample_batch(context, &cloud, 1, params, result);
}
