/* pcgpu sample: farthest point sampling and random sampling. */
#include "sample_run.h"
#include "picture.h"

#include <math.h>

/* The picks, and as many random ones for comparison. */
static int write_picture(job *j, const pcgpu_cloud *picked, int64_t count) {
    pcgpu_context *context = j->session->context;
    const bool random = j->session->options->sample.method == PCGPU_SAMPLE_RANDOM;
    pcgpu_sample_params params = {0};
    pcgpu_sampled drawn = {0};
    pcgpu_cloud others = {0};
    picture p = {.job = j};
    if (!picture_is_wanted(j)) {
        return EXIT_DONE;
    }
    picture_add_cloud(&p, 0, picked, random ? "random sampling" : "farthest point sampling");
    if (!random && count > 0) {
        pcgpu_sample_params_init(&params);
        params.method = PCGPU_SAMPLE_RANDOM;
        params.count = count;
        params.seed = j->session->options->sample.seed;
        params.drop_origin = j->session->options->drop_origin;
        p.status = p.status == PCGPU_OK ? pcgpu_sample(context, &j->clouds[0], &params, &drawn) : p.status;
        p.status = p.status == PCGPU_OK ? pcgpu_cloud_gather(context, &j->clouds[0], drawn.indices, drawn.count, &others) : p.status;
        picture_add_cloud(&p, 1, &others, "random sampling");
    }
    const int code = picture_finish(&p);
    pcgpu_sampled_free(&drawn);
    pcgpu_cloud_free(&others);
    return code;
}

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
    code = code == EXIT_DONE ? write_picture(j, &picked, sampled->count) : code;
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

int sample_process(job *j) {
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
