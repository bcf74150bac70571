/* pcgpu sample: farthest point sampling and random sampling. */
#include "sample_run.h"
#include "picture.h"
#include "pieces.h"
#include "sweeps.h"

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

/* Writes the picks; `picked` is their cloud. */
static int write_picked(job *j, const pcgpu_sampled *sampled, const pcgpu_cloud *picked) {
    const pcgpu_array indices = {
        .name = "indices", .type = PCGPU_INT32, .dimensions = 1, .shape = {sampled->count}, .data = sampled->indices};
    const pcgpu_array distances = {.name = "distances",
                                   .type = PCGPU_FLOAT32,
                                   .dimensions = 1,
                                   .shape = {sampled->count},
                                   .data = sampled->distances};
    int code = job_write_cloud(j, picked);
    code = code == EXIT_DONE ? write_picture(j, picked, sampled->count) : code;
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
static int finish(job *j, pcgpu_sampled *sampled, pcgpu_cloud *picked) {
    j->run = sampled->run;
    j->points_out = sampled->count;
    add_result(j, sampled);
    int code = write_picked(j, sampled, picked);
    pcgpu_sampled_free(sampled);
    pcgpu_cloud_free(picked);
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

/* The memory of a run without pieces is about this many times the file: its records, the coordinates and a permutation. */
enum { TIMES_OF_FILE = 3 };

bool sample_reads_pieces(const session *s, const char *input) {
    const option_values *o = s->options;
    return o->sample.method == PCGPU_SAMPLE_RANDOM && session_needs_pieces(s, input, TIMES_OF_FILE, !o->seeds);
}

static int sample_in_pieces(job *j, const pcgpu_sample_params *params) {
    pcgpu_sampled sampled;
    pcgpu_cloud picked;
    pcgpu_pieces *pieces = NULL;
    size_t memory = 0;
    progress_begin(j->names[0], "sampling in pieces");
    int code = j->session->options->seeds ? job_lacks_in_pieces(j, "seeds") : job_open_pieces(j, &pieces, &memory);
    if (code != EXIT_DONE) {
        return code;
    }
    pcgpu_status status = pcgpu_sample_pieces(j->session->context, pieces, params, memory, &sampled, &picked);
    pcgpu_pieces_close(pieces);
    return status == PCGPU_OK ? finish(j, &sampled, &picked) : job_failed(j, status);
}

int sample_process(job *j) {
    pcgpu_sample_params params = parameters(j->session);
    pcgpu_sampled sampled;
    pcgpu_cloud picked;
    pcgpu_indices seeds;
    if (j->in_pieces) {
        return sample_in_pieces(j, &params);
    }
    const int code = sweeps_add(j);
    if (code != EXIT_DONE || !read_seeds(j->session, &seeds)) {
        return code == EXIT_DONE ? EXIT_FAILED : code;
    }
    params.seeds = seeds.values;
    params.seed_count = seeds.count;
    progress_begin(j->names[0], "sampling");
    pcgpu_status status = pcgpu_sample(j->session->context, &j->clouds[0], &params, &sampled);
    pcgpu_indices_free(&seeds);
    if (status != PCGPU_OK) {
        return job_failed(j, status);
    }
    status = pcgpu_cloud_gather(j->session->context, &j->clouds[0], sampled.indices, sampled.count, &picked);
    if (status != PCGPU_OK) {
        pcgpu_sampled_free(&sampled);
        return job_failed(j, status);
    }
    return finish(j, &sampled, &picked);
}
