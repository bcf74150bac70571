/* pcgpu odometry with depth images: the odometry of a depth camera, and its model. */
#include "fuse.h"
#include "register.h"
#include "odometry_run.h"

#include <string.h>

bool odometry_is_depth(const session *s) {
    return register_is_projective(s, s->inputs, s->input_count);
}

bool odometry_has_model(const session *s) {
    return odometry_is_depth(s) && s->options->odometry.reference == PCGPU_REFERENCE_MODEL;
}

pcgpu_status odometry_open_images(session *s, const double init[16], pcgpu_depth_odometry **odometry) {
    pcgpu_depth_odometry_params params;
    pcgpu_depth_odometry_params_init(&params);
    params.registration = register_image_params(s);
    params.reference = s->options->odometry.reference;
    params.volume = s->options->volume;
    params.volume.frames = s->input_count;
    memcpy(params.registration.init, init, sizeof params.registration.init);
    return pcgpu_depth_odometry_open(s->context, &s->options->camera, &params, odometry);
}

int odometry_begin_model(session *s, job *j, bool *wanted) {
    *wanted = odometry_has_model(s) && (s->options->output || s->options->mesh);
    return *wanted ? job_begin_all(j, s) : EXIT_DONE;
}

int odometry_end_model(session *s, job *j, pcgpu_depth_odometry *odometry, int code) {
    fusion f = {.session = s, .job = j};
    pcgpu_volume_stats stats;
    job_resume(j);
    if (odometry && (code == EXIT_DONE || code == EXIT_NOT_CONVERGED)) {
        f.volume = pcgpu_depth_odometry_volume(odometry);
        pcgpu_volume_get_stats(f.volume, &stats);
        f.fused = stats.frames;
        f.skipped = s->input_count - stats.frames;
        const int written = fuse_write_model(&f);
        code = written == EXIT_DONE ? code : written;
    }
    return job_end(j, code);
}
