/* pcgpu sample: farthest point sampling and random sampling. */
#include "job.h"

static int write_sampled(job *j, const pcgpu_sampled *sampled) {
    pcgpu_cloud picked;
    const pcgpu_array indices = {.name = "indices", .type = PCGPU_INT32, .dimensions = 1, .shape = {sampled->count},
                                 .data = sampled->indices};
    const pcgpu_array distances = {.name = "distances", .type = PCGPU_FLOAT32, .dimensions = 1,
                                   .shape = {sampled->count}, .data = sampled->distances};
    pcgpu_status status = pcgpu_cloud_gather(j->session->context, &j->clouds[0], sampled->indices, sampled->count,
                                             &picked);
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

int sample_process(job *j) {
    pcgpu_sample_params params = j->session->options->sample;
    params.drop_origin = j->session->options->drop_origin;
    pcgpu_sampled sampled;
    progress_begin(j->names[0], "sampling");
    pcgpu_status status = pcgpu_sample(j->session->context, &j->clouds[0], &params, &sampled);
    if (status != PCGPU_OK) {
        return job_failed(j, status);
    }
    j->run = sampled.run;
    j->points_out = sampled.count;
    json_integer(&j->result, "count", sampled.count);
    if (sampled.distances && sampled.count > 0) {
        json_number(&j->result, "last_distance", (double)sampled.distances[sampled.count - 1]);
    }
    int code = write_sampled(j, &sampled);
    pcgpu_sampled_free(&sampled);
    return code;
}
