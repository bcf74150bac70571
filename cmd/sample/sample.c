/* pcgpu sample: farthest point sampling and random sampling. */
#include "sample_run.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static int write_sampled(job *j, const pcgpu_sampled *sampled) {
    pcgpu_cloud picked;
    const pcgpu_array indices = {
        .name = "indices", .type = PCGPU_INT32, .dimensions = 1, .shape = {sampled->count}, .data = sampled->indices};
    const pcgpu_array distances = {.name = "distances",
                                   .type = PCGPU_FLOAT32,
                                   .dimensions = 1,
                                   .shape = {sampled->count},
                                   .data = sampled->distances};
    pcgpu_status status =
        pcgpu_cloud_gather(j->session->context, &j->clouds[0], sampled->indices, sampled->count, &picked);
    if (status != PCGPU_OK) {
        return job_failed(j, status);
    }
    int code = job_write_cloud(j, &picked);
    pcgpu_cloud_free(&picked);
    if (code == EXIT_DONE) {
        code = job_write_array(j, "indices", &indices);
    }
    if (code == EXIT_DONE && sampled->distances) {
        code = job_write_array(j, "distances", &distances);
    }
    return code;
}

static void add_result(job *j, const pcgpu_sampled *sampled) {
    json_integer(&j->result, "count", sampled->count);
    if (sampled->distances && sampled->count > 0) {
        json_number(&j->result, "last_distance", (double)sampled->distances[sampled->count - 1]);
    }
    json_number(&j->result, "coverage", (double)sampled->coverage);
    if (!isnan(sampled->coverage)) {
        report_detail(j->names[0], "coverage %.4g m: no usable point is farther from the sample",
                      (double)sampled->coverage);
    }
}

/* Writes the result of a job, and frees it. */
static int finish(job *j, pcgpu_sampled *sampled) {
    j->run = sampled->run;
    j->points_out = sampled->count;
    add_result(j, sampled);
    int code = write_sampled(j, sampled);
    pcgpu_sampled_free(sampled);
    return code;
}

static pcgpu_sample_params parameters(const session *s) {
    pcgpu_sample_params params = s->options->sample;
    params.drop_origin = s->options->drop_origin;
    params.coverage = s->options->json || s->options->verbose; /* only these show it */
    return params;
}

/* Reads the records of --seeds, if it is given. */
static bool read_seeds(const session *s, pcgpu_indices *seeds) {
    const char *path = s->options->seeds;
    FILE *stream = path ? input_open(path) : NULL;
    *seeds = (pcgpu_indices){0};
    if (!stream) {
        return !path;
    }
    pcgpu_status status = pcgpu_read_indices(s->context, stream, path, seeds);
    input_close(stream);
    if (status != PCGPU_OK) {
        report_failure(input_name(path), s->context);
    }
    return status == PCGPU_OK;
}

static int sample_alone(job *j) {
    pcgpu_sample_params params = parameters(j->session);
    pcgpu_sampled sampled;
    pcgpu_indices seeds;
    if (!read_seeds(j->session, &seeds)) {
        return EXIT_FAILED;
    }
    params.seeds = seeds.values;
    params.seed_count = seeds.count;
    progress_begin(j->names[0], "sampling");
    pcgpu_status status = pcgpu_sample(j->session->context, &j->clouds[0], &params, &sampled);
    pcgpu_indices_free(&seeds);
    return status == PCGPU_OK ? finish(j, &sampled) : job_failed(j, status);
}

/* ---- several inputs ---- */

/* Limits of the inputs in one call of the library, since their clouds and open outputs are in memory together. CUDA
 * samples them concurrently; the CPU samples one per thread. */
enum { BATCH_JOBS = 32, BATCH_BYTES = 256 << 20 };

typedef struct batch {
    int count;
    job jobs[BATCH_JOBS];
    int codes[BATCH_JOBS];
    bool sampled[BATCH_JOBS]; /* by the common call, into `results` */
    pcgpu_sampled results[BATCH_JOBS];
} batch;

static void begin_jobs(batch *b, session *s, const char **inputs, int count) {
    size_t bytes = 0;
    for (b->count = 0; b->count < count && b->count < BATCH_JOBS && bytes < BATCH_BYTES; b->count++) {
        job *j = &b->jobs[b->count];
        b->codes[b->count] = job_begin(j, s, &inputs[b->count], 1);
        b->sampled[b->count] = false;
        bytes += (size_t)j->clouds[0].rows * (size_t)j->clouds[0].columns * sizeof(float);
    }
}

/* Samples all inputs that were read with one call. When it fails, end_jobs samples each input alone. */
static void sample_together(batch *b, const session *s) {
    const pcgpu_cloud *clouds[BATCH_JOBS];
    pcgpu_sampled results[BATCH_JOBS];
    int n = 0;
    for (int i = 0; i < b->count; i++) {
        if (b->codes[i] == EXIT_DONE) {
            clouds[n++] = &b->jobs[i].clouds[0];
        }
    }
    const pcgpu_sample_params params = parameters(s);
    if (n < 2) {
        return;
    }
    progress_begin(b->jobs[0].names[0], "sampling it and the inputs after it");
    if (pcgpu_sample_batch(s->context, clouds, n, &params, results) != PCGPU_OK) {
        return;
    }
    for (int i = 0, k = 0; i < b->count; i++) {
        b->sampled[i] = b->codes[i] == EXIT_DONE;
        if (b->sampled[i]) {
            b->results[i] = results[k++];
        }
    }
}

static int end_jobs(batch *b) {
    int worst = EXIT_DONE;
    for (int i = 0; i < b->count; i++) {
        job *j = &b->jobs[i];
        int code = b->codes[i];
        job_resume(j);
        if (code == EXIT_DONE) {
            code = b->sampled[i] ? finish(j, &b->results[i]) : sample_alone(j);
        }
        code = job_end(j, code);
        worst = code > worst ? code : worst;
    }
    return worst;
}

int sample_run(session *s) {
    batch *b = malloc(sizeof *b);
    int worst = EXIT_DONE, at_once = session_jobs_at_once(s, BATCH_JOBS);
    if (!b) {
        report_error(NULL, "out of memory");
        return EXIT_FAILED;
    }
    for (int i = 0; i < s->input_count && worst != EXIT_NO_CUDA; i += b->count) {
        int left = s->input_count - i;
        begin_jobs(b, s, &s->inputs[i], left < at_once ? left : at_once);
        sample_together(b, s);
        int code = end_jobs(b);
        worst = code > worst ? code : worst;
    }
    free(b);
    return worst;
}
