/* Sampling: checks of the parameters, the choice of the back end, and the conversion from usable points to records. */
#include "sample.h"
#include "temporary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IN_MEMORY = 1 << 20 }; /* bytes of an array that is in memory even where others are in files */

void pcgpu_sample_params_init_sized(pcgpu_sample_params *params, size_t struct_size) {
    pcgpu_sample_params initial = {.method = PCGPU_SAMPLE_FPS};
    pc_struct_init(params, struct_size, &initial, sizeof initial);
}

void pcgpu_sampled_free(pcgpu_sampled *result) {
    if (result) {
        pc_release(result->indices);
        pc_release(result->distances);
        memset(result, 0, sizeof *result);
    }
}

/* ---- parameters ---------------------------------------------------------------------------------------------- */

pcgpu_status pc_sample_check(pcgpu_context *context, const pcgpu_sample_params *p, int clouds) {
    bool random = p->method == PCGPU_SAMPLE_RANDOM;
    PC_TRY(pc_struct_check(context, "pcgpu_sample_params", p->struct_size, sizeof *p));
    if (p->count < 0) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "--count %lld is not positive; give 1 or more",
                       (long long)p->count);
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
    if (p->seed_count < 0 || (p->seed_count > 0 && !p->seeds)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld seeds; give 0 or more, and where they are",
                       (long long)p->seed_count);
    }
    if (p->seed_count && clouds > 1) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "seeds for %d clouds; they are records of one", clouds);
    }
    if (p->start != PCGPU_START_INDEX && p->starts) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "starts without PCGPU_START_INDEX; set start, too");
    }
    if (p->start != PCGPU_START_INDEX && p->start_index != 0) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "start_index is %lld without PCGPU_START_INDEX; set start, too",
                       (long long)p->start_index);
    }
    if (p->seed_count && p->start != PCGPU_START_FIRST) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "both a start and seeds are given; the seeds are picked first, so leave the start out");
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

pcgpu_status pc_sample_count(pcgpu_context *context, const pcgpu_sample_params *p, int64_t n, int64_t rows,
                             int64_t *count) {
    int64_t wanted = p->count, left = n - p->seed_count;
    if (p->ratio != 0.0) {
        wanted = (int64_t)floor(p->ratio * (double)n);
        wanted = wanted < 1 ? 1 : wanted;
    }
    if (n == 0 && p->at_most && !p->seed_count) {
        *count = 0;
        return PCGPU_OK;
    }
    if (n == 0) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "no usable points among %lld records; check the input",
                       (long long)rows);
    }
    if ((p->min_distance != 0.0f && wanted == 0) || ((p->min_distance != 0.0f || p->at_most) && wanted > left)) {
        wanted = left;
    }
    if (wanted > left && p->seed_count) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "--count %lld exceeds the %lld usable points that are no seeds; give less, or fewer seeds",
                       (long long)wanted, (long long)left);
    }
    if (wanted > left) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "--count %lld exceeds the %lld usable points; give %lld or fewer, or --at-most",
                       (long long)wanted, (long long)n, (long long)n);
    }
    *count = wanted;
    return PCGPU_OK;
}

/* ---- one cloud and many ------------------------------------------------------------------------------------- */

/* A cloud and its job. */
typedef struct prepared {
    pc_points points;
    int32_t *seeds;
} prepared;

static void prepared_free(prepared *cloud) {
    pc_points_free(&cloud->points);
    free(cloud->seeds);
}

/* Allocates the arrays of the picks; with a minimum distance, or of no points, there may be no picks. */
static pcgpu_status allocate_picks(pcgpu_context *context, const pc_sample_job *job, bool distances,
                                   pcgpu_sampled *result) {
    const uint64_t bytes = (uint64_t)(job->count > 0 ? job->count : 1) * sizeof(int32_t),
                   most = job->files ? IN_MEMORY : UINT64_MAX;
    void *memory = NULL;
    PC_TRY(pc_allocate(context, bytes, most, &memory));
    result->indices = memory;
    if (distances) {
        PC_TRY(pc_allocate(context, bytes, most, &memory));
        result->distances = memory;
    }
    return PCGPU_OK;
}

/* The job of the points that are selected; job->files is set. */
static pcgpu_status prepare(pcgpu_context *context, int64_t rows, const pcgpu_sample_params *p, prepared *made,
                            pc_sample_job *job, pcgpu_sampled *result) {
    const pc_points *points = &made->points;
    const bool farthest = p->method == PCGPU_SAMPLE_FPS;
    if (p->seed_count && points->n > 0) {
        PC_TRY(pc_sample_seeds(context, p, points, rows, &made->seeds));
    }
    PC_TRY(pc_sample_count(context, p, points->n, rows, &job->count));
    if (farthest && !p->seed_count && points->n > 0) {
        PC_TRY(pc_sample_start(context, p, points, rows, &job->start));
    }
    PC_TRY(allocate_picks(context, job, farthest, result));
    job->n = points->n;
    job->x = points->x;
    job->y = points->y;
    job->z = points->z;
    job->dimensions = pc_dimensions_of(p);
    job->disposable = true; /* the picks are indices; the result is gathered from the records */
    job->seed_count = p->seed_count;
    job->seeds = made->seeds;
    job->min_distance = p->min_distance;
    job->indices = result->indices;
    job->squared = result->distances;
    return PCGPU_OK;
}

/* An array in as much memory as it needs; the same where there is none. */
static void *shrunk(void *memory, int64_t count) {
    const size_t bytes = (size_t)(count > 0 ? count : 1) * sizeof(int32_t);
    void *smaller = memory ? malloc(bytes) : NULL;
    if (!smaller) {
        return memory;
    }
    memcpy(smaller, memory, bytes);
    pc_release(memory);
    return smaller;
}

/* Converts usable points to records, and squared distances to metres. */
static void finish(const pc_points *points, const pc_sample_job *job, bool covered, pcgpu_sampled *result) {
    result->count = job->picked;
    result->coverage = covered ? sqrtf(job->rest) : NAN;
    for (int64_t i = 0; i < result->count; i++) {
        if (points->rows) {
            result->indices[i] = points->rows[result->indices[i]];
        }
        if (result->distances) {
            result->distances[i] = sqrtf(result->distances[i]);
        }
    }
    if (result->count < job->count) { /* the minimum distance ended it */
        result->indices = shrunk(result->indices, result->count);
        result->distances = shrunk(result->distances, result->count);
    }
}

/* Estimated seconds on one CPU thread and on a started device, for AUTO. Most of the device time is the transfer:
 * sampling takes 0.3 to 0.8 ms for 1,024 to 16,384 of 120,268 points (an H200), 10 ms for 65,536 of 10 million. */
static void estimate(const pc_sample_job *jobs, int count, int threads, double *cpu, double *cuda) {
    *cpu = pc_cpu_sample_seconds(jobs, count, threads);
    *cuda = 5e-4;
    for (int i = 0; i < count; i++) {
        const bool plain = jobs[i].dimensions > 0; /* a round per pick */
        *cuda += 4e-9 * (double)jobs[i].n * (plain ? jobs[i].dimensions / 3.0 : 1.0) +
                 (plain ? 2e-6 : 6e-8) * (double)(jobs[i].seed_count + jobs[i].count);
    }
}

/* Farthest point sampling on the chosen back end. *begin excludes the start of a device. */
static pcgpu_status run_farthest(pcgpu_context *context, pc_sample_job *jobs, int count, pcgpu_run *run,
                                 double *begin) {
    const pc_backend *backend;
    pcgpu_status status;
    double cpu, cuda;
    estimate(jobs, count, context->threads, &cpu, &cuda);
    do {
        status = pc_choose_backend(context, cpu, cuda, run, &backend);
        *begin = pc_now();
        context->worked = run->threads;
        status = status == PCGPU_OK && count > 0 ? backend->sample->sample(context, jobs, count) : status;
        run->threads = context->worked;
    } while (pc_goes_to_cpu(context, backend, status));
    return status;
}

static void note_stage(pcgpu_sampled *results, int count, const char *stage, double begin) {
    for (int i = 0; i < count; i++) {
        pc_stage(&results[i].run, stage, begin);
    }
}

static pcgpu_status run_random(pcgpu_context *context, uint64_t seed, pc_sample_job *jobs, int count, pcgpu_run *run) {
    *run = (pcgpu_run){.threads = 1, .backend = "cpu", .reason = "random draws are made on the host"};
    snprintf(run->device, sizeof run->device, "%s", context->cpu_name);
    for (int i = 0; i < count; i++) {
        PC_TRY(pc_random_draw(context, seed, &jobs[i]));
    }
    return PCGPU_OK;
}

/* The coverage of an existing sample: farthest point sampling of no points with the sample as seeds. */
static pcgpu_status run_coverage(pcgpu_context *context, pc_sample_job *jobs, int count, pcgpu_run *run,
                                 double *begin) {
    int64_t total = 0;
    for (int i = 0; i < count; i++) {
        total += jobs[i].seed_count + jobs[i].picked;
    }
    pc_sample_job *covers = calloc((size_t)(unsigned)count, sizeof *covers);
    int32_t *seeds = malloc((size_t)total * sizeof *seeds), *next = seeds;
    pcgpu_status status = PCGPU_OK;
    if (!covers || !seeds) {
        status = pc_fail_memory(context, (uint64_t)total * sizeof *seeds, "the coverage");
        goto done;
    }
    for (int i = 0; i < count; i++) {
        const pc_sample_job *job = &jobs[i];
        covers[i] = (pc_sample_job){.n = job->n, .x = job->x, .y = job->y, .z = job->z, .seeds = next};
        covers[i].seed_count = job->seed_count + job->picked;
        if (job->seed_count) {
            memcpy(next, job->seeds, (size_t)job->seed_count * sizeof *next);
        }
        memcpy(next + job->seed_count, job->indices, (size_t)job->picked * sizeof *next);
        next += covers[i].seed_count;
    }
    pcgpu_run chosen = {.threads = 1};
    status = run_farthest(context, covers, count, &chosen, begin);
    for (int i = 0; i < count && status == PCGPU_OK; i++) {
        jobs[i].rest = covers[i].rest;
    }
    *run = chosen;
    snprintf(run->reason, sizeof run->reason, "draws on the host, coverage here: %.60s", chosen.reason);
done:
    free(covers);
    free(seeds);
    return status;
}

/* Runs the jobs of the clouds that have points; `clouds` counts all, each of which gets how it ran. */
static pcgpu_status run_jobs(pcgpu_context *context, const pcgpu_sample_params *p, pc_sample_job *jobs, int count,
                             pcgpu_sampled *results, int clouds) {
    double begin = pc_now();
    pcgpu_run run = {.threads = 1};
    bool random = p->method == PCGPU_SAMPLE_RANDOM;
    pcgpu_status status =
        random ? run_random(context, p->seed, jobs, count, &run) : run_farthest(context, jobs, count, &run, &begin);
    note_stage(results, clouds, "sample", begin);
    if (random && p->coverage && status == PCGPU_OK) {
        status = run_coverage(context, jobs, count, &run, &begin);
        note_stage(results, clouds, "coverage", begin);
    }
    for (int i = 0; i < clouds; i++) {
        pcgpu_run *to = &results[i].run;
        memcpy(to->backend, run.backend, sizeof to->backend);
        memcpy(to->device, run.device, sizeof to->device);
        memcpy(to->reason, run.reason, sizeof to->reason);
        to->threads = run.threads;
    }
    return status;
}

static pcgpu_status select_points(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_sample_params *params,
                                  prepared *made, pc_sample_job *job, pcgpu_sampled *result) {
    PC_TRY(pc_columns_check(context, params, cloud->columns));
    PC_TRY(pc_has_columns(params) ? pc_columns_select(context, cloud, params, &made->points, &result->run)
                                  : pc_points_select(context, cloud, params->drop_origin, &made->points, &result->run));
    return prepare(context, cloud->rows, params, made, job, result);
}

pcgpu_status pcgpu_sample_batch(pcgpu_context *context, const pcgpu_cloud *const *clouds, int count,
                                const pcgpu_sample_params *params, pcgpu_sampled *results) {
    if (count < 0) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "a batch of %d clouds; give 0 or more", count);
    }
    memset(results, 0, (size_t)count * sizeof *results);
    pcgpu_status status = pc_sample_check(context, params, count);
    if (status != PCGPU_OK || count == 0) {
        return status;
    }
    prepared *made = calloc((size_t)count, sizeof *made);
    pc_sample_job *jobs = calloc((size_t)count, sizeof *jobs);
    const pc_sample_job none = {0};
    int some = 0; /* clouds with points, which alone have a job */
    if (!made || !jobs) {
        status = pc_fail_memory(context, (uint64_t)count * (sizeof *made + sizeof *jobs), "a batch");
        goto done;
    }
    for (int i = 0; i < count; i++) {
        const double begin = pc_now();
        pcgpu_sample_params own = *params;
        own.start_index = params->starts ? params->starts[i] : params->start_index;
        status = select_points(context, clouds[i], &own, &made[i], &jobs[some], &results[i]);
        some += made[i].points.n > 0;
        pc_stage(&results[i].run, "select", begin);
        if (status != PCGPU_OK && count > 1) {
            char why[512];
            snprintf(why, sizeof why, "%.511s", context->errors.text);
            pc_fail(context, status, "cloud %d of the batch: %s", i, why);
        }
        if (status != PCGPU_OK) {
            goto done;
        }
    }
    PC_TRY_OR(done, status, run_jobs(context, params, jobs, some, results, count));
    for (int i = 0, k = 0; i < count; i++) {
        finish(&made[i].points, made[i].points.n > 0 ? &jobs[k++] : &none,
               params->method == PCGPU_SAMPLE_FPS || params->coverage, &results[i]);
    }
done:
    for (int i = 0; i < count; i++) {
        if (made) {
            prepared_free(&made[i]);
        }
        if (status != PCGPU_OK) {
            pcgpu_sampled_free(&results[i]);
        }
    }
    free(made);
    free(jobs);
    return status;
}

pcgpu_status pc_sample_points(pcgpu_context *context, pc_points *points, int64_t rows, bool files,
                              const pcgpu_sample_params *params, pcgpu_sampled *result) {
    prepared made = {.points = *points};
    pc_sample_job job = {.files = files ? context : NULL};
    pcgpu_status status;
    PC_TRY_OR(done, status, prepare(context, rows, params, &made, &job, result));
    PC_TRY_OR(done, status, run_jobs(context, params, &job, points->n > 0, result, 1));
    finish(&made.points, &job, true, result);
done:
    free(made.seeds);
    return status;
}

pcgpu_status pcgpu_sample(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_sample_params *params,
                          pcgpu_sampled *result) {
    return pcgpu_sample_batch(context, &cloud, 1, params, result);
}
